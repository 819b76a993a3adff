//! Functions made of functions: one that gives the derivative of another, one that runs another over a batch,
//! loops and choices that are calls. What is differentiated is learned: a tree of parameters, any part of which
//! is one, too.

use super::{Call, Interp, Invocation, call_path::Hop, lineage::Base, trees};
use crate::apis::{Api, Slot, Transfer};
use crate::report::{Confidence, Place};
use crate::syntax::{Function, FunctionBody, Param, StmtKind};
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// The functions that transfers make; no name of the language looks like these.
const DERIVATIVE: &str = "derivative of";
const MAPPED: &str = "mapped over";

/// What a derivative is bound to: the function, which arguments, whether it gives more than the loss, and
/// whether its value is given beside the derivative.
const SETTINGS: usize = 4;

/// Parameters in deeper structures than this stay what they are.
const DEEPEST: usize = 6;

impl<'p> Interp<'p> {
    /// `derivative-of f argnums has_aux ['value']`
    pub(super) fn derivative_of(&mut self, call: &Invocation) -> Value {
        let with_value = Value::Bool(Some(matches!(call.operand(Slot::Word), Value::Str(_))));
        let settings =
            vec![call.operand(Slot::F), call.operand(Slot::Argnums), call.operand(Slot::HasAux), with_value];
        bound_to(DERIVATIVE, settings)
    }

    /// `mapped f`
    pub(super) fn mapped(&mut self, call: &Invocation) -> Value {
        bound_to(MAPPED, vec![call.nth(0)])
    }

    /// `call-result f args`
    pub(super) fn call_result(&mut self, call: &Invocation) -> Value {
        let args = match call.operand(Slot::Args) {
            Value::Tuple(items) => items.to_vec(),
            Value::Unknown => Vec::new(),
            one => vec![one],
        };
        self.call_value(&call.operand(Slot::F), &Call::with(call.place, args))
    }

    /// `compose functions x`
    pub(super) fn composed(&mut self, call: &Invocation) -> Value {
        let Some(steps) = self.iterate(&call.operand(Slot::Functions), call.place).exact else {
            return Value::Unknown;
        };
        let reads_images = steps.iter().any(|step| self.reads_images(step));
        let given = match call.operand(Slot::X) {
            Value::Unknown if reads_images => Value::tensor(picture()),
            given => given,
        };
        let apply = |value, step: &Value| self.call_value(step, &Call::with(call.place, [value]));
        let made = steps.iter().fold(given, apply);
        // `transform(image, boxes)` gives both again.
        if call.rest.is_empty() { made } else { Value::Unknown }
    }

    /// Whether something makes tensors of images, and takes nothing else.
    fn reads_images(&self, step: &Value) -> bool {
        let api = step.as_obj().and_then(|step| self.layer_api(step));
        api.and_then(Api::transfer) == Some(Transfer::ImageTensor)
    }

    /// Whether calling a function of the frameworks makes a function of what it is given.
    pub(super) fn makes_function(&self, name: Ustr) -> bool {
        self.apis.get(name).and_then(Api::transfer).is_some_and(Transfer::makes_function)
    }

    /// A call of what a transfer made; `None` of other functions.
    pub(super) fn made_function(&mut self, name: &str, call: &Call) -> Option<Value> {
        match name {
            DERIVATIVE => Some(self.differentiated(call)),
            MAPPED => Some(self.run_mapped(call)),
            _ => None,
        }
    }

