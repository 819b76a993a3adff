//! Operations that leave fewer numbers: sums and means, extremes with their positions, norms, losses.

use super::build::*;
use super::dims;
use super::elementwise::broadcast_all;
use crate::apis::{Expects, Mark, RangeFunction, Slot};
use crate::interp::{Call, Interp, Invocation};
use crate::values::*;
use std::rc::Rc;

/// The axes of a reduction.
enum Axes {
    All,
    Some(Vec<i64>),
    Unknown,
}

fn axes(interp: &Interp, call: &Invocation, slot: Slot) -> Axes {
    match given(call, slot) {
        None => Axes::All,
        Some(value) => known_ints(interp, &value).map_or(Axes::Unknown, Axes::Some),
    }
}

fn reduced_shape(shape: Option<&[Int]>, axes: &Axes, keep: Option<bool>) -> Option<Shape> {
    let dims = match (axes, keep?) {
        (Axes::All, false) => Vec::new(),
        (Axes::All, true) => vec![Int::Known(1); shape?.len()],
        (Axes::Some(axes), keep) => dims::reduce(shape?, axes, keep)?,
        (Axes::Unknown, true) => vec![Int::Unknown; shape?.len()],
        (Axes::Unknown, false) => return None,
    };
    Some(dims.into())
}

/// `x` with some axes reduced. Sums of small integers are wider, so those dtypes are left open.
pub(crate) fn reduce(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let axes = axes(interp, call, if given(call, Slot::OldDim).is_some() { Slot::OldDim } else { Slot::Dim });
    let keep = given(call, Slot::OldKeepdim).or_else(|| given(call, Slot::Keepdim));
    let shape = reduced_shape(tensor.shape.as_deref(), &axes, flag(keep.clone()));
    // A table gives a number for each of its columns, an array one for all of it.
    let shape = shape.filter(|shape| !(tensor.is_table && tensor.rank() != Some(1) && shape.is_empty()));
    let dtype = match named(call, "dtype") {
        Some(dtype) => dtype_of(&dtype),
        None if is_mean(call) => tensor.dtype.filter(|dtype| dtype.is_float()),
        None => tensor.dtype.filter(|dtype| dtype.is_float() || *dtype == DType::Int64),
    };
    let mark = tensor.mark.filter(|(mark, _)| *mark == Mark::Raw && averages(call));
    let relation = extreme(call, &tensor);
    let standing = standing(call, &tensor, &axes, flag(keep));
    Value::tensor(Tensor { shape, dtype, mark, relation, standing, ..result(interp, call.place, &[&tensor]) })
}

/// Of what is left without a single axis, which one that was; with it kept, the others meet it as before.
fn standing(call: &Invocation, of: &Tensor, axes: &Axes, keep: Option<bool>) -> Option<Standing> {
    match axes {
        Axes::Some(axes) if axes.len() == 1 && keep == Some(false) => {
            Some(of.without_axis(axes[0], call.place))
        }
        _ => None,
    }
}

/// `norm-of-gradients x`: one number where the parameters are, in no graph.
pub(crate) fn norm_of_gradients(interp: &mut Interp, call: &Invocation) -> Value {
    let parameters = first(interp, call);
    let (shape, graph, made) = (Some(Rc::from([])), Graph::None, Some(call.place));
    let Tensor { dtype, device, confidence, .. } = *parameters;
    let created = interp.epoch;
    Value::tensor(Tensor { shape, dtype, device, graph, made, created, confidence, ..Tensor::default() })
}

/// Of a maximum or a minimum, whose it is.
fn extreme(call: &Invocation, of: &Rc<Tensor>) -> Option<Rc<Relation>> {
    let extreme = match call.api.range_function()? {
        RangeFunction::Largest | RangeFunction::OptionalMax => Extreme::Largest,
        RangeFunction::Smallest | RangeFunction::OptionalMin => Extreme::Smallest,
        _ => return None,
    };
    Some(Rc::new(Relation::Extreme(extreme, of.clone())))
}

/// What sums or averages any numbers gives any number.
fn averages(call: &Invocation) -> bool {
    matches!(call.api.range_function(), Some(RangeFunction::Mean | RangeFunction::Sum))
}

