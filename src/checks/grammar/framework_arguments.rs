//! Arguments that methods of a framework's schedules need: `ReduceLROnPlateau.step()` without its metric. And what
//! constructors of a framework are given by position and by name.

use super::mismatched_arguments::{RAISES, RULE, listed};
use super::tried::is_tried;
use crate::apis::{ParamKind, Role};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::Confidence;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(called), on_arguments: Some(made), ..Checker::SILENT };

/// A method of a framework was called without what it needs.
struct Lacking {
    method: Rc<str>,
    names: Vec<Ustr>,
}

/// A class of a framework is given an argument twice.
struct Twice {
    class: Ustr,
    name: Ustr,
}

fn made(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some((name, place)) = call.given_twice().filter(|_| !call.open) else { return };
    if !cx.is_provided_for() && !is_tried(cx, place, "TypeError") {
        cx.observe(place, Twice { class: call.api.name, name }, Confidence::High);
    }
}

fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some((class, method)) = call.api.name.rsplit_once('.') else { return };
    let of_schedule = cx.apis.role(Ustr::from(class)) == Some(Role::Scheduler);
    // One of several schedules may be one that needs nothing.
    let is_one = || call.get("self").as_obj().is_some_and(|object| !cx.heap.is_merged(object));
    if !of_schedule || call.open || !is_one() || cx.is_provided_for() || cx.undecided_arms() > 0 {
        return;
    }
    let needed = call.api.params.iter().skip(1).filter(|param| {
        param.kind == ParamKind::Plain && param.default.is_none() && !call.is_given(&param.name)
    });
    let names: Vec<Ustr> = needed.map(|param| param.name).collect();
    if !names.is_empty() {
        let class = class.rsplit('.').next().unwrap_or(class);
        let method = Rc::from(format!("{class}.{method}"));
        cx.observe(call.place, Lacking { method, names }, Confidence::High);
    }
}

pub(super) fn lacking_arguments(script: &Script, out: &mut Findings) {
    for (at, lacking) in script.observed_once::<Lacking>() {
        let names = listed(&lacking.names);
        let finding = script
            .finding(RULE.id, RULE.severity, at, format!("`{}` is called without {names}", lacking.method))
            .note(RAISES)
            .help(format!("pass {names}, such as the loss of the validation"));
        out.push(finding, at);
    }
    for (at, Twice { class, name }) in script.observed_once::<Twice>() {
        let class = class.rsplit('.').next().unwrap_or(class);
        let message = format!("`{class}` receives `{name}` by position and by name");
        let finding = script.finding(RULE.id, RULE.severity, at, message);
        out.push(finding.note(RAISES).help(format!("pass `{name}` once")), at);
    }
}
