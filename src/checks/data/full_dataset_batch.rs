//! A batch that is the whole dataset.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{FEW_ROWS, Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{Fix, Place, Severity, units};
use crate::trace::{At, Forward, LoopId, Over, Sight};
use crate::values::{Graph, Int, ObjId, Source, State, Value};
use rustc_hash::FxHashSet;

pub(super) static RULE: Rule = Rule {
    id: "full-dataset-batch",
    summary: "one batch holds the whole dataset",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("full-dataset-batch"),
    check,
};

/// Samples from which a batch of all of them is worth a warning.
const MANY_SAMPLES: i64 = 100_000;

/// A batch of all samples.
struct FullBatch {
    at: At,
    severity: Severity,
    samples: Option<i64>,
    bytes: Option<u64>,
    /// What the layers keep of it for the way back, at least.
    kept: u64,
    /// Where the samples come from.
    length_place: Option<Place>,
    /// Where the size of the batch was written, and in which words.
    origin: Option<(Place, String)>,
}

fn check(script: &Script, out: &mut Findings) {
    for batch in full_batches(script) {
        let mut finding =
            script.finding(RULE.id, batch.severity, &batch.at, "one batch holds the whole dataset");
        if let Some(place) = batch.length_place {
            let samples =
                batch.samples.map_or("all samples".to_owned(), |n| format!("{} samples", units::count(n)));
            finding = finding.because(place, samples);
        }
        if let Some((place, text)) = &batch.origin {
            finding = finding.because(*place, text.clone());
        }
        if let Some(bytes) = batch.bytes {
            let kept = match batch.kept {
                0 => String::new(),
                kept => format!(" and stores at least {} of activations", units::bytes(kept)),
            };
            let demand = Demand {
                samples: batch.samples.and_then(|samples| u64::try_from(samples).ok()),
                ..Demand::of("the batch, with its activations,", bytes.saturating_add(batch.kept))
            };
            finding = finding.note(format!("each step moves {}{kept}", units::bytes(bytes)));
            finding = finding.replay(Replay::Memory(demand));
        }
        let updates = match batch.samples {
            Some(samples) => {
                format!("`batch_size=256` gives {} updates per epoch", units::count((samples + 255) / 256))
            }
            None => "a batch size such as 256 gives many updates per epoch".to_owned(),
        };
        let is_large = batch.samples.is_none_or(|samples| samples > 256);
        let fix = script.another_number(batch.at.place, "256").filter(|_| is_large);
        let finding = finding.fix(fix.map(|edits| Fix::guess("use a batch size of 256", edits)));
        out.push(finding.note("the model is updated only once per epoch").help(updates), &batch.at);
    }
}

/// The batches of all samples that a script trains on.
fn full_batches(script: &Script) -> Vec<FullBatch> {
    let mut seen = FxHashSet::default();
    let batches = script.sightings().filter_map(|(at, sight)| full_batch_of(script, at, sight));
    batches.filter(|batch| seen.insert(batch.at.place)).collect()
}

fn full_batch_of(script: &Script, at: &At, sight: &Sight) -> Option<FullBatch> {
    match sight {
        Sight::Loader { loader, length, length_place, batch_size, batch_place, .. } => {
            if !script.feeds_training(*loader) {
                return None;
            }
            let step = (batch_bytes(script, *loader), kept_over(script, *loader));
            full_batch(script, at, *batch_place, (length, *length_place), batch_size, step)
        }
        Sight::Fit { batch_size, batch_place: Some(place), length, data, kept, .. } => {
            let bytes = data.as_tensor().and_then(|tensor| tensor.bytes());
            let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
            full_batch(script, at, *place, (length, None), batch_size, (bytes, *kept))
        }
        Sight::Forward(forward) => whole_forward(script, at, forward),
        _ => None,
    }
}

/// A batch size that equals the number of samples, or is larger.
fn full_batch(
    script: &Script,
    at: &At,
    place: Place,
    (length, length_place): (&Int, Option<Place>),
    batch_size: &Value,
    (bytes, kept): (Option<u64>, u64),
) -> Option<FullBatch> {
    let size = batch_size.as_int()?;
    let samples = match (size, length) {
        (Int::Sum(_), Int::Sum(_)) if size == length => None,
        (size, length) if length.known()? > 1 && size.known()? >= length.known()? => length.known(),
        _ => return None,
    };
    let large = samples.is_none_or(|samples| samples >= MANY_SAMPLES);
    let small = if large { Severity::Warning } else { Severity::Note };
    let severity = script.severity_of_size(bytes.unwrap_or(0).saturating_add(kept), small);
    let origin = batch_size.origin().filter(|origin| origin.place != place).map(|origin| {
        let value = size.known().map_or(String::new(), |size| format!(" = {}", units::count(size)));
        (origin.place, format!("`{}`{value}", origin.name))
    });
    Some(FullBatch { at: At { place, ..at.clone() }, severity, samples, bytes, kept, length_place, origin })
}

/// A training step whose input is the same large tensor in every iteration.
fn whole_forward(script: &Script, at: &At, forward: &Forward) -> Option<FullBatch> {
    let input = forward.input.as_ref()?;
    let innermost = at.loops.last()?;
    let info = script.rehearsal.loop_info(*innermost);
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
    let outside = at.loops.iter().all(|id| input.created < script.rehearsal.loop_info(*id).first);
    if !outside || input.rank()? < 2 || samples < FEW_ROWS || !script.descends_in(*innermost) {
        return None;
    }
    let bytes = u64::try_from(input.bytes()?).ok()?;
    let small = if samples >= MANY_SAMPLES { Severity::Warning } else { Severity::Note };
    Some(FullBatch {
        at: at.clone(),
        severity: script.severity_of_size(bytes.saturating_add(forward.kept), small),
        samples: Some(samples),
        bytes: Some(bytes),
        kept: forward.kept,
        length_place: input.made,
        origin: None,
    })
}

/// What a forward on a loader's batches keeps, at least.
fn kept_over(script: &Script, loader: ObjId) -> u64 {
    let over = |at: &At| {
        let driven = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(over) if over == loader);
        at.loops.iter().any(driven)
    };
    let kept = script.sightings().filter_map(|(at, sight)| match sight {
        Sight::Forward(forward) if over(at) => Some(forward.kept),
        _ => None,
    });
    kept.max().unwrap_or(0)
}

fn batch_bytes(script: &Script, loader: ObjId) -> Option<u64> {
    let State::Loader(state) = &script.rehearsal.heap.get(loader).state else { return None };
    bytes_of(&state.batch).and_then(|bytes| u64::try_from(bytes).ok())
}

fn bytes_of(value: &Value) -> Option<i64> {
    match value {
        Value::Tensor(tensor) => tensor.bytes(),
        Value::Tuple(items) => items.iter().map(bytes_of).sum(),
        _ => None,
    }
}
