//! What a script leaves out that a caller may say: `if self.max_norm is not None: clip_grad_norm_(...)`, where the
//! constructor has `max_norm=None`.

use super::Interp;
use crate::syntax::*;
use crate::values::*;
use ustr::Ustr;

/// Whether an arm of the training is one that only a caller opens.
pub(super) fn is_left_to_callers(interp: &mut Interp<'_>, test: ExprId, body: &[StmtId]) -> bool {
    interp.leaves_to_callers(test, body)
}

impl Interp<'_> {
    /// Whether an arm of the training is left out only because the script does not say what a parameter of the
    /// constructor is that may be left out.
    fn leaves_to_callers(&mut self, test: ExprId, body: &[StmtId]) -> bool {
        let tree = self.here();
        let Some((base, name)) = asked_for(tree, test) else { return false };
        let Some(frame) = self.frames.last() else { return false };
        let receiver = frame.receiver.as_ref().and_then(Value::as_obj);
        let of_self = matches!(tree.expr(base).kind, ExprKind::Name(own)
            if self.heap.attr(frame.env, own).and_then(Value::as_obj) == receiver);
        let Some(object) = receiver.filter(|_| of_self) else { return false };
        matches!(self.heap.attr(object, name), Some(Value::None))
            && self.is_optional_field(object, name)
            && self.acts_with(name, body)
    }

    /// Whether statements call what has an effect on a training, and use an attribute as an argument only: whose method
    /// runs is not known of what nobody said.
    fn acts_with(&mut self, name: Ustr, body: &[StmtId]) -> bool {
        let tree = self.here();
        let spans = || body.iter().map(|stmt| tree.stmt(*stmt).span);
        let inside = || tree.exprs.iter().filter(|expr| spans().any(|span| span.contains(expr.span)));
        let is_field = |expr: ExprId| {
            let kind = &tree.expr(expr).kind;
            matches!(kind, ExprKind::Attribute { name: own, .. } if *own == name)
        };
        let is_asked = inside().any(|expr| match expr.kind {
            ExprKind::Attribute { base, .. } => is_field(base),
            ExprKind::Call { callee, .. } => is_field(callee),
            _ => false,
        });
        let mut callees = inside().filter_map(|expr| match expr.kind {
            ExprKind::Call { callee, .. } => Some(callee),
            _ => None,
        });
        !is_asked
            && callees.any(|callee| match self.quietly(|interp| interp.eval(callee)) {
                Value::Api(api) => self.apis.get(api).is_some_and(|api| !api.effects.is_empty()),
                _ => false,
            })
    }

    /// `self.name = name` in a constructor whose parameter is `None` unless a caller says it.
    fn is_optional_field(&self, object: ObjId, name: Ustr) -> bool {
        self.of_some_class(self.heap.get(object).class, |state| {
            let tree = self.tree(state.file);
            let makes = |function: &&Function| function.class == Some(state.class) && function.name == "__init__";
            tree.functions.iter().filter(makes).any(|function| {
                let is_none = |param: &Param| {
                    param.default.is_some_and(|default| matches!(tree.expr(default).kind, ExprKind::None))
                };
                let kept = tree.stmts.iter().filter(|stmt| function.span.contains(stmt.span)).find_map(|stmt| {
                    let StmtKind::Assign { targets, value } = &stmt.kind else { return None };
                    let is_it = |target: &ExprId| {
                        matches!(tree.expr(*target).kind, ExprKind::Attribute { name: own, .. } if own == name)
                    };
                    match tree.expr(*value).kind {
                        ExprKind::Name(said) if targets.iter().any(is_it) => Some(said),
                        _ => None,
                    }
                });
                function.params.iter().any(|param| Some(param.name) == kept && is_none(param))
            })
        })
    }
}

/// `self.name is not None`, and `self.name`.
fn asked_for(tree: &Tree, test: ExprId) -> Option<(ExprId, Ustr)> {
    match &tree.expr(test).kind {
        ExprKind::Attribute { base, name, .. } => Some((*base, *name)),
        ExprKind::Compare { first, rest } => match &**rest {
            [(CompareOp::IsNot, none)] if matches!(tree.expr(*none).kind, ExprKind::None) => {
                asked_for(tree, *first)
            }
            _ => None,
        },
        _ => None,
    }
}
