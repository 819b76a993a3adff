//! Layers: the shapes that linear, convolution, pooling, recurrent and attention layers give.
//! What a layer learns and the graph behind it are the business of the caller.

use super::build::*;
use super::dims::{self, Dims};
use super::windows::per_axis;
use crate::apis::{Mark, Slot};
use crate::interp::{Interp, Invocation};
use crate::report::Confidence;
use crate::values::*;
use std::rc::Rc;

pub(super) fn int(call: &Invocation, slot: Slot) -> Option<Int> {
    param(call, slot).and_then(|value| {
        // Scripts ask for one output whether it is one only, so a default of one says nothing.
        let asked = value.origin().is_some_and(|origin| origin.given) && value.as_known_int() == Some(1);
        if asked { Some(Int::Unknown) } else { value.as_int().cloned() }
    })
}

/// The result of a layer on the first operand.
pub(super) fn layer(interp: &Interp, call: &Invocation, shape: impl FnOnce(&[Int]) -> Option<Dims>) -> Value {
    let input = first(interp, call);
    let shape = input.shape.as_deref().and_then(shape).map(Rc::from);
    Value::tensor(Tensor { shape, ..result(interp, call.place, &[&input]) })
}

/// The same of a layer with weights, which make any number of anything.
pub(super) fn weighted(
    interp: &Interp,
    call: &Invocation,
    shape: impl FnOnce(&[Int]) -> Option<Dims>,
) -> Value {
    match layer(interp, call, shape) {
        Value::Tensor(tensor) => Value::tensor(Tensor {
            range: Some(Interval::REAL),
            mark: Some((Mark::Raw, call.place)),
            hazards: without_overflow(&tensor.hazards, false),
            cast: cast_of_products(interp),
            ..(*tensor).clone()
        }),
        other => other,
    }
}

/// `dense x units activation`: as a linear layer, and what a named activation makes of its numbers.
pub(crate) fn dense(interp: &mut Interp, call: &Invocation) -> Value {
    let value = linear(interp, call);
    activated(call, given(call, Slot::Activation), value)
}

/// `layered x activation`: what a layer makes whose weights no object holds, and an activation of that.
pub(crate) fn layered(interp: &mut Interp, call: &Invocation) -> Value {
    let plain = Tensor {
        range: Some(Interval::REAL),
        mark: Some((Mark::Raw, call.place)),
        graph: Graph::Unknown,
        learned: true,
        source: Source::Output,
        ..result(interp, call.place, &[&first(interp, call)])
    };
    activated(call, given(call, Slot::Activation), Value::tensor(plain))
}

/// What an activation given to a layer, by name or as a function, makes of the layer's numbers.
pub(super) fn activated(call: &Invocation, activation_given: Option<Value>, value: Value) -> Value {
    let (Some(given), Some(tensor)) = (activation_given, value.as_tensor()) else { return value };
    let (mark, range) = activation_name(&given).map_or((None, None), activation);
    Value::tensor(Tensor { mark: mark.map(|mark| (mark, call.place)), range, ..(**tensor).clone() })
}

/// The name of an activation that is given by its name, or as a function of a framework.
pub fn activation_name(given: &Value) -> Option<&str> {
    match given.bare() {
        Value::Str(name) => name.as_deref(),
        Value::Api(name) => name.as_str().rsplit('.').next(),
        _ => None,
    }
}

/// The size of the axis that a softmax runs over, where that is known. Functions name it, layers run over the last.
pub fn softmax_axis_size(call: &Invocation, result: &Tensor) -> Option<Int> {
    let axis = said_axis(call, result)?;
    match &result.shape {
        Some(shape) => Some(shape[dims::normalise_dim(axis, shape.len())?].clone()),
        None if axis == -1 => result.last.clone(),
        None => None,
    }
}

/// The axis that a softmax runs over, of a result whose rank is known.
pub fn softmax_axis(call: &Invocation, result: &Tensor) -> Option<usize> {
    dims::normalise_dim(said_axis(call, result)?, result.rank()?)
}

