//! Layers that are frozen, or thawed, when the training is compiled already.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "trainable-without-recompile",
    summary: "`trainable` is changed after the model was compiled",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("trainable-without-recompile"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for stale in script.stale_trainings() {
        let (severity, note) = if stale.is_built {
            (
                Severity::Error,
                "the training step is built already, and goes on with the weights it was built for",
            )
        } else {
            (
                Severity::Warning,
                "what is trained is settled by `compile`; whether a change before the first `fit` counts depends on the version",
            )
        };
        let finding = script
            .finding(
                RULE.id,
                severity,
                &stale.at,
                "the training does not see that `trainable` is changed here",
            )
            .because(stale.compiled, "the model was compiled here, with what was trainable then")
            .because(stale.fitted, "and is trained here as it was compiled")
            .note(note)
            .help("call `compile` again, between this and the next `fit`");
        let fix = script.compiled_again(&stale);
        let fix = fix.map(|edits| Fix::guess("compile again before the next training", edits));
        out.push(finding.fix(fix), &stale.at);
    }
}
