//! Evaluation with layers that still behave as in training.

use super::evaluations::{evaluation, is_as_built};
use super::scores::RanByMethod;
use super::stretches::{called_model, evaluating_stretch};
use super::teachers::{given_to_optimizers, is_teacher};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::{Draft, Line};
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Place, Severity, replay};
use crate::syntax::{ExprId, ExprKind, StmtKind};
use crate::trace::{At, Effect, LoopId, Sight, visits};
use crate::values::{ClassRef, Learned, Mode, ObjId, State};
use rustc_hash::FxHashSet;
use std::cell::LazyCell;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "missing-eval-mode",
    summary: "a model is evaluated in training mode, without `model.eval()`",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("missing-eval-mode"),
    check,
};

/// An evaluation in training mode.
struct EvaluatedInTraining {
    at: At,
    /// The forward runs in a method of the model, and this is where that method is called.
    by_method: bool,
    module: ObjId,
    /// A layer that does something else in training.
    layer: Rc<str>,
    layer_is_model: bool,
    /// It was in evaluation mode, which its own forward undoes.
    leaves_eval: bool,
    /// What runs, where it has nothing to learn: a criterion.
    criterion: Option<Rc<str>>,
    /// It was trained elsewhere, and runs beside what is trained here.
    teaches: bool,
    modes: replay::Modes,
}

fn check(script: &Script, out: &mut Findings) {
    for forward in evaluated_in_training(script) {
        let note = match forward.layer_is_model {
            true => "nobody sets its mode: dropout and batch norm, if it has them, behave as in training"
                .to_owned(),
            false => format!(
                "its `{}` behaves as in training: outputs are noisy or depend on the batch",
                forward.layer
            ),
        };
        let (message, help) = wording(script, &forward);
        let fix = in_eval_mode(script, &forward).filter(|_| !forward.leaves_eval && !forward.teaches);
        let fix = fix.map(|(model, edits)| Fix::guess(format!("call `{model}.eval()` before it"), edits));
        out.push(
            script
                .finding(RULE.id, RULE.severity, &forward.at, message)
                .note(note)
                .fix(fix)
                .replay(script.replay_of_mode(forward.modes))
                .help(help),
            &forward.at,
        );
    }
}

/// What is wrong, and what to do.
fn wording(script: &Script, forward: &EvaluatedInTraining) -> (String, &'static str) {
    if forward.teaches {
        let name = script.name_or(forward.module, "model");
        let message = format!("`{name}` is in training mode, though no optimizer trains it");
        return (message, "call `.eval()` on it once, after its weights are loaded");
    }
    let runs = forward.criterion.as_ref().map_or("the model".to_owned(), |name| format!("`{name}`"));
    let (does, help) = match forward.leaves_eval {
        true => ("puts itself into training mode", "leave the mode to the callers of `forward`"),
        false => (
            "is still in training mode",
            "call `model.eval()` before evaluating, and `model.train()` before training continues",
        ),
    };
    (format!("{runs} {does} while it is evaluated"), help)
}

/// Evaluations of a model that the script trains, or has loaded as it was trained, with layers that still behave as in training.
fn evaluated_in_training(script: &Script) -> Vec<EvaluatedInTraining> {
    let mut found: Vec<EvaluatedInTraining> = Vec::new();
    let mut seen = FxHashSet::default();
    let given = LazyCell::new(|| given_to_optimizers(script));
    for (at, sight) in script.sightings() {
        let Sight::Forward(forward) = sight else { continue };
        let layer = match &forward.in_training {
            Some(layer)
                if forward.ran_in_training && (forward.mode == Mode::Train || forward.leaves_eval) =>
            {
                layer.clone()
            }
            None if is_as_built(script, forward) => forward.name.clone(),
            _ => continue,
        };
        let evaluates = evaluation(script, at, forward);
        let teaches = || is_teacher(script, at, forward, given.as_ref()?);
        let Some(confidence) = evaluates.or_else(teaches) else { continue };
        let inside = at;
        let at = &outside_of_model(script, at, forward.module);
        // One call of `eval` helps all forwards of a function.
        let known = found.iter().any(|other| other.at.calls == at.calls && other.at.loops == at.loops);
        if known || !seen.insert(at.place) {
            continue;
        }
        let opaque = script.rehearsal.heap.get(forward.module).module();
        found.push(EvaluatedInTraining {
            by_method: at.place != inside.place
                || script.observed::<RanByMethod>().any(|(other, _)| other.place == inside.place),
            at: At { confidence: at.confidence.min(confidence), ..at.clone() },
            layer,
            module: forward.module,
            teaches: evaluates.is_none(),
            criterion: is_criterion(script, forward.module).then(|| forward.name.clone()),
            leaves_eval: forward.leaves_eval,
            layer_is_model: opaque.is_some_and(|module| module.weights == Learned::Opaque),
            modes: replay::Modes { evaluated_in_training: true, ..script.dropping() },
        });
    }
    found
}

