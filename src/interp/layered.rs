//! Models that a framework puts together from layers and symbolic values: which layers a value came through,
//! which of them learn, and what their compilation holds fast.

use super::events::TracePoint;
use super::{Call, Interp, Invocation, StackedLayer, call_path::Hop, lineage::Base};
use crate::apis::{Operand, Role, Slot};
use crate::report::{Confidence, Place};
use crate::trace::Effect;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// So many layers behind a symbolic value are one step of what is computed of it.
const LAYERS_A_STEP: usize = 32;

/// The attribute under which a model keeps a layer that we do not see.
const UNSEEN: &str = "some layer";

impl<'p> Interp<'p> {
    /// The children of a container, called in order.
    pub(super) fn sequence(&mut self, object: ObjId, call: &Call) -> Value {
        let children = super::stacked::children_in_order(self, object);
        let seen = self.heap.noted(object, super::stacked::UNSEEN_PART).is_none();
        let Some(children) = children.filter(|_| seen) else { return Value::Unknown };
        let given = call.arg(0, "input").cloned().unwrap_or_default();
        let module = self.heap.get(object).module();
        let (open, repeats) = module.map_or((false, false), |module| (module.open, module.repeats));
        // Of layers that are there on some ways only nobody knows the order.
        let open = open || children.iter().any(|child| matches!(child, Value::Maybe(_)));
        let mut value = if open { shapeless(&given) } else { given.clone() };
        for (index, child) in children.iter().enumerate() {
            if child.as_tensor().is_some() {
                // A symbolic input in front says what shape comes.
                continue;
            }
            if self.is_out_of_fuel() {
                return Value::Unknown;
            }
            let path = self.enter_path(Hop::Nth(call.place, index as u32));
            let began = self.trace_point();
            value = self.call_value(child, &Call::with(call.place, [value]));
            self.sites.path = path;
            value = self.marked_at(child, call.place, value, began);
        }
        if open {
            shapeless(&value)
        } else if repeats {
            any_number_of(call, value)
        } else {
            value
        }
    }

    /// What a stacked layer made of its input, it made where it was put into the stack.
    fn marked_at(&mut self, layer: &Value, stack: Place, value: Value, began: TracePoint) -> Value {
        let Some(site) = layer.as_obj().map(|layer| self.heap.get(layer).site) else { return value };
        self.on_stacked_layer(&StackedLayer { made: site, called: stack, began });
        match value.as_tensor() {
            Some(tensor) if tensor.mark.is_some_and(|(_, place)| place == stack) => {
                let mark = tensor.mark.map(|(mark, _)| (mark, site));
                Value::tensor(Tensor { mark, ..(**tensor).clone() })
            }
            _ => value,
        }
    }

    /// Whether a child of a container stands for any number of them.
    pub(super) fn repeats(&self, object: ObjId) -> bool {
        let module = self.heap.get(object).module();
        module.is_some_and(|module| module.repeats || module.open)
            || super::stacked::has_part_of_rounds(self, object)
    }

    /// The children of a container of modules, in order; of a stack those, too, that have names.
    pub(super) fn indexed_children(&self, object: ObjId) -> Option<Vec<Value>> {
        let here = self.heap.get(object);
        let stacks = || super::stacked::is_stack(self, object);
        let (mut children, mut named) = (Vec::new(), ObjSet::default());
        let mut next = 0;
        for (name, value) in &here.attrs {
            let is_next = name.parse::<usize>().is_ok_and(|index| index == next);
            next += usize::from(is_next);
            let part = value.as_obj().filter(|part| self.heap.get(*part).module().is_some());
            let fresh = part.is_none_or(|part| !named.contains(part));
            if fresh && (is_next || (part.is_some() && stacks())) {
                children.push(value.clone());
                part.filter(|_| !is_next).into_iter().for_each(|part| named.insert(part));
            }
        }
        let is_container =
            self.role_of(here.class) == Some(Role::Module) && here.attr(Ustr::from("*")).is_none();
        (is_container && (!children.is_empty() || here.attr(Ustr::from("0")).is_some())).then_some(children)
    }

