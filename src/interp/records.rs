//! What a model gives that nobody sees into may be a dictionary or a record of tensors: its methods, as far as they
//! are those of every mapping. Knows no framework.

use super::{Call, Interp, parts::mark_graph};
use crate::values::{ClassRef, Device, ObjId, Source, State, Tensor, Value};
use ustr::Ustr;

/// `outputs.values()`, `losses.items()`, `outputs.get("loss")`, where a model made `outputs`.
pub(super) fn method(interp: &mut Interp, receiver: &Value, name: Ustr, call: &Call) -> Option<Value> {
    let record = receiver.as_tensor().filter(|tensor| may_be_record(tensor))?;
    // Beside what was computed there may be lengths, which stay on the CPU.
    let part = Value::tensor(Tensor { device: Device::Unknown, device_origin: None, ..(**record).clone() });
    let is_plain = call.positional.is_empty() && call.keywords.is_empty();
    let listed = |interp: &mut Interp, any| Some(interp.list_of(call.place, any));
    match name.as_str() {
        "values" if is_plain => listed(interp, part),
        "keys" if is_plain => listed(interp, Value::Str(None)),
        "items" if is_plain => listed(interp, Value::tuple(vec![Value::Str(None), part])),
        "get" | "pop" if call.arg(0, "key")?.as_str().is_some() => Some(part),
        _ => None,
    }
}

/// Objects stand in each other so deep.
pub(super) const MOST_HELD: u32 = 4;

/// Marks the tensors that a model gives, also those in a container or in an object of a framework, such as a
/// distribution.
pub(super) fn marked(interp: &mut Interp, output: &Value, graph: u32, depth: u32) -> Value {
    match output {
        Value::Obj(object) if depth > 0 => mark_inside(interp, *object, graph, depth - 1),
        Value::Tuple(items) => {
            return Value::tuple(items.iter().map(|item| marked(interp, item, graph, depth)).collect());
        }
        _ => return mark_graph(output, graph),
    }
    output.clone()
}

fn mark_inside(interp: &mut Interp, object: ObjId, graph: u32, depth: u32) {
    let here = interp.heap.get(object);
    match (here.state.clone(), here.class) {
        (State::Plain, ClassRef::Api(_)) => {
            for (name, value) in here.attrs.clone() {
                let value = marked(interp, &value, graph, depth);
                interp.heap.get_mut(object).set_attr(name, value);
            }
        }
        (State::Dict(mut entries), _) => {
            for (_, value) in &mut entries.known {
                *value = marked(interp, value, graph, depth);
            }
            entries.other = entries.other.map(|other| marked(interp, &other, graph, depth));
            interp.heap.get_mut(object).state = State::Dict(entries);
        }
        (State::List(mut items), _) => {
            items.exact.iter_mut().flatten().for_each(|item| *item = marked(interp, item, graph, depth));
            items.any = marked(interp, &items.any, graph, depth);
            interp.heap.get_mut(object).state = State::List(items);
        }
        _ => {}
    }
}

/// Whether a model made it of which nobody knows what it gives, and nothing was computed of it since.
fn may_be_record(tensor: &Tensor) -> bool {
    let plain = tensor.shape.is_none() && tensor.last.is_none() && tensor.dtype.is_none();
    plain && tensor.source == Source::Output && tensor.what.is_none() && !tensor.is_array && !tensor.is_tree()
}
