//! Statements at the top of a module that change what its names hold, beside those that bind them: whoever imports
//! such a name gets what all of them made of it.

use crate::syntax::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ustr::Ustr;

type Statements = SmallVec<[StmtId; 2]>;

/// For each name that is changed after it was bound, what binds or changes it, in order.
pub(super) fn changes(tree: &Tree, bindings: &FxHashMap<Ustr, Statements>) -> FxHashMap<Ustr, Statements> {
    let mut changed = Changed { tree, top: StmtId(0), found: FxHashMap::default() };
    for top in &tree.body {
        if !matches!(tree.stmt(*top).kind, StmtKind::Function(_) | StmtKind::Class(_))
            && sets_up(tree, *top, false)
        {
            changed.top = *top;
            changed.stmt(*top);
        }
    }
    let mut found = changed.found;
    found.retain(|name, statements| {
        let Some(binders) = bindings.get(name) else { return false };
        let imports =
            |id: &StmtId| matches!(tree.stmt(*id).kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. });
        statements.extend(binders.iter().copied());
        statements.sort_unstable_by_key(|id| tree.stmt(*id).span.start);
        statements.dedup();
        !binders.iter().any(imports)
    });
    found
}

/// Whether a statement sets something up, as far as its form says: a loop in a loop is the work itself.
fn sets_up(tree: &Tree, id: StmtId, in_loop: bool) -> bool {
    let kind = &tree.stmt(id).kind;
    let is_loop = matches!(kind, StmtKind::For { .. });
    match kind {
        StmtKind::While { .. } => false,
        _ if is_loop && in_loop => false,
        // What a case does is not looked at.
        StmtKind::Match { .. } => true,
        _ => kind.blocks().into_iter().flatten().all(|inner| sets_up(tree, *inner, in_loop || is_loop)),
    }
}

struct Changed<'t> {
    tree: &'t Tree,
    /// The statement of the module that is looked at.
    top: StmtId,
    found: FxHashMap<Ustr, Statements>,
}

impl Changed<'_> {
    fn stmt(&mut self, id: StmtId) {
        let tree = self.tree;
        match &tree.stmt(id).kind {
            StmtKind::Expr(value) => self.called(*value),
            StmtKind::Assign { targets, .. } => targets.iter().for_each(|target| self.written(*target)),
            StmtKind::AugAssign { target, .. } => self.written(*target),
            StmtKind::Match { .. } => {}
            compound => compound.blocks().into_iter().flatten().for_each(|inner| self.stmt(*inner)),
        }
    }

    /// `model.eval()`, `freeze(model)`
    fn called(&mut self, value: ExprId) {
        let ExprKind::Call { callee, args } = &self.tree.expr(value).kind else { return };
        self.written(*callee);
        for arg in args {
            if let ExprKind::Name(name) = self.tree.expr(arg.value).kind {
                self.changed(name);
            }
        }
    }

    /// `options.size = 3`, `sizes[0] = 3`: what is written belongs to what the first name holds.
    fn written(&mut self, target: ExprId) {
        let mut base = target;
        loop {
            match &self.tree.expr(base).kind {
                ExprKind::Attribute { base: inner, .. } | ExprKind::Subscript { base: inner, .. } => {
                    base = *inner;
                }
                ExprKind::Call { callee, .. } if base != target => base = *callee,
                ExprKind::Name(name) if base != target => return self.changed(*name),
                _ => return,
            }
        }
    }

    fn changed(&mut self, name: Ustr) {
        let statements = self.found.entry(name).or_default();
        if statements.last() != Some(&self.top) {
            statements.push(self.top);
        }
    }
}
