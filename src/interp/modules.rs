//! Modules: what their calls do and give, their mode, and what lies inside them.

use super::device::collect_tensors;
use super::layered::any_number_of;
use super::lineage::Base;
use super::transfer::build::{Sequence, sequence};
use super::{AppliedLayer, Call, ForwardCall, Interp, Invocation, LayerCall, invocation};
use crate::apis::{Api, Mark, Transfer};
use crate::report::{Confidence, Place};
use crate::trace::{Effect, Forward, Sight};
use crate::values::tensor::union_detach_points;
use crate::values::*;
use std::cell::RefCell;
use std::rc::Rc;
use ustr::Ustr;

/// Methods that a project's module computes its output in, in the order the frameworks look for them.
pub(crate) const FORWARDS: [&str; 3] = ["forward", "call", "__call__"];

/// Deeper nesting of modules is not followed.
pub(super) const DEEPEST: usize = 24;
/// Batches whose tensors lie deeper in containers are not followed into models that nobody sees.
const DEEPEST_INPUT: usize = 2;
/// What the call of a module costs beside what its forward does.
const FUEL_A_CALL: u32 = 8;

impl<'p> Interp<'p> {
    /// A module may lead back to itself, and one that may be either of two to both, so this costs fuel.
    pub(super) fn call_module(&mut self, object: ObjId, call: &Call) -> Value {
        if self.budget.nested >= DEEPEST || !self.burn(FUEL_A_CALL) {
            self.havoc(&call.with_first(Value::Obj(object)));
            return Value::Unknown;
        }
        self.budget.nested += 1;
        let output = self.run_module(object, call);
        self.budget.nested -= 1;
        output
    }

    fn run_module(&mut self, object: ObjId, call: &Call) -> Value {
        let outermost = !self.in_forward();
        let before = self.heap.get(object).module().cloned().unwrap_or_default();
        let scattered = before.scatters.then(|| self.scattered(object, call));
        let call = scattered.as_ref().unwrap_or(call);
        let input = call.values().find_map(|value| self.tensor_in(value));
        if outermost {
            self.on_forward(&ForwardCall { module: object, call });
        }
        let around = if outermost { std::mem::take(&mut self.graphs.kept) } else { 0 };
        // Of a stack, each layer is called from outside of any forward.
        let trained = outermost && std::mem::take(&mut self.graphs.trained);
        let since = self.out.parts.len() as u32;
        let output = match self.concrete_forward(object) {
            _ if self.heap.get(object).class == ClassRef::Builtin && !before.parts.is_empty() => {
                let output = self.either(&before.parts, call);
                self.at_least_learned(object, &before, call, output)
            }
            Some(closure) => {
                let mut recording = self.recording(call);
                let mut call = self.at_home(&closure, Some(object), call);
                self.leave_shapes_open(object, &closure, &mut call);
                let call = &call;
                // What is computed for all that is said of the model, whatever its call lacks: of that it fails already.
                let fails = self.tell_unfit(&closure, Some(&Value::Obj(object)), call);
                let around = fails.map(|_| self.push_context(ContextKind::Failing));
                let output = self.inlined(&closure, Some(&Value::Obj(object)), call);
                around.into_iter().for_each(|around| self.pop_context(around));
                let output = self.at_least_learned(object, &before, call, output);
                let output = self.settle_detach_points(output);
                let output = self.gathered(output, &mut recording);
                self.collapse(object, output)
            }
            None => self.layer(object, call),
        };
        let output = self.come_through(Some(object), call.values(), output);
        if !outermost {
            return output;
        }
        let output = RefCell::new(output);
        self.on_forward_end(&output);
        let output = super::formulas::renewed(output.into_inner());
        let output = self.forwarded(object, before, input, since, output, call.place);
        self.graphs.trained |= trained;
        self.graphs.kept = self.graphs.kept.saturating_add(around);
        output
    }

    /// The modules that methods run of, outermost first.
    pub(crate) fn running_modules(&self) -> impl DoubleEndedIterator<Item = ObjId> {
        let receivers = self.frames.iter().filter_map(|frame| frame.receiver.as_ref()?.as_obj());
        receivers.filter(|object| self.heap.get(*object).module().is_some())
    }

