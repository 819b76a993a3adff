//! The same numbers held in another way: dtypes, devices, arrays, Python numbers, and what a tensor says of itself.

use super::build::*;
use super::dims::normalise_dim;
use crate::apis::{Literal, Operand, Slot};
use crate::interp::{Interp, Invocation, own_gpu, tuple_of_unknown_length};
use crate::report::Confidence;
use crate::values::*;
use std::rc::Rc;

/// The Python number in a tensor.
pub(crate) fn item(interp: &mut Interp, call: &Invocation) -> Value {
    if let Some(number) = interp.element_number(&call.nth(0), None) {
        return number;
    }
    let tensor = first(interp, call);
    let point = tensor.range.and_then(|range| range.as_point());
    match tensor.dtype {
        Some(DType::Bool) => Value::Bool(None),
        Some(dtype) if !dtype.is_float() => Value::of_int(Int::Unknown),
        // Of what is learned it is a float; of other numbers nobody said.
        None if !tensor.learned && !tensor.graph.is_live() => Value::Unknown,
        _ => Value::Float(point),
    }
}

/// A Python bool: the one that the entry quotes, or either.
pub(crate) fn truth(_interp: &mut Interp, call: &Invocation) -> Value {
    match operands(call).first() {
        Some(Operand::Literal(Literal::Bool(value))) => Value::Bool(Some(*value)),
        _ => Value::Bool(None),
    }
}

/// The same, of a question for the device: a script that asks decides by it what it computes where.
pub(crate) fn truth_of_device(interp: &mut Interp, call: &Invocation) -> Value {
    interp.asked_for_device();
    match interp.sees_gpus() {
        Some(true) => truth(interp, call),
        other => Value::Bool(other),
    }
}

/// `x.is_cuda`: what is computed on either way follows the tensor.
pub(crate) fn is_on_gpu(interp: &mut Interp, call: &Invocation) -> Value {
    match (first(interp, call).device, truth_of_device(interp, call)) {
        (Device::Cpu, _) => Value::Bool(Some(false)),
        (Device::Cuda(_), Value::Bool(None)) => Value::Bool(Some(true)),
        (_, either) => either,
    }
}

/// `torch.is_tensor(x)`
pub(crate) fn is_tensor(_: &mut Interp, call: &Invocation) -> Value {
    Value::Bool(match call.nth(0) {
        // What was only taken for an array may be a tensor, but not the other way round.
        Value::Tensor(tensor) => {
            (tensor.confidence == Confidence::High || !tensor.is_array).then_some(!tensor.is_array)
        }
        Value::Params(_) => Some(true),
        Value::None | Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Str(_) | Value::Tuple(_) => {
            Some(false)
        }
        _ => None,
    })
}

/// `tolist`: a number, or a list of what the rows become.
pub(crate) fn to_list(interp: &mut Interp, call: &Invocation) -> Value {
    match first(interp, call).rank() {
        Some(0) => item(interp, call),
        Some(1) => {
            let any = item(interp, call);
            interp.list_of(call.place, any)
        }
        Some(_) => interp.list_of(call.place, Value::Unknown),
        None => Value::Unknown,
    }
}

pub(crate) fn cast(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    // `x.type()` is the name of its type.
    let Some(wanted) = given(call, Slot::Dtype) else { return Value::Unknown };
    let dtype = if tensor.is_array { array_dtype_of(&wanted) } else { dtype_of(&wanted) };
    let cast = with_dtype(&tensor, dtype);
    let moved = tensor_type_device(&wanted);
    if moved.is_none() && is_same(&tensor, &cast) {
        return Value::Tensor(tensor);
    }
    // A type of the CPU takes it away from wherever it was.
    let taken = moved == Some(Device::Cpu) && tensor.device != Device::Cpu && !tensor.is_array;
    let away = DeviceOrigin::Default { made: call.place, whole: true, joined: false };
    let device_origin = if taken { Some(away) } else { cast.device_origin.filter(|_| moved.is_none()) };
    Value::tensor(kept(interp, &Tensor { device: moved.unwrap_or(tensor.device), device_origin, ..cast }))
}

