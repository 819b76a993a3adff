//! What a function is about though its own text does not say so: a criterion that its class keeps under a name of its
//! own, or a model that the script has put into evaluation mode.

use super::Interp;
use crate::report::{FileId, Span};
use crate::syntax::{ClassId, ExprId, ExprKind, Function, StmtKind, Tree};
use crate::values::{Mode, Value};
use ustr::Ustr;

impl Interp<'_> {
    /// The attributes that the classes of a file assign a criterion to: `self.loss_fct = nn.CrossEntropyLoss()`.
    pub(super) fn kept_criteria(&self, file: FileId) -> Vec<(ClassId, Ustr)> {
        let module = self.module(file);
        if !module.names.speaks_of(self.apis.criteria_words()) {
            return Vec::new();
        }
        let tree = &module.tree;
        let makes = |function: &Function, index: usize| {
            let mentions = &module.names.scopes[index].mentions;
            function.class.filter(|_| self.apis.criteria_words().iter().any(|word| mentions.contains(*word)))
        };
        let makers = tree.functions.iter().enumerate();
        let makers = makers.filter_map(|(index, function)| Some((makes(function, index)?, function.span)));
        let kept_by = |(class, span): (ClassId, Span)| {
            let inside = tree.stmts.iter().filter(move |stmt| span.contains(stmt.span));
            inside.filter_map(move |stmt| match &stmt.kind {
                StmtKind::Assign { targets, value } if self.is_criterion(tree, *value) => {
                    targets.iter().find_map(|target| attribute(tree, *target)).map(|name| (class, name))
                }
                _ => None,
            })
        };
        makers.flat_map(kept_by).collect()
    }

    /// The variables of a file that hold a model in evaluation mode when it has run: functions use it for what it is.
    pub(super) fn evaluated_models(&self, file: FileId) -> Vec<Ustr> {
        let Some(env) = self.loaded.modules.get(&file).map(|module| module.env) else { return Vec::new() };
        let is_evaluated = |value: &Value| {
            let module = value.as_obj().and_then(|object| self.heap.get(object).module());
            module.is_some_and(|module| module.mode == Mode::Eval)
        };
        self.heap
            .get(env)
            .attrs
            .iter()
            .filter(|(_, value)| is_evaluated(value))
            .map(|(name, _)| *name)
            .collect()
    }

    /// Whether an expression is the call of a criterion's class.
    fn is_criterion(&self, tree: &Tree, value: ExprId) -> bool {
        let ExprKind::Call { callee, .. } = tree.expr(value).kind else { return false };
        match tree.expr(callee).kind {
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => {
                self.apis.criteria_words().contains(&name)
            }
            _ => false,
        }
    }
}

fn attribute(tree: &Tree, target: ExprId) -> Option<Ustr> {
    match tree.expr(target).kind {
        ExprKind::Attribute { name, .. } => Some(name),
        _ => None,
    }
}
