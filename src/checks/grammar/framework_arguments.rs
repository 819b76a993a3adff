//! Arguments that constructors of a framework need, `Linear(1, bias=True)`, its functions, `torch.softmax(x)` without its
//! dimension, and methods of its schedules: `ReduceLROnPlateau.step()` without its metric. And what constructors are given by position and by name.

use super::mismatched_arguments::{RAISES, RULE, listed};
use super::tried::is_tried;
use crate::apis::{Operand, ParamKind, Role};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Place};
use crate::syntax::ExprKind;
use crate::values::Value;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(called), on_arguments: Some(made), ..Checker::SILENT };

/// A class or method of a framework was called without what it needs.
struct Lacking {
    called: Rc<str>,
    names: Vec<Ustr>,
    help: &'static str,
}

/// A class of a framework is given an argument twice.
struct Twice {
    class: Ustr,
    name: Ustr,
}

fn made(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.open || cx.is_provided_for() || !is_written(cx, call.place) {
        return;
    }
    note_missing(cx, call);
    if let Some((name, place)) = call.given_twice().filter(|(_, place)| !is_tried(cx, *place, "TypeError")) {
        cx.observe(place, Twice { class: call.api.name, name }, Confidence::High);
    }
}

/// A class or function is called without what it needs.
fn note_missing(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let names = missing(call, 0);
    // By a keyword that the entry does not know another release may take the same.
    if !names.is_empty() && call.more.is_empty() && !is_tried(cx, call.place, "TypeError") {
        let called = Rc::from(call.api.name.rsplit('.').next().unwrap_or_default());
        cx.observe(call.place, Lacking { called, names, help: "" }, Confidence::High);
    }
}

/// Whether a call is written there: an annotation makes an instance as well, and constructs nothing.
fn is_written(cx: &Interp<'_>, place: Place) -> bool {
    let module = cx.module(place.file);
    let expr = module.expr_at(place.span).map(|expr| &module.tree.expr(expr).kind);
    !matches!(expr, Some(ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Str(_)))
}

/// What a call needs and is not given, but for so many parameters at the beginning.
fn missing(call: &Invocation<'_>, skipped: usize) -> Vec<Ustr> {
    let needed = call.api.params.iter().skip(skipped).filter(|param| {
        param.kind == ParamKind::Plain && !param.may_be_left_out && !call.is_given(&param.name)
    });
    needed.map(|param| param.name).collect()
}

fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.api.class.is_none() && !call.api.property {
        function_called(cx, call);
    }
    let Some((class, method)) = call.api.name.rsplit_once('.') else { return };
    let of_schedule = cx.apis.role(Ustr::from(class)) == Some(Role::Scheduler);
    // One of several schedules may be one that needs nothing.
    let is_one = || call.get("self").as_obj().is_some_and(|object| !cx.heap.is_merged(object));
    if !of_schedule || call.open || !is_one() || cx.is_provided_for() || cx.undecided_arms() > 0 {
        return;
    }
    let names = missing(call, 1);
    if !names.is_empty() {
        let class = class.rsplit('.').next().unwrap_or(class);
        let called = Rc::from(format!("{class}.{method}"));
        let help = ", such as the loss of the validation";
        cx.observe(call.place, Lacking { called, names, help }, Confidence::High);
    }
}

/// A function gets fewer arguments than it needs, of which one is what it computes with: a table that says less of a
/// function may not know all the ways in which it is called. `arange(end=5)` has another name for its only one.
fn function_called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let needed = call.api.params.iter().filter(|it| it.kind == ParamKind::Plain && !it.may_be_left_out);
    let given = call.api.params.iter().filter(|it| call.is_given(&it.name));
    if call.open || given.count() >= needed.count() || cx.is_provided_for() || !is_written(cx, call.place) {
        return;
    }
    let mut operands = call.api.needs.iter().flat_map(|need| need.args.iter());
    let absent = missing(call, 0);
    let computes_with = |operand: &Operand| matches!(operand, Operand::Param(name) if absent.contains(name));
    if operands.any(computes_with) && is_by_name(cx, call) {
        note_missing(cx, call);
    }
}

/// Whether a function is called by its name: what seems to be a tensor may be an array, whose method takes less.
fn is_by_name(cx: &mut Interp<'_>, call: &Invocation<'_>) -> bool {
    let module = cx.module(call.place.file);
    let written = module.expr_at(call.place.span).map(|expr| &module.tree.expr(expr).kind);
    let Some(ExprKind::Call { callee, .. }) = written else { return false };
    call.place.file == cx.file() && matches!(cx.eval(*callee), Value::Api(_))
}

pub(super) fn lacking_arguments(script: &Script, out: &mut Findings) {
    for (at, lacking) in script.observed_once::<Lacking>() {
        let names = listed(&lacking.names);
        let finding = script
            .finding(RULE.id, RULE.severity, at, format!("`{}` is called without {names}", lacking.called))
            .note(RAISES)
            .help(format!("pass {names}{}", lacking.help));
        out.push(finding, at);
    }
    for (at, Twice { class, name }) in script.observed_once::<Twice>() {
        let class = class.rsplit('.').next().unwrap_or(class);
        let message = format!("`{class}` receives `{name}` by position and by name");
        let finding = script.finding(RULE.id, RULE.severity, at, message);
        out.push(finding.note(RAISES).help(format!("pass `{name}` once")), at);
    }
}
