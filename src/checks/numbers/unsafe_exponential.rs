//! A softmax, sigmoid or log-sum-exp written out with exponentials that overflow.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "unsafe-exponential",
    summary: "a softmax or log-sum-exp is written out, and its exponential overflows",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-exponential"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::WrittenOut) {
        let message = "an exponential overflows in here, and the result or its gradient is NaN";
        let finding = number
            .finding(script, RULE.id, Severity::Warning, message)
            .note("`exp` is infinite from 88.8 on in single precision, from 11.1 on in half precision")
            .help("use the stable form: `softmax`, `sigmoid`, `logsumexp` or `softplus` of the same operand, or subtract the largest number first");
        out.push(finding, &number.at);
    }
}
