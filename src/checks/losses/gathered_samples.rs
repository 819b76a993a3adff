//! What a loop gathers of each batch: as many values as there are samples. A concern of `misaveraged-loss`.

use super::addends::Addend;
use super::misaveraged_loss::Grown;
use crate::apis::Transfer;
use crate::interp::{ApiResult, Assignment, Checker, ContainerWrite, Interp};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprId, ExprKind};
use rustc_hash::FxHashSet;

pub(super) static CHECKER: Checker = Checker {
    on_api_result: Some(joined),
    on_assign: Some(assigned),
    on_container_write: Some(extended),
    ..Checker::SILENT
};

/// Calls that put tensors behind each other.
#[derive(Default)]
struct Joins(FxHashSet<Place>);

fn joined(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    if result.call.api.transfer() == Some(Transfer::Cat) {
        cx.remember(|joins: &mut Joins| joins.0.insert(result.call.place));
    }
}

/// `labels = torch.cat([labels, y])`
fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let call = cx.expr_place(assignment.value);
    if !cx.remember(|joins: &mut Joins| joins.0.contains(&call)) {
        return;
    }
    let tree = cx.tree(cx.file());
    let ExprKind::Call { args, .. } = &tree.expr(assignment.value).kind else { return };
    let parts = args.first().map(|first| &tree.expr(first.value).kind);
    let Some(ExprKind::List(parts) | ExprKind::Tuple(parts)) = parts else { return };
    let is_target = |part: &ExprId| cx.subject_here(*part) == cx.subject_here(assignment.target);
    if parts.len() == 2 && parts.iter().any(is_target) {
        gathered(cx, assignment.target);
    }
}

/// `labels.extend(y.tolist())`
fn extended(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) {
    let tree = cx.tree(write.place.file);
    let call = cx.module(write.place.file).expr_at(write.place.span).map(|call| &tree.expr(call).kind);
    let Some(ExprKind::Call { callee, .. }) = call else { return };
    let extends = matches!(tree.expr(*callee).kind, ExprKind::Attribute { name, .. } if name == "extend");
    let is_batch = write.value.borrow().as_tensor().is_some_and(|values| values.rank() != Some(0));
    if extends && is_batch {
        gathered(cx, write.into);
    }
}

fn gathered(cx: &mut Interp<'_>, target: ExprId) {
    let Some(of) = cx.subject_here(target).filter(|_| cx.in_loop()) else { return };
    let grown = Grown { of, by: Addend::Size, through: None };
    cx.observe(cx.expr_place(target), grown, Confidence::High);
}
