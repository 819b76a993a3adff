//! Targets that their loss cannot take.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, TargetFault, WrongTarget};
use crate::report::{Fix, Severity};
use crate::values::DType;

pub(super) static RULE: Rule = Rule {
    id: "wrong-target-dtype",
    summary: "the targets have a dtype or shape that the loss does not take",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("wrong-target-dtype"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for target in script.wrong_targets() {
        let (expected, help, cast) = said(target.fault);
        let cast = match target.dtype {
            DType::Int64 => cast.trim_end_matches(".long()"),
            _ => cast,
        };
        let fix = script.behind_argument(target.at.place, 1, &["target"], cast);
        let mut finding = script.finding(RULE.id, RULE.severity, &target.at, message(&target, expected));
        if let Some(made) = target.made.filter(|made| *made != target.at.place) {
            finding = finding.because(made, "the targets come from here");
        }
        let note = match target.fault {
            TargetFault::Wider => "the backward pass of this loss ends the run",
            _ => "the loss, or its backward pass, ends the run",
        };
        let fix = fix.map(|edits| Fix::safe(format!("add `{cast}` to the targets"), edits));
        out.push(finding.fix(fix).note(note).help(help), &target.at);
    }
}

fn message(target: &WrongTarget, expected: &str) -> String {
    let (dtype, shape) = (target.dtype.name(), &target.shape);
    match target.fault {
        TargetFault::Column => format!("the targets of this loss have shape {shape}, and {expected}"),
        _ => format!("the targets of this loss are {dtype}, and {expected}"),
    }
}

/// What the loss takes, how to get it, and what that adds to the targets.
fn said(fault: TargetFault) -> (&'static str, &'static str, &'static str) {
    match fault {
        TargetFault::IndexDtype => ("classes are int64", "cast them: `target.long()`", ".long()"),
        TargetFault::Column => (
            "one class a sample has no second axis",
            "remove it: `target.squeeze(1).long()`",
            ".squeeze(1).long()",
        ),
        TargetFault::WholeProbabilities => (
            "targets in the shape of the predictions are probabilities",
            "cast them: `target.float()`",
            ".float()",
        ),
        TargetFault::WholeNumbers => ("it takes floats", "cast them: `target.float()`", ".float()"),
        TargetFault::Wider => ("the predictions are float32", "cast them: `target.float()`", ".float()"),
    }
}
