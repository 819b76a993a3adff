//! Instances of the project's classes: what makes them, and which constructor runs.

use super::{Call, Constructed, Instance, Interp};
use crate::apis::Role;
use crate::report::Place;
use crate::values::*;
use ustr::Ustr;

impl Interp<'_> {
    pub(super) fn instantiate(&mut self, class: ObjId, call: &Call) -> Value {
        if let Some(other) = self.given_by_new(class, call) {
            return other;
        }
        let reference = ClassRef::Project(class);
        let state = match self.role_of(reference) {
            Some(Role::Module) => State::Module(ModuleState::default()),
            Some(Role::Optimizer) => {
                State::Optimizer(OptimizerState { others: true, ..OptimizerState::default() })
            }
            Some(Role::Scaler) => State::Scaler,
            Some(Role::Sampler) => State::Sampler(SamplerState { orders: Orders::UNKNOWN, shared_at: None }),
            _ => State::Plain,
        };
        let object = self.alloc(call.place, reference, state);
        self.made(call.place, object);
        self.on_instance(&Instance { object, place: call.place });
        let value = Value::Obj(object);
        if let Some(role) = self.role_of(reference)
            && role == Role::Optimizer
        {
            self.optimizer_of_project(object, call);
        }
        self.heap.get_mut(object).epoch = self.epoch;
        let init = Ustr::from("__init__");
        match self.find_attr(object, init) {
            Some(Value::Function(closure)) => {
                self.forget_gathered(object);
                let name = self.tree(closure.file).function(closure.function).name_span;
                let constructed = Constructed { object, constructor: Place::new(closure.file, name) };
                self.on_construct(&constructed);
                self.inline(&closure, Some(&value), call);
                super::inherited::build_parts(self, object, call.place);
                self.on_constructed(&constructed);
            }
            Some(method) => {
                let bound = self.bind(&value, &method, init, call.place);
                self.call_value(&bound, call);
                super::inherited::build_parts(self, object, call.place);
            }
            None => {
                super::inherited::construct(self, object, call);
                self.dataclass_fields(object, class, call);
                self.set_up(object, call.place);
                super::inherited::build_parts(self, object, call.place);
            }
        }
        value
    }

    /// A framework may have a method of its own in which layers are made.
    fn set_up(&mut self, object: ObjId, place: Place) {
        if self.owns(self.heap.get(object).class, "setup")
            && let Some(Value::Function(closure)) = self.find_attr(object, Ustr::from("setup"))
        {
            self.inline(&closure, Some(&Value::Obj(object)), &Call::new(place));
        }
    }

    /// What `__new__` of the project gives. One that does not ask a base for an instance gives something else than
    /// one of the class, and no constructor runs.
    fn given_by_new(&mut self, class: ObjId, call: &Call) -> Option<Value> {
        let new = Ustr::from("__new__");
        let Some(Value::Function(closure)) = self.find_in(&self.lineage(ClassRef::Project(class)), new)
        else {
            return None;
        };
        let asks_base = self.module(closure.file).names.scope(closure.function).mentions.contains(new);
        (!asks_base).then(|| self.inline(&closure, Some(&Value::Obj(class)), call))
    }
}
