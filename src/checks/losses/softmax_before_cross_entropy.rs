//! Probabilities where a loss expects logits.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "softmax-before-cross-entropy",
    summary: "a softmax feeds a loss that applies a softmax itself",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("softmax-before-cross-entropy"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in script.softmaxed_losses() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &loss.at,
                "this loss applies a softmax to what went through one already",
            )
            .because(loss.softmax, "the softmax it went through")
            .note("with two of them the probabilities stay nearly uniform, and gradients are small")
            .replay(loss.heads.map(|heads| script.replay_of_heads(heads)))
            .help(if loss.by_flag {
                "drop `from_logits=True`, or the softmax"
            } else {
                "pass the logits, and take the softmax where probabilities are read"
            });
        let fix = if loss.by_flag {
            let fix = script.without_flag(loss.at.place, "from_logits");
            fix.map(|edits| Fix::safe("drop `from_logits=True`", edits))
        } else {
            script.without_softmax(&loss).map(|fix| match fix.is_kept {
                true => Fix::safe("give the loss the logits", fix.edits),
                false => Fix::guess("remove the softmax", fix.edits),
            })
        };
        out.push(finding.fix(fix), &loss.at);
    }
}
