//! Blocks of statements, and who is beside whom.

use super::Draft;
use crate::report::Span;
use crate::syntax::*;
use ustr::Ustr;

impl<'a> Draft<'a> {
    /// The block that a statement stands in, and where.
    pub fn beside(&self, stmt: StmtId) -> Option<(&'a [StmtId], usize)> {
        let tree = &self.module.tree;
        let mut blocks: Vec<&'a [StmtId]> = vec![&tree.body];
        blocks.extend(tree.stmts.iter().flat_map(|stmt| stmt.kind.blocks()));
        for function in &tree.functions {
            if let FunctionBody::Block(body) = &function.body {
                blocks.push(body);
            }
        }
        blocks.extend(tree.classes.iter().map(|class| &*class.body));
        blocks.into_iter().find_map(|block| Some((block, block.iter().position(|other| *other == stmt)?)))
    }

    /// Whether statements in a stretch of the file bind a name.
    pub fn binds(&self, stretch: Span, name: Ustr) -> bool {
        let tree = &self.module.tree;
        let is_name = |id: &ExprId| matches!(tree.expr(*id).kind, ExprKind::Name(other) if other == name);
        tree.stmts.iter().filter(|stmt| stretch.contains(stmt.span)).any(|stmt| match &stmt.kind {
            StmtKind::Assign { targets, .. } | StmtKind::Del(targets) => {
                targets.iter().any(|target| names_in(tree, *target).iter().any(is_name))
            }
            StmtKind::AnnAssign { target, .. } | StmtKind::For { target, .. } => {
                names_in(tree, *target).iter().any(is_name)
            }
            StmtKind::With { items, .. } => {
                items.iter().filter_map(|item| item.target).any(|target| is_name(&target))
            }
            _ => false,
        })
    }

    /// Whether statements in a stretch of the file bind none of the names that an expression mentions.
    pub fn is_from_before(&self, expr: ExprId, stretch: Span) -> bool {
        self.exprs_within(self.expr(expr).span).all(|expr| match expr.kind {
            ExprKind::Name(name) => !self.binds(stretch, name),
            _ => true,
        })
    }

    /// The name that one of the parts of a call begins with, by what is written for the part.
    pub fn root_of(&self, written: &str, call: super::calls::Call<'a>) -> Option<Ustr> {
        let receiver = self.receiver(call).map(|(base, _)| base);
        let mut parts = call.args.iter().map(|arg| arg.value).chain(receiver);
        self.root(parts.find(|part| self.written(*part) == written)?)
    }

    /// The name that an expression begins with: `self` of `self.optimizer`.
    pub fn root(&self, mut expr: ExprId) -> Option<Ustr> {
        loop {
            match &self.expr(expr).kind {
                ExprKind::Name(name) => return Some(*name),
                ExprKind::Attribute { base, .. } | ExprKind::Subscript { base, .. } => expr = *base,
                _ => return None,
            }
        }
    }
}

fn names_in(tree: &Tree, target: ExprId) -> Vec<ExprId> {
    match &tree.expr(target).kind {
        ExprKind::Tuple(items) | ExprKind::List(items) => {
            items.iter().flat_map(|item| names_in(tree, *item)).collect()
        }
        ExprKind::Starred(inner) => names_in(tree, *inner),
        _ => vec![target],
    }
}
