//! Arithmetic of shapes: pure functions from sizes to sizes. A size may be a symbol, which stands for a
//! number other than one; `None` means that the rank is not known or that the call would fail.

use crate::values::int::product;
use crate::values::{Int, Shape, Value};

pub type Dims = Vec<Int>;

/// The position that a possibly negative axis names.
pub fn normalise_dim(dim: i64, rank: usize) -> Option<usize> {
    let rank = i64::try_from(rank).ok()?;
    let dim = if dim < 0 { dim + rank } else { dim };
    (0..rank).contains(&dim).then_some(dim as usize)
}

pub fn broadcast_shapes(a: &[Int], b: &[Int]) -> Option<Dims> {
    let rank = a.len().max(b.len());
    (0..rank)
        .map(|at| match ((at + a.len()).checked_sub(rank), (at + b.len()).checked_sub(rank)) {
            (Some(i), Some(j)) => broadcast_sizes(&a[i], &b[j]),
            (Some(i), None) => Some(a[i].clone()),
            (None, Some(j)) => Some(b[j].clone()),
            (None, None) => None,
        })
        .collect()
}

fn broadcast_sizes(a: &Int, b: &Int) -> Option<Int> {
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Int::Known(1), other) | (other, Int::Known(1)) => Some(other.clone()),
        (Int::Known(_), Int::Known(_)) => None,
        // Whether the other is one or the same, this is what comes out.
        (Int::Known(_), _) => Some(a.clone()),
        (_, Int::Known(_)) => Some(b.clone()),
        _ => Some(Int::Unknown),
    }
}

/// Two sizes that must be equal, or the call fails.
fn unify(a: &Int, b: &Int) -> Option<Int> {
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Int::Known(_), Int::Known(_)) => None,
        (Int::Known(_), _) | (_, Int::Unknown) => Some(a.clone()),
        (_, Int::Known(_)) | (Int::Unknown, _) => Some(b.clone()),
        _ => Some(Int::Unknown),
    }
}

/// The exact quotient.
fn exactly(a: &Int, b: &Int) -> Int {
    match a.modulo(b).known() {
        Some(1..) => Int::Unknown,
        _ => a.div_floor(b),
    }
}

/// `a / b` rounded up.
pub fn div_ceil(a: &Int, b: &Int) -> Int {
    let up = |a: i64, b: i64| (b > 0 && a >= 0).then(|| a / b + i64::from(a % b != 0));
    match a.of_numbers(b, up) {
        Some(quotient) => quotient,
        None if *b == Int::Known(1) => a.clone(),
        None => a.div_floor(b),
    }
}

/// The wanted sizes, with a `-1` solved where that is exact.
pub fn reshape(old: Option<&[Int]>, wanted: &[Int]) -> Dims {
    let open: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at].known() == Some(-1)).collect();
    let mut sizes = wanted.to_vec();
    for at in &open {
        sizes[*at] = Int::Unknown;
    }
    if let ([at], Some(old)) = (open.as_slice(), old) {
        let rest = wanted.iter().enumerate().filter(|(i, _)| i != at).map(|(_, size)| size);
        let (old, rest) = without_common(old, rest);
        sizes[*at] = exactly(&product(&old), &product(&rest));
    }
    sizes
}

/// Without sizes that both have: what is kept is then no less sure for them.
pub fn without_common<'a>(old: &[Int], new: impl Iterator<Item = &'a Int>) -> (Dims, Dims) {
    let (mut old, mut rest) = (old.to_vec(), Dims::new());
    for size in new {
        match old.iter().position(|known| known == size && !size.is_unknown() && size.known() != Some(0)) {
            Some(at) => drop(old.remove(at)),
            None => rest.push(size.clone()),
        }
    }
    (old, rest)
}

pub fn flatten(shape: &[Int], start: i64, end: i64) -> Option<Dims> {
    if shape.is_empty() {
        return Some(vec![Int::Known(1)]);
    }
    let (start, end) = (normalise_dim(start, shape.len())?, normalise_dim(end, shape.len())?);
    if start > end {
        return None;
    }
    let mut sizes = shape[..start].to_vec();
    sizes.push(product(&shape[start..=end]));
    sizes.extend_from_slice(&shape[end + 1..]);
    Some(sizes)
}

