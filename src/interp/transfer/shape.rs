//! Operations that move numbers about: new shapes of the same numbers, joins and splits of tensors.

use super::build::*;
use super::dims::{self, Dims, MOST_PIECES};
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::report::Place;
use crate::values::union_hazards;
use crate::values::*;
use std::rc::Rc;

/// The first operand with a shape computed from its own.
fn reshaped(interp: &Interp, call: &Invocation, shape: impl FnOnce(&[Int]) -> Option<Dims>) -> Value {
    let tensor = first(interp, call);
    let shape = tensor.shape.as_deref().and_then(shape).map(Rc::from);
    Value::tensor(kept(interp, &tensor).with_shape(shape))
}

/// The same of a batch of any shape, whose first axis stays: so many samples it has still.
fn reshaped_behind_samples(
    interp: &Interp,
    call: &Invocation,
    stays: bool,
    shape: impl FnOnce(&[Int]) -> Option<Dims>,
) -> Value {
    let tensor = first(interp, call);
    match reshaped(interp, call, shape) {
        Value::Tensor(made) if stays && made.shape.is_none() => {
            let (first, has_axis) = (tensor.first.clone(), tensor.has_axis);
            Value::tensor(Tensor { first, has_axis, ..(*made).clone() })
        }
        other => other,
    }
}

/// Sizes or axes among the parameters from an index on, in one tuple or one by one.
pub(crate) fn ints_from(interp: &Interp, call: &Invocation, index: usize) -> Option<Vec<Int>> {
    let mut all = Vec::new();
    for (_, value) in params_from(call, index) {
        all.extend(ints_of(interp, &value)?);
    }
    Some(all)
}

pub(super) fn axes_from(interp: &Interp, call: &Invocation, index: usize) -> Option<Vec<i64>> {
    ints_from(interp, call, index)?.iter().map(Int::known).collect()
}

/// An axis, by its default when it was left out.
fn axis(call: &Invocation, slot: Slot, default: i64) -> Option<i64> {
    given(call, slot).map_or(Some(default), |value| value.as_known_int())
}

pub(crate) fn reshape(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let sizes = params_from(call, 1);
    if let [(_, only)] = sizes.as_slice()
        && let Some(dtype) = retyped(interp, only)
    {
        // `x.view(dtype)` reads the same bytes as other numbers.
        return Value::tensor(Tensor { dtype: Some(dtype), ..result(interp, call.place, &[&tensor]) });
    }
    let wanted = ints_from(interp, call, 1).filter(|_| !sizes.is_empty());
    let shape = wanted.map(|wanted| dims::reshape(tensor.shape.as_deref(), &wanted).into());
    let made = kept(interp, &tensor);
    // What nobody knew has the shape that is asked for.
    let confidence = match tensor.shape {
        None if shape.is_some() => interp.supposed.trust,
        _ => made.confidence,
    };
    Value::tensor(Tensor { confidence, ..made.with_shape(shape) })
}

fn retyped(interp: &Interp, size: &Value) -> Option<DType> {
    match sequence(interp, size) {
        Some(Sequence::Exact(items)) => dtype_of(items.first()?),
        _ => dtype_of(size),
    }
}

pub(crate) fn flatten(interp: &mut Interp, call: &Invocation) -> Value {
    let (start, end) = (axis(call, Slot::Start, 0), axis(call, Slot::End, -1));
    reshaped(interp, call, |shape| dims::flatten(shape, start?, end?))
}

pub(crate) fn squeeze(interp: &mut Interp, call: &Invocation) -> Value {
    let axes = given(call, Slot::Dim).map(|value| known_ints(interp, &value));
    // An axis of several samples is not dropped, whichever it is.
    let stays = matches!(&axes, Some(Some(axes)) if !axes.contains(&0));
    reshaped_behind_samples(interp, call, stays, |shape| match &axes {
        None => dims::squeeze(shape, None),
        Some(axes) => dims::squeeze(shape, Some(axes.as_deref()?)),
    })
}

