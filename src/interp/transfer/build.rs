//! What transfers share: reading operands, and the parts of a result that follow from its operands
//! (graph, device, dtype, hazards) whatever the operation is.

use crate::apis::{Literal, Operand, ParamKind};
use crate::interp::{Interp, Invocation};
use crate::report::Place;
use crate::values::tensor::union_cuts;
use crate::values::union_hazards;
use crate::values::*;
use std::rc::Rc;

/// The operands of the verb.
pub fn operands<'a>(call: &Invocation<'a>) -> &'a [Operand] {
    call.gives.map_or(&[], |apply| &apply.args)
}

/// The operand at an index; `None` when it was left out or is `None`.
pub fn given(call: &Invocation, index: usize) -> Option<Value> {
    let operand = call.gives?.args.get(index)?;
    match operand {
        Operand::Param(name) => named(call, name.as_str()),
        Operand::Literal(_) => present(call.operand(operand)),
    }
}

/// The operand at an index, when it is a parameter that was given: behind the last one come quoted words.
pub fn param(call: &Invocation, index: usize) -> Option<Value> {
    let operand = call.gives?.args.get(index)?;
    matches!(operand, Operand::Param(_)).then(|| given(call, index)).flatten()
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

pub fn dtype_of(value: &Value) -> Option<DType> {
    match value.bare() {
        Value::DType(dtype) => Some(*dtype),
        Value::Str(Some(name)) => dtype_named(name),
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

/// The device that a string, a number or a device names.
pub fn device_named(value: &Value) -> Device {
    match value {
        // A user who gives another default has a GPU in mind.
        Value::Given(given) => match device_named(&given.value) {
            Device::Cpu => Device::Unknown,
            device => device,
        },
        Value::Device(device) => *device,
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
    let graph = graph_here(interp.grad, None, &Graph::Unknown);
    Tensor { graph, made: Some(place), confidence: interp.trust, ..Tensor::default() }
}

/// An argument that stands for numbers, as a tensor.
pub fn tensor_of(interp: &Interp, value: &Value) -> Rc<Tensor> {
    tensor_within(interp, value, &mut Reach::default())
}

/// How much of nested lists may still be looked into.
pub struct Reach {
    depth: usize,
    lists: usize,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach { depth: MOST_NESTED, lists: 512 }
    }
}

impl Reach {
    /// Looks into one more list; `None` when that is too much.
    fn inside<T>(&mut self, look: impl FnOnce(&mut Reach) -> T) -> Option<T> {
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
pub fn tensor_within(interp: &Interp, value: &Value, reach: &mut Reach) -> Rc<Tensor> {
    match value.bare() {
        Value::Tensor(tensor) => tensor.clone(),
        Value::Grad(_) => Rc::new(Tensor { graph: Graph::None, ..Tensor::default() }),
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

/// What follows from the operands whatever is computed of them. Shape, range and mark are left open.
/// A scalar takes part with any device, and leaves the dtype to larger tensors of its kind.
pub fn result(interp: &Interp, place: Place, operands: &[&Tensor]) -> Tensor {
    // Under autocast each operation has a dtype of its own.
    let casts = interp.autocast().is_some() && !operands.iter().all(|operand| operand.is_array);
    let dtype = promoted(operands).filter(|dtype| !casts || !dtype.is_float());
    // Frameworks do not agree on what an array becomes where it meets a tensor.
    let mixed = operands.iter().any(|operand| operand.is_array != operands[0].is_array);
    let dtype = dtype.filter(|dtype| !mixed || operands.iter().all(|operand| operand.dtype == Some(*dtype)));
    let graph = operands.iter().fold(Graph::None, |graph, operand| graph.union(&operand.graph));
    let confidence = operands.iter().map(|operand| operand.confidence).fold(interp.trust, Ord::min);
    Tensor {
        shape: None,
        last: None,
        dtype,
        cast: None,
        device: if is_stranded(operands) { Device::Unknown } else { device_of_all(operands) },
        home: Home::of_all(operands),
        graph: aged(interp.epoch, graph_here(interp.grad, dtype, &graph)),
        range: None,
        mark: None,
        source: source_of_all(operands),
        is_array: !operands.is_empty() && operands.iter().all(|operand| operand.is_array),
        is_leaf: false,
        averaged: false,
        learned: operands.iter().any(|operand| operand.learned),
        hazards: operands.iter().fold(None, |all, operand| union_hazards(&all, &operand.hazards)),
        relation: None,
        numbers: None,
        recipe: None,
        cuts: operands.iter().fold(None, |all, operand| union_cuts(&all, &operand.cuts)),
        scaled: operands.iter().fold(Scaled::No, |all, operand| all.union(operand.scaled)),
        made: Some(place),
        born: interp.epoch,
        layers: None,
        what: None,
        confidence,
    }
}

/// What autocast computes products in here.
pub fn cast_of_products(interp: &Interp) -> Option<DType> {
    interp.autocast().filter(|autocast| autocast.on == Some(true))?.dtype
}

/// What numbers that autocast computed are combined in: the same, where all are of it.
pub fn cast_of_all(operands: &[&Tensor]) -> Option<DType> {
    let cast = operands.first()?.cast;
    cast.filter(|_| operands.iter().all(|operand| operand.cast == cast))
}

/// Parameters have no age; what is computed of them is as old as the computation.
fn aged(epoch: u32, graph: Graph) -> Graph {
    match graph {
        Graph::Live(nodes) if nodes.oldest == u32::MAX => {
            Graph::Live(Rc::new(Nodes { oldest: epoch, ..(*nodes).clone() }))
        }
        graph => graph,
    }
}

/// The same numbers in another form.
pub fn kept(interp: &Interp, tensor: &Tensor) -> Tensor {
    Tensor {
        graph: graph_here(interp.grad, tensor.dtype, &tensor.graph),
        is_leaf: false,
        confidence: tensor.confidence.min(interp.trust),
        recipe: None,
        ..tensor.clone()
    }
}

/// Positions or classes of something: integers without a graph.
pub fn indices(interp: &Interp, place: Place, of: &Tensor, shape: Option<Shape>) -> Tensor {
    Tensor {
        shape,
        dtype: Some(DType::Int64),
        graph: Graph::None,
        range: Some(Interval::NON_NEGATIVE),
        learned: false,
        hazards: None,
        ..result(interp, place, &[of])
    }
}

/// The graph that is recorded of an operation, under a grad mode.
pub fn graph_here(grad: Option<bool>, dtype: Option<DType>, graph: &Graph) -> Graph {
    if dtype.is_some_and(|dtype| !dtype.is_float()) {
        return Graph::None;
    }
    match (grad, graph) {
        (Some(false), _) => Graph::None,
        (None, Graph::Live(_)) => Graph::Unknown,
        (_, graph) => graph.clone(),
    }
}

pub fn promoted(operands: &[&Tensor]) -> Option<DType> {
    let mut all = operands.iter();
    let mut so_far = (all.next()?.dtype?, operands[0].rank());
    for operand in all {
        let (dtype, rank) = (operand.dtype?, operand.rank());
        so_far = (promote_pair(so_far, (dtype, rank))?, so_far.1.zip(rank).map(|(a, b)| a.max(b)));
    }
    Some(so_far.0)
}

fn promote_pair(a: (DType, Option<usize>), b: (DType, Option<usize>)) -> Option<DType> {
    if kind(a.0) != kind(b.0) {
        return Some(if kind(a.0) > kind(b.0) { a.0 } else { b.0 });
    }
    match (a.1, b.1) {
        _ if a.0 == b.0 => Some(a.0),
        (Some(0), Some(1..)) => Some(b.0),
        (Some(1..), Some(0)) => Some(a.0),
        (Some(_), Some(_)) => a.0.promote(b.0),
        _ => None,
    }
}

/// Kinds of numbers, each of which wins over those before it.
fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::Complex64 => 3,
        _ if dtype.is_float() => 2,
        _ => 1,
    }
}

/// Operands of one operation share a device, or it fails; only scalars on the CPU may stand apart.
pub fn device_of_all(operands: &[&Tensor]) -> Device {
    if let Some(gpu) = operands.iter().find(|operand| operand.device.is_gpu()) {
        let clash =
            |operand: &&&Tensor| operand.device.differs(gpu.device) && operand.rank().is_some_and(|r| r > 0);
        return if operands.iter().any(|operand| clash(&operand)) { Device::Unknown } else { gpu.device };
    }
    let unknown = operands.iter().any(|operand| operand.device == Device::Unknown);
    let fixed =
        operands.iter().any(|operand| operand.device == Device::Cpu && operand.rank().is_some_and(|r| r > 0));
    let all_cpu = !operands.is_empty() && !unknown;
    if fixed || all_cpu { Device::Cpu } else { Device::Unknown }
}

/// What stayed on the CPU met what is where the model is: the operation fails, if that is not the CPU.
fn is_stranded(operands: &[&Tensor]) -> bool {
    let stays = |operand: &&Tensor| operand.stays_behind();
    let elsewhere =
        |operand: &&Tensor| operand.home == Some(Home::Model) && operand.device == Device::Unknown;
    operands.iter().any(stays) && operands.iter().any(elsewhere)
}

fn source_of_all(operands: &[&Tensor]) -> Source {
    let join = |a: Source, b: Source| match (a, b) {
        _ if a == b => a,
        (Source::Unknown, _) | (_, Source::Unknown) => Source::Unknown,
        (Source::Constant | Source::Mask, other) | (other, Source::Constant | Source::Mask) => other,
        (Source::Output, _) | (_, Source::Output) => Source::Output,
        _ => Source::Unknown,
    };
    operands.iter().map(|operand| operand.source).reduce(join).unwrap_or_default()
}

/// The dtype of tensors when Python numbers join in: a float makes integers floats, no more.
pub fn with_numbers(dtype: Option<DType>, numbers: &[&Value], is_array: bool) -> Option<DType> {
    let dtype = dtype?;
    if dtype.is_float() {
        return Some(dtype);
    }
    if numbers.iter().any(|number| matches!(number.bare(), Value::Float(_))) {
        return Some(default_float(is_array));
    }
    let whole = numbers.iter().any(|number| matches!(number.bare(), Value::Int(_)));
    Some(if whole && dtype == DType::Bool { DType::Int64 } else { dtype })
}

pub fn default_float(is_array: bool) -> DType {
    if is_array { DType::Float64 } else { DType::Float32 }
}

/// A result that NumPy holds.
pub fn as_arrays(value: Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor(Tensor {
            is_array: true,
            device: Device::Cpu,
            home: None,
            graph: Graph::None,
            is_leaf: false,
            ..(*tensor).clone()
        }),
        Value::Tuple(items) => Value::tuple(items.iter().cloned().map(as_arrays).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(device: Device, dtype: DType, rank: Option<usize>) -> Tensor {
        let shape = rank.map(|rank| vec![Int::Unknown; rank].into());
        Tensor { device, dtype: Some(dtype), shape, ..Tensor::default() }
    }

    #[test]
    fn scalars_follow_the_device_of_others() {
        let scalar = tensor(Device::Cpu, DType::Float32, Some(0));
        let batch = tensor(Device::Cuda(None), DType::Float32, Some(2));
        let host = tensor(Device::Cpu, DType::Float32, Some(2));
        let unknown = tensor(Device::Unknown, DType::Float32, None);
        assert_eq!(device_of_all(&[&scalar, &batch]), Device::Cuda(None));
        assert_eq!(device_of_all(&[&host, &batch]), Device::Unknown);
        assert_eq!(device_of_all(&[&host, &unknown]), Device::Cpu);
        assert_eq!(device_of_all(&[&scalar, &unknown]), Device::Unknown);
        assert_eq!(device_of_all(&[&batch, &unknown]), Device::Cuda(None));
        assert_eq!(device_of_all(&[]), Device::Unknown);
    }

    #[test]
    fn scalars_leave_the_dtype_to_others_of_their_kind() {
        let wide = tensor(Device::Cpu, DType::Float64, Some(0));
        let batch = tensor(Device::Cpu, DType::Float32, Some(2));
        let labels = tensor(Device::Cpu, DType::Int64, Some(2));
        let mask = tensor(Device::Cpu, DType::Bool, Some(2));
        let count = tensor(Device::Cpu, DType::Int64, Some(0));
        assert_eq!(promoted(&[&wide, &batch]), Some(DType::Float32));
        assert_eq!(promoted(&[&wide, &labels]), Some(DType::Float64));
        assert_eq!(promoted(&[&mask, &count]), Some(DType::Int64));
        assert_eq!(promoted(&[&batch, &Tensor::default()]), None);
    }

    #[test]
    fn python_numbers_bend_only_integers() {
        let float = Value::Float(Some(0.5));
        assert_eq!(with_numbers(Some(DType::Float16), &[&float], false), Some(DType::Float16));
        assert_eq!(with_numbers(Some(DType::Int64), &[&float], false), Some(DType::Float32));
        assert_eq!(with_numbers(Some(DType::UInt8), &[&float], true), Some(DType::Float64));
        assert_eq!(with_numbers(Some(DType::Bool), &[&Value::int(1)], false), Some(DType::Int64));
        assert_eq!(with_numbers(None, &[&float], false), None);
    }

    #[test]
    fn the_grad_mode_decides_what_is_recorded() {
        let live = Graph::leaf(ObjId(1), 3);
        assert!(graph_here(Some(true), Some(DType::Float32), &live).is_live());
        assert!(matches!(graph_here(Some(false), None, &Graph::Unknown), Graph::None));
        assert!(matches!(graph_here(None, None, &live), Graph::Unknown));
        assert!(matches!(graph_here(Some(true), Some(DType::Int64), &live), Graph::None));
    }

    #[test]
    fn dtypes_have_many_names() {
        assert_eq!(dtype_of(&Value::Api("torch.float16".into())), Some(DType::Float16));
        assert_eq!(dtype_of(&Value::str("torch.cuda.LongTensor")), Some(DType::Int64));
        assert_eq!(dtype_of(&Value::Builtin("float".into())), Some(DType::Float64));
        assert_eq!(dtype_of(&Value::Unknown), None);
    }
}
