//! Values that an engine manages: models, optimizers and loaders that come back wrapped, placed on the
//! device of the run, or bound to each other.

use super::transfer::build::{Sequence, sequence};
use super::{Call, Interp, Invocation, transfer};
use crate::apis::Slot;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What a class owns that answers for no attribute of the module within it.
const HIDING: &str = "hiding";

/// Of such a wrapper, its class.
const WRAPPED_BY: Note = Note::new("wrapped by");

impl<'p> Interp<'p> {
    /// `DataParallel(model)`, `torch.compile(model)`: the same parameters, called through a wrapper.
    pub(super) fn wrap(&mut self, call: &Invocation) -> Value {
        let inner = call.nth(0);
        let Some(object) = inner.as_obj().filter(|object| self.heap.get(*object).module().is_some()) else {
            return inner;
        };
        if call.gives.is_some_and(|apply| apply.args.len() > 2) {
            self.place_parts(&inner, transfer::device_named(&call.operand(Slot::Device)));
        }
        let scattered = call.operand(Slot::Devices);
        if matches!(scattered, Value::Str(_)) {
            self.take_to_gpu(&inner);
        }
        let state = self.heap.get(object).module().cloned().unwrap_or_default();
        let class = self.heap.get(object).class;
        // A second operand says to which devices the wrapper moves its inputs.
        let scatters = match call.gives.map_or(0, |apply| apply.args.len()) {
            0 | 1 => state.scatters,
            _ => !matches!(scattered, Value::None),
        };
        let parts = [object].into_iter().collect();
        let wrapper =
            ModuleState { weights: Learned::Nothing, mode_dependent: false, parts, scatters, ..state };
        let outer = self.alloc(call.place, class, State::Module(wrapper));
        // The wrapper answers like the module itself, and has it as `.module`.
        let original = self.heap.get(object).clone();
        let wrapper = self.heap.get_mut(outer);
        (wrapper.attrs, wrapper.notes) = (original.attrs, original.notes);
        let hides = self.apis.owns(call.api.name).iter().any(|part| part == HIDING);
        // What hides nothing leaves the `.module` of a wrapper within as it is.
        if hides || wrapper.noted(WRAPPED_BY).is_none() {
            wrapper.set_attr(Ustr::from("module"), Value::Obj(object));
        }
        if hides {
            wrapper.note(WRAPPED_BY, Value::Api(call.api.name));
        }
        Value::Obj(outer)
    }

    /// `DataParallel` moves what is still on the CPU to the GPU, where there is one.
    fn take_to_gpu(&mut self, value: &Value) {
        self.for_each_part(value, |module| {
            if module.device == Device::Cpu {
                module.device = Device::Automatic;
            }
        });
    }

    /// The wrapper that hides what the module within it has, and whether the object is surely wrapped, not on some paths
    /// only.
    pub fn hidden_by(&self, object: ObjId) -> Option<(Ustr, bool)> {
        self.heap.get(object).module()?;
        let wrapper = |one: ObjId| match self.heap.noted(one, WRAPPED_BY) {
            Some(Value::Api(name)) => Some(*name),
            _ => None,
        };
        // One that was merged has the notes of either.
        if !self.heap.is_merged(object) {
            return wrapper(object).map(|name| (name, true));
        }
        let members = self.heap.stands_for(object);
        let name = members.iter().find_map(wrapper)?;
        Some((name, members.iter().all(|one| wrapper(one).is_some())))
    }

    /// Whether a wrapped module is an instance of a class: of its wrapper, and not of its own any more.
    pub(super) fn is_wrapper(&self, object: ObjId, class: &Value) -> Option<bool> {
        let (wrapper, _) = self.hidden_by(object).filter(|(_, sure)| *sure)?;
        match class {
            Value::Api(name) => self.is_api(ClassRef::Api(wrapper), *name).then_some(true),
            Value::Obj(_) => Some(false),
            _ => None,
        }
    }

    /// Values in an engine's care: it places them, and decides when steps are real.
    pub(super) fn managed(&mut self, call: &Invocation) -> Value {
        let mut values: Vec<Value> = call.rest.clone();
        if values.is_empty() {
            values = match call.nth(0) {
                Value::Tuple(items) => items.to_vec(),
                Value::Unknown if call.open => return Value::Unknown,
                other => vec![other],
            };
        }
        let engine = call.get("self").as_obj();
        self.out.uses_gpu = true;
        values.iter().for_each(|value| self.manage(value, engine));
        match values.as_slice() {
            [one] => one.clone(),
            _ => Value::tuple(values),
        }
    }

