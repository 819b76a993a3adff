//! Parameters whose only way to the loss is cut.

use super::broken_graphs;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "graph-broken-in-forward",
    summary: "`detach()` in `forward` blocks gradients to some parameters",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("graph-broken-in-forward"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for broken in broken_graphs(script) {
        let by = match broken.by {
            Some(by) => {
                format!("`{}` breaks the computation graph", by.rsplit('.').next().unwrap_or_default())
            }
            None => "gradients are not tracked".to_owned(),
        };
        let message = format!("{by} here: no loss gives {} a gradient", broken.part);
        let finding = script
            .finding(RULE.id, RULE.severity, &broken.at, message)
            .because(broken.backward, "this backward pass does not reach it")
            .note("its `.grad` stays `None`, so the optimizer never updates it from its initial values")
            .replay(script.replay_of_layers(layers::BROKEN))
            .help("keep the computation differentiable up to the loss, or do not pass these parameters to the optimizer");
        out.push(finding, &broken.at);
    }
}
