//! Loops over names whose variable is bound to a moved copy: what the names stand for stays where it was.

use super::dropped::{is_surely_a_tensor, is_used_on, running_function};
use crate::interp::{Assignment, Checker, Interp, MethodResult};
use crate::report::{Confidence, Place, Span};
use crate::syntax::*;
use crate::values::Value;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_method_result: Some(called), on_assign: Some(assigned), ..Checker::SILENT };

/// `for x in (images, labels): x = x.cuda()`
pub(super) struct Rebound {
    pub variable: Ustr,
    pub method: Ustr,
    /// What the loop goes through, as it is written.
    pub over: Rc<str>,
}

/// The last method that gave a tensor somewhere else, or in another form.
#[derive(Default)]
struct Moved(Option<(Place, Confidence)>);

fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let Value::Tensor(tensor) = result.receiver else { return };
    let moves = result.api.transfer().is_some_and(|transfer| transfer.places() && transfer.converts());
    let guessed = tensor.confidence < Confidence::High && !is_surely_a_tensor(cx, tensor);
    if moves && !guessed && !tensor.is_array && !result.call.open {
        let moved = (result.call.place, tensor.confidence);
        cx.remember(|last: &mut Moved| last.0 = Some(moved));
    }
}

fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let place = cx.expr_place(assignment.value);
    let moved = cx.remember(|last: &mut Moved| last.0.filter(|(call, _)| *call == place));
    let Some((_, confidence)) = moved else { return };
    let tree = cx.tree(cx.file());
    let ExprKind::Name(variable) = tree.expr(assignment.target).kind else { return };
    let ExprKind::Call { callee, .. } = tree.expr(assignment.value).kind else { return };
    let ExprKind::Attribute { base, name: method, .. } = tree.expr(callee).kind else { return };
    if !matches!(tree.expr(base).kind, ExprKind::Name(name) if name == variable) {
        return;
    }
    let statement = Span::new(tree.expr(assignment.target).span.start, place.span.end);
    let Some((around, iter)) = loop_of(tree, variable, statement) else { return };
    let sources = sources(tree, iter);
    if sources.is_empty() || is_read(cx, variable, around, statement) {
        return;
    }
    if sources.iter().any(|source| is_used_on(cx, *source, around)) {
        let over = cx.written(iter);
        cx.observe(place, Rebound { variable, method, over }, confidence);
    }
}

/// The innermost loop around a statement, if it is that loop that binds a variable, and what it goes through.
fn loop_of(tree: &Tree, variable: Ustr, statement: Span) -> Option<(Span, ExprId)> {
    let around = tree.stmts.iter().filter(|stmt| stmt.span.contains(statement));
    let loops = around.filter_map(|stmt| match stmt.kind {
        StmtKind::For { target, iter, .. } => Some((stmt.span, target, iter)),
        _ => None,
    });
    let (span, target, iter) = loops.max_by_key(|(span, ..)| span.start)?;
    binds(tree, target, variable).then_some((span, iter))
}

fn binds(tree: &Tree, target: ExprId, variable: Ustr) -> bool {
    let is_it = |id: &ExprId| matches!(tree.expr(*id).kind, ExprKind::Name(name) if name == variable);
    match &tree.expr(target).kind {
        ExprKind::Tuple(parts) => parts.iter().any(is_it),
        _ => is_it(&target),
    }
}

/// What holds the tensors that a loop goes through: the names of `(x, y)`, the dictionary of `batch.items()`.
fn sources(tree: &Tree, iter: ExprId) -> Vec<ExprId> {
    let is_place =
        |id: &ExprId| matches!(tree.expr(*id).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
    match &tree.expr(iter).kind {
        ExprKind::Tuple(items) | ExprKind::List(items) if items.iter().all(is_place) => items.to_vec(),
        ExprKind::Call { callee, args } if args.is_empty() => match tree.expr(*callee).kind {
            ExprKind::Attribute { base, name, .. } if matches!(name.as_str(), "items" | "values") => {
                vec![base]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Whether a function reads a variable after a statement has bound it again; other loops bind their own.
fn is_read(cx: &Interp<'_>, variable: Ustr, around: Span, statement: Span) -> bool {
    let tree = cx.tree(cx.file());
    let function = running_function(cx).map(|function| tree.function(function).span);
    let is_bound_anew = |read: Span| {
        tree.stmts.iter().any(|stmt| match stmt.kind {
            StmtKind::For { target, .. } => {
                stmt.span != around
                    && stmt.span.start > statement.start
                    && stmt.span.contains(read)
                    && binds(tree, target, variable)
            }
            _ => false,
        })
    };
    tree.exprs.iter().any(|expr| {
        matches!(expr.kind, ExprKind::Name(name) if name == variable)
            && expr.span.start > statement.end
            && function.is_none_or(|function| function.contains(expr.span))
            && !is_bound_anew(expr.span)
    })
}