    fn differentiated(&mut self, call: &Call) -> Value {
        let mut inner = call.clone();
        let settings: Vec<Value> = inner
            .positional
            .drain(..SETTINGS.min(inner.positional.len()))
            .map(|passed| passed.value)
            .collect();
        let [function, arguments, has_more, with_value] = settings.as_slice() else { return Value::Unknown };
        let mut gradients = Vec::new();
        for at in chosen(arguments) {
            let Some(passed) = inner.positional.get_mut(at) else { continue };
            gradients.push(passed.value.clone());
            passed.value = self.learnable(&passed.value.clone(), DEEPEST, call.place);
        }
        let before = self.push_context(ContextKind::Recording);
        let given = self.call_value(function, &inner);
        self.pop_context(before);
        let loss = match (&given, has_more.as_bool()) {
            (Value::Tuple(items), _) => items.first().cloned().unwrap_or_default(),
            (_, Some(true)) => Value::Unknown,
            _ => given.clone(),
        };
        self.walk(&loss);
        if let Value::Tensor(loss) = loss.bare() {
            let confidence = loss.confidence;
            self.see(call.place, Sight::Backward { loss: loss.clone(), has_gradient: true }, confidence);
        }
        let of = match (arguments.bare(), gradients.as_slice()) {
            (Value::Int(_), [of]) => of.clone(),
            (Value::Tuple(items), _) if items.len() == gradients.len() => Value::tuple(gradients),
            _ => Value::Unknown,
        };
        let gradient = trees::gradient_like(self, &of, call.place);
        if with_value.as_bool() == Some(true) { Value::tuple(vec![given, gradient]) } else { gradient }
    }

    /// Over the first dimension, or another: of one sample nothing is known of the shape.
    fn run_mapped(&mut self, call: &Call) -> Value {
        let mut inner = call.clone();
        if inner.positional.is_empty() {
            return Value::Unknown;
        }
        let function = inner.positional.remove(0).value;
        for passed in &mut inner.positional {
            passed.value = without_shape(&passed.value);
        }
        let result = self.call_value(&function, &inner);
        without_shape(&result)
    }

    /// `each-step layer x`: a layer that is called for each step of a sequence, along the second axis.
    pub(super) fn each_step(&mut self, call: &Invocation) -> Value {
        let inputs = call.operand(Slot::X);
        let shape = inputs.as_tensor().and_then(|inputs| inputs.shape.clone());
        let steps = shape.as_deref().and_then(|shape| shape.get(1)).cloned();
        let one = match (inputs.as_tensor(), shape.as_deref()) {
            (Some(inputs), Some([batch, _, rest @ ..])) => {
                let shape = std::iter::once(batch).chain(rest).cloned().collect();
                Value::tensor((**inputs).clone().with_shape(Some(shape)))
            }
            _ => inputs,
        };
        let output = self.call_value(&call.operand(Slot::Layer), &Call::with(call.place, [one]));
        let Value::Tensor(output) = output else { return Value::Unknown };
        let shape = match (output.shape.as_deref(), steps) {
            (Some([batch, rest @ ..]), Some(steps)) => {
                Some([batch.clone(), steps].into_iter().chain(rest.iter().cloned()).collect())
            }
            _ => None,
        };
        let last = output.last_size();
        Value::tensor(Tensor {
            last: last.filter(|_| shape.is_none()),
            ..(*output).clone().with_shape(shape)
        })
    }

    /// `scanned f init xs`: the state that is carried on, and what each step gave.
    pub(super) fn scanned(&mut self, call: &Invocation) -> Value {
        let row = match call.operand(Slot::Xs) {
            Value::None => Value::None,
            rows => without_shape(&self.iterate(&rows, call.place).any),
        };
        let step = Call::with(call.place, [call.operand(Slot::Init), row]);
        match self.call_value(&call.operand(Slot::F), &step) {
            Value::Tuple(items) if items.len() == 2 => {
                Value::tuple(vec![items[0].clone(), without_shape(&items[1])])
            }
            _ => Value::Unknown,
        }
    }

    /// `either f g args`: what one of two functions gives.
    pub(super) fn either_result(&mut self, call: &Invocation) -> Value {
        let inner = Call::with(call.place, call.rest.iter().cloned());
        let one = self.call_value(&call.operand(Slot::F), &inner);
        let other = self.call_value(&call.operand(Slot::G), &inner);
        self.heap.join(&one, &other)
    }

