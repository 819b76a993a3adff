//! How training is fed: in which order the samples come, which process sees which, and what the workers of
//! loaders do.

use super::{Places, Script};
use crate::interp::is_held_in_order;
use crate::interp::modules::descendants;
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, LoopId, Node, OnGpu, Over, Sight, Work};
use crate::values::{Feeding, Holds, Int, ObjId, ObjSet, Orders, SamplerState, State, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Fewer samples are an example of how to write it.
const FEW_SAMPLES: i64 = 64;

/// A training loader that goes through its data in the order in which they are stored.
pub struct Unshuffled {
    pub at: At,
    /// The dataset holds one class after the other.
    pub by_class: bool,
    /// A framework's stream, which shuffles through a buffer.
    pub is_stream: bool,
}

/// A sampler whose order is the same in each epoch.
pub struct SameEpochs {
    pub at: At,
    pub epochs: Place,
}

/// A loader that gives each process all of the data.
pub struct Undivided {
    pub at: At,
    pub replicated: Place,
    pub shuffled: bool,
}

/// The GPU in the workers of a loader.
pub struct GpuInWorker {
    pub at: At,
    pub how: OnGpu,
    pub workers: i64,
    pub workers_place: Option<Place>,
}

pub struct SharedSeed {
    pub at: At,
    /// The generator that all workers have a copy of.
    pub generator: Option<Place>,
    /// Where the workers seed other generators so.
    pub others: Vec<Place>,
    pub workers: i64,
    pub workers_place: Option<Place>,
}

impl Script<'_> {
    pub fn unshuffled(&self) -> Vec<Unshuffled> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (id, loader) in self.training_loops() {
            if let Some((holds, is_stream, stated)) = self.in_order(loader)
                && self.surely_trains(id)
                && !self.is_one_batch(loader)
                && !self.runs_sequences(id)
                && let Some(at) = self.at_loader(loader, id)
                && seen.insert(at.place)
            {
                let by_class = holds == Holds::ByClass;
                let sure = match (by_class, self.epochs(id)) {
                    (true, _) if !stated => Confidence::High,
                    // In a single pass each sample comes once, whatever the order.
                    (false, None) => Confidence::Low,
                    _ => Confidence::Medium,
                };
                let at = At { confidence: at.confidence.min(sure), ..at };
                found.push(Unshuffled { at, by_class, is_stream });
            }
        }
        for (at, sight) in self.sightings() {
            if let Sight::Fit { data, .. } = sight
                && let Some(stream) = data.as_obj()
                && is_held_in_order(&self.rehearsal.heap, stream)
                && !self.is_one_batch(self.drives(stream))
            {
                let place = self.rehearsal.heap.get(self.drives(stream)).site;
                if seen.insert(place) {
                    let at = At { place, confidence: at.confidence.min(Confidence::Medium), ..at.clone() };
                    found.push(Unshuffled { at, by_class: false, is_stream: true });
                }
            }
        }
        found
    }

    pub fn same_epochs(&self) -> Vec<SameEpochs> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (id, loader) in self.training_loops() {
            let Some(epochs) = self.epochs(id) else { continue };
            if self.feeding(loader).is_none() {
                continue;
            }
            for (sampler, state) in self.samplers(loader) {
                if let Some(place) = state.shared_at
                    && state.orders.meets(Orders::SHARED_RANDOM)
                    && !self.may_know_epoch(sampler, loader)
                    && let Some(at) = self.at_loader(loader, id)
                    && seen.insert(place)
                {
                    let at = At { place, calls: Rc::from([]), ..at };
                    found.push(SameEpochs { at, epochs });
                }
            }
        }
        found
    }

    pub fn undivided(&self) -> Vec<Undivided> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (id, loader) in self.training_loops() {
            let Some(feeding) = self.feeding(loader).filter(|feeding| feeding.whole == Some(true)) else {
                continue;
            };
            if let Some(replicated) = self.replicated_in(id)
                && let Some(at) = self.at_loader(loader, id)
                && seen.insert(at.place)
            {
                let at = At { confidence: at.confidence.min(Confidence::Medium), ..at };
                found.push(Undivided { at, replicated, shuffled: feeding.in_order == Some(false) });
            }
        }
        found
    }

    pub fn gpu_in_workers(&self) -> Vec<GpuInWorker> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, work) in self.work().filter(|(_, work)| work.forked) {
            for (place, how) in &work.on_gpu {
                if seen.insert(*place) {
                    let at = At { place: *place, calls: Rc::from([]), ..at.clone() };
                    let (workers, workers_place) = (work.workers, work.workers_place);
                    found.push(GpuInWorker { at, how: *how, workers, workers_place });
                }
            }
        }
        found
    }

    pub fn shared_seeds(&self) -> Vec<SharedSeed> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, work) in self.work().filter(|(_, work)| work.workers > 1) {
            // One function that seeds is one mistake, and so is one generator, however often numbers are drawn.
            let seeded = work.seeded.split_first().map(|(place, others)| (*place, None, others.to_vec()));
            let drawn = work.drawn.iter().filter(|_| !work.initialised);
            let drawn = drawn.map(|(place, made)| (*place, Some(*made), Vec::new()));
            for (place, generator, others) in seeded.into_iter().chain(drawn) {
                if seen.insert(generator.unwrap_or(place)) {
                    let at = At { place, calls: Rc::from([]), ..at.clone() };
                    let (workers, workers_place) = (work.workers, work.workers_place);
                    found.push(SharedSeed { at, generator, others, workers, workers_place });
                }
            }
        }
        found
    }

    fn work(&self) -> impl Iterator<Item = (&At, &Work)> {
        self.sightings().filter_map(|(at, sight)| match sight {
            Sight::Work(work) => Some((at, &**work)),
            _ => None,
        })
    }

    /// Loops over loaders in which a model is trained.
    fn training_loops(&self) -> Vec<(LoopId, ObjId)> {
        let over = |id: LoopId| match self.rehearsal.loop_info(id).over {
            Over::Loader(loader) if self.descends_in(id) => Some((id, loader)),
            _ => None,
        };
        self.loops().filter_map(over).collect()
    }

    /// The loop that goes through a loader's data again and again.
    fn epochs(&self, id: LoopId) -> Option<Place> {
        let outer = self.rehearsal.loop_info(id).outer.iter();
        let again = outer
            .map(|outer| self.rehearsal.loop_info(*outer))
            .rev()
            .find(|outer| outer.count.known() != Some(1));
        again.map(|outer| outer.place)
    }

    /// How a loader of the script's own takes its samples; nothing of one in an engine's care.
    fn feeding(&self, loader: ObjId) -> Option<Feeding> {
        match &self.rehearsal.heap.get(loader).state {
            State::Loader(state) if !state.managed => Some(state.feeding),
            _ => None,
        }
    }

    /// How the data are held that a loader gives in that order; whether it is a stream, and whether the call
    /// says so itself.
    fn in_order(&self, loader: ObjId) -> Option<(Holds, bool, bool)> {
        if let Some(feeding) = self.feeding(loader) {
            let in_order = feeding.in_order == Some(true) && feeding.holds != Holds::Unknown;
            return in_order.then_some((feeding.holds, false, feeding.stated));
        }
        let held = is_held_in_order(&self.rehearsal.heap, loader);
        held.then_some((Holds::AsStored, true, false))
    }

    /// Where a loader was made; of one that may be several, the loop over it.
    fn at_loader(&self, loader: ObjId, id: LoopId) -> Option<At> {
        let made = self
            .sightings()
            .find(|(_, sight)| matches!(sight, Sight::Loader { loader: made, .. } if *made == loader));
        if let Some((at, _)) = made {
            return Some(at.clone());
        }
        let (at, _) = self.sightings().find(|(at, _)| at.loops.contains(&id))?;
        Some(At { place: self.rehearsal.heap.get(loader).site, calls: Rc::from([]), ..at.clone() })
    }

    /// Whether the batch is the dataset, whose order is nothing then, or there are next to no samples.
    fn is_one_batch(&self, loader: ObjId) -> bool {
        self.sightings().any(|(_, sight)| match sight {
            Sight::Loader { length: Int::Known(length), loader: made, .. }
                if *made == loader && *length < FEW_SAMPLES =>
            {
                true
            }
            Sight::Loader { loader: made, length, batch_size, .. } if *made == loader => {
                match (batch_size.as_int(), length) {
                    (Some(Int::Known(size)), Int::Known(length)) => size >= length,
                    (Some(size @ Int::Sum(_)), length) => size == length,
                    _ => false,
                }
            }
            _ => false,
        })
    }

    /// Whether a model in a loop goes along sequences: these may be meant to follow each other.
    fn runs_sequences(&self, id: LoopId) -> bool {
        let heap = &self.rehearsal.heap;
        let recurrent = |object: ObjId| heap.get(object).module().is_some_and(|module| module.recurrent);
        self.sightings().any(|(at, sight)| match sight {
            Sight::Forward(forward) if at.loops.contains(&id) => {
                descendants(heap, forward.module).iter().any(recurrent)
            }
            _ => false,
        })
    }

    /// Whether each iteration of a loop trains, whatever its conditions are.
    fn surely_trains(&self, id: LoopId) -> bool {
        self.rehearsal.entries.iter().any(|entry| find_loop(&entry.nodes, id).is_some_and(trains_always))
    }

    /// The samplers that a loader may take its samples by, through those that make batches.
    fn samplers(&self, loader: ObjId) -> Vec<(ObjId, SamplerState)> {
        let heap = &self.rehearsal.heap;
        let mut found = Vec::new();
        let named = |object: ObjId, name: &str| heap.attr(object, Ustr::from(name)).and_then(Value::as_obj);
        let mut next: Vec<ObjId> =
            ["sampler", "batch_sampler"].iter().filter_map(|name| named(loader, name)).collect();
        while let Some(object) = next.pop() {
            if let State::Sampler(state) = &heap.get(object).state
                && !found.iter().any(|(known, _)| *known == object)
            {
                found.push((object, *state));
                next.extend(named(object, "sampler"));
            }
        }
        found
    }

    /// Whether anything may have told a sampler its epoch.
    fn may_know_epoch(&self, sampler: ObjId, loader: ObjId) -> bool {
        let told = self.sightings().any(|(_, sight)| matches!(sight, Sight::EpochSet { .. }));
        let out_of_sight = |entry: &crate::trace::Entry| touches(&entry.nodes, &[sampler, loader]);
        told || self.rehearsal.entries.iter().any(out_of_sight)
    }

    /// Where a model that is trained in a loop was given to each process.
    fn replicated_in(&self, id: LoopId) -> Option<Place> {
        let heap = &self.rehearsal.heap;
        let mut models = ObjSet::default();
        for (at, sight) in self.sightings() {
            if let Sight::Forward(forward) = sight
                && at.loops.contains(&id)
            {
                models = models.union(&descendants(heap, forward.module));
            }
        }
        self.sightings().find_map(|(at, sight)| match sight {
            Sight::Parallel { module } if models.contains(*module) => Some(at.place),
            _ => None,
        })
    }
}

fn find_loop(nodes: &[Node], wanted: LoopId) -> Option<&[Node]> {
    nodes.iter().find_map(|node| match node {
        Node::Loop { id, body } if *id == wanted => Some(body.as_slice()),
        Node::Loop { body, .. } | Node::Call { body, .. } => find_loop(body, wanted),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| find_loop(arm, wanted)),
        _ => None,
    })
}

fn trains_always(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => matches!(event.effect, Effect::Backward { .. } | Effect::Step { .. }),
        Node::Loop { body, .. } | Node::Call { body, .. } => trains_always(body),
        Node::Branch { arms, .. } => arms.iter().all(|arm| trains_always(arm)),
        Node::Exit(_) => false,
    })
}

fn touches(nodes: &[Node], objects: &[ObjId]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => match &event.effect {
            Effect::Touch { objects: touched } => objects.iter().any(|object| touched.contains(*object)),
            _ => false,
        },
        Node::Loop { body, .. } | Node::Call { body, .. } => touches(body, objects),
        Node::Branch { arms, .. } => arms.iter().any(|arm| touches(arm, objects)),
        Node::Exit(_) => false,
    })
}
