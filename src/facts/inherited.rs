//! What methods of a class in the file use of the framework's class that it derives from. No rehearsal is asked: often
//! nobody makes an instance where it is seen.

use super::{Changed, Deprecated, Script};
use crate::apis::{changed, deprecated};
use crate::names::{Mention, guards};
use crate::syntax::{ClassId, ExprId, ExprKind, StmtKind, Tree};
use crate::trace::At;
use ustr::Ustr;

/// A class of the file, and a class of a framework that it derives from.
type Derived = (ClassId, String);

impl Script<'_> {
    /// The names of the classes of frameworks that a class of the file derives from.
    pub(super) fn framework_bases(&self, said: &[Mention], class: ClassId) -> Vec<String> {
        let tree = &self.project.module(self.file).tree;
        let path_of = |base: ExprId| {
            let name = match &tree.expr(base).kind {
                ExprKind::Name(name) => Some(*name),
                _ => None,
            };
            let is_it = |mention: &&Mention| match (mention.expr, name) {
                (Some(expr), _) => expr == base,
                (None, Some(name)) => mention.path.rsplit('.').next() == Some(name.as_str()),
                (None, None) => false,
            };
            said.iter().find(is_it).map(|mention| mention.path.clone())
        };
        tree.class(class).bases.iter().filter_map(|base| path_of(base.value)).collect()
    }

    /// `self.add_weight("scale", shape=...)`
    pub(super) fn changed_of_bases(&self, said: &[Mention]) -> Vec<Changed> {
        let tree = &self.project.module(self.file).tree;
        let mut found = Vec::new();
        for (class, base) in self.derived(said, changed::is_holder) {
            for (at, expr) in tree.exprs.iter().enumerate() {
                let ExprKind::Call { callee, .. } = expr.kind else { continue };
                let Some(method) = of_self(tree, callee) else { continue };
                let call = ExprId(at as u32);
                let name = format!("{base}.{method}");
                let rows = changed::of(&name).filter(|_| self.inherits(class, method, call));
                found.extend(rows.filter_map(|row| self.changed_by(&name, row, call)));
            }
        }
        found
    }

    /// `self.hparams = hparams`
    pub(super) fn assigned_of_bases(&self, said: &[Mention]) -> Vec<Deprecated> {
        let tree = &self.project.module(self.file).tree;
        let mut found = Vec::new();
        for (class, base) in self.derived(said, deprecated::is_assigned_holder) {
            for stmt in &tree.stmts {
                let StmtKind::Assign { targets, .. } = &stmt.kind else { continue };
                for target in targets {
                    let Some(name) = of_self(tree, *target) else { continue };
                    let is_row = deprecated::of_assigned(&base, &name).is_some();
                    if is_row && self.inherits(class, name, *target) {
                        let at: At = self.at(tree.expr(*target).span);
                        found.extend(self.deprecated_assignment(&format!("{base}.{name}"), &at));
                    }
                }
            }
        }
        found
    }

    fn derived(&self, said: &[Mention], is_holder: fn(&str) -> bool) -> Vec<Derived> {
        let all = 0..self.project.module(self.file).tree.classes.len();
        let bases = all.flat_map(|at| {
            let class = ClassId(at as u32);
            self.framework_bases(said, class).into_iter().map(move |base| (class, base))
        });
        bases.filter(|(_, base)| is_holder(base)).collect()
    }

    /// Whether an expression stands in a method of a class that has no such attribute of its own, and is not provided
    /// for.
    fn inherits(&self, class: ClassId, name: Ustr, expr: ExprId) -> bool {
        let module = self.project.module(self.file);
        let (tree, span) = (&module.tree, module.tree.expr(expr).span);
        let is_within = |function: &crate::syntax::Function| {
            function.class == Some(class)
                && function.span.start <= span.start
                && span.end <= function.span.end
        };
        let has_own = |locals: &crate::names::NameSet| locals.contains(name);
        tree.functions.iter().any(is_within)
            && !module.names.class_locals.get(class.0 as usize).is_some_and(has_own)
            && !guards(tree).iter().any(|guard| guard.start <= span.start && span.start < guard.end)
    }
}

/// The attribute of `self` that an expression is.
fn of_self(tree: &Tree, expr: ExprId) -> Option<Ustr> {
    let ExprKind::Attribute { base, name, .. } = tree.expr(expr).kind else { return None };
    matches!(tree.expr(base).kind, ExprKind::Name(of) if of == "self").then_some(name)
}
