//! Logits where a Keras loss expects probabilities.

use super::heads::replay_of_heads;
use super::taught::unflagged_logits;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "keras-logits-mismatch",
    summary: "the loss expects probabilities but receives logits (`from_logits=False`)",
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
                "this loss expects probabilities but receives logits: the last layer has no activation",
            )
            .because(loss.made, "the logits are computed here")
            .note("logits are clipped to [0, 1] as if they were probabilities, and clipped values get no gradient")
            .replay(loss.heads.map(|heads| replay_of_heads(script, heads)))
            .help(format!("pass `{flag}=True` to the loss, or add a softmax or sigmoid to the last layer"));
        out.push(finding, &loss.at);
    }
}
