//! Parts of a model that came when its optimizer had gathered what it owns.

use super::owns_known;
use crate::apis::Role;
use crate::facts::timeline::{
    Automaton, Kind, LoopHead, Moment, OptimizerEvent, Parts, Timeline, Touched, any, run,
};
use crate::facts::{Script, walked};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, visits};
use crate::values::{ClassRef, ObjId, ObjSet};
use std::rc::Rc;

/// A part of a model that came after its optimizer was built.
pub(in crate::checks) struct ReplacedPart {
    pub(super) at: At,
    pub(in crate::checks) optimizer: ObjId,
    pub(super) gathered: Place,
    pub(super) step: Place,
}

pub(in crate::checks) fn replaced_parts(script: &Script) -> Vec<ReplacedPart> {
    let mut found: Vec<ReplacedPart> = Vec::new();
    for timeline in script.timelines(Parts::Together) {
        if !owns_known(&timeline.state) || !timeline.any(|kind| matches!(kind, Kind::Replaced { .. })) {
            continue;
        }
        for step in run::<Holding>(&timeline).iter().filter(|moment| moment.event.is_own_step()) {
            for part in missed(script, &timeline, step) {
                if found.iter().all(|other| other.at.place != part.at.place) {
                    found.push(part);
                }
            }
        }
    }
    found
}

/// The parts that a step leaves as they are.
fn missed(script: &Script, timeline: &Timeline, step: &Moment<Held>) -> Vec<ReplacedPart> {
    let Some((gathered, _)) = &step.before.gathered else { return Vec::new() };
    let orphans = step.before.orphans.iter();
    let missed = orphans.filter(|orphan| is_missed(script, timeline, orphan, *gathered));
    let part = |orphan: &Orphan| ReplacedPart {
        at: walked(timeline.seeded, orphan.place, &step.event.loops, &[], orphan.confidence),
        optimizer: timeline.optimizer,
        gathered: *gathered,
        step: step.event.place,
    };
    missed.map(part).collect()
}

/// Whether a new part is trained, and by nobody else.
fn is_missed(script: &Script, timeline: &Timeline, orphan: &Orphan, gathered: Place) -> bool {
    let heap = &script.rehearsal.heap;
    let part = heap.descendants(orphan.part).union(&ObjSet::one(orphan.part));
    // A graph names a parameter by itself, and a layer by the model that it is part of.
    let is_parameter = match heap.get(orphan.part).class {
        ClassRef::Api(class) => script.apis.class_of(Role::Parameter) == Some(class),
        _ => false,
    };
    let wanted = match is_parameter {
        true => part,
        false => timeline.state.owns.union(&part).union(&ObjSet::one(orphan.owner)),
    };
    let backwards = visits(&script.rehearsal.entries[timeline.entry].nodes, |effect| match effect {
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
