//! Gradients that are cleared before anything was done with them.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Misplaced, Repair, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "misplaced-zero-grad",
    summary: "gradients are cleared before the step that should apply them",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("misplaced-zero-grad"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for clear in script.misplaced_clears() {
        let (message, help) = match clear.kind {
            Misplaced::BeforeStep => (
                "gradients are cleared before the step applies them",
                "move it behind the step, or before the backward pass",
            ),
            Misplaced::EveryMicroBatch => (
                "gradients are cleared in every micro-batch, so that nothing accumulates",
                "clear in the branch that steps",
            ),
        };
        let fix = script.clear_moved(&clear).map(|edits| Fix::safe("move the clearing", edits));
        let finding = script
            .finding(RULE.id, RULE.severity, &clear.at, message)
            .because(clear.backward, "these gradients are lost")
            .because(clear.step, "and this step does without them")
            .replay(script.replay_of_order(clear.step, Repair::Clear));
        out.push(finding.fix(fix).help(help), &clear.at);
    }
}