/// Whether a softmax surely runs over another axis than the last, of so many.
pub fn leaves_out_last(call: &Invocation, result: &Tensor, rank: Option<usize>) -> bool {
    let Some(axis) = said_axis(call, result) else { return false };
    match result.rank().or(rank) {
        // More axes than this are seldom what somebody counts from the front.
        Some(rank) => {
            (rank < 5 || axis < 0) && dims::normalise_dim(axis, rank).is_some_and(|axis| axis + 1 != rank)
        }
        None => axis < -1,
    }
}

fn said_axis(call: &Invocation, result: &Tensor) -> Option<i64> {
    let names = ["dim", "axis"];
    let named = call.api.params.iter().find(|param| names.contains(&param.name.as_str()));
    match named.map(|param| call.get(&param.name)) {
        None => Some(-1),
        // Left out, frameworks disagree about more than matrices.
        Some(Value::None) if result.rank() == Some(2) => Some(-1),
        Some(axis) => axis.as_known_int(),
    }
}

/// What an activation, by its mathematical name, makes of any numbers.
pub fn activation(name: &str) -> (Option<Mark>, Option<Interval>) {
    let unit = Interval::PROBABILITY;
    match name {
        "softmax" => (Some(Mark::Softmax), Some(unit)),
        "log_softmax" => (Some(Mark::LogSoftmax), Some(Interval::closed(f64::NEG_INFINITY, 0.0))),
        "sigmoid" => (Some(Mark::Sigmoid), Some(unit)),
        "tanh" => (Some(Mark::Raw), Some(Interval::REAL.tanh())),
        "relu" => (Some(Mark::Raw), Some(Interval::NON_NEGATIVE)),
        "softplus" | "exponential" => (Some(Mark::Raw), Some(Interval::POSITIVE)),
        "linear" => (Some(Mark::Raw), Some(Interval::REAL)),
        "elu" | "gelu" | "leaky_relu" | "mish" | "relu6" | "selu" | "silu" | "swish" => {
            (Some(Mark::Raw), None)
        }
        _ => (None, None),
    }
}

/// `linear x out_features`: another last size.
pub(crate) fn linear(interp: &mut Interp, call: &Invocation) -> Value {
    let out = int(call, Slot::OutFeatures).unwrap_or_default();
    let fits = named(call, "in_features").is_none_or(|size| takes(&size, first(interp, call).last_size()));
    let last = Some(out.clone()).filter(|out| !out.is_unknown());
    match weighted(interp, call, |shape| dims::replace(shape, -1, out).filter(|_| fits)) {
        Value::Tensor(tensor) => {
            let confidence = sure_of_last(interp, &tensor, &tensor);
            Value::tensor(Tensor { last, confidence, ..(*tensor).clone() })
        }
        other => other,
    }
}

/// `attended x out_channels heads concat asked`: each head gives features of its own, which are joined or averaged.
pub(crate) fn attention_heads(interp: &mut Interp, call: &Invocation) -> Value {
    let size = |slot: Slot| int(call, slot).unwrap_or_default();
    let out = match interp.truth(&call.operand(Slot::Concat)) {
        Some(true) => size(Slot::OutChannels).mul(&size(Slot::Heads)),
        Some(false) => size(Slot::OutChannels),
        None => Int::Unknown,
    };
    let last = Some(out.clone()).filter(|out| !out.is_unknown());
    let output = match weighted(interp, call, |shape| dims::replace(shape, -1, out)) {
        Value::Tensor(tensor) => Value::tensor(Tensor { last, ..(*tensor).clone() }),
        other => other,
    };
    match given(call, Slot::Asked) {
        None if call.open => Value::Unknown,
        None => output,
        // Said to give its weights or not to, it gives them.
        Some(Value::Bool(_)) => Value::tuple(vec![output, Value::Unknown]),
        Some(_) => Value::Unknown,
    }
}

/// The last size, where nothing else is known of a shape.
fn last_of(shape: Option<&Shape>, size: Int) -> Option<Int> {
    Some(size).filter(|size| shape.is_none() && !size.is_unknown())
}

/// Whether a layer takes inputs of a last size; where it does not, the shape is not what we thought it was.
fn takes(wanted: &Value, last: Option<Int>) -> bool {
    match (wanted.as_known_int(), last.and_then(|last| last.known())) {
        (Some(wanted), Some(last)) => wanted == last,
        _ => true,
    }
}

