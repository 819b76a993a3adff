//! Shapes of predictions and targets that meet: whether each number meets its own, or all others.

use super::taught::{TaughtLoss, taught_losses};
use crate::facts::Script;
use crate::report::Confidence;
use crate::report::replay::Loss;
use crate::values::{Int, Tensor};

/// What meets in losses that compare number by number: each prediction its own target, or all of them.
pub fn meetings(script: &Script) -> Vec<Loss> {
    let meeting = |loss: TaughtLoss| {
        loss.spec.pairs?;
        let target = loss.target?.as_tensor()?;
        match (broadcasts(loss.input, target), &loss.input.shape, &target.shape) {
            (Some(_), ..) => Some(Loss::AllPairs),
            (None, Some(_), Some(_)) => Some(Loss::Squares),
            _ => None,
        }
    };
    taught_losses(script).filter_map(meeting).collect()
}

/// A shape in words, also where only its last size is known.
pub(super) fn known_shape(script: &Script, tensor: &Tensor) -> String {
    match (&tensor.shape, tensor.last.as_ref().and_then(Int::known)) {
        (None, Some(last)) => format!("[…, {last}]"),
        _ => script.shape(tensor),
    }
}

/// Whether two shapes that meet number by number both grow, so that each number meets all others.
pub(super) fn broadcasts(a: &Tensor, b: &Tensor) -> Option<Confidence> {
    match (&a.shape, &b.shape) {
        (Some(a), Some(b)) => grow(a, b),
        (None, Some(b)) => column(a.last.as_ref()?, b).or_else(|| rows(b, a.last.as_ref()?)),
        (Some(a), None) => column(b.last.as_ref()?, a).or_else(|| rows(a, b.last.as_ref()?)),
        (None, None) => None,
    }
}

/// Whether predictions have one column and targets several, with the same rows.
pub(super) fn is_spread_over_rows(predictions: &Tensor, targets: &Tensor) -> Option<Confidence> {
    let (Some(a), Some(b)) = (&predictions.shape, &targets.shape) else {
        return is_column_to_several(predictions, targets).then_some(Confidence::Medium);
    };
    let ((last, rows), (columns, others)) = a.split_last().zip(b.split_last())?;
    let is_several = matches!(columns, Int::Known(columns) if *columns > 1);
    let is_spread = !rows.is_empty() && rows == others && *last == Int::Known(1) && is_several;
    is_spread.then_some(Confidence::High)
}

/// The same of predictions or targets of which only the last size is known.
fn is_column_to_several(predictions: &Tensor, targets: &Tensor) -> bool {
    let has_rows = |tensor: &Tensor| tensor.rank().is_none_or(|rank| rank > 1);
    let last = |tensor: &Tensor| tensor.last_size().and_then(|size| size.known());
    has_rows(predictions)
        && has_rows(targets)
        && last(predictions) == Some(1)
        && last(targets).is_some_and(|columns| columns > 1)
}

/// A column of unknown rank against a vector.
fn column(last: &Int, vector: &[Int]) -> Option<Confidence> {
    match vector {
        [size] if *last == Int::Known(1) && is_many(size) => Some(Confidence::Medium),
        _ => None,
    }
}

/// A column against as many numbers as it has rows, of unknown rank.
fn rows(column: &[Int], last: &Int) -> Option<Confidence> {
    match column {
        [rows, Int::Known(1)] if rows == last && is_many(rows) => Some(Confidence::Medium),
        _ => None,
    }
}

fn grow(a: &[Int], b: &[Int]) -> Option<Confidence> {
    let rank = a.len().max(b.len());
    let at = |sizes: &[Int], axis: usize| (axis + sizes.len()).checked_sub(rank).map(|at| sizes[at].clone());
    let (mut first, mut second) = (None, None);
    for axis in 0..rank {
        let (x, y) = (at(a, axis).unwrap_or(Int::Known(1)), at(b, axis).unwrap_or(Int::Known(1)));
        match (&x, &y) {
            _ if x == y => {}
            (Int::Known(1), other) => first = first.max(growth(other)),
            (other, Int::Known(1)) => second = second.max(growth(other)),
            // These fail, or are the same after all.
            (Int::Known(_), Int::Known(_)) => return None,
            _ => {}
        }
    }
    let (first, second) = (first?, second?);
    // Of sizes that nobody knows both may be one, but a column of predictions is seldom a single one.
    let plain = matches!((a, b), ([_, Int::Known(1)], [_]) | ([_], [_, Int::Known(1)]));
    (plain || first.max(second) == Confidence::High).then_some(first.min(second))
}

/// How sure it is that an axis of one grows to a size.
fn growth(size: &Int) -> Option<Confidence> {
    match size {
        Int::Unknown => Some(Confidence::Medium),
        Int::Known(size) if *size <= 1 => None,
        _ => Some(Confidence::High),
    }
}

fn is_many(size: &Int) -> bool {
    growth(size) == Some(Confidence::High)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Symbol;

    #[test]
    fn a_column_and_a_vector_make_a_square() {
        let (batch, one, many) = (Int::symbol(Symbol(0)), Int::Known(1), Int::Known(64));
        assert_eq!(grow(&[batch.clone(), one.clone()], std::slice::from_ref(&batch)), Some(Confidence::High));
        assert_eq!(grow(std::slice::from_ref(&many), &[many.clone(), one.clone()]), Some(Confidence::High));
        assert_eq!(grow(&[many.clone(), one.clone()], &[Int::Unknown]), Some(Confidence::Medium));
        assert_eq!(grow(&[Int::Unknown, one.clone()], &[Int::Unknown]), Some(Confidence::Medium));
        assert_eq!(grow(&[Int::Unknown, one.clone(), many.clone()], &[Int::Unknown, many.clone()]), None);
        assert_eq!(grow(&[one.clone(), one.clone()], std::slice::from_ref(&one)), None);
        assert_eq!(grow(&[many.clone(), one.clone()], &[]), None);
        assert_eq!(grow(&[many.clone(), one.clone()], &[many.clone(), one.clone()]), None);
        assert_eq!(grow(&[many.clone(), Int::Known(3)], &[many]), None);
    }
}
