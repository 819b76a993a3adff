//! A module whose constructor leaves out the constructor of the framework.

use super::construction::UnreadyModule;
use super::foreign_super::{ForeignSuper, SwappedSuper, UncalledSuper};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script, walked};
use crate::interp::{OWN_CLASS, python};
use crate::names::{Module, Target};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::syntax::{ArgKind, ExprId, ExprKind, FnId, FunctionBody, StmtId, StmtKind};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-super-init",
    summary: "a module is used before `super().__init__()` was called",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-super-init"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, module) in script.observed::<UnreadyModule>() {
        let class = &module.class;
        let (message, help) = match module.attribute {
            Some(name) => (
                format!("`self.{name}` is assigned before `{class}` calls `super().__init__()`"),
                "call `super().__init__()` first in `__init__`",
            ),
            None => (
                format!("`{class}` never calls `super().__init__()`"),
                "call `super().__init__()` in the first line of `__init__`",
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("until then parameters and submodules cannot be registered: assigning one raises an `AttributeError`")
            .help(help);
        let fix = constructed_first(script, at.place);
        let fix = fix.map(|edits| Fix::safe("call `super().__init__()` first", edits));
        out.push(finding.fix(fix), at);
    }
    for (at, foreign) in script.observed_once::<ForeignSuper>() {
        let (class, named) = (&foreign.class, &foreign.named);
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    at,
                    format!("`super({named}, self)` in `{class}`, which does not inherit from `{named}`"),
                )
                .note(
                    "Python raises `TypeError: super(type, obj): obj must be an instance or subtype of type`",
                )
                .help(format!("call `super()` without arguments, or name `{class}`")),
            at,
        );
    }
    swapped_supers(script, out);
    uncalled_supers(script, out);
    undefined_supers(script, out);
}

fn swapped_supers(script: &Script, out: &mut Findings) {
    for (at, swapped) in script.observed_once::<SwappedSuper>() {
        let SwappedSuper { instance, class } = swapped;
        let edits = vec![script.draft(at.place.file).replace(at.place.span, "super()")];
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("`super({instance}, {class})` has its arguments swapped"),
            )
            .note("Python raises `TypeError: super() argument 1 must be a type`")
            .help("call `super()` without arguments")
            .fix(Some(Fix::safe("call `super()` without arguments", edits)));
        out.push(finding, at);
    }
}

/// `super.__init__()`. That a module is not ready after it has been said before.
fn uncalled_supers(script: &Script, out: &mut Findings) {
    for (at, uncalled) in script.observed_once::<UncalledSuper>() {
        let class = &uncalled.class;
        let mut unready = script.observed::<UnreadyModule>();
        if unready.any(|(place, module)| place.place.file == at.place.file && module.class == *class) {
            continue;
        }
        let message = format!("`super.__init__()` in `{class}` lacks the parentheses after `super`");
        let insert = script.draft(at.place.file).insert(uncalled.end, "()");
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, message)
                .note("Python raises `TypeError: descriptor '__init__' requires a 'super' object`")
                .help("call `super().__init__()`")
                .fix(Some(Fix::safe("call `super`", vec![insert]))),
            at,
        );
    }
}

