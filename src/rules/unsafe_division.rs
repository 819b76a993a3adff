//! A division by something that can be zero, in what reaches the loss.

use super::{Group, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unsafe-division",
    summary: "a denominator in the loss can be zero",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    page: page!("unsafe-division"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for division in script.divisions_by_zero() {
        let severity = if division.crosses_zero { Severity::Error } else { Severity::Warning };
        let mut finding = script
            .finding(
                RULE.id,
                severity,
                &division.at,
                "this denominator can be zero, and the loss with it infinite",
            )
            .because(division.loss, "gradients of the division reach the model here");
        if let Some(made) = division.made {
            finding = finding.because(made, format!("can be {}", division.range));
        }
        let help = if division.crosses_zero {
            "an epsilon does not help what can be negative: divide by `x.abs().clamp(min=1e-6)`, or by `softplus(x)`"
        } else {
            "add an epsilon to the denominator, or `clamp(min=1e-6)` it"
        };
        let fix = script.with_summand(division.at.place, "1e-6").filter(|_| division.is_positive);
        let finding = finding.fix(fix.map(|edits| Fix::guess("add `1e-6` to the denominator", edits)));
        out.push(finding.note(format!("the denominator is in {}", division.range)).help(help), &division.at);
    }
}
