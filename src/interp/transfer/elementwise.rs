//! Operations on each number for itself: activations, arithmetic by name, choices and comparisons.

use super::build::*;
use super::dims::broadcast_shapes;
use crate::apis::{Api, Mark, Operand, RangeFunction, RangeSpec, Slot};
use crate::interp::{Interp, Invocation};
use crate::report::{Confidence, Place};
use crate::values::*;
use std::rc::Rc;

/// The operand itself, or the receiver. What is written into it brings its graph along.
pub(crate) fn itself(interp: &mut Interp, call: &Invocation) -> Value {
    let has_operand = !operands(call).is_empty();
    let itself = match call.api.params.first() {
        Some(receiver) if !has_operand => call.get(receiver.name.as_str()),
        _ => call.nth(0),
    };
    let Some(tensor) = itself.as_tensor() else { return itself };
    match written_into(interp, call, tensor) {
        Some(written) => Value::tensor(written),
        // Nothing is left of the softmax that they may have come out of.
        None if tensor.mark.is_some() && overwrites(call.api) => {
            Value::tensor(Tensor { mark: None, ..(**tensor).clone() })
        }
        None => itself,
    }
}

/// Whether all numbers of the first parameter are replaced by others: `x.fill_(0)`, `x.uniform_()`.
fn overwrites(api: &Api) -> bool {
    match &api.range {
        Some(RangeSpec::Interval { .. }) => true,
        Some(RangeSpec::Of(range)) => {
            let own = api.params.first().map(|param| Operand::Param(param.name));
            !range.args.iter().any(|arg| Some(arg) == own.as_ref())
        }
        None => false,
    }
}

/// A tensor in the graphs of the operands after the first, where one has a graph that is recorded.
fn written_into(interp: &Interp, call: &Invocation, tensor: &Tensor) -> Option<Tensor> {
    let others: Vec<Rc<Tensor>> =
        (1..operands(call).len()).filter_map(|index| call.nth_tensor(index)).collect();
    if interp.ambient.grad == Some(false) || !others.iter().any(|other| other.graph.is_live()) {
        return None;
    }
    let all: Vec<&Tensor> = std::iter::once(tensor).chain(others.iter().map(Rc::as_ref)).collect();
    let Tensor { graph, learned, hazards, detach_points, .. } = result(interp, call.place, &all);
    Some(Tensor { graph, learned, hazards, detach_points, is_leaf: false, ..tensor.clone() })
}

/// The same numbers in the same shape. Tensors of which nothing is known stay that.
pub(crate) fn same(_interp: &mut Interp, call: &Invocation) -> Value {
    call.nth(0)
}

/// The same numbers in memory of their own: what is done to them in place is not done to a leaf.
pub(crate) fn cloned(interp: &mut Interp, call: &Invocation) -> Value {
    match call.nth(0) {
        Value::Tensor(tensor) if tensor.is_leaf && tensor.graph.is_live() => {
            let recipe = tensor.recipe.clone();
            Value::tensor(Tensor { recipe, ..kept(interp, &tensor) })
        }
        other => other,
    }
}

/// Whether integers stay integers: an operation that stretches numbers makes floats of them.
fn keeps_integers(range: Option<RangeFunction>) -> bool {
    range.is_some_and(RangeFunction::keeps_integers)
}

/// Whether autocast computes an operation in single precision, whatever it is given.
fn widens(call: &Invocation) -> bool {
    let wide = call.api.range_function().is_some_and(RangeFunction::widens);
    wide || matches!(call.api.mark, Some(Mark::Softmax | Mark::LogSoftmax))
}

/// New numbers in the same shape.
pub(crate) fn like(interp: &mut Interp, call: &Invocation) -> Value {
    let operand = call.nth(0);
    let tensor = tensor_of(interp, &operand);
    let mut result = result(interp, call.place, &[&tensor]);
    result.shape = tensor.shape.clone();
    if !keeps_integers(call.api.range_function()) {
        result.dtype = result.dtype.filter(|dtype| dtype.is_float());
    }
    result.last = tensor.last.clone();
    result.first = tensor.first.clone();
    result.has_axis = tensor.has_axis;
    result.cast = tensor.cast.filter(|_| !widens(call));
    result.relation = lost_epsilon(call, &tensor);
    result.standing = alone(call).then(|| tensor.standing_of_each());
    if let Some(range) = call.api.range_function() {
        result.mark = tensor.mark.and_then(|(mark, place)| Some((kept_mark(range, mark)?, place)));
    }
    Value::tensor(written_into(interp, call, &result).unwrap_or(result))
}

/// Whether a call computes with one tensor only: what else it is given are numbers.
fn alone(call: &Invocation) -> bool {
    call.tensors().len() == 1
}

