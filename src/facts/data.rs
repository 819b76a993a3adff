//! Where the data of a training run is: all of it on the GPU, or all of it in one batch.

use super::{Places, Script};
use crate::report::{Place, Severity, units};
use crate::trace::{At, Effect, Forward, LoopId, Node, Over, Sight};
use crate::values::{Graph, Int, ObjId, Source, State, Tensor, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// Samples from which a batch of all of them is worth a warning.
const MANY_SAMPLES: i64 = 100_000;
/// Fewer rows are a batch or a table, not a dataset.
pub(crate) const FEW_ROWS: i64 = 1_000;

pub struct FullBatch {
    pub at: At,
    pub severity: Severity,
    pub samples: Option<i64>,
    pub bytes: Option<u64>,
    /// What the layers keep of it for the way back, at least.
    pub kept: u64,
    /// Where the samples come from.
    pub length_place: Option<Place>,
    /// Where the size of the batch was written, and in which words.
    pub origin: Option<(Place, String)>,
}

impl Script<'_> {
    pub fn full_batches(&self) -> Vec<FullBatch> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let batch = match sight {
                Sight::Loader { loader, length, length_place, batch_size, batch_place, .. } => {
                    if !self.feeds_training(*loader) {
                        continue;
                    }
                    let step = (self.batch_bytes(*loader), self.kept_over(*loader));
                    self.full_batch(at, *batch_place, (length, *length_place), batch_size, step)
                }
                Sight::Fit { batch_size, batch_place: Some(place), length, data, kept, .. } => {
                    let bytes = data.as_tensor().and_then(|tensor| tensor.bytes());
                    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
                    self.full_batch(at, *place, (length, None), batch_size, (bytes, *kept))
                }
                Sight::Forward(forward) => self.whole_forward(at, forward),
                _ => continue,
            };
            if let Some(batch) = batch
                && seen.insert(batch.at.place)
            {
                found.push(batch);
            }
        }
        found
    }

    /// A batch size that equals the number of samples, or is larger.
    fn full_batch(
        &self,
        at: &At,
        place: Place,
        (length, length_place): (&Int, Option<Place>),
        batch_size: &Value,
        (bytes, kept): (Option<u64>, u64),
    ) -> Option<FullBatch> {
        let size = batch_size.as_int()?;
        let samples = match (size, length) {
            (Int::Known(size), Int::Known(length)) if *length > 1 && size >= length => Some(*length),
            (Int::Sum(_), Int::Sum(_)) if size == length => None,
            _ => return None,
        };
        let large = samples.is_none_or(|samples| samples >= MANY_SAMPLES);
        let small = if large { Severity::Warning } else { Severity::Note };
        let severity = self.severity_of_size(bytes.unwrap_or(0).saturating_add(kept), small);
        let origin = batch_size.origin().filter(|origin| origin.place != place).map(|origin| {
            let value = size.known().map_or(String::new(), |size| format!(" = {}", units::count(size)));
            (origin.place, format!("`{}`{value}", origin.name))
        });
        Some(FullBatch {
            at: At { place, ..at.clone() },
            severity,
            samples,
            bytes,
            kept,
            length_place,
            origin,
        })
    }

    /// A training step whose input is the same large tensor in every iteration.
    fn whole_forward(&self, at: &At, forward: &Forward) -> Option<FullBatch> {
        let input = forward.input.as_ref()?;
        let innermost = at.loops.last()?;
        let info = self.rehearsal.loop_info(*innermost);
        let counts = matches!(info.over, Over::Counter);
        if !counts || forward.grad == Some(false) || input.source != Source::Data {
            return None;
        }
        // Points that are differentiated for themselves are no samples.
        if input.is_leaf || !matches!(input.graph, Graph::None) {
            return None;
        }
        let samples = input.shape.as_ref()?.first()?.known()?;
        // A batch that an outer loop hands out is new in each of that loop's iterations.
        let outside = at.loops.iter().all(|id| input.born < self.rehearsal.loop_info(*id).first);
        if !outside || input.rank()? < 2 || samples < FEW_ROWS || !self.descends_in(*innermost) {
            return None;
        }
        let bytes = u64::try_from(input.bytes()?).ok()?;
        let small = if samples >= MANY_SAMPLES { Severity::Warning } else { Severity::Note };
        Some(FullBatch {
            at: at.clone(),
            severity: self.severity_of_size(bytes.saturating_add(forward.kept), small),
            samples: Some(samples),
            bytes: Some(bytes),
            kept: forward.kept,
            length_place: input.made,
            origin: None,
        })
    }

    /// Whether a model is trained on what a loader yields.
    pub(crate) fn feeds_training(&self, loader: ObjId) -> bool {
        let over = |id: &LoopId| {
            let info = self.rehearsal.loop_info(*id);
            matches!(info.over, Over::Loader(over) if over == loader) && self.descends_in(*id)
        };
        let fitted = |sight: &Sight| matches!(sight, Sight::Fit { data, .. } if data.as_obj().is_some_and(|data| self.drives(data) == loader));
        self.loops().any(|id| over(&id)) || self.sightings().any(|(_, sight)| fitted(sight))
    }

    /// The loader that a dataset's batches come from.
    pub(crate) fn drives(&self, dataset: ObjId) -> ObjId {
        let batched = self.rehearsal.heap.attr(dataset, Ustr::from("batched"));
        batched.and_then(Value::as_obj).unwrap_or(dataset)
    }

    /// What a forward on a loader's batches keeps, at least.
    fn kept_over(&self, loader: ObjId) -> u64 {
        let over = |at: &At| {
            let driven = |id: &LoopId| matches!(self.rehearsal.loop_info(*id).over, Over::Loader(over) if over == loader);
            at.loops.iter().any(driven)
        };
        let kept = self.sightings().filter_map(|(at, sight)| match sight {
            Sight::Forward(forward) if over(at) => Some(forward.kept),
            _ => None,
        });
        kept.max().unwrap_or(0)
    }

    pub(crate) fn loops(&self) -> impl Iterator<Item = LoopId> {
        (0..self.rehearsal.loops.len() as u32).map(LoopId)
    }

    /// Whether steps of descent are taken in a loop. An optimizer that runs a closure itself searches along
    /// a line: it wants all of the data at once.
    pub(crate) fn descends_in(&self, id: LoopId) -> bool {
        let steps = self.steps();
        let searched = |at: &At| at.calls.iter().any(|(site, _)| steps.places.contains(site));
        let backward = self.sightings().any(|(at, sight)| {
            matches!(sight, Sight::Backward { .. }) && at.loops.contains(&id) && !searched(at)
        });
        let any_searched = self.sightings().any(|(at, sight)| {
            matches!(sight, Sight::Backward { .. }) && at.loops.contains(&id) && searched(at)
        });
        backward || (steps.loops.contains(&id) && !any_searched)
    }

    /// Whether the script trains anything.
    pub(crate) fn trains(&self) -> bool {
        let trains = |sight: &Sight| matches!(sight, Sight::Backward { .. } | Sight::Fit { .. });
        self.sightings().any(|(_, sight)| trains(sight)) || !self.steps().places.is_empty()
    }

    fn steps(&self) -> Steps {
        let mut steps = Steps::default();
        for entry in &self.rehearsal.entries {
            steps.collect(&entry.nodes, &mut Vec::new());
        }
        steps
    }

    fn batch_bytes(&self, loader: ObjId) -> Option<u64> {
        let State::Loader(state) = &self.rehearsal.heap.get(loader).state else { return None };
        bytes_of(&state.batch).and_then(|bytes| u64::try_from(bytes).ok())
    }

    /// A shape in words, `[10,000,000, 10]`.
    pub(crate) fn shape(&self, tensor: &Tensor) -> String {
        let size = |size: &Int| match size {
            Int::Known(value) => units::count(*value),
            other => match other.as_symbol().and_then(|symbol| self.rehearsal.symbols.get(symbol.0 as usize))
            {
                Some(name) => name.to_string(),
                None => "?".to_owned(),
            },
        };
        let sizes: Vec<String> = tensor.shape.iter().flat_map(|shape| shape.iter()).map(size).collect();
        format!("[{}]", sizes.join(", "))
    }
}

fn bytes_of(value: &Value) -> Option<i64> {
    match value {
        Value::Tensor(tensor) => tensor.bytes(),
        Value::Tuple(items) => items.iter().map(bytes_of).sum(),
        _ => None,
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
