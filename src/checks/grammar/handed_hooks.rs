//! Methods of a subclass to which a framework hands more than it did when they were written:
//! `Trainer.compute_loss(model, inputs, num_items_in_batch=…)` since transformers 4.46.

use super::mismatched_arguments::RAISES;
use crate::apis::Handed;
use crate::checks::Rule;
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::syntax::{ArgKind, Function, Param, ParamKind};
use crate::trace::At;
use ustr::Ustr;

/// A subclass that overrides one of these goes through its batches by itself, and calls its hooks as it likes.
const LOOPS: [&str; 3] = ["_inner_training_loop", "inner_training_loop", "train"];

/// What calls a hook in the place of a loop.
const CALLERS: [(&str, &str); 1] = [("compute_loss", "training_step")];

pub(super) fn outgrown_hooks(script: &Script, rule: &Rule, out: &mut Findings) {
    let draft = script.draft(script.file);
    for function in &script.project.module(script.file).tree.functions {
        let Some((framework, handed)) = handed_by(script, draft, function) else { continue };
        let Some(missing) = missing(function, handed) else { continue };
        let (major, minor) = handed.since;
        if !script.pins.allow_since(&framework, handed.since) || is_called_by_itself(script, function) {
            continue;
        }
        let at = At::of_text(Place::new(script.file, function.name_span), Confidence::High);
        // Where nothing is required, an older release may be what is installed.
        let needs = script.pins.need_since(&framework, handed.since);
        let severity = if needs { rule.severity } else { Severity::Warning };
        let hook = function.name;
        let message = format!("`{framework}` hands `{missing}` to `{hook}`, which does not take it");
        let fix = taken(draft, function, missing)
            .map(|edit| Fix::safe(format!("take `{missing}=None`"), vec![edit]));
        let finding = script
            .finding(rule.id, severity, &at, message)
            .note(format!("it does so since {framework} {major}.{minor}"))
            .note(RAISES)
            .help(format!("add the parameter `{missing}=None`"))
            .fix(fix);
        out.push(finding, &at);
    }
}

/// How the framework of a base class calls a method, and its package.
fn handed_by<'a>(script: &Script<'a>, draft: Draft<'a>, function: &Function) -> Option<(String, &'a Handed)> {
    let named = draft.bases(function.class?).iter().filter(|base| base.kind == ArgKind::Positional);
    let mut bases = named.filter_map(|base| draft.qualified(base.value));
    bases.find_map(|base| {
        let handed = script.apis.handed(Ustr::from(&base), function.name)?;
        Some((base.split('.').next()?.replace('_', "-"), handed))
    })
}

/// What is handed to a method that takes no such argument.
fn missing(function: &Function, handed: &Handed) -> Option<Ustr> {
    if !function.decorators.is_empty() {
        return None;
    }
    let has = |kind: ParamKind| function.params.iter().any(|param| param.kind == kind);
    let by_position = |param: &&Param| !matches!(param.kind, ParamKind::DoubleStar | ParamKind::KeywordOnly);
    let places = function.params.iter().skip(1).filter(by_position).count();
    let too_many = handed.positional.get(places).filter(|_| !has(ParamKind::Star));
    let takes = |name: &&Ustr| function.params.iter().any(|param| param.name == **name);
    let unknown = || handed.named.iter().find(|name| !takes(name)).filter(|_| !has(ParamKind::DoubleStar));
    too_many.or_else(unknown).copied()
}

/// Whether the class of a method has a loop of its own that calls it.
fn is_called_by_itself(script: &Script, function: &Function) -> bool {
    let tree = &script.project.module(script.file).tree;
    let calls = |other: &str| {
        LOOPS.contains(&other)
            || CALLERS.iter().any(|(hook, caller)| function.name == *hook && *caller == other)
    };
    tree.functions.iter().any(|other| other.class == function.class && calls(&other.name))
}

/// The parameter behind the last one that is there, before `**kwargs`.
fn taken(draft: Draft<'_>, function: &Function, missing: Ustr) -> Option<Edit> {
    let last = function.params.iter().rfind(|param| param.kind != ParamKind::DoubleStar)?;
    let end = last.default.or(last.annotation).map_or(last.span.end, |expr| draft.expr(expr).span.end);
    Some(draft.insert(end, format!(", {missing}=None")))
}