/// The guard of the operand that was lost before, or a bound that the dtype rounds to a whole number.
fn lost_epsilon(call: &Invocation, tensor: &Tensor) -> Option<Rc<Relation>> {
    let before = tensor.relation.as_ref().filter(|relation| matches!(***relation, Relation::LostEpsilon(_)));
    if before.is_some() {
        return before.cloned();
    }
    let Some(RangeSpec::Of(apply)) = &call.api.range else { return None };
    let dtype = tensor.dtype.or(tensor.cast).filter(|_| apply.verb.clamps())?;
    let bounds = apply.args.iter().skip(1).filter_map(|bound| call.value_of(bound).as_num());
    let lost = |number: &f64| number.fract() != 0.0 && dtype.round(*number).fract() == 0.0;
    let number = bounds.into_iter().find(lost)?;
    Some(Rc::new(Relation::LostEpsilon(LostEpsilon { place: call.place, number, dtype })))
}

/// What an operation whose range is this function leaves of a normalisation.
fn kept_mark(range: RangeFunction, mark: Mark) -> Option<Mark> {
    match (range, mark) {
        (RangeFunction::Log, Mark::Softmax) => Some(Mark::LogSoftmax),
        (RangeFunction::Exp, Mark::LogSoftmax) => Some(Mark::Softmax),
        (RangeFunction::Exp, Mark::LogSigmoid) => Some(Mark::Sigmoid),
        (RangeFunction::Log, Mark::Sigmoid) => Some(Mark::LogSigmoid),
        // Dropout bounds nothing.
        (RangeFunction::Scaled, Mark::Raw) => Some(mark),
        // Clamping is how scripts guard a logarithm: the numbers are still those of the softmax.
        (clamp, Mark::Softmax | Mark::LogSoftmax | Mark::Sigmoid | Mark::LogSigmoid) => {
            clamp.clamps().then_some(mark)
        }
        _ => None,
    }
}

/// New numbers from several operands, each from those in its place.
pub(crate) fn broadcast(interp: &mut Interp, call: &Invocation) -> Value {
    let values = arguments(interp, call);
    let all = of_all(interp, call.place, &values);
    let cast = all.cast.filter(|_| !widens(call));
    Value::tensor(Tensor { cast, standing: beside_numbers(&values), ..all })
}

/// What nothing but numbers are applied to has the shape that it had.
pub(super) fn beside_numbers(values: &[Value]) -> Option<Standing> {
    let mut others = values.iter().filter(|value| !is_number(value));
    let only = others.next()?.as_tensor()?.standing_of_each();
    others.next().is_none().then_some(only)
}

/// The operands that were given, `*tensors` one by one.
pub(super) fn arguments(interp: &Interp, call: &Invocation) -> Vec<Value> {
    let mut all = Vec::new();
    for value in (0..operands(call).len()).filter_map(|index| given_nth(call, index)) {
        match sequence(interp, &value) {
            Some(Sequence::Exact(items)) if items.iter().any(|item| item.as_tensor().is_some()) => {
                all.extend(items);
            }
            _ => all.push(value),
        }
    }
    all
}

/// `derived x …`: computed from these or from the tensors in them, in a shape that nobody says.
pub(crate) fn derived(interp: &mut Interp, call: &Invocation) -> Value {
    let given: Vec<Value> = (0..operands(call).len()).filter_map(|index| given_nth(call, index)).collect();
    if given.iter().any(|value| holds_objects(interp, value)) {
        return Value::Unknown;
    }
    Value::tensor(computed_of(interp, call.place, given))
}

/// `unrecorded x [x …]`: pictures that are made of predictions.
pub(crate) fn unrecorded(interp: &mut Interp, call: &Invocation) -> Value {
    match derived(interp, call) {
        Value::Tensor(made) => Value::tensor(Tensor { graph: Graph::None, ..(*made).clone() }),
        other => other,
    }
}

/// `turned x k`
pub(crate) fn turned(interp: &mut Interp, call: &Invocation) -> Value {
    Value::tensor(computed_of(interp, call.place, vec![call.nth(0)]))
}

/// A tensor of unknown shape that is computed of these, or of what is in them.
pub(super) fn computed_of(interp: &mut Interp, place: Place, given: Vec<Value>) -> Tensor {
    let mut all = Vec::new();
    for value in given {
        match sequence(interp, &value) {
            Some(Sequence::Exact(items)) => all.extend(items),
            Some(Sequence::Any(any, _)) => all.push(any),
            None => all.extend(parameters_within(interp, &value, MOST_WITHIN)),
        }
    }
    let tensors = tensors_of(interp, &all);
    let refs: Vec<&Tensor> = tensors.iter().map(Rc::as_ref).collect();
    let result = result(interp, place, &refs);
    // Of complex numbers real ones may be computed, as by an inverse transform.
    let dtype = result.dtype.filter(|dtype| *dtype != DType::Complex64);
    Tensor { dtype, ..result }
}