/// Without the axes of size one: all of them, or those named.
pub fn squeeze(shape: &[Int], axes: Option<&[i64]>) -> Option<Dims> {
    let chosen = match axes {
        Some(axes) => {
            axes.iter().map(|axis| normalise_dim(*axis, shape.len())).collect::<Option<Vec<_>>>()?
        }
        None => (0..shape.len()).collect(),
    };
    // A default of one says nothing.
    if chosen.iter().any(|at| shape[*at].is_unknown() || shape[*at] == Int::Given(1)) {
        return None;
    }
    // Whoever squeezes where no axis is one knows that a size without a number is one there.
    let is_one = |at: &usize| shape[*at] == Int::Known(1);
    if !chosen.iter().any(is_one) && chosen.iter().any(|at| shape[*at].known().is_none()) {
        return None;
    }
    let gone = |at: usize| chosen.contains(&at) && shape[at] == Int::Known(1);
    Some((0..shape.len()).filter(|at| !gone(*at)).map(|at| shape[at].clone()).collect())
}

pub fn unsqueeze(shape: &[Int], axis: i64) -> Option<Dims> {
    insert(shape, axis, Int::Known(1))
}

/// With a new axis of a size.
pub fn insert(shape: &[Int], axis: i64, size: Int) -> Option<Dims> {
    let at = normalise_dim(axis, shape.len() + 1)?;
    let mut sizes = shape.to_vec();
    sizes.insert(at, size);
    Some(sizes)
}

pub fn permute(shape: &[Int], axes: &[i64]) -> Option<Dims> {
    let order: Vec<usize> =
        axes.iter().map(|axis| normalise_dim(*axis, shape.len())).collect::<Option<_>>()?;
    let complete = order.len() == shape.len() && (0..shape.len()).all(|at| order.contains(&at));
    complete.then(|| order.iter().map(|at| shape[*at].clone()).collect())
}

pub fn transpose(shape: &[Int], a: i64, b: i64) -> Option<Dims> {
    let mut sizes = shape.to_vec();
    sizes.swap(normalise_dim(a, shape.len())?, normalise_dim(b, shape.len())?);
    Some(sizes)
}

/// A shape with its last two axes swapped where a flag holds; `None` where a flag is not known.
pub fn turned<'v>(shape: &[Int], flags: impl Iterator<Item = &'v Value>) -> Option<Shape> {
    let mut sizes = shape.to_vec();
    for flag in flags {
        match flag.bare() {
            Value::Bool(Some(false)) | Value::None => {}
            Value::Bool(Some(true)) => sizes = transpose(&sizes, -1, -2)?,
            _ => return None,
        }
    }
    Some(sizes.into())
}

/// `-1` keeps a size; axes that the tensor lacks come in front.
pub fn expand(shape: Option<&[Int]>, sizes: &[Int]) -> Option<Dims> {
    let Some(shape) = shape else {
        return Some(
            sizes.iter().map(|s| if *s == Int::Known(-1) { Int::Unknown } else { s.clone() }).collect(),
        );
    };
    let new = sizes.len().checked_sub(shape.len())?;
    let size = |(at, size): (usize, &Int)| match size {
        Int::Known(-1) => at.checked_sub(new).map(|at| shape[at].clone()),
        _ => Some(size.clone()),
    };
    sizes.iter().enumerate().map(size).collect()
}

/// Tiled; the shorter of both is filled up with ones in front.
pub fn repeat(shape: &[Int], times: &[Int]) -> Dims {
    let rank = shape.len().max(times.len());
    let at = |sizes: &[Int], at: usize| match (at + sizes.len()).checked_sub(rank) {
        Some(at) => sizes[at].clone(),
        None => Int::Known(1),
    };
    (0..rank).map(|axis| at(shape, axis).mul(&at(times, axis))).collect()
}

/// One axis becomes several, with a `-1` solved.
pub fn unflatten(shape: &[Int], axis: i64, sizes: &[Int]) -> Option<Dims> {
    let at = normalise_dim(axis, shape.len())?;
    let parts = reshape(Some(&shape[at..=at]), sizes);
    Some(shape[..at].iter().chain(&parts).chain(&shape[at + 1..]).cloned().collect())
}

