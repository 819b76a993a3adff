//! A square root, a norm or a deviation of what can be zero, in what reaches the loss.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-root",
    summary: "the gradient of a square root in the loss is infinite at zero",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-root"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Root) {
        let subject = number.subject("the operand");
        let (severity, message) = if number.of_gradient {
            (Severity::Warning, format!("{subject} can be zero, where the gradient of `sqrt` is infinite"))
        } else {
            (Severity::Error, format!("{subject} can be negative, which makes its square root NaN"))
        };
        let help = if number.of_gradient {
            "add an epsilon inside the square root: `sqrt(x + 1e-8)`; outside, it has no effect on the gradient"
        } else {
            "keep the argument positive: `clamp(min=1e-8)`, or its square, `softplus` or `exp`"
        };
        let finding = number
            .finding(script, RULE.id, severity, message)
            .note(format!(
                "{subject} can be {}; a single zero makes the gradients of the whole batch NaN",
                number.range()
            ))
            .help(help);
        let fix = number.kept_from_zero(script, "1e-8").filter(|_| number.of_gradient);
        let finding = finding.fix(fix.map(|edits| Fix::guess("add `1e-8` inside the square root", edits)));
        out.push(finding, &number.at);
    }
}
