//! What transfers share: reading operands, and, from `results`, what follows for a result.

use crate::apis::{Literal, Need, Operand, ParamKind, Slot};
use crate::interp::{Interp, Invocation};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;

pub use super::results::*;

/// The operands of the verb.
pub fn operands<'a>(call: &Invocation<'a>) -> &'a [Operand] {
    call.gives.map_or(&[], |apply| &apply.args)
}

/// An operand; `None` when it was left out or is `None`.
pub fn given(call: &Invocation, slot: Slot) -> Option<Value> {
    given_nth(call, call.position(slot)?)
}

/// The same, of the operand at an index.
pub fn given_nth(call: &Invocation, index: usize) -> Option<Value> {
    let operand = call.gives?.args.get(index)?;
    match operand {
        Operand::Param(name) => named(call, name.as_str()),
        Operand::Literal(_) => present(call.value_of(operand)),
    }
}

/// An operand, when it is a parameter that was given: where one is left out there may be a quoted word.
pub fn param(call: &Invocation, slot: Slot) -> Option<Value> {
    let index = call.position(slot)?;
    let operand = call.gives?.args.get(index)?;
    matches!(operand, Operand::Param(_)).then(|| given_nth(call, index)).flatten()
}

/// A parameter by name, listed in the entry or not; `None` when it was left out or is `None`.
pub fn named(call: &Invocation, name: &str) -> Option<Value> {
    if let Some((_, passed)) = call.more.iter().find(|(known, _)| *known == name) {
        return present(passed.value.clone());
    }
    if call.is_given(name) || call.open {
        return present(call.get(name));
    }
    let param = call.api.params.iter().find(|param| param.name == name)?;
    match param.kind {
        ParamKind::Star if call.rest.is_empty() => None,
        ParamKind::Star => Some(call.get(name)),
        _ if param.default.is_none() => None,
        _ => present(call.get(name)),
    }
}

fn present(value: Value) -> Option<Value> {
    match value.bare() {
        Value::None => None,
        _ => Some(value),
    }
}

/// A flag: off when left out, `None` when it is not known.
pub fn flag(value: Option<Value>) -> Option<bool> {
    value.map_or(Some(false), |value| value.as_bool())
}

/// Whether a quoted word is among the operands.
pub fn word(call: &Invocation, word: &str) -> bool {
    literals(call).any(|literal| matches!(literal, Literal::Str(text) if *text == word))
}

/// The dtype that the entry itself quotes.
pub fn quoted_dtype(call: &Invocation) -> Option<DType> {
    literals(call).find_map(|literal| match literal {
        Literal::Str(text) => DType::named(text.as_str()),
        _ => None,
    })
}

/// The number of spatial dimensions: the last number that the entry quotes.
pub fn quoted_rank(call: &Invocation) -> Option<usize> {
    operands(call).iter().rev().find_map(|operand| match operand {
        Operand::Literal(Literal::Int(rank)) => usize::try_from(*rank).ok(),
        _ => None,
    })
}

pub fn literals<'a>(call: &Invocation<'a>) -> impl Iterator<Item = &'a Literal> + use<'a> {
    operands(call).iter().filter_map(|operand| match operand {
        Operand::Literal(literal) => Some(literal),
        Operand::Param(_) => None,
    })
}

/// The operands that are parameters, from an index on, where they were given.
pub fn params_from(call: &Invocation, index: usize) -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    for operand in operands(call).iter().skip(index) {
        if let Operand::Param(name) = operand
            && let Some(value) = named(call, name.as_str())
        {
            all.push((name.as_str(), value));
        }
    }
    all
}

/// A list or tuple.
pub enum Sequence {
    Exact(Vec<Value>),
    /// What any item is, and how many there are.
    Any(Value, Int),
}