/// Windows of a size along an axis, a step apart, in a new last axis.
pub fn unfold(shape: &[Int], axis: i64, size: &Int, step: &Int) -> Option<Dims> {
    let at = normalise_dim(axis, shape.len())?;
    let room = shape[at].sub(size);
    let room = if room.known().is_some_and(|room| room < 0) { Int::Unknown } else { room };
    let windows = if *step == Int::Known(1) { room } else { room.div_floor(step) }.add(&Int::Known(1));
    let mut sizes = replace(shape, axis, windows)?;
    sizes.push(size.clone());
    Some(sizes)
}

/// With `(before, after)` added to the trailing axes, innermost first.
pub fn pad(shape: &[Int], padding: &[Int]) -> Option<Dims> {
    let mut sizes = shape.to_vec();
    for (at, pair) in padding.chunks(2).enumerate() {
        let [before, after] = pair else { return None };
        let axis = shape.len().checked_sub(at + 1)?;
        sizes[axis] = shape[axis].add(before).add(after);
    }
    Some(sizes)
}

/// Of shapes that agree everywhere but along an axis.
pub fn cat(shapes: &[&[Int]], axis: i64) -> Option<Dims> {
    let (first, others) = shapes.split_first()?;
    let at = normalise_dim(axis, first.len())?;
    let mut sizes = first.to_vec();
    for other in others {
        if other.len() != sizes.len() {
            return None;
        }
        for (i, size) in sizes.iter_mut().enumerate() {
            *size = if i == at { size.add(&other[i]) } else { unify(size, &other[i])? };
        }
    }
    Some(sizes)
}

/// Of shapes that agree everywhere, along a new axis.
pub fn stack(shapes: &[&[Int]], axis: i64) -> Option<Dims> {
    let (first, others) = shapes.split_first()?;
    let mut sizes = first.to_vec();
    for other in others {
        if other.len() != sizes.len() {
            return None;
        }
        sizes = sizes.iter().zip(other.iter()).map(|(a, b)| unify(a, b)).collect::<Option<_>>()?;
    }
    insert(&sizes, axis, Int::Known(shapes.len() as i64))
}

/// Sizes of the pieces along an axis when each is at most `piece` long; `None` when it is not known how many.
pub fn pieces(size: &Int, piece: &Int) -> Option<Dims> {
    let count = div_ceil(size, piece).known().filter(|count| (1..=MOST_PIECES).contains(count))?;
    let last = size.sub(&piece.mul(&Int::Known(count - 1)));
    let mut sizes = vec![piece.clone(); count as usize - 1];
    sizes.push(last);
    Some(sizes)
}

/// More pieces than this are not kept one by one.
pub const MOST_PIECES: i64 = 32;

pub fn matmul(a: &[Int], b: &[Int]) -> Option<Dims> {
    match (a.len(), b.len()) {
        (0, _) | (_, 0) => None,
        (1, 1) => unify(&a[0], &b[0]).map(|_| Vec::new()),
        (1, n) => {
            unify(&a[0], &b[n - 2])?;
            Some(b[..n - 2].iter().chain(&b[n - 1..]).cloned().collect())
        }
        (m, 1) => unify(&a[m - 1], &b[0]).map(|_| a[..m - 1].to_vec()),
        (m, n) => {
            unify(&a[m - 1], &b[n - 2])?;
            let mut sizes = broadcast_shapes(&a[..m - 2], &b[..n - 2])?;
            sizes.extend([a[m - 2].clone(), b[n - 1].clone()]);
            Some(sizes)
        }
    }
}

/// Without some axes, or with size one in their places.
pub fn reduce(shape: &[Int], axes: &[i64], keep: bool) -> Option<Dims> {
    let axes: Vec<usize> =
        axes.iter().map(|axis| normalise_dim(*axis, shape.len())).collect::<Option<_>>()?;
    let sizes = shape.iter().enumerate().filter_map(|(at, size)| match axes.contains(&at) {
        true => keep.then_some(Int::Known(1)),
        false => Some(size.clone()),
    });
    Some(sizes.collect())
}

