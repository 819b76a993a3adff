//! Calls of the frameworks: what the tables say of them is done to the heap and written into the trace.

use super::{Call, Interp, Invocation, Passed, python, transfer};
use crate::apis::{Api, Context, Expects, Literal, Operand, RangeSpec, Role, Verb};
use crate::report::{Confidence, Place};
use crate::trace::{Effect, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What entering a context changed.
pub(super) struct Entered {
    pub target: Value,
    before: Option<Before>,
    /// A class of the project with `__exit__`.
    exit: Option<Value>,
}

/// What was in force before a context.
pub(super) struct Before {
    grad: Option<bool>,
    contexts: usize,
}

/// Transfers that put numbers where they were not before.
const PLACING: [&str; 10] = [
    "arange",
    "as-tensor",
    "factory",
    "factory-like",
    "from-data",
    "legacy-tensor",
    "new-factory",
    "place",
    "randint",
    "to",
];

impl<'p> Interp<'p> {
    pub(super) fn call_api(&mut self, name: Ustr, call: &Call) -> Value {
        // What is known exactly of the language's own functions goes before what a table says.
        if python::is_modelled(&name)
            && let Some(value) = python::call(self, &name, call)
        {
            return value;
        }
        let apis = self.apis;
        let Some(api) = apis.get(name) else { return self.call_outside(name, call) };
        if api.class.is_some() {
            return self.construct(api, call);
        }
        let is_value = matches!(api.context, Some(Context::Device(_))) && api.gives.is_some();
        if matches!(api.context, Some(ref context) if *context != Context::Result) && !is_value {
            self.effects(api, &Invocation::bind(api, call));
            return self.context_object(api, call);
        }
        let invocation = Invocation::bind(api, call);
        self.apply(api, &invocation)
    }

    pub(super) fn call_api_method(&mut self, name: Ustr, receiver: &Value, call: &Call) -> Value {
        let apis = self.apis;
        let Some(api) = apis.get(name) else { return Value::Unknown };
        let call = call.with_first(receiver.clone());
        if matches!(api.context, Some(ref context) if *context != Context::Result) {
            return self.context_object(api, &call);
        }
        let invocation = Invocation::bind(api, &call);
        self.apply(api, &invocation)
    }

    /// The standard library, or a package that the tables do not know.
    fn call_outside(&mut self, name: Ustr, call: &Call) -> Value {
        if let Some(value) = python::call(self, &name, call) {
            return value;
        }
        let package = Ustr::from(name.split('.').next().unwrap_or(&name));
        if !self.apis.is_pure(package) && !python::is_known_name(name) {
            self.havoc(call);
        }
        Value::Unknown
    }

    /// Effects, then the result with its range and mark, then what is worth writing down.
    pub(super) fn apply(&mut self, api: &'p Api, call: &Invocation) -> Value {
        self.effects(api, call);
        let value = self.given(api, call);
        let value = self.finish(api, call, value);
        self.note_loss(api, call);
        value
    }

    fn given(&mut self, api: &'p Api, call: &Invocation) -> Value {
        let Some(apply) = call.gives else { return Value::Unknown };
        match apply.verb.as_str() {
            "parameters" => self.parameters(&call.nth(0)),
            "named-parameters" => {
                let params = self.parameters(&call.nth(0));
                self.list_of(call.place, Value::tuple(vec![Value::Str(None), params]))
            }
            "children" => self.children(call, false),
            "named-children" => self.children(call, true),
            "state-dict" => self.dict(call.place, Entries { known: Vec::new(), other: Some(Value::Unknown) }),
            "moved" => self.moved(call),
            "wrap" => self.wrap(call),
            "managed" => self.managed(call),
            "sequential" => Value::Unknown,
            "modules" | "named-modules" => {
                let parts = call
                    .nth(0)
                    .as_obj()
                    .map(|object| self.descendants(object).iter().map(Value::Obj).collect());
                self.module_list(call, parts.unwrap_or_default(), apply.verb == "named-modules")
            }
            "loader" => self.loader(api, call),
            "opaque-module" | "instance" => Value::Obj(self.made_elsewhere(call.place)),
            "managed-device" => on_device(&call.nth(0), Device::Accelerator),
            "managed-device-name" => Value::Device(Device::Accelerator),
            "managed-first" | "managed-pair" => self.managed_several(call),
            "module-optimizers" => self.module_optimizers(call),
            "call-result" => {
                let args = match call.nth(1) {
                    Value::Tuple(items) => items.to_vec(),
                    Value::Unknown => Vec::new(),
                    one => vec![one],
                };
                self.call_value(&call.nth(0), &Call::with(call.place, args))
            }
            "copy-module" | "deep-copy" => self.by_the_language("copy.deepcopy", call),
            "range" => self.by_the_language("range", call),
            "keras-weight" => self.parameter(call),
            "enumerate" | "iterable" | "zip" => self.iterable(apply.verb.as_str(), call),
            "gradients" => self.gradients(call),
            "grad" => Value::Unknown,
            "parameter" => self.parameter(call),
            "compose" | "dataset-rows" | "dataset-slices" | "dataset-batch" | "dataset-map"
            | "dataset-same" | "take-samples" | "dataset-arrays" | "dataset-skip" | "dataset-take"
            | "tensor-dataset" | "split-dataset" | "concat-datasets" | "keras-input" | "keras-model"
            | "keras-sequential" | "activation-layer" => self.dataset_or_model(apply.verb.as_str(), call),
            "dict-of" => self.dict(call.place, Entries { known: Vec::new(), other: Some(Value::Unknown) }),
            verb => transfer::apply(self, verb, call),
        }
    }

    /// Range, mark and place of a result.
    fn finish(&mut self, api: &'p Api, call: &Invocation, value: Value) -> Value {
        let Value::Tensor(tensor) = &value else { return value };
        let inputs = call.nth_tensor(0);
        let passed_on = inputs.as_ref().is_some_and(|input| Rc::ptr_eq(input, tensor));
        let mut tensor = (**tensor).clone();
        if let Some(range) = &api.range {
            tensor.range = transfer::range(range, call);
        }
        if let Some(mark) = api.mark {
            tensor.mark = Some((mark, call.place));
        }
        let renews = api.range.is_some() || api.mark.is_some() || tensor.made.is_none();
        if !passed_on && renews {
            tensor.what = Some(api.name);
            tensor.made = Some(call.place);
            tensor.born = self.epoch;
        }
        if tensor.device.is_gpu() {
            self.note_resident(api, inputs.as_deref(), &tensor, call.place);
        }
        let value = Value::tensor(tensor);
        let Some(RangeSpec::Of(apply)) = &api.range else { return value };
        let divisor = match apply.verb.as_str() {
            "div" => 1,
            "reciprocal" => 0,
            _ => return value,
        };
        let operand = |index: usize| apply.args.get(index).map_or(Value::Unknown, |arg| call.operand(arg));
        let above = if divisor == 0 { Value::Unknown } else { operand(0) };
        let place = match apply.args.get(divisor) {
            Some(Operand::Param(name)) => call.place_of(name).unwrap_or(call.place),
            _ => call.place,
        };
        self.note_division(&above, &operand(divisor), place, value)
    }

    /// A tensor of known size that comes to the GPU here.
    fn note_resident(&mut self, api: &Api, before: Option<&Tensor>, tensor: &Tensor, place: Place) {
        let was_there = before.is_some_and(|before| before.device.is_gpu());
        let places = api.gives.as_ref().is_some_and(|gives| PLACING.contains(&gives.verb.as_str()));
        if was_there || !places || tensor.bytes().is_none() || tensor.is_leaf {
            return;
        }
        let how = Rc::from(api.name.as_str());
        let made = before.and_then(|before| before.made).or(tensor.made);
        let tensor = Rc::new(Tensor { made, ..tensor.clone() });
        let confidence = tensor.confidence;
        self.see(place, Sight::Resident { tensor, how }, confidence);
    }

    fn note_loss(&mut self, api: &'p Api, call: &Invocation) {
        let Some(loss) = &api.loss else { return };
        let input = call.get(&loss.input);
        let target = call.get(&loss.target);
        if let (Some(a), Some(b)) = (input.as_tensor(), target.as_tensor()) {
            let (a, b) = (a.clone(), b.clone());
            self.meet_whole(&a, &b, call.place, ["the input of this loss", "its target"]);
        }
        let expects = self.expectation(&loss.expects, call);
        let input_place = call.place_of(&loss.input).unwrap_or(call.place);
        let confidence = input.as_tensor().map_or(Confidence::High, |tensor| tensor.confidence);
        let sight = Sight::Loss { loss: api.name, expects, input, input_place, target };
        self.see(call.place, sight, confidence);
    }

    /// What a loss expects of its input, once its own arguments are known.
    pub(super) fn expectation(&mut self, expects: &Expects, call: &Invocation) -> Expects {
        let flag = |interp: &mut Self, name: &Ustr| interp.truth(&call.get(name));
        match expects {
            Expects::LogitsIf(name) => match flag(self, name) {
                Some(true) => Expects::Logits,
                Some(false) => Expects::Probabilities,
                None => Expects::Anything,
            },
            Expects::BinaryLogitsIf(name) => match flag(self, name) {
                Some(true) => Expects::BinaryLogits,
                Some(false) => Expects::Probabilities,
                None => Expects::Anything,
            },
            other => *other,
        }
    }

    fn effects(&mut self, api: &'p Api, call: &Invocation) {
        for effect in &api.effects {
            let arg = |index: usize| effect.args.get(index).map_or(Value::None, |arg| call.operand(arg));
            match effect.verb {
                Verb::Backward => {
                    let gradient = effect.args.get(1).is_some_and(|arg| match arg {
                        Operand::Param(name) => !matches!(call.get(name), Value::None),
                        Operand::Literal(_) => false,
                    });
                    self.backward(&arg(0), call, gradient);
                }
                Verb::Step => self.step(&arg(0), &arg(1), call),
                Verb::Clear => self.clear(&arg(0), call.place),
                Verb::Train => {
                    let mode = match self.truth(&arg(1)) {
                        Some(true) => Mode::Train,
                        Some(false) => Mode::Eval,
                        None if effect.args.len() < 2 => Mode::Train,
                        None => Mode::Unknown,
                    };
                    // Without a second operand the first alone says it.
                    let mode = if effect.args.len() < 2 { Mode::Train } else { mode };
                    self.for_each_part(&arg(0), |module| module.mode = mode);
                }
                Verb::Eval => self.for_each_part(&arg(0), |module| module.mode = Mode::Eval),
                Verb::RequiresGrad => self.requires_grad(&arg(0), &arg(1), call.place),
                Verb::Move => {
                    let device = transfer::device_of(self, &arg(1));
                    self.place_parts(&arg(0), device);
                }
                Verb::Call => {
                    let args: Vec<Value> = (1..effect.args.len()).map(arg).collect();
                    self.call_back(&arg(0), args, call.place);
                }
                Verb::Fit => self.fit(call, &effect.args),
                Verb::Compile => self.compile(&arg(0), &arg(1), &arg(2)),
                Verb::AddLayer => self.add_layer(&arg(0), &arg(1)),
                Verb::DefaultDevice => {
                    // On one of several ways it may or may not hold from here on.
                    let tentative = self.heap.is_tentative();
                    let device = if tentative { Device::Unknown } else { transfer::device_named(&arg(0)) };
                    self.default_device = device;
                }
                Verb::GradMode => self.grad = self.truth(&arg(0)),
                Verb::Walk => self.walk(&arg(0)),
                Verb::AddParams => self.add_params(&arg(0), &arg(1)),
                Verb::Spawn => {
                    let mut args = match arg(1) {
                        Value::Tuple(items) => items.to_vec(),
                        _ => Vec::new(),
                    };
                    args.insert(0, Value::of_int(Int::Unknown));
                    self.call_back(&arg(0), args, call.place);
                }
                Verb::Zero => {
                    if let Value::Grad(owners) = arg(0) {
                        self.event(
                            call.place,
                            Effect::Clear { targets: (*owners).clone(), whole: true },
                            Confidence::High,
                        );
                    }
                }
                Verb::Register => {
                    if let (Some(object), Some(name)) = (arg(0).as_obj(), arg(1).as_str().map(Ustr::from)) {
                        self.heap.get_mut(object).set_attr(name, arg(2));
                        if let State::Module(module) = &mut self.heap.get_mut(object).state {
                            module.buffers.push(name);
                        }
                    }
                }
                Verb::Detach => {}
                Verb::Unknown => {
                    let target = arg(0);
                    self.havoc(&Call::with(call.place, [target]));
                }
            }
        }
    }

    fn step(&mut self, optimizer: &Value, closure: &Value, call: &Invocation) {
        if matches!(closure.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
            // The optimizer runs its closure, with gradients on, as often as it likes.
            let grad = self.grad.replace(true);
            self.call_value(closure, &Call::new(call.place));
            self.grad = grad;
        }
        let Some(object) = optimizer.as_obj() else { return };
        if self.heap.get(object).optimizer().is_some() {
            let confidence = self.heap.get(object).confidence;
            self.event(call.place, Effect::Step { optimizer: object }, confidence);
        } else {
            self.havoc(&Call::with(call.place, [optimizer.clone()]));
        }
    }

    fn clear(&mut self, target: &Value, place: Place) {
        let params = self.collect_params(target, 3);
        let mut targets = params.owners.clone();
        let mut whole = params.whole;
        if let Some(object) = target.as_obj()
            && let Some(optimizer) = self.heap.get(object).optimizer()
        {
            targets = optimizer.owns.clone();
            targets.insert(object);
            whole = true;
        }
        if targets.is_empty() {
            // Something is cleared, and it may be anything.
            self.event(place, Effect::Clear { targets, whole: false }, Confidence::High);
            return;
        }
        self.event(place, Effect::Clear { targets, whole }, Confidence::High);
    }

    fn requires_grad(&mut self, target: &Value, flag: &Value, place: Place) {
        let frozen = self.truth(flag).map(|learns| !learns);
        match target.bare() {
            Value::Params(params) => {
                let params = params.clone();
                self.set_params_attr(&params, Ustr::from("requires_grad"), flag, place);
            }
            Value::Obj(_) => self.for_each_part(target, |module| module.frozen = frozen),
            _ => {}
        }
    }

    /// The graph is walked, and nothing accumulates.
    fn walk(&mut self, outputs: &Value) {
        let mut reached = ObjSet::default();
        self.reach(outputs, &mut reached, 2);
        if let Some(tensor) = outputs.as_tensor()
            && let Graph::Live(nodes) = &tensor.graph
        {
            self.out.walked = self.out.walked.union(&nodes.leaves);
        }
    }

    fn add_params(&mut self, optimizer: &Value, group: &Value) {
        let Some(object) = optimizer.as_obj() else { return };
        let more = self.collect_params(group, 4);
        if let State::Optimizer(state) = self.heap.get(object).state.clone() {
            let owns = state.owns.union(&more.owners);
            let others = state.others || more.others;
            self.heap.get_mut(object).state = State::Optimizer(OptimizerState { owns, others, ..state });
        }
    }

    /// Calls a callback, which may be run at any time.
    fn call_back(&mut self, callback: &Value, args: Vec<Value>, place: Place) {
        if matches!(callback.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
            self.call_value(callback, &Call::with(place, args));
        }
    }

    fn construct(&mut self, api: &'p Api, call: &Call) -> Value {
        let invocation = Invocation::bind(api, call);
        self.effects(api, &invocation);
        let Some(class) = api.class.as_ref() else { return Value::Unknown };
        if let Some(makes) = &class.makes {
            let invocation = invocation.applying(makes);
            let value = self.given(api, &invocation);
            return self.finish_made(api, &invocation, value);
        }
        let role = self.apis.role(api.name);
        let state = match role {
            Some(Role::Module) => State::Module(ModuleState {
                weights: match self.weights(api, &invocation) {
                    // `Sequential(*layers)` of layers that are not known one by one.
                    Learned::Nothing if invocation.open => Learned::Opaque,
                    weights => weights,
                },
                device: self.device_in_force(&invocation),
                frozen: Some(false),
                ..ModuleState::default()
            }),
            Some(Role::Optimizer) => {
                let params = invocation.get(api.params.first().map_or("params", |param| param.name.as_str()));
                State::Optimizer(self.optimizer_state(&params))
            }
            Some(Role::Loader) => return self.loader(api, &invocation),
            Some(Role::Tensor) => {
                return Value::tensor(Tensor { made: Some(call.place), ..Tensor::default() });
            }
            _ => State::Plain,
        };
        let object = self.alloc(call.place, ClassRef::Api(api.name), state);
        self.made(call.place, object);
        self.keep_arguments(object, api, &invocation);
        Value::Obj(object)
    }

    /// Values that a constructor makes instead of an instance keep the range and place of the entry.
    fn finish_made(&mut self, api: &'p Api, call: &Invocation, value: Value) -> Value {
        let Value::Tensor(tensor) = &value else { return value };
        let mut tensor = (**tensor).clone();
        tensor.what = Some(api.name);
        tensor.made = Some(call.place);
        Value::tensor(tensor)
    }

    /// Arguments of a constructor are attributes of what it makes; children by their number.
    pub(super) fn keep_arguments(&mut self, object: ObjId, api: &Api, call: &Invocation) {
        for param in &api.params {
            if call.is_given(&param.name) || param.default.is_some() {
                let value = call.get(&param.name);
                self.heap.get_mut(object).set_attr(param.name, value);
            }
        }
        let mut children = call.rest.clone();
        if self.heap.get(object).module().is_some() {
            for param in &api.params {
                let value = call.get(&param.name);
                children.extend(self.module_items(&value, call.place));
            }
        }
        for (index, child) in children.into_iter().enumerate() {
            self.heap.get_mut(object).set_attr(Ustr::from(&index.to_string()), child);
        }
    }

    /// The modules in an argument that is a list or a dict of them.
    fn module_items(&mut self, value: &Value, place: Place) -> Vec<Value> {
        let Some(object) = value.as_obj() else { return Vec::new() };
        let items = match &self.heap.get(object).state {
            State::List(_) => self.iterate(value, place),
            State::Dict(entries) => {
                Items::exact(entries.known.iter().map(|(_, value)| value.clone()).collect())
            }
            _ => return Vec::new(),
        };
        let items = match items.exact {
            Some(exact) => exact,
            None => vec![items.any],
        };
        let is_module =
            |value: &Value| value.as_obj().is_some_and(|object| self.heap.get(object).module().is_some());
        if items.iter().all(is_module) { items } else { Vec::new() }
    }

    fn children(&mut self, call: &Invocation, named: bool) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        let is_module =
            |value: &&Value| value.as_obj().is_some_and(|child| self.heap.get(child).module().is_some());
        let parts =
            self.heap.get(object).attrs.iter().map(|(_, value)| value).filter(is_module).cloned().collect();
        self.module_list(call, parts, named)
    }

    /// A list of modules, or of pairs with their names.
    fn module_list(&mut self, call: &Invocation, parts: Vec<Value>, named: bool) -> Value {
        let parts = if named {
            parts.into_iter().map(|part| Value::tuple(vec![Value::Str(None), part])).collect()
        } else {
            parts
        };
        if parts.is_empty() { self.list_of(call.place, Value::Unknown) } else { self.list(call.place, parts) }
    }

    /// `DataParallel(model)`, `torch.compile(model)`: the same parameters, called through a wrapper.
    fn wrap(&mut self, call: &Invocation) -> Value {
        let inner = call.nth(0);
        let Some(object) = inner.as_obj().filter(|object| self.heap.get(*object).module().is_some()) else {
            return inner;
        };
        if call.gives.is_some_and(|apply| apply.args.len() > 2) {
            self.place_parts(&inner, transfer::device_named(&call.nth(2)));
        }
        let state = self.heap.get(object).module().cloned().unwrap_or_default();
        let class = self.heap.get(object).class;
        // A second operand says to which devices the wrapper moves its inputs.
        let scatters = match call.gives.map_or(0, |apply| apply.args.len()) {
            0 | 1 => state.scatters,
            _ => !matches!(call.nth(1), Value::None),
        };
        let parts = [object].into_iter().collect();
        let wrapper = ModuleState { weights: Learned::Nothing, parts, scatters, ..state };
        let outer = self.alloc(call.place, class, State::Module(wrapper));
        // The wrapper answers like the module itself, and has it as `.module`.
        let attrs = self.heap.get(object).attrs.clone();
        let wrapper = self.heap.get_mut(outer);
        wrapper.attrs = attrs;
        wrapper.set_attr(Ustr::from("module"), Value::Obj(object));
        Value::Obj(outer)
    }

    /// Values in an engine's care: it places them, and decides when steps are real.
    fn managed(&mut self, call: &Invocation) -> Value {
        let mut values: Vec<Value> = call.rest.clone();
        if values.is_empty() {
            values = match call.nth(0) {
                Value::Tuple(items) => items.to_vec(),
                Value::Unknown if call.open => return Value::Unknown,
                other => vec![other],
            };
        }
        values.iter().for_each(|value| self.manage(value));
        match values.as_slice() {
            [one] => one.clone(),
            _ => Value::tuple(values),
        }
    }

    /// Takes one value into an engine's care.
    fn manage(&mut self, value: &Value) {
        if let Some(object) = value.as_obj() {
            match self.heap.get(object).state.clone() {
                State::Module(_) => {
                    self.for_each_part(value, |module| module.managed = true);
                    self.place_parts(value, Device::Accelerator);
                }
                State::Optimizer(state) => {
                    self.heap.get_mut(object).state =
                        State::Optimizer(OptimizerState { managed: true, ..state });
                }
                State::Loader(state) => {
                    let batch = on_device(&state.batch, Device::Accelerator);
                    let loader = LoaderState { managed: true, batch, ..(*state).clone() };
                    self.heap.get_mut(object).state = State::Loader(Rc::new(loader));
                }
                _ => {}
            }
        }
    }

    /// Several values that an engine takes in one call, given back as a tuple.
    fn managed_several(&mut self, call: &Invocation) -> Value {
        let count = call.gives.map_or(0, |apply| apply.args.len());
        let mut values = Vec::new();
        for index in 0..count {
            match call.nth(index) {
                Value::Tuple(items) => values.extend(items.iter().cloned()),
                Value::None => {}
                other => values.push(other),
            }
        }
        values.iter().for_each(|value| self.manage(value));
        match values.as_slice() {
            [one] => one.clone(),
            _ => Value::tuple(values),
        }
    }

    /// The optimizers that a module says it is trained with.
    fn module_optimizers(&mut self, call: &Invocation) -> Value {
        let receiver = call.nth(0);
        let Some(object) = receiver.as_obj() else { return Value::Unknown };
        let name = Ustr::from("configure_optimizers");
        let Some(Value::Function(closure)) = self.find_attr(object, name) else { return Value::Unknown };
        let made = self.inline(&closure, Some(&receiver), &Call::new(call.place));
        match &made {
            // Optimizers and schedulers.
            Value::Tuple(items) => match items.first() {
                Some(first) if first.as_obj().is_some_and(|o| self.heap.get(o).optimizer().is_none()) => {
                    first.clone()
                }
                _ => made,
            },
            _ => match made.as_obj().map(|object| self.heap.get(object).state.clone()) {
                Some(State::Dict(entries)) => {
                    entries.get(&Key::Str(Rc::from("optimizer"))).cloned().unwrap_or_default()
                }
                _ => made,
            },
        }
    }

    fn by_the_language(&mut self, name: &str, call: &Invocation) -> Value {
        let call = Call::with(
            call.place,
            (0..call.api.params.len()).map(|index| call.nth(index)).filter(|v| !v.is_unknown()),
        );
        python::call(self, name, &call).unwrap_or_default()
    }

    /// A model whose layers we do not see, fresh from a framework.
    fn made_elsewhere(&mut self, place: Place) -> ObjId {
        let class = self.apis.class_of(Role::Module).map_or(ClassRef::Builtin, ClassRef::Api);
        let state = ModuleState { weights: Learned::Opaque, mode: Mode::Unknown, ..ModuleState::default() };
        let object = self.alloc(place, class, State::Module(state));
        self.made(place, object);
        object
    }

    fn iterable(&mut self, verb: &str, call: &Invocation) -> Value {
        let inner = call.nth(0);
        if verb == "iterable" {
            return match inner {
                Value::Unknown | Value::None => Value::Unknown,
                inner => self.wrapped_iterable(&inner, call.place),
            };
        }
        let call = Call::with(call.place, call.rest.iter().cloned().chain([inner]).collect::<Vec<_>>());
        python::call(self, verb, &call).unwrap_or_default()
    }

    /// Gradients as values; the entry's effects say that the graph is walked.
    fn gradients(&mut self, call: &Invocation) -> Value {
        let Some(tensor) = call.nth_tensor(0) else { return Value::Unknown };
        // With `create_graph` the gradients have a graph themselves.
        let graph = match self.truth(&call.nth(2)) {
            Some(false) => Graph::None,
            _ => tensor.graph.clone(),
        };
        Value::tuple(vec![Value::tensor(Tensor { graph, device: tensor.device, ..Tensor::default() })])
    }

    /// `nn.Parameter(data)`: a leaf of its own.
    fn parameter(&mut self, call: &Invocation) -> Value {
        let data = call.nth_tensor(0);
        let learns = self.truth(&call.nth(1)) != Some(false);
        let class = self.apis.class_of(Role::Parameter).map_or(ClassRef::Builtin, ClassRef::Api);
        let state =
            ModuleState { weights: Learned::Own(None), frozen: Some(!learns), ..ModuleState::default() };
        let object = self.alloc(call.place, class, State::Module(state));
        self.made(call.place, object);
        let base = data.map_or_else(Tensor::default, |data| (*data).clone());
        let graph = if learns { Graph::leaf(object, u32::MAX) } else { Graph::None };
        Value::tensor(Tensor {
            graph,
            is_leaf: true,
            is_array: false,
            source: Source::Parameter,
            learned: learns,
            // Where it starts is far from where it would be wrong, as a rule.
            range: base.range.filter(|_| !learns),
            mark: None,
            ..base
        })
    }

    fn context_object(&mut self, api: &'p Api, call: &Call) -> Value {
        let invocation = Invocation::bind(api, call);
        let object = self.alloc(call.place, ClassRef::Api(api.name), State::Plain);
        self.keep_arguments(object, api, &invocation);
        Value::Obj(object)
    }

    /// The context that a value stands for: `None` when it is none, `Some(None)` when it changes nothing.
    pub(super) fn context_of(&mut self, value: &Value) -> Option<Option<ContextKind>> {
        let apis = self.apis;
        let (api, object) = match value.bare() {
            Value::Device(device) => return Some(Some(ContextKind::Device(*device))),
            Value::Api(name) => (apis.get(*name)?, None),
            Value::Obj(object) => match self.heap.get(*object).class {
                ClassRef::Api(name) => (apis.get(name)?, Some(*object)),
                _ => return None,
            },
            _ => return None,
        };
        let operand = |interp: &Self, operand: &Operand| match operand {
            Operand::Param(name) => {
                object.and_then(|object| interp.heap.attr(object, *name).cloned()).unwrap_or_default()
            }
            Operand::Literal(Literal::Bool(flag)) => Value::Bool(Some(*flag)),
            Operand::Literal(other) => super::invocation::literal(other),
        };
        Some(match api.context.as_ref()? {
            Context::NoGrad => Some(ContextKind::NoGrad),
            Context::EnableGrad => Some(ContextKind::EnableGrad),
            Context::SetGrad(flag) => {
                let flag = operand(self, flag);
                Some(match self.truth(&flag) {
                    Some(true) => ContextKind::EnableGrad,
                    Some(false) => ContextKind::NoGrad,
                    None => ContextKind::UnknownGrad,
                })
            }
            Context::Accumulate => Some(ContextKind::Accumulate),
            Context::Device(device) => {
                let device = operand(self, device);
                Some(ContextKind::Device(transfer::device_of(self, &device)))
            }
            Context::Transparent | Context::Result => None,
        })
    }

    pub(super) fn is_same_context(&mut self, a: &Value, b: &Value) -> bool {
        let kind = self.context_of(a);
        kind.is_some() && kind == self.context_of(b)
    }

    pub(super) fn push_context(&mut self, kind: ContextKind) -> Before {
        let before = Before { grad: self.grad, contexts: self.contexts.len() };
        match kind {
            ContextKind::NoGrad => self.grad = Some(false),
            ContextKind::EnableGrad => self.grad = Some(true),
            ContextKind::UnknownGrad => self.grad = None,
            ContextKind::Accumulate | ContextKind::Device(_) => self.contexts.push(kind),
        }
        before
    }

    pub(super) fn pop_context(&mut self, before: Before) {
        self.grad = before.grad;
        self.contexts.truncate(before.contexts);
    }

    pub(super) fn enter(&mut self, value: &Value, place: Place) -> Entered {
        if let Some(kind) = self.context_of(value) {
            let before = kind.map(|kind| self.push_context(kind));
            return Entered { target: value.clone(), before, exit: None };
        }
        if let Some(object) = value.as_obj()
            && let Some(method) = self.find_attr(object, Ustr::from("__enter__"))
        {
            let bound = self.bind(value, &method, Ustr::from("__enter__"), place);
            let target = self.call_value(&bound, &Call::new(place));
            let exit = self.find_attr(object, Ustr::from("__exit__"));
            return Entered { target, before: None, exit };
        }
        let target = match value {
            // A generator that is a context gives what it yields.
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(items) => items.any.clone(),
                _ => value.clone(),
            },
            other => other.clone(),
        };
        // A context that is not understood may switch gradients off.
        let before = value.is_unknown().then(|| self.push_context(ContextKind::UnknownGrad));
        Entered { target, before, exit: None }
    }

    pub(super) fn leave(&mut self, entered: Entered, value: &Value, place: Place) {
        if let Some(before) = entered.before {
            self.pop_context(before);
        }
        if let Some(exit) = entered.exit {
            let bound = self.bind(value, &exit, Ustr::from("__exit__"), place);
            let none = || Passed { value: Value::None, place };
            let call = Call { positional: vec![none(), none(), none()], ..Call::new(place) };
            self.call_value(&bound, &call);
        }
    }

    /// Whether a framework decides when steps and clears are real.
    pub fn is_accumulating(&self) -> bool {
        self.contexts.contains(&ContextKind::Accumulate)
    }
}

/// A batch as an engine hands it out.
pub(super) fn on_device(value: &Value, device: Device) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor(Tensor { device, ..(**tensor).clone() }),
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| on_device(item, device)).collect()),
        other => other.clone(),
    }
}
