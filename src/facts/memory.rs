//! What stays in memory: data on the GPU, whole datasets as batches, graphs that outlive their iteration.

use super::{Script, once, units};
use crate::report::{Place, Severity};
use crate::trace::{At, Carry, LoopId, Over, Sight};
use crate::values::{Graph, Int, Mode, ObjId, Source, State, Tensor, Value};
use std::rc::Rc;

/// Samples from which a batch of all of them is worth a warning.
const MANY_SAMPLES: i64 = 100_000;
/// Fewer rows are a batch or a table, not a dataset.
const FEW_ROWS: i64 = 1_000;

pub struct ResidentData {
    pub at: At,
    pub bytes: u64,
    pub shape: String,
    pub dtype: &'static str,
    pub made: Option<Place>,
}

pub struct FullBatch {
    pub at: At,
    pub severity: Severity,
    pub samples: Option<i64>,
    pub bytes: Option<u64>,
    pub length_place: Option<Place>,
    pub origin: Option<(Place, String)>,
}

pub struct RetainedGraph {
    pub at: At,
    pub into: Rc<str>,
    pub by: Carry,
    pub container: Option<Place>,
    /// A backward has walked graphs of the same model.
    pub is_walked: bool,
}

pub struct IdleGraph {
    pub at: At,
    pub module: Rc<str>,
}