    /// What a slice takes of a container: another one, of the same layers.
    pub(super) fn part_of_container(&mut self, container: ObjId, layers: &[Value], place: Place) -> Value {
        let here = self.heap.get(container);
        let (class, module) = (here.class, here.module());
        let part = ModuleState {
            mode: module.map_or(Mode::Unknown, |module| module.mode),
            frozen: module.and_then(|module| module.frozen),
            ..ModuleState::default()
        };
        let object = self.alloc(place, class, State::Module(part));
        for (index, layer) in layers.iter().enumerate() {
            self.heap.get_mut(object).set_attr(Ustr::from(&index.to_string()), layer.clone());
        }
        Value::Obj(object)
    }

    /// The modules in an argument that is a list or a dict of them, or a container whose layers are `iterated`, and
    /// whether those are all.
    pub(super) fn module_items(&mut self, value: &Value, iterated: bool, place: Place) -> (Vec<Value>, bool) {
        let held = value.as_obj().map(|object| &self.heap.get(object).state);
        let items = match (value.bare(), held) {
            (Value::Tuple(_), _) | (_, Some(State::List(_))) => self.iterate(value, place),
            (_, Some(State::Dict(entries))) => {
                Items::exact(entries.known.iter().map(|(_, value)| value.clone()).collect())
            }
            (_, Some(State::Module(_))) if iterated => Items::exact(
                value.as_obj().and_then(|object| self.indexed_children(object)).unwrap_or_default(),
            ),
            _ => return (Vec::new(), true),
        };
        let exact = items.exact.is_some();
        let items = match items.exact {
            Some(exact) => exact,
            None => vec![items.any],
        };
        let is_module =
            |value: &Value| value.as_obj().is_some_and(|object| self.heap.get(object).module().is_some());
        // Between layers there may be plain functions.
        let is_step = |value: &Value| {
            is_module(value) || matches!(value, Value::Api(_) | Value::Function(_) | Value::Partial(_))
        };
        let modules = items.iter().any(is_module) && items.iter().all(is_step);
        if modules { (items, exact) } else { (Vec::new(), true) }
    }

    /// A class of the project that says itself what calling it does may give its forward other shapes.
    pub(super) fn leave_shapes_open(&mut self, object: ObjId, forward: &Closure, call: &mut Call) {
        let own = match self.find_attr(object, Ustr::from("__call__")) {
            Some(Value::Function(own)) => (own.file, own.function) != (forward.file, forward.function),
            _ => false,
        };
        // Some frameworks leave out what a forward does not take, with others the call ends in an error.
        if own || !self.fits(forward, true, call) {
            let keywords = call.keywords.iter_mut().map(|(_, passed)| passed);
            for passed in call.positional.iter_mut().chain(keywords) {
                passed.value = shapeless(&passed.value);
            }
        }
    }