/// With another size along an axis.
pub fn replace(shape: &[Int], axis: i64, size: Int) -> Option<Dims> {
    let mut sizes = shape.to_vec();
    sizes[normalise_dim(axis, shape.len())?] = size;
    Some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Symbol;

    fn dims(sizes: &[i64]) -> Dims {
        sizes.iter().map(|size| Int::Known(*size)).collect()
    }

    fn batch() -> Int {
        Int::symbol(Symbol(0))
    }

    /// A batch of a shape.
    fn batched(sizes: &[i64]) -> Dims {
        [batch()].into_iter().chain(dims(sizes)).collect()
    }

    #[test]
    fn shapes_broadcast() {
        assert_eq!(broadcast_shapes(&dims(&[4, 1]), &dims(&[3])), Some(dims(&[4, 3])));
        assert_eq!(broadcast_shapes(&dims(&[4, 2]), &dims(&[3])), None);
        assert_eq!(broadcast_shapes(&batched(&[1]), &[batch()]), Some(vec![batch(), batch()]));
        assert_eq!(broadcast_shapes(&batched(&[5]), &batched(&[5])), Some(batched(&[5])));
        assert_eq!(broadcast_shapes(&[batch()], &[Int::symbol(Symbol(1))]), Some(vec![Int::Unknown]));
        assert_eq!(broadcast_shapes(&[Int::Unknown], &dims(&[7])), Some(dims(&[7])));
        assert_eq!(broadcast_shapes(&[Int::Unknown], &dims(&[1])), Some(vec![Int::Unknown]));
        assert_eq!(broadcast_shapes(&[], &dims(&[2])), Some(dims(&[2])));
    }

    #[test]
    fn reshape_solves_what_is_exact() {
        assert_eq!(reshape(Some(&dims(&[2, 3, 4])), &dims(&[-1, 6])), dims(&[4, 6]));
        assert_eq!(reshape(Some(&dims(&[2, 3])), &dims(&[-1, 4])), vec![Int::Unknown, Int::Known(4)]);
        assert_eq!(reshape(Some(&batched(&[3, 4])), &[batch(), Int::Known(-1)]), batched(&[12]));
        assert_eq!(reshape(Some(&batched(&[3, 4])), &dims(&[-1, 12])), batched(&[12]));
        assert_eq!(reshape(None, &dims(&[-1, 12])), vec![Int::Unknown, Int::Known(12)]);
        assert_eq!(reshape(Some(&dims(&[0])), &dims(&[-1, 0])), vec![Int::Unknown, Int::Known(0)]);
        assert_eq!(reshape(Some(&dims(&[6])), &dims(&[-1, -1])), vec![Int::Unknown, Int::Unknown]);
        assert_eq!(reshape(Some(&dims(&[6])), &dims(&[2, 3])), dims(&[2, 3]));
    }

    #[test]
    fn axes_come_and_go() {
        assert_eq!(flatten(&batched(&[3, 4]), 1, -1), Some(batched(&[12])));
        assert_eq!(flatten(&batched(&[3]), 0, -1), Some(vec![batch().mul(&Int::Known(3))]));
        assert_eq!(flatten(&dims(&[2, 3]), 1, 0), None);
        assert_eq!(squeeze(&batched(&[1]), None), Some(vec![batch()]));
        assert_eq!(squeeze(&batched(&[1, 2]), Some(&[2])), Some(batched(&[1, 2])));
        assert_eq!(squeeze(&batched(&[2]), None), None);
        assert_eq!(squeeze(&batched(&[2]), Some(&[0])), None);
        assert_eq!(squeeze(&[Int::Unknown, Int::Known(1)], None), None);
        assert_eq!(squeeze(&[Int::Unknown, Int::Known(1)], Some(&[-1])), Some(vec![Int::Unknown]));
        assert_eq!(unsqueeze(&[batch()], -1), Some(batched(&[1])));
        assert_eq!(unsqueeze(&[batch()], 3), None);
        assert_eq!(reduce(&batched(&[3, 4]), &[-1], false), Some(batched(&[3])));
        assert_eq!(reduce(&batched(&[3, 4]), &[1, 2], true), Some(batched(&[1, 1])));
        assert_eq!(reduce(&batched(&[3]), &[2], false), None);
        assert_eq!(replace(&batched(&[3]), -1, Int::Known(9)), Some(batched(&[9])));
    }

    #[test]
    fn axes_move() {
        assert_eq!(permute(&batched(&[2, 3]), &[0, 2, 1]), Some(batched(&[3, 2])));
        assert_eq!(permute(&dims(&[2, 3]), &[0, 0]), None);
        assert_eq!(permute(&dims(&[2, 3]), &[0]), None);
        assert_eq!(transpose(&batched(&[2, 3]), -2, -1), Some(batched(&[3, 2])));
    }

    #[test]
    fn copies_grow() {
        assert_eq!(expand(Some(&dims(&[3, 1])), &dims(&[2, -1, 4])), Some(dims(&[2, 3, 4])));
        assert_eq!(expand(Some(&dims(&[3])), &dims(&[-1, 3])), None);
        assert_eq!(expand(None, &dims(&[-1, 4])), Some(vec![Int::Unknown, Int::Known(4)]));
        assert_eq!(repeat(&dims(&[3, 2]), &dims(&[4, 1, 2])), dims(&[4, 3, 4]));
        assert_eq!(repeat(&dims(&[3, 2]), &dims(&[4])), dims(&[3, 8]));
        assert_eq!(pad(&batched(&[3, 8]), &dims(&[1, 2])), Some(batched(&[3, 11])));
        assert_eq!(pad(&batched(&[3, 8]), &dims(&[1, 1, 2, 2])), Some(batched(&[7, 10])));
        assert_eq!(pad(&dims(&[8]), &dims(&[1, 1, 2, 2])), None);
        assert_eq!(pad(&dims(&[8]), &dims(&[1])), None);
    }

    #[test]
    fn axes_are_cut_in_parts_and_windows() {
        assert_eq!(unflatten(&batched(&[12]), 1, &dims(&[3, -1])), Some(batched(&[3, 4])));
        assert_eq!(unflatten(&batched(&[12]), 2, &dims(&[3, -1])), None);
        assert_eq!(unfold(&batched(&[10]), -1, &Int::Known(4), &Int::Known(3)), Some(batched(&[3, 4])));
        assert_eq!(
            unfold(&dims(&[2]), 0, &Int::Known(4), &Int::Known(3)),
            Some(vec![Int::Unknown, Int::Known(4)])
        );
    }

    #[test]
    fn tensors_join_and_split() {
        let (a, b) = (batched(&[3]), batched(&[5]));
        assert_eq!(cat(&[&a, &b], -1), Some(batched(&[8])));
        assert_eq!(cat(&[&a, &b], 0), None);
        assert_eq!(cat(&[&a, &a], 0), Some(vec![batch().mul(&Int::Known(2)), Int::Known(3)]));
        assert_eq!(stack(&[&a, &a], 0), Some(vec![Int::Known(2), batch(), Int::Known(3)]));
        assert_eq!(stack(&[&a, &b], 0), None);
        assert_eq!(cat(&[], 0), None);
        assert_eq!(pieces(&Int::Known(7), &Int::Known(3)), Some(dims(&[3, 3, 1])));
        assert_eq!(pieces(&batch().mul(&Int::Known(2)), &batch()), Some(vec![batch(), batch()]));
        assert_eq!(pieces(&batch(), &Int::Known(3)), None);
        assert_eq!(pieces(&Int::Known(7), &Int::Known(0)), None);
    }

    #[test]
    fn matrices_multiply_in_every_rank() {
        assert_eq!(matmul(&dims(&[3]), &dims(&[3])), Some(dims(&[])));
        assert_eq!(matmul(&dims(&[3]), &dims(&[3, 4])), Some(dims(&[4])));
        assert_eq!(matmul(&dims(&[2, 3]), &dims(&[3])), Some(dims(&[2])));
        assert_eq!(matmul(&batched(&[3]), &dims(&[3, 4])), Some(batched(&[4])));
        assert_eq!(matmul(&batched(&[2, 3]), &dims(&[3, 4])), Some(batched(&[2, 4])));
        assert_eq!(matmul(&dims(&[3]), &batched(&[3, 4])), Some(batched(&[4])));
        assert_eq!(matmul(&dims(&[2, 3]), &dims(&[4, 5])), None);
        assert_eq!(matmul(&dims(&[]), &dims(&[4, 5])), None);
    }
}