pub(crate) fn unsqueeze(interp: &mut Interp, call: &Invocation) -> Value {
    let axis = axis(call, Slot::Dim, 0);
    let is_behind = axis.is_some_and(|axis| axis != 0);
    let made = reshaped_behind_samples(interp, call, is_behind, |shape| dims::unsqueeze(shape, axis?));
    match made {
        Value::Tensor(made) => Value::tensor(Tensor { has_axis: true, ..(*made).clone() }),
        other => other,
    }
}

/// Without axes it turns the order around, as NumPy does.
pub(crate) fn permute(interp: &mut Interp, call: &Invocation) -> Value {
    let axes = axes_from(interp, call, 1);
    reshaped(interp, call, |shape| {
        let axes = axes?;
        if axes.is_empty() {
            Some(shape.iter().rev().cloned().collect())
        } else {
            dims::permute(shape, &axes)
        }
    })
}

/// `transpose x a b`; without axes the last two, or all in turn of an array or matrix.
pub(crate) fn transpose(interp: &mut Interp, call: &Invocation) -> Value {
    if given(call, Slot::A).is_none() {
        return reshaped(interp, call, |shape| Some(shape.iter().rev().cloned().collect()));
    }
    let (a, b) = (axis(call, Slot::A, -2), axis(call, Slot::B, -1));
    reshaped(interp, call, |shape| dims::transpose(shape, a?, b?))
}

pub(crate) fn expand(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let sizes = ints_from(interp, call, 1);
    let shape = sizes.and_then(|sizes| dims::expand(tensor.shape.as_deref(), &sizes)).map(Rc::from);
    Value::tensor(kept(interp, &tensor).with_shape(shape))
}

/// `expand_as`, `view_as`: of the other tensor it takes nothing but the shape.
pub(crate) fn shaped_as(interp: &mut Interp, call: &Invocation) -> Value {
    let (tensor, other) = (first(interp, call), call.nth(1));
    let shape = other.as_tensor().and_then(|other| other.shape.clone());
    Value::tensor(kept(interp, &tensor).with_shape(shape))
}

pub(crate) fn unflatten(interp: &mut Interp, call: &Invocation) -> Value {
    let (axis, sizes) = (axis(call, Slot::Dim, 0), ints_from(interp, call, 2));
    reshaped(interp, call, |shape| dims::unflatten(shape, axis?, &sizes?))
}

/// `unfold x dim size step`: windows along an axis, in a new last axis.
pub(crate) fn unfold(interp: &mut Interp, call: &Invocation) -> Value {
    let axis = axis(call, Slot::Dim, 0);
    let int = |slot: Slot| given(call, slot).and_then(|value| value.as_int().cloned()).unwrap_or_default();
    let (size, step) = (int(Slot::Size), int(Slot::Step));
    reshaped(interp, call, |shape| dims::unfold(shape, axis?, &size, &step))
}

pub(crate) fn repeat(interp: &mut Interp, call: &Invocation) -> Value {
    let times = ints_from(interp, call, 1);
    let several = times.iter().flatten().any(|times| times.known() > Some(1));
    let result = reshaped(interp, call, |shape| Some(dims::repeat(shape, &times?)));
    match result {
        Value::Tensor(tensor) if several => repeated(&tensor),
        other => other,
    }
}

fn repeated(tensor: &Tensor) -> Value {
    Value::tensor(Tensor { relation: Some(Rc::new(Relation::Repeated)), ..tensor.clone() })
}

/// What is joined: tensors one by one, or any of a list.
enum Parts {
    Each(Vec<Rc<Tensor>>),
    Any(Rc<Tensor>, Int),
}

