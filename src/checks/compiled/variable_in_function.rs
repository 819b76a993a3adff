//! Variables that a function makes each time it is recorded as a graph.

use super::traced::is_traced;
use crate::apis::Role;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::StmtKind;
use crate::values::ContextKind;

pub(super) static RULE: Rule = Rule {
    id: "variable-in-function",
    summary: "a variable is created in a function that is traced",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("variable-in-function"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_arguments: Some(called), ..Checker::SILENT };

/// A variable came to be while a function was recorded.
struct MadeInFunction;

fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let makes = cx.apis.role(call.api.name) == Some(Role::Parameter) && cx.is_taped(call.api.name);
    if makes && is_recorded(cx) {
        cx.observe(call.place, MadeInFunction, Confidence::High);
    }
}

fn is_recorded(cx: &Interp<'_>) -> bool {
    cx.contexts().contains(&ContextKind::Traced)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, _) in script.observed_once::<MadeInFunction>() {
        if !is_always_run(script, at.place) {
            continue;
        }
        let message = "raises an error: this traced function creates a variable on every call";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("TensorFlow raises `tf.function only supports singleton tf.Variables created on the first call`")
            .help("create the variable once, outside of the function");
        out.push(finding, at);
    }
}

/// Whether a place is in a function that is traced, and under no condition there: `if self.total is None` makes it once.
fn is_always_run(script: &Script, place: Place) -> bool {
    let draft = script.draft(place.file);
    let Some(function) = draft.function_around(place.span) else { return false };
    let body = draft.function_span(function);
    let around = draft.statements_around(place.span).into_iter().map(|stmt| draft.statement(stmt));
    let mut inside = around.filter(|stmt| body.contains(stmt.span) && stmt.span != body);
    let is_conditional = |kind: &StmtKind| matches!(kind, StmtKind::If { .. } | StmtKind::Try { .. });
    is_traced(script, draft, function) && !inside.any(|stmt| is_conditional(&stmt.kind))
}
