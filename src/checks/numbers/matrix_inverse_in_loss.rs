//! The inverse, factorisation or determinant of a matrix that a model computes.

use super::operations::{Fault, unsafe_operations};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "matrix-inverse-in-loss",
    summary: "the loss inverts a matrix that may be singular",
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
        let message = format!("{subject} may be singular, which makes the loss infinite or raises an error");
        let finding = number
            .finding(script, RULE.id, Severity::Warning, message)
            .note("rounding alone can make a matrix computed by a model singular or indefinite")
            .help("add jitter to the diagonal, `A + 1e-4 * torch.eye(n)`, and use `torch.linalg.solve(A, b)` instead of multiplying by the inverse");
        out.push(finding, &number.at);
    }
}
