//! Probabilities where a loss expects logits.

use super::heads::{Heads, replay_of_heads};
use super::softmax_removal::without_softmax;
use super::taught::{taught_losses, with_choice};
use crate::apis::{Expects, Mark};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{ApiResult, Checker, Interp};
use crate::report::{Fix, Place, Severity};
use crate::trace::At;

pub(super) static RULE: Rule = Rule {
    id: "softmax-before-cross-entropy",
    summary: "softmax is applied before a cross-entropy loss that already includes it",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("softmax-before-cross-entropy"),
    check,
};

const NEARLY_UNIFORM: &str =
    "a second softmax makes the probabilities nearly uniform and the gradients small";

/// A loss that applies a softmax to what went through one.
pub(super) struct SoftmaxedLoss {
    pub at: At,
    pub softmax: Place,
    /// The loss expects logits because a flag says so.
    by_flag: bool,
    heads: Option<Heads>,
    /// Where the loss was created, if it is one of several.
    chosen: Option<Place>,
}

pub(super) static CHECKER: Checker = Checker { on_api_result: Some(applied), ..Checker::SILENT };

/// A log-softmax of what went through a softmax, which `nll_loss` makes the same loss of.
struct SoftmaxedAgain {
    softmax: Place,
}

fn applied(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let call = result.call;
    let Some(input) = call.nth_tensor(0).filter(|_| call.api.mark == Some(Mark::LogSoftmax)) else { return };
    if let Some((Mark::Softmax, softmax)) = input.mark
        && input.graph.is_live()
    {
        cx.observe(call.place, SoftmaxedAgain { softmax }, input.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, again) in script.observed_once::<SoftmaxedAgain>() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                "softmax is applied twice: `log_softmax` expects logits, not probabilities",
            )
            .because(again.softmax, "softmax is already applied here")
            .note(NEARLY_UNIFORM)
            .help("pass the raw logits to `log_softmax`, or drop the softmax of the model");
        out.push(finding, at);
    }
    for loss in softmaxed_losses(script) {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &loss.at,
                "softmax is applied twice: this loss expects logits, not probabilities",
            )
            .because(loss.softmax, "softmax is already applied here")
            .note(NEARLY_UNIFORM)
            .replay(loss.heads.map(|heads| replay_of_heads(script, heads)))
            .help(if loss.by_flag {
                "remove `from_logits=True`, or the softmax"
            } else {
                "pass the raw logits, and apply softmax only where you need probabilities"
            });
        let fix = if loss.by_flag {
            let fix = script.without_argument(loss.at.place, "from_logits");
            fix.map(|edits| Fix::safe("remove `from_logits=True`", edits))
        } else {
            without_softmax(script, &loss).map(|fix| match fix.is_kept {
                true => Fix::safe("pass the logits to the loss", fix.edits),
                false => Fix::guess("remove the softmax", fix.edits),
            })
        };
        out.push(with_choice(finding.fix(fix), loss.chosen), &loss.at);
    }
}

fn softmaxed_losses(script: &Script) -> Vec<SoftmaxedLoss> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for loss in taught_losses(script) {
        let Some((Mark::Softmax, softmax)) = loss.input.mark else { continue };
        if loss.expects == Expects::Logits && seen.insert(loss.at.place) {
            let heads = loss.heads();
            found.push(SoftmaxedLoss {
                chosen: loss.chosen,
                at: loss.at,
                softmax,
                by_flag: loss.compiled,
                heads,
            });
        }
    }
    found
}
