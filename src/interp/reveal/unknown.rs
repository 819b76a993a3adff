//! Since when nothing is known of a value: the first expression on the way to it that gave something unknown
//! though all that it was made of was known. Followed through names, arguments, attributes and returns.

use crate::interp::{Call, Interp};
use crate::names::qualified;
use crate::report::{FileId, Place};
use crate::syntax::{Expr, ExprId, ExprKind, Function, StmtKind, Tree};
use crate::values::{ObjId, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use ustr::Ustr;

/// So many letters of an expression are cited.
const MOST_LETTERS: usize = 40;

/// Where a value became unknown, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    pub place: Place,
    pub why: String,
}

/// What is unknown at present, and since when.
#[derive(Default)]
pub(in crate::interp) struct Causes {
    expressions: FxHashMap<Place, Arc<Cause>>,
    names: FxHashMap<(ObjId, Ustr), Arc<Cause>>,
    /// By name alone: whatever object it belongs to, the latest one is the likeliest.
    attributes: FxHashMap<Ustr, Arc<Cause>>,
    /// Of what the last function gave back.
    returned: Option<Arc<Cause>>,
    /// The expressions whose values the running statements bind, by depth of calls.
    binding: Vec<Option<(FileId, ExprId)>>,
}

impl Causes {
    pub(crate) fn at(&self, place: Place) -> Option<Arc<Cause>> {
        self.expressions.get(&place).cloned()
    }

    /// A statement begins that binds the value of an expression.
    pub(crate) fn enter(&mut self, depth: usize, value: Option<(FileId, ExprId)>) {
        self.binding.resize(depth + 1, None);
        self.binding[depth] = value;
    }
}

impl<'p> Interp<'p> {
    /// Remembers since when an expression is unknown, or that it is known.
    pub(super) fn note_cause(&mut self, id: ExprId, value: &Value) {
        let place = self.expr_place(id);
        let cause = value.is_unknown().then(|| self.cause_of(id, place));
        let Some(probe) = self.probe.as_deref_mut() else { return };
        match cause {
            Some(cause) => probe.causes.expressions.insert(place, cause),
            None => probe.causes.expressions.remove(&place),
        };
    }

    /// A target is given a value: from here on it is unknown since then, or known.
    pub(super) fn note_target(&mut self, target: &ExprKind, value: &Value) {
        let cause = value.is_unknown().then(|| self.cause_of_binding()).flatten();
        let env = self.frames.last().map(|frame| frame.env);
        let holder = match target {
            ExprKind::Name(name) => env.map(|env| (self.binding_env(env, *name), *name)),
            _ => None,
        };
        let Some(probe) = self.probe.as_deref_mut() else { return };
        match (holder, target) {
            (Some(holder), _) => keep(&mut probe.causes.names, holder, cause),
            (None, ExprKind::Attribute { name, .. }) => keep(&mut probe.causes.attributes, *name, cause),
            _ => {}
        }
    }

