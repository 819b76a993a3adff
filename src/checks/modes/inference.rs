//! Which forwards run a model that was trained elsewhere, in scripts that do not train it.

use super::evaluations::{is_beside_evaluated, is_opaque, is_unused, since, within_model};
use super::stretches::{is_dropped, is_only_measured};
use crate::facts::Script;
use crate::report::Confidence;
use crate::trace::{At, Effect, Forward, Sight, visits};
use crate::values::{ObjId, Source, Tensor};

/// How sure it is that a script runs a model that was trained elsewhere, and does not train it: nothing at all, or
/// something else, on what this one gives.
pub(super) fn infers(script: &Script, at: &At, forward: &Forward) -> Option<Confidence> {
    let trains = trains_at_all(script, at);
    // A teacher beside its student is judged by itself.
    let gives_features = forward.grad == Some(false)
        && !at.loops.is_empty()
        && !at.loops.iter().any(|id| script.trains_in(*id));
    // Numbers drawn for a generator may be meant to be normalised among themselves.
    // What one whole model gives goes into the next; parts of a model are judged with it.
    let follows =
        forward.grad == Some(false) && (is_opaque(script, forward.module) || is_beside_evaluated(script, at));
    let is_of_another =
        |input: &Tensor| input.is_leaf || input.source == Source::Constant || input.learned && !follows;
    let of_data = !forward.drawn && !forward.input.as_deref().is_some_and(is_of_another);
    let set_by_engine = || within_model(script, at).is_some_and(|within| within.by_engine);
    let sure =
        (forward.grad == Some(false) || is_unused(script, forward)) && of_data && (!trains || gives_features);
    if !sure || is_dropped(script, at) || is_only_measured(script, at) || set_by_engine() {
        return None;
    }
    // Between functions that nothing calls, anything may be done to the model: but by the script, nothing was.
    let since = since(script, at, forward.module)?;
    let chosen = since.in_parts && is_opaque(script, forward.module);
    let parted = since.parted && forward.in_training.is_some();
    let restored = since.restored || at.seeded.is_some() && is_left_as_restored(script, forward.module);
    (restored && !since.on_purpose && !parted && !chosen).then_some(Confidence::Medium)
}

/// Whether the script has loaded the weights of a model, and nothing in it chooses its mode.
fn is_left_as_restored(script: &Script, model: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let parts = heap.descendants(model);
    let is_own = |part: ObjId| parts.contains(part);
    let is_said = |effect: &Effect| match effect {
        Effect::Mode { module: Some(module), .. } => heap.descendants(*module).iter().any(is_own),
        Effect::Mode { module: None, .. } => true,
        _ => false,
    };
    let is_loaded =
        |effect: &Effect| matches!(effect, Effect::Restore { objects } if objects.iter().any(is_own));
    let entries = &script.rehearsal.entries;
    let mut by_script = entries.iter().filter(|entry| entry.function.is_none());
    by_script.any(|entry| !visits(&entry.nodes, is_loaded).is_empty())
        && entries.iter().all(|entry| visits(&entry.nodes, is_said).is_empty())
}

/// Whether a script trains anything. What its functions do that it calls itself is known: that it has others, which
/// train, as the hooks of an engine do, is none of its own training.
fn trains_at_all(script: &Script, at: &At) -> bool {
    if at.seeded.is_some() {
        let goes_back = |sight: &Sight| matches!(sight, Sight::Backward { .. });
        return script.is_stepped() || script.passes().any(|(_, sight)| goes_back(sight));
    }
    let trains = |effect: &Effect| {
        matches!(effect, Effect::Backward { .. } | Effect::Step { .. } | Effect::UnseenStep)
    };
    let mut own = script.rehearsal.entries.iter().filter(|entry| entry.function.is_none());
    own.any(|entry| !visits(&entry.nodes, trains).is_empty())
        || script.sightings().any(|(_, sight)| matches!(sight, Sight::Fit { .. }))
}