    /// What comes out of a layer came through it, and through all that its inputs came through.
    pub(super) fn come_through<'v>(
        &mut self,
        layer: Option<ObjId>,
        inputs: impl Iterator<Item = &'v Value>,
        output: Value,
    ) -> Value {
        if !self.symbols.symbolic {
            return output;
        }
        let mut through: Option<ObjSet> = None;
        inputs.for_each(|value| self.layers_of(value, &mut through));
        let Some(mut layers) = through else { return output };
        if let Some(layer) = layer {
            layers.insert(layer);
        }
        // Each result keeps them all.
        self.burn((layers.len() / LAYERS_A_STEP) as u32);
        let output = match output {
            Value::Unknown if layer.is_some() => Value::tensor(Tensor::default()),
            known => known,
        };
        with_layers(&output, &Rc::new(layers))
    }

    /// The result of a call that is not understood: a symbolic value if it was given one.
    pub(super) fn still_symbolic(&self, call: &Call) -> Value {
        let mut through = None;
        call.values().for_each(|value| self.layers_of(value, &mut through));
        through.map_or(Value::Unknown, |layers| {
            Value::tensor(Tensor { layers: Some(Rc::new(layers)), ..Tensor::default() })
        })
    }

    fn layers_of(&self, value: &Value, found: &mut Option<ObjSet>) {
        let mut add = |layers: &ObjSet| {
            *found = Some(found.as_ref().map_or_else(|| layers.clone(), |known| known.union(layers)));
        };
        match value.bare() {
            Value::Tensor(tensor) => {
                if let Some(layers) = &tensor.layers {
                    add(layers);
                }
            }
            Value::Tuple(items) => items.iter().for_each(|item| self.layers_of(item, found)),
            Value::Obj(object) => {
                if let State::List(items) = &self.heap.get(*object).state {
                    items.exact.iter().flatten().for_each(|item| self.layers_of(item, found));
                    self.layers_of(&items.any, found);
                }
            }
            _ => {}
        }
    }

    /// Whether a value is symbolic, and some layer made it.
    pub(super) fn came_through_layers(&self, value: &Value) -> bool {
        let mut layers = None;
        self.layers_of(value, &mut layers);
        layers.is_some_and(|layers| !layers.is_empty())
    }

    /// A model that is made of its outputs has the layers that they came through.
    pub(super) fn keep_layers(&mut self, model: ObjId, outputs: &Value) {
        let mut layers = None;
        self.layers_of(outputs, &mut layers);
        if let State::Module(state) = &mut self.heap.get_mut(model).state {
            state.parts = layers.iter().flat_map(super::super::values::object::ObjSet::iter).collect();
        }
    }

    /// A layer of a model that we do not see into: one object stands for all of them.
    pub(super) fn unseen_layer(&mut self, model: ObjId, place: Place) -> Value {
        let name = Ustr::from(UNSEEN);
        if let Some(known) = self.heap.attr(model, name) {
            return known.clone();
        }
        let here = self.heap.get(model);
        let state = State::Module(ModuleState {
            parts: Default::default(),
            ..here.module().cloned().unwrap_or_default()
        });
        let class = self.layer_class(here.class);
        let layer = self.alloc(place, class, state);
        self.heap.get_mut(model).set_attr(name, Value::Obj(layer));
        Value::Obj(layer)
    }

    /// The class of the layers of a model: the outermost of its framework that is a module.
    fn layer_class(&self, model: ClassRef) -> ClassRef {
        let mut found = model;
        for base in self.lineage(model) {
            if let Base::Api(mut name) = base {
                while let Some(next) =
                    self.apis.class(name).and_then(|api| api.class.as_ref()?.is.first().copied())
                {
                    name = next;
                }
                found = ClassRef::Api(name);
            }
        }
        found
    }

    /// `model.output`: what a model was made of, or something that came through it.
    pub(super) fn model_output(&mut self, call: &Invocation) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        if let Some(output) = self.heap.attr(object, Ustr::from("output")) {
            return output.clone();
        }
        let module = self.heap.get(object).module().cloned().unwrap_or_default();
        self.symbols.symbolic = true;
        Value::tensor(Tensor {
            layers: Some(Rc::new(ObjSet::one(object))),
            device: module.device,
            source: Source::Output,
            learned: true,
            made: Some(call.place),
            confidence: Confidence::Medium,
            ..Tensor::default()
        })
    }

    /// What a module gives: where it learns and ends in something that is not known, that may be anything it made,
    /// and what hangs on it is not known, a graph of its own does.
    pub(super) fn at_least_learned(
        &mut self,
        object: ObjId,
        module: &ModuleState,
        call: &Call,
        output: Value,
    ) -> Value {
        let open = output.is_unknown() || has_open_graph(&output);
        match open && self.learns(object) == Some(true) && !self.is_out_of_fuel() {
            true if output.is_unknown() => self.opaque_output(object, module, call),
            true => self.at_least_recorded(object, module, output, &mut None, call.place),
            false => output,
        }
    }

    fn at_least_recorded(
        &mut self,
        object: ObjId,
        module: &ModuleState,
        output: Value,
        part: &mut Option<u32>,
        place: Place,
    ) -> Value {
        match &output {
            Value::Tensor(tensor) if matches!(tensor.graph, Graph::Unknown) => {
                let graph = self.graph_through(object, module, &tensor.graph, part, place);
                // What is guessed is the graph alone.
                let confidence = match graph {
                    Graph::Unknown => tensor.confidence,
                    _ => tensor.confidence.min(Confidence::Medium),
                };
                Value::tensor(Tensor { graph, confidence, ..(**tensor).clone() })
            }
            // By convention its prediction stands first; accuracies beside it hang on nothing.
            Value::Tuple(items) => {
                match items.iter().position(|item| item.is_unknown() || has_open_graph(item)) {
                    Some(first) if !items[first].is_unknown() => {
                        let mut items = items.to_vec();
                        items[first] =
                            self.at_least_recorded(object, module, items[first].clone(), part, place);
                        Value::tuple(items)
                    }
                    _ => output,
                }
            }
            _ => output,
        }
    }

    /// `model.layers`: one by one where they are known.
    pub(super) fn layers_of_model(&mut self, call: &Invocation) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        if let Some(children) = self.indexed_children(object) {
            return self.list(call.place, children);
        }
        if let Some(any) = self.heap.attr(object, Ustr::from("*")).cloned() {
            return self.list_of(call.place, any);
        }
        let parts = self.heap.get(object).module().map(|module| module.parts.to_vec()).unwrap_or_default();
        if parts.is_empty() {
            let layer = self.unseen_layer(object, call.place);
            return self.list_of(call.place, layer);
        }
        self.list(call.place, parts.into_iter().map(Value::Obj).collect())
    }

    /// `model.optimizer`, once the model is compiled with one.
    pub(super) fn compiled_optimizer(&mut self, call: &Invocation) -> Value {
        let object = call.nth(0).as_obj();
        let optimizer = object.and_then(|object| self.heap.attr(object, Ustr::from("compiled optimizer")));
        optimizer.filter(|value| value.as_obj().is_some()).cloned().unwrap_or_default()
    }

    /// `model.get_layer(name, index)`
    pub(super) fn layer_of_model(&mut self, call: &Invocation) -> Value {
        let Some(object) = call.nth(0).as_obj() else { return Value::Unknown };
        let (wanted, index) = (call.operand(Slot::Name), call.operand(Slot::Index));
        let children = self.indexed_children(object).unwrap_or_else(|| {
            let module = self.heap.get(object).module();
            module
                .map(|module| module.parts.iter().map(|part| Value::Obj(*part)).collect())
                .unwrap_or_default()
        });
        if let Some(index) = index.as_known_int() {
            let at = if index < 0 { index + children.len() as i64 } else { index };
            if let Some(child) = usize::try_from(at).ok().and_then(|at| children.get(at)) {
                return child.clone();
            }
        }
        let name = Ustr::from("name");
        let named = |child: &&Value| {
            let own = child.as_obj().and_then(|child| self.heap.attr(child, name));
            own.is_some_and(|own| own.as_str().is_some() && own.as_str() == wanted.as_str())
        };
        match children.iter().find(named) {
            Some(child) => child.clone(),
            None => self.unseen_layer(object, call.place),
        }
    }

    /// `model.compile(...)` is where a model learns what is trained.
    pub(super) fn compiled(&mut self, model: ObjId, place: Place) {
        self.event(place, Effect::Compiled { model }, Confidence::High);
    }

    pub(super) fn fitted(&mut self, model: &Value, one_step: bool, place: Place) {
        if let Some(model) = model.as_obj() {
            self.event(place, Effect::Fitted { model, one_step }, Confidence::High);
        }
    }

    /// `model.train_on_batch(x)`
    pub(super) fn train_batch(&mut self, call: &Invocation, operands: &[Operand]) {
        if let Some(model) = operands.first() {
            self.fitted(&call.value_of(model), true, call.place);
        }
    }

    /// `layer.trainable = False`: counts from the next compilation on.
    pub(super) fn trainable(&mut self, target: &Value, flag: &Value, place: Place) {
        let Some(object) = target.as_obj() else { return };
        let learns = self.truth(flag);
        let frozen = learns.map(|learns| !learns);
        let parts = self.descendants(object);
        let changes = |part: ObjId| {
            let module = self.heap.get(part).module();
            module.is_some_and(|module| module.frozen != frozen || frozen.is_none())
        };
        let objects: ObjSet = parts.iter().filter(|part| changes(*part)).collect();
        self.freeze_parts(target, frozen);
        if !objects.is_empty() {
            self.event(place, Effect::Trainable { objects, learns }, Confidence::High);
        }
    }

    /// Arguments of a constructor that are properties do what assigning does.
    pub(super) fn settle_properties(&mut self, object: ObjId, call: &Invocation) {
        if self.heap.get(object).module().is_none() {
            return;
        }
        for (name, passed) in call.named().cloned().collect::<Vec<_>>() {
            self.set_property(object, name, &passed.value, call.place);
            if name == "name" && passed.value.as_str().is_some() {
                self.heap.get_mut(object).set_attr(name, passed.value);
            }
        }
    }

    /// Assigning to a property of a framework's class may do something.
    pub(super) fn set_property(&mut self, object: ObjId, name: Ustr, value: &Value, place: Place) {
        let here = self.heap.get(object);
        if here.module().is_none() {
            return;
        }
        let apis = self.apis;
        let property = self.lineage(here.class).into_iter().find_map(|base| match base {
            Base::Api(class) => apis.method(class, name).filter(|api| api.property),
            _ => None,
        });
        if let Some(api) = property.filter(|api| !api.effects.is_empty()) {
            let call = Call::with(place, [Value::Obj(object), value.clone()]);
            self.effects(api, &Invocation::bind(api, &call));
        }
    }
}

