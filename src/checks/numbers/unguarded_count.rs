//! A loss over a count of matches, of which a batch may have none.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unguarded-count",
    summary: "the loss is divided by a count that can be zero",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unguarded-count"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for count in unsafe_operations(script, Fault::Count) {
        let divisor = count.subject("this count");
        let message = format!("the loss is NaN for a batch without matches: {divisor} is zero there");
        let finding = count
            .finding(script, RULE.id, Severity::Warning, message)
            .note("0/0 is NaN, and `backward()` carries it into the gradient of every parameter")
            .help("divide by one at least: clamp the count (`count.clamp(min=1)` in PyTorch)");
        let fix = count.kept_from_zero(script, "1e-6");
        out.push(finding.fix(fix.map(|edits| Fix::guess("add `1e-6` to the count", edits))), &count.at);
    }
}
