//! A guard against zero that the dtype cannot hold, or that works against its purpose.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;
use crate::values::{DType, LostEpsilon};

pub(super) static RULE: Rule = Rule {
    id: "vanishing-epsilon",
    summary: "an epsilon rounds to zero in this dtype, or is on the wrong side",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("vanishing-epsilon"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::LostGuard) {
        let subject = number.subject("the operand");
        let (message, help) = match number.lost_epsilon {
            Some(lost_epsilon) => (
                format!("this epsilon has no effect: {} rounds to {} in {}", written(lost_epsilon.number), lost_epsilon.dtype.round(lost_epsilon.number), lost_epsilon.dtype.name()),
                format!("use a value that {} can represent, such as {}", lost_epsilon.dtype.name(), distinct(lost_epsilon)),
            ),
            None => (
                format!("this epsilon is on the wrong side: {subject} can be negative"),
                "add the epsilon to the argument of the log or square root, as the last operation: `log(1 - p + eps)`".to_owned(),
            ),
        };
        let finding = number.finding(script, RULE.id, Severity::Error, message);
        let finding = match number.lost_epsilon {
            Some(lost_epsilon) if lost_epsilon.place != number.at.place => {
                finding.because(lost_epsilon.place, "the epsilon lost to rounding")
            }
            _ => finding,
        };
        out.push(finding.note(format!("{subject} can be {}", number.range())).help(help), &number.at);
    }
}

/// Small numbers are written as scripts write them.
fn written(number: f64) -> String {
    if number.abs() < 1e-3 { format!("{number:e}") } else { format!("{number}") }
}

/// A bound near the one that was meant, and far enough from where it is rounded to.
fn distinct(lost_epsilon: LostEpsilon) -> f64 {
    let step: f64 = match lost_epsilon.dtype {
        // At 0.001 half precision has no room for the gradient of a quotient, which is a million.
        DType::Float16 | DType::BFloat16 => 1e-2,
        _ => 1e-6,
    };
    match lost_epsilon.number.abs() {
        small if small < 0.5 => step,
        below if below < 1.0 => lost_epsilon.number.signum() * (1.0 - step),
        _ => lost_epsilon.number.signum() * (1.0 + step),
    }
}
