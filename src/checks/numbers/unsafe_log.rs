//! A logarithm of something that can be zero or negative, in what reaches the loss.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-log",
    summary: "the argument of a log in the loss can be zero or negative",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-log"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Log) {
        let subject = number.subject("the operand");
        let negative = number.range.low < 0.0;
        let (severity, message) = if negative {
            (Severity::Error, format!("{subject} can be negative, which makes its log NaN"))
        } else {
            (Severity::Warning, format!("{subject} can be zero, which makes its log -inf"))
        };
        let help = if negative {
            "make it positive before the log: `softplus(x)`, `exp(x)`, or `clamp(min=1e-6)`"
        } else {
            "use the log of `x.clamp(min=1e-6)` or of `x + 1e-6`"
        };
        let finding = number
            .finding(script, RULE.id, severity, message)
            .note(format!("{subject} can be {}", number.range()))
            .help(help);
        let fix = number.kept_from_zero(script, "1e-6").filter(|_| number.range.low >= 0.0);
        let finding = finding.fix(fix.map(|edits| Fix::guess("add `1e-6` to the operand", edits)));
        out.push(finding, &number.at);
    }
}
