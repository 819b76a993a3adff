//! A backward on a value that was cut from its graph.

use super::detached_losses;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "detached-loss",
    summary: "backward on a value that was cut from its graph",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("detached-loss"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in detached_losses(script) {
        let of = loss.optimizer.map(|optimizer| format!(" of `{}`", script.optimizer_name(optimizer)));
        let message = format!(
            "this backward reaches no parameter{}: the loss was cut from its graph",
            of.unwrap_or_default()
        );
        let mut finding = script.finding(RULE.id, RULE.severity, &loss.at, message);
        if let Some((place, by)) = loss.point {
            let label = match by {
                Some(by) => {
                    format!("`{}` leaves the graph behind", by.rsplit('.').next().unwrap_or_default())
                }
                None => "gradients are not recorded here".to_owned(),
            };
            finding = finding.because(place, label);
        }
        out.push(
            finding
                .note("the step applies no gradients: the model stays as it was, or the run ends with an error here")
                .replay(script.replay_of_layers(layers::DETACHED))
                .help("call `backward()` on the loss as it was computed from the model's output"),
            &loss.at,
        );
    }
}
