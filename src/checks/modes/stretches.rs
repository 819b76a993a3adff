//! Stretches of a script that evaluate and train nothing: what to put a context or a call around.

use crate::facts::Script;
use crate::facts::edits::{Draft, Line};
use crate::interp::modules::FORWARDS;
use crate::report::{FileId, Place, Span};
use crate::syntax::{Expr, ExprId, ExprKind, Stmt, StmtId, StmtKind};
use crate::trace::{At, Effect, Forward, Sight, visits};
use crate::values::Mode;

/// The outermost loop around a place in its function in which nothing is trained, else its statement: a long
/// loop that moves is hard to read in a change.
pub(super) fn evaluating_stretch<'a>(
    script: &Script<'a>,
    at: &At,
    place: Place,
    draft: Draft<'a>,
) -> Option<Line<'a>> {
    const LONGEST: usize = 25;
    let function = draft.function_around(place.span).map(|function| draft.function_span(function));
    let around = draft.statements_around(place.span);
    let loops = around.iter().filter(|stmt| {
        let span = draft.statement(**stmt).span;
        let in_function = function.is_none_or(|function| function.contains(span));
        in_function && is_loop(draft, **stmt) && only_evaluates(script, place.file, span, draft)
    });
    let loops: Vec<&StmtId> = loops.collect();
    let is_short = |stmt: &StmtId| draft.text(draft.statement(*stmt).span).lines().count() <= LONGEST;
    if let Some(found) = loops.iter().find(|stmt| is_short(stmt)) {
        return draft.line(**found);
    }
    let stmt = *around.last()?;
    let is_known = match function {
        Some(function) => only_evaluates(script, place.file, function, draft),
        // The script's own statements run once, and all of them were seen.
        None => !around.iter().any(|stmt| is_loop(draft, *stmt)),
    };
    let is_known = is_known || !loops.is_empty() || trains_beside(script, at);
    let is_idle = is_idle_within(script, place.file, draft.statement(stmt).span);
    draft.line(stmt).filter(|_| is_simple(draft, stmt) && is_known && is_idle)
}

/// Whether the way that led to a forward trains in the same iteration: then what becomes of its graph is known.
fn trains_beside(script: &Script, at: &At) -> bool {
    script.sightings().any(|(other, sight)| {
        matches!(sight, Sight::Backward { .. })
            && (&other.calls, other.seeded) == (&at.calls, at.seeded)
            && at.loops.last().is_some_and(|own| other.loops.contains(own))
    })
}

/// Whether nothing in a stretch of a file trains, neither where it was rehearsed nor as it is written.
pub(super) fn only_evaluates(script: &Script, file: FileId, span: Span, draft: Draft<'_>) -> bool {
    !trains_within(script, file, span) && is_idle_within(script, file, span) && !may_train(draft, span)
}

/// Whether a step or a backward pass happens in a stretch of a file, or is called from there.
fn trains_within(script: &Script, file: FileId, span: Span) -> bool {
    let inside = |place: &Place| place.file == file && span.contains(place.span);
    let trains = |effect: &Effect| {
        matches!(effect, Effect::Backward { .. } | Effect::Step { .. } | Effect::UnseenStep)
    };
    let by_event = script
        .rehearsal
        .entries
        .iter()
        .flat_map(|entry| visits(&entry.nodes, trains))
        .any(|visit| inside(&visit.event.place) || visit.calls.iter().any(|(site, _)| inside(site)));
    by_event
        || script.sightings().any(|(at, sight)| {
            let blind = matches!(sight, Sight::BlindBackward | Sight::BlindWalk);
            blind && (inside(&at.place) || at.calls.iter().any(|(site, _)| inside(site)))
        })
}

/// Whether no forward in a stretch of a file records a graph that anybody walks.
fn is_idle_within(script: &Script, file: FileId, span: Span) -> bool {
    let inside = |place: &Place| place.file == file && span.contains(place.span);
    let used = |forward: &Forward| {
        let graph = &forward.graph;
        let walked = script.rehearsal.is_used(graph) || script.rehearsal.returned.contains(graph);
        forward.grad != Some(false) && (walked || forward.mode != Mode::Eval && forward.learns)
    };
    !script.sightings().any(|(at, sight)| match sight {
        Sight::Forward(forward) => {
            let here = inside(&at.place) || at.calls.iter().any(|(site, _)| inside(site));
            here && used(forward)
        }
        _ => false,
    })
}

