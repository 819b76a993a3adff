//! `total / index`, behind `for index, batch in enumerate(loader)`: the last index is one less than there are batches.

use super::addends::Addend;
use super::misaveraged_loss::Grown;
use crate::checks::Rule;
use crate::facts::{Findings, Script};
use crate::interp::Interp;
use crate::names::Subject;
use crate::report::{Confidence, Place, Span};
use crate::syntax::{ExprId, ExprKind, Stmt, StmtKind, Tree};
use ustr::Ustr;

/// A sum over the last index of a loop that is over.
struct ByLastIndex {
    sum: Subject,
    written: String,
    index: Ustr,
    around: Place,
}

/// `total / index`
pub(super) fn divided(cx: &mut Interp<'_>, sum: ExprId, divisor: ExprId) {
    let tree = cx.tree(cx.file());
    let ExprKind::Name(index) = tree.expr(divisor).kind else { return };
    let Some(subject) = cx.subject_here(sum) else { return };
    let place = cx.expr_place(divisor);
    if let Some(around) = loop_that_counted(tree, index, place.span) {
        let written = cx.written(sum).to_string();
        let around = Place::new(place.file, around);
        cx.observe(place, ByLastIndex { sum: subject, written, index, around }, Confidence::High);
    }
}

/// The loop whose last index a name holds at a place behind it: nothing else gives it a value on the way there, and the
/// loop goes to its end.
fn loop_that_counted(tree: &Tree, index: Ustr, used: Span) -> Option<Span> {
    let within = tree.functions.iter().map(|function| function.span).filter(|span| span.contains(used));
    let around = within.min_by_key(|span| span.end - span.start);
    let is_here = |stmt: &&Stmt| around.is_none_or(|around| around.contains(stmt.span));
    let mut last: Option<&Stmt> = None;
    for stmt in tree.stmts.iter().filter(is_here).filter(|stmt| binds(tree, stmt, index)) {
        if stmt.span.contains(used) {
            return None;
        }
        let is_later = last.is_none_or(|last| stmt.span.end > last.span.end);
        if stmt.span.end <= used.start && is_later {
            last = Some(stmt);
        }
    }
    let counted = last.filter(|stmt| counts(tree, stmt, index))?;
    let breaks = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Break) && counted.span.contains(stmt.span);
    (!tree.stmts.iter().any(breaks)).then_some(counted.span)
}

/// Whether a statement gives a name a value.
fn binds(tree: &Tree, stmt: &Stmt, name: Ustr) -> bool {
    let is_it = |target: &ExprId| is_name(tree, *target, name);
    match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().any(is_it),
        StmtKind::AugAssign { target, .. } | StmtKind::For { target, .. } => is_it(target),
        _ => false,
    }
}

fn is_name(tree: &Tree, target: ExprId, name: Ustr) -> bool {
    match &tree.expr(target).kind {
        ExprKind::Name(other) => *other == name,
        ExprKind::Tuple(parts) | ExprKind::List(parts) => parts.iter().any(|part| is_name(tree, *part, name)),
        _ => false,
    }
}

/// `for index, batch in enumerate(loader)`, from zero.
fn counts(tree: &Tree, stmt: &Stmt, index: Ustr) -> bool {
    let StmtKind::For { target, iter, .. } = stmt.kind else { return false };
    let ExprKind::Tuple(parts) = &tree.expr(target).kind else { return false };
    let ExprKind::Call { callee, args } = &tree.expr(iter).kind else { return false };
    let is_index = parts
        .first()
        .is_some_and(|first| matches!(tree.expr(*first).kind, ExprKind::Name(name) if name == index));
    is_index
        && args.len() == 1
        && matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == "enumerate")
}

pub(super) fn check(script: &Script, rule: &Rule, out: &mut Findings) {
    for (at, divided) in script.observed_once::<ByLastIndex>() {
        let in_loop =
            |place: &Place| place.file == divided.around.file && divided.around.span.contains(place.span);
        let grows = |grown: &Grown| grown.of == divided.sum && matches!(grown.by, Addend::Mean);
        let mut sums =
            script.observed::<Grown>().filter(|(here, grown)| in_loop(&here.place) && grows(grown));
        let Some((grown, _)) = sums.next() else { continue };
        let ByLastIndex { written, index, .. } = divided;
        let message =
            format!("`{written}` is divided by the last index, which is one less than there are batches");
        let finding = script
            .finding(rule.id, rule.severity, at, message)
            .because(grown.place, "each batch adds its mean here")
            .note("`enumerate` counts from zero; with a single batch this raises a `ZeroDivisionError`")
            .help(format!("divide by the number of batches: `{index} + 1`, or the length of the loader"));
        out.push(finding, at);
    }
}
