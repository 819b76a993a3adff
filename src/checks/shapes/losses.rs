//! Targets of losses against their input.

use super::faults::Fault;
use super::needs::broadcast;
use crate::apis::{LossSpec, Pairs};
use crate::values::{DType, Int, Shape, Tensor};

/// In which way a target does not fit its input.
pub(super) fn broken(spec: &LossSpec, input: &Tensor, target: &Tensor) -> Option<Fault> {
    let (shape, wanted) = (input.shape.as_ref()?, target.shape.as_ref()?);
    match (spec.classes, spec.pairs) {
        (Some(1), _) => classes(shape, wanted, target.dtype),
        (None, Some(Pairs::Equal)) => pairs(shape, wanted),
        (None, Some(Pairs::Broadcast)) => broadcast(shape, wanted),
        _ => None,
    }
}

/// Indices lack the axis of the classes, and probabilities have the shape of the input.
fn classes(input: &Shape, target: &Shape, dtype: Option<DType>) -> Option<Fault> {
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
    // Indices in the shape of the input are the matter of another rule.
    (!indices && differs(target, input)).then(|| fault(indices))
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
