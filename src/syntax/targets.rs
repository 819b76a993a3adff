//! What statements write.

use super::{ExprId, ExprKind, StmtKind, Tree};

impl Tree {
    /// The names, attributes and items that a statement writes.
    pub fn each_target(&self, stmt: &StmtKind, add: &mut dyn FnMut(ExprId)) {
        match stmt {
            StmtKind::Assign { targets, .. } | StmtKind::Del(targets) => {
                targets.iter().for_each(|target| self.each_part(*target, add));
            }
            StmtKind::AugAssign { target, .. }
            | StmtKind::AnnAssign { target, .. }
            | StmtKind::For { target, .. } => {
                self.each_part(*target, add);
            }
            StmtKind::With { items, .. } => {
                items.iter().filter_map(|item| item.target).for_each(|target| self.each_part(target, add));
            }
            _ => {}
        }
    }

    fn each_part(&self, target: ExprId, add: &mut dyn FnMut(ExprId)) {
        match &self.expr(target).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().for_each(|item| self.each_part(*item, add));
            }
            ExprKind::Starred(inner) => self.each_part(*inner, add),
            _ => add(target),
        }
    }
}
