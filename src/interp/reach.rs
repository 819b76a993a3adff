//! What a call that is not understood gets hold of: the training state within reach of its arguments. And what the
//! name of a method says where nobody knows what it is a method of.

use super::transfer::tensor_type_device;
use super::{Call, Interp, UnknownMethod};
use crate::apis::{Api, Role, Transfer, Verb};
use crate::names::subject_of;
use crate::report::{Confidence, Place};
use crate::syntax::ExprId;
use crate::trace::{Does, Effect, FnKey};
use crate::values::*;
use ustr::Ustr;

/// How graphs leave what is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leaving {
    #[default]
    Used,
    /// To a function that nobody sees: it may go back through them, but not through what was freed before.
    HandedOver,
    Returned,
}

/// What the names of functions say that clear the gradients of layers.
const CLEARS: [&str; 6] = ["zero", "clear", "reset", "step", "train", "fit"];
/// Of those that add to them, scale them or read them.
const WRITES: [&str; 2] = ["grad", "backward"];
/// Of those that do anything with an optimizer.
const OPTIMIZES: [&str; 7] = ["update", "apply", "optim", "epoch", "iter", "loop", "run"];
/// Of those that run models, or set them up, in a mode of their own.
const RUNS: [&str; 26] = [
    "mode", "train", "eval", "val", "test", "fit", "epoch", "iter", "loop", "run", "infer", "predict",
    "generat", "sampl", "score", "bench", "acc", "metric", "demo", "visual", "plot", "extract", "freeze",
    "set", "prepare", "init",
];

/// Words that hold the name of an act and speak of something else: what was trained, or can be.
const NO_ACTS: [&str; 3] = ["trained", "trainable", "constrain"];

/// The name of a function, lower case, without what only looks like an act: `save_pretrained` trains nothing.
fn without_participles(name: &str) -> String {
    NO_ACTS.iter().fold(name.to_owned(), |name, word| name.replace(word, ""))
}

