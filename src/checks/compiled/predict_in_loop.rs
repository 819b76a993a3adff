//! A framework's loop of predictions, run for one sample after the other.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Severity};
use crate::trace::{At, LoopId};
use crate::values::Int;

pub(super) static RULE: Rule = Rule {
    id: "predict-in-loop",
    summary: "`predict()` is called on a single sample in every iteration of a training loop",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("predict-in-loop"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(effect), ..Checker::SILENT };

/// All samples were predicted, of which there is one.
struct SinglePrediction;

/// The framework trains a model.
struct Training;

fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    let place = declared.call.place;
    match declared.verb() {
        Verb::Fit | Verb::TrainBatch => cx.observe(place, Training, Confidence::High),
        Verb::Predict if cx.in_loop() => {
            let samples = declared.arg(1);
            let shape = samples.as_tensor().and_then(|samples| samples.shape.as_ref());
            if shape.is_some_and(|shape| shape.len() > 1 && shape[0] == Int::Known(1)) {
                cx.observe(place, SinglePrediction, Confidence::High);
            }
        }
        _ => {}
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, _) in script.observed_once::<SinglePrediction>() {
        let Some(innermost) = at.loops.last() else { continue };
        let count = |id: &LoopId| script.rehearsal.loop_info(*id).count.known();
        if at.loops.iter().all(|id| count(id).is_some_and(|count| count < 2)) {
            continue;
        }
        // A few predictions to look at cost nothing.
        let severity = if trains_beside(script, at) { RULE.severity } else { Severity::Note };
        let finding = script
            .finding(RULE.id, severity, at, "slow: every iteration calls `predict()` on a single sample")
            .because(script.rehearsal.loop_info(*innermost).place, "in this loop")
            .note("each call sets up a dataset, an epoch and callbacks before it runs the model once")
            .help("call the model itself, `model(x, training=False)`, or predict all samples in one call");
        out.push(finding, at);
    }
}

/// Whether a loop around trains a model.
fn trains_beside(script: &Script, at: &At) -> bool {
    script.observed::<Training>().any(|(other, _)| other.loops.iter().any(|id| at.loops.contains(id)))
}
