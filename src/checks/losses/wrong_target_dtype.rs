//! Targets that their loss cannot take, and indices in the place of its predictions.

use super::broadcasting::known_shape;
use super::swapped_loss_arguments::swapped;
use super::taught::{TaughtLoss, several_losses, taught_losses};
use crate::apis::changed;
use crate::apis::{Expects, Pairs};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Fix, Place, Severity};
use crate::trace::{At, Loss, Sight};
use crate::values::{DType, Int, Tensor};

pub(super) static RULE: Rule = Rule {
    id: "wrong-target-dtype",
    summary: "the loss does not accept the dtype or shape of the targets",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("wrong-target-dtype"),
    check,
};

/// Since this release losses that compare values cast their targets.
const CASTS: (u64, u64) = (2, 15);

/// A target that its loss cannot take.
struct WrongTarget {
    at: At,
    fault: TargetFault,
    dtype: DType,
    shape: String,
    made: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetFault {
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

fn check(script: &Script, out: &mut Findings) {
    for target in wrong_targets(script) {
        let (expected, help, cast) = said(target.fault);
        let cast = match target.dtype {
            DType::Int64 => cast.trim_end_matches(".long()"),
            _ => cast,
        };
        let fix = script.behind_argument(target.at.place, 1, &["target"], cast);
        let mut finding = script.finding(RULE.id, RULE.severity, &target.at, message(&target, expected));
        if let Some(made) = target.made.filter(|made| *made != target.at.place) {
            finding = finding.because(made, "the targets are created here");
        }
        let note = match target.fault {
            TargetFault::Wider => {
                "its backward pass raises an error; only `mse_loss` of PyTorch 2.15 or later converts implicitly"
            }
            TargetFault::WholeNumbers => {
                "this raises an error; only `mse_loss` of PyTorch 2.15 or later converts implicitly"
            }
            _ => "the loss or its backward pass raises an error",
        };
        let fix = fix.map(|edits| Fix::safe(format!("add `{cast}` to the targets"), edits));
        out.push(finding.fix(fix).note(note).help(help), &target.at);
    }
    indexed_predictions(script, out);
}

/// Losses over classes that get the class that was predicted, and no scores.
fn indexed_predictions(script: &Script, out: &mut Findings) {
    let several = several_losses(script);
    let mut seen = Places::default();
    for (at, sight) in script.sightings() {
        let Sight::Loss(loss) = sight else { continue };
        let Some((input, dtype)) = indices(loss) else { continue };
        if several.contains_key(&at.place) || !seen.insert(at.place) {
            continue;
        }
        let at = At { confidence: at.confidence.min(input.confidence), ..at.clone() };
        let message =
            format!("the predictions of this loss are {}, but it expects floating point", dtype.name());
        let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
        if let Some(made) = at.beside(input.made) {
            finding = finding.because(made, "they are computed here");
        }
        out.push(
            finding
                .note("this raises an error; predicted class indices have no gradient either")
                .help("pass the scores that the model outputs for each class"),
            &at,
        );
    }
}

/// The input of a loss over classes that is made of integers, where it is not the targets that stand in its place.
fn indices(loss: &Loss) -> Option<(&Tensor, DType)> {
    loss.spec.classes?;
    let input: &Tensor = loss.input.as_tensor()?;
    let dtype = input.dtype.filter(|dtype| !dtype.is_float() && !input.is_array)?;
    swapped(loss).is_none().then_some((input, dtype))
}

fn message(target: &WrongTarget, expected: &str) -> String {
    let (dtype, shape) = (target.dtype.name(), &target.shape);
    match target.fault {
        TargetFault::Column => format!("the targets of this loss have shape {shape}, but {expected}"),
        _ => format!("the targets of this loss are {dtype}, but {expected}"),
    }
}

/// What the loss takes, how to get it, and what that adds to the targets.
fn said(fault: TargetFault) -> (&'static str, &'static str, &'static str) {
    match fault {
        TargetFault::IndexDtype => ("class indices must be int64", "cast them: `target.long()`", ".long()"),
        TargetFault::Column => (
            "class indices must be 1-D, of shape [N]",
            "remove the extra dimension: `target.squeeze(1).long()`",
            ".squeeze(1).long()",
        ),
        TargetFault::WholeProbabilities => {
            ("class probabilities must be floating point", "cast them: `target.float()`", ".float()")
        }
        TargetFault::WholeNumbers => ("it expects floating point", "cast them: `target.float()`", ".float()"),
        TargetFault::Wider => ("the predictions are float32", "cast them: `target.float()`", ".float()"),
    }
}

fn wrong_targets(script: &Script) -> Vec<WrongTarget> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for loss in taught_losses(script) {
        let Some(target) = loss.target.and_then(|value| value.as_tensor()) else { continue };
        let (Some(dtype), false) = (target.dtype, target.is_array) else { continue };
        let Some(fault) = loss.fault_of(target, dtype) else { continue };
        let is_cast = matches!(fault, TargetFault::WholeNumbers | TargetFault::Wider)
            && loss.spec.pairs == Some(Pairs::Broadcast)
            && script.pins.need_since("torch", CASTS);
        if is_cast || is_float_where_required(script, target) {
            continue;
        }
        if seen.insert(loss.at.place) {
            found.push(WrongTarget {
                at: At { confidence: target.confidence.min(loss.at.confidence), ..loss.at },
                fault,
                dtype,
                shape: known_shape(script, target),
                made: target.made,
            });
        }
    }
    found
}

/// Whether what made the targets took them for numbers of the default dtype in all releases that the project asks for:
/// `torch.full(size, 1)` before it inferred integers.
fn is_float_where_required(script: &Script, target: &Tensor) -> bool {
    let Some(what) = target.what else { return false };
    let framework = what.split('.').next().unwrap_or_default();
    changed::of(&what).filter(|row| row.whole.is_some()).any(|row| {
        let parts = row
            .since
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        parts.is_some_and(|since| !script.pins.allow_since(framework, since))
    })
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
