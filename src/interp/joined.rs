//! A variable that branches bind to things which have nothing in common, `criterion = focal_loss` beside
//! `criterion = CrossEntropyLoss()`: what is done with it says what it is. Only for what owns no parameters, since it
//! is told from nothing that an optimizer may have.

use super::Interp;
use crate::apis::Role;
use crate::names::Subject;
use crate::report::Place;
use crate::syntax::{CompareOp, Expr, ExprId, ExprKind, Stmt, StmtKind, Tree};
use crate::values::Value;
use std::rc::Rc;
use ustr::Ustr;

/// What is called, where nobody knows it: a loss.
pub(super) fn criterion(interp: &mut Interp, callee: ExprId) -> Option<Value> {
    let (subject, name) = bound_here(interp, callee)?;
    let file = interp.file();
    interp.taken_for(file, subject).filter(|taken| taken.role == Role::Criterion)?;
    Some(typed(interp, name, |interp, site| interp.taken_as(file, subject, site, Value::Unknown)))
}

/// Whose method runs, where nobody knows it: a scaler of gradients.
pub(super) fn scaler(interp: &mut Interp, receiver: ExprId, method: Ustr) -> Option<Value> {
    if interp.apis.role_by_use(&[method], false) != Some(Role::Scaler) {
        return None;
    }
    let (subject, name) = bound_here(interp, receiver)?;
    let role = interp.role_by_use(interp.file(), subject).filter(|role| *role == Role::Scaler)?;
    Some(typed(interp, name, |interp, site| interp.of_role(role, site, name, Value::Unknown)))
}

/// A scaler that a file asks for, `if scaler is not None`, may not be there.
pub(super) fn perhaps(tree: &Tree, role: Role, name: Ustr, made: Value) -> Value {
    let is_it = |expr: ExprId| match tree.expr(expr).kind {
        ExprKind::Name(known) | ExprKind::Attribute { name: known, .. } => known == name,
        _ => false,
    };
    let is_none = |rest: &[(CompareOp, ExprId)]| match rest {
        [(CompareOp::Is | CompareOp::IsNot, other)] => matches!(tree.expr(*other).kind, ExprKind::None),
        _ => false,
    };
    let asks = |expr: &Expr| match &expr.kind {
        ExprKind::Compare { first, rest } => is_none(rest) && is_it(*first),
        _ => false,
    };
    let tests = |stmt: &Stmt| match &stmt.kind {
        StmtKind::If { arms, .. } => arms.iter().any(|(test, _)| is_it(*test)),
        _ => false,
    };
    match role == Role::Scaler && (tree.exprs.iter().any(asks) || tree.stmts.iter().any(tests)) {
        true => Value::Maybe(Rc::new(made)),
        false => made,
    }
}

/// A variable of the function that runs, where it is bound to something unknown.
fn bound_here(interp: &Interp, expr: ExprId) -> Option<(Subject, Ustr)> {
    let frame = interp.frames.last()?;
    let ExprKind::Name(name) = interp.tree(frame.file).expr(expr).kind else { return None };
    let bound = interp.heap.attr(frame.env, name).is_some_and(Value::is_unknown);
    bound.then_some((Subject::Local(frame.function, name), name))
}

fn typed(interp: &mut Interp, name: Ustr, make: impl FnOnce(&mut Interp, Place) -> Value) -> Value {
    let Some(env) = interp.frames.last().map(|frame| frame.env) else { return Value::Unknown };
    let site = interp.heap.get(env).site;
    let made = make(interp, site);
    interp.heap.get_mut(env).set_attr(name, made.clone());
    made
}