    /// `module-result module args [variables method]`: what calling a module gives whose parameters are handed to it.
    pub(super) fn module_result(&mut self, call: &Invocation) -> Value {
        let (module, method) = (call.nth(0), call.get("method"));
        let keywords = call.more.clone();
        let inner = Call { open: call.open, keywords, ..Call::with(call.place, call.rest.iter().cloned()) };
        let Some(object) = module.as_obj() else { return Value::Unknown };
        let output = match method.bare() {
            Value::Function(closure) => self.inline(closure, Some(&module), &inner),
            Value::Str(Some(name)) => {
                let method = self.get_attr(&module, Ustr::from(name), call.place);
                self.call_value(&method, &inner)
            }
            Value::Bound(_) => self.call_value(&method, &inner),
            Value::None => self.call_module(object, &inner),
            _ => Value::Unknown,
        };
        let output = self.or_of_tree(output, call);
        let changes = call.get("mutable");
        match changes.bare() {
            Value::None | Value::Bool(Some(false)) => output,
            _ => Value::tuple(vec![output, Value::Unknown]),
        }
    }

    /// `inner-result self args`: a call of the function that an object was made of.
    pub(super) fn inner_result(&mut self, call: &Invocation) -> Value {
        let mut function = call.nth(0);
        for _ in 0..DEEPEST {
            let Some(object) = function.as_obj() else { break };
            let Some(inner) = self.heap.attr(object, Ustr::from("f")) else { break };
            function = inner.clone();
        }
        let mut inner = Call::with(call.place, call.rest.iter().cloned());
        inner.open = call.open;
        inner.keywords.extend(call.more.iter().cloned());
        let output = self.call_value(&function, &inner);
        self.or_of_tree(output, call)
    }

    /// What a model gives whose code is not understood, of parameters that it was handed.
    fn or_of_tree(&mut self, output: Value, call: &Invocation) -> Value {
        if !output.is_unknown() {
            return output;
        }
        let handed = ["params", "variables"].map(|name| call.get(name));
        self.made_of_tree(&Call::with(call.place, handed)).unwrap_or_default()
    }

    /// `record self-or-class`: an object whose attributes are the arguments.
    pub(super) fn recorded_arguments(&mut self, call: &Invocation) -> Value {
        let own = call.api.name.as_str().rsplit_once('.').map_or(call.api.name, |(class, _)| class.into());
        let class = call.nth(0).as_obj().map_or(ClassRef::Api(own), ClassRef::Project);
        let object = self.alloc(call.place, class, State::Plain);
        for param in call.api.params.iter().filter(|param| param.name != "cls") {
            if call.is_given(&param.name) {
                let value = call.get(&param.name);
                self.heap.get_mut(object).set_attr(param.name, value);
            }
        }
        for (name, passed) in &call.more {
            self.heap.get_mut(object).set_attr(*name, passed.value.clone());
        }
        Value::Obj(object)
    }

    /// A part of a tree of parameters that is called: its method, as in `params.items()`, or a model.
    pub(super) fn called_tree(&mut self, tree: &Value, call: &Call) -> Value {
        let names = |value: &Value| matches!(value.bare(), Value::Str(_) | Value::None | Value::Bool(_));
        if call.values().all(names) {
            return tree.clone();
        }
        self.havoc(call);
        self.made_of_tree(&call.with_first(tree.clone())).unwrap_or_default()
    }

    /// Whether a method is the one in which a framework trains, whoever goes back.
    pub(super) fn trains_in(&self, receiver: &Value, method: Ustr) -> bool {
        receiver.as_obj().is_some_and(|object| self.walking_bases(object, method).next().is_some())
    }

    /// Whether the framework walks what a method gives.
    pub(super) fn gives_loss(&self, receiver: &Value, method: Ustr) -> bool {
        let Some(object) = receiver.as_obj() else { return false };
        let refuses = |class: Ustr| {
            let attrs = &self.heap.get(object).attrs;
            let mut set = attrs.iter().filter(|(_, value)| matches!(value, Value::Bool(Some(false))));
            set.any(|(name, _)| self.apis.walks_while(class, *name))
        };
        self.walking_bases(object, method).any(|base| !refuses(base))
    }

