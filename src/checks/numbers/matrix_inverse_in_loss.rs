//! The inverse, factorisation or determinant of a matrix that a model computes.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "matrix-inverse-in-loss",
    summary: "a matrix that may have no inverse is inverted in the loss",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("matrix-inverse-in-loss"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::Inverse) {
        let subject = number.subject("this matrix");
        let message = format!("{subject} may be singular, and the loss with it infinite or an error");
        let finding = number
            .finding(script, RULE.id, Severity::Warning, message)
            .note("rounding alone makes a matrix that a model computes singular or indefinite now and then")
            .help("add a jitter, `A + 1e-4 * torch.eye(n)`, and solve, `torch.linalg.solve(A, b)`, where the inverse is only multiplied");
        out.push(finding, &number.at);
    }
}
