//! A handler that lets the training go on after a failure of the device.

use super::handlers::SwallowedError;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "swallowed-gpu-error",
    summary: "a GPU error is logged and otherwise ignored",
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
                "a failed training step is skipped, and training continues",
                "after a CUDA error every later step fails too; after `CUDA out of memory`, this batch is silently lost",
            )
        } else {
            (
                Severity::Note,
                "this handler logs a GPU error and continues",
                "the code after it runs without the result",
            )
        };
        let finding = script
            .finding(RULE.id, severity, at, message)
            .because(error.work, "errors raised here are caught")
            .note(note)
            .help("handle only errors you can recover from, and `raise` the rest");
        out.push(finding, at);
    }
}