/// `super(OldName, self)` where nothing is called so: the class has another name by now.
fn undefined_supers(script: &Script, out: &mut Findings) {
    let Module { tree, names, .. } = script.project.module(script.file);
    if !names.stars.is_empty() {
        return;
    }
    let bound = |name: Ustr, function: FnId| {
        names.bindings.contains_key(&name)
            || names.owner(tree, Some(function), name).is_some()
            || names.class_locals.iter().any(|locals| locals.contains(name))
            || python::is_known_name(name)
            || name == OWN_CLASS
    };
    let draft = script.draft(script.file);
    for expr in &tree.exprs {
        let ExprKind::Call { callee, args } = &expr.kind else { continue };
        let [named, _] = &**args else { continue };
        let (ExprKind::Name(called), ExprKind::Name(name)) =
            (&tree.expr(*callee).kind, &tree.expr(named.value).kind)
        else {
            continue;
        };
        let Some(function) = draft.function_around(expr.span).filter(|_| *called == "super") else {
            continue;
        };
        if bound(*name, function) || tree.function(function).class.is_none() {
            continue;
        }
        let place = Place::new(script.file, tree.expr(named.value).span);
        let at = walked(None, place, &[], &[], Confidence::High);
        let message = format!("`super({name}, self)`: no class is called `{name}` here");
        out.push(
            script
                .finding(RULE.id, RULE.severity, &at, message)
                .note(format!("Python raises `NameError: name '{name}' is not defined`"))
                .help("call `super().__init__()`, which needs no name"),
            &at,
        );
    }
}

/// A call of the framework's constructor as the first statement of a class's own.
fn constructed_first(script: &Script, place: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let function = draft.function(draft.function_around(place.span)?);
    let class = function.class.filter(|_| function.name == "__init__")?;
    let [base] = draft.bases(class) else { return None };
    if base.kind != ArgKind::Positional || !is_of_a_package(script, place, draft, base.value) {
        return None;
    }
    let FunctionBody::Block(body) = &function.body else { return None };
    let is_docstring = |stmt: &StmtId| match draft.statement(*stmt).kind {
        StmtKind::Expr(expr) => matches!(draft.expr(expr).kind, ExprKind::Str(_)),
        _ => false,
    };
    let first = body.iter().find(|stmt| !is_docstring(stmt))?;
    let first = draft.line(*first)?;
    match body.iter().find(|stmt| calls_super(draft, **stmt)) {
        Some(own) => match bound(draft, *own) {
            Some(edit) => Some(vec![edit]),
            None => draft.move_before(draft.line(*own)?, first),
        },
        None if constructs_base(draft, function.span) => None,
        None => Some(vec![draft.insert_before(first, "super().__init__()")]),
    }
}

/// Whether a base class is a package's, whose constructor wants nothing.
fn is_of_a_package(script: &Script, place: Place, draft: Draft<'_>, base: ExprId) -> bool {
    /// Classes that are there to be derived from, as the frameworks call them.
    const PLAIN: [&str; 4] = ["Layer", "LightningModule", "Model", "Module"];
    let Some(path) = draft.qualified(base) else { return false };
    let (top, last) = (path.split('.').next().unwrap_or_default(), path.rsplit('.').next());
    last.is_some_and(|last| PLAIN.contains(&last))
        && script.project.resolve(place.file, 0, Some(Ustr::from(top))) == Target::Outside
}

/// `super(Net).__init__()` is bound to no instance: without the class it is.
fn bound(draft: Draft<'_>, stmt: StmtId) -> Option<Edit> {
    let StmtKind::Expr(expr) = draft.statement(stmt).kind else { return None };
    let (receiver, _) = draft.receiver(draft.call(expr)?)?;
    let unbound = draft.call(receiver)?;
    let [class] = unbound.args else { return None };
    Some(draft.replace(class.span, ""))
}

/// A statement that calls the constructor of the base class, with nothing that is computed before it.
fn calls_super(draft: Draft<'_>, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = draft.statement(stmt).kind else { return false };
    let Some(call) = draft.call(expr).filter(|call| call.args.is_empty()) else { return false };
    let Some((receiver, "__init__")) = draft.receiver(call) else { return false };
    draft.written(receiver).starts_with("super(")
}

/// Whether anything in a stretch is a constructor's name: the base class may be constructed in another way.
fn constructs_base(draft: Draft<'_>, span: Span) -> bool {
    draft.exprs_within(span).any(|expr| match &expr.kind {
        ExprKind::Attribute { name, .. } => name == "__init__",
        ExprKind::Name(name) => name == "super",
        _ => false,
    })
}