    /// Whether a forward of a module is running.
    pub(crate) fn in_forward(&self) -> bool {
        self.frames.iter().rev().any(|frame| {
            let object = frame.receiver.as_ref().and_then(Value::as_obj);
            let in_module = object.is_some_and(|object| self.heap.get(object).module().is_some());
            in_module && frame.site.is_some_and(|(_, name)| FORWARDS.contains(&name.as_str()))
        })
    }

    pub(crate) fn project_forward(&mut self, object: ObjId) -> Option<Rc<Closure>> {
        let mut own = |name: &str| match self.find_attr(object, Ustr::from(name)) {
            Some(Value::Function(closure)) => Some(closure),
            _ => None,
        };
        let (first, others) = FORWARDS.split_first()?;
        let found = own(first);
        match others.iter().find_map(|name| own(name)) {
            Some(called) if found.is_some() && !self.runs_forward(object) => Some(called),
            called => found.or(called),
        }
    }

    /// Whether the class of a framework says that calling an instance runs its `forward`: of Keras it is a method like
    /// any other, beside `call`.
    pub(super) fn runs_forward(&self, object: ObjId) -> bool {
        let class = match self.heap.get(object).state {
            State::Class(_) => ClassRef::Project(object),
            _ => self.heap.get(object).class,
        };
        let mut known = self.lineage(class).into_iter().filter_map(|base| match base {
            Base::Api(name) => self.apis.class(name),
            _ => None,
        });
        known.next().is_none_or(|class| self.apis.method(class.name, Ustr::from(FORWARDS[0])).is_some())
    }

    /// A tensor, or the first one of a list: models take several scales or modalities so.
    fn tensor_in(&self, value: &Value) -> Option<Rc<Tensor>> {
        match sequence(self, value) {
            Some(Sequence::Exact(items)) => items.iter().find_map(|item| item.as_tensor().cloned()),
            Some(Sequence::Any(any, _)) => any.as_tensor().cloned(),
            None => value.as_tensor().cloned(),
        }
    }

    /// The module's own forward, where it has one that computes something.
    fn concrete_forward(&mut self, object: ObjId) -> Option<Rc<Closure>> {
        self.project_forward(object).filter(|forward| !self.is_abstract(forward.file, forward.function))
    }

    /// Writes down that a module ran, and marks its output so that we learn what becomes of the graph.
    fn forwarded(
        &mut self,
        object: ObjId,
        module: ModuleState,
        input: Option<Rc<Tensor>>,
        since: u32,
        output: Value,
        place: Place,
    ) -> Value {
        let grad = self.ambient.grad.filter(|_| !self.in_uncalled_model());
        self.event(place, Effect::Forward { module: object, grad }, Confidence::High);
        let graph = self.graph_id(place);
        let output = super::records::marked(self, &output, graph, super::records::MOST_HELD);
        if self.is_hooked(object) {
            let mut kept = Vec::new();
            collect_tensors(&output, &mut kept);
            self.out.returned.extend(kept.iter().flat_map(|tensor| tensor.graph.carried()));
        }
        let drawn =
            input.as_ref().and_then(|input| input.what).is_some_and(|what| self.apis.is_random(&what));
        let now = self.heap.get(object).module().map(|module| module.mode);
        let leaves_eval = self.graphs.trained && module.mode != Mode::Train && now == Some(Mode::Train);
        let in_training = self.part_in_training(object);
        let forward = Forward {
            module: object,
            name: self.class_name(object),
            // What was said of the module alone leaves its parts as they are.
            mode: if module.mode_of_its_own && in_training.is_some() { Mode::Train } else { module.mode },
            leaves_eval,
            in_training,
            ran_in_training: self.graphs.trained,
            grad,
            volatile: self.ambient.volatile,
            input,
            drawn,
            learns: self.learns(object) == Some(true),
            kept: self.graphs.kept,
            output: output.clone(),
            graph,
            parts: since..self.out.parts.len() as u32,
        };
        self.see(place, Sight::Forward(Rc::new(forward)), self.heap.get(object).confidence);
        output
    }

