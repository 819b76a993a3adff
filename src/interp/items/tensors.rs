//! What a tensor is once a part of it was written.

use crate::values::*;
use std::rc::Rc;

/// The tensor may now hold anything that the value is.
pub(super) fn with_part(tensor: &Tensor, index: &Value, value: &Value) -> Tensor {
    let mut joined = tensor.clone();
    joined.numbers = joined.numbers.filter(|numbers| numbers.buffer.is_some());
    if let Some(other) = value.as_tensor() {
        joined.graph = joined.graph.union(&other.graph);
        // A buffer that outputs are written into holds outputs, whether or not a graph is recorded.
        joined.learned |= other.learned;
        joined.hazards = union_hazards(&joined.hazards, &other.hazards);
    }
    // Numbers where a mask says take away what was singular, as no backward comes by there.
    if is_mask(index) && value.as_num().is_some() && !tensor.graph.is_live() {
        joined.hazards = None;
    }
    joined.range = match (tensor.range, interval_of(value)) {
        // A mask may pick just what would be singular, and indices all that is looked at.
        _ if is_mask(index) || index.is_unknown() || index.as_tensor().is_some() => None,
        (Some(a), Some(b)) => Some(a.join(&b)),
        _ => None,
    };
    joined.mark = None;
    if matches!(index.bare(), Value::Str(_)) && joined.is_array {
        joined = with_a_column(joined);
    }
    joined
}

/// What an array of NumPy keeps of a tensor that is written into it, where it holds numbers and no objects: those of it
/// alone, without the graph.
pub(super) fn as_numbers(into: &Tensor, value: Value) -> Value {
    let holds_numbers = into.is_array && !into.is_table && into.dtype.is_some();
    match value.as_tensor() {
        Some(tensor) if holds_numbers && !tensor.is_array => {
            let tensor = (**tensor).clone();
            Value::tensor(Tensor { graph: Graph::None, is_leaf: false, hazards: None, ..tensor })
        }
        _ => value,
    }
}

/// Whether an index picks by a condition.
fn is_mask(index: &Value) -> bool {
    match index.bare() {
        Value::Tensor(tensor) => tensor.source == Source::Mask || tensor.dtype == Some(DType::Bool),
        Value::Tuple(items) => items.iter().any(is_mask),
        _ => false,
    }
}

/// A table that gets a column, or other numbers in one that it has: as many rows, of any kind.
fn with_a_column(table: Tensor) -> Tensor {
    let shape = table.shape.as_deref().map(|shape| match shape {
        [rows, _] => Rc::from([rows.clone(), Int::Unknown]),
        _ => std::iter::repeat_n(Int::Unknown, shape.len()).collect(),
    });
    Tensor { dtype: None, range: None, ..table.with_shape(shape) }
}

/// A tensor has no names, but for the columns of tables: what is asked by one is something else, and so is what holds it.
pub(super) fn asked_by_name(tensor: &Tensor, part: &mut Tensor) {
    if !tensor.is_array && !tensor.is_table {
        part.shape = None;
    }
    if tensor.source == Source::Output && tensor.what.is_none() {
        // Beside what a layer computed that is not seen into there may be lengths, which stay on the CPU.
        (part.device, part.device_origin) = (Device::Unknown, None);
    }
}
