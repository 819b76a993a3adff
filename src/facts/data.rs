//! Where the data of a training run is, and what it trains.

use super::Script;
use crate::report::{Place, units};
use crate::trace::{Effect, LoopId, Node, Over, Sight};
use crate::values::{Heap, Int, ObjId, ObjSet, Tensor, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

/// Fewer rows are a batch or a table, not a dataset.
pub(crate) const FEW_ROWS: i64 = 1_000;

impl Script<'_> {
    /// Whether a model is trained on what a loader yields.
    pub(crate) fn feeds_training(&self, loader: ObjId) -> bool {
        let over = |id: &LoopId| {
            let info = self.rehearsal.loop_info(*id);
            matches!(info.over, Over::Loader(over) if over == loader) && self.descends_in(*id)
        };
        let fitted = |sight: &Sight| match sight {
            Sight::Fit { data, .. } => data.as_obj().is_some_and(|data| self.drives(data) == loader),
            Sight::GoneThrough { loader: given, trains: true } => *given == loader,
            _ => false,
        };
        self.loops().any(|id| over(&id)) || self.sightings().any(|(_, sight)| fitted(sight))
    }

    /// Whether any model that was seen goes along sequences.
    pub(crate) fn knows_recurrent(&self) -> bool {
        let heap = &self.rehearsal.heap;
        let mut modules = (0..heap.len() as u32).filter_map(|id| heap.get(ObjId(id)).module());
        modules.any(|module| module.recurrent)
    }

    /// The loader that a dataset's batches come from.
    pub(crate) fn drives(&self, dataset: ObjId) -> ObjId {
        let batched = self.rehearsal.heap.attr(dataset, Ustr::from("batched"));
        batched.and_then(Value::as_obj).unwrap_or(dataset)
    }

    pub(crate) fn loops(&self) -> impl Iterator<Item = LoopId> {
        (0..self.rehearsal.loops.len() as u32).map(LoopId)
    }

    /// Whether steps of descent are taken in a loop. An optimizer that runs a closure itself searches along
    /// a line: it wants all of the data at once.
    pub(crate) fn descends_in(&self, id: LoopId) -> bool {
        let descents = self.descents();
        let (backward, searched) = (&descents.backward, &descents.searched);
        backward.contains(&id) || (descents.steps.loops.contains(&id) && !searched.contains(&id))
    }

    pub(super) fn descents(&self) -> &Descents {
        self.descents.get_or_init(|| {
            let mut descents = Descents { steps: self.steps(), ..Descents::default() };
            for (at, _) in self.sightings().filter(|(_, sight)| matches!(sight, Sight::Backward { .. })) {
                let by_line = at.calls.iter().any(|(site, _)| descents.steps.places.contains(site));
                let loops = if by_line { &mut descents.searched } else { &mut descents.backward };
                loops.extend(at.loops.iter());
            }
            for (at, _) in self.sightings().filter(|(_, sight)| matches!(sight, Sight::Forward(_))) {
                descents.forwards.extend(at.loops.iter());
                descents.ways.add(&at.calls);
            }
            let is_pass = |sight: &Sight| {
                matches!(
                    sight,
                    Sight::Walked { .. } | Sight::Backward { .. } | Sight::BlindBackward | Sight::BlindWalk
                )
            };
            descents.passes = self.rehearsal.positions(is_pass).collect();
            descents.losses =
                self.rehearsal.positions(|sight: &Sight| matches!(sight, Sight::Loss(_))).collect();
            let heap = &self.rehearsal.heap;
            let walked = self.rehearsal.walked.iter().filter(|leaf| heap.get(*leaf).module().is_some());
            descents.walked = walked.collect();
            descents.within_walked = all_within(heap, &descents.walked);
            descents
        })
    }

    /// Whether gradients reach a model, a part of it, or what it is a part of.
    pub(crate) fn gradients_reach(&self, model: ObjId) -> bool {
        let descents = self.descents();
        let parts = || self.rehearsal.heap.descendants(model);
        descents.within_walked.contains(model) || parts().iter().any(|part| descents.walked.contains(part))
    }

    /// Whether a model runs in a loop.
    pub(crate) fn runs_models_in(&self, id: LoopId) -> bool {
        self.descents().forwards.contains(&id)
    }

    /// Whether what is called at a place, on this way, runs a model.
    pub(crate) fn runs_models_at(&self, calls: &[(Place, Ustr)], site: Place) -> bool {
        self.descents().ways.lead(calls, site)
    }

    /// Whether the script trains anything.
    pub(crate) fn trains(&self) -> bool {
        let trains = |sight: &Sight| matches!(sight, Sight::Backward { .. } | Sight::Fit { .. });
        self.sightings().any(|(_, sight)| trains(sight)) || !self.descents().steps.places.is_empty()
    }

    /// Whether an optimizer that is known steps anywhere.
    pub(crate) fn is_stepped(&self) -> bool {
        !self.descents().steps.places.is_empty()
    }

    fn steps(&self) -> Steps {
        let mut steps = Steps::default();
        for entry in &self.rehearsal.entries {
            steps.collect(&entry.nodes, &mut Vec::new());
        }
        steps
    }

    /// A shape in words, `[10,000,000, 10]`.
    pub(crate) fn shape(&self, tensor: &Tensor) -> String {
        let size = |size: &Int| match size {
            Int::Known(value) | Int::Given(value) => units::count(*value),
            other => match other.as_symbol().and_then(|symbol| self.rehearsal.symbols.get(symbol.0 as usize))
            {
                Some(name) => name.to_string(),
                None => "?".to_owned(),
            },
        };
        if let (None, Some(first)) = (&tensor.shape, &tensor.first) {
            return format!("[{}, ...]", size(first));
        }
        let sizes: Vec<String> = tensor.shape.iter().flat_map(|shape| shape.iter()).map(size).collect();
        format!("[{}]", sizes.join(", "))
    }
}

