//! Functions of a library that compute with tensors of their callers. One that asks a tensor where it is, or beside
//! models of which kind, is written for any of them: what it makes itself has to be where its inputs are.

use super::{Interp, device_origins::with_device_origin};
use crate::apis::Role;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{FnId, Function, Param};
use crate::trace::FnKey;
use crate::values::{Closure, Device, DeviceOrigin, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Attributes that devices, configurations and modules have as tensors do say nothing.
const OF_OTHERS: [&str; 5] = ["device", "to", "type", "data", "dtype"];

/// Whether a function that no class has makes tensors, and asks one that it is given where it is.
pub(super) fn is_making_function(cx: &Interp, file: FileId, function: FnId, definition: &Function) -> bool {
    let scope = cx.module(file).names.scope(function);
    let makes = cx.apis.makers().iter().any(|maker| scope.mentions.contains(*maker));
    let alone = definition.class.is_none() && definition.parent.is_none();
    alone && makes && definition.params.iter().any(|param| is_asked(cx, file, function, param.name))
}

/// Whether a parameter is asked for its device, or beside models for its dtype, and is a tensor by what else is done
/// with it: what loads data computes on the CPU, whatever the dtype.
fn is_asked(cx: &Interp, file: FileId, function: FnId, name: Ustr) -> bool {
    let Some(class) = cx.apis.class_of(Role::Tensor) else { return false };
    let mut functions = cx.tree(file).functions.iter();
    let beside_models = functions.any(|function| function.class.is_some() && function.name == "forward");
    let used = cx.module(file).names.uses.of_local(Some(function), name);
    used.iter().any(|asked| *asked == "device" || *asked == "dtype" && beside_models)
        && used.iter().any(|attribute| !OF_OTHERS.contains(&attribute.as_str()))
        && used.iter().all(|attribute| cx.apis.method(class, *attribute).is_some())
}

/// The name of the function that is rehearsed without its callers, if what it is given may be on the GPU.
pub(crate) fn library_function(cx: &Interp) -> Option<Rc<str>> {
    let key = cx.seeded?;
    let definition = cx.tree(key.file).function(key.function);
    let makes = is_making_function(cx, key.file, key.function, definition);
    makes.then(|| Rc::from(definition.name.as_str()))
}

/// A parameter of such a function that is a tensor: it is where the caller has it.
pub(super) fn given_anywhere(
    cx: &mut Interp,
    key: FnKey,
    closure: &Closure,
    param: &Param,
    value: Value,
) -> Value {
    let definition = cx.tree(key.file).function(key.function);
    if !is_making_function(cx, key.file, key.function, definition) {
        return value;
    }
    match value.bare() {
        Value::Unknown if cx.is_taken_for_tensor(closure, None, param.name) => Value::tensor(Tensor {
            device_origin: Some(DeviceOrigin::Module),
            confidence: Confidence::Medium,
            made: Some(Place::new(key.file, param.span)),
            ..Tensor::default()
        }),
        Value::Tensor(tensor) if tensor.device == Device::Unknown && tensor.device_origin.is_none() => {
            with_device_origin(value, Some(DeviceOrigin::Module))
        }
        _ => value,
    }
}
