//! Constructors that call that of their base with other arguments than it takes: it fails whoever makes an instance,
//! and classes that are chosen by name are made nowhere that is seen.

use super::mismatched_arguments::Mismatch;
use crate::facts::Script;
use crate::interp::unfit;
use crate::report::{Confidence, Place};
use crate::syntax::{
    Arg, ArgKind, Class, ClassId, ExprId, ExprKind, FnId, Function, ParamKind, StmtKind, Tree,
};
use crate::trace::At;
use std::rc::Rc;
use ustr::Ustr;

/// Calls of `super().__init__` in the script itself that do not fit.
pub(super) fn mismatches(script: &Script) -> Vec<(At, Mismatch)> {
    let tree = &script.project.module(script.file).tree;
    let mut found = Vec::new();
    for expr in &tree.exprs {
        let ExprKind::Call { callee, args } = &expr.kind else { continue };
        let place = Place::new(script.file, expr.span);
        if let Some(mismatch) = mismatch(script, place, *callee, args) {
            found.push((At::of_text(place, Confidence::High), mismatch));
        }
    }
    found
}

fn mismatch(script: &Script, place: Place, callee: ExprId, args: &[Arg]) -> Option<Mismatch> {
    let (draft, module) = (script.draft(script.file), script.project.module(script.file));
    let tree = &module.tree;
    // Most bases want nothing, and whose constructor it is takes a search.
    let named = super_of(tree, callee).filter(|_| !args.is_empty())?;
    let own = draft.function(draft.function_around(place.span)?);
    let class = own.class.filter(|_| own.name == "__init__")?;
    if named.is_some_and(|name| name != tree.class(class).name) {
        return None;
    }
    let base = only_base(script, class)?;
    let constructor = constructor_of(tree, base)?;
    let around = draft.statements_around(place.span);
    // Whoever tries it expects the error.
    if around.iter().any(|stmt| matches!(draft.statement(*stmt).kind, StmtKind::Try { .. })) {
        return None;
    }
    let (mut given, mut names) = (0, Vec::new());
    for arg in args {
        match arg.kind {
            ArgKind::Positional => given += 1,
            ArgKind::Keyword(name) => names.push(name),
            _ => return None,
        }
    }
    let params = constructor.params.get(1..)?;
    let unfit = unfit(params, given, &names)?;
    let plain = params.iter().filter(|param| !matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar));
    Some(Mismatch {
        function: Rc::from(format!("{}.__init__", tree.class(base).name)),
        unfit,
        takes: plain.map(|param| param.name).collect(),
        given: names,
        defined: Place::new(script.file, constructor.name_span),
    })
}

/// The class that `super` is told, if any, of `super().__init__` and `super(Net, self).__init__`.
fn super_of(tree: &Tree, callee: ExprId) -> Option<Option<Ustr>> {
    let ExprKind::Attribute { base, name, .. } = tree.expr(callee).kind else { return None };
    let ExprKind::Call { callee, args } = &tree.expr(base).kind else { return None };
    let is_super = matches!(tree.expr(*callee).kind, ExprKind::Name(called) if called == "super");
    match &**args {
        _ if !is_super || name != "__init__" => None,
        [] => Some(None),
        [class, _] => match tree.expr(class.value).kind {
            ExprKind::Name(class) => Some(Some(class)),
            _ => None,
        },
        _ => None,
    }
}

/// The only base of a class of the module that nothing here inherits from, so that `super` is that base.
fn only_base(script: &Script, class: ClassId) -> Option<ClassId> {
    let module = script.project.module(script.file);
    let tree = &module.tree;
    let (own, name) = (tree.class(class), |expr: ExprId| match tree.expr(expr).kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => Some(name),
        _ => None,
    });
    let inherits = |other: &Class| other.bases.iter().any(|base| name(base.value) == Some(own.name));
    let [only] = &*own.bases else { return None };
    let ExprKind::Name(base) = tree.expr(only.value).kind else { return None };
    let is_bound_once = |name: Ustr| {
        module.names.bindings.get(&name).is_some_and(|bound| bound.len() == 1)
            && !module.names.rebound.contains(&name)
    };
    let is_plain = only.kind == ArgKind::Positional && own.parent.is_none() && is_bound_once(base);
    if !is_plain || tree.classes.iter().any(inherits) {
        return None;
    }
    let is_base = |other: &Class| other.name == base && other.parent.is_none() && other.decorators.is_empty();
    let mut found = (0..).map(ClassId).zip(&tree.classes).filter(|(_, other)| is_base(other));
    found.next().map(|(id, _)| id).filter(|_| found.next().is_none())
}

/// The constructor that a class has itself, and nothing decorates.
fn constructor_of(tree: &Tree, class: ClassId) -> Option<&Function> {
    let is_own =
        |(_, function): &(FnId, &Function)| function.class == Some(class) && function.name == "__init__";
    let mut found = (0..).map(FnId).zip(&tree.functions).filter(is_own);
    let (_, constructor) = found.next().filter(|_| found.next().is_none())?;
    let is_replaced = !constructor.decorators.is_empty()
        || tree.functions.iter().any(|function| function.class == Some(class) && function.name == "__new__");
    Some(constructor).filter(|_| !is_replaced)
}