pub(crate) fn matmul(interp: &mut Interp, call: &Invocation) -> Value {
    let (a, b) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Y)));
    Value::tensor(product_of(interp, call.place, &a, &b))
}

/// `matmul-turned x y flags`
pub(crate) fn matmul_turned(interp: &mut Interp, call: &Invocation) -> Value {
    let flags = call.gives.map_or(&[][..], |apply| &apply.args);
    let flags: Vec<Value> = flags.iter().skip(2).map(|flag| call.value_of(flag)).collect();
    let turned = |slot: Slot, nth: usize| {
        let tensor = tensor_of(interp, &call.operand(slot));
        let shape =
            tensor.shape.as_ref().and_then(|shape| dims::turned(shape, flags.iter().skip(nth).step_by(2)));
        (*tensor).clone().with_shape(shape)
    };
    let (a, b) = (turned(Slot::X, 0), turned(Slot::Y, 1));
    Value::tensor(product_of(interp, call.place, &a, &b))
}

/// The matrix product, as of `@`.
pub(crate) fn product_of(interp: &Interp, place: crate::report::Place, a: &Tensor, b: &Tensor) -> Tensor {
    let shape = a.shape.as_ref().zip(b.shape.as_ref()).and_then(|(a, b)| dims::matmul(a, b)).map(Rc::from);
    let range = super::ranges::products(a, b);
    let made = result(interp, place, &[a, b]);
    // Numbers that were written out, through weights, are what a model makes of them.
    let is_output = made.source == Source::Parameter && a.source != b.source;
    let source = if is_output { Source::Output } else { made.source };
    let hazards = without_overflow(&made.hazards, false);
    let relation = Some(Rc::new(Relation::of_factors(a, b)));
    Tensor { shape, range, source, hazards, relation, cast: cast_of_products(interp), ..made }
}

/// `embedding x num_embeddings embedding_dim`
pub(crate) fn embedding(interp: &mut Interp, call: &Invocation) -> Value {
    let (input, width) = (first(interp, call), int(call, Slot::EmbeddingDim).unwrap_or_default());
    let shape = input.shape.as_ref().map(|shape| shape.iter().cloned().chain([width.clone()]).collect());
    let made = result(interp, call.place, &[&input]);
    Value::tensor(Tensor {
        last: last_of(shape.as_ref(), width),
        confidence: sure_of_last(interp, &input, &made),
        shape,
        dtype: Some(DType::Float32),
        range: Some(Interval::REAL),
        // Of what else was given it makes none either.
        is_array: false,
        ..made
    })
}

/// Whatever came in, the last size of what comes out is the layer's own.
fn sure_of_last(interp: &Interp, input: &Tensor, made: &Tensor) -> Confidence {
    if input.shape.is_none() { interp.supposed.trust } else { made.confidence }
}

/// `recurrent x hidden_size num_layers batch_first bidirectional kind`: of an LSTM the state is two tensors.
pub(crate) fn recurrent(interp: &mut Interp, call: &Invocation) -> Value {
    let input = first(interp, call);
    // What is projected to another size has two.
    let projected = named(call, "proj_size").is_some_and(|size| size.as_known_int() != Some(0));
    let directions = match flag(param(call, Slot::Bidirectional)) {
        Some(both) => Int::Known(if both { 2 } else { 1 }),
        None => Int::Unknown,
    };
    let hidden = int(call, Slot::HiddenSize).filter(|_| !projected).unwrap_or_default();
    let shapes = input.shape.as_deref().filter(|_| !projected).and_then(|shape| {
        let layers = param(call, Slot::NumLayers)
            .map_or(Int::Known(1), |layers| layers.as_int().cloned().unwrap_or_default());
        recurrent_shapes(shape, &hidden, &layers, &directions, flag(param(call, Slot::BatchFirst)))
    });
    let (output, state) = shapes.unzip();
    let mut result = result(interp, call.place, &[&input]);
    result.graph = through_state(interp, call, &result.graph);
    result.confidence = sure_of_last(interp, &input, &result);
    let of_shape = |shape: Option<Dims>, last: Int| {
        let shape = shape.map(Shape::from);
        Tensor { last: last_of(shape.as_ref(), last), ..result.clone().with_shape(shape) }
    };
    let (output, state) = (of_shape(output, hidden.mul(&directions)), of_shape(state, hidden));
    // Of a packed sequence the output is packed, too.
    let output = Tensor { what: input.what.filter(|_| interp.is_packed(&input)), ..output };
    Value::tuple(vec![Value::tensor(output), state_of(call, Value::tensor(state))])
}