fn parts(interp: &Interp, value: &Value) -> Option<Parts> {
    match sequence(interp, value) {
        Some(Sequence::Exact(items)) if items.is_empty() => None,
        Some(Sequence::Exact(items)) => {
            Some(Parts::Each(items.iter().map(|item| tensor_of(interp, item)).collect()))
        }
        Some(Sequence::Any(any, len)) => Some(Parts::Any(tensor_of(interp, &any), len)),
        // The rows of a tensor.
        None => {
            let tensor = value.as_tensor()?;
            // Numbers cannot be joined: what a column of a table holds is arrays then.
            let rows = tensor.shape.as_deref().filter(|shape| shape.len() > 1);
            let row = rows.and_then(|shape| dims::reduce(shape, &[0], false)).map(Rc::from);
            let len = tensor.shape.as_ref().and_then(|shape| shape.first().cloned()).unwrap_or_default();
            Some(Parts::Any(Rc::new((**tensor).clone().with_shape(row)), len))
        }
    }
}

/// What is known of tensors that end up in one, whatever its shape.
fn joined(interp: &Interp, place: Place, parts: &Parts) -> Tensor {
    let refs: Vec<&Tensor> = match parts {
        Parts::Each(all) => all.iter().map(Rc::as_ref).collect(),
        Parts::Any(any, _) => vec![any],
    };
    let range = refs.iter().map(|part| part.range).reduce(|a, b| Some(a?.join(&b?))).flatten();
    let mark = refs
        .iter()
        .map(|part| part.mark)
        .reduce(|a, b| a.filter(|a| b.is_some_and(|b| a.0 == b.0)))
        .flatten();
    // `torch.cat([labels, labels])`
    let is_same = refs.len() > 1 && refs.iter().all(|part| part.made == refs[0].made);
    let relation = is_same.then(|| Rc::new(Relation::Repeated));
    Tensor { range, mark, relation, ..result(interp, place, &refs) }
}

pub(crate) fn cat(interp: &mut Interp, call: &Invocation) -> Value {
    let only = call.nth(0);
    if word(call, "whole") && only.as_tensor().is_some() {
        return only;
    }
    let axis = axis(call, Slot::Dim, 0);
    join(interp, call, |parts| match parts {
        Parts::Each(all) => dims::cat(&shapes(all)?, axis?),
        Parts::Any(any, len) => {
            let shape = any.shape.as_deref()?;
            let at = dims::normalise_dim(axis?, shape.len())?;
            dims::replace(shape, axis?, shape[at].mul(len))
        }
    })
}

pub(crate) fn stack(interp: &mut Interp, call: &Invocation) -> Value {
    let axis = axis(call, Slot::Dim, 0);
    join(interp, call, |parts| match parts {
        Parts::Each(all) => dims::stack(&shapes(all)?, axis?),
        Parts::Any(any, len) => dims::insert(any.shape.as_deref()?, axis?, len.clone()),
    })
}

fn join(interp: &Interp, call: &Invocation, shape: impl FnOnce(&Parts) -> Option<Dims>) -> Value {
    let Some(parts) = parts(interp, &call.nth(0)) else {
        return Value::tensor(Tensor { has_axis: true, ..some_tensor(interp, call.place) });
    };
    let shape = shape(&parts).map(Rc::from);
    Value::tensor(Tensor { shape, has_axis: true, ..joined(interp, call.place, &parts) })
}

fn shapes(parts: &[Rc<Tensor>]) -> Option<Vec<&[Int]>> {
    parts.iter().map(|part| part.shape.as_deref()).collect()
}

/// `grid tensors`: the numbers of each vector along an axis of its own. In which order the axes come is up to an option.
pub(crate) fn grid(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(Sequence::Exact(mut given)) = sequence(interp, &call.nth(0)) else { return Value::Unknown };
    if let [only] = given.as_slice() {
        match sequence(interp, only) {
            Some(Sequence::Exact(items)) => given = items,
            _ if only.as_tensor().is_some() => {}
            _ => return Value::Unknown,
        }
    }
    let vectors: Vec<Rc<Tensor>> = given.iter().map(|vector| tensor_of(interp, vector)).collect();
    let shape: Shape = vec![Int::Unknown; vectors.len()].into();
    let spread = |vector: &Rc<Tensor>| {
        let range = vector.range;
        Value::tensor(Tensor { shape: Some(shape.clone()), range, ..result(interp, call.place, &[vector]) })
    };
    Value::tuple(vectors.iter().map(spread).collect())
}

