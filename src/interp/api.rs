//! Calls of the frameworks: what the tables say of them is done to the heap and written into the trace.

use super::reach::Leaving;
use super::{ApiResult, Call, Instance, Interp, Invocation, LossCall, MethodResult, python, transfer};
use crate::apis::{Api, Context, Expects, Mark, RangeFunction, Role, Slot, Transfer};
use crate::report::{Confidence, Place};
use crate::trace::{Loss, PlacedOnGpu, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// The parameter of a container whose argument may be another container.
const ITERATED: &str = "modules";

/// Of squares, means and products with rows of a single one, whose they are.
fn moment(function: Option<RangeFunction>, of: &Rc<Tensor>, call: &Invocation) -> Option<Rc<Relation>> {
    match function? {
        RangeFunction::Mean => Some(Relation::mean_of(of)),
        RangeFunction::Mul => Some(Rc::new(Relation::of_product(of, &call.nth_tensor(1)?)?)),
        RangeFunction::Square => Some(Relation::square_of(of)),
        RangeFunction::Pow if call.nth(1).as_num() == Some(2.0) => Some(Relation::square_of(of)),
        // Under a window that nobody trains, as in SSIM.
        RangeFunction::Product if call.nth_tensor(1).is_some_and(|window| !window.learned) => {
            Some(Relation::mean_of(of))
        }
        _ => None,
    }
}

impl<'p> Interp<'p> {
    pub(super) fn call_api(&mut self, name: Ustr, call: &Call) -> Value {
        // What is known exactly of the language's own functions goes before what a table says.
        if python::is_modelled(&name)
            && let Some(value) = python::call(self, &name, call)
        {
            return self.iterated(&name, call, value);
        }
        let apis = self.apis;
        let Some(api) = apis.get(name) else { return self.call_outside(name, call) };
        if api.class.is_some() {
            return self.construct(api, call);
        }
        let is_value = api.gives.is_some()
            && match api.context {
                Some(Context::Device(_)) => true,
                // Of a function it makes another; without one it is a decorator.
                Some(Context::Traced) => !call.positional.is_empty() || call.keyword("func").is_some(),
                _ => false,
            };
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
        let mut invocation = Invocation::bind(api, &call);
        if api.property {
            // Properties list no parameters.
            invocation.fill(Ustr::from("self"), receiver.clone());
        }
        let value = self.apply(api, &invocation);
        self.on_method_result(&MethodResult { api, receiver, call: &call });
        value
    }

    /// The standard library, or a package that the tables do not know.
    fn call_outside(&mut self, name: Ustr, call: &Call) -> Value {
        call.values().filter_map(Value::as_obj).for_each(|object| self.on_escape(object));
        if let Some(value) = python::call(self, &name, call) {
            return value;
        }
        if self.apis.is_tracker(name) {
            return Value::Obj(self.alloc(call.place, ClassRef::Api(name), State::Plain));
        }
        let package = Ustr::from(name.split('.').next().unwrap_or(&name));
        if !self.apis.is_pure(package) && !python::is_known_name(name) {
            self.havoc_by(Some(name), call);
        }
        Value::Unknown
    }

    /// Effects, then the result with its range and mark, then what is worth writing down.
    pub(super) fn apply(&mut self, api: &'p Api, call: &Invocation) -> Value {
        // Those of a property are of assigning to it.
        if !api.property {
            self.effects(api, call);
        }
        self.on_call(call);
        self.unless_recorded(api, call);
        let value = transfer::apply(self, call);
        let value = self.finish(api, call, value);
        let value = self.note_detach(api, call, value);
        self.on_api_result(&ApiResult { call, value: &value });
        self.note_loss(api, call);
        if value.is_unknown() && !api.transfer().is_some_and(Transfer::asks) {
            // Where the result went out of sight, so did the graphs in it.
            call.tensors().iter().for_each(|tensor| self.let_go(tensor));
        }
        value
    }

    /// A tensor that requires grad has no NumPy array: callers of an open function that asks for one switched it off.
    fn unless_recorded(&mut self, api: &Api, call: &Invocation) {
        if self.supposed.seeded.is_some() && api.transfer() == Some(Transfer::Numpy) {
            let before = std::mem::replace(&mut self.graphs.leaving, Leaving::Returned);
            call.nth_tensor(0).iter().for_each(|tensor| self.let_go(tensor));
            self.graphs.leaving = before;
        }
    }

    /// Range, mark and place of a result.
    fn finish(&mut self, api: &'p Api, call: &Invocation, value: Value) -> Value {
        let Value::Tensor(tensor) = &value else { return value };
        let inputs = call.nth_tensor(0);
        let passed_on = inputs.as_ref().is_some_and(|input| Rc::ptr_eq(input, tensor));
        let mut tensor = (**tensor).clone();
        // What a library of arrays makes is an array, but of a tensor, which answers itself.
        tensor.is_array |= inputs.as_ref().is_none_or(|input| input.is_array) && self.apis.is_of_arrays(api);
        tensor.backwards = transfer::turned_around(api, call, &tensor);
        tensor.turned = transfer::turned(self, api, call);
        if let Some(range) = &api.range {
            // Where what is learned starts says nothing of where it goes.
            let is_learned = tensor.is_leaf && tensor.learned && !passed_on;
            tensor.range = transfer::range(range, call).filter(|_| !is_learned);
            let is_bounded = |range: Option<Interval>| range.is_some_and(|range| range.high.is_finite());
            if is_bounded(tensor.range) {
                // The mean of what has a bound is no function that gives it one.
                let was_bounded = is_bounded(inputs.as_ref().and_then(|input| input.range));
                tensor.hazards = without_overflow(&tensor.hazards, was_bounded);
            }
        }
        if let Some(mark) = api.mark {
            // Of data it does not matter which function it went through.
            tensor.mark = (mark != Mark::Raw || tensor.learned).then_some((mark, call.place));
        }
        if tensor.relation.is_none()
            && let Some(input) = &inputs
        {
            tensor.relation = moment(api.range_function(), input, call);
        }
        let renews = api.range.is_some() || api.mark.is_some() || tensor.made.is_none();
        if !passed_on && renews {
            // What was drawn, and only moved or cast, is still drawn.
            let is_drawn =
                |what: &Ustr| api.transfer().is_some_and(Transfer::converts) && self.apis.is_random(what);
            tensor.what = tensor.what.filter(is_drawn).or(Some(api.name));
            (tensor.made, tensor.created) = (Some(call.place), self.epoch);
            tensor.standing = tensor.standing_here(inputs.as_deref(), api.transfer());
        }
        tensor.is_table &= api.transfer().is_some_and(Transfer::keeps_tables);
        if !passed_on {
            tensor.recipe = self.recipe_given(api, call, &tensor);
        }
        tensor.numbers = self.numbers_given(api, call, tensor.numbers.take(), tensor.dtype);
        if let Some(transfer) = api.transfer() {
            self.buffered(transfer, call.place, &mut tensor);
        }
        tensor.averaged |= tensor.rank() == Some(0) && self.averages(api, call);
        if tensor.device.is_gpu() {
            self.out.uses_gpu = true;
            self.note_resident(api, inputs.as_deref(), &tensor, call.place);
        }
        let value = self.come_through(None, call.values(), Value::tensor(tensor));
        self.note_poles_of(api, call, value)
    }

    /// Whether a call takes the mean: by itself, or as the reduction of a loss.
    fn averages(&self, api: &Api, call: &Invocation) -> bool {
        let said = |name: &&str| !matches!(call.get(name), Value::None | Value::Unknown);
        let old = ["size_average", "reduce"].iter().any(said);
        match api.loss {
            Some(_) => !old && matches!(call.get("reduction").as_str(), Some("mean" | "batchmean")),
            None => api.range_function() == Some(RangeFunction::Mean),
        }
    }

    /// A tensor of known size that comes to the GPU here.
    fn note_resident(&mut self, api: &Api, before: Option<&Tensor>, tensor: &Tensor, place: Place) {
        let was_there = before.is_some_and(|before| before.device.is_gpu());
        let places = api.transfer().is_some_and(Transfer::places);
        if was_there || !places || tensor.bytes().is_none() || tensor.is_leaf {
            return;
        }
        let made = before.and_then(|before| before.made).or(tensor.made);
        // What is moved is as old as it was.
        let created = before.map_or(self.epoch, |before| before.created);
        let tensor = Rc::new(Tensor { made, created, ..tensor.clone() });
        let confidence = tensor.confidence;
        self.observe(place, PlacedOnGpu { tensor, unasked: false }, confidence);
    }

    fn note_loss(&mut self, api: &'p Api, call: &Invocation) {
        let Some(loss) = &api.loss else { return };
        let input = self.unless_taped(call.get(&loss.input));
        let target = call.get(&loss.target);
        self.on_loss(&LossCall { input: &input, target: &target, call });
        let expects = self.expectation(&loss.expects, call);
        let input_place = call.place_of(&loss.input).unwrap_or(call.place);
        let confidence = input.as_tensor().map_or(Confidence::High, |tensor| tensor.sure_of_mark());
        let (made, in_arm, spec) = (call.layer, self.undecided_arms() > 0, *loss);
        let seen = Loss { loss: api.name, spec, expects, input, input_place, target, made, in_arm };
        self.see(call.place, Sight::Loss(Rc::new(seen)), confidence);
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
                Some(false) => Expects::BinaryProbabilities,
                None => Expects::Anything,
            },
            other => *other,
        }
    }

    fn construct(&mut self, api: &'p Api, call: &Call) -> Value {
        let invocation = Invocation::bind(api, call);
        self.on_arguments(&invocation);
        self.effects(api, &invocation);
        let Some(class) = api.class.as_ref() else { return Value::Unknown };
        if let Some(makes) = &class.makes {
            let invocation = invocation.applying(makes);
            let value = transfer::apply(self, &invocation);
            return self.finish_made(api, &invocation, value);
        }
        let role = self.apis.role(api.name);
        let state = match role {
            Some(Role::Module) => {
                let own = self.weights(api, &invocation);
                // `Sequential(*layers)` of layers that are not known one by one, or `Sequential(resnet.conv1, ...)`.
                let open = own == Learned::Nothing
                    && (invocation.open || invocation.rest.iter().any(Value::is_unknown));
                State::Module(ModuleState {
                    weights: if open { Learned::Opaque } else { own },
                    open,
                    repeats: invocation.open,
                    mode_dependent: self.is_mode_dependent(api, &invocation),
                    recurrent: api.transfer() == Some(Transfer::Recurrent),
                    device: self.device_in_force(&invocation),
                    dtype: self.dtype_in_force(&invocation),
                    frozen: Some(false),
                    ..ModuleState::default()
                })
            }
            Some(Role::Optimizer) => {
                let params = invocation.get(api.params.first().map_or("params", |param| param.name.as_str()));
                self.spend_all(&params, call.place, 4);
                let proportional = class.proportional;
                let mut state = OptimizerState { proportional, ..self.optimizer_state(&params) };
                self.fill_options(&mut state, &invocation);
                State::Optimizer(state)
            }
            Some(Role::Loader) => return self.loader(api, &invocation),
            Some(Role::Tensor) => {
                return Value::tensor(Tensor { made: Some(call.place), ..Tensor::default() });
            }
            Some(Role::Scaler) => State::Scaler,
            Some(Role::Sampler) => State::Sampler(self.sampler_state(api, &invocation)),
            _ => State::Plain,
        };
        let object = self.alloc(call.place, ClassRef::Api(api.name), state);
        self.made(call.place, object);
        if !class.parameters.is_empty() {
            self.made_layer(object);
        }
        self.on_instance(&Instance { object, place: call.place });
        if role == Some(Role::Optimizer) {
            let remembers = self.remembers(class, &invocation);
            self.note_gathered(object, remembers, call.place);
        }
        self.keep_arguments(object, api, &invocation);
        self.settle_properties(object, &invocation);
        if role == Some(Role::Module) {
            super::stacked::put_together(self, object, call.place);
        }
        Value::Obj(object)
    }

    /// Values that a constructor makes instead of an instance keep the range and place of the entry.
    fn finish_made(&mut self, api: &'p Api, call: &Invocation, value: Value) -> Value {
        self.on_api_result(&ApiResult { call, value: &value });
        let Value::Tensor(tensor) = &value else { return value };
        Value::tensor(Tensor { what: Some(api.name), made: Some(call.place), ..(**tensor).clone() })
    }

    /// Arguments of a constructor are attributes of what it makes; children by their number.
    pub(super) fn keep_arguments(&mut self, object: ObjId, api: &Api, call: &Invocation) {
        for param in &api.params {
            if call.is_given(&param.name) || param.default.is_some() {
                self.keep_argument(object, param.name, call.get(&param.name));
            }
        }
        let mut children = call.rest.clone();
        if self.heap.get(object).module().is_some() {
            if let [named] = &call.rest[..]
                && let Some(layers) = self.named_layers(object, named, call.place)
            {
                children = layers;
            }
            for param in &api.params {
                let value = call.get(&param.name);
                // `*layers` are there already, one by one.
                let is_spread = matches!(value, Value::Tuple(_)) && !call.rest.is_empty();
                let (items, exact) = match is_spread {
                    true => (Vec::new(), true),
                    false => self.module_items(&value, param.name == ITERATED, call.place),
                };
                if !items.is_empty() {
                    self.keep_by_name(object, &value);
                }
                if let (State::Module(module), false) = (&mut self.heap.get_mut(object).state, exact) {
                    module.repeats = true;
                }
                children.extend(items);
            }
        }
        let is_number = |name: &Ustr| name.bytes().all(|byte| byte.is_ascii_digit());
        let replaces = self.heap.get(object).attrs.iter().any(|(name, _)| is_number(name));
        let children = children.into_iter().enumerate();
        let mut children = children.map(|(index, child)| (Ustr::from(&index.to_string()), child));
        let held = self.heap.get_mut(object);
        match replaces {
            true => children.for_each(|(name, child)| held.set_attr(name, child)),
            // None of them is there yet, so none is looked for.
            false => held.attrs.extend(&mut children),
        }
    }

    /// `Sequential(OrderedDict(conv=..., norm=...))`: the layers in a dict that is the only argument.
    fn named_layers(&mut self, object: ObjId, named: &Value, place: Place) -> Option<Vec<Value>> {
        let State::Dict(entries) = &self.heap.get(named.as_obj()?).state else { return None };
        let is_whole = entries.other.is_none();
        let (layers, exact) = self.module_items(named, false, place);
        self.keep_by_name(object, named);
        if let State::Module(module) = &mut self.heap.get_mut(object).state {
            module.repeats |= !(exact && is_whole);
        }
        (!layers.is_empty()).then_some(layers)
    }

    /// Modules in a dict are attributes under their keys, too.
    fn keep_by_name(&mut self, object: ObjId, items: &Value) {
        let Some(State::Dict(entries)) = items.as_obj().map(|items| self.heap.get(items).state.clone())
        else {
            return;
        };
        for (key, value) in entries.known {
            if let Key::Str(name) = key {
                self.heap.get_mut(object).set_attr(Ustr::from(&name), value);
            }
        }
    }

    /// As the function of the language that has this name.
    pub(super) fn by_the_language(&mut self, name: &str, call: &Invocation) -> Value {
        let call = Call::with(
            call.place,
            (0..call.api.params.len()).map(|index| call.nth(index)).filter(|v| !v.is_unknown()),
        );
        python::call(self, name, &call).unwrap_or_default()
    }

    /// A wrapper around an iterable, such as a progress bar.
    pub(super) fn iterable(&mut self, call: &Invocation) -> Value {
        match call.nth(0) {
            Value::Unknown | Value::None => Value::Unknown,
            inner => {
                let wrapped = self.wrapped_iterable(&inner, call.place);
                if let Some(object) = wrapped.as_obj().filter(|_| call.api.class.is_some()) {
                    self.heap.get_mut(object).class = ClassRef::Api(call.api.name);
                }
                wrapped
            }
        }
    }

    /// `enumerate` or `zip`, of what else was given and then the operand.
    pub(super) fn paired(&mut self, name: &str, call: &Invocation) -> Value {
        let inner = call.nth(0);
        let call = Call::with(call.place, call.rest.iter().cloned().chain([inner]).collect::<Vec<_>>());
        python::call(self, name, &call).unwrap_or_default()
    }

    /// A dict of which nothing is known.
    pub(super) fn unknown_dict(&mut self, call: &Invocation) -> Value {
        self.dict(call.place, Entries::new(Vec::new(), Some(Value::Unknown)))
    }

    /// What a module or optimizer gives to be saved: of a module, its tensors, where they are and without their graph.
    pub(super) fn state_dict(&mut self, call: &Invocation) -> Value {
        let module = call.nth(0).as_obj().filter(|object| self.heap.get(*object).module().is_some());
        module.into_iter().for_each(|module| self.note_saved(module));
        let tensor = module.map(|module| {
            Value::tensor(Tensor {
                graph: Graph::None,
                device: self.device_of_module(module),
                device_origin: Some(DeviceOrigin::Module),
                made: Some(call.place),
                confidence: Confidence::Medium,
                ..Tensor::default()
            })
        });
        let kept = call.is_given("keep_vars");
        let other = Some(tensor.filter(|_| !kept).unwrap_or_default());
        self.dict(call.place, Entries::new(Vec::new(), other))
    }

    /// Gradients as values; the entry's effects say that the graph is walked.
    pub(super) fn gradients(&mut self, call: &Invocation) -> Value {
        let Some(tensor) = call.nth_tensor(0) else { return Value::Unknown };
        // With `create_graph` the gradients have a graph themselves.
        let graph = match self.truth(&call.operand(Slot::CreateGraph)) {
            Some(false) => Graph::None,
            _ => tensor.graph.clone(),
        };
        let what = Some(call.api.name);
        let gradient = Tensor { device: tensor.device, what, ..Tensor::default() };
        // A penalty on them is one by the samples. What else is computed of gradients is no loss, or goes by what
        // layers gave, of which some is always passed on.
        let sources = call.operand(Slot::Sources);
        let by_layers =
            sources.as_tensor().is_some_and(|given| !given.is_leaf && !given.graph.leaves().is_empty());
        let gradient = match graph {
            Graph::Live(_) | Graph::Unknown if !by_layers => Tensor {
                graph,
                range: Some(Interval::REAL),
                relation: Some(Rc::new(Relation::Gradient)),
                learned: tensor.learned,
                ..gradient
            },
            graph => Tensor { graph, ..gradient },
        };
        self.one_for_each(&sources, Value::tensor(gradient), call.place)
    }

    /// Gradients, one for each source: a tuple of one where there is one.
    fn one_for_each(&mut self, sources: &Value, gradient: Value, place: Place) -> Value {
        let several = match sources.bare() {
            Value::Tensor(_) | Value::Unknown => Some(1),
            Value::Tuple(items) => Some(items.len()),
            Value::Obj(list) => match &self.heap.get(*list).state {
                State::List(items) => items.exact.as_ref().map(Vec::len),
                _ => None,
            },
            _ => None,
        };
        match several {
            Some(count) => Value::tuple(vec![gradient; count]),
            None => self.list_of(place, gradient),
        }
    }

    /// `nn.Parameter(data)`: a leaf of its own.
    pub(super) fn parameter(&mut self, call: &Invocation, trainable: &Value) -> Value {
        let data = call.nth_tensor(0);
        let learns = self.truth(trainable) != Some(false);
        let class = self.apis.class_of(Role::Parameter).map_or(ClassRef::Builtin, ClassRef::Api);
        let state =
            ModuleState { weights: Learned::Own(None), frozen: Some(!learns), ..ModuleState::default() };
        let object = self.alloc(call.place, class, State::Module(state));
        self.made(call.place, object);
        let base = data.map_or_else(Tensor::default, |data| (*data).clone());
        let graph = match learns {
            true if self.is_taped(call.api.name) => self.taped_graph(),
            true => Graph::leaf(object, u32::MAX),
            false => Graph::None,
        };
        Value::tensor(Tensor {
            graph,
            is_leaf: true,
            is_array: false,
            device_origin: Some(DeviceOrigin::Module),
            source: Source::Parameter,
            learned: learns,
            // Where it starts is far from where it would be wrong, as a rule.
            range: base.range.filter(|_| !learns),
            mark: None,
            // Its own graph begins here, wherever its first numbers come from, and through which poles.
            detach_points: None,
            hazards: None,
            ..base
        })
    }
}
