//! A call that means something else in some of the releases that a project requires.

use crate::apis::changed;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Changed, Findings, Script};
use crate::interp::{Checker, Interp, MethodResult};
use crate::report::{Cause, Confidence, Diagnostic, Severity};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "behavior-changed",
    summary: "a call whose behavior differs between the releases that the project allows",
    group: Group::Reproducibility,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("behavior-changed"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_method_result: Some(called), ..Checker::SILENT };

/// A method was called that the table of changes has.
struct ChangedMethod(Ustr);

fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let (name, place) = (result.api.name, result.call.place);
    // A function that is a method, too, takes its arguments in other places as one.
    let is_method = name.rsplit('.').nth(1).is_some_and(|class| class.starts_with(char::is_uppercase));
    if is_method && changed::of(&name).next().is_some() {
        cx.observe(place, ChangedMethod(name), Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    let called = script.observed_once::<ChangedMethod>();
    let called: Vec<Changed> =
        called.filter_map(|(at, method)| script.changed_method(&method.0, at)).collect();
    // What a class inherits is seen in the text and by the rehearsal.
    let is_told = |one: &&Changed| !called.iter().any(|other| other.at.place == one.at.place);
    for one in script.changed_calls().iter().filter(is_told).chain(&called) {
        out.push(finding(script, one), &one.at);
    }
}

fn finding(script: &Script, one: &Changed) -> Diagnostic {
    let Changed { at, row, package, pin, .. } = one;
    let last = one.name.rsplit('.').next().unwrap_or_default();
    let broken = row.breaks.as_ref().filter(|_| one.breaks.is_some()).map(|breaks| &breaks.says);
    let (severity, message) = match broken.or(row.raises.as_ref()) {
        Some(says) if one.is_over => (Severity::Error, says.clone()),
        Some(says) => (Severity::Warning, says.clone()),
        None => (RULE.severity, format!("`{last}` behaves differently since {package} {}", row.since)),
    };
    let mut finding = script.finding(RULE.id, severity, at, message);
    if let Some(used) = &one.breaks {
        finding = finding.because(used.place, "the result is used as a model");
    } else {
        finding = finding.note(format!("before {}: {}", row.since, row.before));
    }
    let asked = match pin {
        Some(pin) => format!("the project requires {pin}"),
        None => format!("the project requires no release of {package}"),
    };
    let cause = Cause {
        what: format!("{} {} {severity:?} {}", one.name, row.since, script.asked_key(package)),
        boundary: None,
    };
    finding
        .note(format!("since {}: {}", row.since, row.after))
        .note(asked)
        .help(row.help.clone())
        .cause(cause)
}
