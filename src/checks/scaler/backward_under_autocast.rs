//! A backward pass that runs inside of the context that was for the forward pass.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{BackwardCall, Checker, Interp};
use crate::report::{Place, Severity};
use crate::values::Autocast;

pub(super) static RULE: Rule = Rule {
    id: "backward-under-autocast",
    summary: "the backward pass runs under autocast",
    group: Group::Gradients,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("backward-under-autocast"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_backward: Some(walked), ..Checker::SILENT };

/// Autocast is on while gradients are computed.
struct Covered {
    autocast: Option<Place>,
}

fn walked(cx: &mut Interp<'_>, backward: &BackwardCall<'_>) {
    let is_on = |autocast: &Autocast| autocast.on == Some(true) && autocast.device.is_gpu();
    if let Some(autocast) = cx.autocast().filter(is_on) {
        let covered = Covered { autocast: autocast.place };
        cx.observe(backward.call.place, covered, backward.loss.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, covered) in script.observed_once::<Covered>() {
        let message = "the backward pass runs under autocast, which PyTorch does not recommend";
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(autocast) = at.beside(covered.autocast) {
            finding = finding.because(autocast, "autocast is on from here");
        }
        let finding = finding
            .note("autocast is for the forward pass and the loss: backward operations take the dtypes of theirs anyway")
            .help("dedent this call: end the `with` block after the loss is computed");
        out.push(finding, at);
    }
}