/// What is computed from symbolic values is symbolic.
pub(super) fn symbolic(operands: &[&Value], result: Value) -> Value {
    let mut layers: Option<Rc<ObjSet>> = None;
    for operand in operands {
        if let Some(more) = operand.as_tensor().and_then(|tensor| tensor.layers.as_ref()) {
            layers = Some(layers.map_or_else(|| more.clone(), |known| Rc::new(known.union(more))));
        }
    }
    match layers {
        Some(layers) => with_layers(&result, &layers),
        None => result,
    }
}

fn with_layers(value: &Value, layers: &Rc<ObjSet>) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor(Tensor { layers: Some(layers.clone()), ..(**tensor).clone() }),
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| with_layers(item, layers)).collect()),
        _ => value.clone(),
    }
}

/// What any number of layers give of which one gives this: they keep the shape that one keeps.
pub(super) fn any_number_of(call: &Call, value: Value) -> Value {
    let given = call.arg(0, "input").and_then(Value::as_tensor);
    let keeps = value.as_tensor().zip(given).is_some_and(|(a, b)| a.shape == b.shape);
    if keeps { value } else { shapeless(&value) }
}

/// The same numbers, in a shape that is not known.
pub(super) fn shapeless(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor((**tensor).clone().with_shape(None)),
        Value::Tuple(items) => Value::tuple(items.iter().map(shapeless).collect()),
        other => other.clone(),
    }
}

/// Whether nobody knows if anything hangs on a value that a module gives.
fn has_open_graph(value: &Value) -> bool {
    let is_live = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.graph.is_live());
    match value {
        Value::Tensor(tensor) => matches!(tensor.graph, Graph::Unknown),
        Value::Tuple(items) => !items.iter().any(is_live) && items.iter().any(has_open_graph),
        _ => false,
    }
}
