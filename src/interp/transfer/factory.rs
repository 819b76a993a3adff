//! Operations that make tensors: from sizes, from other tensors, from Python numbers.

use super::build::*;
use super::dims::{self, div_ceil};
use crate::apis::{ParamKind, RangeSpec, Slot};
use crate::interp::python::is_list;
use crate::interp::{Interp, Invocation};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;

/// What a new tensor is held by.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Holder {
    Framework,
    NumPy,
}

/// `factory size dtype device requires_grad`, or a quoted dtype as the default.
pub(crate) fn factory(interp: &mut Interp, call: &Invocation) -> Value {
    let shape = given_shape(interp, call);
    // Whatever size nobody knows is one, as a rule: a number is not asked for by a size.
    let has_axis = shape.is_none() && given(call, Slot::Size).is_some();
    let what = Some(call.api.name);
    let new = made(interp, call, None, Holder::Framework).with_shape(shape);
    Value::tensor(Tensor { has_axis, what, ..new })
}

/// `array-factory size dtype`
pub(crate) fn array_factory(interp: &mut Interp, call: &Invocation) -> Value {
    let shape = drawn_shape(interp, call);
    Value::tensor(made(interp, call, None, Holder::NumPy).with_shape(shape))
}

/// `identity a b dtype device requires_grad`
pub(crate) fn identity(interp: &mut Interp, call: &Invocation) -> Value {
    Value::tensor(made(interp, call, None, Holder::Framework).with_shape(Some(matrix(call))))
}

/// `array-identity a b dtype`
pub(crate) fn array_identity(interp: &mut Interp, call: &Invocation) -> Value {
    Value::tensor(made(interp, call, None, Holder::NumPy).with_shape(Some(matrix(call))))
}

/// The shape of a matrix that is as wide as high unless it says otherwise.
fn matrix(call: &Invocation) -> Shape {
    let rows = call.nth(0).as_int().cloned().unwrap_or_default();
    let columns = given(call, Slot::B).map(|columns| columns.as_int().cloned().unwrap_or_default());
    Rc::from([rows.clone(), columns.unwrap_or(rows)])
}

/// `new-factory x size dtype device requires_grad`
pub(crate) fn new_factory(interp: &mut Interp, call: &Invocation) -> Value {
    let model = first(interp, call);
    let shape = given_shape(interp, call);
    Value::tensor(made(interp, call, Some(&model), Holder::Framework).with_shape(shape))
}

/// `new-tensor x data dtype device requires_grad`
pub(crate) fn new_tensor(interp: &mut Interp, call: &Invocation) -> Value {
    let (model, data) = (first(interp, call), tensor_of(interp, &call.operand(Slot::Data)));
    Value::tensor(made(interp, call, Some(&model), Holder::Framework).with_shape(data.shape.clone()))
}

/// The shape that the operand for it says.
fn given_shape(interp: &Interp, call: &Invocation) -> Option<Shape> {
    shape_of(interp, &given(call, Slot::Size)?)
}

/// The same of numbers that are drawn: where nothing says a shape, one is drawn for each number of the arguments.
pub(super) fn drawn_shape(interp: &Interp, call: &Invocation) -> Option<Shape> {
    if given(call, Slot::Size).is_some() {
        return given_shape(interp, call);
    }
    let draws = call.api.params.iter().any(|param| param.name == "size" || param.kind == ParamKind::Star);
    let numbers = call.values().all(|value| is_number(value) || matches!(value.bare(), Value::None));
    (draws && numbers && !call.open).then(|| Rc::from([]))
}

pub(super) fn shape_of(interp: &Interp, size: &Value) -> Option<Shape> {
    let empty = matches!(sequence(interp, size), Some(Sequence::Exact(items)) if items.is_empty());
    if empty { Some(Rc::from([])) } else { ints_of(interp, size).map(Rc::from) }
}

pub(crate) fn array_unknown(interp: &mut Interp, call: &Invocation) -> Value {
    // What is read or drawn as an array is more than a number.
    as_arrays(Value::tensor(Tensor { has_axis: true, ..some_tensor(interp, call.place) }))
}

