//! What a function is about though its own text does not say so: a criterion that its class keeps under a name of its
//! own, a model that its class keeps, or one that the script has put into evaluation mode.

use super::Interp;
use super::modules::FORWARDS;
use crate::apis::{Role, Verb};
use crate::names::Subject;
use crate::report::{FileId, Span};
use crate::syntax::{ClassId, ExprId, ExprKind, FnId, Function, StmtKind, Tree};
use crate::values::{Mode, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

/// What takes numbers out of a graph: whoever says so has recorded one, and goes back through none.
const TAKING_OUT: [&str; 4] = ["argmax", "detach", "item", "tolist"];

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

    /// The methods of a file that run a model which their class keeps, and take numbers out of what it gives: the class
    /// moves it, restores it or sets its mode, where it makes it as a rule.
    pub(super) fn runners_of_own_models(&self, file: FileId) -> FxHashSet<FnId> {
        let module = self.module(file);
        let (tree, relations) = (&module.tree, module.relations());
        let readies = |method: Ustr| {
            let sets = [Verb::Eval, Verb::Train, Verb::Restore];
            let api = self.apis.method_of(Role::Module, method);
            self.puts(method) || api.is_some_and(|api| sets.into_iter().any(|verb| api.does(verb)))
        };
        let is_ready = |value: ExprId| match tree.expr(value).kind {
            ExprKind::Call { callee, .. } => {
                matches!(tree.expr(callee).kind, ExprKind::Attribute { name, .. } if readies(name))
            }
            _ => false,
        };
        let is_model = |subject: Subject| {
            relations.acts_of(subject).any(|act| act.method.is_some_and(readies))
                || relations.bindings(subject).any(|(value, _)| is_ready(value))
        };
        let takes_out = |function: FnId| {
            let mentions = &module.names.scope(function).mentions;
            TAKING_OUT.iter().any(|word| mentions.contains(Ustr::from(word)))
        };
        let mut known: FxHashMap<Subject, bool> = FxHashMap::default();
        let mut runners = FxHashSet::default();
        for act in relations.acts() {
            let (Some(own @ Subject::Own(..)), Some(function)) = (act.callee, act.function) else { continue };
            let computes = FORWARDS.contains(&tree.function(function).name.as_str());
            if !computes && takes_out(function) && *known.entry(own).or_insert_with(|| is_model(own)) {
                runners.insert(function);
            }
        }
        runners
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
