//! Numbers of one dtype for weights of another.

use super::dtypes::Mistyped;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};
use crate::values::DType;

pub(super) static RULE: Rule = Rule {
    id: "dtype-mismatch",
    summary: "a layer gets numbers of another dtype than its weights",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("dtype-mismatch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, meeting) in script.observed_once::<Mistyped>() {
        let (gets, wants) = (meeting.gets.name(), meeting.wants.name());
        let message = match meeting.lookup {
            true => format!("`{}` is looked up with {gets} numbers, and takes integers only", meeting.what),
            false if meeting.what.contains(' ') => format!("{} is of {gets} and {wants}", meeting.what),
            false => format!("`{}` gets {gets} numbers, and its weights are {wants}", meeting.what),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(made) = meeting.made.filter(|made| *made != at.place) {
            finding = finding.because(made, format!("{gets} comes from here"));
        }
        if meeting.gets == DType::Float64 {
            finding = finding.note("NumPy computes in float64, and what is made of its arrays keeps that");
        }
        let cast = cast(meeting);
        let fix = script.behind_argument(at.place, 0, &["input"], &cast);
        let fix = fix.filter(|_| meeting.lookup || !meeting.what.contains(' '));
        let fix = fix.map(|edits| Fix::guess(format!("cast the input with `{cast}`"), edits));
        let help = format!("cast the input with `{cast}`");
        out.push(finding.fix(fix).note("this ends the run with an error").help(help), at);
    }
}

fn cast(meeting: &Mistyped) -> String {
    let cast = match meeting.wants {
        _ if meeting.lookup => "long",
        DType::Float64 => "double",
        DType::Float16 => "half",
        DType::BFloat16 => "bfloat16",
        _ => "float",
    };
    format!(".{cast}()")
}