    /// Writes down that a method of a model ran it, which switches gradients off itself: `model.generate(ids)`.
    pub(super) fn ran_without_gradients(
        &mut self,
        model: ObjId,
        input: Option<Rc<Tensor>>,
        output: Value,
        place: Place,
    ) -> Value {
        if self.in_forward() {
            return output;
        }
        let before = self.heap.get(model).module().cloned().unwrap_or_default();
        let grad = self.ambient.grad.replace(false);
        let trained = self.part_in_training(model).is_some();
        let trained = std::mem::replace(&mut self.graphs.trained, trained);
        let since = self.out.parts.len() as u32;
        let output = self.forwarded(model, before, input, since, output, place);
        (self.ambient.grad, self.graphs.trained) = (grad, trained);
        output
    }

    /// Whether a hook of a layer inside may have kept what a later loss is made of.
    fn is_hooked(&self, object: ObjId) -> bool {
        let hooked = |part: ObjId| self.heap.get(part).module().is_some_and(|module| module.hooked);
        self.graphs.hooks && self.descendants(object).iter().any(hooked)
    }

    /// Whether what runs is a method of a model that nothing here calls: whoever calls it decides
    /// whether gradients are recorded.
    fn in_uncalled_model(&self) -> bool {
        let Some(seeded) =
            self.supposed.seeded.filter(|seeded| !self.goes_back(*seeded) && !self.in_batches())
        else {
            return false;
        };
        let outermost = self
            .frames
            .iter()
            .find(|frame| frame.file == seeded.file && frame.function == Some(seeded.function));
        let object = outermost.and_then(|frame| frame.receiver.as_ref()).and_then(Value::as_obj);
        object.is_some_and(|object| self.heap.get(object).module().is_some())
    }

    /// A call of a framework's layer, or of a model that we do not see into.
    fn layer(&mut self, object: ObjId, call: &Call) -> Value {
        let module = self.heap.get(object).module().cloned().unwrap_or_default();
        if let Some(inner) = self.wrapped(object).filter(|_| module.weights == Learned::Nothing) {
            let value = self.call_module(inner, call);
            return if module.repeats { any_number_of(call, value) } else { value };
        }
        // A framework's layer runs those that it is made of.
        self.graphs.trained |= !self.graphs.trained && self.part_in_training(object).is_some();
        self.on_layer(&LayerCall { layer: object, call });
        let api = self.layer_api(object);
        let result = match api {
            Some(api) => self.apply_layer(object, api, call),
            None => None,
        };
        match result {
            Some(value) => {
                // A scale and an offset are cast to what they are applied to, and not the other way round.
                let scales = api.is_some_and(|api| api.transfer() == Some(Transfer::Like));
                let dtype = module.dtype.filter(|_| !scales);
                let module = ModuleState { dtype, ..module };
                let value = self.with_weights(object, &module, value, &mut None, call.place);
                self.keep(&module, &value);
                value
            }
            None => {
                let touched = call.values().filter_map(Value::as_obj).collect::<Vec<_>>();
                if touched.iter().any(|object| self.heap.get(*object).optimizer().is_some()) {
                    self.havoc(call);
                }
                super::heads::output_of_head(self, object, &module, call)
            }
        }
    }

    /// The module inside a wrapper, or inside one of several wrappers.
    fn wrapped(&self, object: ObjId) -> Option<ObjId> {
        match self.heap.get(object).module()?.parts.as_slice() {
            [] => None,
            [inner] => Some(*inner),
            _ => self.heap.attr(object, Ustr::from("module"))?.as_obj(),
        }
    }

    /// What a layer that learns gives is kept for the way back.
    fn keep(&mut self, module: &ModuleState, output: &Value) {
        let bytes = output.as_tensor().and_then(|tensor| u64::try_from(tensor.bytes()?).ok());
        if module.weights != Learned::Nothing && self.ambient.grad != Some(false) {
            self.graphs.kept = self.graphs.kept.saturating_add(bytes.unwrap_or(0));
        }
    }

