//! A backward on a value that was cut from its graph.

use super::{Why, detached_losses};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::report::Severity;
use crate::values::DetachPoint;

pub(super) static RULE: Rule = Rule {
    id: "detached-loss",
    summary: "`backward()` is called on a detached loss, so no parameter gets a gradient",
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
        let why = match loss.why {
            Why::AllFrozen => "all of them are frozen",
            Why::FrozenAlone => "the loss depends on frozen layers only",
            Why::Detached => "the loss is detached from the graph",
        };
        let message = format!("no parameter{} gets a gradient: {why}", of.unwrap_or_default());
        let mut finding = script.finding(RULE.id, RULE.severity, &loss.at, message);
        if let Some((place, by)) = loss.point {
            let label = match by {
                Some(by) if by == DetachPoint::NUMBER => "a Python number has no graph".to_owned(),
                Some(by) => {
                    format!(
                        "`{}` detaches the result from the graph",
                        by.rsplit('.').next().unwrap_or_default()
                    )
                }
                None => "gradient tracking is disabled here".to_owned(),
            };
            finding = finding.because(place, label);
        }
        let help = match loss.returned {
            _ if loss.why == Why::FrozenAlone => {
                "compute the loss from the output of the model that is trained"
            }
            _ if loss.why == Why::AllFrozen => {
                "set `requires_grad_(True)` on the layers to train before the loop"
            }
            true => "return the loss as computed from the model's output, without detaching it",
            false => {
                "call `backward()` on the loss as computed from the model's output, without detaching it"
            }
        };
        out.push(
            finding
                .note("the model does not learn, or `backward()` raises an error such as `element 0 of tensors does not require grad and does not have a grad_fn`")
                .replay(script.replay_of_layers(layers::DETACHED))
                .help(help),
            &loss.at,
        );
    }
}
