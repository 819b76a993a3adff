//! Parts of a graph: what single calls of layers recorded, so that we can tell whether two backward passes
//! walk the same of it.

use super::{FlowState, ObjId, ObjSet};
use std::rc::Rc;

/// One part, by its number; numbers grow in the order of the rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub id: u32,
    /// It is there on every way to this point, but for the first round of a loop.
    pub sure: bool,
}

/// The parts of a graph, sorted by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts(Option<Rc<[Part]>>);

impl Parts {
    pub fn one(id: u32) -> Parts {
        Parts(Some(Rc::from([Part { id, sure: true }])))
    }

    pub fn iter(&self) -> impl Iterator<Item = Part> + '_ {
        self.0.iter().flat_map(|parts| parts.iter().copied())
    }

    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |parts| parts.len())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The parts of a result of both.
    pub fn union(&self, other: &Parts) -> Parts {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => self.clone(),
            _ => self.merged(other, |a, b| a || b),
        }
    }

    /// The parts of a value that is one or the other.
    pub fn join(&self, other: &Parts) -> Parts {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => self.clone(),
            _ => self.merged(other, |a, b| a && b),
        }
    }

    /// The same where another way leads here without them.
    pub fn unsure(&self) -> Parts {
        self.iter().map(|part| Part { sure: false, ..part }).collect()
    }

    fn merged(&self, other: &Parts, both: impl Fn(bool, bool) -> bool) -> Parts {
        let mut all: Vec<(u32, bool, bool)> = Vec::new();
        let (mut a, mut b) = (self.iter().peekable(), other.iter().peekable());
        while let Some(id) = a.peek().into_iter().chain(b.peek()).map(|part| part.id).min() {
            let left = a.next_if(|part| part.id == id).is_some_and(|part| part.sure);
            let right = b.next_if(|part| part.id == id).is_some_and(|part| part.sure);
            all.push((id, left, right));
        }
        all.into_iter().map(|(id, left, right)| Part { id, sure: both(left, right) }).collect()
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<T: IntoIterator<Item = Part>>(parts: T) -> Parts {
        let parts: Vec<Part> = parts.into_iter().collect();
        Parts((!parts.is_empty()).then(|| parts.into()))
    }
}

/// Parts that no backward has walked on some way to this point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwalked {
    /// Of older ones nothing is known any more.
    forgotten: u32,
    ids: Vec<u32>,
}

/// So many are told apart.
const MOST_UNWALKED: usize = 2048;

impl Unwalked {
    pub fn contains(&self, id: u32) -> bool {
        id < self.forgotten || self.ids.binary_search(&id).is_ok()
    }

    pub fn insert(&mut self, id: u32) {
        if let Err(at) = self.ids.binary_search(&id) {
            self.ids.insert(at, id);
        }
        if self.ids.len() > MOST_UNWALKED {
            let half = self.ids.len() / 2;
            self.forgotten = self.forgotten.max(self.ids[half]);
            self.ids.drain(..half);
        }
    }

    pub fn remove(&mut self, id: u32) {
        if let Ok(at) = self.ids.binary_search(&id) {
            self.ids.remove(at);
        }
    }
}

impl FlowState for Unwalked {
    /// What is left on one way or on the other.
    fn join(&self, other: &Unwalked) -> Unwalked {
        let mut ids: Vec<u32> = self.ids.iter().chain(&other.ids).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        Unwalked { forgotten: self.forgotten.max(other.forgotten), ids }
    }
}

/// Backward passes that kept their graph, by their number, and what they led to: no step has changed these since on some
/// way to this point. After it, who goes back again gets an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept(Vec<(u32, ObjSet)>);

impl Kept {
    pub fn contains(&self, walk: u32) -> bool {
        self.0.iter().any(|(known, _)| *known == walk)
    }

    pub fn insert(&mut self, walk: u32, leaves: ObjSet) {
        self.0.push((walk, leaves));
    }

    pub fn walks(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().map(|(walk, _)| *walk)
    }

    pub fn leaves(&self) -> Vec<ObjId> {
        self.0.iter().flat_map(|(_, leaves)| leaves.iter()).collect()
    }

    /// What leads to nothing but what is changed here is of no use any more.
    pub fn change(&mut self, changes: impl Fn(ObjId) -> bool) {
        self.0.retain(|(_, leaves)| leaves.is_empty() || !leaves.iter().all(&changes));
    }
}

impl FlowState for Kept {
    fn join(&self, other: &Kept) -> Kept {
        let mut all = self.clone();
        all.0.extend(other.0.iter().filter(|(walk, _)| !self.contains(*walk)).cloned());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_both_surely_has_the_parts_of_either() {
        let both = Parts::one(3).union(&Parts::one(1));
        assert_eq!(both.iter().map(|part| (part.id, part.sure)).collect::<Vec<_>>(), [(1, true), (3, true)]);
    }

    #[test]
    fn one_or_the_other_surely_has_what_both_have() {
        let joined = Parts::one(1).join(&Parts::one(1).union(&Parts::one(2)));
        assert_eq!(
            joined.iter().map(|part| (part.id, part.sure)).collect::<Vec<_>>(),
            [(1, true), (2, false)]
        );
        assert!(Parts::one(1).join(&Parts::default()).iter().all(|part| !part.sure));
    }

    #[test]
    fn what_was_forgotten_may_be_unwalked() {
        let mut unwalked = Unwalked::default();
        (0..=MOST_UNWALKED as u32).for_each(|id| unwalked.insert(id));
        unwalked.remove(0);
        assert!(unwalked.contains(0));
        unwalked.remove(2000);
        assert!(!unwalked.contains(2000));
    }
}