/// `split x n dim`: pieces of a length, or of lengths.
pub(crate) fn split(interp: &mut Interp, call: &Invocation) -> Value {
    let lengths = given(call, Slot::Size);
    let lengths =
        lengths.as_ref().and_then(|value| Some((value.as_int().is_some(), ints_of(interp, value)?)));
    pieces(interp, call, axis(call, Slot::Dim, 0), |size| match lengths? {
        (true, length) => dims::pieces(size?, &length[0]),
        (false, lengths) => Some(lengths),
    })
}

/// `chunk x n dim`: a number of pieces.
pub(crate) fn chunk(interp: &mut Interp, call: &Invocation) -> Value {
    let count = given(call, Slot::N).and_then(|value| value.as_known_int());
    pieces(interp, call, axis(call, Slot::Dim, 0), |size| {
        let count = count.filter(|count| (1..=MOST_PIECES).contains(count))?;
        let unknown = Some(vec![Int::Unknown; count as usize]);
        let Some(size) = size else { return unknown };
        match dims::div_ceil(size, &Int::Known(count)) {
            // Symbols stand for sizes that leave at least one for each piece.
            Int::Unknown => unknown,
            piece => dims::pieces(size, &piece),
        }
    })
}

/// Cuts the first operand along an axis: into a tuple when the sizes are known, else into a list.
fn pieces(
    interp: &mut Interp,
    call: &Invocation,
    axis: Option<i64>,
    sizes: impl FnOnce(Option<&Int>) -> Option<Dims>,
) -> Value {
    let tensor = first(interp, call);
    let piece = kept(interp, &tensor);
    let at = tensor.shape.as_ref().zip(axis).and_then(|(shape, axis)| dims::normalise_dim(axis, shape.len()));
    let size = tensor.shape.as_ref().zip(at).map(|(shape, at)| &shape[at]);
    let of_size = |size: Int| {
        let shape =
            tensor.shape.as_ref().zip(axis).and_then(|(shape, axis)| dims::replace(shape, axis, size));
        Value::tensor(piece.clone().with_shape(shape.map(Rc::from)))
    };
    match sizes(size) {
        Some(sizes) => Value::tuple(sizes.into_iter().map(of_size).collect()),
        None => {
            let any = of_size(Int::Unknown);
            interp.list_of(call.place, any)
        }
    }
}

pub(crate) fn unbind(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let axis = axis(call, Slot::Dim, 0);
    let known = tensor.shape.as_ref().zip(axis).and_then(|(shape, axis)| {
        let at = dims::normalise_dim(axis, shape.len())?;
        Some((shape[at].clone(), dims::reduce(shape, &[axis], false)?))
    });
    let shape = known.as_ref().map(|(_, shape)| shape.as_slice().into());
    let row = Value::tensor(kept(interp, &tensor).with_shape(shape));
    match known.and_then(|(count, _)| count.known()) {
        Some(count) if (0..=MOST_PIECES).contains(&count) => Value::tuple(vec![row; count as usize]),
        _ => interp.list_of(call.place, row),
    }
}

/// `gather x dim index`: numbers of the first operand in the shape of the last.
pub(crate) fn gather(interp: &mut Interp, call: &Invocation) -> Value {
    let (tensor, index) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Index)));
    let hazards = union_hazards(&tensor.hazards, &index.hazards);
    let shape = index.shape.clone();
    let relation = index.picked_from(&tensor);
    let has_axis = index.is_spread();
    let picked = kept(interp, &tensor).with_shape(shape);
    Value::tensor(Tensor { hazards, mark: None, relation, has_axis, ..picked })
}
