//! A function whose gradient is not that of what it computes.

use super::custom_gradient::CustomGradient;
use super::gradient_replay;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "backward-mismatches-forward",
    summary: "a custom `backward` does not return the gradient of its `forward`",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("backward-mismatches-forward"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, own) in script.observed::<CustomGradient>() {
        if own.is_derivative || !seen.insert(at.place) {
            continue;
        }
        let message = format!(
            "`{}` computes `{}`, but its `backward` returns `{}`",
            own.class, own.forward, own.gradient
        );
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(own.forward_place, format!("computes `{}`", own.forward))
            .note("no error is raised: all layers before this function train with wrong gradients")
            .replay(gradient_replay::replay(own))
            .help(
                "return the gradient of `forward`, and verify it with `torch.autograd.gradcheck` in float64",
            );
        out.push(finding, at);
    }
}
