//! Functions of a library that compute with tensors of their callers. One that asks a tensor where it is, or beside
//! models of which kind, is written for any of them: what it makes itself has to be where its inputs are.

use super::{
    Interp,
    device_origins::{where_the_model_is, with_device_origin},
};
use crate::apis::Role;
use crate::report::{FileId, Place};
use crate::syntax::{FnId, Function, Param};
use crate::values::{Closure, Device, DeviceOrigin, Value};
use std::rc::Rc;
use ustr::Ustr;

/// Attributes that devices, configurations and modules have as tensors do say nothing.
const OF_OTHERS: [&str; 5] = ["device", "to", "type", "data", "dtype"];

/// Whether a function that no class has makes tensors, and asks one that it is given where it is.
pub(super) fn is_making_function(cx: &Interp, file: FileId, function: FnId, definition: &Function) -> bool {
    if definition.class.is_some() || definition.parent.is_some() {
        return false;
    }
    let scope = cx.module(file).names.scope(function);
    let makes = cx.apis.makers().iter().any(|maker| scope.mentions.contains(*maker));
    makes && definition.params.iter().any(|param| is_asked(cx, file, function, param.name))
}

/// Whether a parameter is asked for its device, or beside models for its dtype, and is a tensor by what else is done
/// with it: what loads data computes on the CPU, whatever the dtype.
fn is_asked(cx: &Interp, file: FileId, function: FnId, name: Ustr) -> bool {
    let functions = &cx.tree(file).functions;
    let is_forward = |function: &Function| function.class.is_some() && function.name == "forward";
    let beside_models = || functions.iter().any(is_forward);
    let used = cx.module(file).names.uses.of_local(Some(function), name);
    used.iter().any(|asked| *asked == "device" || *asked == "dtype" && beside_models())
        && used.iter().any(|attribute| !OF_OTHERS.contains(&attribute.as_str()))
        && used.iter().all(|attribute| cx.apis.method_of(Role::Tensor, *attribute).is_some())
}

/// The name of the function that is rehearsed without its callers, if what it is given may be on the GPU.
pub(crate) fn library_function(cx: &Interp) -> Option<Rc<str>> {
    let key = cx.supposed.seeded?;
    let definition = cx.tree(key.file).function(key.function);
    let makes = is_making_function(cx, key.file, key.function, definition);
    makes.then(|| Rc::from(definition.name.as_str()))
}

/// A parameter of such a function that is a tensor: it is where the caller has it.
pub(super) fn given_anywhere(cx: &mut Interp, closure: &Closure, param: &Param, value: Value) -> Value {
    match value.bare() {
        Value::Unknown if cx.is_taken_for_tensor(closure, None, param.name) => {
            where_the_model_is(Some(Place::new(closure.file, param.span)))
        }
        Value::Tensor(tensor) if tensor.device == Device::Unknown && tensor.device_origin.is_none() => {
            with_device_origin(value, Some(DeviceOrigin::Module))
        }
        _ => value,
    }
}