    /// The entry that says what calling this module gives.
    pub(super) fn layer_api(&self, object: ObjId) -> Option<&'p Api> {
        let apis = self.apis;
        self.lineage(self.heap.get(object).class).into_iter().find_map(|base| match base {
            Base::Api(name) => {
                let api = apis.class(name)?;
                let calls = api.class.as_ref().is_some_and(|class| class.call.is_some());
                (api.gives.is_some() || calls).then_some(api)
            }
            _ => None,
        })
    }

    pub(super) fn apply_layer(&mut self, object: ObjId, api: &'p Api, call: &Call) -> Option<Value> {
        let class = api.class.as_ref()?;
        let apis = self.apis;
        let target = match class.call {
            Some(function) => apis.get(function)?,
            None => api,
        };
        let mut invocation = match class.call {
            Some(_) => invocation::of_layer(api, target, call),
            None => Invocation::bind_to(target, &class.call_params, call),
        };
        invocation.layer = Some(self.heap.get(object).site);
        let transfer = target.transfer();
        if transfer == Some(Transfer::ModelOutput) {
            return None;
        }
        if transfer == Some(Transfer::Sequential) {
            let opaque =
                self.heap.get(object).module().is_some_and(|module| module.weights == Learned::Opaque);
            if opaque && super::stacked::children_in_order(self, object).is_none() {
                return None;
            }
            return Some(self.sequence(object, call));
        }
        for (name, value) in self.heap.get(object).attrs.clone() {
            invocation.fill(name, value);
        }
        if let Some(transfer) = transfer {
            self.on_layer_applied(&AppliedLayer { layer: object, transfer, call: &invocation });
        }
        // `F.dropout(training=)` and its kin take the layer's own mode.
        let training = self.heap.get(object).module().map_or(Mode::Unknown, |module| module.mode);
        if training != Mode::Unknown {
            invocation.fill(Ustr::from("training"), Value::Bool(Some(training == Mode::Train)));
        }
        self.on_layer_call(object);
        let value = self.apply(target, &invocation);
        self.on_layer_end(object);
        let scales = transfer == Some(Transfer::Like);
        let learns = self.heap.get(object).module().is_some_and(|module| module.weights != Learned::Nothing);
        match &value {
            // A learned scale and offset can make any number of anything.
            Value::Tensor(tensor) if scales && learns && tensor.range.is_none() => {
                let mark = Some((Mark::Raw, call.place));
                Some(Value::tensor(Tensor { range: Some(Interval::REAL), mark, ..(**tensor).clone() }))
            }
            _ => Some(value),
        }
    }

    /// The output of a layer that has parameters carries their graph.
    pub(super) fn with_weights(
        &mut self,
        object: ObjId,
        module: &ModuleState,
        value: Value,
        part: &mut Option<u32>,
        place: Place,
    ) -> Value {
        if module.weights == Learned::Nothing {
            return value;
        }
        match &value {
            Value::Tensor(tensor) => {
                let mut tensor = (**tensor).clone();
                tensor.graph = self.graph_through(object, module, &tensor.graph, part, place);
                tensor.source = Source::Output;
                tensor.device_origin = Some(DeviceOrigin::Module);
                (tensor.learned, tensor.among) = (true, false);
                if let Some(cut) = self.note_unrecorded(object, module, tensor.made) {
                    tensor.detach_points = union_detach_points(&tensor.detach_points, &Some(cut));
                }
                tensor.confidence = tensor.confidence.min(self.heap.get(object).confidence);
                if module.device != Device::Unknown {
                    tensor.device = module.device;
                }
                if module.dtype.is_some() && self.autocast().is_none() {
                    tensor.dtype = module.dtype;
                }
                Value::tensor(tensor)
            }
            Value::Tuple(items) => {
                let each = |item: &Value| self.with_weights(object, module, item.clone(), part, place);
                Value::tuple(items.iter().map(each).collect())
            }
            _ => value,
        }
    }

    /// The graph behind a module's output. All outputs of one call are of one part.
    pub(super) fn graph_through(
        &mut self,
        object: ObjId,
        module: &ModuleState,
        input: &Graph,
        part: &mut Option<u32>,
        place: Place,
    ) -> Graph {
        let hidden = module.weights == Learned::Opaque;
        let mut recorded = |interp: &mut Self| {
            let part = *part.get_or_insert_with(|| interp.record(object, place, hidden));
            Graph::recorded(object, interp.epoch, part)
        };
        match (self.ambient.grad, module.frozen) {
            (Some(false), _) => Graph::None,
            (None, _) => Graph::Unknown,
            // Where the framework records by itself, nobody knows what hangs on a value.
            _ if self.records_by_itself(object) => self.taped_graph(),
            (Some(true), Some(true)) => input.clone(),
            (Some(true), Some(false)) => input.union(&recorded(self)),
            (Some(true), None) if hidden => input.union(&recorded(self)),
            (Some(true), None) => match input {
                Graph::Live(_) => input.clone(),
                _ => Graph::Unknown,
            },
        }
    }

    fn records_by_itself(&self, object: ObjId) -> bool {
        self.lineage(self.heap.get(object).class).into_iter().any(|base| match base {
            Base::Api(name) => self.apis.owns(name).iter().any(|part| part == "graph"),
            _ => false,
        })
    }

    /// What a model that we do not see into gives: something with a graph, of any shape.
    pub(super) fn opaque_output(&mut self, object: ObjId, module: &ModuleState, call: &Call) -> Value {
        let mut input = Graph::None;
        // What wraps a model is where the model is, which may have moved since.
        let wraps = module.weights == Learned::Nothing;
        let mut device = if wraps { self.device_of_module(object) } else { module.device };
        for value in call.values() {
            input = input.union(&self.graph_inside(value, DEEPEST_INPUT));
        }
        for tensor in call.values().filter_map(Value::as_tensor) {
            // What takes an input on the GPU is there; one on the CPU it may scatter itself.
            if device == Device::Unknown && tensor.device.is_gpu() && tensor.device != Device::Automatic {
                device = tensor.device;
            }
        }
        let graph = self.graph_through(object, module, &input, &mut None, call.place);
        let graph = super::heads::graph_of_own_parts(self, object, graph, call.place);
        Value::tensor(Tensor {
            graph,
            device,
            device_origin: Some(DeviceOrigin::Module),
            source: Source::Output,
            learned: true,
            detach_points: self.note_unrecorded(object, module, Some(call.place)),
            made: Some(call.place),
            created: self.epoch,
            confidence: self.heap.get(object).confidence.min(Confidence::Medium),
            ..Tensor::default()
        })
    }

    /// What a value that a model is given hangs on: a batch may be a dictionary, or a list, of tensors.
    fn graph_inside(&self, value: &Value, depth: usize) -> Graph {
        let of_all = |values: &mut dyn Iterator<Item = &Value>| match depth {
            0 => Graph::None,
            _ => values.fold(Graph::None, |all, value| all.union(&self.graph_inside(value, depth - 1))),
        };
        match value.bare() {
            Value::Tensor(tensor) => tensor.graph.clone(),
            Value::Tuple(items) => of_all(&mut items.iter()),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Dict(entries) => of_all(&mut entries.known.iter().map(|(_, value)| value)),
                State::List(Items { exact: Some(items), .. }) => of_all(&mut items.iter()),
                _ => Graph::None,
            },
            _ => Graph::None,
        }
    }

    /// In the graph of a module's output the module stands for its parts.
    fn collapse(&mut self, object: ObjId, output: Value) -> Value {
        match &output {
            Value::Tensor(tensor) => {
                let Graph::Live(nodes) = &tensor.graph else { return output };
                if nodes.leaves.len() < 2 && !nodes.leaves.iter().any(|leaf| leaf != object) {
                    return output;
                }
                let parts = self.descendants(object);
                let mut leaves: ObjSet = nodes.leaves.iter().filter(|leaf| !parts.contains(*leaf)).collect();
                leaves.insert(object);
                let nodes = Nodes { leaves, ..(**nodes).clone() };
                Value::tensor(Tensor { graph: Graph::Live(Rc::new(nodes)), ..(**tensor).clone() })
            }
            Value::Tuple(items) => {
                Value::tuple(items.iter().map(|item| self.collapse(object, item.clone())).collect())
            }
            _ => output,
        }
    }
}
