//! A step that applies the gradients of earlier steps as well.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "missing-zero-grad",
    summary: "gradients are never cleared between optimizer steps",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("missing-zero-grad"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for step in script.uncleared_steps() {
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &step.at,
                "this step applies the gradients of earlier batches again",
            )
            .because(step.backward, "adds to the gradients that are still in place");
        if let Some(clear) = step.other_clear {
            finding =
                finding.because(clear, format!("clears other parameters than `{}` owns", step.optimizer));
        }
        let fix = script.clearing(&step, "zero_grad").map(|clearing| {
            let place = if clearing.before_backward { "before the backward pass" } else { "after the step" };
            Fix::safe(format!("insert `{}.zero_grad()` {place}", clearing.optimizer), clearing.edits)
        });
        out.push(
            finding
                .fix(fix)
                .replay(script.replay_of_order(step.at.place, Repair::Clear))
                .note(format!("nothing on the way round the loop clears what `{}` owns", step.optimizer))
                .help(format!("call `{}.zero_grad()` before the backward pass", step.optimizer)),
            &step.at,
        );
    }
}
