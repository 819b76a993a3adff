//! Handlers of exceptions that hear of a failure of work on a device and go on as if nothing had been.

use crate::interp::{Checker, Interp, Tried, python};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprId, ExprKind, StmtId, StmtKind};
use crate::trace::{Effect, Node, PlacedOnGpu, Sight, When};
use crate::values::{Method, Value};

pub(super) static CHECKER: Checker = Checker { on_try_end: Some(tried), ..Checker::SILENT };

/// Methods of loggers, and of streams: they only tell.
const TELLING: [&str; 10] =
    ["critical", "debug", "error", "exception", "info", "log", "print", "warn", "warning", "write"];

/// A handler that does nothing about a failure of work on a device.
pub(super) struct SwallowedError {
    /// The first of that work.
    pub work: Place,
    /// The work is a step of training.
    pub trains: bool,
}

/// Looks at what a `try` did, and at its handlers.
fn tried(cx: &mut Interp<'_>, tried: &Tried<'_>) {
    let main = match cx.nodes_since(tried.began) {
        [Node::Branch { when: When::Exception, arms }, ..] => arms.first().map(Vec::as_slice),
        _ => None,
    };
    let step = main.and_then(first_step);
    // Of a whole run, model and all, it is the run that is lost, and none of its steps.
    let trains = step.is_some() && !main.is_some_and(|nodes| makes_model(cx, nodes));
    let Some(work) = step.or_else(|| first_work(cx, tried)) else { return };
    for handler in tried.handlers {
        if catches_failures(cx, handler.exception) && only_tells(cx, &handler.body) {
            let place = cx.place(handler.span);
            let swallowed = SwallowedError { work, trains };
            // An exception goes to the first that takes it.
            return cx.observe(place, swallowed, Confidence::High);
        }
    }
}

/// The first work on a device that a `try` was seen to do.
fn first_work(cx: &Interp<'_>, tried: &Tried<'_>) -> Option<Place> {
    let mut seen = cx.observed_since(tried.began).iter();
    let works = |sight: &Sight| matches!(sight, Sight::Forward(_) | Sight::Fit { .. });
    seen.find(|seen| seen.is::<PlacedOnGpu>() || seen.get().is_some_and(works)).map(|seen| seen.at.place)
}

fn catches_failures(cx: &mut Interp<'_>, exception: Option<ExprId>) -> bool {
    let Some(exception) = exception else { return true };
    match cx.eval(exception) {
        Value::Builtin(name) | Value::Api(name) => cx.apis.is_failure(name),
        Value::Tuple(items) => items.iter().any(|item| match item {
            Value::Builtin(name) | Value::Api(name) => cx.apis.is_failure(*name),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether statements do nothing but tell what happened.
fn only_tells(cx: &mut Interp<'_>, body: &[StmtId]) -> bool {
    let tree = cx.tree(cx.file());
    body.iter().all(|stmt| match &tree.stmt(*stmt).kind {
        StmtKind::Pass | StmtKind::Continue => true,
        StmtKind::Expr(expr) => match &tree.expr(*expr).kind {
            ExprKind::Call { callee, .. } => tells(cx, *callee),
            // A docstring, or `...`.
            ExprKind::Str(_) | ExprKind::Ellipsis => true,
            _ => false,
        },
        _ => false,
    })
}

fn tells(cx: &mut Interp<'_>, callee: ExprId) -> bool {
    let tree = cx.tree(cx.file());
    let value = cx.eval(callee);
    match (&tree.expr(callee).kind, value) {
        (_, Value::Builtin(name)) if name == "print" || name.starts_with("traceback.print") => true,
        (_, Value::Api(name)) if name.starts_with("traceback.print") => true,
        (ExprKind::Attribute { name, .. }, value) => {
            let own = matches!(value, Value::Function(_))
                || matches!(&value, Value::Bound(bound) if matches!(bound.method, Method::Closure(_)));
            TELLING.contains(&name.as_str()) && !own
        }
        (ExprKind::Name(_), Value::Builtin(name)) => python::is_known_name(name) && name == "pprint",
        _ => false,
    }
}

fn makes_model(cx: &Interp<'_>, nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => match event.effect {
            Effect::Made { object } => cx.learns(object) == Some(true),
            _ => false,
        },
        Node::Loop { body, .. } | Node::Call { body, .. } => makes_model(cx, body),
        Node::Branch { arms, .. } => arms.iter().any(|arm| makes_model(cx, arm)),
        Node::Exit(_) => false,
    })
}

/// The first step of training in a trace: an optimizer steps, or a backward pass is all there is of an iteration. One
/// that a loop of its own goes through again and again, and that nobody steps for, is no training: an attack, say.
fn first_step(nodes: &[Node]) -> Option<Place> {
    let applied = |effect: &Effect| {
        matches!(effect, Effect::Step { .. } | Effect::UnseenStep | Effect::Fitted { one_step: true, .. })
    };
    let goes_back = |effect: &Effect| matches!(effect, Effect::Backward { .. });
    match first(nodes, true, &applied) {
        Some(_) => first(nodes, true, &|effect| applied(effect) || goes_back(effect)),
        None => first(nodes, false, &goes_back),
    }
}

fn first(nodes: &[Node], in_loops: bool, is_it: &dyn Fn(&Effect) -> bool) -> Option<Place> {
    nodes.iter().find_map(|node| match node {
        Node::Event(event) => is_it(&event.effect).then_some(event.place),
        Node::Loop { body, .. } => in_loops.then(|| first(body, in_loops, is_it)).flatten(),
        Node::Call { body, .. } => first(body, in_loops, is_it),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| first(arm, in_loops, is_it)),
        Node::Exit(_) => None,
    })
}