/// Distributions stand in each other so deep.
pub(crate) const MOST_WITHIN: u32 = 4;

/// What an object of a framework computes with, such as a distribution: the tensors that it was given, and those of
/// the objects in it. Of anything else itself.
pub(crate) fn parameters_within(interp: &Interp, value: &Value, depth: u32) -> Vec<Value> {
    let object = value.as_obj().filter(|_| depth > 0).map(|object| interp.heap.get(object));
    let made = object.filter(|object| {
        matches!((&object.state, object.class), (State::Plain, ClassRef::Api(_))) && !object.attrs.is_empty()
    });
    let Some(made) = made else { return vec![value.clone()] };
    let counts =
        |value: &&Value| value.is_unknown() || matches!(value.bare(), Value::Tensor(_) | Value::Obj(_));
    let given = made.attrs.iter().map(|(_, value)| value).filter(counts);
    given.flat_map(|value| parameters_within(interp, value, depth - 1)).collect()
}

/// `tuple-of x …`; of one sequence its items.
pub(crate) fn tuple_of(interp: &mut Interp, call: &Invocation) -> Value {
    let values: Vec<Value> = (0..operands(call).len()).map(|index| call.nth(index)).collect();
    match values.as_slice() {
        [only] => match sequence(interp, only) {
            Some(Sequence::Exact(items)) => Value::tuple(items),
            _ => Value::Unknown,
        },
        _ => Value::tuple(values),
    }
}

/// What follows for an operation on each number, from its operands.
pub(crate) fn of_all(interp: &Interp, place: Place, values: &[Value]) -> Tensor {
    let tensors = tensors_of(interp, values);
    let numbers: Vec<&Value> = values.iter().filter(|value| is_number(value)).collect();
    let refs: Vec<&Tensor> = tensors.iter().map(Rc::as_ref).collect();
    let mut all = result(interp, place, &refs);
    if refs.is_empty() {
        // NumPy's functions take plain numbers, too.
        return Tensor { shape: Some(Rc::from([])), is_array: true, ..all };
    }
    all.cast = cast_of_all(&refs);
    all.shape = broadcast_all(refs.iter().map(|tensor| tensor.shape.as_ref()));
    all.has_axis = refs.iter().any(|tensor| tensor.is_spread());
    // What meets a batch is stretched to it, and leaves as many numbers at least.
    all.first = refs.iter().find_map(|tensor| tensor.first.clone()).filter(|_| all.shape.is_none());
    all.dtype = with_numbers(all.dtype, &numbers, all.is_array);
    all
}

/// The shape of tensors that meet number by number.
pub(crate) fn broadcast_all<'a>(shapes: impl Iterator<Item = Option<&'a Shape>>) -> Option<Shape> {
    let mut all: Vec<Int> = Vec::new();
    for shape in shapes {
        all = broadcast_shapes(&all, shape?)?;
    }
    Some(all.into())
}

/// The last size of tensors that meet number by number: several of one of them, whatever the others have; one, where each
/// has one.
pub(super) fn last_of_all(sizes: impl Iterator<Item = Option<Int>>) -> Option<Int> {
    let sizes: Vec<Option<i64>> = sizes.map(|size| size?.known().filter(|size| *size > 0)).collect();
    let mut several = sizes.iter().flatten().filter(|size| **size != 1);
    match several.next() {
        Some(last) => several.all(|size| size == last).then_some(Int::Known(*last)),
        None => (!sizes.is_empty() && sizes.iter().all(Option::is_some)).then_some(Int::Known(1)),
    }
}

/// `where(condition, x, y)`; of a condition alone, the positions where it holds.
pub(crate) fn choose(interp: &mut Interp, call: &Invocation) -> Value {
    let condition = first(interp, call);
    let (Some(x), Some(y)) = (given(call, Slot::X), given(call, Slot::Y)) else {
        let Some(rank) = condition.rank() else { return Value::Unknown };
        let positions = indices(interp, call.place, &condition, Some(Rc::from([Int::Unknown])));
        return Value::tuple(vec![Value::tensor(positions); rank]);
    };
    let branches = of_all(interp, call.place, &[x.clone(), y.clone()]);
    let shape = broadcast_all([condition.shape.as_ref(), branches.shape.as_ref()].into_iter());
    let device = device_of_all(&[&condition, &branches]);
    let hazards = union_hazards(&in_both(&x, &y), &left_out(&condition, &branches, call.place));
    let mut chosen = Tensor { shape, device, hazards, ..branches };
    if is_number(&x) && is_number(&y) {
        chosen.is_array = condition.is_array;
    }
    Value::tensor(chosen)
}