/// `legacy-tensor data dtype device`: by sizes, or from one sequence of numbers.
pub(crate) fn legacy(interp: &mut Interp, call: &Invocation) -> Value {
    let device = match device_named(&call.operand(Slot::Device)) {
        Device::Cpu => interp.ambient.device,
        device => device,
    };
    let device_origin = Some(DeviceOrigin::Default { made: call.place, whole: true, joined: false })
        .filter(|_| device == Device::Cpu);
    let blank = Tensor {
        graph: Graph::None,
        device,
        device_origin,
        dtype: quoted_dtype(call),
        // Not even of one number they make a number.
        has_axis: true,
        ..some_tensor(interp, call.place)
    };
    let Some(Sequence::Exact(items)) = sequence(interp, &call.operand(Slot::Data)) else {
        return Value::tensor(blank);
    };
    // A tensor is taken as it is, in its graph; arrays and lists become numbers of its own type.
    let data = items.first().and_then(Value::as_tensor);
    if let Some(taken) = data.filter(|tensor| !tensor.is_array && tensor.rank() != Some(0)) {
        // Those of one type refuse what is on another device; the class of all tensors does not ask.
        let (device, device_origin) = match call.api.class {
            Some(_) => (taken.device, taken.device_origin),
            None => (blank.device, blank.device_origin),
        };
        return Value::tensor(Tensor { device, device_origin, ..(**taken).clone() });
    }
    let blank = Tensor { detach_points: data.and_then(|data| data.detach_points.clone()), ..blank };
    match items.as_slice() {
        [] if call.more.is_empty() && !call.open => {
            Value::tensor(blank.with_shape(Some(Rc::from([Int::Known(0)]))))
        }
        [] => Value::tensor(blank),
        // A shape is a tuple as any other, and says sizes, not numbers; so does a number of NumPy.
        [Value::Tuple(_) | Value::Unknown] => Value::tensor(blank),
        [Value::Obj(list)] if is_list(interp, *list, "tuple") => Value::tensor(blank),
        [Value::Tensor(tensor)] if tensor.rank().is_none_or(|rank| rank == 0) => Value::tensor(blank),
        [one] if one.as_int().is_none() => {
            let from = data_of(interp, call, one);
            let numbers = super::convert::with_dtype(&from, blank.dtype);
            let (shape, range) = (from.shape.clone(), numbers.range);
            Value::tensor(Tensor { shape, range, source: from.source, ..blank })
        }
        _ => {
            let shape = shape_of(interp, &Value::tuple(items));
            Value::tensor(blank.with_shape(shape))
        }
    }
}

/// `factory-like x dtype device requires_grad`
pub(crate) fn factory_like(interp: &mut Interp, call: &Invocation) -> Value {
    let model = first(interp, call);
    let shape = model.shape.clone();
    let holder = if model.is_array { Holder::NumPy } else { Holder::Framework };
    Value::tensor(made(interp, call, Some(&model), holder).with_shape(shape))
}

/// `sparse values size dtype device requires_grad`: what holds these values, where they are.
pub(crate) fn sparse(interp: &mut Interp, call: &Invocation) -> Value {
    let values = first(interp, call);
    let shape = given_shape(interp, call).filter(|shape| !shape.is_empty());
    let held = made(interp, call, Some(&values), Holder::Framework).with_shape(shape);
    let graph = held.graph.union(&graph_here(interp.ambient.grad, held.dtype, &values.graph));
    Value::tensor(Tensor { graph, learned: values.learned, ..held })
}

/// `asking self requires_grad`: the tensor itself, a leaf from here on where it was in no graph.
pub(crate) fn asking_for_gradients(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let flag = given(call, Slot::RequiresGrad).map_or(Some(true), |flag| flag.as_bool());
    new_leaf(interp, &tensor, flag).unwrap_or(Value::Tensor(tensor))
}

/// A tensor that was in no graph, once it asks for gradients.
pub(crate) fn new_leaf(interp: &Interp, tensor: &Tensor, flag: Option<bool>) -> Option<Value> {
    let joins = matches!(tensor.graph, Graph::None) && flag != Some(false);
    joins.then(|| Value::tensor(asking(interp, tensor.clone(), Some(flag))))
}

/// A new tensor, its dtype and device by the call's options, else as of a model, else by default.
pub(super) fn made(interp: &Interp, call: &Invocation, model: Option<&Tensor>, holder: Holder) -> Tensor {
    let is_array = holder == Holder::NumPy;
    let dtype = match (named(call, "dtype"), model) {
        (Some(dtype), _) if is_array => array_dtype_of(&dtype),
        (Some(dtype), _) => dtype_of(&dtype),
        (None, Some(model)) => model.dtype,
        (None, None) => quoted_dtype(call).or_else(|| default_dtype(interp, call, is_array)),
    };
    let filled = named(call, "fill_value").and_then(|value| interval_of(&value));
    let (device, device_origin) = device_wanted(interp, call, model.map(|model| model.device), holder);
    let tensor = Tensor {
        dtype,
        device,
        device_origin: device_origin.or_else(|| {
            model
                .filter(|_| named(call, "device").is_none())
                .and_then(|model| model.device_origin)
                .filter(|device_origin| *device_origin != DeviceOrigin::Module)
        }),
        range: filled,
        source: source(call),
        is_array,
        ..some_tensor(interp, call.place)
    };
    made_to_learn(interp, call, tensor)
}

