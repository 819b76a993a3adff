//! Data that a framework trains with, against what the model was laid out for and against what it gives.

use super::faults::Fault;
use super::losses::{self, without_one};
use super::misfits::{Subject, observe};
use super::needs::Broken;
use crate::interp::{FitCall, ForwardCall, Interp, LayerCall};
use crate::report::Confidence;
use crate::trace::CompiledLoss;
use crate::values::{Int, Shape, Tensor, Value};
use std::rc::Rc;

/// `model.fit(x, y)`
pub(super) fn fitted(cx: &mut Interp<'_>, fit: &FitCall<'_>) {
    let taught = || fit.losses.iter().find_map(|(loss, target)| untaught(loss, target));
    let found = undeclared(fit.declared, fit.input).or_else(taught);
    if let Some(found) = found {
        observe(cx, fit.call.place, Subject::Function(fit.call.api.name), found, Confidence::High);
    }
}

/// `model(x)` of a model that was laid out for something else.
pub(super) fn called(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let Some(input) = forward.call.values().next().cloned() else { return };
    let Some(declared) = cx.declared_input(forward.module) else { return };
    if let Some(found) = undeclared(Some(&declared), &input) {
        let written = last_part(&cx.class_name(forward.module));
        let made = cx.heap.get(forward.module).site;
        observe(cx, forward.call.place, Subject::Layer { written, made }, found, Confidence::High);
    }
}

fn last_part(name: &str) -> Rc<str> {
    Rc::from(name.rsplit('.').next().unwrap_or(name))
}

/// Images for a model from elsewhere.
pub(super) fn pictured(cx: &mut Interp<'_>, layer: &LayerCall<'_>) {
    let Some((wants, made_by)) = cx.channels_of(layer.layer) else { return };
    let Some(input) = layer.call.values().next().and_then(Value::as_tensor).cloned() else { return };
    let Some([_, gets, _, _]) = input.shape.as_deref() else { return };
    if gets.surely_differs(&wants) {
        let fault = Fault::Size { gets: gets.clone(), wants, unit: "channels" };
        let here = cx.heap.get(layer.layer);
        let subject = Subject::Layer { written: last_part(&made_by), made: here.site };
        let sure = here.confidence;
        observe(cx, layer.call.place, subject, Broken { fault, input, other: None, argument: None }, sure);
    }
}

/// Data that a model was not laid out for. How long texts and how large images are, models may leave open.
fn undeclared(declared: Option<&Tensor>, input: &Value) -> Option<Broken> {
    let (declared, input) = (declared?.shape.as_deref()?, input.as_tensor()?);
    let given = input.shape.as_deref()?;
    let (wants, gets) = (without_one(declared, given.len()), without_one(given, declared.len()));
    let apart = wants.last()?.surely_differs(gets.last()?) && wants.len() > 1;
    let wrong = wants.len() != gets.len() || apart;
    let fault = Fault::Trailing { wants: declared[1..].to_vec() };
    wrong.then(|| Broken { fault, input: input.clone(), other: None, argument: None })
}

/// Targets that do not fit what the model gives.
fn untaught(loss: &CompiledLoss, target: &Value) -> Option<Broken> {
    let (output, target) = (loss.output.as_tensor()?, target.as_tensor()?);
    let batch = output.shape.as_deref()?.first()?.clone();
    let shape = target.shape.as_deref()?.split_first().map(|(_, sample)| with(batch, sample));
    let target = Rc::new((**target).clone().with_shape(shape));
    let fault = losses::broken(&loss.spec, output, &target)?;
    Some(Broken { fault, input: output.clone(), other: Some(target), argument: None })
}

fn with(batch: Int, sample: &[Int]) -> Shape {
    std::iter::once(batch).chain(sample.iter().cloned()).collect()
}