/// What threatens both branches of a choice is there whichever is chosen.
fn in_both(x: &Value, y: &Value) -> Option<Rc<[Hazard]>> {
    let (x, y) = (x.as_tensor()?, y.as_tensor()?);
    let others = y.hazards.as_ref()?;
    retain_hazards(&x.hazards, |hazard| others.contains(hazard))
}

/// What threatens the branches of a choice is usually what is not chosen: their values are left out, their
/// gradients are multiplied by zero, and zero times infinity is no number.
fn left_out(condition: &Tensor, branches: &Tensor, place: Place) -> Option<Rc<[Hazard]>> {
    let is_of_model = !matches!(condition.relation.as_deref(), None | Some(Relation::OneHot));
    if !is_of_model || matches!(branches.graph, Graph::None) {
        return None;
    }
    let hazards = branches.hazards.as_ref()?;
    let masked = hazards.iter().filter(|hazard| hazard.outlives_choice()).map(|hazard| Hazard {
        chosen: hazard.chosen.or(Some(place)),
        confidence: hazard.confidence.min(Confidence::Medium),
        ..hazard.clone()
    });
    let masked: Rc<[Hazard]> = masked.collect();
    (!masked.is_empty()).then_some(masked)
}

pub(crate) fn max_pair(interp: &mut Interp, call: &Invocation) -> Value {
    extreme_pair(interp, call, Interval::max)
}

pub(crate) fn min_pair(interp: &mut Interp, call: &Invocation) -> Value {
    extreme_pair(interp, call, Interval::min)
}

fn extreme_pair(interp: &Interp, call: &Invocation, extreme: fn(&Interval, &Interval) -> Interval) -> Value {
    let (x, y) = (call.nth(0), call.nth(1));
    let range = interval_of(&x).zip(interval_of(&y)).map(|(x, y)| extreme(&x, &y));
    let any_number = [&x, &y]
        .iter()
        .all(|side| side.as_tensor().is_some_and(|side| matches!(side.mark, Some((Mark::Raw, _)))));
    let mark = any_number.then_some((Mark::Raw, call.place));
    let pair = of_all(interp, call.place, &[x, y]);
    Value::tensor(Tensor { range, mark, ..pair })
}

pub(crate) fn one_hot(interp: &mut Interp, call: &Invocation) -> Value {
    let classes = first(interp, call);
    let count = given(call, Slot::NumClasses).and_then(|count| count.as_int().cloned()).unwrap_or_default();
    let count = if count.known() == Some(-1) { Int::Unknown } else { count };
    let shape = classes.shape.as_deref().map(|shape| {
        let rows = match shape {
            [rows @ .., Int::Known(1)] if word(call, "column") && !rows.is_empty() => rows,
            _ => shape,
        };
        rows.iter().cloned().chain([count.clone()]).collect()
    });
    let range = Some(Interval::closed(0.0, 1.0));
    let places = indices(interp, call.place, &classes, None);
    let dtype = match named(call, "dtype") {
        Some(dtype) => dtype_of(&dtype),
        None => quoted_dtype(call).or(places.dtype),
    };
    let last = shape.is_none().then_some(count);
    let relation = Some(Rc::new(Relation::OneHot));
    Value::tensor(Tensor { shape, last, range, dtype, relation, ..places })
}

/// Python's `sum` of tensors or numbers.
pub(crate) fn sum_of(interp: &mut Interp, call: &Invocation) -> Value {
    let operand = call.nth(0);
    match sequence(interp, &operand) {
        Some(Sequence::Exact(items)) => sum_items(interp, call.place, items),
        Some(Sequence::Any(any, _)) => sum_items(interp, call.place, vec![any.clone(), any]),
        None => match operand.as_tensor() {
            Some(tensor) => {
                let shape =
                    tensor.shape.as_ref().filter(|shape| !shape.is_empty()).map(|shape| shape[1..].into());
                Value::tensor(Tensor { shape, ..result(interp, call.place, &[tensor]) })
            }
            None => Value::Unknown,
        },
    }
}

fn sum_items(interp: &Interp, place: Place, items: Vec<Value>) -> Value {
    if items.iter().any(|item| item.as_tensor().is_some()) {
        return Value::tensor(of_all(interp, place, &items));
    }
    let all_int = items.iter().all(|item| item.as_int().is_some());
    if all_int {
        let sum = items.iter().filter_map(Value::as_int).fold(Int::Known(0), |sum, int| sum.add(int));
        return Value::of_int(sum);
    }
    if items.iter().all(is_number) { Value::Float(None) } else { Value::Unknown }
}

pub(crate) fn list_of(interp: &mut Interp, call: &Invocation) -> Value {
    let any = call.nth(0);
    interp.list_of(call.place, any)
}
