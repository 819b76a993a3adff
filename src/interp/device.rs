//! Devices: which one a module's tensors are on, and what moves with it. A device counts only where a call put something there; what nobody placed is unknown.

use super::{Call, Interp, Invocation, transfer};
use crate::apis::Literal;
use crate::names::Subject;
use crate::syntax::{ExprId, ExprKind};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// How far from an instance that nobody made its parts are looked for.
const REACH: usize = 12;

impl<'p> Interp<'p> {
    /// The device of all tensors of a module; unknown where they are on several.
    pub fn device_of_module(&self, object: ObjId) -> Device {
        let mut found: Option<Device> = None;
        for part in self.descendants(object).iter() {
            let Some(device) = self.own_device(part) else { continue };
            if device == Device::Unknown || found.is_some_and(|known| known != device) {
                return Device::Unknown;
            }
            found = Some(device);
        }
        found.unwrap_or_default()
    }

    pub(super) fn device_of_params(&self, params: &Params) -> Device {
        let mut devices = params.owners.iter().map(|owner| self.device_of_module(owner));
        let first = devices.next().unwrap_or_default();
        if !params.others && devices.all(|device| device == first) { first } else { Device::Unknown }
    }

    /// A parameter that an object holds which is no module: it moves with the module that registered it.
    pub(super) fn held_beside(&self, holder: ObjId, value: Value) -> Value {
        let is_module = self.heap.get(holder).module().is_some();
        match value
            .as_tensor()
            .filter(|tensor| !is_module && tensor.is_leaf && tensor.source == Source::Parameter)
        {
            Some(tensor) => Value::tensor(Tensor { device: Device::Unknown, ..(**tensor).clone() }),
            None => value,
        }
    }

    /// `if cuda: model.cuda()`: where one way moves a module to the GPU and the other leaves it, the script runs there
    /// where it matters.
    pub(super) fn choose_gpu(&mut self, moving: &heap::Writes, leaving: &heap::Writes) {
        let device = |object: &Object| object.module().map(|module| module.device);
        let moved = |object: &ObjId| {
            let is = moving.get(*object).and_then(device);
            is.is_some_and(Device::is_gpu) && leaving.get(*object).is_none()
        };
        for object in moving.objects().filter(moved) {
            if matches!(device(self.heap.get(object)), Some(Device::Cpu | Device::Unknown))
                && let State::Module(module) = &mut self.heap.get_mut(object).state
            {
                module.device = Device::Chosen;
                self.choose_for_buffers(object, moving);
            }
        }
        self.choose_for_variables(moving, leaving);
    }

