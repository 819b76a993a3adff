//! Models that took the place of the one that their optimizer has.

use super::owns_known;
use crate::apis::Role;
use crate::facts::{Script, walked};
use crate::report::Place;
use crate::trace::{At, Effect, EntryPoint, Visit, visits};
use crate::values::{ClassRef, ObjId, ObjSet, State};

/// A step of an optimizer whose model is no longer the one that is trained.
pub(in crate::checks) struct Abandoned {
    pub(super) at: At,
    pub(in crate::checks) optimizer: ObjId,
    pub(super) gathered: Option<Place>,
    /// Where the model was made that is trained instead.
    pub(super) other: Place,
}

pub(in crate::checks) fn abandoned_models(script: &Script) -> Vec<Abandoned> {
    let mut found: Vec<Abandoned> = Vec::new();
    for entry in &script.rehearsal.entries {
        let acts = visits(&entry.nodes, |effect| {
            matches!(
                effect,
                Effect::Gather { .. }
                    | Effect::Backward { .. }
                    | Effect::Step { .. }
                    | Effect::Touch { .. }
                    | Effect::Forward { .. }
            )
        });
        for act in &acts {
            let Effect::Step { optimizer, .. } = act.event.effect else { continue };
            let Some(other) = trained_instead(script, optimizer, act, &acts) else { continue };
            if found.iter().any(|known| known.at.place == act.event.place) {
                continue;
            }
            found.push(Abandoned {
                at: at(entry, act),
                optimizer,
                gathered: gathering(optimizer, &acts).map(|gather| gather.event.place),
                other: script.rehearsal.heap.get(other).site,
            });
        }
    }
    found
}

/// The model that the backward passes around a step reach, where none of them reaches what the step
/// applies, and it is of the same class.
fn trained_instead(script: &Script, optimizer: ObjId, step: &Visit, acts: &[Visit]) -> Option<ObjId> {
    let heap = &script.rehearsal.heap;
    let state = heap.get(optimizer).optimizer().filter(|state| owns_known(state))?;
    let round = step.innermost()?;
    let inside = |objects: &ObjSet| {
        objects.iter().fold(objects.clone(), |all, object| all.union(&heap.descendants(object)))
    };
    let owned = inside(&state.owns);
    let around = |act: &Visit| act.loops.iter().any(|id| step.loops.contains(id));
    let mut reached = ObjSet::default();
    for act in acts {
        match &act.event.effect {
            // What it gave in an outer loop may be in the loss of an inner one.
            Effect::Forward { module, .. } if owned.contains(*module) && around(act) => return None,
            // What reaches it anywhere shows that it is trained after all.
            Effect::Backward { leaves, .. } => {
                if inside(leaves).iter().any(|leaf| owned.contains(leaf)) && act.loops.contains(&round) {
                    return None;
                }
                if act.innermost() == Some(round) {
                    reached = reached.union(leaves);
                }
            }
            Effect::Touch { objects, .. } if objects.contains(optimizer) => return None,
            _ => {}
        }
    }
    let gather = gathering(optimizer, acts)?;
    let owned_elsewhere = |object: ObjId| {
        acts.iter().any(|act| match &act.event.effect {
            Effect::Gather { optimizer: other, parts, .. } => *other != optimizer && parts.contains(object),
            _ => false,
        })
    };
    let class_of_models = script.apis.class_of(Role::Module);
    let twin = |object: &ObjId| {
        let like = |owner: ObjId| heap.get(owner).class == heap.get(*object).class;
        // What stands in for a model that nobody sees may be the one that the optimizer has.
        let stands_in = class_of_models.is_some_and(|class| heap.get(*object).class == ClassRef::Api(class));
        heap.get(*object).module().is_some()
            && !stands_in
            && state.owns.iter().any(like)
            && heap.get(*object).site != gather.event.place
            && !is_made_by_its_class(script, *object)
            && !owned_elsewhere(*object)
    };
    reached.iter().find(twin)
}

/// Whether a method of a class makes the instance, as `clone` does of what it has: the parameters may be computed of
/// those that the optimizer holds.
fn is_made_by_its_class(script: &Script, object: ObjId) -> bool {
    let here = script.rehearsal.heap.get(object);
    let ClassRef::Project(class) = here.class else { return false };
    let State::Class(state) = &script.rehearsal.heap.get(class).state else { return false };
    let written = script.project.module(state.file).tree.class(state.class).span;
    here.site.file == state.file && written.contains(here.site.span)
}

/// Where an optimizer gathered what it owns, last of all.
fn gathering<'v, 't>(optimizer: ObjId, acts: &'v [Visit<'t>]) -> Option<&'v Visit<'t>> {
    acts.iter().rfind(
        |act| matches!(&act.event.effect, Effect::Gather { optimizer: other, .. } if *other == optimizer),
    )
}

fn at(entry: &EntryPoint, visit: &Visit) -> At {
    walked(entry.function, visit.event.place, &visit.loops, &visit.calls, visit.event.confidence)
}
