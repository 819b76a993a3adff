//! Whether the target of a loss fits its input: shapes that would spread over each other, and dtypes.

use super::activations::TaughtLoss;
use super::{Places, Script};
use crate::apis::{Expects, Pairs};
use crate::report::replay::Loss;
use crate::report::{Confidence, Place};
use crate::trace::{At, Sight};
use crate::values::{DType, HazardKind, Int, Tensor};

/// A loss over all pairs of predictions and targets, where each belongs to one.
pub struct BroadcastLoss {
    pub at: At,
    pub input: String,
    pub target: String,
    /// The loss refuses shapes that differ.
    pub refused: bool,
    /// The backward that it reaches, where the loss is written by hand.
    pub backward: Option<Place>,
}

/// A target that its loss cannot take.
pub struct WrongTarget {
    pub at: At,
    pub fault: TargetFault,
    pub dtype: DType,
    pub shape: String,
    pub made: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetFault {
    /// Classes by their index, in another dtype than indices have.
    IndexDtype,
    /// Classes by their index, with an axis of one behind them.
    Column,
    /// Probabilities of classes, in a dtype of integers.
    WholeProbabilities,
    /// Numbers for each output, in a dtype of integers.
    WholeNumbers,
    /// Numbers for each output, in a wider dtype than the output's.
    Wider,
}

impl Script<'_> {
    pub fn broadcast_losses(&self) -> Vec<BroadcastLoss> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for loss in self.taught_losses() {
            let (Some(pairs), Some(target)) =
                (loss.spec.pairs, loss.target.and_then(|value| value.as_tensor()))
            else {
                continue;
            };
            let Some(confidence) = spreads(loss.input, target) else { continue };
            if seen.insert(loss.at.place) {
                found.push(BroadcastLoss {
                    at: At {
                        confidence: confidence.min(target.confidence).min(loss.at.confidence),
                        ..loss.at
                    },
                    input: self.known_shape(loss.input),
                    target: self.known_shape(target),
                    refused: pairs == Pairs::Equal,
                    backward: None,
                });
            }
        }
        self.spread_by_hand(&mut seen, &mut found);
        found
    }

    /// What meets in losses that compare number by number: each prediction its own target, or all of them.
    pub fn meetings(&self) -> Vec<Loss> {
        let meeting = |loss: TaughtLoss| {
            loss.spec.pairs?;
            let target = loss.target?.as_tensor()?;
            match (spreads(loss.input, target), &loss.input.shape, &target.shape) {
                (Some(_), ..) => Some(Loss::AllPairs),
                (None, Some(_), Some(_)) => Some(Loss::Squares),
                _ => None,
            }
        };
        self.taught_losses().filter_map(meeting).collect()
    }

    /// Differences over all pairs that a backward walks.
    fn spread_by_hand(&self, seen: &mut Places, found: &mut Vec<BroadcastLoss>) {
        for (at, sight) in self.sightings() {
            let Sight::Backward { loss, .. } = sight else { continue };
            let spread = loss.hazards.iter().flat_map(|hazards| hazards.iter());
            for hazard in spread.filter(|hazard| hazard.kind == HazardKind::PairwiseBroadcast) {
                let operands = self.sightings().find_map(|(here, sight)| match sight {
                    Sight::PairwiseBroadcast { left, right } if here.place == hazard.place => {
                        Some((here, left, right))
                    }
                    _ => None,
                });
                let Some((here, left, right)) = operands else { continue };
                if seen.insert(hazard.place) {
                    found.push(BroadcastLoss {
                        at: At { confidence: hazard.confidence.min(at.confidence), ..here.clone() },
                        input: self.known_shape(left),
                        target: self.known_shape(right),
                        refused: false,
                        backward: Some(at.place),
                    });
                }
            }
        }
    }

    pub fn wrong_targets(&self) -> Vec<WrongTarget> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for loss in self.taught_losses() {
            let Some(target) = loss.target.and_then(|value| value.as_tensor()) else { continue };
            let (Some(dtype), false) = (target.dtype, target.is_array) else { continue };
            let Some(fault) = loss.fault_of(target, dtype) else { continue };
            if seen.insert(loss.at.place) {
                found.push(WrongTarget {
                    at: At { confidence: target.confidence.min(loss.at.confidence), ..loss.at },
                    fault,
                    dtype,
                    shape: self.known_shape(target),
                    made: target.made,
                });
            }
        }
        found
    }

    /// A shape in words, also where only its last size is known.
    fn known_shape(&self, tensor: &Tensor) -> String {
        match (&tensor.shape, tensor.last.as_ref().and_then(Int::known)) {
            (None, Some(last)) => format!("[…, {last}]"),
            _ => self.shape(tensor),
        }
    }
}

impl TaughtLoss<'_> {
    fn fault_of(&self, target: &Tensor, dtype: DType) -> Option<TargetFault> {
        if self.spec.classes.is_some() {
            return self.fault_of_classes(target, dtype);
        }
        let whole = !dtype.is_float();
        let makes_floats = self.input.learned && self.input.dtype.is_none_or(DType::is_float);
        match self.spec.pairs? {
            Pairs::Equal if whole && makes_floats => Some(TargetFault::WholeNumbers),
            _ if !self.spec.strict => None,
            _ if whole && makes_floats => Some(TargetFault::WholeNumbers),
            _ if dtype == DType::Float64 && self.input.dtype == Some(DType::Float32) => {
                Some(TargetFault::Wider)
            }
            _ => None,
        }
    }

    /// The target of a loss over classes: indices, one axis short of the input, or probabilities in its shape.
    fn fault_of_classes(&self, target: &Tensor, dtype: DType) -> Option<TargetFault> {
        let index = matches!(dtype, DType::Int64 | DType::UInt8);
        let Some(rank) = target.rank() else {
            // In no shape are such integers classes, or floats anything to a loss that picks by index.
            let never = !index && (!dtype.is_float() || self.expects == Expects::LogProbabilities);
            return never.then_some(TargetFault::IndexDtype);
        };
        let input = match (self.input.rank(), &self.input.last) {
            (Some(rank), _) => rank,
            // Whatever a layer gives, a vector of targets means a matrix of scores.
            (None, Some(last)) if rank == 1 && *last != Int::Known(1) => 2,
            _ => return None,
        };
        if rank + 1 == input {
            return (!index).then_some(TargetFault::IndexDtype);
        }
        let classes = self.classes().and_then(|classes| classes.known()).filter(|classes| *classes > 1)?;
        let given = target.shape.as_ref()?.get(1)?.known()?;
        if rank != input || rank != 2 {
            return None;
        }
        match given {
            1 => Some(TargetFault::Column),
            given if given == classes && !dtype.is_float() && self.expects == Expects::Logits => {
                Some(TargetFault::WholeProbabilities)
            }
            _ => None,
        }
    }
}

/// Whether two shapes that meet number by number both grow, so that each number meets all others.
fn spreads(a: &Tensor, b: &Tensor) -> Option<Confidence> {
    match (&a.shape, &b.shape) {
        (Some(a), Some(b)) => grow(a, b),
        (None, Some(b)) => column(a.last.as_ref()?, b),
        (Some(a), None) => column(b.last.as_ref()?, a),
        (None, None) => None,
    }
}

/// A column of unknown rank against a vector.
fn column(last: &Int, vector: &[Int]) -> Option<Confidence> {
    match vector {
        [size] if *last == Int::Known(1) && is_many(size) => Some(Confidence::Medium),
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