/// `as-tensor x dtype device`: a tensor in a dtype; what is none yet becomes one, and what nobody knows may be one.
pub(crate) fn as_tensor(interp: &mut Interp, call: &Invocation) -> Value {
    let data = call.nth(0);
    let taken = match data.bare() {
        Value::Tensor(tensor) if !tensor.is_array => Some(tensor.clone()),
        Value::Params(_) => Some(first(interp, call)),
        _ => None,
    };
    if let Some(taken) = taken {
        return taken_as(interp, call, &taken);
    }
    let made = super::factory::copied(interp, call, super::factory::Holder::Framework);
    let Some(tensor) = made.as_tensor() else { return made };
    let tensor = match given(call, Slot::Dtype).and_then(|dtype| dtype_of(&dtype)) {
        Some(dtype) => with_dtype(tensor, Some(dtype)),
        None => (**tensor).clone(),
    };
    if data.is_unknown() {
        let device = if named(call, "device").is_some() { tensor.device } else { Device::Unknown };
        let graph = graph_here(interp.ambient.grad, tensor.dtype, &Graph::Unknown);
        return Value::tensor(Tensor { graph, device, device_origin: None, ..tensor });
    }
    Value::tensor(tensor)
}

/// A tensor that is one already: itself, in its graph, unless another dtype or device is asked for.
fn taken_as(interp: &mut Interp, call: &Invocation, tensor: &Rc<Tensor>) -> Value {
    let cast = match given(call, Slot::Dtype) {
        Some(_) => cast(interp, call),
        None => Value::Tensor(tensor.clone()),
    };
    let (Some(cast), Some(device)) = (cast.as_tensor(), named(call, "device")) else { return cast };
    let moved = Tensor { device: device_of(interp, &device), device_origin: None, ..(**cast).clone() };
    Value::tensor(kept(interp, &moved))
}

/// The device that a tensor type such as `torch.cuda.FloatTensor` stands for; `None` for a mere dtype.
pub(crate) fn tensor_type_device(wanted: &Value) -> Option<Device> {
    let name = match wanted.bare() {
        // One of several types, as `torch.cuda.FloatTensor if cuda else torch.Tensor` is.
        Value::Unknown | Value::AnyOf(_) => return Some(Device::Unknown),
        Value::Api(name) => name.as_str(),
        Value::Str(name) => name.as_deref()?,
        _ => return None,
    };
    let (package, class) = name.rsplit_once('.')?;
    class.ends_with("Tensor").then_some(match class {
        _ if package.ends_with("cuda") => Device::Cuda(None),
        // What `type(x)` gives for any tensor, and what stands for the default type, wherever that is.
        "Tensor" => Device::Unknown,
        _ => Device::Cpu,
    })
}

/// A tensor cast to a dtype; `None` when it is not known to which.
pub(crate) fn with_dtype(tensor: &Tensor, dtype: Option<DType>) -> Tensor {
    let mut cast = tensor.clone();
    cast.dtype = dtype;
    cast.cast = None;
    match dtype {
        Some(DType::Bool) => cast.range = Some(Interval::closed(0.0, 1.0)),
        Some(to) if to.is_float() => {}
        Some(_) => cast.range = tensor.range.map(truncated),
        None => cast.range = None,
    }
    if !dtype.is_some_and(DType::is_float) {
        cast.mark = None;
    }
    if dtype.is_some_and(|dtype| !dtype.is_float()) {
        cast.graph = Graph::None;
    }
    cast
}

/// Towards zero, as casts to integers go.
fn truncated(range: Interval) -> Interval {
    Interval::closed(range.low.trunc(), range.high.trunc())
}

/// `tensor.to(…)`: devices, dtypes and other tensors in any order.
pub(crate) fn to(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let mut moved = (*tensor).clone();
    let mut wanted: Vec<(&str, Value)> = params_from(call, 1);
    wanted.extend(call.more.iter().map(|(name, passed)| (name.as_str(), passed.value.clone())));
    for (name, value) in wanted {
        match sequence(interp, &value) {
            Some(Sequence::Exact(items)) => {
                items.iter().for_each(|item| moved = converted(&moved, name, item));
            }
            _ => moved = converted(&moved, name, &value),
        }
    }
    if is_same(&tensor, &moved) { Value::Tensor(tensor) } else { Value::tensor(kept(interp, &moved)) }
}

/// Nothing is converted: the framework gives back the tensor itself, which is a parameter still.
fn is_same(tensor: &Tensor, converted: &Tensor) -> bool {
    tensor.is_parameter()
        && tensor.dtype.is_some()
        && tensor.dtype == converted.dtype
        && tensor.device != Device::Unknown
        && tensor.device == converted.device
}