    /// A function of the project gives something unknown back.
    #[cold]
    pub(in crate::interp) fn probe_return(&mut self, value: ExprId) {
        let place = self.expr_place(value);
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.causes.returned = probe.causes.at(place);
        }
    }

    /// A function of the project is called: a parameter is unknown since its argument is.
    #[cold]
    pub(in crate::interp) fn probe_parameters(
        &mut self,
        env: ObjId,
        function: &Function,
        received: usize,
        call: &Call,
    ) {
        let Some(probe) = self.probe.as_deref_mut() else { return };
        for (index, param) in function.params.iter().enumerate() {
            let by_position = index.checked_sub(received).and_then(|index| call.positional.get(index));
            let passed = call.keyword(&param.name).or(by_position);
            let cause = passed.and_then(|passed| probe.causes.at(passed.place));
            keep(&mut probe.causes.names, (env, param.name), cause);
        }
    }

    /// Since when an expression is unknown, or the target of a statement.
    pub(super) fn cause_at(&self, place: Place, bound: bool) -> Option<Arc<Cause>> {
        if bound { self.cause_of_binding() } else { self.probe.as_ref()?.causes.at(place) }
    }

    fn cause_of_binding(&self) -> Option<Arc<Cause>> {
        let causes = &self.probe.as_ref()?.causes;
        let (file, value) = (*causes.binding.get(self.frames.len())?)?;
        let place = Place::new(file, self.tree(file).expr(value).span);
        let part = || format!("the contents of {} are unknown", self.cited(place));
        Some(causes.at(place).unwrap_or_else(|| Arc::new(Cause { place, why: part() })))
    }

    fn cause_of(&mut self, id: ExprId, place: Place) -> Arc<Cause> {
        let tree = self.here();
        let expr = tree.expr(id);
        if let ExprKind::Name(name) = expr.kind {
            return self.cause_of_name(name, place);
        }
        let at = |operand: &ExprId| self.expr_place(*operand);
        let (first, rest) = operands(tree, expr);
        let known = self.probe.as_ref().map(|probe| &probe.causes);
        let of = |operands: &[ExprId]| operands.iter().find_map(|operand| known?.at(at(operand)));
        let attribute = match expr.kind {
            ExprKind::Attribute { name, .. } => {
                known.and_then(|causes| causes.attributes.get(&name).cloned())
            }
            _ => None,
        };
        let returned = || known.and_then(|causes| causes.returned.clone());
        let found = of(&first).or(attribute).or_else(returned).or_else(|| of(&rest));
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.causes.returned = None;
        }
        found.unwrap_or_else(|| Arc::new(Cause { place, why: self.origin(expr) }))
    }

    /// What an expression is that gives something unknown of what is known.
    fn origin(&self, expr: &Expr) -> String {
        let cited = |id: ExprId| self.cited(self.expr_place(id));
        match &expr.kind {
            ExprKind::Call { callee, .. } => {
                let absent = self.absent_package(*callee).map(|from| format!(": `{from}` is not available"));
                format!("the result of {} is unknown{}", cited(*callee), absent.unwrap_or_default())
            }
            ExprKind::Attribute { base, name, .. } => {
                format!("attribute `{name}` of {} is unknown", cited(*base))
            }
            ExprKind::Subscript { base, .. } => format!("this item of {} is unknown", cited(*base)),
            ExprKind::Conditional { .. } | ExprKind::Bool { .. } => {
                "it depends on a condition, and the two branches have nothing in common".to_owned()
            }
            ExprKind::Binary { .. } | ExprKind::Unary { .. } => {
                "the result of this operation is not tracked".to_owned()
            }
            _ => "this expression is not tracked".to_owned(),
        }
    }

    /// The package that a function comes from which neither the project nor a table has.
    fn absent_package(&self, callee: ExprId) -> Option<String> {
        let module = self.module(self.file());
        let name = qualified(&module.tree, &module.names, callee)?;
        let (package, _) = name.rsplit_once('.')?;
        let root = name.split('.').next().unwrap_or(&name);
        let is_framework = self.apis.frameworks().iter().any(|known| known.as_str() == root);
        (!is_framework).then(|| package.to_owned())
    }

    fn cause_of_name(&mut self, name: Ustr, place: Place) -> Arc<Cause> {
        let env = self.frames.last().map(|frame| frame.env);
        let mut scopes =
            std::iter::successors(env, |env| self.loaded.scopes.get(env).and_then(|scope| scope.parent));
        let causes = self.probe.as_ref().map(|probe| &probe.causes.names);
        if let Some(cause) = scopes.find_map(|env| causes?.get(&(env, name)).cloned()) {
            return cause;
        }
        Arc::new(self.unbound(name, place))
    }

    /// Why a name is unknown that no statement that was seen has made so.
    fn unbound(&self, name: Ustr, place: Place) -> Cause {
        let file = self.file();
        let module = self.module(file);
        if let Some(function) = self.frames.last().and_then(|frame| frame.function) {
            let function = module.tree.function(function);
            if let Some(param) = function.params.iter().find(|param| param.name == name) {
                let why = match self.supposed.seeded {
                    Some(_) => format!("`{name}` is a parameter of `{}`, which nothing calls", function.name),
                    None => format!("`{name}` is a parameter whose argument is unknown"),
                };
                return Cause { place: Place::new(file, param.span), why };
            }
        }
        let Some(bindings) = module.names.bindings.get(&name) else {
            return Cause { place, why: format!("nothing in this file assigns `{name}` before this line") };
        };
        for statement in bindings.iter().map(|id| module.tree.stmt(*id)) {
            if matches!(statement.kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. }) {
                let why = format!("`{name}` is an import that is not available");
                return Cause { place: Place::new(file, statement.span), why };
            }
        }
        let why = match bindings.len() {
            1 => format!("`{name}` is assigned elsewhere, but not on a path to this line"),
            _ => format!("`{name}` is assigned in several places that have nothing in common"),
        };
        Cause { place, why }
    }

    /// The words of the script at a place, shortened.
    fn cited(&self, place: Place) -> String {
        let words: Vec<&str> = self.words(place).split_whitespace().collect();
        let words = words.join(" ");
        let short: String = words.chars().take(MOST_LETTERS).collect();
        let dots = if short.len() < words.len() { "…" } else { "" };
        format!("`{short}{dots}`")
    }
}

fn keep<K: Eq + std::hash::Hash>(causes: &mut FxHashMap<K, Arc<Cause>>, key: K, cause: Option<Arc<Cause>>) {
    match cause {
        Some(cause) => causes.insert(key, cause),
        None => causes.remove(&key),
    };
}

/// What an expression is made of: what is decided first, and what only comes into it.
fn operands(tree: &Tree, expr: &Expr) -> (Vec<ExprId>, Vec<ExprId>) {
    match &expr.kind {
        ExprKind::Attribute { base, .. } => (vec![*base], Vec::new()),
        ExprKind::Call { callee, args } => {
            // Of a method only its receiver is looked at by itself.
            let callee = match tree.expr(*callee).kind {
                ExprKind::Attribute { base, .. } => base,
                _ => *callee,
            };
            (vec![callee], args.iter().map(|arg| arg.value).collect())
        }
        ExprKind::Subscript { base, index } => (vec![*base], vec![*index]),
        ExprKind::Unary { operand, .. } => (vec![*operand], Vec::new()),
        ExprKind::Binary { left, right, .. } => (vec![*left, *right], Vec::new()),
        ExprKind::Bool { items, .. } => (items.to_vec(), Vec::new()),
        ExprKind::Conditional { then, otherwise, .. } => (vec![*then, *otherwise], Vec::new()),
        ExprKind::Await(inner) | ExprKind::Starred(inner) | ExprKind::Walrus { value: inner, .. } => {
            (vec![*inner], Vec::new())
        }
        _ => (Vec::new(), Vec::new()),
    }
}
