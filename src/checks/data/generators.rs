//! A function that yields, as it is written: what its variables are bound to, and which loops are around its yields.

use crate::report::Span;
use crate::syntax::*;
use ustr::Ustr;

/// Expressions that one value is made of.
const MOST_PARTS: usize = 64;

#[derive(Default)]
pub(super) struct Generator {
    pub yields: Vec<Yielded>,
    pub returns: Vec<ExprId>,
    /// Some loop may end before its time.
    pub ends_early: bool,
    bound: Vec<(Ustr, ExprId)>,
}

pub(super) struct Yielded {
    pub value: Option<ExprId>,
    /// Each item of it.
    pub from: bool,
    /// Outermost first.
    pub around: Vec<Around>,
}

#[derive(Clone, Copy)]
pub(super) enum Around {
    For { target: ExprId, iter: ExprId },
    While { endless: bool },
}

impl Around {
    pub(super) fn over(&self) -> Option<(ExprId, ExprId)> {
        match self {
            Around::For { target, iter } => Some((*target, *iter)),
            Around::While { .. } => None,
        }
    }
}

/// The names that an expression has in it.
pub(super) fn names_within(tree: &Tree, expr: ExprId) -> Vec<Ustr> {
    let span = tree.expr(expr).span;
    let named = |expr: &Expr| match expr.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    };
    tree.exprs.iter().filter(|expr| span.contains(expr.span)).filter_map(named).collect()
}

impl Generator {
    pub(super) fn of(tree: &Tree, body: &[StmtId], span: Span) -> Generator {
        let yields = tree.exprs.iter().filter(|expr| span.contains(expr.span));
        let yields = yields.filter(|expr| matches!(expr.kind, ExprKind::Yield(_) | ExprKind::YieldFrom(_)));
        let yields: Vec<&Expr> = yields.collect();
        let mut walk = Walk { tree, yields, around: Vec::new(), made: Generator::default() };
        walk.block(body);
        walk.made
    }

    /// What a variable may be, and what is put into it.
    pub(super) fn values_of(&self, name: Ustr) -> Vec<ExprId> {
        self.bound.iter().filter(|(bound, _)| *bound == name).map(|(_, value)| *value).collect()
    }

    /// The expressions that a value is made of, by way of variables, and the names in them.
    pub(super) fn made_of(&self, tree: &Tree, value: ExprId) -> (Vec<ExprId>, Vec<Ustr>) {
        let (mut exprs, mut names) = (vec![value], Vec::new());
        let mut at = 0;
        while at < exprs.len() && exprs.len() < MOST_PARTS {
            for name in names_within(tree, exprs[at]) {
                if !names.contains(&name) {
                    names.push(name);
                    exprs.extend(self.values_of(name));
                }
            }
            at += 1;
        }
        (exprs, names)
    }
}

struct Walk<'t> {
    tree: &'t Tree,
    yields: Vec<&'t Expr>,
    around: Vec<Around>,
    made: Generator,
}

impl Walk<'_> {
    fn block(&mut self, block: &[StmtId]) {
        for stmt in block {
            self.statement(*stmt);
        }
    }

    fn statement(&mut self, stmt: StmtId) {
        let tree = self.tree;
        let written = tree.stmt(stmt);
        match &written.kind {
            StmtKind::For { target, iter, body, otherwise } => {
                self.bind(*target, *iter);
                self.around.push(Around::For { target: *target, iter: *iter });
                self.block(body);
                self.around.pop();
                return self.block(otherwise);
            }
            StmtKind::While { test, body, otherwise } => {
                let endless = matches!(tree.expr(*test).kind, ExprKind::True | ExprKind::Int(_));
                self.around.push(Around::While { endless });
                self.block(body);
                self.around.pop();
                return self.block(otherwise);
            }
            StmtKind::With { items, .. } => {
                for item in items {
                    if let Some(target) = item.target {
                        self.bind(target, item.context);
                    }
                }
            }
            StmtKind::Function(_) | StmtKind::Class(_) => return,
            StmtKind::Assign { targets, value } => {
                targets.iter().for_each(|target| self.bind(*target, *value));
            }
            StmtKind::AugAssign { target, value, .. } => self.bind(*target, *value),
            StmtKind::AnnAssign { target, value: Some(value), .. } => self.bind(*target, *value),
            StmtKind::Break | StmtKind::Return(None) => self.made.ends_early = true,
            StmtKind::Return(Some(value)) => self.made.returns.push(*value),
            StmtKind::Expr(value) => self.put_into(*value),
            _ => {}
        }
        let blocks = written.kind.blocks();
        if blocks.is_empty() {
            self.yields_of(written.span);
        }
        blocks.into_iter().for_each(|block| self.block(block));
    }

    fn yields_of(&mut self, span: Span) {
        for expr in self.yields.iter().filter(|expr| span.contains(expr.span)) {
            let (value, from) = match expr.kind {
                ExprKind::YieldFrom(value) => (Some(value), true),
                ExprKind::Yield(value) => (value, false),
                _ => continue,
            };
            self.made.yields.push(Yielded { value, from, around: self.around.clone() });
        }
    }

    /// All names of a target are bound to the value; an item that is written is part of what holds it.
    fn bind(&mut self, target: ExprId, value: ExprId) {
        match &self.tree.expr(target).kind {
            ExprKind::Name(name) => self.made.bound.push((*name, value)),
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.bind(*item, value));
            }
            ExprKind::Starred(inner) => self.bind(*inner, value),
            ExprKind::Subscript { base, .. } => self.bind(*base, value),
            _ => {}
        }
    }

    /// `batch.append(row)`
    fn put_into(&mut self, call: ExprId) {
        let ExprKind::Call { callee, args } = &self.tree.expr(call).kind else { return };
        let ExprKind::Attribute { base, .. } = self.tree.expr(*callee).kind else { return };
        if let ExprKind::Name(name) = self.tree.expr(base).kind {
            args.iter().for_each(|arg| self.made.bound.push((name, arg.value)));
        }
    }
}
