//! What tokenizers and processors make of texts, images and sounds: a model's inputs by their names.

use super::build::*;
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What asks for PyTorch's tensors.
const OF_TORCH: &str = "pt";

/// `encoded return_tensors device class [dtype]`: token ids have a dtype, and a row for each text.
pub(crate) fn encoded(interp: &mut Interp, call: &Invocation) -> Value {
    let class = call.operand(Slot::Word);
    let Some(class) = class.as_str() else { return Value::Unknown };
    let dtype = quoted_dtype(call);
    let input = match asks_for_tensors(call) {
        Some(true) if given(call, Slot::Device).is_none() => input(interp, call, dtype),
        _ => Value::Unknown,
    };
    let state = State::Dict(Entries::new(Vec::new(), Some(input)));
    Value::Obj(interp.alloc(call.place, ClassRef::Api(Ustr::from(class)), state))
}

/// `token-ids return_tensors`
pub(crate) fn token_ids(interp: &mut Interp, call: &Invocation) -> Value {
    match asks_for_tensors(call) {
        Some(true) => input(interp, call, Some(DType::Int64)),
        Some(false) => interp.list_of(call.place, Value::Unknown),
        None => Value::Unknown,
    }
}

/// `generated model asked`: no gradients are recorded on the way.
pub(crate) fn generated(interp: &mut Interp, call: &Invocation) -> Value {
    let Some(model) = call.nth(0).as_obj() else { return Value::Unknown };
    // Inputs that are spread out, `**inputs`, are tensors and no flag.
    let are_inputs = call.each.as_ref().is_some_and(|each| each.any.as_tensor().is_some());
    match given(call, Slot::Asked) {
        Some(Value::Unknown) if are_inputs => {}
        None | Some(Value::Bool(Some(false))) => {}
        Some(_) => return Value::Unknown,
    }
    let ids = Value::tensor(Tensor {
        device: interp.device_of_module(model),
        graph: Graph::None,
        ..some_tensor(interp, call.place)
    });
    interp.ran_without_gradients(model, call.nth(1).as_tensor().cloned(), ids, call.place)
}

/// Whether a call gives PyTorch's tensors, or none at all; `None` for those of others, and where nobody knows.
fn asks_for_tensors(call: &Invocation) -> Option<bool> {
    match given(call, Slot::ReturnTensors) {
        Some(asked) => (asked.as_str() == Some(OF_TORCH)).then_some(true),
        None => (!call.open).then_some(false),
    }
}

fn input(interp: &Interp, call: &Invocation, dtype: Option<DType>) -> Value {
    let shape = dtype.map(|_| Rc::from([Int::Unknown, Int::Unknown]));
    Value::tensor(Tensor {
        shape,
        dtype,
        // They are made where tensors are made by default.
        device: interp.ambient.device,
        graph: Graph::None,
        source: Source::Data,
        ..some_tensor(interp, call.place)
    })
}