/// Means of integers are no integers.
fn is_mean(call: &Invocation) -> bool {
    !matches!(call.api.range_function(), Some(RangeFunction::Sum | RangeFunction::Prod))
}

/// `reduce-pair x dim`: the numbers and where they were.
pub(crate) fn reduce_pair(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let (axes, keep) = (axes(interp, call, Slot::Dim), flag(given(call, Slot::Keepdim)));
    let shape = reduced_shape(tensor.shape.as_deref(), &axes, keep);
    let (relation, standing) = (extreme(call, &tensor), standing(call, &tensor, &axes, keep));
    let result = result(interp, call.place, &[&tensor]);
    let values = Tensor { shape, range: tensor.range, relation, standing, ..result };
    let positions = Relation::PlaceOfLargest(tensor.clone());
    let is_largest = matches!(values.relation.as_deref(), Some(Relation::Extreme(Extreme::Largest, _)));
    let relation = is_largest.then(|| Rc::new(positions));
    let positions = indices(interp, call.place, &tensor, values.shape.clone());
    Value::tuple(vec![Value::tensor(values), Value::tensor(Tensor { relation, ..positions })])
}

/// `max x dim`: without `dim` the one number, with a tensor the larger of two by two.
pub(crate) fn optional_reduce(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    if let Some(other) = given(call, Slot::Dim)
        && let Some(second) = other.as_tensor()
    {
        let range = tensor.range.zip(second.range).map(|(a, b)| a.join(&b));
        let pair = super::elementwise::of_all(interp, call.place, &[call.nth(0), other]);
        return Value::tensor(Tensor { range, ..pair });
    }
    if given(call, Slot::Dim).is_some_and(|dim| dim.is_unknown()) {
        // It may be an axis or another tensor.
        return Value::Unknown;
    }
    match axes(interp, call, Slot::Dim) {
        Axes::All => {
            let shape = Some(Rc::from([]));
            let relation = extreme(call, &tensor);
            Value::tensor(Tensor {
                shape,
                range: tensor.range,
                relation,
                ..result(interp, call.place, &[&tensor])
            })
        }
        _ => reduce_pair(interp, call),
    }
}

fn with_positions(interp: &Interp, call: &Invocation, of: &Tensor, values: Tensor) -> Value {
    let positions = indices(interp, call.place, of, values.shape.clone());
    Value::tuple(vec![Value::tensor(values), Value::tensor(positions)])
}

pub(crate) fn top_k(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let count = given(call, Slot::K).and_then(|count| count.as_int().cloned()).unwrap_or_default();
    let axis = given(call, Slot::Dim).map_or(Some(-1), |axis| axis.as_known_int());
    let shape = tensor.shape.as_ref().zip(axis).and_then(|(shape, axis)| dims::replace(shape, axis, count));
    let range = tensor.range;
    let values = Tensor { shape: shape.map(Rc::from), range, ..result(interp, call.place, &[&tensor]) };
    with_positions(interp, call, &tensor, values)
}

pub(crate) fn sort(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let (shape, range) = (tensor.shape.clone(), tensor.range);
    let values = Tensor { shape, range, ..result(interp, call.place, &[&tensor]) };
    with_positions(interp, call, &tensor, values)
}

pub(crate) fn argmax(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let shape = reduced_shape(
        tensor.shape.as_deref(),
        &axes(interp, call, Slot::Dim),
        flag(given(call, Slot::Keepdim)),
    );
    let places = indices(interp, call.place, &tensor, shape);
    Value::tensor(match quoted_dtype(call) {
        // Of bytes, which were masks once, it is bytes.
        Some(_) if tensor.dtype == Some(DType::UInt8) => super::convert::with_dtype(&places, tensor.dtype),
        Some(dtype) => Tensor { source: Source::Mask, ..super::convert::with_dtype(&places, Some(dtype)) },
        None => places,
    })
}

