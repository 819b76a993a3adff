//! A handler that lets the training go on after a failure of the device.

use super::handlers::SwallowedError;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "swallowed-gpu-error",
    summary: "an error of the GPU is printed, and nothing is done about it",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("swallowed-gpu-error"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, error) in script.observed_once::<SwallowedError>() {
        let goes_on = error.trains && !at.loops.is_empty();
        let (severity, message, note) = if goes_on {
            (
                Severity::Warning,
                "a step that fails is skipped, and the training goes on",
                "after a failed kernel every later step fails, too; without memory, this batch is lost and nobody counts it",
            )
        } else {
            (
                Severity::Note,
                "an error of the GPU is told and forgotten here",
                "what comes after it runs without the result",
            )
        };
        let finding = script
            .finding(RULE.id, severity, at, message)
            .because(error.work, "its errors end up here")
            .note(note)
            .help("catch what can be repaired, and `raise` the rest");
        out.push(finding, at);
    }
}
