//! A tuple that has more values than there are names for them, or fewer.

use super::tried::is_tried;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Unpacked};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::StmtKind;
use crate::values::Value;

pub(super) static RULE: Rule = Rule {
    id: "mismatched-unpacking",
    summary: "a tuple is unpacked into more names than it has values, or fewer",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("mismatched-unpacking"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_unpack: Some(on_unpack), ..Checker::SILENT };

/// A parameter without its name is unpacked like a pair: row by row.
struct NamelessParameter {
    names: usize,
}

/// How many values meet how many names.
struct Mismatch {
    names: usize,
    rest: bool,
    values: usize,
}

fn on_unpack(cx: &mut Interp<'_>, unpacked: &Unpacked<'_>) {
    let Unpacked { names, rest, value, place } = *unpacked;
    let values = match value.bare() {
        Value::Tuple(values) => values,
        Value::Params(_) if !rest && is_item(cx, place) => {
            if !cx.is_provided_for() && !is_tried(cx, place, "ValueError") {
                cx.observe(place, NamelessParameter { names }, Confidence::High);
            }
            return;
        }
        _ => return,
    };
    let fits = if rest { values.len() >= names } else { values.len() == names };
    if fits || cx.is_provided_for() || is_tried(cx, place, "ValueError") {
        return;
    }
    // A branch that the script chooses may be meant for what gives as many.
    let sure = if cx.undecided_arms() > 0 { Confidence::Low } else { Confidence::High };
    cx.observe(place, Mismatch { names, rest, values: values.len() }, sure);
}

/// Whether these names are bound to the items of a loop, one after the other.
fn is_item(cx: &Interp<'_>, names: Place) -> bool {
    let tree = cx.tree(names.file);
    tree.stmts.iter().any(|stmt| match stmt.kind {
        StmtKind::For { target, .. } => tree.expr(target).span == names.span,
        _ => false,
    })
}

fn check(script: &Script, out: &mut Findings) {
    for (at, NamelessParameter { names }) in script.observed_once::<NamelessParameter>() {
        let message =
            format!("a parameter cannot be unpacked into {names} names: `parameters()` yields no names");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("Python unpacks the tensor along its first dimension, and raises a `ValueError` unless that has as many rows")
            .help("iterate over `named_parameters()`, which yields pairs of name and parameter");
        out.push(finding, at);
    }
    for (at, seen) in script.observed_once::<Mismatch>() {
        let s = if seen.values == 1 { "" } else { "s" };
        let least = if seen.rest { "at least " } else { "" };
        let message = format!("{} value{s} cannot be unpacked into {least}{} names", seen.values, seen.names);
        let raised = match (seen.rest, seen.values > seen.names) {
            (true, _) => {
                format!("not enough values to unpack (expected at least {}, got {})", seen.names, seen.values)
            }
            (false, true) => format!("too many values to unpack (expected {})", seen.names),
            (false, false) => {
                format!("not enough values to unpack (expected {}, got {})", seen.names, seen.values)
            }
        };
        let help = match seen.values > seen.names {
            true => "name all of them; `_` takes what is not needed".to_owned(),
            false => format!("unpack {} names, or return what is missing", seen.values),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(format!("Python raises `ValueError: {raised}`"))
            .help(help);
        out.push(finding, at);
    }
}
