//! Attributes: of objects through their classes, of parameters, of the frameworks' classes, through `super()`;
//! bound methods; and writing and deleting them.

use super::{
    AttributeWrite, Call, HiddenAttribute, Interp, MissingAttribute, Uncalled, lineage::Base,
    modules::FORWARDS, python, roles::is_guessed, transfer,
};
use crate::apis::{Api, Transfer};
use crate::names::Subject;
use crate::report::{Confidence, Place};
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// Any of the parts of a container that a loop has filled.
    pub(super) fn any_child(&mut self, object: ObjId) -> Option<Value> {
        let here = self.heap.get(object);
        let any = here.attr(Ustr::from("*"))?.clone();
        let is_part = |value: &Value| {
            value.as_obj().and_then(|part| self.heap.get(part).module()).is_some_and(|module| module.repeats)
        };
        // What a loop has added stands for itself.
        let numbered =
            here.attrs.iter().filter(|(name, part)| name.parse::<usize>().is_ok() && !is_part(part));
        let mut all: Vec<Value> = numbered.map(|(_, value)| value.clone()).collect();
        all.push(any);
        self.heap.any_of(&Items::exact(all))
    }

    /// Whether something only records what its methods are told: a writer of logs, a run of an experiment.
    pub(super) fn is_recorder(&self, receiver: &Value) -> bool {
        let class = receiver.as_obj().map(|object| self.heap.get(object).class);
        matches!(class, Some(ClassRef::Api(class)) if self.apis.is_tracker(class))
    }

    /// What a forward that is called by its name gives, and a tensor that one of its methods changes in place.
    pub(super) fn computed(&mut self, receiver: &Value, name: Ustr, call: &Call) -> Option<Value> {
        match self.computed_by(receiver, name) {
            Some(module) => Some(self.call_module(module, call)),
            None => self
                .computed_by_base(receiver, name, call)
                .or_else(|| self.computed_in_place(receiver, name, call)),
        }
    }

    /// `super().forward(x)`, where a layer or a loss of a framework is the base: what that computes.
    fn computed_by_base(&mut self, receiver: &Value, name: Ustr, call: &Call) -> Option<Value> {
        let Value::Super { instance, after } = receiver else { return None };
        if !FORWARDS.contains(&name.as_str()) {
            return None;
        }
        let lineage = self.lineage(self.heap.get(*instance).class);
        let own = lineage.iter().position(|base| *base == Base::Project(*after))?;
        let Some(Base::Api(_)) = lineage.get(own + 1) else { return None };
        let api = self.layer_api(*instance)?;
        let module = self.heap.get(*instance).module().cloned().unwrap_or_default();
        let value = self.apply_layer(*instance, api, call)?;
        Some(self.with_weights(*instance, &module, value, &mut None, call.place))
    }

    /// The module that `model.forward(x)` runs, as a call of it does. Within a forward it is one class calling another.
    fn computed_by(&self, receiver: &Value, method: Ustr) -> Option<ObjId> {
        let object = receiver.as_obj().filter(|_| FORWARDS.contains(&method.as_str()))?;
        let is_run = method != FORWARDS[0] || self.runs_forward(object);
        self.heap.get(object).module().filter(|_| is_run && !self.in_forward()).map(|_| object)
    }

    pub fn get_attr(&mut self, value: &Value, name: Ustr, place: Place) -> Value {
        if name == "__name__"
            && let Some(said) = self.name_of_callable(value)
        {
            return Value::str(said.as_str());
        }
        match value {
            Value::Obj(object) => self.object_attr(*object, name, place),
            Value::Module(_) | Value::Folder(_) => self.member(value, name),
            Value::Api(package) => self.api_attr(*package, name, place),
            Value::Tensor(tensor) => self.tensor_attr(tensor, value, name, place),
            Value::Params(params) => match name.as_str() {
                "grad" => Value::Grad(Rc::new(params.owners.clone())),
                "device" => Value::Device(self.device_of_params(params), DeviceForm::Object),
                _ => self.parameter_attr(params, value, name, place),
            },
            Value::Grad(_) if name == "data" => value.clone(),
            Value::Grad(_) => {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Builtin(name) }))
            }
            Value::Super { instance, after } => self.super_attr(*instance, *after, name, place),
            Value::Maybe(inner) => self.get_attr(&inner.clone(), name, place),
            Value::Given(given) => match self.get_attr(&given.value.clone(), name, place) {
                // What a method makes of a given text is given, too.
                Value::Bound(bound) if matches!(bound.method, Method::Builtin(_)) => {
                    Value::Bound(Rc::new(Bound { receiver: value.clone(), method: bound.method.clone() }))
                }
                found => found,
            },
            Value::Bound(bound) if name == "__self__" => bound.receiver.clone(),
            Value::AnyOf(all) => {
                let found = all.iter().map(|one| self.get_attr(one, name, place)).collect();
                self.heap.any_of(&Items::exact(found)).unwrap_or_default()
            }
            Value::Bound(_) => {
                self.on_uncalled(&Uncalled { value, attribute: name, place });
                Value::Unknown
            }
            // Whatever it is, its sizes are numbers.
            Value::Unknown if name == "shape" => {
                let size = Value::of_int(Int::Unknown);
                python::tuple_of_unknown_length(self, place, Items::any(size))
            }
            Value::Function(_) | Value::Partial(_) | Value::Builtin(_) | Value::Unknown => Value::Unknown,
            Value::Device(device, _) if name == "type" => {
                self.asked_for_device();
                match device {
                    Device::Cuda(_) => Value::str("cuda"),
                    Device::Cpu => Value::str("cpu"),
                    // Its kind still names it.
                    device if device.is_gpu() => Value::Device(*device, DeviceForm::Unsure),
                    _ => Value::Str(None),
                }
            }
            Value::None => Value::Unknown,
            Value::Tuple(_) if named_part(value, name).is_none() => {
                self.on_missing_attribute(&MissingAttribute { value, name, place });
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Builtin(name) }))
            }
            _ => {
                let part = named_part(value, name).or_else(|| python::attribute(self, value, &name));
                // What is a number on every way would have failed long ago.
                if part.is_none() && self.is_apart() && matches!(value, Value::Int(_) | Value::Float(_)) {
                    self.on_missing_attribute(&MissingAttribute { value, name, place });
                }
                part.unwrap_or_else(|| {
                    Value::Bound(Rc::new(Bound { receiver: value.clone(), method: Method::Builtin(name) }))
                })
            }
        }
    }

    /// An attribute or method of a parameter whose tensor is not known.
    fn parameter_attr(&mut self, params: &Params, value: &Value, name: Ustr, place: Place) -> Value {
        if let Some(known) = self.attribute_of_listed(params, name) {
            return known;
        }
        let tensor = Rc::new(self.parameter_tensor(params));
        match self.tensor_attr(&tensor, &Value::Tensor(tensor.clone()), name, place) {
            // What changes the parameter itself is done to all of them.
            Value::Bound(bound) if self.changes_parameters(&bound.method) => {
                Value::Bound(Rc::new(Bound { receiver: value.clone(), method: bound.method.clone() }))
            }
            found => found,
        }
    }

    fn changes_parameters(&self, method: &Method) -> bool {
        matches!(method, Method::Api(name) if self.apis.get(*name).is_some_and(|api| !api.effects.is_empty()))
    }

    fn api_attr(&mut self, package: Ustr, name: Ustr, place: Place) -> Value {
        let canonical = self.canonical(package, name);
        let apis = self.apis;
        if let Some(api) = apis.get(canonical) {
            // A name of a package that stands for a value.
            if api.property && apis.class(package).is_none() {
                return self.call_api(api.name, &Call::new(place));
            }
            return method_of_class(package, api);
        }
        match self.apis.class(package).and_then(|class| self.apis.method(class.name, name)) {
            Some(api) => method_of_class(package, api),
            None if python::constant(self, &canonical).is_some() => {
                python::constant(self, &canonical).unwrap_or_default()
            }
            // `np.int` is as wide as Python's own, and `torch.int` is not.
            None => match DType::named(&canonical).and_then(|_| transfer::dtype_of(&Value::Api(canonical))) {
                Some(dtype) if self.apis.is_framework(package) => Value::DType(dtype),
                _ => Value::Api(canonical),
            },
        }
    }

    fn object_attr(&mut self, object: ObjId, name: Ustr, place: Place) -> Value {
        if let Some((wrapper, sure)) = self.hidden_by(object) {
            self.on_hidden_attribute(&HiddenAttribute { object, wrapper, sure, name, place });
        }
        if let Some(parameter) = self.parameter_named(object, name) {
            self.note_handed_out(object);
            return Value::Params(Rc::new(parameter));
        }
        if let Some(found) = self.find_attr(object, name) {
            let receiver = Value::Obj(object);
            let found = self.while_frozen(found);
            return self.bind(&receiver, &found, name, place);
        }
        if let Some(entry) = python::entry_as_attribute(self, object, name) {
            return entry;
        }
        match &self.heap.get(object).state {
            State::List(_) | State::Dict(_) => {
                let value = Value::Obj(object);
                self.on_missing_attribute(&MissingAttribute { value: &value, name, place });
                Value::Bound(Rc::new(Bound { receiver: value, method: Method::Builtin(name) }))
            }
            State::Class(_) => Value::Unknown,
            _ => {
                let value = Value::Obj(object);
                match python::attribute(self, &value, &name) {
                    Some(found) => found,
                    None => self.unseen_attr(object, name, place),
                }
            }
        }
    }

    /// What an engine has taken into its care it has wrapped, and the wrapper has attributes of its own.
    fn is_managed(&self, object: ObjId) -> bool {
        match &self.heap.get(object).state {
            State::Module(module) => module.managed,
            State::Optimizer(optimizer) => optimizer.managed,
            State::Loader(loader) => loader.managed,
            _ => false,
        }
    }

    /// A model that was made elsewhere has layers and attributes of its own.
    fn is_unseen(&self, object: ObjId) -> bool {
        self.heap.get(object).module().is_some_and(|module| module.weights == Learned::Opaque)
    }

    /// An attribute that nothing we saw has set: its uses through `self` may say what it is.
    fn unseen_attr(&mut self, object: ObjId, name: Ustr, place: Place) -> Value {
        // What stands in for something unknown is of the general class of its role, and a context object of
        // an autograd function takes any attribute.
        let is_stand_in =
            |class: Ustr| self.apis.role(class).is_none_or(|role| self.apis.class_of(role) == Some(class));
        if let ClassRef::Api(class) = self.heap.get(object).class
            && !is_stand_in(class)
            && !self.is_managed(object)
            && !self.is_unseen(object)
        {
            self.see(place, Sight::UnknownAttribute { class, name }, Confidence::High);
        }
        self.on_missing_attribute(&MissingAttribute { value: &Value::Obj(object), name, place });
        self.note_handed_out(object);
        let value = self.self_typed_by_use(object, name, Value::Unknown);
        if !value.is_unknown() {
            self.heap.get_mut(object).set_attr(name, value.clone());
        }
        value
    }

    /// An unknown value in an attribute: what the methods of the class do with it says what it is.
    fn self_typed_by_use(&mut self, object: ObjId, name: Ustr, value: Value) -> Value {
        let ClassRef::Project(class) = self.heap.get(object).class else { return value };
        for base in self.lineage(ClassRef::Project(class)) {
            let Base::Project(base) = base else { continue };
            let State::Class(state) = self.heap.get(base).state.clone() else { continue };
            let (subject, site) = (Subject::Own(state.class, name), self.heap.get(object).site);
            if let Some(role) = self.role_by_use(state.file, subject) {
                return self.of_role(role, site, name, value);
            }
            let taken = self.taken_as(state.file, subject, site, value.clone());
            // Where a module is, whoever moves it says.
            let of_module = matches!(taken, Value::Device(..)) && self.heap.get(object).module().is_some();
            if !taken.is_unknown() && !of_module {
                return taken;
            }
        }
        value
    }

    /// A method bound to its receiver, a property's value, or the plain attribute.
    pub(super) fn bind(&mut self, receiver: &Value, found: &Value, name: Ustr, place: Place) -> Value {
        let of_class =
            matches!(receiver.as_obj().map(|object| &self.heap.get(object).state), Some(State::Class(_)));
        let owned = receiver.as_obj().is_some_and(|object| self.heap.attr(object, name).is_some());
        match found {
            Value::Function(closure) if of_class && closure.wrap.is_class && !closure.wrap.is_property => {
                let method = Method::Closure(closure.clone());
                Value::Bound(Rc::new(Bound { receiver: receiver.clone(), method }))
            }
            Value::Function(closure) if !owned => {
                if closure.wrap.is_property {
                    return self.inline(&closure.clone(), Some(receiver), &Call::new(place));
                }
                if closure.wrap.is_static {
                    return found.clone();
                }
                let receiver =
                    if closure.wrap.is_class { self.class_value(receiver) } else { receiver.clone() };
                if of_class && !closure.wrap.is_class {
                    return found.clone();
                }
                Value::Bound(Rc::new(Bound { receiver, method: Method::Closure(closure.clone()) }))
            }
            Value::Partial(made) if !owned && !of_class => {
                super::derived::as_method(made, receiver).unwrap_or_else(|| found.clone())
            }
            Value::Api(api) if self.is_class_method(receiver, *api) => {
                Value::Bound(Rc::new(Bound { receiver: receiver.clone(), method: Method::Api(*api) }))
            }
            Value::Api(api) if !owned && self.is_method(receiver, *api) => {
                if self.apis.get(*api).is_some_and(|entry| entry.property) {
                    return self.call_api_method(*api, receiver, &Call::new(place));
                }
                Value::Bound(Rc::new(Bound { receiver: receiver.clone(), method: Method::Api(*api) }))
            }
            other => other.clone(),
        }
    }

    /// Whether an attribute is called with the object that has it: a class is not, nor is the type of a tensor.
    fn is_method(&self, receiver: &Value, api: Ustr) -> bool {
        let is_type =
            self.apis.get(api).is_some_and(|entry| entry.transfer() == Some(Transfer::LegacyTensor));
        if is_type || self.apis.class(api).is_some() {
            return false;
        }
        match receiver.as_obj() {
            Some(object) => !matches!(self.heap.get(object).state, State::Class(_)),
            None => true,
        }
    }

    /// A method of a framework that takes the class itself, as its first parameter says.
    fn is_class_method(&self, receiver: &Value, api: Ustr) -> bool {
        let is_class =
            receiver.as_obj().is_some_and(|object| matches!(self.heap.get(object).state, State::Class(_)));
        is_class && self.apis.get(api).is_some_and(is_of_class)
    }

    fn class_value(&self, receiver: &Value) -> Value {
        match receiver.as_obj().map(|object| self.heap.get(object).class) {
            Some(ClassRef::Project(class)) => Value::Obj(class),
            _ => receiver.clone(),
        }
    }

    /// `super()` in a method: the instance, past the class that defines the method, or that is `named`.
    pub(super) fn super_value(&mut self, named: Option<Value>) -> Value {
        let Some(frame) = self.frames.iter().rev().find(|frame| frame.function.is_some()) else {
            return Value::Unknown;
        };
        match (frame.receiver.as_ref().and_then(Value::as_obj), frame.class) {
            (Some(instance), Some(after)) => {
                let lineage = self.lineage(self.heap.get(instance).class);
                if let Some(Value::Api(base)) = named
                    && lineage.contains(&Base::Api(base))
                {
                    // `super(ResNet, self)` of a framework's class begins behind it: what is there, nobody sees.
                    self.on_base_constructed(Some(instance));
                    return Value::Unknown;
                }
                let Some(Value::Obj(class)) = named else { return Value::Super { instance, after } };
                let is_own = lineage.contains(&Base::Project(class));
                Value::Super { instance, after: if is_own { class } else { after } }
            }
            _ => {
                self.on_base_constructed(None);
                Value::Unknown
            }
        }
    }

    fn super_attr(&mut self, instance: ObjId, after: ObjId, name: Ustr, place: Place) -> Value {
        let mut lineage = self.lineage(self.heap.get(instance).class);
        if let Some(at) = lineage.iter().position(|base| *base == Base::Project(after)) {
            lineage.drain(..=at);
        }
        if name == "__init__"
            && matches!(lineage.first(), Some(Base::Api(base)) if self.apis.class(*base).is_some())
        {
            // A framework's class comes first, and its constructor is the one that runs.
            lineage.truncate(1);
        }
        match self.find_in(&lineage, name) {
            Some(found) => {
                let receiver = Value::Obj(instance);
                if name == "__init__" && !matches!(found, Value::Function(_)) {
                    self.on_base_constructed(Some(instance));
                }
                match &found {
                    Value::Function(closure) if !closure.wrap.is_property => {
                        Value::Bound(Rc::new(Bound { receiver, method: Method::Closure(closure.clone()) }))
                    }
                    _ => self.bind(&receiver, &found, name, place),
                }
            }
            None => {
                self.on_base_constructed(Some(instance));
                if name == "__init__" && !super::inherited::is_under_way(self, instance, after) {
                    let receiver = Value::Obj(instance);
                    return Value::Bound(Rc::new(Bound { receiver, method: Method::Builtin(name) }));
                }
                // What is left of the lineage is of the language, or not seen: it may give anything but where it only sets.
                let sets =
                    matches!(name.as_str(), "__init__" | "__setattr__" | "__delattr__" | "__init_subclass__");
                Value::Builtin(Ustr::from(if sets { "object.__init__" } else { "object.method" }))
            }
        }
    }

    pub(super) fn set_attr(&mut self, receiver: &Value, name: Ustr, value: Value, place: Place) {
        match receiver {
            Value::Obj(object) => {
                let value =
                    if is_guessed(&value) { self.self_typed_by_use(*object, name, value) } else { value };
                let value = self.held_beside(*object, value);
                self.set_property(*object, name, &value, place);
                self.burn_over(self.heap.get(*object).attrs.len());
                self.note_replaced(*object, name, &value, place);
                if name == "weight" || name == "bias" {
                    self.given_other_weights(*object, &value);
                }
                self.collates_otherwise(*object, &name);
                self.on_attribute_write(&AttributeWrite { receiver, name, value: &value, place });
                let is_told = self.assigns_mode(*object, name, &value)
                    || python::attribute_as_entry(self, *object, name, &value);
                if !is_told {
                    self.heap.get_mut(*object).set_attr(name, value);
                }
            }
            Value::Module(file) => {
                let env = self.open_module(*file, false);
                self.heap.get_mut(env).set_attr(name, value);
            }
            Value::Params(params) => {
                if name != "grad" {
                    self.on_attribute_write(&AttributeWrite { receiver, name, value: &value, place });
                }
                self.set_params_attr(&params.clone(), name, &value, place);
            }
            Value::Tensor(tensor) if name != "grad" => {
                self.on_attribute_write(&AttributeWrite { receiver, name, value: &value, place });
                if name == "requires_grad" && matches!(tensor.graph, Graph::Unknown) {
                    self.doubt_handed_out();
                }
            }
            Value::Maybe(inner) => self.set_attr(&inner.clone(), name, value, place),
            Value::Api(_) => {
                self.on_attribute_write(&AttributeWrite { receiver, name, value: &value, place });
            }
            _ if name == "grad" => self.set_grad(receiver, &value, place),
            Value::Unknown if name == "requires_grad" => self.doubt_handed_out(),
            _ => {}
        }
    }

    pub(super) fn delete_attr(&mut self, receiver: &Value, name: Ustr, place: Place) {
        match receiver.as_obj() {
            Some(object) => self.heap.get_mut(object).attrs.retain(|(known, _)| *known != name),
            // A gradient that is deleted is `None` from then on.
            None if name == "grad" => self.set_attr(receiver, name, Value::None, place),
            None => {}
        }
    }
}

/// What frameworks call the parts of a pair that a reduction gives: the values, and where they were.
fn named_part(value: &Value, name: Ustr) -> Option<Value> {
    let Value::Tuple(parts) = value else { return None };
    let [values @ Value::Tensor(_), indices @ Value::Tensor(_)] = &**parts else { return None };
    match name.as_str() {
        "values" => Some(values.clone()),
        "indices" => Some(indices.clone()),
        _ => None,
    }
}

/// A function of a framework, or a method of one of its classes, which knows upon which it is called.
fn method_of_class(holder: Ustr, api: &Api) -> Value {
    match is_of_class(api) {
        true => Value::Bound(Rc::new(Bound { receiver: Value::Api(holder), method: Method::Api(api.name) })),
        false => Value::Api(api.name),
    }
}

/// Whether a method is called upon a class: `Model.from_pretrained(name)`.
fn is_of_class(method: &Api) -> bool {
    method.params.first().is_some_and(|first| first.name == "cls")
}
