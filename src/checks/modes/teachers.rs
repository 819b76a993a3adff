//! Networks that were trained elsewhere, and that a training runs beside what it trains: a teacher, an encoder of the
//! conditions. Their dropout and batch norm are meant to be off.

use super::evaluations::{is_copy, since};
use crate::apis::{Role, Verb};
use crate::facts::Script;
use crate::report::{Confidence, Place};
use crate::syntax::ExprKind;
use crate::trace::{At, Effect, Forward, visits};
use crate::values::{COPIED, Learned, Mode, ObjId, ObjSet};
use ustr::Ustr;

/// What the optimizers of a script have, with all that is inside; `None` where that is not known, or nothing steps.
pub(super) fn given_to_optimizers(script: &Script) -> Option<ObjSet> {
    let heap = &script.rehearsal.heap;
    let is_unseen = |effect: &Effect| matches!(effect, Effect::UnseenStep);
    let steps_unseen =
        script.rehearsal.entries.iter().any(|entry| !visits(&entry.nodes, is_unseen).is_empty());
    if steps_unseen || !script.is_stepped() {
        return None;
    }
    let mut given = ObjSet::default();
    for optimizer in heap.optimizers() {
        let state = heap.get(optimizer).optimizer()?;
        if state.others || state.managed || state.owns.is_empty() {
            return None;
        }
        for owner in state.owns.iter() {
            given = given.union(&heap.descendants(owner));
        }
    }
    Some(given)
}

/// Whether a model whose weights were loaded runs in training mode in a loop that trains others only.
pub(super) fn is_teacher(script: &Script, at: &At, forward: &Forward, given: &ObjSet) -> Option<Confidence> {
    let heap = &script.rehearsal.heap;
    let runs_as_trained =
        forward.in_training.is_some() && forward.ran_in_training && forward.mode == Mode::Train;
    if !runs_as_trained || !at.loops.iter().any(|id| script.trains_in(*id)) {
        return None;
    }
    let parts = heap.descendants(forward.module);
    let learns = |part: &ObjId| {
        heap.get(*part)
            .module()
            .is_some_and(|inner| !matches!(inner.weights, Learned::Nothing | Learned::Opaque))
    };
    let is_copied = |part: ObjId| heap.noted(part, COPIED).is_some();
    let by_others = parts.iter().any(|part| given.contains(part) || is_copied(part));
    if by_others || !parts.iter().any(|part| learns(&part)) {
        return None;
    }
    let since = since(script, at, forward.module)?;
    // Who puts it into training mode means it.
    let is_left = since.put.is_none() && !since.parted;
    (is_left && is_loaded_from_a_file(script, &parts)).then_some(Confidence::Medium)
}

/// Whether the weights of a module were loaded as a whole, and never copied from another: a target network is.
fn is_loaded_from_a_file(script: &Script, parts: &ObjSet) -> bool {
    let is_own = |effect: &Effect| matches!(effect, Effect::Restore { objects } if objects.iter().any(|object| parts.contains(object)));
    let loads = |place: Place| {
        let draft = script.draft(place.file);
        let callee = draft.call_at(place.span).map(|call| &draft.expr(call.callee).kind);
        let of_modules =
            |name: Ustr| script.apis.method_of(Role::Module, name).is_some_and(|api| api.does(Verb::Restore));
        matches!(callee, Some(ExprKind::Attribute { name, .. }) if of_modules(*name))
            && !is_copy(script, place)
    };
    let entries = script.rehearsal.entries.iter();
    let mut restored = entries.flat_map(|entry| visits(&entry.nodes, is_own)).peekable();
    restored.peek().is_some() && restored.all(|visit| loads(visit.event.place))
}