    /// `if cuda: images = images.cuda()`: a tensor of a batch that one way moves, and the other leaves where it is.
    fn choose_for_variables(&mut self, moving: &heap::Writes, leaving: &heap::Writes) {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return };
        let (Some(moved), None) = (moving.get(env), leaving.get(env)) else { return };
        let here = self.heap.get(env);
        // Most ways move nothing.
        let arrived = moved.attrs.iter().filter_map(|(name, after)| {
            let after = after.as_tensor().filter(|after| after.device.is_chosen_gpu())?;
            let value = here.attr(*name)?;
            let before = value.as_tensor()?;
            let is_loaded = before.device == Device::Cpu && before.source == Source::Data;
            (is_loaded && before.shape == after.shape).then(|| (*name, value.clone()))
        });
        let held: Vec<(Ustr, Value)> = arrived.collect();
        for (name, value) in held {
            let value = self.on_device(&value, Device::Chosen);
            self.heap.get_mut(env).set_attr(name, value);
        }
    }

    /// What a module holds itself was moved with it.
    fn choose_for_buffers(&mut self, object: ObjId, moving: &heap::Writes) {
        let here = self.heap.get(object);
        let went = |name: Ustr| {
            let there = moving.get(object).and_then(|there| there.attr(name)?.as_tensor());
            there.is_some_and(|tensor| tensor.device.is_gpu())
        };
        let held: Vec<(Ustr, Value)> = here
            .attrs
            .iter()
            .filter(|(name, value)| moves_along(here, *name, value) && went(*name))
            .cloned()
            .collect();
        for (name, value) in held {
            let value = self.on_device(&value, Device::Chosen);
            self.heap.get_mut(object).set_attr(name, value);
        }
    }

    /// A module, with what it holds itself, where one way has left it.
    pub(super) fn leave_on_cpu(&mut self, model: ObjId) {
        let here = self.heap.get_mut(model);
        if let State::Module(module) = &mut here.state {
            module.device = Device::Cpu;
        }
        let is_open =
            |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.device == Device::Unknown);
        let along: Vec<(Ustr, Value)> = here
            .attrs
            .iter()
            .filter(|(name, value)| is_open(value) && moves_along(here, *name, value))
            .cloned()
            .collect();
        for (name, value) in along {
            let value = self.on_device(&value, Device::Cpu);
            self.heap.get_mut(model).set_attr(name, value);
        }
    }

    /// The device of the tensors that a module holds itself; `None` when it holds none.
    pub(crate) fn own_device(&self, object: ObjId) -> Option<Device> {
        let here = self.heap.get(object);
        let module = here.module()?;
        if module.weights != Learned::Nothing {
            return Some(module.device);
        }
        let mut devices = here
            .attrs
            .iter()
            .filter(|(name, value)| moves_along(here, *name, value))
            .filter_map(|(_, value)| value.as_tensor())
            .filter(|tensor| !tensor.is_array)
            .map(|tensor| tensor.device);
        let first = devices.next()?;
        Some(if devices.all(|device| device == first) { first } else { Device::Unknown })
    }

    /// The call as a module sees it that moves its inputs to its own devices.
    pub(super) fn scattered(&mut self, object: ObjId, call: &Call) -> Call {
        let device = self.device_of_module(object);
        self.sent(call, if device.is_gpu() { device } else { Device::Unknown })
    }

    /// The same call with its tensors on a device.
    pub(super) fn sent(&mut self, call: &Call, device: Device) -> Call {
        let mut call = call.clone();
        let keywords = call.keywords.iter_mut().map(|(_, passed)| passed);
        for passed in call.positional.iter_mut().chain(keywords) {
            passed.value = self.on_device(&passed.value, device);
        }
        call
    }

    /// `module.to(...)`: in place, with all inside.
    pub(super) fn moved(&mut self, call: &Invocation) -> Value {
        let receiver = call.nth(0);
        let mut device = None;
        let mut dtype = None;
        let mut args: Vec<Value> = match call.nth(1) {
            Value::Tuple(items) => items.to_vec(),
            other => vec![other],
        };
        args.extend(call.rest.iter().cloned());
        args.extend((2..4).map(|index| call.nth(index)).filter(|value| !value.is_unknown()));
        args.extend(call.more.iter().map(|(_, passed)| passed.value.clone()));
        for arg in args {
            // `torch.cuda.FloatTensor` is both.
            if !arg.is_unknown() {
                device = transfer::tensor_type_device(&arg).or(device);
            }
            match transfer::dtype_of(&arg) {
                Some(found) => dtype = Some(found),
                None if matches!(arg.bare(), Value::None | Value::Bool(_)) => {}
                None => device = Some(transfer::device_of(self, &arg)),
            }
        }
        if call.is_given("device") && call.get("device").is_unknown() {
            device = device.or(Some(Device::Unknown));
        }
        if device.is_none_or(|device| device == Device::Unknown) {
            device = own_gpu(call).or(device);
        }
        if let Some(device) = device {
            self.out.uses_gpu |= device != Device::Cpu;
            self.place_parts(&receiver, device);
        }
        let unsure = call.is_given("dtype") && dtype.is_none() && !matches!(call.get("dtype"), Value::None);
        if dtype.is_some() || unsure || device == Some(Device::Unknown) {
            // What is neither a known device nor a known dtype may be either.
            self.cast_parts(&receiver, dtype);
        }
        receiver
    }

    /// Puts a module and all inside it on a device: their weights, parameters and buffers.
    pub(super) fn place_parts(&mut self, value: &Value, device: Device) {
        self.for_each_part(value, |module| module.device = device);
        let Value::Obj(object) = value.bare() else { return };
        if self.is_record(*object) {
            self.place_tensors(*object, |_| device);
        }
        self.place_entries(*object, device);
        for part in self.descendants(*object).iter() {
            self.place_tensors(part, |_| device);
            self.place_unseen(part);
        }
    }

    /// What a mapping of tensors holds goes along: the inputs that a tokenizer gives.
    fn place_entries(&mut self, object: ObjId, device: Device) {
        let State::Dict(entries) = &self.heap.get(object).state else { return };
        let entries = entries.clone();
        let moved = entries.map(|value| self.on_device(value, device));
        self.heap.get_mut(object).state = State::Dict(moved);
    }

    /// What inherits from something unseen may be a module and move along, with what it holds.
    fn place_unseen(&mut self, module: ObjId) {
        let unseen = |value: &Value| {
            let object = value.as_obj()?;
            let here = self.heap.get(object);
            (matches!(here.state, State::Plain) && self.has_unseen_base(here.class)).then_some(object)
        };
        let held: Vec<ObjId> =
            self.heap.get(module).attrs.iter().filter_map(|(_, value)| unseen(value)).collect();
        for object in held {
            let parts: Vec<Value> =
                self.heap.get(object).attrs.iter().map(|(_, value)| value.clone()).collect();
            for (index, part) in parts.iter().enumerate() {
                match part.bare() {
                    Value::Obj(_) => self.for_each_part(part, |module| module.device = Device::Unknown),
                    Value::Tensor(tensor) if tensor.is_parameter() => {
                        let tensor = Tensor { device: Device::Unknown, ..(**tensor).clone() };
                        self.heap.get_mut(object).attrs[index].1 = Value::tensor(tensor);
                    }
                    _ => {}
                }
            }
        }
    }

    /// `layer.weight.data = other.weight.data`: what holds the data is where they are from here on, and of their dtype.
    pub(super) fn given_other_data(&mut self, holder: ExprId, before: &Value, data: &Value) {
        if let (Value::Tensor(before), Value::Tensor(data)) = (before, data) {
            return self.holds_other_data(holder, before, data);
        }
        if let (Value::Params(_), Value::Tensor(data)) = (before.bare(), data.bare()) {
            return self.refilled(before, data);
        }
        let ExprKind::Attribute { base, .. } = self.here().expr(holder).kind else { return };
        let layer = self.quietly(|interp| interp.eval(base));
        if before.is_unknown() {
            self.for_each_part(&layer, |module| {
                module.device = Device::Unknown;
                module.refilled = true;
            });
        }
        if let Some(layer) = layer.as_obj() {
            self.given_other_weights(layer, data);
        }
    }

    /// `for p in model.parameters(): p.data = ...`: whichever of them it is, what is known of the rest is not known of it.
    fn refilled(&mut self, params: &Value, data: &Tensor) {
        self.for_each_part(params, |module| {
            module.dtype = module.dtype.filter(|dtype| data.dtype.is_none_or(|other| other == *dtype));
            if data.device != Device::Unknown && data.device != module.device {
                module.device = Device::Unknown;
            }
        });
    }

    /// The weights of a layer are of the dtype of what took their place, and where that is; those of another layer are
    /// trained with it.
    pub(super) fn given_other_weights(&mut self, layer: ObjId, data: &Value) {
        let tensor = data.as_tensor();
        let dtype = tensor.and_then(|tensor| tensor.dtype);
        let is_shared = matches!(data.bare(), Value::Params(_));
        let is_elsewhere = |from: Device| {
            tensor.is_some_and(|tensor| tensor.device != Device::Unknown && tensor.device != from)
        };
        for layer in self.heap.stands_for(layer).iter() {
            let Some(module) = self.heap.get(layer).module() else { continue };
            let is_cast = module.weights != Learned::Nothing && module.dtype != dtype;
            let is_moved = is_elsewhere(module.device);
            if (is_cast || is_shared || is_moved)
                && let State::Module(module) = &mut self.heap.get_mut(layer).state
            {
                module.dtype = module.dtype.filter(|_| !is_cast);
                module.frozen = module.frozen.filter(|_| !is_shared);
                // A bias beside it is where it was.
                if is_moved {
                    module.device = Device::Unknown;
                }
            }
        }
    }

    /// `x.data = x.data.cuda()`: the tensor itself is moved, and whoever has it has it there.
    fn holds_other_data(&mut self, holder: ExprId, before: &Tensor, data: &Tensor) {
        if before.device == data.device && before.dtype == data.dtype && before.shape == data.shape {
            return;
        }
        if !matches!(self.here().expr(holder).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        let held = Tensor {
            shape: data.shape.clone(),
            last: data.last.clone(),
            dtype: data.dtype,
            device: data.device,
            device_origin: data.device_origin,
            ..before.clone()
        };
        self.assign(holder, Value::tensor(held));
    }

    fn place_tensors(&mut self, object: ObjId, to: impl Fn(Device) -> Device) {
        let here = self.heap.get(object);
        let along: Vec<usize> = (0..here.attrs.len())
            .filter(|index| {
                here.module().is_none() || moves_along(here, here.attrs[*index].0, &here.attrs[*index].1)
            })
            .collect();
        for index in along {
            if let Some(moved) = on(&self.heap.get(object).attrs[index].1, &to) {
                self.heap.get_mut(object).attrs[index].1 = moved;
            }
        }
    }

    /// An instance that the script does not make itself: whoever makes it may move what starts on the CPU.
    pub(super) fn leave_places_open(&mut self, value: &Value) {
        let open = |device: Device| if device == Device::Cpu { Device::Unknown } else { device };
        let mut found = ObjSet::default();
        let mut next: Vec<(ObjId, usize)> = value.as_obj().into_iter().map(|object| (object, 0)).collect();
        while let Some((object, depth)) = next.pop() {
            if found.contains(object) || depth > REACH {
                continue;
            }
            found.insert(object);
            if let State::Module(_) = self.heap.get(object).state
                && let State::Module(module) = &mut self.heap.get_mut(object).state
            {
                module.device = open(module.device);
            }
            let settled = self.settles_places(object);
            for index in 0..self.heap.get(object).attrs.len() {
                let (_, value) = &self.heap.get(object).attrs[index];
                match value.bare() {
                    Value::Tensor(tensor) if tensor.device == Device::Cpu => {
                        if let Some(opened) = on(value, open) {
                            self.heap.get_mut(object).attrs[index].1 = opened;
                        }
                    }
                    Value::Obj(child) if settled.contains(&index) => found.insert(*child),
                    Value::Obj(child)
                        if !matches!(self.heap.get(*child).state, State::Class(_) | State::Frame) =>
                    {
                        next.push((*child, depth + 1));
                    }
                    _ => {}
                }
            }
            next.extend(self.listed(object).into_iter().map(|child| (child, depth + 1)));
        }
    }

    /// Whether a model, or one that it is a part of, is where the instance that is at work has left it.
    pub(crate) fn is_settled(&self, model: ObjId) -> bool {
        let mut at_work = self.frames.iter().filter_map(|frame| frame.receiver.as_ref()?.as_obj());
        at_work.any(|object| {
            let attrs = &self.heap.get(object).attrs;
            let mut settled =
                self.settles_places(object).into_iter().filter_map(|index| attrs[index].1.as_obj());
            settled.any(|whole| self.descendants(whole).contains(model))
        })
    }

    /// The models that an instance made, which are where it has left them: it knows the device that it works on, so
    /// nobody else moves them, and its own methods do not.
    fn settles_places(&self, object: ObjId) -> Vec<usize> {
        let here = self.heap.get(object);
        let knows = |value: &Value| matches!(value, Value::Device(device, _) if device.is_gpu());
        let ClassRef::Project(class) = here.class else { return Vec::new() };
        if here.module().is_some() || !here.attrs.iter().any(|(_, value)| knows(value)) {
            return Vec::new();
        }
        let State::Class(state) = &self.heap.get(class).state else { return Vec::new() };
        let relations = self.module(state.file).relations();
        let is_moved = |name: Ustr| {
            relations
                .acts_of(Subject::Own(state.class, name))
                .any(|act| act.method.is_some_and(|it| self.puts(it)))
        };
        let is_own = |value: &Value| {
            let child = value.as_obj().map(|child| (child, self.heap.get(child)));
            child.is_some_and(|(child, held)| held.module().is_some() && child.0 > object.0)
        };
        let settled =
            here.attrs.iter().enumerate().filter(|(_, (name, value))| is_own(value) && !is_moved(*name));
        settled.map(|(index, _)| index).collect()
    }

    fn listed(&self, object: ObjId) -> Vec<ObjId> {
        let here = self.heap.get(object);
        let mut all: Vec<ObjId> = match &here.state {
            State::List(items) => {
                items.exact.iter().flatten().chain([&items.any]).filter_map(Value::as_obj).collect()
            }
            State::Dict(entries) => entries.known.iter().filter_map(|(_, value)| value.as_obj()).collect(),
            State::Module(module) => module.parts.to_vec(),
            _ => Vec::new(),
        };
        all.retain(|child| !matches!(self.heap.get(*child).state, State::Class(_) | State::Frame));
        all
    }

    /// The device a constructor is told, or the one in force around it.
    pub(super) fn device_in_force(&mut self, call: &Invocation) -> Device {
        if call.is_given("device") {
            let device = call.get("device");
            if !matches!(device, Value::None) {
                return transfer::device_of(self, &device);
            }
        } else if call.open || !call.api.params.iter().any(|param| param.name == "device") {
            // Frameworks without the parameter place tensors where they see fit.
            return Device::Unknown;
        }
        let context = self.ambient.contexts.iter().rev().find_map(|context| match context {
            ContextKind::Device(device) => Some(*device),
            _ => None,
        });
        context.unwrap_or(self.ambient.device)
    }
}

