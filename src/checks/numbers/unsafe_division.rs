//! A division by something that can be zero, in what reaches the loss.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-division",
    summary: "a denominator in the loss can be zero",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-division"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Division) {
        let crosses = number.range.crosses_zero();
        let severity = if crosses { Severity::Error } else { Severity::Warning };
        let message = "this denominator can be zero, which makes the loss infinite";
        let help = if crosses {
            "an epsilon does not help when the value can be negative: divide by `x.abs().clamp(min=1e-6)`, or by `softplus(x)`"
        } else {
            "add an epsilon to the denominator, or clamp it with `clamp(min=1e-6)`"
        };
        let finding = number
            .finding(script, RULE.id, severity, message)
            .note(format!("the denominator can be {}", number.range()))
            .help(help);
        // What can be negative is zero elsewhere with an epsilon.
        let fix = script.with_summand(number.at.place, "1e-6").filter(|_| number.range.low >= 0.0);
        let finding = finding.fix(fix.map(|edits| Fix::guess("add `1e-6` to the denominator", edits)));
        out.push(finding, &number.at);
    }
}
