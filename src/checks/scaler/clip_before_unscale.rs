//! Clipping of gradients that are still multiplied by the scale of a scaler.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "clip-before-unscale",
    summary: "gradients are clipped while they are multiplied by the loss scale",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("clip-before-unscale"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for clip in script.scaled_clippings() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &clip.at,
                "this clips gradients that are still multiplied by the loss scale",
            )
            .because(clip.backward, "the loss is multiplied by the scale here")
            .note("divided by the scale afterwards, they are that much smaller than the bound allows")
            .help(format!("call `{}.unscale_({})` before it", clip.scaler, clip.optimizer))
            .replay(clip.step.and_then(|step| script.replay_of_order(step, Repair::Unscale)));
        let fix = script
            .unscaled_first(&clip, "unscale_")
            .map(|edits| Fix::safe("unscale the gradients first", edits));
        out.push(finding.fix(fix), &clip.at);
    }
}
