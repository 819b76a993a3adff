//! Models whose training a framework compiles: what was changed since, and is not seen by the training.

use crate::facts::Script;
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Event, LoopId, Protocol, Way, When, walk};
use crate::values::{Heap, ObjId, ObjSet};
use std::rc::Rc;

/// A change of what learns that no compilation has seen.
pub(super) struct StaleTraining {
    pub at: At,
    pub compiled: Place,
    pub fitted: Place,
    /// The model was trained before the change: its training step is built already.
    pub is_built: bool,
}

/// The changes of what learns that some training of the script does not see, each once.
pub(super) fn stale_trainings(script: &Script) -> Vec<StaleTraining> {
    let mut survey = Survey::default();
    for entry in &script.rehearsal.entries {
        walk(&mut survey, &entry.nodes, ());
    }
    let mut found: Vec<StaleTraining> = Vec::new();
    for model in survey.compiled.iter() {
        for entry in &script.rehearsal.entries {
            let mut lifecycle = Lifecycle::new(&script.rehearsal.heap, model, &survey);
            walk(&mut lifecycle, &entry.nodes, Training::default());
            for stale in lifecycle.found {
                if found.iter().all(|known| known.at.place != stale.change.place) {
                    found.push(stale.training(entry.function));
                }
            }
        }
    }
    found
}

/// What a script does to models at all: the first look at it.
#[derive(Default)]
struct Survey {
    compiled: ObjSet,
    /// Loops in which something is made to learn, and something is frozen.
    thaws: Vec<LoopId>,
    freezes: Vec<LoopId>,
    /// Loops in which a model is trained.
    trains: Vec<LoopId>,
}

impl Survey {
    /// In a loop that freezes and thaws between its trainings, as that of a GAN, this is what is meant.
    fn alternates(&self, id: &LoopId) -> bool {
        self.thaws.contains(id) && self.freezes.contains(id) && self.trains.contains(id)
    }
}

impl Protocol for Survey {
    type State = ();
    type Event = Event;

    fn join(&self, (): &(), (): &()) {}

    fn event(&mut self, (): &mut (), event: &Event, way: &Way) {
        let list = match event.effect {
            Effect::Compiled { model } => {
                self.compiled.insert(model);
                return;
            }
            Effect::Trainable { learns: Some(true), .. } => &mut self.thaws,
            Effect::Trainable { learns: Some(false), .. } => &mut self.freezes,
            Effect::Fitted { .. } => &mut self.trains,
            _ => return,
        };
        list.extend(way.loops.iter().copied());
    }
}

/// What is known of the training of one model.
#[derive(Clone, Debug, Default, PartialEq)]
struct Training {
    compiled: Option<Place>,
    /// It was trained since it was compiled.
    is_built: bool,
    change: Option<Change>,
    /// So many loops are around.
    depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    place: Place,
    compiled: Place,
    is_built: bool,
    /// It happens on every way that leads on.
    sure: bool,
}

struct Stale {
    change: Change,
    fitted: Place,
    confidence: Confidence,
}

impl Stale {
    fn training(&self, seeded: Option<crate::trace::FnKey>) -> StaleTraining {
        let confidence = if self.change.sure { self.confidence } else { Confidence::Low };
        let at =
            At { place: self.change.place, loops: Rc::from([]), calls: Rc::from([]), seeded, confidence };
        let Change { compiled, is_built, .. } = self.change;
        StaleTraining { at, compiled, fitted: self.fitted, is_built }
    }
}

/// The life of one model: compiled, changed, trained.
struct Lifecycle<'h> {
    heap: &'h Heap,
    survey: &'h Survey,
    model: ObjId,
    /// The model and all layers in it.
    parts: ObjSet,
    found: Vec<Stale>,
}

impl<'h> Lifecycle<'h> {
    fn new(heap: &'h Heap, model: ObjId, survey: &'h Survey) -> Lifecycle<'h> {
        Lifecycle { heap, survey, model, parts: heap.descendants(model), found: Vec::new() }
    }

    fn overlaps(&self, objects: &ObjSet) -> bool {
        objects.iter().any(|object| self.parts.contains(object))
    }
}

impl Protocol for Lifecycle<'_> {
    type State = Training;
    type Event = Event;

    /// Where ways out of a loop meet: a loop over layers is never run through in vain.
    fn join(&self, a: &Training, b: &Training) -> Training {
        Training {
            compiled: a.compiled.or(b.compiled),
            is_built: a.is_built || b.is_built,
            change: a.change.or(b.change),
            depth: a.depth,
        }
    }

    fn branch(&self, _when: When, before: &Training, arms: Vec<Training>) -> Option<Training> {
        let everywhere = arms.iter().all(|arm| arm.change.is_some());
        let fresh = before.change.is_none();
        let mut arms = arms.into_iter();
        let first = arms.next()?;
        let mut joined = arms.fold(first, |joined, arm| self.join(&joined, &arm));
        // In a loop some layers are chosen, or some epoch; elsewhere another branch may answer to this one.
        if let Some(change) = &mut joined.change
            && fresh
            && joined.depth == 0
        {
            change.sure &= everywhere;
        }
        Some(joined)
    }

    fn enter(&mut self, state: &mut Training, _id: LoopId) {
        state.depth += 1;
    }

    fn leave(&mut self, state: &mut Training, _id: LoopId) {
        state.depth = state.depth.saturating_sub(1);
    }

    fn event(&mut self, state: &mut Training, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Compiled { model } if *model == self.model => {
                *state = Training { compiled: Some(event.place), depth: state.depth, ..Training::default() };
            }
            // What is changed for another model, such as the combined one of a GAN, is meant for that one.
            Effect::Compiled { model } if self.overlaps(&self.heap.descendants(*model)) => {
                state.change = None;
            }
            Effect::Touch { objects, .. } if self.overlaps(objects) => {
                *state = Training { depth: state.depth, ..Training::default() }
            }
            Effect::Trainable { objects, .. } if self.overlaps(objects) => {
                if way.loops.iter().any(|id| self.survey.alternates(id)) {
                    return;
                }
                if let (Some(compiled), None) = (state.compiled, state.change) {
                    let is_built = state.is_built;
                    state.change = Some(Change { place: event.place, compiled, is_built, sure: true });
                }
            }
            Effect::Fitted { model, one_step } if *model == self.model => {
                if let (Some(change), true, false) = (state.change, way.settled, *one_step) {
                    let confidence = event.confidence;
                    self.found.push(Stale { change, fitted: event.place, confidence });
                }
                state.is_built = true;
            }
            _ => {}
        }
    }
}
