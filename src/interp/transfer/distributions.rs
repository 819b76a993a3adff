//! Distributions: what they draw and what they say of a value, in the shape that their parameters give.

use super::build::*;
use super::elementwise::{MOST_WITHIN, broadcast_all, computed_of, last_of_all, parameters_within};
use super::factory::shape_of;
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::values::*;
use std::rc::Rc;

/// What one draw is made of.
#[derive(Clone, Copy, PartialEq)]
enum Event {
    /// A number for each of the parameters.
    Each,
    /// A category, of which the last dimension has the probabilities.
    Category,
}

/// `dist-sample x shape word`: drawn numbers without graph.
pub(crate) fn drawn(interp: &mut Interp, call: &Invocation) -> Value {
    let shape = drawn_shape(interp, call);
    let dtype = (event_of(call) == Some(Event::Category)).then_some(DType::Int64);
    let sample = Tensor { source: Source::Data, ..some_tensor(interp, call.place) };
    Value::tensor(Tensor { graph: Graph::None, dtype, ..sample }.with_shape(shape))
}

/// `dist-rsample x shape word`: drawn numbers with the graph of the distribution's parameters.
pub(crate) fn redrawn(interp: &mut Interp, call: &Invocation) -> Value {
    let shape = drawn_shape(interp, call);
    let parameters = tensors_of(interp, &parameters_within(interp, &call.nth(0), MOST_WITHIN));
    let graphs = parameters.iter().map(|parameter| &parameter.graph);
    let graph = graphs.fold(Graph::None, |all, graph| all.union(graph));
    let graph = graph_here(interp.ambient.grad, None, &graph);
    Value::tensor(Tensor { learned: true, graph, ..some_tensor(interp, call.place) }.with_shape(shape))
}

/// `dist-of x word y`: one number for each draw, such as its logarithmic probability.
pub(crate) fn of_each(interp: &mut Interp, call: &Invocation) -> Value {
    let batch = batch_shape(interp, call);
    let asked = given(call, Slot::Y);
    let shape = match &asked {
        Some(value) => {
            let asked = tensor_of(interp, value).shape.clone();
            batch.and_then(|batch| broadcast_all([asked.as_ref(), Some(&batch)].into_iter()))
        }
        None => batch,
    };
    let of: Vec<Value> = std::iter::once(call.nth(0)).chain(asked).collect();
    let last = (event_of(call) == Some(Event::Each)).then(|| last_of_each(interp, &of)).flatten();
    let result = computed_of(interp, call.place, of).with_shape(shape);
    Value::tensor(Tensor { last: last.filter(|_| result.shape.is_none()), ..result })
}

/// The last size of as many numbers as the parameters of distributions, and what is asked for, stand for.
fn last_of_each(interp: &Interp, of: &[Value]) -> Option<Int> {
    let within = of.iter().flat_map(|value| parameters_within(interp, value, MOST_WITHIN));
    let tensors: Vec<Value> = within.filter(|value| value.as_num().is_none()).collect();
    last_of_all(tensors.iter().map(|value| value.as_tensor()?.last_size()))
}

fn event_of(call: &Invocation) -> Option<Event> {
    match call.operand(Slot::Word).as_str()? {
        "each" => Some(Event::Each),
        "category" => Some(Event::Category),
        _ => None,
    }
}

/// The size that is asked for, and in it one draw for each of the distribution's parameters.
fn drawn_shape(interp: &Interp, call: &Invocation) -> Option<Shape> {
    let batch = batch_shape(interp, call)?;
    let Some(size) = given(call, Slot::Shape) else { return Some(batch) };
    let size = shape_of(interp, &size)?;
    Some(size.iter().chain(batch.iter()).cloned().collect())
}

/// How many draws the parameters stand for, where the class says what one draw is.
fn batch_shape(interp: &Interp, call: &Invocation) -> Option<Shape> {
    let event = event_of(call)?;
    let distribution = interp.heap.get(call.nth(0).as_obj()?);
    let ClassRef::Api(class) = distribution.class else { return None };
    let params = interp.apis.get(class)?.params.iter();
    // Flags are no parameters of the numbers.
    let given: Vec<&Value> = params
        .filter_map(|param| distribution.attr(param.name))
        .filter(|value| !matches!(value, Value::None | Value::Bool(_)))
        .collect();
    let shapes: Option<Vec<Shape>> = given.iter().map(|value| shape_of_parameter(value)).collect();
    let all = broadcast_all(shapes?.iter().map(Some))?;
    match event {
        Event::Each => Some(all),
        Event::Category => all.split_last().map(|(_, batch)| Rc::from(batch)),
    }
}

fn shape_of_parameter(value: &Value) -> Option<Shape> {
    match value.bare() {
        Value::Tensor(tensor) => tensor.shape.clone(),
        number => number.as_num().map(|_| Rc::from([])),
    }
}
