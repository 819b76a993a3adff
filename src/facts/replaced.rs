//! Parameters that nobody steps: their iterator was used up, or they came when the optimizer had gathered
//! what it owns. One automaton for each optimizer.

use super::{Script, once, walked};
use crate::interp::modules::descendants;
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Entry, Event, Protocol, Sight, Visit, Way, visits, walk};
use crate::values::{ObjId, ObjSet, OptimizerState};
use std::rc::Rc;

/// An iterator over parameters with nothing left in it.
pub struct SpentIterator {
    pub at: At,
    /// Where it was gone through.
    pub first: Place,
    /// Where it comes from.
    pub made: Place,
}

/// A part of a model that came after its optimizer was built.
pub struct ReplacedPart {
    pub at: At,
    pub optimizer: String,
    pub gathered: Place,
    pub step: Place,
}

/// A step of an optimizer whose model is no longer the one that is trained.
pub struct Abandoned {
    pub at: At,
    pub optimizer: String,
    pub gathered: Option<Place>,
    /// Where the model was made that is trained instead.
    pub other: Place,
}

impl Script<'_> {
    pub fn spent_iterators(&self) -> Vec<SpentIterator> {
        let mut seen = Vec::new();
        let late = self.sightings().filter_map(|(at, sight)| match sight {
            Sight::Exhausted { first, made } => {
                Some(SpentIterator { at: at.clone(), first: *first, made: *made })
            }
            _ => None,
        });
        late.filter(|late| once(&mut seen, late.at.place)).collect()
    }

    pub fn replaced_parts(&self) -> Vec<ReplacedPart> {
        let mut found: Vec<ReplacedPart> = Vec::new();
        for entry in &self.rehearsal.entries {
            let acts = visits(&entry.nodes, |effect| {
                matches!(
                    effect,
                    Effect::Gather { .. }
                        | Effect::Replace { .. }
                        | Effect::Backward { .. }
                        | Effect::Step { .. }
                )
            });
            if !acts.iter().any(|act| matches!(act.event.effect, Effect::Replace { .. })) {
                continue;
            }
            for optimizer in stepping(&acts).iter() {
                let Some(state) = self.known(optimizer) else { continue };
                let mut life = Life { optimizer, lost: Vec::new() };
                walk(&mut life, &entry.nodes, Held::default());
                for lost in life.lost {
                    if self.is_missed(state, &lost, &acts)
                        && !found.iter().any(|other| other.at.place == lost.orphan.place)
                    {
                        found.push(ReplacedPart {
                            at: lost.at(entry),
                            optimizer: self.name_of(optimizer),
                            gathered: lost.gathered,
                            step: lost.step,
                        });
                    }
                }
            }
        }
        found
    }

    /// An optimizer all of whose parameters are known.
    fn known(&self, optimizer: ObjId) -> Option<&OptimizerState> {
        let state = self.rehearsal.heap.get(optimizer).optimizer()?;
        (!state.owns.is_empty() && !state.others && !state.managed).then_some(state)
    }

    /// Whether a new part is trained, and by nobody else.
    fn is_missed(&self, state: &OptimizerState, lost: &Lost, acts: &[Visit]) -> bool {
        let heap = &self.rehearsal.heap;
        let part = descendants(heap, lost.orphan.part).union(&ObjSet::one(lost.orphan.part));
        let wanted = state.owns.union(&part).union(&ObjSet::one(lost.orphan.owner));
        let trains = acts.iter().any(|act| match &act.event.effect {
            Effect::Backward { leaves, .. } => leaves.iter().any(|leaf| wanted.contains(leaf)),
            _ => false,
        });
        // Gathered again on some way, it may be on this one.
        let again = acts.iter().any(|act| match &act.event.effect {
            Effect::Gather { parts, .. } => {
                act.event.place != lost.gathered && parts.contains(lost.orphan.part)
            }
            _ => false,
        });
        trains && !again
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
                    at: at(entry, act.event, &act.loops, &act.calls),
                    optimizer: self.name_of(optimizer),
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
        let state = self.known(optimizer)?;
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

/// The optimizers that step.
fn stepping(acts: &[Visit]) -> ObjSet {
    let step = |act: &Visit| match act.event.effect {
        Effect::Step { optimizer, .. } => Some(optimizer),
        _ => None,
    };
    acts.iter().filter_map(step).collect()
}

/// Where an optimizer gathered what it owns, last of all.
fn gathering<'v, 't>(optimizer: ObjId, acts: &'v [Visit<'t>]) -> Option<&'v Visit<'t>> {
    acts.iter().rfind(
        |act| matches!(&act.event.effect, Effect::Gather { optimizer: other, .. } if *other == optimizer),
    )
}

/// What one optimizer holds on to while the model changes.
struct Life {
    optimizer: ObjId,
    lost: Vec<Lost>,
}

/// What it has gathered, and what came later.
#[derive(Clone, Default, PartialEq)]
struct Held {
    gathered: Option<(Place, Rc<ObjSet>)>,
    orphans: Vec<Orphan>,
}

#[derive(Clone, Copy, PartialEq)]
struct Orphan {
    owner: ObjId,
    part: ObjId,
    place: Place,
    confidence: Confidence,
}

/// A step that leaves a part of the model as it is.
struct Lost {
    orphan: Orphan,
    gathered: Place,
    step: Place,
    loops: Vec<crate::trace::LoopId>,
}

impl Lost {
    fn at(&self, entry: &Entry) -> At {
        walked(entry.function, self.orphan.place, &self.loops, &[], self.orphan.confidence)
    }
}

impl Protocol for Life {
    type State = Held;

    fn join(&self, a: &Held, b: &Held) -> Held {
        let known = |orphan: &&Orphan| a.orphans.iter().all(|known| known.place != orphan.place);
        let orphans = a.orphans.iter().chain(b.orphans.iter().filter(known)).copied().collect();
        Held { gathered: a.gathered.clone().or_else(|| b.gathered.clone()), orphans }
    }

    fn event(&mut self, state: &mut Held, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Gather { optimizer, parts, .. } => {
                if *optimizer == self.optimizer {
                    state.gathered = Some((event.place, Rc::new(parts.clone())));
                }
                state.orphans.retain(|orphan| !parts.contains(orphan.part));
            }
            Effect::Replace { owner, part } => {
                let Some((_, parts)) = &state.gathered else { return };
                if !parts.contains(*owner) || parts.contains(*part) {
                    return;
                }
                state.orphans.retain(|orphan| orphan.place != event.place);
                state.orphans.push(Orphan {
                    owner: *owner,
                    part: *part,
                    place: event.place,
                    confidence: event.confidence,
                });
            }
            Effect::Touch { objects } if objects.contains(self.optimizer) => state.orphans.clear(),
            Effect::Step { optimizer, .. } if *optimizer == self.optimizer && way.settled => {
                let Some((gathered, _)) = &state.gathered else { return };
                self.lost.extend(state.orphans.iter().map(|orphan| Lost {
                    orphan: *orphan,
                    gathered: *gathered,
                    step: event.place,
                    loops: way.loops.clone(),
                }));
            }
            _ => {}
        }
    }
}

fn at(entry: &Entry, event: &Event, loops: &[crate::trace::LoopId], calls: &[(Place, ustr::Ustr)]) -> At {
    walked(entry.function, event.place, loops, calls, event.confidence)
}
