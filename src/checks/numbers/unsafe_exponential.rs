//! A softmax, sigmoid or log-sum-exp written out with exponentials that overflow.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "unsafe-exponential",
    summary: "a hand-written softmax or logsumexp overflows",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-exponential"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::WrittenOut) {
        let message = "`exp` can overflow here, which makes the result or its gradient NaN";
        let finding = number
            .finding(script, RULE.id, Severity::Warning, message)
            .note("`exp` overflows to infinity above 88.8 in float32, above 11.1 in float16")
            .help("use the numerically stable version: `softmax`, `sigmoid`, `logsumexp` or `softplus` of the same operand, or subtract the maximum first");
        out.push(finding, &number.at);
    }
}
