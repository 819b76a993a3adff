//! Which tensors are where the model is: what its forward is given, and not what it makes where nobody said a
//! device.

use super::{Call, Interp};
use crate::apis::Role;
use crate::report::{Confidence, FileId};
use crate::syntax::{FnId, Function};
use crate::values::*;
use ustr::Ustr;

/// Methods that records and batches have as tensors do.
const SHARED: [&str; 7] = ["copy", "data", "index", "items", "to", "type", "values"];
impl<'p> Interp<'p> {
    /// The outermost module whose output is being computed.
    pub(crate) fn computing(&self) -> Option<ObjId> {
        self.frames.iter().find_map(|frame| {
            let object = frame.receiver.as_ref().and_then(Value::as_obj)?;
            self.heap.get(object).module()?;
            let (_, name) = frame.site?;
            let steps = name.ends_with("_step") && self.is_owned(object);
            (steps || super::modules::FORWARDS.contains(&name.as_str())).then_some(object)
        })
    }

    /// Whether a method of a module is one that its framework calls to compute with it.
    pub(super) fn computes(&self, receiver: &Value, function: &Function) -> bool {
        let Some(object) = receiver.as_obj() else { return false };
        let hook = function.name.ends_with("_step") && self.is_owned(object);
        let named = hook || super::modules::FORWARDS.contains(&function.name.as_str());
        named && self.heap.get(object).module().is_some()
    }

    /// What a forward is given is where the model is; what was made outside is no matter of the forward.
    pub(super) fn at_home(&mut self, closure: &Closure, call: &Call) -> Call {
        let inside = self.computing().is_some();
        let (file, function) = (closure.file, closure.function);
        let params = &self.tree(file).function(function).params;
        let mut call = call.clone();
        for (index, passed) in call.positional.iter_mut().enumerate() {
            let name = params.get(index + 1).map(|param| param.name);
            passed.value = self.given_to_forward(&passed.value, file, function, name, inside);
        }
        for (name, passed) in &mut call.keywords {
            passed.value = self.given_to_forward(&passed.value, file, function, Some(*name), inside);
        }
        call
    }

    fn given_to_forward(
        &self,
        value: &Value,
        file: FileId,
        function: FnId,
        name: Option<Ustr>,
        inside: bool,
    ) -> Value {
        match value {
            Value::Unknown if name.is_some_and(|name| self.is_used_as_tensor(file, function, name)) => {
                let confidence = Confidence::Medium;
                Value::tensor(Tensor {
                    device_origin: Some(DeviceOrigin::Module),
                    confidence,
                    ..Tensor::default()
                })
            }
            Value::Tensor(tensor) if !inside && !tensor.is_array => {
                let device_origin = match tensor.device_origin {
                    Some(DeviceOrigin::Default { .. }) => None,
                    _ => Some(DeviceOrigin::Module),
                };
                Value::tensor(Tensor { device_origin, ..(**tensor).clone() })
            }
            Value::Tuple(items) if !inside => {
                let each = |item: &Value| self.given_to_forward(item, file, function, None, inside);
                Value::tuple(items.iter().map(each).collect())
            }
            other => other.clone(),
        }
    }

    /// All that is done with a parameter can be done with tensors, and some of it only with them.
    fn is_used_as_tensor(&self, file: FileId, function: FnId, name: Ustr) -> bool {
        let uses = &self.module(file).names.uses;
        let used = uses.of_local(Some(function), name);
        let Some(class) = self.apis.class_of(Role::Tensor) else { return false };
        !uses.called_local(Some(function), name)
            && used.iter().any(|used| !SHARED.contains(&used.as_str()))
            && used.iter().all(|used| self.apis.method(class, *used).is_some())
    }

    /// Forwards that nothing calls, of classes that make tensors.
    pub(super) fn is_making_forward(&mut self, file: FileId, definition: &Function) -> bool {
        let Some(class) = definition.class.filter(|_| definition.name == "forward") else { return false };
        let module = self.module(file);
        let words = self.apis.making_words();
        let functions = || module.tree.functions.iter().enumerate();
        let mentions = |index: usize, word: Ustr| module.names.scopes[index].mentions.contains(word);
        let making = |index: usize| words.iter().any(|word| mentions(index, *word));
        let helpers: Vec<Ustr> = functions()
            .filter(|(index, function)| function.class.is_none() && making(*index))
            .map(|(_, function)| function.name)
            .collect();
        let makes = functions().any(|(index, function)| {
            function.class == Some(class)
                && (making(index) || helpers.iter().any(|helper| mentions(index, *helper)))
        });
        let found = self.class_object(file, class).filter(|_| makes);
        found.is_some_and(|object| self.role_of(ClassRef::Project(object)) == Some(Role::Module))
    }
}

pub(super) fn with_device_origin(value: Value, device_origin: Option<DeviceOrigin>) -> Value {
    match &value {
        Value::Tensor(tensor) => Value::tensor(Tensor { device_origin, ..(**tensor).clone() }),
        _ => value,
    }
}
