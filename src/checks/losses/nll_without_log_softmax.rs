//! A likelihood of something that is no logarithm of probabilities.

use super::heads::replay_of_heads;
use super::taught::{Misfit, unlogged_likelihoods};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "nll-without-log-softmax",
    summary: "a loss that takes log-probabilities gets probabilities or logits",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("nll-without-log-softmax"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in unlogged_likelihoods(script) {
        let (message, made, note) = match loss.misfit {
            Misfit::NoLogarithm => (
                "this loss takes log-probabilities, and gets probabilities",
                "made probabilities here, without a logarithm",
                "the loss is then minus a probability, between -1 and 0: its gradient vanishes where the prediction is wrong",
            ),
            _ => (
                "this loss takes log-probabilities, and what reaches it went through no log-softmax",
                "made here",
                "minus a logit has no lower bound: the loss falls below zero and on, while the model learns nothing",
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message)
            .because(loss.made, made)
            .note(note)
            .replay(loss.heads.map(|heads| replay_of_heads(script, heads)))
            .help("apply `log_softmax(x, dim=1)` to the logits, or give them to a cross-entropy");
        out.push(finding, &loss.at);
    }
}
