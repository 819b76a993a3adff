//! A choice over a branch that is singular where it is not chosen.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "nan-through-where",
    summary: "`torch.where` masks a non-finite value, but its gradient is still NaN",
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
            "the gradient is NaN here even though `where` masks the value: 0 * inf",
        );
        if let Some(chosen) = number.chosen {
            finding = finding.because(chosen, "masked here, which multiplies its gradient by zero");
        }
        let finding = finding
            .note(format!("{subject} can be {}", number.range()))
            .help("mask the operand before the operation as well: `safe = torch.where(mask, x, 1)`, then `torch.where(mask, f(safe), other)`");
        out.push(finding, &number.at);
    }
}
