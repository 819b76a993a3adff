//! Methods under a name that is nearly the one by which a framework calls them: it calls what the class inherits, or
//! nothing.

use crate::apis::Role;
use crate::checks::Rule;
use crate::facts::{Findings, Script};
use crate::interp::{Base, Checker, Interp, LayerCall};
use crate::report::{Confidence, Place};
use crate::syntax::{ArgKind, ClassId, ExprKind, Function};
use crate::trace::At;
use crate::values::{ClassRef, ObjId, State};
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_layer: Some(called), ..Checker::SILENT };

/// Further apart than this is another word.
const NEAR: usize = 2;
/// Of shorter names others are near that mean something else: `test_step` and `best_step`.
const LONG: usize = 10;
/// What a call of a module runs.
const FORWARD: &str = "forward";

/// A module is called that has no `forward`, but a method that is nearly called so.
struct Unanswered {
    method: Ustr,
    class: Ustr,
    called: Place,
}

fn called(cx: &mut Interp<'_>, made: &LayerCall<'_>) {
    let Some((file, method)) = misspelt_forward(cx, made.layer) else { return };
    let ClassRef::Project(class) = cx.heap.get(made.layer).class else { return };
    let State::Class(state) = &cx.heap.get(class).state else { return };
    let class = cx.tree(state.file).class(state.class).name;
    let at = cx.at(Place::new(file, method.name_span), cx.heap.get(made.layer).confidence);
    cx.observe_at_for_good(at, Unanswered { method: method.name, class, called: made.call.place });
}

/// The method that is meant to be the `forward` of a module whose classes are all seen, and have none.
fn misspelt_forward<'p>(cx: &Interp<'p>, module: ObjId) -> Option<(crate::report::FileId, &'p Function)> {
    let object = cx.heap.get(module);
    if object.attr(Ustr::from(FORWARD)).is_some() {
        return None;
    }
    let (bare, lineage) = (cx.apis.class_of(Role::Module)?, cx.lineage(object.class));
    let mut near = None;
    for base in lineage {
        let class = match base {
            Base::Project(class) => class,
            Base::Api(name) if cx.apis.class(name).is_some_and(|api| api.name == bare) => continue,
            _ => return None,
        };
        let State::Class(state) = &cx.heap.get(class).state else { return None };
        let is_set = |name: &str| cx.heap.attr(class, Ustr::from(name)).is_some();
        if is_set(FORWARD) || is_set("__call__") || is_set("__getattr__") {
            return None;
        }
        let mut own = cx.tree(state.file).functions.iter().filter(|other| other.class == Some(state.class));
        near = near.or(own.find(|other| is_near(&other.name, FORWARD)).map(|method| (state.file, method)));
    }
    near
}

fn is_near(name: &str, meant: &str) -> bool {
    name != meant && strsim::damerau_levenshtein(name, meant) <= NEAR
}

pub(super) fn check(script: &Script, rule: &Rule, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Unanswered>() {
        let Unanswered { method, class, called } = seen;
        let message =
            format!("`{method}` is never called: calling `{class}` runs `{FORWARD}`, which is missing");
        let mut finding = script
            .finding(rule.id, rule.severity, at, message)
            .note("PyTorch raises a `NotImplementedError` at the first call")
            .help(format!("rename it: `def {FORWARD}`"));
        if let Some(place) = at.beside(Some(*called)) {
            finding = finding.because(place, "called here");
        }
        out.push(finding, at);
    }
    check_hooks(script, rule, out);
}

/// Methods that a framework would call by the name that is meant, and that nothing else calls.
fn check_hooks(script: &Script, rule: &Rule, out: &mut Findings) {
    let functions = &script.project.module(script.file).tree.functions;
    for function in functions.iter().filter(|function| function.name.len() >= LONG) {
        let Some((framework, meant)) = meant_hook(script, function) else { continue };
        let has = |other: &Function| other.class == function.class && other.name == meant;
        if functions.iter().any(has) || is_mentioned(script, function.name) {
            continue;
        }
        let at = At::of_text(Place::new(script.file, function.name_span), Confidence::High);
        let message = format!("`{}` is never called: `{framework}` calls `{meant}`", function.name);
        let finding = script
            .finding(rule.id, rule.severity, &at, message)
            .note("the framework looks for its hooks by their names, and has none of this one")
            .help(format!("rename it: `def {meant}`"));
        out.push(finding, &at);
    }
}

/// The package whose class calls a method of nearly this name, if the class inherits from frameworks only.
fn meant_hook(script: &Script, function: &Function) -> Option<(String, Ustr)> {
    let bases = bases_of(script, function.class?)?;
    let is_known = |base: &String| script.apis.method(Ustr::from(base), function.name).is_some();
    if bases.iter().any(is_known) || !function.decorators.is_empty() {
        return None;
    }
    bases.iter().find_map(|base| {
        let hooks = script.apis.hooks(Ustr::from(base));
        if hooks.contains(&function.name) {
            return None;
        }
        let is_meant = |hook: &Ustr| is_near(&function.name, hook) && !function.name.contains(hook.as_str());
        let meant = hooks.into_iter().find(is_meant)?;
        Some((base.split('.').next()?.to_owned(), meant))
    })
}

/// The bases of a class by their full names, if all are known.
fn bases_of(script: &Script, class: ClassId) -> Option<Vec<String>> {
    let draft = script.draft(script.file);
    let named = draft.bases(class).iter().filter(|base| base.kind == ArgKind::Positional);
    named.map(|base| draft.qualified(base.value)).collect()
}

/// Whether any file that was read asks an object for an attribute of this name, or says the name.
fn is_mentioned(script: &Script, name: Ustr) -> bool {
    script.rehearsal.read.iter().any(|file| {
        let tree = &script.project.module(*file).tree;
        tree.exprs.iter().any(|expr| match &expr.kind {
            ExprKind::Attribute { name: other, .. } | ExprKind::Name(other) => *other == name,
            ExprKind::Str(text) => text.contains(name.as_str()),
            _ => false,
        })
    })
}