/// The state that a recurrent layer starts from is part of its graph.
fn through_state(interp: &Interp, call: &Invocation, graph: &Graph) -> Graph {
    let state = named(call, "hx").map_or(Graph::None, |state| graph_of(&state));
    graph.union(&graph_here(interp.ambient.grad, None, &state))
}

fn graph_of(value: &Value) -> Graph {
    match value.bare() {
        Value::Tensor(tensor) => tensor.graph.clone(),
        Value::Tuple(items) => items.iter().fold(Graph::None, |all, item| all.union(&graph_of(item))),
        Value::None => Graph::None,
        _ => Graph::Unknown,
    }
}

fn state_of(call: &Invocation, state: Value) -> Value {
    if word(call, "lstm") { Value::tuple(vec![state.clone(), state]) } else { state }
}

/// `recurrent-cell x hidden_size kind`: the next state.
pub(crate) fn recurrent_cell(interp: &mut Interp, call: &Invocation) -> Value {
    let hidden = int(call, Slot::HiddenSize).unwrap_or_default();
    let state = match layer(interp, call, |shape| dims::replace(shape, -1, hidden)) {
        Value::Tensor(tensor) => {
            let graph = through_state(interp, call, &tensor.graph);
            Value::tensor(Tensor { graph, ..(*tensor).clone() })
        }
        other => other,
    };
    state_of(call, state)
}

fn recurrent_shapes(
    input: &[Int],
    hidden: &Int,
    layers: &Int,
    directions: &Int,
    batch_first: Option<bool>,
) -> Option<(Dims, Dims)> {
    if !(2..=3).contains(&input.len()) {
        return None;
    }
    let output = dims::replace(input, -1, hidden.mul(directions))?;
    let stacked = layers.mul(directions);
    let state = match (input, batch_first) {
        ([_, _], _) => vec![stacked, hidden.clone()],
        ([batch, _, _], Some(true)) | ([_, batch, _], Some(false)) => {
            vec![stacked, batch.clone(), hidden.clone()]
        }
        _ => vec![stacked, Int::Unknown, hidden.clone()],
    };
    Some((output, state))
}

/// `attention query key value`: the query's shape with the value's last size.
pub(crate) fn attention(interp: &mut Interp, call: &Invocation) -> Value {
    let (query, key, value) = attended(interp, call);
    let shape = query.shape.as_ref().zip(value.shape.as_ref());
    let shape = shape.and_then(|(query, value)| dims::replace(query, -1, value.last()?.clone()));
    let result = result(interp, call.place, &[&query, &key, &value]);
    Value::tensor(result.with_shape(shape.map(Rc::from)))
}

/// `attention-pair query key value`: a layer that projects back to the query's size, and its weights.
pub(crate) fn attention_pair(interp: &mut Interp, call: &Invocation) -> Value {
    let (query, key, value) = attended(interp, call);
    let result = result(interp, call.place, &[&query, &key, &value]);
    let output = result.clone().with_shape(query.shape.clone());
    let weights = match named(call, "need_weights").map(|wanted| wanted.as_bool()) {
        None | Some(Some(true)) => Value::tensor(result),
        Some(Some(false)) => Value::None,
        Some(None) => Value::Unknown,
    };
    Value::tuple(vec![Value::tensor(output), weights])
}

fn attended(interp: &Interp, call: &Invocation) -> (Rc<Tensor>, Rc<Tensor>, Rc<Tensor>) {
    let operand = |slot: Slot| tensor_of(interp, &call.operand(slot));
    (operand(Slot::Q), operand(Slot::K), operand(Slot::V))
}

