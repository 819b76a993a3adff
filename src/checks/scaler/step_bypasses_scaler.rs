//! Gradients that are applied while they are still multiplied by the scale of a scaler.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "step-bypasses-scaler",
    summary: "an optimizer steps past the scaler that multiplied its gradients",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("step-bypasses-scaler"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for step in script.bypassed_scalers() {
        let message =
            format!("`{}` applies gradients that are still multiplied by the loss scale", step.optimizer);
        let finding = script
            .finding(RULE.id, RULE.severity, &step.at, message)
            .because(step.backward, "the loss is multiplied by the scale here")
            .note("the scale starts at 65536, and overflows are no longer skipped")
            .help(format!("call `{0}.step({1})`, then `{0}.update()`", step.scaler, step.optimizer))
            .replay(script.replay_of_order(step.at.place, Repair::StepByScaler));
        let fix = script.stepped_by_scaler(&step).map(|edits| Fix::safe("let the scaler step", edits));
        out.push(finding.fix(fix), &step.at);
    }
}
