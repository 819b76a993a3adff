//! A negative or fractional power of a base that can be zero or negative, in what reaches the loss.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-power",
    summary: "the base of a power in the loss can be zero or negative",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-power"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Power) {
        let subject = number.subject("the base");
        let (severity, message) = if number.range.low < 0.0 {
            (Severity::Error, format!("{subject} can be negative, which makes its fractional power NaN"))
        } else {
            (
                Severity::Warning,
                format!("{subject} can be zero, where this power or its gradient is infinite"),
            )
        };
        let finding = number
            .finding(script, RULE.id, severity, message)
            .note(format!("{subject} can be {}", number.range()))
            .help("keep the base positive: `x.clamp(min=1e-6) ** p`");
        let fix = number.kept_from_zero(script, "1e-6").filter(|_| number.range.low >= 0.0);
        let finding = finding.fix(fix.map(|edits| Fix::guess("add `1e-6` to the base", edits)));
        out.push(finding, &number.at);
    }
}
