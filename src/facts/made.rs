//! What is made anew in each iteration of a loop.

use super::{Places, Script};
use crate::report::Place;
use crate::syntax::StmtKind;
use crate::trace::{At, Effect, LoopId, Over, Visit, visits};
use crate::values::{ObjId, ObjSet};
use std::rc::Rc;

pub struct RebuiltOptimizer {
    pub at: At,
    pub class: Rc<str>,
    pub step: Place,
    /// Where the model was made that it is built for.
    pub model: Place,
    /// It steps in each batch of a loader that is older than it, which makes each iteration an epoch.
    pub each_epoch: bool,
}

impl Script<'_> {
    pub fn rebuilt_optimizers(&self) -> Vec<RebuiltOptimizer> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for entry in &self.rehearsal.entries {
            let all = visits(&entry.nodes, |effect| {
                matches!(
                    effect,
                    Effect::Gather { .. }
                        | Effect::Step { .. }
                        | Effect::Made { .. }
                        | Effect::Redraw { .. }
                        | Effect::Restore { .. }
                        | Effect::Touch { .. }
                )
            });
            for (index, visit) in all.iter().enumerate() {
                let Effect::Gather { optimizer, parts, remembers: true } = &visit.event.effect else {
                    continue;
                };
                let Some(round) = visit.innermost().filter(|_| visit.always) else { continue };
                let Some(model) = self.older_model(*optimizer, round) else { continue };
                let single = only_step(*optimizer, round, &all).map(|step| (step, false));
                let step = single.or_else(|| Some((self.step_of_epochs(*optimizer, round, &all)?, true)));
                let Some((step, each_epoch)) = step else { continue };
                if is_renewed(parts, round, index, &all) || !seen.insert(visit.event.place) {
                    continue;
                }
                found.push(RebuiltOptimizer {
                    at: visit.at(entry.function),
                    class: self.class_of(*optimizer),
                    step,
                    model,
                    each_epoch,
                });
            }
        }
        found
    }

    /// Where the model of an optimizer was made, when all it owns is older than a loop.
    fn older_model(&self, optimizer: ObjId, round: LoopId) -> Option<Place> {
        let heap = &self.rehearsal.heap;
        let state = heap.get(optimizer).optimizer()?;
        let first = self.rehearsal.loop_info(round).first;
        let older = |owner: ObjId| heap.get(owner).epoch < first;
        let known = !state.others && !state.managed && state.owns.iter().all(older);
        state.owns.iter().next().filter(|_| known).map(|owner| heap.get(owner).site)
    }

    /// The only step of an optimizer that lives for an epoch: in each batch of a loader that all epochs go through. Tasks,
    /// folds and stages have data of their own, or several epochs each.
    fn step_of_epochs(&self, optimizer: ObjId, round: LoopId, all: &[Visit]) -> Option<Place> {
        let own = |visit: &&Visit| match visit.event.effect {
            Effect::Step { optimizer: other, .. } => other == optimizer && visit.loops.contains(&round),
            _ => false,
        };
        let mut steps = all.iter().filter(own);
        let step = steps.next().filter(|step| step.always)?;
        let [.., outer, batches] = *step.loops else { return None };
        let epochs = self.rehearsal.loop_info(round);
        let is_shared = match self.rehearsal.loop_info(batches).over {
            Over::Loader(loader) => self.rehearsal.heap.get(loader).epoch < epochs.first,
            Over::Other => self.goes_through_what_was_there(batches, epochs.place),
            Over::Counter => false,
        };
        let is_counted = matches!(epochs.over, Over::Counter);
        let alone = steps.all(|other| other.event.place == step.event.place);
        (outer == round && is_counted && is_shared && alone).then_some(step.event.place)
    }

    /// Whether what a loop goes through is written with names alone that a loop around it does not bind.
    fn goes_through_what_was_there(&self, inner: LoopId, around: Place) -> bool {
        let place = self.rehearsal.loop_info(inner).place;
        let draft = self.draft(place.file);
        let written = draft.statement_at(place.span).and_then(|stmt| match draft.statement(stmt).kind {
            StmtKind::For { iter, .. } => Some(iter),
            _ => None,
        });
        place.file == around.file && written.is_some_and(|written| draft.is_from_before(written, around.span))
    }

    /// The last part of the name of a framework's class.
    fn class_of(&self, object: ObjId) -> Rc<str> {
        match self.rehearsal.heap.get(object).class {
            crate::values::ClassRef::Api(name) => Rc::from(name.rsplit('.').next().unwrap_or_default()),
            _ => Rc::from("optimizer"),
        }
    }
}

/// The step of an optimizer in each iteration of a loop, when it takes no more than one there.
fn only_step(optimizer: ObjId, round: LoopId, all: &[Visit]) -> Option<Place> {
    let steps = |visit: &&Visit| {
        matches!(visit.event.effect, Effect::Step { optimizer: other, .. } if other == optimizer)
            && visit.loops.contains(&round)
    };
    let mut steps = all.iter().filter(steps);
    let first = steps.next()?;
    let single =
        first.innermost() == Some(round) && steps.all(|other| other.event.place == first.event.place);
    single.then_some(first.event.place)
}

/// Whether what an optimizer is built for is another model in each iteration, or starts again in it.
fn is_renewed(parts: &ObjSet, round: LoopId, built: usize, all: &[Visit]) -> bool {
    let hits = |objects: &ObjSet| objects.iter().any(|object| parts.contains(object));
    all.iter().enumerate().filter(|(_, visit)| visit.loops.contains(&round)).any(|(index, visit)| {
        match &visit.event.effect {
            Effect::Made { object } => parts.contains(*object),
            Effect::Redraw { objects } | Effect::Restore { objects } => hits(objects),
            // Before the optimizer is built, a call that is not understood may have reset the model.
            Effect::Touch { objects, .. } => index < built && hits(objects),
            _ => false,
        }
    })
}