/// Where a method of the model was called that runs its forward: `model.predict(x)`.
fn outside_of_model(script: &Script, at: &At, model: ObjId) -> At {
    let heap = &script.rehearsal.heap;
    let ClassRef::Project(class) = heap.get(model).class else { return at.clone() };
    let State::Class(own) = &heap.get(class).state else { return at.clone() };
    let mut at = at.clone();
    while let [before @ .., (site, _)] = &*at.calls.clone() {
        let tree = &script.project.module(at.place.file).tree;
        let around = script.draft(at.place.file).function_around(at.place.span);
        let is_own = around.is_some_and(|function| tree.function(function).class == Some(own.class));
        if at.place.file != own.file || !is_own {
            break;
        }
        at.place = *site;
        at.calls = Rc::from(before);
    }
    at
}

fn is_criterion(script: &Script, module: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let learns = |part: ObjId| heap.get(part).module().is_some_and(|it| it.weights != Learned::Nothing);
    !heap.descendants(module).iter().any(learns)
}

/// A call of `eval` in front of an evaluation, and of `train` behind it where training goes on and nothing
/// else says so; what it is called on.
fn in_eval_mode<'a>(script: &Script<'a>, evaluated: &EvaluatedInTraining) -> Option<(&'a str, Vec<Edit>)> {
    let place = evaluated.at.place;
    let draft = script.draft(place.file);
    let callee = match evaluated.by_method {
        true => receiver(draft, place)?,
        false => called_model(draft, place)?,
    };
    let model = draft.plain(callee)?;
    let line = evaluating_stretch(script, &evaluated.at, place, draft)?;
    let line = with_contexts(draft, line);
    let root = draft.root(callee)?;
    if draft.binds(draft.statement(line.stmt).span, root) {
        return None;
    }
    let mut edits = vec![draft.insert_before(line, &format!("{model}.eval()"))];
    if needs_training_mode(script, &evaluated.at) {
        edits.push(draft.insert_after(line, &format!("{model}.train()")));
    }
    Some((model, edits))
}

/// `model`, of `model.predict(x)`.
fn receiver(draft: Draft<'_>, call: Place) -> Option<ExprId> {
    match draft.expr(draft.call_at(call.span)?.callee).kind {
        ExprKind::Attribute { base, .. } => Some(base),
        _ => None,
    }
}

/// Whether a loop around an evaluation trains, and does not put the model into training mode itself.
fn needs_training_mode(script: &Script, at: &At) -> bool {
    let trains = |effect: &Effect| matches!(effect, Effect::Mode { mode: Mode::Train, .. });
    let put = |id: &LoopId| {
        let mut modes = script.rehearsal.entries.iter().flat_map(|entry| visits(&entry.nodes, trains));
        modes.any(|visit| visit.loops.contains(id))
    };
    at.loops.iter().any(|id| script.trains_in(*id)) && !at.loops.iter().any(put)
}

/// A statement with the contexts that it is all there is in.
fn with_contexts<'a>(draft: Draft<'a>, line: Line<'a>) -> Line<'a> {
    let around = draft.statements_around(draft.statement(line.stmt).span);
    let inner = around.iter().rev().skip(1).map_while(|stmt| match &draft.statement(*stmt).kind {
        StmtKind::With { .. } => draft.line(*stmt),
        _ => None,
    });
    inner.last().unwrap_or(line)
}
