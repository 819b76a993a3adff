//! What follows for the result of an operation from its operands: dtype, device, graph, source.

use crate::interp::Interp;
use crate::report::Place;
use crate::values::tensor::union_detach_points;
use crate::values::*;
use std::rc::Rc;

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
    let confidence = operands.iter().map(|operand| operand.confidence).fold(interp.supposed.trust, Ord::min);
    let source = source_of_all(operands);
    Tensor {
        shape: None,
        last: None,
        first: None,
        has_axis: false,
        dtype,
        cast: None,
        device: if is_stranded(operands) { Device::Unknown } else { device_of_all(operands) },
        device_origin: DeviceOrigin::of_all(operands),
        graph: aged(interp.epoch, graph_here(interp.ambient.grad, dtype, &graph)),
        range: None,
        mark: None,
        source,
        is_array: !operands.is_empty() && operands.iter().all(|operand| operand.is_array),
        is_leaf: false,
        averaged: false,
        backwards: None,
        turned: None,
        standing: None,
        selects: source == Source::Mask && operands.iter().any(|operand| operand.selects),
        among: is_among(operands),
        learned: operands.iter().any(|operand| operand.learned),
        hazards: operands.iter().fold(None, |all, operand| union_hazards(&all, &operand.hazards)),
        relation: None,
        numbers: None,
        recipe: None,
        detach_points: operands
            .iter()
            .fold(None, |all, operand| union_detach_points(&all, &operand.detach_points)),
        scaled: operands.iter().fold(Scaled::No, |all, operand| all.union(operand.scaled)),
        images: operands.iter().find_map(|operand| operand.images),
        made: Some(place),
        created: interp.epoch,
        layers: None,
        what: None,
        is_table: false,
        confidence,
    }
}

/// Whether what has a graph may be counts. Beside something that surely has one, the result has it, too.
fn is_among(operands: &[&Tensor]) -> bool {
    let is_sure = |operand: &&Tensor| !operand.among && operand.graph.is_live();
    operands.iter().any(|operand| operand.among) && !operands.iter().any(is_sure)
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
        graph: graph_here(interp.ambient.grad, tensor.dtype, &tensor.graph),
        is_leaf: false,
        confidence: tensor.confidence.min(interp.supposed.trust),
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
    let fixed = operands.iter().any(|operand| operand.device == Device::Cpu && operand.is_spread());
    let all_cpu = !operands.is_empty() && !unknown;
    if fixed || all_cpu { Device::Cpu } else { Device::Unknown }
}

/// What stayed on the CPU met what is where the model is: the operation fails, if that is not the CPU.
fn is_stranded(operands: &[&Tensor]) -> bool {
    let stays = |operand: &&Tensor| operand.on_default_device();
    let elsewhere = |operand: &&Tensor| {
        operand.device_origin == Some(DeviceOrigin::Module) && operand.device == Device::Unknown
    };
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
            device_origin: None,
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
    use crate::interp::transfer::dtype_of;

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