/// A new tensor that asks for gradients is one that somebody trains.
fn made_to_learn(interp: &Interp, call: &Invocation, tensor: Tensor) -> Tensor {
    let asked = named(call, "requires_grad").map(|flag| flag.as_bool());
    let learns = asked == Some(Some(true));
    let tensor = asking(interp, tensor, asked);
    // Where it starts is far from where it would be wrong, as a rule.
    if learns { Tensor { learned: true, source: Source::Parameter, range: None, ..tensor } } else { tensor }
}

/// Numbers that are spread over an interval were drawn; others are constants.
fn source(call: &Invocation) -> Source {
    match &call.api.range {
        Some(RangeSpec::Interval { low, high, .. }) if low < high => Source::Data,
        Some(_) => Source::Constant,
        None => Source::Unknown,
    }
}

/// A tensor whose `requires_grad` was set, or not, or may be.
pub(crate) fn asking(interp: &Interp, tensor: Tensor, requires_grad: Option<Option<bool>>) -> Tensor {
    match requires_grad {
        Some(Some(true)) => Tensor { graph: own_graph(interp.epoch), is_leaf: true, ..tensor },
        Some(None) => Tensor { graph: Graph::Unknown, ..tensor },
        _ => Tensor { graph: Graph::None, ..tensor },
    }
}

/// The graph of a leaf that belongs to no object.
fn own_graph(epoch: u32) -> Graph {
    Graph::Live(Rc::new(Nodes {
        leaves: ObjSet::default(),
        others: true,
        oldest: epoch,
        carried: Rc::from([]),
        maybe: false,
        parts: Parts::default(),
        bare: true,
        own: true,
    }))
}

/// What a factory makes without a dtype: of a filling the dtype that fits it, else the framework's float.
fn default_dtype(interp: &Interp, call: &Invocation, is_array: bool) -> Option<DType> {
    match named(call, "fill_value") {
        Some(Value::Api(name)) if interp.apis.is_nan(name) => Some(default_float(is_array)),
        Some(fill) => number_dtype(&fill, is_array),
        None => Some(default_float(is_array)),
    }
}

fn number_dtype(value: &Value, is_array: bool) -> Option<DType> {
    match value.bare() {
        Value::Bool(_) => Some(DType::Bool),
        Value::Int(_) => Some(DType::Int64),
        Value::Float(_) => Some(default_float(is_array)),
        _ => None,
    }
}

/// Where a new tensor is, and that it is there by default where nothing says so.
fn device_wanted(
    interp: &Interp,
    call: &Invocation,
    model: Option<Device>,
    holder: Holder,
) -> (Device, Option<DeviceOrigin>) {
    let said = match holder {
        Holder::NumPy => Some(Device::Cpu),
        Holder::Framework => device_said(interp, call, model),
    };
    let chooses = call.api.params.iter().any(|param| param.name == "device");
    match said {
        Some(device) => (device, None),
        // Frameworks without the parameter place tensors where they see fit.
        None if !chooses => (Device::Unknown, None),
        None if interp.ambient.device == Device::Cpu => {
            (Device::Cpu, Some(DeviceOrigin::Default { made: call.place, whole: true, joined: false }))
        }
        None => (interp.ambient.device, None),
    }
}

/// The device that the call, its entry, its model or the context around it says.
fn device_said(interp: &Interp, call: &Invocation, model: Option<Device>) -> Option<Device> {
    if let Some(device) = named(call, "device") {
        return (!is_of_making(&device)).then(|| device_of(interp, &device));
    }
    if let Some(out) = named(call, "out") {
        return Some(device_of(interp, &out));
    }
    let context = interp.ambient.contexts.iter().rev().find_map(|context| match context {
        ContextKind::Device(device) => Some(*device),
        _ => None,
    });
    if word(call, "automatic") {
        return Some(model.unwrap_or_else(|| match context {
            Some(device) if !device.is_gpu() => Device::Unknown,
            _ => Device::Automatic,
        }));
    }
    let quoted = || literals(call).map(|literal| device_named(&crate::interp::invocation::literal(literal)));
    let quoted = quoted().find(|device| *device != Device::Unknown);
    let receiver = call.get("self").as_tensor().map(|tensor| tensor.device);
    quoted.or(receiver).or(model).or(context)
}

/// `arange start stop step`; a single bound is where it stops.
pub(crate) fn arange(interp: &mut Interp, call: &Invocation) -> Value {
    counted(interp, call, Holder::Framework)
}