/// A tensor on another device, and as sure to be there as it was.
fn on(value: &Value, to: impl Fn(Device) -> Device) -> Option<Value> {
    let tensor = value.as_tensor()?;
    let moved = Value::tensor(Tensor { device: to(tensor.device), ..(**tensor).clone() });
    Some(if matches!(value, Value::Maybe(_)) { Value::Maybe(Rc::new(moved)) } else { moved })
}

/// The GPU that an entry goes to when its call does not say to which (`x.cuda(index)`).
pub(super) fn own_gpu(call: &Invocation) -> Option<Device> {
    let param = call.api.params.iter().find(|param| param.name == "device")?;
    match &param.default {
        Some(Literal::Str(name)) => Some(Device::named(name)).filter(|device| device.is_gpu()),
        _ => None,
    }
}

/// Whether an attribute is a tensor that moves with its module: a parameter, a registered buffer, or one
/// that a framework's module was made with.
pub(super) fn moves_along(object: &Object, name: Ustr, value: &Value) -> bool {
    let (Some(module), Some(tensor)) = (object.module(), value.as_tensor()) else { return false };
    let of_framework = matches!(object.class, ClassRef::Api(_));
    of_framework || module.buffers.contains(&name) || tensor.is_parameter()
}

/// The tensors that a call is given, alone, in tuples, or as one of `*items` and `**items`.
pub(crate) fn given_tensors(call: &Call) -> Vec<Rc<Tensor>> {
    let mut all = Vec::new();
    let each = call.each.as_ref().map(|items| &items.any);
    call.values().chain(each).for_each(|value| collect_tensors(value, &mut all));
    all
}

pub(crate) fn collect_tensors(value: &Value, all: &mut Vec<Rc<Tensor>>) {
    match value {
        Value::Tensor(tensor) => all.push(tensor.clone()),
        Value::Tuple(items) => items.iter().for_each(|item| collect_tensors(item, all)),
        _ => {}
    }
}
