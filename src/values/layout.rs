//! In which order the dimensions of a tensor lie in memory.

use super::{Int, Shape};
use crate::report::Place;
use std::rc::Rc;

/// A view of a tensor that lies in memory in another order than its dimensions are counted in: `x.transpose(1, 2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// For each dimension, its place in memory, the outermost first.
    order: Rc<[u8]>,
    sizes: Shape,
    /// Where it was turned.
    pub at: Place,
    /// It is a copy by now, as of a comparison; not all releases leave such a one in this order.
    pub is_copy: bool,
}

impl Turned {
    /// A tensor whose dimension `i` was dimension `axes[i]` before, if that leaves it in another order than it is counted
    /// in. Sizes that nobody knows are unknown.
    pub fn by(
        axes: &[usize],
        before: Option<&Turned>,
        shape: Option<&Shape>,
        at: Place,
    ) -> Option<Rc<Turned>> {
        let fits = |len: usize| len == axes.len() && len <= usize::from(u8::MAX);
        if before.is_some_and(|before| !fits(before.order.len()))
            || shape.is_some_and(|shape| !fits(shape.len()))
        {
            return None;
        }
        let place =
            |axis: usize| before.map_or(u8::try_from(axis).ok(), |before| before.order.get(axis).copied());
        let size = |axis: usize| match (before, shape) {
            (Some(before), _) => before.sizes.get(axis).cloned(),
            (None, Some(shape)) => shape.get(axis).cloned(),
            (None, None) => Some(Int::Unknown),
        };
        let order: Rc<[u8]> = axes.iter().map(|axis| place(*axis)).collect::<Option<_>>()?;
        let sizes: Shape = axes.iter().map(|axis| size(*axis)).collect::<Option<_>>()?;
        let is_copy = before.is_some_and(|before| before.is_copy);
        (!order.is_sorted()).then(|| Rc::new(Turned { order, sizes, at, is_copy }))
    }

    /// The same with the first dimensions cut to these sizes.
    pub fn cut(&self, cut: impl Fn(usize, &Int) -> Int) -> Rc<Turned> {
        let sizes = self.sizes.iter().enumerate().map(|(at, size)| cut(at, size)).collect();
        Rc::new(Turned { sizes, ..self.clone() })
    }

    pub fn copied(&self) -> Rc<Turned> {
        Rc::new(Turned { is_copy: true, ..self.clone() })
    }

    pub fn rank(&self) -> usize {
        self.order.len()
    }

    /// How many stretches of dimensions there are that follow each other in memory as they are counted: a view may join
    /// dimensions of one stretch only. Dimensions of size one are anywhere; whether one that nobody knows `is_longer` is
    /// told.
    pub fn stretches(&self, is_longer: bool) -> usize {
        let longer: Vec<u8> = (0..self.order.len())
            .filter(|at| match &self.sizes[*at] {
                Int::Unknown => is_longer,
                size => *size != Int::Known(1),
            })
            .map(|at| self.order[at])
            .collect();
        let follows = |pair: &[u8]| {
            pair[1] > pair[0] && !longer.iter().any(|other| (pair[0] + 1..pair[1]).contains(other))
        };
        longer.windows(2).filter(|pair| !follows(pair)).count() + usize::from(!longer.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FileId, Span};

    fn turned(axes: &[usize], before: Option<&Turned>, sizes: &[i64]) -> Option<Rc<Turned>> {
        let shape: Shape = sizes.iter().map(|size| Int::Known(*size)).collect();
        Turned::by(axes, before, Some(&shape), Place::new(FileId(0), Span::default()))
    }

    #[test]
    fn stretches_are_what_a_view_may_join() {
        let stretches =
            |axes: &[usize], sizes: &[i64]| turned(axes, None, sizes).map(|turned| turned.stretches(true));
        assert_eq!(stretches(&[1, 0], &[64, 5]), Some(2));
        assert_eq!(stretches(&[1, 0], &[64, 1]), Some(1));
        assert_eq!(stretches(&[0, 2, 1, 3], &[2, 8, 7, 16]), Some(4));
        assert_eq!(stretches(&[0, 2, 3, 1], &[2, 3, 8, 8]), Some(3));
        assert_eq!(stretches(&[0, 1, 2], &[2, 3, 8]), None);
        assert_eq!(stretches(&[1, 2, 0], &[1, 3, 8]), Some(1));
    }

    #[test]
    fn who_turns_it_back_has_it_as_it_was() {
        let once = turned(&[0, 2, 1], None, &[2, 3, 4]);
        assert_eq!(turned(&[0, 2, 1], once.as_deref(), &[2, 4, 3]), None);
        assert_eq!(
            turned(&[2, 1, 0], once.as_deref(), &[2, 4, 3]).map(|turned| turned.stretches(true)),
            Some(2)
        );
    }
}
