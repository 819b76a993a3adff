//! Gradients that no optimizer applies.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, Unstepped};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "backward-without-step",
    summary: "the gradients of a training loop are never applied",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("backward-without-step"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for lost in script.unapplied_gradients() {
        let name = &lost.optimizer;
        let message = match lost.why {
            Unstepped::Never => format!("`{name}` never steps, so the model does not learn"),
            Unstepped::Named => format!("`{name}.step` is not called here, so the model does not learn"),
            Unstepped::Behind { .. } => "the gradients of all but the last batch are thrown away".to_owned(),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &lost.at, message);
        let help = match lost.why {
            Unstepped::Never => {
                finding = finding.because(lost.made, "the optimizer that should apply them");
                format!("call `{name}.step()` behind the backward pass")
            }
            Unstepped::Named => {
                finding = finding.because(lost.backward, "the gradients of this backward are not applied");
                format!("add the parentheses: `{name}.step()`")
            }
            Unstepped::Behind { step, clear } => {
                finding = finding
                    .because(clear, "clears them in the next iteration")
                    .because(step, "steps only when the loop is over");
                format!("move `{name}.step()` into the loop")
            }
        };
        let fix = script.called(lost.at.place).filter(|_| lost.why == Unstepped::Named);
        let fix = fix.map(|edits| Fix::safe(format!("call `{name}.step()`"), edits));
        let replay = script.replay_of_unapplied(lost.backward, lost.made);
        out.push(finding.fix(fix).help(help).replay(replay), &lost.at);
    }
}
