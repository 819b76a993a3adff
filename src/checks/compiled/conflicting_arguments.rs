//! Arguments of a trainer that exclude each other.

use crate::apis::{Operand, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Severity};
use crate::values::Value;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "conflicting-arguments",
    summary: "two training arguments exclude each other, which raises an error",
    group: Group::Reproducibility,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("conflicting-arguments"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(declared), ..Checker::SILENT };

/// Arguments that a constructor does not take together.
enum Conflict {
    Both { one: Ustr, other: Ustr },
    Unequal { flag: Ustr, one: (Ustr, String), other: (Ustr, String) },
}

fn declared(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    let conflict = match declared.verb() {
        Verb::RefuseBoth => both(cx, declared),
        Verb::RefuseUnequal => unequal(cx, declared),
        _ => None,
    };
    if let Some(conflict) = conflict {
        cx.observe(declared.call.place, conflict, Confidence::High);
    }
}

fn both(cx: &mut Interp<'_>, declared: &Declared<'_>) -> Option<Conflict> {
    let holds = is_set(cx, &declared.arg(0)) && is_set(cx, &declared.arg(1));
    holds.then_some(Conflict::Both { one: name(declared, 0)?, other: name(declared, 1)? })
}

fn unequal(cx: &mut Interp<'_>, declared: &Declared<'_>) -> Option<Conflict> {
    let given = |at: &usize| name(declared, *at).is_some_and(|name| declared.call.is_given(name.as_str()));
    let last = declared.effect.args.len().checked_sub(1)?;
    // The names of several releases: the last is that of today.
    let other = (2..=last).find(given).unwrap_or(last);
    let (one, text) = (written(&declared.arg(1))?, written(&declared.arg(other))?);
    let differs = is_set(cx, &declared.arg(0)) && one != text && one != "best";
    differs.then_some(Conflict::Unequal {
        flag: name(declared, 0)?,
        one: (name(declared, 1)?, one),
        other: (name(declared, other)?, text),
    })
}

/// Whether a flag is written as true: what a user decides may be off.
fn is_set(cx: &mut Interp<'_>, flag: &Value) -> bool {
    cx.truth(flag) == Some(true)
}

/// A text that is the same whatever a user says.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Str(Some(text)) => Some(text.to_string()),
        _ => None,
    }
}

fn name(declared: &Declared<'_>, at: usize) -> Option<Ustr> {
    match declared.effect.args.get(at)? {
        Operand::Param(name) => Some(*name),
        Operand::Literal(_) => None,
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, conflict) in script.observed_once::<Conflict>() {
        let (message, help) = match conflict {
            Conflict::Both { one, other } => (
                format!("raises an error: `{one}` and `{other}` exclude each other"),
                format!("remove `{one}=True` or `{other}=True`"),
            ),
            Conflict::Unequal { flag, one, other } => (
                format!("raises an error: `{flag}` needs equal `{}` and `{}`", one.0, other.0),
                format!("give both the same value; they are \"{}\" and \"{}\"", one.1, other.1),
            ),
        };
        out.push(script.finding(RULE.id, RULE.severity, at, message).help(help), at);
    }
}
