//! Targets of losses against their input.

use super::faults::Fault;
use super::needs::broadcast;
use crate::apis::{Expects, LossSpec, Pairs, Targets};
use crate::values::{DType, Int, Shape, Tensor};

/// In which way a target does not fit its input.
pub(super) fn broken(spec: &LossSpec, input: &Tensor, target: &Tensor) -> Option<Fault> {
    let (shape, wanted) = (input.shape.as_ref()?, target.shape.as_ref()?);
    if let Some(targets) = spec.targets {
        // One-hot labels for indices, and the reverse, are the matter of another rule.
        let is_told = spec.labels.is_some() && is_encoding(targets, shape, wanted);
        return if is_told { None } else { loosely(targets, shape, wanted) };
    }
    match (spec.classes, spec.pairs) {
        (Some(1), _) => classes(spec, shape, wanted, target.dtype),
        (None, Some(Pairs::Equal)) => pairs(shape, wanted),
        (None, Some(Pairs::Broadcast)) => broadcast(shape, wanted),
        _ => None,
    }
}

/// Indices lack the axis of the classes, and probabilities have the shape of the input.
fn classes(spec: &LossSpec, input: &Shape, target: &Shape, dtype: Option<DType>) -> Option<Fault> {
    let axis = usize::from(input.len() > 1);
    let mut wants: Vec<Int> = input.to_vec();
    if axis < wants.len() {
        wants.remove(axis);
    }
    let indices = dtype.is_some_and(|dtype| !dtype.is_float());
    let differs = |target: &[Int], wants: &[Int]| target.iter().zip(wants).any(|(a, b)| a.surely_differs(b));
    let fault = |indices: bool| Fault::Classes { target: target.clone(), wants: wants.clone(), indices };
    if input.len() < 2 {
        return None;
    }
    if target.len() + 1 == input.len() {
        return differs(target, &wants).then(|| fault(indices));
    }
    if target.len() != input.len() {
        return Some(fault(indices));
    }
    // A column of indices, and indices in the shape of the input, are the matter of another rule; of logarithms of
    // probabilities there are indices only.
    let picks = indices && spec.expects == Expects::LogProbabilities;
    let apart = differs(target, input) && (!indices || input.len() > 2);
    (picks || apart).then(|| fault(indices))
}

/// Shapes that are compared without a last axis of one that only one of them has.
fn loosely(targets: Targets, input: &Shape, target: &Shape) -> Option<Fault> {
    let differs =
        |a: &[Int], b: &[Int]| a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a.surely_differs(b));
    match targets {
        Targets::Equal => {
            let (input, wanted) = (without_one(input, target.len()), without_one(target, input.len()));
            differs(input, wanted).then(|| Fault::Pairs { target: target.clone() })
        }
        Targets::Broadcast => {
            let shared = |a: &[Int], b: &Shape| Shape::from(without_one(a, b.len()));
            broadcast(&shared(input, target), &shared(target, input))
        }
        Targets::Indices => {
            let wants = input.split_last().filter(|(_, before)| !before.is_empty())?.1;
            let gets = without_one(target, wants.len());
            let fault = Fault::Classes { target: target.clone(), wants: wants.to_vec(), indices: true };
            differs(gets, wants).then_some(fault)
        }
    }
}

/// Whether the target says in the other way which class is right, for each sample.
fn is_encoding(targets: Targets, input: &Shape, target: &Shape) -> bool {
    let Some((Int::Known(classes @ 2..), samples)) = input.split_last() else { return false };
    match targets {
        Targets::Equal => without_one(target, samples.len()).len() == samples.len(),
        Targets::Broadcast => false,
        Targets::Indices => {
            target.len() == input.len()
                && target.last().is_some_and(|last| !last.surely_differs(&Int::Known(*classes)))
        }
    }
}

/// A shape without its last axis, where that may be one and the other shape has an axis less.
pub(super) fn without_one(shape: &[Int], axes: usize) -> &[Int] {
    match shape {
        [before @ .., last] if before.len() == axes && !last.surely_differs(&Int::Known(1)) => before,
        _ => shape,
    }
}

/// A column and a vector are the matter of another rule.
fn pairs(input: &Shape, target: &Shape) -> Option<Fault> {
    let column = |a: &Shape, b: &Shape| matches!((&**a, &**b), ([_, Int::Known(1)], [_]));
    if column(input, target) || column(target, input) {
        return None;
    }
    let apart =
        input.len() != target.len() || input.iter().zip(target.iter()).any(|(a, b)| a.surely_differs(b));
    apart.then(|| Fault::Pairs { target: target.clone() })
}
