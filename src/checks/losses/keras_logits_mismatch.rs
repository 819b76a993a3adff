//! Logits where a Keras loss expects probabilities.

use super::heads::replay_of_heads;
use super::taught::unflagged_logits;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "keras-logits-mismatch",
    summary: "a loss that was not told of logits gets them",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("keras-logits-mismatch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in unflagged_logits(script) {
        let flag = loss.flag.map_or("from_logits", |flag| flag.as_str());
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &loss.at,
                "this loss takes probabilities, and the last layer has no activation that makes them",
            )
            .because(loss.made, "the numbers it gets are made here")
            .note("logits are clipped to [0, 1] as if they were probabilities: where that happens no gradient flows")
            .replay(loss.heads.map(|heads| replay_of_heads(script, heads)))
            .help(format!("give the loss `{flag}=True`, or the last layer a softmax or sigmoid"));
        out.push(finding, &loss.at);
    }
}