pub(crate) fn loss(interp: &mut Interp, call: &Invocation) -> Value {
    let (input, target) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Y)));
    let shape = match is_reduced(call) {
        Some(true) => Some(Rc::from([])),
        Some(false) if word(call, "rows") => {
            reduced_shape(input.shape.as_deref(), &Axes::Some(vec![-1]), Some(false))
        }
        Some(false) if word(call, "sequences") => {
            let batch =
                input.shape.as_ref().map(|shape| shape.iter().skip(1).rev().skip(1).cloned().collect());
            batch.filter(|_| input.rank().is_some_and(|rank| rank >= 2))
        }
        Some(false) => loss_shape(&input, &target, call.api.loss.as_ref().map(|loss| &loss.expects)),
        None => None,
    };
    // Of what is not reduced there are as many numbers as samples, whatever a sample is.
    let by_sample = is_reduced(call) == Some(false) && !word(call, "rows") && !word(call, "sequences");
    let first = match by_sample && shape.is_none() {
        true => {
            first_size(&target).or(first_size(&input)).or_else(|| uncounted(interp, call, &input, &target))
        }
        false => None,
    };
    // Of a class's index only the input's dtype remains.
    let dtype = input.dtype.filter(|dtype| dtype.is_float());
    let graph = graph_here(interp.ambient.grad, dtype, &input.graph.union(&target.graph));
    Value::tensor(Tensor { shape, first, dtype, graph, ..result(interp, call.place, &[&input, &target]) })
}

/// How many samples there are in a batch; one axis may be that of classes.
fn first_size(batch: &Tensor) -> Option<Int> {
    let known = batch.shape.as_deref().filter(|shape| shape.len() > 1).map(|shape| shape[0].clone());
    batch.first.clone().or(known).filter(|first| !first.is_unknown())
}

/// A number of samples that nobody knows, where a batch has an axis for them: one of classes alone leaves one number.
fn uncounted(interp: &mut Interp, call: &Invocation, input: &Tensor, target: &Tensor) -> Option<Int> {
    let expects = call.api.loss.as_ref().map(|loss| &loss.expects);
    let is_of_each = match is_by_index(expects) {
        true => target.is_spread() || input.rank().is_some_and(|rank| rank > 1),
        false => input.is_spread() || target.is_spread(),
    };
    is_of_each.then(|| interp.uncounted_samples())
}

/// Whether a loss takes the indices of classes.
fn is_by_index(expects: Option<&Expects>) -> bool {
    matches!(expects, Some(Expects::Logits | Expects::LogitsIf(_) | Expects::LogProbabilities))
}

/// Whether a loss becomes one number; `reduce` is what old releases called it, and it is still heeded.
fn is_reduced(call: &Invocation) -> Option<bool> {
    if let Some(reduce) = named(call, "reduce") {
        return reduce.as_bool();
    }
    let Some(reduction) = given(call, Slot::Reduction) else { return Some(true) };
    reduction.as_str().map(|reduction| !reduction.eq_ignore_ascii_case("none"))
}

/// What a criterion gives that nobody sees into: a loss in the graph of all that it was given. Who gets a model or
/// an optimizer is no criterion, and may have done anything.
pub(crate) fn criterion_result(interp: &mut Interp, call: &Invocation) -> Value {
    let values: Vec<Value> =
        call.rest.iter().cloned().chain(call.more.iter().map(|(_, passed)| passed.value.clone())).collect();
    let mut parts = Vec::new();
    if !values.iter().all(|value| held_tensors(interp, value, &mut parts, MOST_NESTED)) {
        interp.havoc(&Call::with(call.place, values));
        return Value::Unknown;
    }
    let parts: Vec<&Tensor> = parts.iter().map(Rc::as_ref).collect();
    let result = result(interp, call.place, &parts);
    Value::tensor(Tensor { shape: None, range: None, source: Source::Loss, ..result })
}

