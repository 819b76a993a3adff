//! A choice over a branch that is singular where it is not chosen.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "nan-through-where",
    summary: "a choice leaves out a value that is not finite, its gradient is NaN all the same",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("nan-through-where"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Masked) {
        let subject = number.subject("the operand");
        let mut finding = number.finding(
            script,
            RULE.id,
            Severity::Warning,
            "what is left out here is NaN in the gradient: zero times infinity",
        );
        if let Some(chosen) = number.chosen {
            finding =
                finding.because(chosen, "the value is left out here, its gradient is multiplied by zero");
        }
        let finding = finding
            .note(format!("{subject} can be {}", number.range()))
            .help("make the operand harmless before the operation, too: `safe = torch.where(mask, x, 1)`, then `torch.where(mask, f(safe), other)`");
        out.push(finding, &number.at);
    }
}