/// `linear-weight x weight`: the last size becomes the weight's first.
pub(crate) fn linear_weight(interp: &mut Interp, call: &Invocation) -> Value {
    let (input, weight) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Weight)));
    let shape = match (input.shape.as_deref(), weight.shape.as_deref()) {
        (Some([rest @ .., _]), Some([_])) => Some(Rc::from(rest)),
        (Some(shape), weight) => {
            let out = weight.and_then(|weight| weight.first().cloned()).unwrap_or_default();
            dims::replace(shape, -1, out).map(Rc::from)
        }
        (None, _) => None,
    };
    let made = result(interp, call.place, &[&input, &weight]);
    Value::tensor(Tensor { shape, hazards: without_overflow(&made.hazards, false), ..made })
}

/// `pad x padding rank`: an integer pads all of the `rank` last axes.
pub(crate) fn pad(interp: &mut Interp, call: &Invocation) -> Value {
    let padding = param(call, Slot::Padding).and_then(|value| match (value.as_int(), quoted_rank(call)) {
        (Some(all), Some(rank)) => Some(vec![all.clone(); 2 * rank]),
        _ => ints_of(interp, &value),
    });
    layer(interp, call, |shape| dims::pad(shape, &padding?))
}

/// `upsample x size scale_factor`: the axes behind batch and channels grow.
pub(crate) fn upsample(interp: &mut Interp, call: &Invocation) -> Value {
    let (size, scale) = (given(call, Slot::Size), given(call, Slot::ScaleFactor));
    layer(interp, call, |shape| {
        let rank = shape.len().checked_sub(2)?;
        let sizes = match (&size, &scale) {
            (Some(size), _) => per_axis(interp, Some(size.clone()), rank, &Dims::new()),
            (None, Some(scale)) => {
                let scale = per_axis(interp, Some(scale.clone()), rank, &Dims::new());
                shape[2..].iter().zip(&scale).map(|(size, scale)| size.mul(scale)).collect()
            }
            (None, None) => return None,
        };
        Some(shape[..2].iter().cloned().chain(sizes).collect())
    })
}

/// `packed x`: what is packed says so, so that its `data` is told from that of a tensor.
pub(crate) fn packed(_interp: &mut Interp, call: &Invocation) -> Value {
    match call.nth(0) {
        Value::Tensor(tensor) => Value::tensor(Tensor { what: Some(call.api.name), ..(*tensor).clone() }),
        other => other,
    }
}

/// What a packed sequence holds: the rows of all of it one after another.
pub(crate) fn held_by_packed(packed: &Tensor) -> Tensor {
    let shape = packed.shape.as_ref().filter(|shape| shape.len() >= 2);
    let shape = shape.map(|shape| std::iter::once(Int::Unknown).chain(shape[2..].iter().cloned()).collect());
    Tensor { what: None, ..packed.clone() }.with_shape(shape)
}

/// `padded-pair x`: the numbers that a packed sequence holds, and the lengths, which are on the CPU wherever it is.
pub(crate) fn padded_pair(interp: &mut Interp, call: &Invocation) -> Value {
    let packed = first(interp, call);
    let padded = Tensor { last: packed.last_size(), ..result(interp, call.place, &[&packed]) };
    let lengths = indices(interp, call.place, &packed, Some(Rc::from([Int::Unknown])));
    let lengths = Tensor { device: Device::Cpu, device_origin: None, ..lengths };
    Value::tuple(vec![Value::tensor(padded), Value::tensor(lengths)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(sizes: &[i64]) -> Dims {
        sizes.iter().map(|size| Int::Known(*size)).collect()
    }

    #[test]
    fn recurrent_layers_have_an_output_and_a_state() {
        let (hidden, layers, two) = (Int::Known(64), Int::Known(3), Int::Known(2));
        let shapes = recurrent_shapes(&dims(&[8, 20, 10]), &hidden, &layers, &two, Some(true));
        assert_eq!(shapes, Some((dims(&[8, 20, 128]), dims(&[6, 8, 64]))));
        let shapes = recurrent_shapes(&dims(&[8, 20, 10]), &hidden, &layers, &two, Some(false));
        assert_eq!(shapes.map(|shapes| shapes.1), Some(dims(&[6, 20, 64])));
        let shapes = recurrent_shapes(&dims(&[20, 10]), &hidden, &layers, &Int::Known(1), Some(false));
        assert_eq!(shapes, Some((dims(&[20, 64]), dims(&[3, 64]))));
        assert_eq!(recurrent_shapes(&dims(&[20]), &hidden, &layers, &two, None), None);
    }
}