impl Interp<'_> {
    /// `def perceptual_loss(...)`, in a class or not, and any method of `class PerceptualLoss`.
    fn is_named_a_loss(&self, key: FnKey) -> bool {
        let tree = self.tree(key.file);
        let definition = tree.function(key.function);
        let class = definition.class.map(|class| tree.class(class).name);
        [Some(definition.name), class].into_iter().flatten().any(|name| self.apis.computes_loss(&name))
    }

    /// Whoever calls a function may walk the graph of what it returns.
    pub(super) fn hand_to_callers(&mut self, result: &Value) {
        let mut reached = ObjSet::default();
        self.graphs.leaving = Leaving::Returned;
        self.reach(result, &mut reached, 3);
        self.graphs.leaving = Leaving::Used;
    }

    /// A call that is not understood: it may have done anything to the training state it can reach.
    pub(super) fn havoc(&mut self, call: &Call) {
        self.havoc_by(None, call);
    }

    /// The same, of something that is called by a name: one that says nothing of training leaves gradients as they are.
    pub(super) fn havoc_by(&mut self, name: Option<Ustr>, call: &Call) {
        self.spoil_arguments(call);
        self.open_what_is_kept();
        let mut touched = ObjSet::default();
        let values: Vec<Value> = call.values().cloned().collect();
        let before = std::mem::replace(&mut self.graphs.leaving, Leaving::HandedOver);
        for value in &values {
            self.lose_track(value);
            self.reach(value, &mut touched, 3);
        }
        self.graphs.leaving = before;
        for object in touched.iter() {
            self.on_escape(object);
            super::heads::doubt_layers(self, object);
            self.leave_places_open(&Value::Obj(object));
        }
        // A layer that is not known computes: whatever a forward calls clears no gradients and takes no step.
        if !touched.is_empty() && !self.in_forward() {
            let does = name.map_or(Does::Anything, |name| self.done_by(&name, &touched, &values));
            let sets_modes = does == Does::Anything || name.is_none_or(|name| may_set_modes(&name));
            self.event(call.place, Effect::Touch { objects: touched, does, sets_modes }, Confidence::High);
        }
    }

    /// `loss.backwrad()`: a method that tensors do not have, and whose result nobody wants. Whatever was meant, gradients
    /// are not known from here on.
    pub(super) fn gradients_by_unknown(&mut self, receiver: &Value, call: Place) {
        let Value::Tensor(tensor) = receiver else { return };
        let Graph::Live(nodes) = &tensor.graph else { return };
        if self.discarded == Some(call) && !nodes.leaves.is_empty() {
            let objects = nodes.leaves.clone();
            let does = Does::Anything;
            self.event(call, Effect::Touch { objects, does, sets_modes: false }, Confidence::High);
        }
    }

    /// A call by a name of what nobody sees: what it may have done, and what it gives.
    pub(super) fn unseen(&mut self, name: Ustr, call: &Call) -> Value {
        self.havoc_by(Some(name), call);
        self.made_of_tree(call).unwrap_or_default()
    }

    /// What code from elsewhere may do to gradients, by its name and by what it is given.
    fn done_by(&self, name: &str, touched: &ObjSet, given: &[Value]) -> Does {
        let name = name.rsplit('.').next().unwrap_or(name);
        let is_class = name.starts_with(char::is_uppercase);
        let name = without_participles(&name.to_lowercase());
        let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let is_optimizer = |object: ObjId| matches!(self.heap.get(object).state, State::Optimizer(_));
        let with_optimizer = touched.iter().any(is_optimizer);
        // Who has the optimizer and a loss may well go back and step, and an object that keeps it at any time.
        let is_loss = |value: &Value| value.as_tensor().is_some_and(|one| !matches!(one.graph, Graph::None));
        let with_loss = || given.iter().any(is_loss);
        match () {
            () if with_optimizer && (is_class || says(&OPTIMIZES) || says(&WRITES) || with_loss()) => {
                Does::Anything
            }
            () if says(&CLEARS) && !is_average(&name, given.iter()) => Does::Anything,
            // What is kept of a graph, `gradient_checkpointing_enable`, is no gradient.
            () if says(&WRITES) && !name.contains("checkpoint") => Does::Writes,
            () => Does::Nothing,
        }
    }

    /// Graphs within reach of a value may be walked by somebody that is not seen.
    pub(super) fn hand_over(&mut self, value: &Value) {
        let before = std::mem::replace(&mut self.graphs.leaving, Leaving::HandedOver);
        self.reach(value, &mut ObjSet::default(), 0);
        self.graphs.leaving = before;
    }

    /// Optimizers and modules within reach of a value; graphs in reach may be walked from now on.
    pub(super) fn reach(&mut self, value: &Value, found: &mut ObjSet, depth: u32) {
        match value {
            Value::Tensor(tensor) => self.let_go(tensor),
            Value::Tuple(items) => items.iter().for_each(|item| self.reach(item, found, depth)),
            Value::Maybe(inner) => self.reach(inner, found, depth),
            Value::Params(params) => params.owners.iter().for_each(|owner| found.insert(owner)),
            Value::Bound(bound) => self.reach(&bound.receiver, found, depth),
            Value::AnyOf(all) => all.iter().for_each(|value| self.reach(value, found, depth)),
            Value::Partial(partial) => {
                partial.positional.iter().for_each(|item| self.reach(item, found, depth));
            }
            Value::Function(closure)
                if depth > 0
                // A callback may use whatever its frame holds.
                && self.heap.get(closure.env).state_is_frame()
                    && self.loaded.scopes.get(&closure.env).is_some_and(|s| s.function.is_some()) =>
            {
                self.reach_object(closure.env, found, depth - 1);
            }
            Value::Obj(object) => self.reach_object(*object, found, depth),
            _ => {}
        }
    }

    fn reach_object(&mut self, object: ObjId, found: &mut ObjSet, depth: u32) {
        if found.contains(object) {
            return;
        }
        let here = self.heap.get(object);
        if matches!(here.state, State::Module(_) | State::Optimizer(_) | State::Scaler) {
            found.insert(object);
            return;
        }
        if matches!(here.state, State::Sampler(_) | State::Loader(_)) {
            found.insert(object);
        }
        self.burn_over(here.attrs.len() + here.notes.len() + here.state.held() + 1);
        self.open_options(object);
        if depth == 0 || self.is_out_of_fuel() {
            return;
        }
        let here = self.heap.get(object);
        let mut values: Vec<Value> = here.attrs.iter().map(|(_, value)| value.clone()).collect();
        values.extend(here.notes.iter().map(|(_, value)| value.clone()));
        match &here.state {
            State::List(items) => {
                values.extend(items.exact.iter().flatten().cloned());
                values.push(items.any.clone());
            }
            State::Dict(entries) => {
                values.extend(entries.known.iter().map(|(_, value)| value.clone()));
                values.extend(entries.other.clone());
            }
            State::Class(_) => return,
            _ => {}
        }
        values.iter().for_each(|value| self.reach(value, found, depth - 1));
    }
}

impl Object {
    fn state_is_frame(&self) -> bool {
        matches!(self.state, State::Frame)
    }
}