/// `array-range start stop step dtype`
pub(crate) fn array_range(interp: &mut Interp, call: &Invocation) -> Value {
    counted(interp, call, Holder::NumPy)
}

fn counted(interp: &Interp, call: &Invocation, holder: Holder) -> Value {
    let (start, end) = match (param(call, Slot::Start), param(call, Slot::Stop)) {
        (Some(only), None) => (Value::int(0), only),
        (None, end) => (Value::int(0), end.unwrap_or_default()),
        (Some(start), Some(end)) => (start, end),
    };
    let step = param(call, Slot::Step).unwrap_or_else(|| Value::int(1));
    let bounds = [&start, &end, &step];
    let whole = bounds.iter().all(|bound| bound.as_int().is_some());
    let is_array = holder == Holder::NumPy;
    let dtype = match named(call, "dtype") {
        Some(dtype) => dtype_of(&dtype),
        None if whole => Some(DType::Int64),
        None if bounds.iter().all(|bound| is_number(bound)) => Some(default_float(is_array)),
        None => None,
    };
    let length = match (start.as_int(), end.as_int(), step.as_int()) {
        (Some(start), Some(end), Some(step)) => steps(start, end, step),
        _ => Int::Unknown,
    };
    let range = arange_range(&start, &end, &step);
    let made = Tensor { what: Some(call.api.name), ..made(interp, call, None, holder) };
    Value::tensor(Tensor { shape: Some(Rc::from([length])), dtype, range, source: Source::Constant, ..made })
}

/// How many steps lead from a start to an end that is not reached.
fn steps(start: &Int, end: &Int, step: &Int) -> Int {
    let (way, step) = match step.known() {
        Some(known) if known < 0 => (start.sub(end), step.neg()),
        Some(0) => return Int::Unknown,
        _ => (end.sub(start), step.clone()),
    };
    if way.known().is_some_and(|way| way < 0) { Int::Known(0) } else { div_ceil(&way, &step) }
}

fn arange_range(start: &Value, end: &Value, step: &Value) -> Option<Interval> {
    let (first, step) = (start.as_num()?, step.as_num()?);
    match end.as_num() {
        Some(end) if first <= end => Some(Interval { high_end: End::Open, ..Interval::closed(first, end) }),
        None if step > 0.0 => Some(Interval::closed(first, f64::INFINITY)),
        _ => None,
    }
}

/// `from-data data dtype device requires_grad size`: a copy without the graph of the data.
pub(crate) fn from_data(interp: &mut Interp, call: &Invocation) -> Value {
    let made = copied(interp, call, Holder::Framework);
    let Some((tensor, size)) = made.as_tensor().zip(given(call, Slot::Size)) else { return made };
    Value::tensor((**tensor).clone().with_shape(shape_of(interp, &size)))
}

/// `array-of x dtype`
pub(crate) fn array_of(interp: &mut Interp, call: &Invocation) -> Value {
    copied(interp, call, Holder::NumPy)
}

pub(super) fn copied(interp: &Interp, call: &Invocation, holder: Holder) -> Value {
    let data = call.nth(0);
    if holds_objects(interp, &data) {
        return Value::Unknown;
    }
    let from = data_of(interp, call, &data);
    let is_array = holder == Holder::NumPy;
    let mut made = Tensor {
        is_array,
        is_leaf: false,
        graph: Graph::None,
        made: Some(call.place),
        what: None,
        ..(*from).clone()
    };
    let is_plain = is_plain(interp, &data, MOST_NESTED);
    if !is_array && is_plain {
        // Python numbers become the framework's own: its float, and integers as wide as the entry says.
        made.dtype = match from.dtype {
            Some(DType::Float64) => Some(DType::Float32),
            Some(DType::Int64) => quoted_dtype(call).or(Some(DType::Int64)),
            other => other,
        };
    }
    if let Some(dtype) = named(call, "dtype") {
        let dtype = if is_array { array_dtype_of(&dtype) } else { dtype_of(&dtype) };
        made = super::convert::with_dtype(&made, dtype);
    }
    let model = data.as_tensor().filter(|tensor| !tensor.is_array).map(|tensor| tensor.device);
    (made.device, made.device_origin) = device_wanted(interp, call, model, holder);
    // Of what is not known it may be a number.
    made.device_origin = made.device_origin.filter(|_| made.rank().is_some());
    let made = made_to_learn(interp, call, made);
    // An array that asks for gradients holds data still: something is differentiated by it.
    let source = if is_plain { made.source } else { from.source };
    Value::tensor(Tensor { source, ..made })
}

