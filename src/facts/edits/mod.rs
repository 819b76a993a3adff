//! Edits of a file, built from its tree and its text: the one place that knows how Python is laid out. What
//! is not laid out simply is refused, so that a finding without a plain fix has none.

mod blocks;
mod calls;
mod lines;
mod said;

pub(crate) use calls::Call;
pub(crate) use lines::Line;

use super::Script;
use crate::names::{Module, Names};
use crate::report::{Edit, FileId, Place, Span};
use crate::source::counted;
use crate::syntax::{Arg, ClassId, Expr, ExprId, ExprKind, FnId, Function, Stmt, StmtId, StmtKind, Tree};
use ustr::Ustr;

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

    pub(crate) fn tree(&self) -> &'a Tree {
        &self.module.tree
    }

    pub(crate) fn names(&self) -> &'a Names {
        &self.module.names
    }

    /// Whether a name is bound anywhere in the file, in whatever scope.
    pub(crate) fn is_bound(&self, name: &str) -> bool {
        let name = Ustr::from(name);
        let names = &self.module.names;
        names.bindings.contains_key(&name)
            || names.scopes.iter().any(|scope| scope.locals.contains(name))
            || names.class_locals.iter().any(|locals| locals.contains(name))
    }

    /// Whether others may take a name from here: the file is a package's own, or says so.
    pub(crate) fn is_exported(&self, name: &str) -> bool {
        let is_listed = |all: &[Ustr]| all.iter().any(|one| one == name);
        let is_package = self.module.source.path.file_stem().is_some_and(|stem| stem == "__init__");
        is_package || self.module.names.dunder_all.as_deref().is_some_and(is_listed)
    }

    pub fn replace(&self, span: Span, text: impl Into<String>) -> Edit {
        Edit { place: Place::new(self.module.file, span), text: text.into() }
    }

    pub fn insert(&self, at: u32, text: impl Into<String>) -> Edit {
        self.replace(Span::new(at, at), text)
    }

    pub(crate) fn expr(&self, id: ExprId) -> &'a Expr {
        self.module.tree.expr(id)
    }

    pub(crate) fn statement(&self, id: StmtId) -> &'a Stmt {
        self.module.tree.stmt(id)
    }

    /// The function whose local a name is; `None` for the module's.
    pub(crate) fn owner(&self, function: Option<FnId>, name: Ustr) -> Option<FnId> {
        self.module.names.owner(&self.module.tree, function, name)
    }

    /// What is written for an expression.
    pub(crate) fn written(&self, id: ExprId) -> &'a str {
        self.text(self.expr(id).span)
    }

    /// The outermost expression that covers exactly this span.
    pub(crate) fn expr_at(&self, span: Span) -> Option<ExprId> {
        self.module.expr_at(span)
    }

    /// The innermost function around a place; `None` for the module's body.
    pub(crate) fn function_around(&self, span: Span) -> Option<FnId> {
        let functions = counted(self.module.tree.functions.iter()).enumerate();
        let around = functions.filter(|(_, function)| {
            let is_lambda = function.name.as_str() == "<lambda>";
            function.span.contains(span) && !is_lambda
        });
        around.max_by_key(|(_, function)| function.span.start).map(|(at, _)| FnId(at as u32))
    }

    /// The parameter of the function around a place whose value an expression says something of: its position,
    /// and whether the function is a method.
    pub(crate) fn parameter_in(&self, span: Span, expr: ExprId) -> Option<(usize, bool)> {
        let function = self.module.tree.function(self.function_around(span)?);
        let inside = self.expr(expr).span;
        let names = self.module.tree.exprs.iter().filter(|one| inside.contains(one.span));
        let said: Vec<Ustr> = names
            .filter_map(|one| match one.kind {
                ExprKind::Name(name) => Some(name),
                _ => None,
            })
            .collect();
        let position = function.params.iter().position(|param| said.contains(&param.name))?;
        let is_receiver = function.class.is_some() && position == 0;
        (!is_receiver).then_some((position, function.class.is_some()))
    }

    /// What the method around a place calls its object: `self`.
    pub(crate) fn receiver_of_method(&self, span: Span) -> Option<&'a str> {
        let function = self.module.tree.function(self.function_around(span)?);
        let first = function.params.first().filter(|_| function.class.is_some())?;
        Some(first.name.as_str())
    }

    pub(crate) fn function(&self, function: FnId) -> &'a Function {
        self.module.tree.function(function)
    }

    /// From `def` on, without decorators.
    pub(crate) fn function_span(&self, function: FnId) -> Span {
        self.function(function).span
    }

    pub(crate) fn name_of_function(&self, function: FnId) -> &'a str {
        self.module.tree.function(function).name.as_str()
    }

    /// Whether two places are in the body of one function, or both in the module's.
    pub(crate) fn same_function(&self, one: Span, other: Span) -> bool {
        self.function_around(one) == self.function_around(other)
    }

    /// The statements around a place, outermost first; the last is the one that it is part of.
    pub(crate) fn statements_around(&self, span: Span) -> Vec<StmtId> {
        let stmts = counted(self.module.tree.stmts.iter()).enumerate();
        let mut around: Vec<StmtId> =
            stmts.filter(|(_, stmt)| stmt.span.contains(span)).map(|(at, _)| StmtId(at as u32)).collect();
        let span_of = |id: &StmtId| self.module.tree.stmt(*id).span;
        around.sort_by_key(|id| (span_of(id).start, std::cmp::Reverse(span_of(id).end)));
        around
    }

    pub(crate) fn statements(&self) -> impl Iterator<Item = &'a StmtKind> {
        self.module.tree.stmts.iter().map(|stmt| &stmt.kind)
    }

    /// What a class is derived from, keywords included.
    pub(crate) fn bases(&self, class: ClassId) -> &'a [Arg] {
        &self.module.tree.class(class).bases
    }

    pub(crate) fn exprs_within(&self, span: Span) -> impl Iterator<Item = &'a Expr> {
        counted(self.module.tree.exprs.iter()).filter(move |expr| span.contains(expr.span))
    }

    pub(crate) fn statements_within(&self, span: Span) -> impl Iterator<Item = &'a StmtKind> {
        let stmts = counted(self.module.tree.stmts.iter()).filter(move |stmt| span.contains(stmt.span));
        stmts.map(|stmt| &stmt.kind)
    }

    pub(crate) fn statement_at(&self, span: Span) -> Option<StmtId> {
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

    /// Whether an expression has parentheses of its own around it, or is an argument as a whole.
    pub(crate) fn stands_apart(&self, span: Span) -> bool {
        let is_argument = |expr: &Expr| match &expr.kind {
            ExprKind::Call { args, .. } => args.iter().any(|arg| self.expr(arg.value).span == span),
            _ => false,
        };
        self.is_in_own_parentheses(span) || self.module.tree.exprs.iter().any(is_argument)
    }

    fn behind_parentheses(&self, span: Span) -> u32 {
        if !self.is_in_own_parentheses(span) {
            return span.end;
        }
        let rest = &self.module.source.text[span.end as usize..];
        span.end + rest.find(')').map_or(0, |at| at as u32 + 1)
    }
}

#[cfg(test)]
mod tests;