    /// Takes one value into an engine's care.
    fn manage(&mut self, value: &Value, engine: Option<ObjId>) {
        if let Some(object) = value.as_obj() {
            match self.heap.get(object).state.clone() {
                State::Module(_) => {
                    self.for_each_part(value, |module| {
                        module.managed = true;
                        module.engine = engine;
                    });
                    self.place_parts(value, Device::Accelerator);
                }
                State::Optimizer(state) => {
                    self.heap.get_mut(object).state =
                        State::Optimizer(OptimizerState { managed: true, ..state });
                }
                State::Loader(state) => {
                    let batch = self.on_device(&state.batch, Device::Accelerator);
                    let loader = LoaderState { managed: true, batch, ..(*state).clone() };
                    self.heap.get_mut(object).state = State::Loader(Rc::new(loader));
                }
                _ => {}
            }
        }
    }

    /// The same value, on the device of an engine.
    pub(super) fn managed_device(&mut self, call: &Invocation) -> Value {
        let moved = call.nth(0);
        self.place_parts(&moved, Device::Accelerator);
        self.on_device(&moved, Device::Accelerator)
    }

    /// Several values that an engine takes in one call, given back as a tuple.
    pub(super) fn managed_several(&mut self, call: &Invocation) -> Value {
        let count = call.gives.map_or(0, |apply| apply.args.len());
        let mut values = Vec::new();
        for index in 0..count {
            match call.nth(index) {
                Value::Tuple(items) => values.extend(items.iter().cloned()),
                Value::None => {}
                other => values.push(other),
            }
        }
        let engine = call.get("self").as_obj();
        values.iter().for_each(|value| self.manage(value, engine));
        match values.as_slice() {
            [one] => one.clone(),
            _ => Value::tuple(values),
        }
    }

    /// `self.optimizers()`: the optimizer that a module says it is trained with, or a tuple of several.
    pub(super) fn module_optimizers(&mut self, call: &Invocation) -> Value {
        let configured = self.configured_optimizers(call);
        let Some(Sequence::Exact(items)) = sequence(self, &configured) else {
            return self.optimizer_of(&configured);
        };
        let mut optimizers: Vec<Value> = items.iter().map(|item| self.optimizer_of(item)).collect();
        match optimizers.len() {
            1 => optimizers.remove(0),
            _ => Value::tuple(optimizers),
        }
    }

    /// What `configure_optimizers` returns, without the schedulers behind the optimizers.
    fn configured_optimizers(&mut self, call: &Invocation) -> Value {
        let receiver = call.nth(0);
        let Some(object) = receiver.as_obj() else { return Value::Unknown };
        let name = Ustr::from("configure_optimizers");
        let Some(Value::Function(closure)) = self.find_attr(object, name) else { return Value::Unknown };
        // The framework has called it before the first step, wherever the script asks for what it made.
        let made = self.quietly(|interp| interp.inline(&closure, Some(&receiver), &Call::new(call.place)));
        let Value::Tuple(items) = &made else { return made };
        match items.first() {
            Some(first) if sequence(self, first).is_some() => first.clone(),
            _ => made,
        }
    }

    /// `{"optimizer": optimizer, "lr_scheduler": scheduler}`
    fn optimizer_of(&self, configured: &Value) -> Value {
        match configured.as_obj().map(|object| &self.heap.get(object).state) {
            Some(State::Dict(entries)) => {
                entries.get(&Key::Str(Rc::from("optimizer"))).cloned().unwrap_or_default()
            }
            _ => configured.clone(),
        }
    }

    /// A value with all tensors in it on a device: dicts and lists of them are new ones.
    pub(crate) fn on_device(&mut self, value: &Value, device: Device) -> Value {
        match value {
            Value::Tensor(tensor) => {
                Value::tensor(Tensor { device, device_origin: None, ..(**tensor).clone() })
            }
            Value::Maybe(value) => Value::Maybe(Rc::new(self.on_device(value, device))),
            Value::Tuple(items) => {
                Value::tuple(items.clone().iter().map(|item| self.on_device(item, device)).collect())
            }
            Value::Obj(object) => match self.heap.get(*object).state.clone() {
                State::Dict(mut entries) => {
                    for (_, entry) in &mut entries.known {
                        *entry = self.on_device(entry, device);
                    }
                    entries.other = entries.other.map(|other| self.on_device(&other, device));
                    self.placed_copy(*object, State::Dict(entries))
                }
                State::List(items) => {
                    let any = self.on_device(&items.any, device);
                    let exact = items
                        .exact
                        .map(|exact| exact.iter().map(|item| self.on_device(item, device)).collect());
                    self.placed_copy(*object, State::List(Items { any, exact, ..items }))
                }
                _ => value.clone(),
            },
            other => other.clone(),
        }
    }

    /// Another container like this one, with other contents.
    fn placed_copy(&mut self, object: ObjId, state: State) -> Value {
        let copy = Object { state, ..self.heap.get(object).clone() };
        Value::Obj(self.heap.alloc(copy))
    }
}
