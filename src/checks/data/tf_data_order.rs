//! Streams whose batches are shuffled, and not the samples in them.

use crate::apis::Transfer;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::trace::Sight;
use crate::values::{Note, ObjId, State, Value};
use rustc_hash::FxHashMap;

pub(super) static RULE: Rule = Rule {
    id: "tf-data-order",
    summary: "a `tf.data` pipeline is shuffled after it was batched",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("tf-data-order"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_api_result: Some(made), ..Checker::SILENT };

/// Of a stream of samples: whether nothing shuffled them.
const IN_ORDER: Note = Note::new("in order before batching");

/// Streams of batches of samples that nobody has shuffled.
#[derive(Default)]
struct Batched(FxHashMap<ObjId, Place>);

/// Batches are put into another order.
struct ShuffledBatches {
    stream: ObjId,
    batched: Place,
}

fn made(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let Some(transfer) = result.call.gives.map(|gives| gives.verb) else { return };
    let source = || result.call.nth(0).as_obj();
    match transfer {
        Transfer::DatasetSlices | Transfer::DatasetRead => {
            // Names that a function looks for come in any order, and so do records of files that a stream gives.
            let reads = transfer == Transfer::DatasetRead;
            let is_ordered = !reads || result.call.api.class.is_some() && !is_stream(cx, &result.call.nth(0));
            if let Some(stream) = result.value.as_obj().filter(|_| is_ordered) {
                cx.heap.note(stream, IN_ORDER, Value::Bool(Some(true)));
            }
        }
        Transfer::DatasetBatch => {
            let (Some(source), Some(stream)) = (source(), result.value.as_obj()) else { return };
            let place = result.call.place;
            // What is shuffled before is shuffled enough, and batches of batches are made of parts of samples.
            let in_order = cx.heap.noted(source, IN_ORDER).and_then(Value::as_bool) == Some(true);
            cx.remember(|batched: &mut Batched| {
                batched.0.remove(&stream);
                batched.0.extend(in_order.then_some((stream, place)));
            });
        }
        // What is made of batches are batches.
        Transfer::DatasetCached | Transfer::DatasetMap | Transfer::DatasetSkip | Transfer::DatasetTake => {
            let (Some(source), Some(stream)) = (source(), result.value.as_obj()) else { return };
            if let Some(held) = cx.heap.noted(source, IN_ORDER).cloned() {
                cx.heap.note(stream, IN_ORDER, held);
            }
            cx.remember(|batched: &mut Batched| {
                let known = batched.0.get(&source).copied();
                batched.0.remove(&stream);
                batched.0.extend(known.map(|place| (stream, place)));
            });
        }
        Transfer::DatasetShuffled => {
            let (Some(source), Some(stream)) = (source(), result.value.as_obj()) else { return };
            cx.heap.note(stream, IN_ORDER, Value::Bool(Some(false)));
            let batched = cx.remember(|batched: &mut Batched| batched.0.get(&source).copied());
            if let Some(batched) = batched {
                cx.observe(result.call.place, ShuffledBatches { stream, batched }, Confidence::High);
            }
        }
        _ => {}
    }
}

fn is_stream(cx: &Interp<'_>, files: &Value) -> bool {
    files.as_obj().is_some_and(|files| !matches!(cx.heap.get(files).state, State::List(_)))
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once_where(|_, seen: &ShuffledBatches| trains_on(script, seen.stream)) {
        let message = "samples are never mixed across batches: batches are shuffled, not the samples in them";
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(batched) = at.beside(Some(seen.batched)) {
            finding = finding.because(batched, "batched here");
        }
        let finding = finding
            .note("each batch holds the same samples in every epoch, as they are stored; the buffer counts batches")
            .help("shuffle first: `.shuffle(buffer_size).batch(batch_size)`");
        out.push(finding, at);
    }
}

/// Whether a model is trained on what a stream gives.
pub(super) fn trains_on(script: &Script, stream: ObjId) -> bool {
    let loader = script.drives(stream);
    let is_it = |sight: &Sight| match sight {
        Sight::Fit { data, .. } => data.as_obj().is_some_and(|data| script.drives(data) == loader),
        _ => false,
    };
    script.feeds_training(loader)
        || script.feeds_training(stream)
        || script.sightings().any(|(_, sight)| is_it(sight))
}
