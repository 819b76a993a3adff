//! Methods that a framework calls without arguments, and that ask for some.

use super::mismatched_arguments::RAISES;
use crate::checks::Rule;
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Place};
use crate::syntax::{ArgKind, ClassId, Function, Param, ParamKind};
use crate::trace::At;
use ustr::Ustr;

/// Older releases handed outputs to a hook that asked for them.
const NO_OUTPUTS: (u64, u64) = (1, 5);

pub(super) fn unfit_hooks(script: &Script, rule: &Rule, out: &mut Findings) {
    let draft = script.draft(script.file);
    let functions = &script.project.module(script.file).tree.functions;
    // Where all ask for something, the script itself calls them.
    let is_left_to_framework = |class: Option<ClassId>| {
        let beside = functions.iter().filter(|other| other.class == class && asked(other).is_none());
        beside.into_iter().any(|other| framework_of(script, draft, other).is_some())
    };
    for function in functions {
        let Some((framework, asked)) = framework_of(script, draft, function).zip(asked(function)) else {
            continue;
        };
        if !is_left_to_framework(function.class) {
            continue;
        }
        let at = At::of_text(Place::new(script.file, asked.span), Confidence::High);
        let (hook, name) = (function.name, asked.name);
        let message = format!("`{framework}` calls `{hook}` without arguments, and it asks for `{name}`");
        let finding = script
            .finding(rule.id, rule.severity, &at, message)
            .note(RAISES)
            .help("keep what the hook needs in `self` while the steps run");
        out.push(finding, &at);
    }
}

/// The package whose class calls a method of its subclasses without arguments.
fn framework_of(script: &Script, draft: Draft<'_>, function: &Function) -> Option<String> {
    let bases = draft.bases(function.class?);
    let named = bases.iter().filter(|base| base.kind == ArgKind::Positional);
    let calls = |base: &String| script.apis.calls_bare(Ustr::from(base), function.name);
    let base = named.filter_map(|base| draft.qualified(base.value)).find(calls)?;
    let top = base.split('.').next()?;
    script.pins.allow_since(&top.replace('_', "-"), NO_OUTPUTS).then(|| top.to_owned())
}

/// A parameter beside the instance that has to be given.
fn asked(function: &Function) -> Option<&Param> {
    let is_asked = |param: &&Param| {
        param.default.is_none() && !matches!(param.kind, ParamKind::Star | ParamKind::DoubleStar)
    };
    function.params.get(1..)?.iter().find(is_asked).filter(|_| function.decorators.is_empty())
}
