//! A sigmoid too many before a loss, or none where it needs one.

use super::heads::replay_of_heads;
use super::taught::{Misfit, MisfitLoss, sigmoid_misfits};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "sigmoid-mismatch",
    summary: "a loss applies a sigmoid to the result of one, or needs one that is missing",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("sigmoid-mismatch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in sigmoid_misfits(script) {
        let (message, made, note) = said(loss.misfit);
        let finding = script
            .finding(RULE.id, RULE.severity, &loss.at, message)
            .because(loss.made, made)
            .note(note)
            .help(repair(&loss))
            .replay(loss.heads.map(|heads| replay_of_heads(script, heads)));
        out.push(finding, &loss.at);
    }
}

/// The message, what made the input, and what it does to the run.
fn said(misfit: Misfit) -> (&'static str, &'static str, &'static str) {
    match misfit {
        Misfit::SigmoidOfSoftmax => (
            "this loss applies a sigmoid to what went through a softmax already",
            "the softmax it went through",
            "the sigmoid of a probability lies between 0.5 and 0.73, so no prediction can be confident, and gradients are small",
        ),
        Misfit::SoftmaxOfSigmoid => (
            "this loss applies a softmax to what went through a sigmoid already",
            "the sigmoid it went through",
            "logits between 0 and 1 leave the probabilities of all classes nearly equal, and gradients small",
        ),
        Misfit::NoProbabilities => (
            "this loss takes probabilities, and what reaches it went through no sigmoid",
            "made here, not limited to [0, 1]",
            "the first number outside of [0, 1] ends the run: on a GPU with a failed assertion in the kernel",
        ),
        _ => (
            "this loss applies a sigmoid to what went through one already",
            "the sigmoid it went through",
            "the sigmoid of a probability lies between 0.5 and 0.73, so no prediction can be confident, and gradients are small",
        ),
    }
}

fn repair(loss: &MisfitLoss) -> String {
    match (loss.misfit, loss.flag) {
        (Misfit::NoProbabilities, _) => {
            "use the loss that takes logits (`BCEWithLogitsLoss`), or apply a sigmoid".to_owned()
        }
        (_, Some(flag)) => format!("drop `{flag}=True`, or the activation"),
        (_, None) => "pass the logits, and take the sigmoid where probabilities are read".to_owned(),
    }
}
