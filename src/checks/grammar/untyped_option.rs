//! Options that are something else as soon as somebody gives them: a text where the default is a number, the
//! characters of a text, an integer that refuses a fraction.

use super::option_uses::OptionUses;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, DeclaredOption, Interp};
use crate::report::{Confidence, Fix, Severity};
use crate::values::Value;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "untyped-option",
    summary: "a command-line option without `type` has a number as its default, and is a string once it is given",
    group: Group::Syntax,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("untyped-option"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_option: Some(declared), ..Checker::SILENT };

struct Untyped {
    name: Rc<str>,
    /// The attribute under which it is read.
    dest: Ustr,
    /// Of the default.
    number: &'static str,
}

/// `type=list`, which takes a text apart.
struct Split {
    name: Rc<str>,
    into: Ustr,
}

/// `type=int, default=0.5`
struct Refused {
    name: Rc<str>,
    default: f64,
}

fn declared(cx: &mut Interp<'_>, option: &DeclaredOption<'_>) {
    let DeclaredOption { name, dest, call } = *option;
    let given = call.keyword("type");
    if let Some((given, Value::Builtin(into))) = given.map(|given| (given, &given.value))
        && matches!(into.as_str(), "list" | "tuple")
    {
        cx.observe(given.place, Split { name: Rc::from(name), into: *into }, Confidence::High);
        return;
    }
    let Some(default) = call.keyword("default") else { return };
    // A default that must be given anyway is never used.
    if call.keyword("required").is_some_and(|required| matches!(required.value, Value::Bool(Some(true)))) {
        return;
    }
    let number = match &default.value {
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        _ => return,
    };
    if let (Some(Value::Builtin(kind)), Value::Float(Some(number))) =
        (given.map(|given| &given.value), &default.value)
        && *kind == "int"
        // Infinity stands for no limit, and is never written.
        && number.is_finite()
        && number.fract() != 0.0
    {
        cx.observe(default.place, Refused { name: Rc::from(name), default: *number }, Confidence::High);
    }
    if given.is_none() && call.keyword("action").is_none() && !call.open {
        cx.observe(default.place, Untyped { name: Rc::from(name), dest, number }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, Split { name, into }) in script.observed_once::<Split>() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("`type={into}` splits what is given to `{name}` into its characters"),
            )
            .note(format!(
                "`{name} 12` becomes {}",
                if *into == "list" { "['1', '2']" } else { "('1', '2')" }
            ))
            .help("take several values, each of its type: `type=int, nargs=\"+\"`");
        out.push(finding, at);
    }
    for (at, Refused { name, default }) in script.observed_once::<Refused>() {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("`{name}` takes integers, but its default is {default}"),
            )
            .note("argparse converts what is given by `int(...)`, and refuses a fraction as an invalid value")
            .help("take `type=float`");
        out.push(finding, at);
    }
    let all = OptionUses::of(script, script.observed::<Untyped>().map(|(_, seen)| seen.dest));
    for (at, seen) in script.observed_once::<Untyped>() {
        let uses = all.get(&seen.dest).copied().unwrap_or_default();
        if uses.as_number + uses.as_condition == 0 || uses.converted > 0 {
            continue;
        }
        let Untyped { name, number, .. } = seen;
        let message =
            format!("`{name}` has no `type`: a value that is given is a string, the default a number");
        let draft = script.draft(at.place.file);
        let edit = draft.insert(at.place.span.end, format!(", type={number}"));
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("argparse converts what the user writes only if `type` says how")
            .fix(Some(Fix::guess(format!("convert it with `type={number}`"), vec![edit])))
            .help("name the type that the option is meant to have");
        out.push(finding, at);
    }
}
