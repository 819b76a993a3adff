//! A loss over all pairs of predictions and targets.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{BroadcastLoss, Findings, Script};
use crate::report::Severity;
use crate::report::replay::Loss;

pub(super) static RULE: Rule = Rule {
    id: "broadcast-loss",
    summary: "predictions and targets broadcast to all their pairs",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("broadcast-loss"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in script.broadcast_losses() {
        let mut finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message(&loss))
            .note(if loss.refused {
                "shapes that differ end the run here"
            } else {
                "each prediction is compared with every target, so all of them are drawn to the mean of the targets"
            })
            .replay(script.replay_of_loss(Loss::AllPairs, Loss::Squares))
            .help("give both one shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`");
        if let Some(backward) = loss.backward {
            finding = finding.because(backward, "the loss that it becomes part of is walked here");
        }
        out.push(finding, &loss.at);
    }
}

fn message(loss: &BroadcastLoss) -> String {
    let (input, target) = (&loss.input, &loss.target);
    if loss.backward.is_some() {
        format!("{input} minus {target} gives the differences of all pairs")
    } else if loss.refused {
        format!("this loss gets predictions of shape {input} and targets of shape {target}")
    } else {
        format!(
            "this loss broadcasts predictions of shape {input} and targets of shape {target} to all their pairs"
        )
    }
}
