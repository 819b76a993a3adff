//! A divergence of what is no logarithm of probabilities, or to what is none.

use super::taught::{TaughtLoss, taught_losses, with_choice};
use crate::apis::{Expects, Mark};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Interp, LossCall};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::syntax::ExprKind;
use crate::trace::At;
use crate::values::Tensor;

pub(super) static RULE: Rule = Rule {
    id: "misused-kl-divergence",
    summary: "the KL divergence receives probabilities where it expects log-probabilities, or the reverse",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("misused-kl-divergence"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_loss: Some(computed), ..Checker::SILENT };

/// A divergence was computed, and was told whether its target is logarithms.
struct TargetIsLog(bool);

/// A divergence that gets something else than it expects.
struct Misuse {
    at: At,
    given: Given,
    /// Where that was made.
    made: Place,
    of: Argument,
    /// Where the divergence was created, if it is one of several losses.
    chosen: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Probabilities,
    LogProbabilities,
    Logits,
    /// They come of no softmax, and are no logarithms.
    NonNegative,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// The first of a divergence that expects its logarithm.
    Input,
    /// The predictions of one that expects probabilities of both.
    Predictions,
    Target,
    /// A target that is said to be logarithms.
    LogTarget,
}

fn computed(cx: &mut Interp<'_>, loss: &LossCall<'_>) {
    let is_divergence = loss.call.api.loss.is_some_and(|spec| spec.expects == Expects::LogDistribution);
    if let Some(is_log) = loss.call.get("log_target").as_bool().filter(|_| is_divergence) {
        cx.observe(loss.call.place, TargetIsLog(is_log), Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for misuse in misuses(script) {
        let finding = script
            .finding(RULE.id, RULE.severity, &misuse.at, misuse.message())
            .because(misuse.made, misuse.given.origin())
            .note(misuse.note())
            .help(misuse.help())
            .fix(misuse.fix(script));
        out.push(with_choice(finding, misuse.chosen), &misuse.at);
    }
}

fn misuses(script: &Script) -> Vec<Misuse> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for loss in taught_losses(script) {
        let Some((given, made, of)) = loss.misuse(script) else { continue };
        if seen.insert(loss.at.place) {
            found.push(Misuse { chosen: loss.chosen, at: loss.at, given, made, of });
        }
    }
    found
}

impl TaughtLoss<'_> {
    fn misuse(&self, script: &Script) -> Option<(Given, Place, Argument)> {
        match self.expects {
            Expects::LogDistribution => {
                let input = not_logarithms(self.input).map(|(given, made)| (given, made, Argument::Input));
                input.or_else(|| self.misused_target(script))
            }
            // Of the losses over probabilities only a divergence has no flag for logits.
            Expects::Probabilities if self.spec.expects.flag().is_none() && self.leaves_unit() => {
                let (mark, made) = self.input.mark?;
                let given = if mark == Mark::Raw { Given::Logits } else { Given::LogProbabilities };
                Some((given, made, Argument::Predictions))
            }
            _ => None,
        }
    }

    fn misused_target(&self, script: &Script) -> Option<(Given, Place, Argument)> {
        let target = self.target?.as_tensor()?;
        let mut told = script.observed::<TargetIsLog>().filter(|(at, _)| at.place == self.at.place);
        let is_log = told.next()?.1.0;
        if told.any(|(_, other)| other.0 != is_log) {
            return None;
        }
        let (mark, made) = target.mark?;
        match mark {
            Mark::Softmax | Mark::Sigmoid if is_log => {
                Some((Given::Probabilities, made, Argument::LogTarget))
            }
            Mark::LogSoftmax | Mark::LogSigmoid if !is_log => {
                Some((Given::LogProbabilities, made, Argument::Target))
            }
            Mark::Raw if !is_log && target.range.is_none_or(|range| range.low < 0.0) => {
                Some((Given::Logits, made, Argument::Target))
            }
            _ => None,
        }
    }
}

/// What a tensor is instead of logarithms of probabilities, and where it was made.
fn not_logarithms(tensor: &Tensor) -> Option<(Given, Place)> {
    let never_negative = tensor.range.is_some_and(|range| range.low >= 0.0 && range.high > 0.0);
    match tensor.mark {
        Some((Mark::Softmax | Mark::Sigmoid, made)) => Some((Given::Probabilities, made)),
        Some((Mark::LogSoftmax | Mark::LogSigmoid, _)) => None,
        Some((Mark::Raw, made)) if !never_negative => {
            tensor.range.is_none_or(|range| range.high > 0.0).then_some((Given::Logits, made))
        }
        _ => tensor.made.filter(|_| never_negative && tensor.learned).map(|made| (Given::NonNegative, made)),
    }
}

impl Given {
    fn name(self) -> &'static str {
        match self {
            Given::Probabilities => "probabilities",
            Given::LogProbabilities => "log-probabilities",
            Given::Logits => "logits",
            Given::NonNegative => "values that are never negative",
        }
    }

    fn origin(self) -> &'static str {
        match self {
            Given::Probabilities => "turned into probabilities here, without a log",
            Given::LogProbabilities => "the log is applied here",
            Given::Logits => "computed here, without a softmax",
            Given::NonNegative => "computed here, without a log",
        }
    }
}

