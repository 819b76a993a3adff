//! Logits that are held against a threshold of probabilities.

use super::sigmoid_mismatch::RULE;
use super::taught::taught_losses;
use crate::apis::Expects;
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, TensorCompare};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::StmtKind;

pub(super) static CHECKER: Checker = Checker { on_tensor_compare: Some(compared), ..Checker::SILENT };

/// What a layer gives as it is was compared with a number between zero and one.
struct Thresholded {
    made: Place,
    threshold: f64,
}

/// `pred > 0.5`
fn compared(cx: &mut Interp<'_>, compare: &TensorCompare<'_>) {
    let (Some(logits), Some(threshold)) = (compare.left.as_tensor(), compare.right.as_num()) else { return };
    let Some(made) = logits.raw_at().filter(|_| threshold > 0.0 && threshold < 1.0) else { return };
    // A branch may be meant for models that end in a sigmoid.
    if cx.undecided_arms() > 0 && is_in_branch(cx, compare.place) {
        return;
    }
    cx.observe(compare.place, Thresholded { made, threshold }, logits.confidence);
}

/// Whether a place lies in an arm of an `if` in the function that runs.
fn is_in_branch(cx: &Interp<'_>, place: Place) -> bool {
    let tree = cx.tree(place.file);
    let function = cx.running().next_back().and_then(|frame| frame.function);
    let around = function.map(|function| tree.function(function).span);
    tree.stmts.iter().any(|stmt| {
        matches!(stmt.kind, StmtKind::If { .. })
            && stmt.span.contains(place.span)
            && around.is_none_or(|around| around.contains(stmt.span))
    })
}

pub(super) fn thresholds(script: &Script, out: &mut Findings) {
    let seen: Vec<_> = script.observed_once::<Thresholded>().collect();
    if seen.is_empty() {
        return;
    }
    // The same layer feeds a loss that applies the sigmoid itself.
    let taught: Vec<(Place, Place)> = taught_losses(script)
        .filter(|loss| loss.expects == Expects::BinaryLogits)
        .filter_map(|loss| Some((loss.input.raw_at()?, loss.at.place)))
        .collect();
    for (at, Thresholded { made, threshold }) in seen {
        let Some((_, loss)) = taught.iter().find(|(logits, _)| logits == made) else { continue };
        if at.confidence < Confidence::Medium {
            continue;
        }
        let probability = 1.0 / (1.0 + (-threshold).exp());
        let finding = script
            .finding(
                RULE.id,
                Severity::Warning,
                at,
                format!("these are logits, but they are compared with {threshold} like probabilities"),
            )
            .because(*loss, "this loss applies the sigmoid to them")
            .note(format!("a logit of {threshold} is a probability of {probability:.2}"))
            .help("compare logits with 0, or apply a sigmoid first");
        out.push(finding, at);
    }
}
