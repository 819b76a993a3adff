//! Statistics of a single number: a normalisation that fails, a deviation that is NaN.

use super::operations::{Fault, unsafe_operations};
use crate::apis::PoleKind;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{AppliedLayer, Checker, Interp, LoaderCall};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::{ExprId, StmtKind};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{Int, Mode, Tensor, Value, int};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "single-sample-statistics",
    summary: "standard deviation or batch norm of a single sample",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("single-sample-statistics"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_layer_applied: Some(normalised), on_loader_call: Some(loaded), ..Checker::SILENT };

/// A layer in training took the statistics of one number a channel.
struct SingleSample {
    input: Rc<Tensor>,
}

/// A layer in training took the statistics of so many numbers a channel.
struct OfBatch {
    numbers: i64,
}

/// A loader that goes through all of its dataset keeps the rest that fills no batch.
struct KeepsRest;

fn loaded(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    let call = loader.call;
    let draws = matches!(call.get("batch_sampler").bare(), Value::None);
    if draws && loader.sample_order.unsampled && cx.truth(&call.get("drop_last")) == Some(false) {
        cx.observe(call.place, KeepsRest, Confidence::High);
    }
}

/// A layer that normalises by the statistics of a batch, in training: with one number a channel it fails.
fn normalised(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    let call = applied.call;
    let normalises = call.api.pole.as_ref().is_some_and(|pole| pole.verb == PoleKind::Moments);
    let mode = cx.heap.get(applied.layer).module().map(|module| module.mode);
    if !normalises || mode != Some(Mode::Train) {
        return;
    }
    let Some(input) = call.nth_tensor(0) else { return };
    let Some(shape) = input.shape.as_deref().filter(|shape| shape.len() >= 2) else { return };
    let others = shape.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, size)| size);
    let confidence = input.confidence.min(Confidence::Medium);
    match int::product(others) {
        Int::Known(1) => cx.observe(call.place, SingleSample { input }, confidence),
        Int::Known(numbers) => cx.observe(call.place, OfBatch { numbers }, confidence),
        _ => {}
    }
}

/// Loaders of which the last batch is a single sample, for a layer that normalises by the batch: with the place of the
/// layer, and how many samples there are and fill a batch.
fn single_rests<'s>(script: &'s Script<'s>) -> impl Iterator<Item = (At, Place, i64, i64)> + 's {
    let keeps_rest = |at: &At| script.observed::<KeepsRest>().any(|(other, _)| other.place == at.place);
    script.sightings().filter_map(move |(at, sight)| {
        let Sight::Loader { loader, length, batch_size, .. } = sight else { return None };
        let (samples, size) = (length.known()?, batch_size.as_known_int()?);
        if size < 2 || samples <= size || samples % size != 1 || !keeps_rest(at) {
            return None;
        }
        let goes_through = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(over) if over == *loader);
        let mut layers = script.observed::<OfBatch>();
        let (layer, _) =
            layers.find(|(at, of)| of.numbers == size && at.loops.last().is_some_and(goes_through))?;
        if layer.loops.last().is_some_and(|id| looks_after_rest(script, *id)) {
            return None;
        }
        let at = At { confidence: at.confidence.min(layer.confidence), ..at.clone() };
        Some((at, layer.place, samples, size))
    })
}

/// Whether a loop may end before the last batch, leaves one out, or asks for the size of one.
fn looks_after_rest(script: &Script, id: LoopId) -> bool {
    let place = script.rehearsal.loop_info(id).place;
    let draft = script.draft(place.file);
    let asks = |test: &ExprId| {
        let written = draft.written(*test);
        ["len(", "shape", "size"].iter().any(|word| written.contains(word))
    };
    draft.statements_within(place.span).any(|stmt| match stmt {
        StmtKind::Break | StmtKind::Continue => true,
        StmtKind::If { arms, .. } => arms.iter().any(|(test, _)| asks(test)),
        _ => false,
    })
}

fn check(script: &Script, out: &mut Findings) {
    for (at, SingleSample { input }) in script.observed_once() {
        let shape = script.shape(input);
        let finding = script
            .finding(RULE.id, Severity::Error, at, format!("batch norm in training mode gets one value per channel for input {shape}"))
            .note("the layer raises `Expected more than 1 value per channel when training`")
            .help("train on batches of more than one sample, call `model.eval()` for single samples, or use `GroupNorm` or `LayerNorm`");
        out.push(finding, at);
    }
    let mut seen = Places::default();
    for (at, layer, samples, size) in single_rests(script) {
        if !seen.insert(at.place) {
            continue;
        }
        let message = format!("the last batch is a single sample: {samples} samples in batches of {size}");
        let mut finding = script
            .finding(RULE.id, Severity::Error, &at, message)
            .note("batch norm raises `Expected more than 1 value per channel when training` at the end of the epoch")
            .help("pass `drop_last=True`, or choose another batch size");
        if let Some(layer) = at.beside(Some(layer)) {
            finding = finding.because(layer, "normalises by the statistics of the batch");
        }
        out.push(finding, &at);
    }
    for number in unsafe_operations(script, Fault::SingleSample) {
        let finding = number
            .finding(script, RULE.id, Severity::Error, "the standard deviation of a single value is NaN")
            .note("the sum of squares is divided by N - 1, which is zero for a single element")
            .help("compute it over a dimension with more than one element, or pass `correction=0`");
        out.push(finding, &number.at);
    }
}
