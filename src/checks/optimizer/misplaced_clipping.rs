//! Clipping where there is nothing to clip, or nothing any more.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "misplaced-clipping",
    summary: "gradients are clipped before the backward pass or after the step",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("misplaced-clipping"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for clip in script.idle_clippings() {
        let (message, help) = match clip.after_step {
            true => ("gradients are clipped after the step applied them", "move it in front of the step"),
            false => (
                "gradients are clipped before the backward pass fills them",
                "move it between the backward pass and the step",
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &clip.at, message)
            .because(clip.backward, "the gradients are made here")
            .because(clip.step, format!("`{}` applies them unclipped", clip.optimizer))
            .help(help)
            .replay(script.replay_of_order(clip.step, Repair::Clip));
        let fix = script.clipping_moved(&clip);
        let fix = fix.map(|edits| Fix::safe("move the clipping in front of the step", edits));
        out.push(finding.fix(fix), &clip.at);
    }
}
