//! Comparisons of what a model gave with what it should have given, and choices of the likeliest: they tell an evaluation;
//! and who sets the mode in which it runs.

use crate::apis::{Slot, Transfer};
use crate::interp::{
    ApiResult, AppliedLayer, Checker, ForwardCall, Interp, TensorCompare, UnknownMethod, Unpacked,
};
use crate::report::{Confidence, Place};
use crate::values::{Relation, Source, Tensor, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_tensor_compare: Some(compared),
    on_layer_applied: Some(judged),
    on_api_result: Some(decided),
    on_unpack: Some(told_apart),
    on_forward: Some(run_by_model),
    on_unknown_method: Some(handed),
    ..Checker::SILENT
};

/// What a model gave was compared with something that no model gave.
pub(super) struct Scored;

/// A criterion that nobody sees into gets what a model gave.
pub(super) struct Judged(pub Rc<Tensor>);

/// The likeliest of what a model gave was chosen.
pub(super) struct Decided;

/// Where the likeliest was chosen.
#[derive(Default)]
struct Chosen(FxHashSet<Place>);

/// A method of a model ran it.
pub(super) struct RanByMethod;

/// A method of a model runs another forward.
pub(super) struct WithinModel {
    /// An engine calls the method, and sets the mode.
    pub by_engine: bool,
}

fn run_by_model(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let outermost = cx.running_modules().next();
    if let Some(model) = outermost {
        let by_engine = cx.supposed.seeded.is_some() && cx.is_owned(model);
        cx.observe(forward.call.place, WithinModel { by_engine }, Confidence::High);
    }
}

fn decided(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let call = result.call;
    let decides = match call.api.transfer() {
        Some(Transfer::Argmax) => is_by_model(&call.nth(0)),
        // Each token is the likeliest, unless it is drawn.
        Some(Transfer::Generated) => cx.truth(&call.operand(Slot::Flag)) == Some(false),
        _ => false,
    };
    if decides {
        cx.observe(call.place, Decided, Confidence::High);
        cx.remember(|chosen: &mut Chosen| chosen.0.insert(call.place));
    }
    if call.api.transfer() == Some(Transfer::Generated) {
        cx.observe(call.place, RanByMethod, Confidence::High);
    }
}

/// `_, predicted = torch.max(scores, 1)`: where the largest is gets a name.
fn told_apart(cx: &mut Interp<'_>, unpacked: &Unpacked<'_>) {
    let Value::Tuple(values) = unpacked.value.bare() else { return };
    let [_, Value::Tensor(positions)] = &**values else { return };
    let Some(Relation::PlaceOfLargest(scores)) = positions.relation.as_deref() else { return };
    let is_named = !cx.words(unpacked.place).trim_end_matches([')', ']']).ends_with(", _");
    if is_named && is_by_model(&Value::Tensor(scores.clone())) {
        cx.observe(unpacked.place, Decided, Confidence::High);
        cx.remember(|chosen: &mut Chosen| chosen.0.extend(positions.made));
    }
}

/// `metric.add_batch(predictions=predictions, references=labels)`: what was chosen, and something that no model gave.
fn handed(cx: &mut Interp<'_>, method: &UnknownMethod<'_>) {
    let made = |value: &Value| value.as_tensor().and_then(|tensor| tensor.made);
    let (choices, others): (Vec<&Value>, Vec<&Value>) = cx.remember(|chosen: &mut Chosen| {
        method.call.values().partition(|value| made(value).is_some_and(|made| chosen.0.contains(&made)))
    });
    let may_be_labels =
        |value: &&Value| !is_by_model(value) && (value.is_unknown() || value.as_tensor().is_some());
    if !choices.is_empty() && others.iter().any(may_be_labels) {
        cx.observe(method.call.place, Scored, Confidence::High);
    }
}

fn compared(cx: &mut Interp<'_>, compare: &TensorCompare<'_>) {
    let (left, right) = (compare.left, compare.right);
    // What a model compares with a number itself chooses a token or an expert.
    let in_model = cx.running_modules().next().is_some();
    let is_held_against = |value: &Value| {
        let is_number = || value.as_num().is_some() && !in_model;
        value.is_unknown() || value.as_tensor().is_some() || is_number()
    };
    if is_by_model(left) != is_by_model(right) && is_held_against(left) && is_held_against(right) {
        cx.observe(compare.place, Scored, Confidence::High);
    }
}

fn judged(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    let (call, is_criterion) = (applied.call, applied.transfer == Transfer::CriterionResult);
    let input = call.rest.iter().find(|value| is_by_model(value)).and_then(Value::as_tensor);
    if let Some(input) = input.filter(|_| is_criterion).cloned() {
        cx.observe(call.place, Judged(input), Confidence::High);
    }
}

fn is_by_model(value: &Value) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.learned || tensor.source == Source::Output)
}
