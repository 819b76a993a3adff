//! An inverse trigonometric function at the ends of its domain, in what reaches the loss.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "unsafe-arccos",
    summary: "the gradient of `acos` or `asin` in the loss is infinite at ±1",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("unsafe-arccos"),
    check,
};

/// Since this release `clamp` passes no gradient on at its bounds, not even an infinite one.
const STOPS: (u64, u64) = (2, 15);

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Arc) {
        if number.of_gradient && number.clamped && script.pins.need_since("torch", STOPS) {
            continue;
        }
        let subject = number.subject("the operand");
        let (severity, message) = if number.of_gradient {
            (Severity::Warning, format!("{subject} can be 1 or -1, where the gradient is infinite"))
        } else {
            (Severity::Error, format!("{subject} can lie outside [-1, 1], which makes the result NaN"))
        };
        let finding = number
            .finding(script, RULE.id, severity, message)
            .note(format!("{subject} can be {}", number.range()))
            .help("clamp it: `x.clamp(-1 + 1e-6, 1 - 1e-6)`, or compute the angle with `atan2`");
        out.push(finding, &number.at);
    }
}