/// The tensors in a value, unknown ones among them; whether it holds nothing but tensors and plain data.
fn held_tensors(interp: &Interp, value: &Value, found: &mut Vec<Rc<Tensor>>, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    let mut all = |values: &[Value]| values.iter().all(|value| held_tensors(interp, value, found, depth - 1));
    match value.bare() {
        Value::Tensor(tensor) => found.push(tensor.clone()),
        Value::Unknown => found.push(Rc::default()),
        Value::Tuple(items) => return all(items),
        Value::Obj(object) => match &interp.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => return all(items),
            State::List(items) => return all(std::slice::from_ref(&items.any)),
            State::Dict(entries) => {
                let known: Vec<Value> = entries.known.iter().map(|(_, value)| value.clone()).collect();
                return all(&known) && all(entries.other.as_slice());
            }
            State::Plain => found.push(Rc::default()),
            _ => return false,
        },
        _ => {}
    }
    true
}

/// The shape of a loss that is not reduced: losses over classes have one number for all classes of a sample.
fn loss_shape(input: &Tensor, target: &Tensor, expects: Option<&Expects>) -> Option<Shape> {
    let over_classes = matches!(expects, Some(Expects::Logits | Expects::LogitsIf(_)));
    let by_index = is_by_index(expects);
    let labels = target.shape.as_ref()?;
    // Integers are the indices of classes, whatever the scores look like.
    if by_index && input.shape.is_none() && target.dtype.is_some_and(|dtype| !dtype.is_float()) {
        return Some(labels.clone());
    }
    let scores = input.shape.as_ref()?;
    if by_index && labels.len() + 1 == scores.len() {
        return Some(labels.clone());
    }
    if over_classes && labels.len() == scores.len() {
        let axis = if scores.len() == 1 { 0 } else { 1 };
        return dims::reduce(scores, &[axis], false).map(Rc::from);
    }
    broadcast_all([Some(scores), Some(labels)].into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[i64]) -> Shape {
        sizes.iter().map(|size| Int::Known(*size)).collect()
    }

    fn tensor(sizes: &[i64]) -> Tensor {
        Tensor { shape: Some(shape(sizes)), ..Tensor::default() }
    }

    #[test]
    fn a_reduction_of_everything_needs_no_shape() {
        assert_eq!(reduced_shape(None, &Axes::All, Some(false)), Some(shape(&[])));
        assert_eq!(reduced_shape(None, &Axes::All, Some(true)), None);
        assert_eq!(reduced_shape(None, &Axes::All, None), None);
        assert_eq!(reduced_shape(Some(&shape(&[2, 3])), &Axes::All, Some(true)), Some(shape(&[1, 1])));
    }

    #[test]
    fn axes_are_reduced_by_name() {
        let sizes = shape(&[2, 3, 4]);
        assert_eq!(reduced_shape(Some(&sizes), &Axes::Some(vec![-1]), Some(false)), Some(shape(&[2, 3])));
        assert_eq!(reduced_shape(Some(&sizes), &Axes::Some(vec![0, 2]), Some(true)), Some(shape(&[1, 3, 1])));
        assert_eq!(reduced_shape(Some(&sizes), &Axes::Some(vec![3]), Some(false)), None);
        assert_eq!(reduced_shape(Some(&sizes), &Axes::Unknown, Some(false)), None);
        let kept = reduced_shape(Some(&sizes), &Axes::Unknown, Some(true));
        assert_eq!(kept.map(|shape| shape.len()), Some(3));
    }

    #[test]
    fn losses_that_are_not_reduced_have_the_shape_of_the_labels() {
        let (logits, logs) = (Some(&Expects::Logits), Some(&Expects::LogProbabilities));
        assert_eq!(loss_shape(&tensor(&[8, 10]), &tensor(&[8]), logits), Some(shape(&[8])));
        assert_eq!(loss_shape(&tensor(&[8, 10, 5]), &tensor(&[8, 5]), logs), Some(shape(&[8, 5])));
        assert_eq!(loss_shape(&tensor(&[8, 10]), &tensor(&[8, 10]), logits), Some(shape(&[8])));
        assert_eq!(loss_shape(&tensor(&[8, 10]), &tensor(&[8, 10]), logs), Some(shape(&[8, 10])));
        assert_eq!(loss_shape(&tensor(&[8, 1]), &tensor(&[8]), None), Some(shape(&[8, 8])));
        assert_eq!(loss_shape(&tensor(&[8]), &Tensor::default(), logits), None);
    }
}
