//! Which tensors are where the model is: what its forward is given, and not what it makes where nobody said a
//! device.

use super::{Call, Interp};
use crate::apis::Role;
use crate::report::{Confidence, FileId};
use crate::syntax::{Function, StmtKind};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Lists in lists that a forward is given are looked into so deep.
const DEEPEST: u32 = 2;

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
    pub(super) fn at_home(&mut self, closure: &Closure, receiver: Option<ObjId>, call: &Call) -> Call {
        let inside = self.computing().is_some();
        let (file, function) = (closure.file, closure.function);
        let params = &self.tree(file).function(function).params;
        let mut call = call.clone();
        for (index, passed) in call.positional.iter_mut().enumerate() {
            let name = params.get(index + 1).map(|param| param.name);
            passed.value = self.given_to_forward(&passed.value, closure, receiver, name, inside);
        }
        for (name, passed) in &mut call.keywords {
            passed.value = self.given_to_forward(&passed.value, closure, receiver, Some(*name), inside);
        }
        call
    }

    fn given_to_forward(
        &mut self,
        value: &Value,
        closure: &Closure,
        receiver: Option<ObjId>,
        name: Option<Ustr>,
        inside: bool,
    ) -> Value {
        match value {
            Value::Unknown if name.is_some_and(|name| self.is_taken_for_tensor(closure, receiver, name)) => {
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
                let each = |item: &Value| self.given_to_forward(item, closure, receiver, None, inside);
                Value::tuple(items.iter().map(each).collect())
            }
            Value::Maybe(known) if !inside => {
                Value::Maybe(Rc::new(self.given_to_forward(known, closure, receiver, None, inside)))
            }
            Value::Obj(list) if !inside => {
                self.made_outside(*list, DEEPEST);
                value.clone()
            }
            other => other.clone(),
        }
    }

    /// What a list holds that a forward is given was made outside of it.
    fn made_outside(&mut self, list: ObjId, depth: u32) {
        let State::List(items) = &self.heap.get(list).state else { return };
        let all = || items.exact.iter().flatten().chain([&items.any]);
        let inner: Vec<ObjId> = all().filter_map(Value::as_obj).filter(|_| depth > 0).collect();
        let stays = |value: &Value| {
            let tensor = value.as_tensor();
            tensor.is_some_and(|tensor| matches!(tensor.device_origin, Some(DeviceOrigin::Default { .. })))
        };
        if all().any(stays) {
            let mut items = items.clone();
            let outside = |value: &Value| with_device_origin(value.clone(), None);
            items.exact = items.exact.map(|all| all.iter().map(outside).collect());
            items.any = outside(&items.any);
            self.heap.get_mut(list).state = State::List(items);
        }
        inner.into_iter().for_each(|list| self.made_outside(list, depth - 1));
    }

    /// Forwards that nothing calls, of classes that make tensors.
    pub(super) fn is_making_forward(
        &mut self,
        file: FileId,
        definition: &Function,
        imported: &[Ustr],
    ) -> bool {
        let Some(class) = definition.class.filter(|_| definition.name == "forward") else { return false };
        let module = self.module(file);
        let words = self.apis.making_words();
        let functions = || module.tree.functions.iter().enumerate();
        let mentions = |index: usize, word: Ustr| module.names.scopes[index].mentions.contains(word);
        let making = |index: usize| words.iter().any(|word| mentions(index, *word));
        let mut helpers: Vec<Ustr> = functions()
            .filter(|(index, function)| function.class.is_none() && making(*index))
            .map(|(_, function)| function.name)
            .collect();
        helpers.extend(imported);
        let makes = functions().any(|(index, function)| {
            function.class == Some(class)
                && (making(index) || helpers.iter().any(|helper| mentions(index, *helper)))
        });
        let found = self.class_object(file, class).filter(|_| makes);
        found.is_some_and(|object| self.role_of(ClassRef::Project(object)) == Some(Role::Module))
    }
}

impl Interp<'_> {
    /// Functions of other files of the project that make tensors, by the names that forwards of a file call them by.
    pub(super) fn imported_makers(&mut self, file: FileId) -> Vec<Ustr> {
        let module = self.module(file);
        let (tree, names) = (&module.tree, &module.names);
        let forwards =
            tree.functions.iter().zip(&names.scopes).filter(|(function, _)| function.name == "forward");
        let is_imported = |name: &Ustr| {
            let bindings = names.bindings.get(name).into_iter().flatten();
            bindings.into_iter().any(|stmt| matches!(tree.stmt(*stmt).kind, StmtKind::ImportFrom { .. }))
        };
        let mut said: Vec<Ustr> =
            forwards.flat_map(|(_, scope)| scope.mentions.iter()).filter(is_imported).collect();
        said.sort();
        said.dedup();
        let words = self.apis.making_words();
        said.retain(|name| match self.module_attr(file, *name) {
            Some(Value::Function(closure)) if closure.file != file => {
                let scope = self.module(closure.file).names.scope(closure.function);
                words.iter().any(|word| scope.mentions.contains(*word))
            }
            _ => false,
        });
        said
    }
}

pub(super) fn with_device_origin(value: Value, device_origin: Option<DeviceOrigin>) -> Value {
    match &value {
        Value::Tensor(tensor) => Value::tensor(Tensor { device_origin, ..(**tensor).clone() }),
        Value::Maybe(inner) => Value::Maybe(Rc::new(with_device_origin((**inner).clone(), device_origin))),
        _ => value,
    }
}