impl Script<'_> {
    pub fn resident_data(&self) -> Vec<ResidentData> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Resident { tensor, .. } = sight else { continue };
            if !at.loops.is_empty() || tensor.source != Source::Data || !once(&mut seen, at.place) {
                continue;
            }
            let rows = tensor.shape.as_ref().and_then(|shape| shape.first()?.known()).unwrap_or(0);
            let (Some(bytes), Some(dtype)) =
                (tensor.bytes().and_then(|bytes| u64::try_from(bytes).ok()), tensor.dtype)
            else {
                continue;
            };
            if rows < FEW_ROWS {
                continue;
            }
            found.push(ResidentData {
                at: at.clone(),
                bytes,
                shape: self.shape(tensor),
                dtype: dtype.name(),
                made: tensor.made.filter(|made| *made != at.place),
            });
        }
        found
    }

    pub fn full_batches(&self) -> Vec<FullBatch> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let batch = match sight {
                Sight::Loader { loader, length, length_place, batch_size, batch_place, .. } => {
                    if !self.feeds_training(*loader) {
                        continue;
                    }
                    let bytes = self.batch_bytes(*loader);
                    self.full_batch(at, *batch_place, length, *length_place, batch_size, bytes)
                }
                Sight::Fit { batch_size, batch_place: Some(place), length, data, .. } => {
                    let bytes = data
                        .as_tensor()
                        .and_then(|tensor| tensor.bytes())
                        .and_then(|bytes| u64::try_from(bytes).ok());
                    self.full_batch(at, *place, length, None, batch_size, bytes)
                }
                Sight::Forward(forward) => self.whole_forward(at, forward),
                _ => continue,
            };
            if let Some(batch) = batch
                && once(&mut seen, batch.at.place)
            {
                found.push(batch);
            }
        }
        found
    }

    /// A batch size that equals the number of samples.
    fn full_batch(
        &self,
        at: &At,
        place: Place,
        length: &Int,
        length_place: Option<Place>,
        batch_size: &Value,
        bytes: Option<u64>,
    ) -> Option<FullBatch> {
        let size = batch_size.as_int()?;
        let samples = match (size, length) {
            (Int::Known(size), Int::Known(length)) if *length > 1 && size >= length => Some(*length),
            (Int::Sum(_), Int::Sum(_)) if size == length => None,
            _ => return None,
        };
        let large = samples.is_none_or(|samples| samples >= MANY_SAMPLES);
        let small = if large { Severity::Warning } else { Severity::Note };
        let severity = bytes.map_or(small, |bytes| self.severity_of_size(bytes, small));
        let origin = batch_size.origin().filter(|origin| origin.place != place).map(|origin| {
            let value = size.known().map_or(String::new(), |size| format!(" = {}", units::count(size)));
            (origin.place, format!("`{}`{value}", origin.name))
        });
        Some(FullBatch { at: At { place, ..at.clone() }, severity, samples, bytes, length_place, origin })
    }

    /// A training step whose input is the same large tensor in every iteration.
    fn whole_forward(&self, at: &At, forward: &crate::trace::Forward) -> Option<FullBatch> {
        let input = forward.input.as_ref()?;
        let innermost = at.loops.last()?;
        let info = self.rehearsal.loop_info(*innermost);
        if !matches!(info.over, Over::Counter) || !self.trains_in(*innermost) || input.source != Source::Data
        {
            return None;
        }
        let samples = input.shape.as_ref()?.first()?.known()?;
        let outside = input.born < info.first;
        let bytes = u64::try_from(input.bytes()?).ok()?;
        let notable =
            samples >= MANY_SAMPLES || self.severity_of_size(bytes, Severity::Note) > Severity::Note;
        if !outside || input.rank()? < 2 || samples < FEW_ROWS {
            return None;
        }
        Some(FullBatch {
            at: at.clone(),
            severity: if notable { self.severity_of_size(bytes, Severity::Warning) } else { Severity::Note },
            samples: Some(samples),
            bytes: Some(bytes),
            length_place: input.made,
            origin: None,
        })
    }

    /// Whether a training step runs on what a loader yields.
    fn feeds_training(&self, loader: ObjId) -> bool {
        let over =
            |id: &LoopId| matches!(self.rehearsal.loop_info(*id).over, Over::Loader(over) if over == loader);
        self.sightings()
            .any(|(at, sight)| matches!(sight, Sight::Backward { .. }) && at.loops.iter().any(over))
    }

    fn batch_bytes(&self, loader: ObjId) -> Option<u64> {
        let State::Loader(state) = &self.rehearsal.heap.get(loader).state else { return None };
        fn bytes(value: &Value) -> Option<i64> {
            match value {
                Value::Tensor(tensor) => tensor.bytes(),
                Value::Tuple(items) => items.iter().map(bytes).sum(),
                _ => None,
            }
        }
        bytes(&state.batch).and_then(|bytes| u64::try_from(bytes).ok())
    }

    pub fn retained_graphs(&self) -> Vec<RetainedGraph> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Carried { id, into, into_place, by, outlives, value } = sight else { continue };
            if self.rehearsal.consumed.contains(id) || !once(&mut seen, at.place) {
                continue;
            }
            let Graph::Live(nodes) = &value.graph else { continue };
            if nodes.leaves.is_empty() {
                continue;
            }
            if !at
                .loops
                .iter()
                .skip(*outlives)
                .any(|outlived| self.trains_in(*outlived) || self.evaluates_in(*outlived))
            {
                continue;
            }
            let is_walked = nodes.leaves.iter().any(|leaf| self.rehearsal.walked.contains(leaf));
            found.push(RetainedGraph {
                at: at.clone(),
                into: into.clone(),
                by: *by,
                container: *into_place,
                is_walked,
            });
        }
        found
    }

    /// Whether a loop calls models on the batches of a loader, or in evaluation mode.
    fn evaluates_in(&self, id: LoopId) -> bool {
        let loaded = matches!(self.rehearsal.loop_info(id).over, Over::Loader(_));
        self.sightings().any(|(at, sight)| match sight {
            Sight::Forward(forward) => at.loops.contains(&id) && (loaded || forward.mode == Mode::Eval),
            _ => false,
        })
    }

    pub fn idle_graphs(&self) -> Vec<IdleGraph> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Forward(forward) = sight else { continue };
            let records = forward.grad == Some(true) && forward.learns && is_live(&forward.output);
            let unused = !self.rehearsal.consumed.contains(&forward.graph);
            let looped = !at.loops.is_empty();
            if forward.mode == Mode::Eval && records && unused && looped && once(&mut seen, at.place) {
                found.push(IdleGraph { at: at.clone(), module: forward.name.clone() });
            }
        }
        found
    }

    /// A shape in words, `[10,000,000, 10]`.
    pub(super) fn shape(&self, tensor: &Tensor) -> String {
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

fn is_live(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.graph.is_live(),
        Value::Tuple(items) => items.iter().any(is_live),
        _ => false,
    }
}
