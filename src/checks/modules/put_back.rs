//! State dicts that are loaded into the model that they are of, after it was trained on: they hold its weights of now.

use crate::apis::{Transfer, Verb};
use crate::facts::Script;
use crate::interp::{ApiResult, Checker, Declared, Interp};
use crate::report::{Confidence, Place};
use crate::trace::{At, LoopId};
use crate::values::{DeviceForm, Note, Object, State, Value};

/// The model whose weights a dictionary refers to.
const STATE_OF: Note = Note::new("state of");
/// Where that model was.
const TAKEN_ON: Note = Note::new("taken on");
/// How many backward passes there were before.
const TAKEN_AFTER: Note = Note::new("taken after");

/// Backward passes so far.
#[derive(Default)]
struct Passes(i64);

pub(super) static CHECKER: Checker = Checker {
    on_effect: Some(restored),
    on_api_result: Some(given),
    on_backward: Some(|cx, _| cx.remember(|passes: &mut Passes| passes.0 += 1)),
    ..Checker::SILENT
};

/// A model gave references to its weights.
struct Taken;

/// A model was given the references that it had given.
struct PutBack {
    taken: Place,
    /// There were backward passes in between.
    trained: bool,
    /// The pass of a loop in which the model was made.
    made: u32,
}

fn given(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let call = result.call;
    let (Some(Transfer::StateDict), Some(state)) = (call.api.transfer(), result.value.as_obj()) else {
        return;
    };
    let model = call.nth(0);
    if let Some(module) = model.as_obj().filter(|model| cx.heap.get(*model).module().is_some()) {
        let passes = passes(cx);
        let device = cx.device_of_module(module);
        cx.heap.note(state, STATE_OF, model);
        cx.heap.note(state, TAKEN_ON, Value::Device(device, DeviceForm::Unsure));
        cx.heap.note(state, TAKEN_AFTER, Value::int(passes));
        cx.observe(call.place, Taken, Confidence::High);
    }
}

fn restored(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Restore {
        return;
    }
    let (Some(model), Some(state)) = (declared.arg(0).as_obj(), declared.arg(1).as_obj()) else { return };
    let here = cx.heap.get(state);
    let made = cx.heap.get(model).epoch;
    // What an earlier iteration has made is another model.
    if here.noted(STATE_OF).and_then(Value::as_obj) != Some(model) || made > here.epoch {
        return;
    }
    // A model that is moved gets other storage, and leaves the old one to who holds it.
    let on = Value::Device(cx.device_of_module(model), DeviceForm::Unsure);
    if !holds_what_was_given(here) || here.noted(TAKEN_ON).is_none_or(|taken| !taken.same(&on)) {
        return;
    }
    let (taken, before) = (here.site, here.noted(TAKEN_AFTER).and_then(Value::as_known_int));
    let trained = before.is_some_and(|before| before < passes(cx));
    cx.observe(declared.call.place, PutBack { taken, trained, made }, Confidence::High);
}

/// Nothing was written over the references that a model gave.
fn holds_what_was_given(state: &Object) -> bool {
    let State::Dict(entries) = &state.state else { return false };
    let made = entries.other.as_ref().and_then(|entry| entry.as_tensor()?.made);
    entries.known.is_empty() && made == Some(state.site)
}

fn passes(cx: &mut Interp<'_>) -> i64 {
    cx.remember(|passes: &mut Passes| passes.0)
}

/// Where a state dict was taken and where it is put back, with training between the two.
pub(super) fn after_training<'s>(script: &'s Script<'_>) -> Vec<(&'s At, Place)> {
    let mut found: Vec<(&At, Place)> = Vec::new();
    for (put, back) in script.observed::<PutBack>() {
        let taken = script.observed::<Taken>().map(|(at, _)| at);
        let taken = taken.filter(|at| at.place == back.taken && at.seeded == put.seeded);
        let mut trained =
            taken.filter(|taken| back.trained || is_one_of_several(script, taken, put, back.made));
        found.extend(trained.next().map(|taken| (taken, put.place)));
    }
    found
}

/// Whether a loop that trains takes one state an iteration, and a later loop puts each back: of all but the last, the
/// weights are gone.
fn is_one_of_several(script: &Script, taken: &At, put: &At, made: u32) -> bool {
    let trains = |id: &LoopId| {
        script.trains_in(*id) && !put.loops.contains(id) && made < script.rehearsal.loop_info(*id).first
    };
    !put.loops.is_empty() && taken.loops.iter().any(trains)
}