    /// The frameworks' classes above an object that walk what this method gives, if they are not told otherwise.
    fn walking_bases(&self, object: ObjId, method: Ustr) -> impl Iterator<Item = Ustr> {
        self.lineage(self.heap.get(object).class).into_iter().filter_map(move |base| match base {
            Base::Api(name) => self.apis.walks(name, method).then_some(name),
            _ => None,
        })
    }

    /// A parameter of a hook: the framework gives what its name says, and leaves flags as they are.
    pub(super) fn as_hooks_are_called(&mut self, closure: &Closure, param: &Param, value: Value) -> Value {
        if let Some(object) = value.as_obj() {
            let is_placed = closure.class.is_some_and(|class| self.is_owned_class(ClassRef::Project(class)));
            let given = self.heap.get_mut(object);
            given.confidence = given.confidence.max(Confidence::Medium);
            if let State::Module(module) = &mut given.state
                && is_placed
            {
                module.device = Device::Accelerator;
            }
        }
        let default = closure.defaults.iter().find(|(name, _)| *name == param.name);
        match default {
            Some((_, flag @ Value::Bool(_))) => flag.clone(),
            _ => value,
        }
    }

    /// The loss that a hook returns: alone, first of several, or by its name.
    pub(super) fn note_returned_loss(&mut self, returned: &Value, hook: &Function, place: Place) {
        let loss = match returned.bare() {
            Value::Tuple(items) => items.first().cloned().unwrap_or_default(),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Dict(entries) => entries.get(&Key::Str(Rc::from("loss"))).cloned().unwrap_or_default(),
                _ => Value::Unknown,
            },
            other => other.clone(),
        };
        // What is computed and a number of the language came out of `loss.item()`.
        if let Value::Float(None) = loss {
            let at = self.returned_last(hook, place);
            let number = self.number_as_loss(at);
            return self.note_walked(&number, true, at);
        }
        self.note_walked(&loss, true, place);
    }

    /// What a hook returns at its end.
    fn returned_last(&self, hook: &Function, place: Place) -> Place {
        let tree = self.tree(place.file);
        let FunctionBody::Block(body) = &hook.body else { return place };
        match body.last().map(|last| &tree.stmt(*last).kind) {
            Some(StmtKind::Return(Some(value))) => Place::new(place.file, tree.expr(*value).span),
            _ => place,
        }
    }

    /// What a model makes that nobody sees, of parameters that it is given.
    pub(super) fn made_of_tree(&mut self, call: &Call) -> Option<Value> {
        let holds = call.values().any(|value| self.holds_tree(value, 2));
        holds.then(|| {
            Value::tensor(Tensor {
                learned: true,
                source: Source::Output,
                confidence: Confidence::Medium,
                made: Some(call.place),
                ..Tensor::default()
            })
        })
    }

    fn holds_tree(&self, value: &Value, depth: usize) -> bool {
        match value.bare() {
            Value::Tensor(tensor) => tensor.learned && tensor.is_tree(),
            Value::Tuple(items) if depth > 0 => items.iter().any(|item| self.holds_tree(item, depth - 1)),
            Value::Obj(object) if depth > 0 => match &self.heap.get(*object).state {
                State::Dict(entries) => {
                    entries.known.iter().any(|(_, item)| self.holds_tree(item, depth - 1))
                }
                State::List(Items { exact: Some(items), .. }) => {
                    items.iter().any(|item| self.holds_tree(item, depth - 1))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// A value as what is learned of it.
    fn learnable(&mut self, value: &Value, depth: usize, place: Place) -> Value {
        if depth == 0 {
            return value.clone();
        }
        match value {
            Value::Unknown => Value::tensor(Tensor {
                relation: Some(Rc::new(Relation::Tree)),
                confidence: Confidence::Medium,
                made: Some(place),
                ..learned(&Tensor::default())
            }),
            Value::Tensor(tensor) => Value::tensor(learned(tensor)),
            Value::Tuple(items) => Value::tuple(self.learnable_items(items, depth, place)),
            Value::Obj(object) => match self.heap.get(*object).state.clone() {
                State::List(Items { exact: Some(items), .. }) => {
                    let items = self.learnable_items(&items, depth, place);
                    self.list(place, items)
                }
                State::List(items) => {
                    let any = self.learnable_items(&[items.any], depth, place).remove(0);
                    self.list_of(place, any)
                }
                State::Dict(entries) => {
                    let (keys, values): (Vec<_>, Vec<_>) = entries.known.into_iter().unzip();
                    let known = keys.into_iter().zip(self.learnable_items(&values, depth, place)).collect();
                    let other = entries.other.map(|other| self.learnable(&other, depth - 1, place));
                    self.dict(place, Entries::new(known, other))
                }
                _ => self.learnable_fields(*object, depth, place),
            },
            other => other.clone(),
        }
    }

    /// The items of a container, each an object of its own: all are made at the one place of the call.
    fn learnable_items(&mut self, items: &[Value], depth: usize, place: Place) -> Vec<Value> {
        let item = |(index, item): (usize, &Value)| {
            let hop = Hop::Nth(place, index as u32);
            self.one_hop_on(hop, |interp| interp.learnable(item, depth - 1, place))
        };
        items.iter().enumerate().map(item).collect()
    }

    /// An instance of a class of the project, whose tensors are what is learned.
    fn learnable_fields(&mut self, object: ObjId, depth: usize, place: Place) -> Value {
        let ClassRef::Project(class) = self.heap.get(object).class else { return Value::Obj(object) };
        let attrs = self.heap.get(object).attrs.clone();
        let has_tensors = attrs.iter().any(|(_, value)| value.as_tensor().is_some());
        if !has_tensors {
            return Value::Obj(object);
        }
        let state = self.heap.get(object).state.clone();
        let copy = self.alloc(place, ClassRef::Project(class), state);
        for (name, value) in attrs {
            let value = match value {
                Value::Tensor(_) => self.learnable(&value, depth - 1, place),
                other => other,
            };
            self.heap.get_mut(copy).set_attr(name, value);
        }
        Value::Obj(copy)
    }
}

/// A function made of another one, as the method of a receiver; what `functools.partial` makes is bound to none.
pub(super) fn as_method(made: &Partial, receiver: &Value) -> Option<Value> {
    let is_function = matches!(made.callee, Value::Builtin(name) if name == DERIVATIVE || name == MAPPED);
    let positional = made.positional.iter().chain([receiver]).cloned().collect();
    is_function.then(|| {
        Value::partial(Partial { positional, callee: made.callee.clone(), keywords: made.keywords.clone() })
    })
}

fn bound_to(name: &str, positional: Vec<Value>) -> Value {
    let callee = Value::Builtin(Ustr::from(name));
    Value::partial(Partial { callee, positional, keywords: Vec::new() })
}

/// Which arguments a derivative is taken of.
fn chosen(arguments: &Value) -> Vec<usize> {
    let index = |value: &Value| value.as_known_int().and_then(|at| usize::try_from(at).ok());
    match arguments.bare() {
        Value::Tuple(items) => items.iter().filter_map(index).collect(),
        other => index(other).into_iter().collect(),
    }
}

fn learned(tensor: &Tensor) -> Tensor {
    if tensor.dtype.is_some_and(|dtype| !dtype.is_float()) {
        return tensor.clone();
    }
    Tensor {
        learned: true,
        source: Source::Parameter,
        // Where it starts is far from where it would be wrong, as a rule.
        range: None,
        graph: Graph::Unknown,
        is_array: false,
        mark: None,
        hazards: None,
        numbers: None,
        relation: tensor.relation.clone().filter(|relation| matches!(**relation, Relation::Tree)),
        what: None,
        ..tensor.clone()
    }
}

fn without_shape(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor((**tensor).clone().with_shape(None)),
        Value::Tuple(items) => Value::tuple(items.iter().map(without_shape).collect()),
        other => other.clone(),
    }
}

/// An image of some size, with its channels last.
fn picture() -> Tensor {
    let shape = Some([Int::Unknown, Int::Unknown, Int::Unknown].into());
    Tensor { shape, is_array: true, source: Source::Data, graph: Graph::None, ..Tensor::default() }
}
