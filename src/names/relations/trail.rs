//! From a value back to the calls that it comes from, through bindings and arithmetic.

use super::{MOST_SOURCES, Origin, Relations, Subject, subject_of};
use crate::names::Names;
use crate::syntax::*;

/// From a value back to the calls that it comes from.
pub(super) struct Trail<'a> {
    pub relations: &'a Relations,
    pub tree: &'a Tree,
    pub names: &'a Names,
    pub seen: Vec<Subject>,
    pub found: Vec<Origin>,
    /// So many expressions are still looked at.
    pub left: u32,
}

impl Trail<'_> {
    pub(super) fn follow(
        &mut self,
        value: ExprId,
        function: Option<FnId>,
        item: Option<usize>,
        depth: usize,
    ) {
        if depth == 0 || self.left == 0 || self.found.len() >= MOST_SOURCES {
            return;
        }
        self.left -= 1;
        let tree = self.tree;
        match &tree.expr(value).kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => self.named(value, function, item, depth),
            ExprKind::Call { callee, .. } => {
                let origin = Origin { call: value, item };
                if !self.found.contains(&origin) {
                    self.found.push(origin);
                }
                // A method of a value gives something of it.
                if let ExprKind::Attribute { base, .. } = tree.expr(*callee).kind {
                    self.follow(base, function, item, depth);
                }
            }
            ExprKind::Binary { left, right, .. } => {
                self.follow(*left, function, item, depth);
                self.follow(*right, function, item, depth);
            }
            ExprKind::Conditional { then, otherwise, .. } => {
                self.follow(*then, function, item, depth);
                self.follow(*otherwise, function, item, depth);
            }
            ExprKind::Subscript { base, index } => {
                let index = match tree.expr(*index).kind {
                    ExprKind::Int(at) => usize::try_from(at).ok().or(item),
                    _ => item,
                };
                self.follow(*base, function, index, depth);
                self.put_into(*base, function, item, depth);
            }
            ExprKind::Unary { operand: inner, .. }
            | ExprKind::Walrus { value: inner, .. }
            | ExprKind::Await(inner)
            | ExprKind::Starred(inner) => self.follow(*inner, function, item, depth),
            ExprKind::Tuple(items) => match item.and_then(|item| items.get(item)) {
                Some(one) => self.follow(*one, function, None, depth),
                None => items.iter().for_each(|one| self.follow(*one, function, None, depth)),
            },
            _ => {}
        }
    }

    /// What a list got by and by, `history.append(loss)`.
    fn put_into(&mut self, list: ExprId, function: Option<FnId>, item: Option<usize>, depth: usize) {
        let Some(list) = subject_of(self.tree, self.names, list, function) else { return };
        let relations = self.relations;
        for act in relations.acts_of(list).filter(|act| act.method.is_some_and(|name| name == "append")) {
            if let ExprKind::Call { args, .. } = &self.tree.expr(act.call).kind
                && let [added] = &args[..]
            {
                self.follow(added.value, act.function, item, depth - 1);
            }
        }
    }

    fn named(&mut self, value: ExprId, function: Option<FnId>, item: Option<usize>, depth: usize) {
        let subject = subject_of(self.tree, self.names, value, function);
        let bound = subject.and_then(|subject| self.relations.bound.get(&subject));
        match (subject, bound) {
            (Some(subject), Some(bound)) if !self.seen.contains(&subject) => {
                self.seen.push(subject);
                for bound in bound {
                    self.follow(bound.value, bound.function, bound.item.or(item), depth - 1);
                }
                self.seen.pop();
            }
            // `output.logits`
            (None | Some(Subject::Part(..)), None) => {
                if let ExprKind::Attribute { base, .. } = self.tree.expr(value).kind {
                    self.follow(base, function, item, depth);
                }
            }
            _ => {}
        }
    }
}
