//! Backward passes past what should have done them: an engine, or the scaler that steps.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "raw-backward",
    summary: "a backward pass leaves out the engine or the scaler that the run relies on",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("raw-backward"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for raw in script.raw_backwards() {
        let message = format!("this backward pass leaves out what `{}` does for it", raw.engine);
        let finding = script
            .finding(RULE.id, RULE.severity, &raw.at, message)
            .note("it scales the loss in half precision and counts accumulated batches")
            .help(format!("call `{}.{}(loss)` instead", raw.engine, raw.method));
        out.push(finding, &raw.at);
    }
    for raw in script.unscaled_backwards() {
        let message =
            format!("the loss is not scaled, and `{}` divides its gradients by the scale", raw.scaler);
        let finding = script
            .finding(RULE.id, RULE.severity, &raw.at, message)
            .because(raw.step, "divides them by 65536 at the start, and applies them")
            .help(format!("call `{}.scale(loss).backward()`", raw.scaler));
        let fix = script.scaled_backward(&raw, "scale");
        let finding = finding.fix(fix.map(|edits| Fix::safe("scale the loss", edits)));
        out.push(finding, &raw.at);
    }
}