pub fn sequence(interp: &Interp, value: &Value) -> Option<Sequence> {
    match value.bare() {
        Value::Tuple(items) => Some(Sequence::Exact(items.to_vec())),
        Value::Obj(object) => match &interp.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => Some(Sequence::Exact(items.clone())),
            State::List(items) => Some(Sequence::Any(items.any.clone(), items.len.int.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a list holds dictionaries or instances of a script's own classes: an array of them is one of objects.
pub fn holds_objects(interp: &Interp, value: &Value) -> bool {
    let is_object = |item: &Value| {
        let object = item.as_obj().map(|object| interp.heap.get(object));
        object.is_some_and(|object| match object.state {
            State::Dict(_) => true,
            State::Plain => matches!(object.class, ClassRef::Project(_)),
            _ => false,
        })
    };
    match sequence(interp, value) {
        Some(Sequence::Exact(items)) => items.iter().any(is_object),
        Some(Sequence::Any(any, _)) => is_object(&any),
        None => false,
    }
}

/// Lists may hold themselves; deeper ones than this are not looked into.
pub const MOST_NESTED: usize = 8;

/// Sizes, from an integer, a tuple or list of them, or `*sizes` that hold one tuple.
pub fn ints_of(interp: &Interp, value: &Value) -> Option<Vec<Int>> {
    let mut value = value.clone();
    for _ in 0..MOST_NESTED {
        if let Some(int) = value.as_int() {
            return Some(vec![int.clone()]);
        }
        let Sequence::Exact(items) = sequence(interp, &value)? else { return None };
        match items.as_slice() {
            [Value::None] => return Some(vec![Int::Unknown]),
            // A single argument may be a tuple of any length.
            [one] => value = one.clone(),
            many if many.iter().any(|item| sequence(interp, item).is_some()) => return None,
            many => {
                return Some(many.iter().map(|item| item.as_int().cloned().unwrap_or_default()).collect());
            }
        }
    }
    None
}

/// Integers that are all known, such as axes.
pub fn known_ints(interp: &Interp, value: &Value) -> Option<Vec<i64>> {
    ints_of(interp, value)?.iter().map(Int::known).collect()
}

/// The same, as an array is told: NumPy's words for Python's own types are as wide as these.
pub fn array_dtype_of(value: &Value) -> Option<DType> {
    match value.as_str() {
        Some("float") => Some(DType::Float64),
        _ => dtype_of(value),
    }
}

pub fn dtype_of(value: &Value) -> Option<DType> {
    match value.bare() {
        Value::DType(dtype) => Some(*dtype),
        // As a word these are NumPy's, which take Python's own; `torch.int` is shorter.
        Value::Str(Some(name)) if &**name == "int" => Some(DType::Int64),
        Value::Str(Some(name)) => dtype_named(name),
        Value::Api(name) if *name == "numpy.int" => Some(DType::Int64),
        Value::Api(name) if *name == "numpy.float" => Some(DType::Float64),
        Value::Api(name) => dtype_named(name.as_str()),
        Value::Builtin(name) => match name.as_str() {
            "float" => Some(DType::Float64),
            "int" => Some(DType::Int64),
            "bool" => Some(DType::Bool),
            _ => None,
        },
        _ => None,
    }
}

/// Also by the names of the old tensor types.
fn dtype_named(name: &str) -> Option<DType> {
    let last = name.rsplit('.').next().unwrap_or(name);
    Some(match last {
        "FloatTensor" => DType::Float32,
        "DoubleTensor" => DType::Float64,
        "HalfTensor" => DType::Float16,
        "BFloat16Tensor" => DType::BFloat16,
        "LongTensor" => DType::Int64,
        "IntTensor" => DType::Int32,
        "ByteTensor" => DType::UInt8,
        "BoolTensor" => DType::Bool,
        _ => return DType::named(name),
    })
}

/// The device that a value names, or that a tensor or module is on.
pub fn device_of(interp: &Interp, value: &Value) -> Device {
    match value.bare() {
        Value::Obj(object) => interp.device_of_module(*object),
        Value::Tensor(tensor) => tensor.device,
        _ => device_named(value),
    }
}

/// `device=self.device` in a constructor is where any tensor is made.
pub fn is_of_making(device: &Value) -> bool {
    matches!(device.bare(), Value::Device(_, DeviceForm::OfMaking))
}

/// The device that a string, a number or a device names.
pub fn device_named(value: &Value) -> Device {
    match value {
        // A user who gives another default has a GPU in mind.
        Value::Given(given) => match device_named(&given.value) {
            Device::Cpu => Device::Unknown,
            device => device,
        },
        Value::Device(device, _) => *device,
        Value::Str(Some(name)) => Device::named(name),
        Value::Int(num) => Device::Cuda(num.int.known().and_then(|index| u32::try_from(index).ok())),
        _ => Device::Unknown,
    }
}

pub fn is_number(value: &Value) -> bool {
    matches!(value.bare(), Value::Int(_) | Value::Float(_) | Value::Bool(_))
}

/// A tensor about which nothing is known, not even whether it has a graph.
pub fn some_tensor(interp: &Interp, place: Place) -> Tensor {
    let graph = graph_here(interp.ambient.grad, None, &Graph::Unknown);
    Tensor { graph, made: Some(place), confidence: interp.supposed.trust, ..Tensor::default() }
}

/// An argument that stands for numbers, as a tensor.
pub fn tensor_of(interp: &Interp, value: &Value) -> Rc<Tensor> {
    tensor_within(interp, value, &mut NestingLimit::default())
}

/// What a call makes a tensor of: some ask the tensors in a list for a number each, others stack them.
pub fn data_of(interp: &Interp, call: &Invocation, data: &Value) -> Rc<Tensor> {
    let numbers = call.api.needs.iter().any(|need| need.verb == Need::Numbers);
    tensor_within(interp, data, &mut NestingLimit { numbers, ..NestingLimit::default() })
}

/// How much of nested lists may still be looked into.
pub struct NestingLimit {
    depth: usize,
    lists: usize,
    /// A tensor in a list is asked for its only number.
    numbers: bool,
}

impl Default for NestingLimit {
    fn default() -> NestingLimit {
        NestingLimit { depth: MOST_NESTED, lists: 512, numbers: false }
    }
}

impl NestingLimit {
    fn takes_for_number(&self, tensor: &Tensor) -> bool {
        self.numbers && self.depth < MOST_NESTED && !tensor.is_array
    }

    /// Looks into one more list; `None` when that is too much.
    fn inside<T>(&mut self, look: impl FnOnce(&mut NestingLimit) -> T) -> Option<T> {
        self.depth = self.depth.checked_sub(1)?;
        let seen = look(self);
        self.depth += 1;
        Some(seen)
    }

    /// Counts a list; false when there were too many.
    fn take(&mut self) -> bool {
        let some = self.lists > 0;
        self.lists = self.lists.saturating_sub(1);
        some
    }
}

/// The same, of lists in lists as far as that goes.
pub fn tensor_within(interp: &Interp, value: &Value, reach: &mut NestingLimit) -> Rc<Tensor> {
    match value.bare() {
        Value::Tensor(tensor) if reach.takes_for_number(tensor) => {
            Rc::new((**tensor).clone().with_shape(Some(Rc::from([]))))
        }
        Value::Tensor(tensor) => tensor.clone(),
        Value::Grad(_) => Rc::new(Tensor { graph: Graph::None, ..Tensor::default() }),
        Value::Params(params) => Rc::new(interp.parameter_tensor(params)),
        other if is_number(other) => Rc::new(super::factory::from_number(other)),
        other => {
            let items = sequence(interp, other).filter(|_| reach.take());
            let inside = items
                .and_then(|items| reach.inside(|reach| super::factory::from_sequence(interp, items, reach)));
            Rc::new(inside.unwrap_or_default())
        }
    }
}

/// The first operand as a tensor.
pub fn first(interp: &Interp, call: &Invocation) -> Rc<Tensor> {
    tensor_of(interp, &call.nth(0))
}

/// The tensors among operands; numbers only bend the dtype and the range.
pub fn tensors_of(interp: &Interp, values: &[Value]) -> Vec<Rc<Tensor>> {
    values.iter().filter(|value| !is_number(value)).map(|value| tensor_of(interp, value)).collect()
}
