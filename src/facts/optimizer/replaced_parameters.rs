//! Parameters that came when their optimizer had gathered what it owns, and models that took the place of the one
//! that it has.

use super::automaton::{Automaton, LoopHead, Moment, run};
use super::missing_zero_grad::is_own_step;
use super::timeline::{Kind, OptimizerEvent, Timeline, Touched, any};
use super::view::Parts;
use crate::facts::{Script, walked};
use crate::interp::modules::descendants;
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Entry, Visit, visits};
use crate::values::{ObjId, ObjSet, OptimizerState};
use std::rc::Rc;

/// A part of a model that came after its optimizer was built.
pub struct ReplacedPart {
    pub at: At,
    pub optimizer: ObjId,
    pub gathered: Place,
    pub step: Place,
}

/// A step of an optimizer whose model is no longer the one that is trained.
pub struct Abandoned {
    pub at: At,
    pub optimizer: ObjId,
    pub gathered: Option<Place>,
    /// Where the model was made that is trained instead.
    pub other: Place,
}

/// What an optimizer holds on to while the model changes.
struct Holding;

/// What it has gathered, and what came later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Held {
    gathered: Option<(Place, Rc<ObjSet>)>,
    orphans: Vec<Orphan>,
}

/// A part that its optimizer does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Orphan {
    owner: ObjId,
    part: ObjId,
    place: Place,
    confidence: Confidence,
}

impl Automaton for Holding {
    type State = Held;

    const LOOP_HEAD: LoopHead = LoopHead::EntryOrBackEdge;

    fn start() -> Held {
        Held::default()
    }

    fn next(mut held: Held, event: &OptimizerEvent) -> Held {
        match &event.kind {
            Kind::Gathered { own, parts } => {
                if *own {
                    held.gathered = Some((event.place, parts.clone()));
                }
                held.orphans.retain(|orphan| !parts.contains(orphan.part));
            }
            Kind::Replaced { owner, part } => {
                let misses = |parts: &ObjSet| parts.contains(*owner) && !parts.contains(*part);
                if held.gathered.as_ref().is_some_and(|(_, parts)| misses(parts)) {
                    let (place, confidence) = (event.place, event.confidence);
                    held.orphans.retain(|orphan| orphan.place != place);
                    held.orphans.push(Orphan { owner: *owner, part: *part, place, confidence });
                }
            }
            Kind::Touched(Touched { optimizer: true, .. }) => held.orphans.clear(),
            _ => {}
        }
        held
    }

    fn join(a: &Held, b: &Held) -> Held {
        let new = |orphan: &&Orphan| a.orphans.iter().all(|known| known.place != orphan.place);
        let orphans = a.orphans.iter().chain(b.orphans.iter().filter(new)).copied().collect();
        Held { gathered: a.gathered.clone().or_else(|| b.gathered.clone()), orphans }
    }
}

impl Script<'_> {
    pub fn replaced_parts(&self) -> Vec<ReplacedPart> {
        let mut found: Vec<ReplacedPart> = Vec::new();
        for timeline in self.timelines(Parts::Together) {
            if !owns_known(&timeline.state) || !timeline.any(|kind| matches!(kind, Kind::Replaced { .. })) {
                continue;
            }
            for step in run::<Holding>(&timeline).iter().filter(|moment| is_own_step(&moment.event)) {
                for part in self.missed(&timeline, step) {
                    if found.iter().all(|other| other.at.place != part.at.place) {
                        found.push(part);
                    }
                }
            }
        }
        found
    }

    /// The parts that a step leaves as they are.
    fn missed(&self, timeline: &Timeline, step: &Moment<Held>) -> Vec<ReplacedPart> {
        let Some((gathered, _)) = &step.before.gathered else { return Vec::new() };
        let orphans = step.before.orphans.iter();
        let missed = orphans.filter(|orphan| self.is_missed(timeline, orphan, *gathered));
        let part = |orphan: &Orphan| ReplacedPart {
            at: walked(timeline.seeded, orphan.place, &step.event.loops, &[], orphan.confidence),
            optimizer: timeline.optimizer,
            gathered: *gathered,
            step: step.event.place,
        };
        missed.map(part).collect()
    }

    /// Whether a new part is trained, and by nobody else.
    fn is_missed(&self, timeline: &Timeline, orphan: &Orphan, gathered: Place) -> bool {
        let heap = &self.rehearsal.heap;
        let part = descendants(heap, orphan.part).union(&ObjSet::one(orphan.part));
        let wanted = timeline.state.owns.union(&part).union(&ObjSet::one(orphan.owner));
        let backwards = visits(&self.rehearsal.entries[timeline.entry].nodes, |effect| match effect {
            Effect::Backward { leaves, .. } => leaves.iter().any(|leaf| wanted.contains(leaf)),
            _ => false,
        });
        // Gathered again on some path, it may be on this one.
        let again = any(&timeline.nodes, &|event| match &event.kind {
            Kind::Gathered { parts, .. } => event.place != gathered && parts.contains(orphan.part),
            _ => false,
        });
        !backwards.is_empty() && !again
    }

    pub fn abandoned_models(&self) -> Vec<Abandoned> {
        let mut found: Vec<Abandoned> = Vec::new();
        for entry in &self.rehearsal.entries {
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
                let Some(other) = self.trained_instead(optimizer, act, &acts) else { continue };
                if found.iter().any(|known| known.at.place == act.event.place) {
                    continue;
                }
                found.push(Abandoned {
                    at: at(entry, act),
                    optimizer,
                    gathered: gathering(optimizer, &acts).map(|gather| gather.event.place),
                    other: self.rehearsal.heap.get(other).site,
                });
            }
        }
        found
    }

    /// The model that the backward passes around a step reach, where none of them reaches what the step
    /// applies, and it is of the same class.
    fn trained_instead(&self, optimizer: ObjId, step: &Visit, acts: &[Visit]) -> Option<ObjId> {
        let heap = &self.rehearsal.heap;
        let state = heap.get(optimizer).optimizer().filter(|state| owns_known(state))?;
        let round = step.innermost()?;
        let inside = |objects: &ObjSet| {
            objects.iter().fold(objects.clone(), |all, object| all.union(&descendants(heap, object)))
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
                Effect::Touch { objects } if objects.contains(optimizer) => return None,
                _ => {}
            }
        }
        let gather = gathering(optimizer, acts)?;
        let owned_elsewhere = |object: ObjId| {
            acts.iter().any(|act| match &act.event.effect {
                Effect::Gather { optimizer: other, parts, .. } => {
                    *other != optimizer && parts.contains(object)
                }
                _ => false,
            })
        };
        let twin = |object: &ObjId| {
            let like = |owner: ObjId| heap.get(owner).class == heap.get(*object).class;
            heap.get(*object).module().is_some()
                && state.owns.iter().any(like)
                && heap.get(*object).site != gather.event.place
                && !owned_elsewhere(*object)
        };
        reached.iter().find(twin)
    }
}

/// Where an optimizer gathered what it owns, last of all.
fn gathering<'v, 't>(optimizer: ObjId, acts: &'v [Visit<'t>]) -> Option<&'v Visit<'t>> {
    acts.iter().rfind(
        |act| matches!(&act.event.effect, Effect::Gather { optimizer: other, .. } if *other == optimizer),
    )
}

/// Whether all parameters of an optimizer are known.
fn owns_known(state: &OptimizerState) -> bool {
    !state.owns.is_empty() && !state.others && !state.managed
}

fn at(entry: &Entry, visit: &Visit) -> At {
    walked(entry.function, visit.event.place, &visit.loops, &visit.calls, visit.event.confidence)
}
