//! A sigmoid too many before a loss, or none where it needs one.

use super::heads::replay_of_heads;
use super::taught::{Misfit, MisfitLoss, sigmoid_misfits, with_choice};
use super::threshold::thresholds;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "sigmoid-mismatch",
    summary: "sigmoid applied twice, or missing, before a binary cross-entropy",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("sigmoid-mismatch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    thresholds(script, out);
    for loss in sigmoid_misfits(script) {
        let (message, made, note) = said(loss.misfit);
        let severity = match loss.misfit {
            Misfit::SigmoidOfClasses | Misfit::SoftmaxOfBinary => Severity::Warning,
            _ => RULE.severity,
        };
        let finding = script
            .finding(RULE.id, severity, &loss.at, message)
            .because(loss.made, made)
            .note(note)
            .help(repair(&loss))
            // These train, if worse: a replay tells nothing apart.
            .replay(
                loss.heads
                    .filter(|_| !matches!(loss.misfit, Misfit::SigmoidOfClasses | Misfit::SoftmaxOfBinary))
                    .map(|heads| replay_of_heads(script, heads)),
            );
        out.push(with_choice(finding, loss.chosen), &loss.at);
    }
}

/// The message, what made the input, and what it does to the run.
fn said(misfit: Misfit) -> (&'static str, &'static str, &'static str) {
    match misfit {
        Misfit::SigmoidOfSoftmax => (
            "this loss expects logits, but a softmax was already applied to its input",
            "softmax is applied here",
            "the sigmoid of a probability is between 0.5 and 0.73, so no prediction can be confident and gradients are small",
        ),
        Misfit::SoftmaxOfSigmoid => (
            "this loss expects logits, but a sigmoid was already applied to its input",
            "sigmoid is applied here",
            "the softmax of values between 0 and 1 is nearly uniform, so gradients are small",
        ),
        Misfit::SigmoidOfClasses => (
            "this loss expects a softmax over classes, but each class has a sigmoid of its own",
            "sigmoid is applied here",
            "the probabilities of a sample do not sum to 1, so the loss divides them by their sum first",
        ),
        Misfit::SoftmaxOfBinary => (
            "this loss expects a probability for each class, but a softmax shares one among them",
            "softmax is applied here",
            "each class is scored as a question of its own; in Keras, `accuracy` becomes the binary one, which is high where no class is predicted",
        ),
        Misfit::NoProbabilities => (
            "this loss expects probabilities, but no sigmoid was applied to its input",
            "computed here, not restricted to [0, 1]",
            "the first value outside [0, 1] raises an error, on the GPU `device-side assert triggered`",
        ),
        _ => (
            "this loss applies a sigmoid to an input that already went through one",
            "sigmoid is applied here",
            "the sigmoid of a probability is between 0.5 and 0.73, so no prediction can be confident and gradients are small",
        ),
    }
}

fn repair(loss: &MisfitLoss) -> String {
    match (loss.misfit, loss.flag) {
        (Misfit::NoProbabilities, _) => {
            "use the loss for logits (`BCEWithLogitsLoss`), or apply a sigmoid".to_owned()
        }
        (Misfit::SoftmaxOfBinary, _) => {
            "use a categorical cross-entropy, or a sigmoid if several classes can be right at once".to_owned()
        }
        (Misfit::SigmoidOfClasses, _) => {
            "use a softmax, or a binary cross-entropy if several classes can be right at once".to_owned()
        }
        (_, Some(flag)) => format!("remove `{flag}=True`, or the activation"),
        (_, None) => {
            "pass the raw logits, and apply the sigmoid only where you need probabilities".to_owned()
        }
    }
}