/// Objects, and the modules inside them.
pub(crate) fn all_within(heap: &Heap, objects: &ObjSet) -> ObjSet {
    let within = |object: ObjId| heap.descendants(object).iter().collect::<Vec<_>>();
    objects.iter().chain(objects.iter().flat_map(within)).collect()
}

/// In which loops something is trained, and what.
#[derive(Default)]
pub struct Descents {
    steps: Steps,
    /// With a backward pass.
    backward: FxHashSet<LoopId>,
    /// With one of a closure that an optimizer runs.
    searched: FxHashSet<LoopId>,
    /// Where models run.
    forwards: FxHashSet<LoopId>,
    ways: Ways,
    /// Backward passes, and what may be one, by their places in the list of all that was seen.
    pub(super) passes: Vec<u32>,
    /// Losses, in the same way.
    pub(super) losses: Vec<u32>,
    /// Modules that gradients of the script's optimizers reach.
    walked: ObjSet,
    /// Those, and what is inside them.
    within_walked: ObjSet,
}

/// Ways of calls, found by how they begin.
#[derive(Default)]
struct Ways {
    /// What a step leads to from where others led; each has a number, and they begin at zero.
    steps: FxHashMap<(u32, Place, Ustr), u32>,
    sites: FxHashSet<(u32, Place)>,
}

impl Ways {
    fn add(&mut self, calls: &[(Place, Ustr)]) {
        calls.iter().fold(0, |here, (site, name)| {
            self.sites.insert((here, *site));
            let next = self.steps.len() as u32 + 1;
            *self.steps.entry((here, *site, *name)).or_insert(next)
        });
    }

    fn lead(&self, calls: &[(Place, Ustr)], site: Place) -> bool {
        let here =
            calls.iter().try_fold(0, |here, (site, name)| self.steps.get(&(here, *site, *name)).copied());
        here.is_some_and(|here| self.sites.contains(&(here, site)))
    }
}

/// Where optimizers step.
#[derive(Default)]
struct Steps {
    places: FxHashSet<Place>,
    loops: FxHashSet<LoopId>,
}

impl Steps {
    fn collect(&mut self, nodes: &[Node], around: &mut Vec<LoopId>) {
        for node in nodes {
            match node {
                Node::Event(event) if matches!(event.effect, Effect::Step { .. }) => {
                    self.places.insert(event.place);
                    self.loops.extend(around.iter());
                }
                Node::Loop { id, body } => {
                    around.push(*id);
                    self.collect(body, around);
                    around.pop();
                }
                Node::Branch { arms, .. } => arms.iter().for_each(|arm| self.collect(arm, around)),
                Node::Call { body, .. } => self.collect(body, around),
                Node::Event(_) | Node::Exit(_) => {}
            }
        }
    }
}
