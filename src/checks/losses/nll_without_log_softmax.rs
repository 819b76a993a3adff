//! A likelihood of something that is no logarithm of probabilities.

use super::heads::replay_of_heads;
use super::taught::{Misfit, unlogged_likelihoods, with_choice};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "nll-without-log-softmax",
    summary: "the loss expects log-probabilities but receives probabilities or logits",
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
            Misfit::NoLogarithm if loss.measured => (
                "this loss expects log-probabilities but receives probabilities",
                "converted to probabilities here, without a log",
                "the loss that is reported is the negated probability, between -1 and 0",
            ),
            _ if loss.measured => (
                "this loss expects log-probabilities, but no `log_softmax` was applied to its input",
                "its input is computed here",
                "the loss that is reported is a negated logit, which says nothing of how good the model is",
            ),
            Misfit::NoLogarithm => (
                "this loss expects log-probabilities but receives probabilities",
                "converted to probabilities here, without a log",
                "the loss is then the negated probability, between -1 and 0: its gradient vanishes for wrong predictions",
            ),
            _ => (
                "this loss expects log-probabilities, but no `log_softmax` was applied to its input",
                "its input is computed here",
                "a negated logit has no lower bound: the loss keeps falling below zero while the model learns nothing",
            ),
        };
        let severity = if loss.measured { Severity::Warning } else { RULE.severity };
        let heads = loss.heads.filter(|_| !loss.measured);
        let finding = script
            .finding(RULE.id, severity, &loss.at, message)
            .because(loss.made, made)
            .note(note)
            .replay(heads.map(|heads| replay_of_heads(script, heads)))
            .help("apply `log_softmax(x, dim=1)` to the logits, or use `CrossEntropyLoss` on the logits");
        out.push(with_choice(finding, loss.chosen), &loss.at);
    }
}
