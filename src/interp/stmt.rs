//! Statements: what each form does, and how a block of them ends.

use super::branch::{Arm, Boxed};
use super::{ExpressionStatement, Interp, Return, apart};
use crate::syntax::*;
use crate::trace::{Exit, Node, When};
use crate::values::*;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Stop(Exit),
}
impl<'p> Interp<'p> {
    pub(super) fn block(&mut self, block: &'p [StmtId]) -> Flow {
        for (index, &stmt) in block.iter().enumerate() {
            if !self.burn(1) {
                return Flow::Next;
            }
            let rest = &block[index + 1..];
            if let Some(frame) = self.frames.last_mut() {
                frame.rest = rest;
            }
            let flow = self.stmt(stmt);
            if self.has_run_rest() {
                return flow;
            }
            if flow != Flow::Next {
                self.on_block_exit(rest);
                return flow;
            }
        }
        Flow::Next
    }

    pub(super) fn stmt(&mut self, id: StmtId) -> Flow {
        let tree = self.here();
        let stmt = tree.stmt(id);
        if self.probe.is_some() && self.probe_statement(id) {
            return Flow::Next;
        }
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.discarded = Some(self.expr_place(*expr));
                let value = self.eval(*expr);
                if let ExprKind::Attribute { .. } = tree.expr(*expr).kind {
                    let place = self.expr_place(*expr);
                    self.note_named_step(&value, place);
                }
                self.on_expression_statement(&ExpressionStatement { expr: *expr, value: &value });
                if self.never_returns(*expr) {
                    return self.exit(Exit::Raise);
                }
            }
            StmtKind::Assign { targets, value } => return apart::assign(self, targets, *value),
            StmtKind::AugAssign { target, op, value } => self.aug_assign(*target, *op, *value),
            StmtKind::AnnAssign { target, annotation, value } => {
                self.ann_assign(*target, *annotation, *value);
            }
            StmtKind::Return(value) => {
                let result = value.map_or(Value::None, |value| self.eval(value));
                if let Some(value) = value.filter(|_| result.is_unknown() && self.probe.is_some()) {
                    self.probe_return(value);
                }
                self.on_return(&Return { expr: *value, value: &result });
                // What a function gives is what it gives where it does not call itself once more.
                if !value.is_some_and(|value| result.is_unknown() && self.was_cut_off(value)) {
                    self.return_value(result);
                }
                return self.exit(Exit::Return);
            }
            StmtKind::Raise(value) => {
                if let Some(value) = value {
                    self.eval(*value);
                }
                return self.exit(Exit::Raise);
            }
            StmtKind::Assert { test } => {
                self.eval(*test);
                self.refine(*test, true);
            }
            StmtKind::Del(targets) => targets.iter().for_each(|target| self.delete(*target)),
            StmtKind::Pass | StmtKind::Global(_) | StmtKind::Nonlocal(_) => {}
            StmtKind::Break => return self.exit(Exit::Break),
            StmtKind::Continue => return self.exit(Exit::Continue),
            StmtKind::Import(items) => items.iter().for_each(|item| self.import(item)),
            StmtKind::ImportFrom { level, module, names } => self.import_from(id, *level, *module, names),
            StmtKind::If { arms, otherwise } => return self.if_statement(arms, otherwise),
            StmtKind::While { test, body, otherwise } => {
                return self.while_loop(stmt.span, *test, body, otherwise);
            }
            StmtKind::For { target, iter, body, otherwise } => {
                return self.for_loop(stmt.span, *target, *iter, body, otherwise);
            }
            StmtKind::With { items, body } => return self.with(items, body),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                return self.try_statement(body, handlers, otherwise, finally);
            }
            StmtKind::Function(function) => self.define(*function),
            StmtKind::Class(class) => self.define_class(*class),
            StmtKind::Match { subject, cases } => return self.match_statement(*subject, cases),
        }
        Flow::Next
    }

    fn match_statement(&mut self, subject: ExprId, cases: &'p [Case]) -> Flow {
        self.eval(subject);
        let mut closures: Vec<Boxed<'p, 'p>> = Vec::new();
        let mut total = false;
        for case in cases {
            total |= case.irrefutable;
            closures.push(Box::new(move |interp| {
                case.binds.iter().for_each(|name| interp.set_name(*name, Value::Unknown));
                if let Some(guard) = case.guard {
                    interp.eval(guard);
                }
                interp.block(&case.body)
            }));
        }
        if !total {
            closures.push(Box::new(|_| Flow::Next));
        }
        let mut arms: Vec<Arm<'_, 'p>> = closures.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>).collect();
        self.branch(When::Unknown, &mut arms)
    }

    pub(super) fn exit(&mut self, exit: Exit) -> Flow {
        self.push(Node::Exit(exit));
        Flow::Stop(exit)
    }

    /// Whether an expression is the function's call of itself that was not followed any further.
    fn was_cut_off(&self, call: ExprId) -> bool {
        let at = self.frames.last().and_then(|frame| frame.cut_off);
        at.is_some_and(|at| at == self.expr_place(call))
    }

    fn return_value(&mut self, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.returned.push(value);
        }
    }
}