/// What is called at a place: `model` of `model(x)`, and of `model.forward(x)`.
pub(super) fn called_model(draft: Draft<'_>, place: Place) -> Option<ExprId> {
    let callee = draft.call_at(place.span)?.callee;
    match draft.expr(callee).kind {
        ExprKind::Attribute { base, name, .. } if FORWARDS.contains(&name.as_str()) => Some(base),
        _ => Some(callee),
    }
}

pub(super) fn is_loop(draft: Draft<'_>, stmt: StmtId) -> bool {
    body_of_loop(draft, stmt).is_some()
}

pub(super) fn body_of_loop<'a>(draft: Draft<'a>, stmt: StmtId) -> Option<&'a [StmtId]> {
    match &draft.statement(stmt).kind {
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => Some(body),
        _ => None,
    }
}

fn is_simple(draft: Draft<'_>, stmt: StmtId) -> bool {
    let kind = &draft.statement(stmt).kind;
    matches!(kind, StmtKind::Expr(_) | StmtKind::Assign { .. } | StmtKind::AugAssign { .. })
}

/// Whether a stretch names a backward pass, or asks whether it is to train: another caller may have it do so.
fn may_train(draft: Draft<'_>, span: Span) -> bool {
    let asks = |expr: &Expr| match &expr.kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => hints_at_training(name),
        ExprKind::Str(text) => hints_at_training(text),
        _ => false,
    };
    let tests = tests_within(draft, span);
    draft.exprs_within(span).any(|expr| match &expr.kind {
        ExprKind::Attribute { name, .. } => name.contains("backward"),
        _ => asks(expr) && tests.iter().any(|test| test.contains(expr.span)),
    })
}

/// The conditions of branches in a stretch.
fn tests_within(draft: Draft<'_>, span: Span) -> Vec<Span> {
    let branches = draft.statements_within(span).flat_map(|kind| match kind {
        StmtKind::If { arms, .. } => arms.iter().map(|(test, _)| draft.expr(*test).span).collect(),
        _ => Vec::new(),
    });
    let choices = draft.exprs_within(span).filter_map(|expr| match expr.kind {
        ExprKind::Conditional { test, .. } => Some(draft.expr(test).span),
        _ => None,
    });
    branches.chain(choices).collect()
}

/// `is_train`, `phase`, `self.optimizer`, and not `train_on_gpu`.
fn hints_at_training(word: &str) -> bool {
    const HINTS: [&str; 6] = ["train", "training", "phase", "mode", "optimizer", "optim"];
    let word = word.to_ascii_lowercase();
    word.rsplit('_').next().is_some_and(|last| HINTS.contains(&last))
}

/// Whether nobody wants what a forward gives: its graph is gone with the statement, as where a model is warmed up.
pub(super) fn is_dropped(script: &Script, forward: &At) -> bool {
    script.is_statement(forward.place)
}

/// Whether of what a forward gives only the form is asked for, as where a model is tried out: `print(output.shape)`.
pub(super) fn is_only_measured(script: &Script, forward: &At) -> bool {
    let draft = script.draft(forward.place.file);
    let stmt = draft.statement_at(forward.place.span).map(|stmt| draft.statement(stmt));
    let Some(Stmt { span, kind: StmtKind::Assign { targets, value } }) = stmt else { return false };
    let [target] = targets[..] else { return false };
    let ExprKind::Name(name) = draft.expr(target).kind else { return false };
    if !forward.loops.is_empty() || draft.expr(*value).span != forward.place.span {
        return false;
    }
    let scope = draft.function_around(*span).map_or(Span::new(0, u32::MAX), |it| draft.function_span(it));
    let rest = Span::new(span.end, scope.end);
    let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Name(other) if other == name);
    let asks = |expr: &&Expr| match expr.kind {
        ExprKind::Attribute { base, name, .. } => is_it(draft.expr(base)) && script.apis.is_form(name),
        _ => false,
    };
    let reads = draft.exprs_within(rest).filter(|expr| is_it(expr)).count();
    reads > 0 && reads == draft.exprs_within(rest).filter(asks).count()
}