impl Misuse {
    fn message(&self) -> String {
        let given = self.given.name();
        match self.of {
            Argument::Input => {
                format!("the KL divergence expects log-probabilities as input but receives {given}")
            }
            Argument::Predictions => {
                format!("the KL divergence expects probabilities as predictions but receives {given}")
            }
            Argument::Target => {
                format!("the KL divergence expects probabilities as target but receives {given}")
            }
            Argument::LogTarget => {
                format!("`log_target=True` expects log-probabilities as target but receives {given}")
            }
        }
    }

    fn note(&self) -> &'static str {
        match self.of {
            Argument::Input => {
                "`target * (log(target) - input)` is then no divergence: its minimum is not where the distributions agree"
            }
            Argument::Predictions => "Keras clips both arguments to [1e-7, 1] before it takes their log",
            Argument::Target => {
                "the log of a negative target is NaN, and releases that skip such elements return a loss of 0"
            }
            Argument::LogTarget => {
                "the loss then takes `exp()` of probabilities, which is between 1 and 2.72"
            }
        }
    }

    fn help(&self) -> &'static str {
        match (self.of, self.given) {
            (Argument::Input, Given::NonNegative) => "pass its logarithm",
            (Argument::Input, _) => "pass the result of `log_softmax` as the first argument",
            (Argument::Predictions, _) => "pass the output of a softmax",
            (Argument::Target, Given::LogProbabilities) => {
                "pass the result of `softmax` as the target, or set `log_target=True`"
            }
            (Argument::Target, _) => "pass the result of `softmax` as the target",
            (Argument::LogTarget, _) => {
                "pass the result of `log_softmax` as the target, or remove `log_target=True`"
            }
        }
    }

    /// The other softmax, where it is written as the argument itself.
    fn fix(&self, script: &Script) -> Option<Fix> {
        let (name, other) = match self.given {
            Given::Probabilities => ("softmax", "log_softmax"),
            Given::LogProbabilities => ("log_softmax", "softmax"),
            _ => return None,
        };
        let edits = self.renamed_argument(script, name, other)?;
        Some(Fix::safe(format!("use `{other}` instead of `{name}`"), edits))
    }

    fn renamed_argument(&self, script: &Script, name: &str, other: &str) -> Option<Vec<Edit>> {
        let draft = script.draft(self.at.place.file);
        let loss = draft.call_at(self.at.place.span)?;
        let is_argument = loss.args.iter().any(|arg| draft.expr(arg.value).span == self.made.span);
        let softmax = draft.call_at(self.made.span).filter(|_| is_argument)?;
        match &draft.expr(softmax.callee).kind {
            ExprKind::Attribute { name: written, name_span, .. } if *written == name => {
                Some(vec![draft.replace(*name_span, other)])
            }
            _ => None,
        }
    }
}
