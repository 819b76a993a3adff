//! Edits of a file, built from its tree and its text: the one place that knows how Python is laid out. What
//! is not laid out simply is refused, so that a finding without a plain fix has none.

mod blocks;
mod calls;
mod lines;
mod said;

pub use lines::Line;

use super::Script;
use crate::names::Module;
use crate::report::{Edit, FileId, Place, Span};
use crate::syntax::{Expr, ExprId, ExprKind, FnId, StmtId};

/// A file that is to be edited.
#[derive(Clone, Copy)]
pub struct Draft<'a> {
    module: &'a Module,
}

impl<'a> Script<'a> {
    pub fn draft(&self, file: FileId) -> Draft<'a> {
        Draft { module: self.project.module(file) }
    }
}

impl<'a> Draft<'a> {
    pub fn text(&self, span: Span) -> &'a str {
        self.module.source.text.get(span.range()).unwrap_or_default()
    }

    pub fn replace(&self, span: Span, text: impl Into<String>) -> Edit {
        Edit { place: Place::new(self.module.file, span), text: text.into() }
    }

    pub fn insert(&self, at: u32, text: impl Into<String>) -> Edit {
        self.replace(Span::new(at, at), text)
    }

    pub(super) fn expr(&self, id: ExprId) -> &'a Expr {
        self.module.tree.expr(id)
    }

    /// What is written for an expression.
    pub(super) fn written(&self, id: ExprId) -> &'a str {
        self.text(self.expr(id).span)
    }

    /// The outermost expression that covers exactly this span.
    pub(super) fn expr_at(&self, span: Span) -> Option<ExprId> {
        let exprs = &self.module.tree.exprs;
        exprs.iter().rposition(|expr| expr.span == span).map(|at| ExprId(at as u32))
    }

    /// The innermost function around a place; `None` for the module's body.
    pub(super) fn function_around(&self, span: Span) -> Option<FnId> {
        let functions = self.module.tree.functions.iter().enumerate();
        let around = functions.filter(|(_, function)| {
            let is_lambda = function.name.as_str() == "<lambda>";
            function.span.contains(span) && !is_lambda
        });
        around.max_by_key(|(_, function)| function.span.start).map(|(at, _)| FnId(at as u32))
    }

    pub(super) fn name_of_function(&self, function: FnId) -> &'a str {
        self.module.tree.function(function).name.as_str()
    }

    /// The statements around a place, outermost first; the last is the one that it is part of.
    pub(super) fn statements_around(&self, span: Span) -> Vec<StmtId> {
        let stmts = self.module.tree.stmts.iter().enumerate();
        let mut around: Vec<StmtId> =
            stmts.filter(|(_, stmt)| stmt.span.contains(span)).map(|(at, _)| StmtId(at as u32)).collect();
        let span_of = |id: &StmtId| self.module.tree.stmt(*id).span;
        around.sort_by_key(|id| (span_of(id).start, std::cmp::Reverse(span_of(id).end)));
        around
    }

    pub(super) fn statement_at(&self, span: Span) -> Option<StmtId> {
        self.statements_around(span).pop()
    }

    /// A call or a value with something behind it: `.detach()`.
    pub fn append(&self, span: Span, suffix: &str) -> Option<Vec<Edit>> {
        let expr = self.expr(self.expr_at(span)?);
        let binds_tightly = matches!(
            expr.kind,
            ExprKind::Name(_)
                | ExprKind::Attribute { .. }
                | ExprKind::Call { .. }
                | ExprKind::Subscript { .. }
                | ExprKind::List(_)
        ) || self.is_in_own_parentheses(span);
        match binds_tightly {
            true => Some(vec![self.insert(self.behind_parentheses(span), suffix)]),
            false => Some(vec![self.insert(span.start, "("), self.insert(span.end, format!("){suffix}"))]),
        }
    }

    /// Puts something around an expression: `list(` and `)`.
    pub fn wrap(&self, span: Span, before: &str, after: &str) -> Vec<Edit> {
        vec![self.insert(span.start, before), self.insert(span.end, after)]
    }

    /// Whether the parentheses right around an expression are its own, and not those of a call.
    fn is_in_own_parentheses(&self, span: Span) -> bool {
        let text = &self.module.source.text;
        let before = text[..span.start as usize].trim_end();
        let Some(outer) = before.strip_suffix('(') else { return false };
        let is_called = outer.ends_with(|last: char| last.is_alphanumeric() || "_)]}'\"".contains(last));
        let word = outer.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let is_keyword = ["return", "in", "and", "or", "not", "if", "else", "yield"].contains(&word);
        (!is_called || is_keyword) && text[span.end as usize..].trim_start().starts_with(')')
    }

    fn behind_parentheses(&self, span: Span) -> u32 {
        if !self.is_in_own_parentheses(span) {
            return span.end;
        }
        let rest = &self.module.source.text[span.end as usize..];
        span.end + rest.find(')').map_or(0, |at| at as u32 + 1)
    }
}