/// What is moved no longer stays where it was made, and what is put on the CPU is no longer where the model is.
fn moved_device_origin(tensor: &Tensor, device: Device) -> Option<DeviceOrigin> {
    let stays = |origin: &DeviceOrigin| *origin == DeviceOrigin::Module && device != Device::Cpu;
    tensor.device_origin.filter(stays)
}

fn converted(tensor: &Tensor, name: &str, wanted: &Value) -> Tensor {
    let at = |device: Device| {
        let device_origin = moved_device_origin(tensor, device);
        Tensor { device, device_origin, ..tensor.clone() }
    };
    match wanted.bare() {
        Value::None | Value::Bool(_) => tensor.clone(),
        Value::Tensor(other) => Tensor {
            device: other.device,
            device_origin: other.device_origin,
            ..with_dtype(tensor, other.dtype)
        },
        Value::DType(_) | Value::Api(_) | Value::Builtin(_) if dtype_of(wanted).is_some() => {
            with_dtype(tensor, dtype_of(wanted))
        }
        Value::Str(Some(_)) if device_named(wanted) == Device::Unknown && dtype_of(wanted).is_some() => {
            with_dtype(tensor, dtype_of(wanted))
        }
        Value::Str(_) | Value::Device(..) | Value::Int(_) => at(device_named(wanted)),
        _ if name == "dtype" => with_dtype(tensor, None),
        _ if name == "device" => at(Device::Unknown),
        // It may be a device or a dtype. A cast would keep the numbers, mostly, and move nothing.
        _ => Tensor { dtype: None, ..at(Device::Unknown) },
    }
}

/// Puts a tensor on the first device that is given.
pub(crate) fn place(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let count = operands(call).len();
    // An argument of the call wins over the device that the entry quotes.
    let quoted = (1..count).filter_map(|index| given_nth(call, index)).next();
    let device = params_from(call, 1).into_iter().map(|(_, value)| value).next().or(quoted);
    let device = device.map_or(Device::Unknown, |device| device_of(interp, &device));
    let device = if device == Device::Unknown { own_gpu(call).unwrap_or(device) } else { device };
    let device_origin = moved_device_origin(&tensor, device);
    Value::tensor(kept(interp, &Tensor { device, device_origin, ..(*tensor).clone() }))
}

pub(crate) fn detach(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let hazards =
        retain_hazards(&tensor.hazards, |hazard| !hazard.is_of_gradient() && hazard.chosen.is_none());
    Value::tensor(Tensor { graph: Graph::None, is_leaf: false, hazards, ..(*tensor).clone() })
}

pub(crate) fn numpy(interp: &mut Interp, call: &Invocation) -> Value {
    as_arrays(detach(interp, call))
}

pub(crate) fn shape(interp: &mut Interp, call: &Invocation) -> Value {
    match &first(interp, call).shape {
        Some(shape) => Value::tuple(shape.iter().cloned().map(Value::of_int).collect()),
        // However many there are, each is a number.
        None => tuple_of_unknown_length(interp, call.place, Items::any(Value::of_int(Int::Unknown))),
    }
}

/// `x.size()`, `x.size(dim)`.
pub(crate) fn size(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(dim) = given(call, Slot::Dim) else { return shape(interp, call) };
    let tensor = first(interp, call);
    Value::of_int(size_along(&tensor, dim.as_known_int()).unwrap_or_default())
}

fn size_along(tensor: &Tensor, dim: Option<i64>) -> Option<Int> {
    match &tensor.shape {
        Some(shape) => Some(shape[normalise_dim(dim?, shape.len())?].clone()),
        None => tensor.last.clone().filter(|_| dim == Some(-1)),
    }
}

pub(crate) fn len(interp: &mut Interp, call: &Invocation) -> Value {
    let operand = call.nth(0);
    match sequence(interp, &operand) {
        Some(Sequence::Exact(items)) => Value::int(items.len() as i64),
        Some(Sequence::Any(_, len)) => Value::of_int(len),
        None => Value::of_int(
            operand.as_tensor().and_then(|tensor| size_along(tensor, Some(0))).unwrap_or_default(),
        ),
    }
}

pub(crate) fn numel(interp: &mut Interp, call: &Invocation) -> Value {
    Value::of_int(first(interp, call).numel())
}

pub(crate) fn ndim(interp: &mut Interp, call: &Invocation) -> Value {
    let rank = first(interp, call).rank();
    Value::of_int(rank.map_or(Int::Unknown, |rank| Int::Known(rank as i64)))
}