impl Interp<'_> {
    /// A method of something unknown: a name that only tensors have says that it is one.
    pub(super) fn method_of_unknown(&mut self, base: ExprId, name: Ustr, call: &Call) -> Value {
        if (self.apis.is_tensor_method(name)
            || self.is_told_type(name, call)
            || self.is_told_axis(name, call))
            && let Some(api) = self.apis.method_of(Role::Tensor, name)
        {
            let tensor = Value::tensor(Tensor { confidence: Confidence::Medium, ..Tensor::default() });
            return self.call_api_method(api.name, &tensor, call);
        }
        self.mode_by_unknown(&Value::Unknown, name, call.place);
        self.on_unknown_method(&UnknownMethod { name, call });
        // An environment that steps is told an action, a moving average the parameters: an optimizer has them. What
        // clears gradients is none, though its step is told something.
        let acts = call.values().any(|value| self.may_be_action(value)) && !self.clears_somewhere(base);
        let averages = is_average(&name, call.values());
        if !acts && !averages && self.apis.method_does(Role::Optimizer, name, Verb::Step) {
            self.event(call.place, Effect::UnseenStep, Confidence::High);
        }
        if [Role::Optimizer, Role::Module]
            .into_iter()
            .any(|role| self.apis.method_does(role, name, Verb::Clear))
        {
            // Something is cleared, and it may be anything.
            let effect = Effect::Clear { targets: ObjSet::default(), whole: false };
            self.event(call.place, effect, Confidence::High);
        }
        self.unseen(name, call)
    }

    /// `x.type(torch.FloatTensor)`: nothing but a tensor is told a type of tensors.
    fn is_told_type(&self, name: Ustr, call: &Call) -> bool {
        let casts = self.apis.method_of(Role::Tensor, name).and_then(Api::transfer) == Some(Transfer::Cast);
        let wanted = call.positional.first().map(|passed| &passed.value);
        let device = wanted.filter(|_| casts).and_then(tensor_type_device);
        device.is_some_and(|device| device != Device::Unknown)
    }

    /// `x.size(0)`: nothing but a tensor is asked for its size along an axis.
    fn is_told_axis(&self, name: Ustr, call: &Call) -> bool {
        let sizes =
            || self.apis.method_of(Role::Tensor, name).and_then(Api::transfer) == Some(Transfer::Size);
        matches!(&*call.positional, [axis] if axis.value.as_known_int().is_some()) && sizes()
    }

    /// Whether something is told to clear gradients anywhere in the file.
    fn clears_somewhere(&self, receiver: ExprId) -> bool {
        let module = self.module(self.file());
        let function = self.frames.last().and_then(|frame| frame.function);
        let Some(subject) = subject_of(&module.tree, &module.names, receiver, function) else { return false };
        let clears = |method: Ustr| self.apis.method_does(Role::Optimizer, method, Verb::Clear);
        module.relations().acts_of(subject).any(|act| act.method.is_some_and(clears))
    }

    /// Whether an environment may be told this: a closure, a model or an optimizer is no action.
    fn may_be_action(&self, value: &Value) -> bool {
        match value {
            Value::Function(_) | Value::Bound(_) => false,
            Value::Obj(object) => {
                !matches!(self.heap.get(*object).state, State::Module(_) | State::Optimizer(_))
            }
            _ => true,
        }
    }
}

/// Whether a step is one of a moving average of parameters: an optimizer has its own, and is not given any.
fn is_average<'v>(name: &str, mut given: impl Iterator<Item = &'v Value>) -> bool {
    name == "step" && given.any(|value| matches!(value.bare(), Value::Params(_)))
}

/// Whether code that is not seen may put a model into another mode, by its name: what counts, saves or averages parameters
/// leaves modes as they are. An object that keeps the model may do so at any time.
fn may_set_modes(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_class = name.starts_with(char::is_uppercase);
    let name = without_participles(&name.to_lowercase());
    is_class || RUNS.iter().any(|word| name.contains(word))
}

/// A script that computes a loss of tensors once, and not in a training, shows what the file offers: whoever
/// imports the loss goes back through what it gives.
pub(super) fn hand_on_loss(interp: &mut Interp, key: FnKey, call: &Call, result: &Value) {
    let by_script = interp.frames.last().is_some_and(|frame| frame.function.is_none());
    if !by_script || interp.in_loop() || call.open || !interp.is_named_a_loss(key) {
        return;
    }
    let mut given = call.positional.iter().chain(call.keywords.iter().map(|(_, passed)| passed)).peekable();
    if given.peek().is_some() && given.all(|passed| passed.value.as_tensor().is_some()) {
        interp.hand_to_callers(result);
    }
}
