//! What Python does in a function that is recorded once: later calls run the graph, and not Python.

use super::traced::is_traced;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::interp::{AttributeWrite, Checker, ContainerWrite, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::FnId;
use crate::values::{ContextKind, Value};

pub(super) static RULE: Rule = Rule {
    id: "side-effect-in-function",
    summary: "a traced function changes a Python list or counter, which happens only while it is traced",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("side-effect-in-function"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_container_write: Some(added), on_attribute_write: Some(counted), ..Checker::SILENT };

/// A function that is recorded changes something of Python's.
struct SideEffect {
    /// What it changes was made here.
    made: Place,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    List,
    Number,
}

fn added(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) {
    if is_recorded(cx) && matches!(&*write.value.borrow(), Value::Tensor(_)) {
        let made = cx.heap.get(write.container).site;
        cx.observe(write.place, SideEffect { made, kind: Kind::List }, Confidence::High);
    }
}

fn counted(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    let Some(holder) = write.receiver.as_obj().filter(|_| is_recorded(cx)) else { return };
    let is_number = matches!(write.value.bare(), Value::Int(_) | Value::Float(_));
    // What was there before: a number that the constructor has set.
    let was_number =
        matches!(cx.heap.attr(holder, write.name).map(Value::bare), Some(Value::Int(_) | Value::Float(_)));
    if is_number && was_number {
        let made = cx.heap.get(holder).site;
        cx.observe(write.place, SideEffect { made, kind: Kind::Number }, Confidence::High);
    }
}

fn is_recorded(cx: &Interp<'_>) -> bool {
    cx.contexts().contains(&ContextKind::Traced)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, effect) in script.observed_once::<SideEffect>() {
        if !outlives(script, at.place, effect) {
            continue;
        }
        let (message, help) = match effect.kind {
            Kind::List => (
                "runs only while the function is traced: the list receives one symbolic tensor",
                "return the tensor, and append it where the function is called",
            ),
            Kind::Number => (
                "runs only while the function is traced: later calls do not change this number",
                "change it where the function is called, or use a variable of the framework",
            ),
        };
        let mut finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("Python code runs once, when the function is traced; later calls run the compiled graph");
        if let Some(made) = at.beside(Some(effect.made)) {
            finding = finding.because(made, "created here, outside of the function");
        }
        out.push(finding.help(help), at);
    }
}

/// Whether a traced function changes at this place what was there before it.
fn outlives(script: &Script, place: Place, effect: &SideEffect) -> bool {
    let draft = script.draft(place.file);
    let Some(function) = draft.function_around(place.span) else { return false };
    if !is_traced(script, draft, function) {
        return false;
    }
    match effect.kind {
        Kind::Number => draft.function(function).class.is_some(),
        Kind::List if effect.made.file != place.file => false,
        Kind::List => match draft.function_around(effect.made.span) {
            None => true,
            Some(maker) => draft.name_of_function(maker) == "__init__" || is_around(draft, maker, function),
        },
    }
}

/// Whether a function holds another one.
fn is_around(draft: Draft<'_>, outer: FnId, inner: FnId) -> bool {
    let mut parent = draft.function(inner).parent;
    while let Some(function) = parent {
        if function == outer {
            return true;
        }
        parent = draft.function(function).parent;
    }
    false
}