pub(crate) fn dtype(interp: &mut Interp, call: &Invocation) -> Value {
    first(interp, call).dtype.map_or(Value::Unknown, Value::DType)
}

/// Complex numbers are none of floating point to PyTorch. A dtype that is only likely decides no arm of a test.
pub(crate) fn is_floating_point(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = first(interp, call);
    let dtype = tensor.dtype.filter(|_| tensor.confidence == Confidence::High);
    Value::Bool(dtype.map(|dtype| dtype.is_float() && dtype != DType::Complex64))
}

pub(crate) fn device(interp: &mut Interp, call: &Invocation) -> Value {
    let device = device_of(interp, &call.nth(0));
    // Frameworks that copy between devices by themselves have names for them.
    let is_module =
        |value: &Value| value.as_obj().is_some_and(|object| interp.heap.get(object).module().is_some());
    let form = match device {
        Device::Automatic => DeviceForm::Unsure,
        Device::Cpu if interp.in_constructor() && is_module(&call.nth(0)) => DeviceForm::OfMaking,
        _ => DeviceForm::Object,
    };
    Value::Device(device, form)
}

/// `variable data requires_grad`: the tensor itself, as a leaf where that is asked for.
pub(crate) fn variable(interp: &mut Interp, call: &Invocation) -> Value {
    let tensor = (*first(interp, call)).clone();
    if given(call, Slot::Volatile).is_some_and(|volatile| volatile.as_bool() != Some(false)) {
        interp.ambient.volatile = Some(call.place);
    }
    let asked = given(call, Slot::RequiresGrad).map(|flag| flag.as_bool());
    Value::tensor(match asked {
        None | Some(Some(false)) => tensor,
        asked => super::factory::asking(interp, tensor, asked),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::Mark;
    use crate::report::{FileId, Place, Span};

    fn probabilities() -> Tensor {
        Tensor {
            dtype: Some(DType::Float32),
            device: Device::Cpu,
            graph: Graph::leaf(ObjId(1), 0),
            range: Some(Interval::PROBABILITY),
            mark: Some((Mark::Softmax, Place::new(FileId(0), Span::new(0, 1)))),
            ..Tensor::default()
        }
    }

    #[test]
    fn integers_have_no_graph_and_may_be_zero() {
        let whole = with_dtype(&probabilities(), Some(DType::Int64));
        assert!(matches!(whole.graph, Graph::None));
        assert!(whole.range.is_some_and(|range| range.contains_zero()));
        assert!(whole.mark.is_none());
        let half = with_dtype(&probabilities(), Some(DType::Float16));
        assert!(half.graph.is_live() && half.mark.is_some() && half.range == probabilities().range);
    }

    #[test]
    fn to_takes_devices_dtypes_and_tensors() {
        let tensor = probabilities();
        assert_eq!(converted(&tensor, "args", &Value::str("cuda:1")).device, Device::Cuda(Some(1)));
        assert_eq!(converted(&tensor, "args", &Value::int(0)).device, Device::Cuda(Some(0)));
        assert_eq!(converted(&tensor, "args", &Value::Api("torch.half".into())).dtype, Some(DType::Float16));
        let other = Value::tensor(Tensor { device: Device::Accelerator, ..Tensor::default() });
        let like = converted(&tensor, "args", &other);
        assert_eq!((like.device, like.dtype), (Device::Accelerator, None));
        let unsure = converted(&tensor, "args", &Value::Unknown);
        assert_eq!((unsure.device, unsure.dtype), (Device::Unknown, None));
        let moved = converted(&tensor, "device", &Value::Unknown);
        assert_eq!((moved.device, moved.dtype), (Device::Unknown, Some(DType::Float32)));
        assert_eq!(converted(&tensor, "non_blocking", &Value::Bool(Some(true))).device, Device::Cpu);
    }

    #[test]
    fn sizes_are_read_by_axis() {
        let shape: Shape = [Int::symbol(Symbol(0)), Int::Known(3)].into();
        let tensor = Tensor { shape: Some(shape), ..Tensor::default() };
        assert_eq!(size_along(&tensor, Some(-1)), Some(Int::Known(3)));
        assert_eq!(size_along(&tensor, Some(0)), Some(Int::symbol(Symbol(0))));
        assert_eq!(size_along(&tensor, Some(2)), None);
        assert_eq!(size_along(&tensor, None), None);
    }
}