/// Python numbers only, no tensors or arrays.
fn is_plain(interp: &Interp, value: &Value, depth: usize) -> bool {
    match sequence(interp, value) {
        Some(_) if depth == 0 => false,
        Some(Sequence::Exact(items)) => items.iter().all(|item| is_plain(interp, item, depth - 1)),
        Some(Sequence::Any(any, _)) => is_plain(interp, &any, depth - 1),
        None => is_number(value),
    }
}

/// What NumPy makes of Python numbers.
fn constant() -> Tensor {
    Tensor { graph: Graph::None, source: Source::Constant, is_array: true, ..Tensor::default() }
}

pub(crate) fn from_number(value: &Value) -> Tensor {
    let dtype = number_dtype(value, true);
    Tensor { shape: Some(Rc::from([])), dtype, range: interval_of(value), ..constant() }
}

/// Numbers in nested lists, as NumPy would read them. Lists of tensors are stacked.
pub(crate) fn from_sequence(interp: &Interp, items: Sequence, reach: &mut NestingLimit) -> Tensor {
    match items {
        // What is put into an empty list elsewhere is not always seen.
        Sequence::Exact(items) if items.is_empty() => constant(),
        Sequence::Exact(items) => stacked(interp, &items, reach),
        Sequence::Any(any, len) => {
            // Numbers that stand nowhere in the script come from a file or a dataset.
            let read = (is_number(&any) && any.as_num().is_none()).then_some(Source::Data);
            let any = tensor_within(interp, &any, reach);
            let shape =
                any.shape.as_ref().map(|shape| [len].into_iter().chain(shape.iter().cloned()).collect());
            Tensor { source: read.unwrap_or(any.source), ..(*any).clone().with_shape(shape) }
        }
    }
}

/// Longer lists are taken for what their first items say, without a range.
const MOST_ITEMS: usize = 256;

fn stacked(interp: &Interp, items: &[Value], reach: &mut NestingLimit) -> Tensor {
    let parts: Vec<Rc<Tensor>> =
        items.iter().take(MOST_ITEMS).map(|item| tensor_within(interp, item, reach)).collect();
    let refs: Vec<&Tensor> = parts.iter().map(Rc::as_ref).collect();
    let shapes: Option<Vec<&[Int]>> = parts.iter().map(|part| part.shape.as_deref()).collect();
    let shape = shapes.and_then(|shapes| dims::stack(&shapes, 0)).map(|mut shape| {
        shape[0] = Int::Known(items.len() as i64);
        shape.into()
    });
    let complete = items.len() <= MOST_ITEMS;
    let range =
        parts.iter().map(|part| part.range).reduce(|a, b| Some(a?.join(&b?))).flatten().filter(|_| complete);
    let place = Place::new(interp.file(), crate::report::Span::default());
    Tensor { shape, range, made: None, ..result(interp, place, &refs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_what_arange_gives() {
        let known = |start, end, step| steps(&Int::Known(start), &Int::Known(end), &Int::Known(step));
        assert_eq!(known(0, 10, 1), Int::Known(10));
        assert_eq!(known(0, 10, 3), Int::Known(4));
        assert_eq!(known(10, 0, -2), Int::Known(5));
        assert_eq!(known(5, 0, 1), Int::Known(0));
        assert_eq!(known(0, 5, 0), Int::Unknown);
        let length = Int::symbol(Symbol(0));
        assert_eq!(steps(&Int::Known(0), &length, &Int::Known(1)), length);
        assert_eq!(steps(&Int::Known(0), &length, &Int::Known(2)), Int::Unknown);
    }

    #[test]
    fn ranges_of_arange_exclude_the_end() {
        let range = arange_range(&Value::int(1), &Value::int(5), &Value::int(1));
        assert!(range.is_some_and(|range| !range.contains(5.0) && !range.contains_zero()));
        let open = arange_range(&Value::int(0), &Value::of_int(Int::symbol(Symbol(0))), &Value::int(1));
        assert!(open.is_some_and(|range| range.contains_zero() && !range.contains(-1.0)));
        assert_eq!(arange_range(&Value::Unknown, &Value::int(5), &Value::int(1)), None);
    }

    #[test]
    fn numbers_have_the_dtype_of_their_kind() {
        assert_eq!(number_dtype(&Value::Float(Some(0.5)), true), Some(DType::Float64));
        assert_eq!(number_dtype(&Value::Float(Some(0.5)), false), Some(DType::Float32));
        assert_eq!(number_dtype(&Value::int(3), false), Some(DType::Int64));
        assert_eq!(number_dtype(&Value::Unknown, false), None);
    }
}
