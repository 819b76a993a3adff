//! Gradients in half precision that nothing keeps from becoming zero.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{BackwardCall, Checker, ForwardCall, Interp};
use crate::report::{Place, Severity};
use crate::trace::{At, Effect, visits};
use crate::values::{Autocast, DType, Note, ObjId, Scaled, Value};
use rustc_hash::FxHashMap;

pub(super) static RULE: Rule = Rule {
    id: "half-precision-without-scaler",
    summary: "training under float16 autocast without `GradScaler`",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("half-precision-without-scaler"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_forward: Some(runs), on_backward: Some(walked), ..Checker::SILENT };

/// Of a module: its last forward pass ran in float16.
const HALF: Note = Note::new("ran in float16");

/// Where autocast was switched on for the forward pass of a module.
#[derive(Default)]
struct Autocasts(FxHashMap<ObjId, Place>);

/// A loss is backpropagated as it is.
struct UnscaledLoss {
    autocast: Option<Place>,
}

fn runs(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let surely_half = |autocast: &Autocast| {
        autocast.on == Some(true) && autocast.device.is_gpu() && autocast.dtype == Some(DType::Float16)
    };
    let autocast = cx.autocast().filter(surely_half);
    // What is not written down costs no further pass of a loop.
    if autocast.is_some() || cx.heap.noted(forward.module, HALF).is_some() {
        cx.heap.note(forward.module, HALF, Value::Bool(Some(autocast.is_some())));
    }
    if let Some(place) = autocast.and_then(|autocast| autocast.place) {
        cx.remember(|all: &mut Autocasts| all.0.insert(forward.module, place));
    }
}

fn walked(cx: &mut Interp<'_>, backward: &BackwardCall<'_>) {
    let is_half = |module: &ObjId| {
        let own = !cx.heap.get(*module).module().is_some_and(|module| module.managed);
        own && cx.heap.noted(*module, HALF).and_then(Value::as_bool) == Some(true)
    };
    let Some(module) = backward.leaves.iter().find(is_half) else { return };
    if backward.loss.scaled == Scaled::No {
        let autocast = cx.remember(|all: &mut Autocasts| all.0.get(&module).copied());
        cx.observe(backward.call.place, UnscaledLoss { autocast }, backward.loss.confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    let heap = &script.rehearsal.heap;
    // Gradients that no step applies are only looked at.
    if !script.steps_anywhere() {
        return;
    }
    // Who has a scaler and does not use it here, chooses by something that is not seen.
    if (0..heap.len() as u32).any(|object| heap.get(ObjId(object)).state.is_scaler()) {
        return;
    }
    for (at, loss) in script.observed_once::<UnscaledLoss>() {
        let message = "small gradients become zero: the loss of a float16 forward pass is not scaled";
        // Whoever calls what nothing here calls may have a scaler for it, where the step is not taken here as well.
        if at.seeded.is_some() && !steps_itself(script, at) {
            continue;
        }
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(autocast) = loss.autocast {
            finding = finding.because(autocast, "autocast runs the forward pass in float16");
        }
        out.push(
            finding.note("gradients below 6e-8 underflow to zero in float16").help(
                "scale the loss with `torch.amp.GradScaler`, or pass `dtype=torch.bfloat16` to autocast",
            ),
            at,
        );
    }
}

/// Whether the function without a caller that a backward pass is in takes the step, too.
fn steps_itself(script: &Script, at: &At) -> bool {
    let steps = |effect: &Effect| matches!(effect, Effect::Step { .. });
    let mut own = script.rehearsal.entries.iter().filter(|entry| entry.function == at.seeded);
    own.any(|entry| !visits(&entry.nodes, steps).is_empty())
}
