//! What the effects of framework calls do to the heap and to the trace: backward passes, steps, clearing,
//! what a parameter asks for, callbacks. The tables say which effects a call has.

use super::{Call, Declared, Interp, Invocation, stmt::Flow, transfer};
use crate::apis::{Api, Operand, Role, Verb};
use crate::report::{Confidence, Place};
use crate::trace::{Effect, Node, Over, ScalerAct};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What an optimizer calls in each step.
const BEFORE_STEP: Note = Note::new("hooks before a step");
const AFTER_STEP: Note = Note::new("hooks after a step");

/// Of a module: the name under which it registered a parameter as a buffer.
pub(crate) const LEARNED_BUFFER: Note = Note::new("learned buffer");

impl<'p> Interp<'p> {
    pub(super) fn effects(&mut self, api: &'p Api, call: &Invocation) {
        for effect in &api.effects {
            self.on_effect(&Declared { effect, call });
            let arg = |index: usize| effect.args.get(index).map_or(Value::None, |arg| call.value_of(arg));
            match effect.verb {
                Verb::Backward => {
                    let gradient = effect.args.get(1).is_some_and(|gradient| is_passed(gradient, call));
                    let said = |index: usize| effect.args.get(index).map(|_| arg(index));
                    let retains = self.retains([said(2), said(3)], call);
                    self.backward(&arg(0), call, gradient, retains);
                }
                Verb::Step if self.truth(&arg(3)) == Some(true) => {
                    self.steps_around(&arg(0), &arg(1), call);
                }
                Verb::Step => self.step(&arg(0), &arg(1), &arg(2), call),
                Verb::Schedule => {
                    let to_epoch = effect.args.get(1).is_some_and(|epoch| is_passed(epoch, call));
                    self.schedule(&arg(0), to_epoch, call.place);
                }
                Verb::Unscale => {
                    // One that is not known may be any.
                    let optimizer = self.optimizer_within(&arg(1));
                    self.scaler(&arg(0), optimizer.map_or(ScalerAct::Read, ScalerAct::Unscale), call);
                }
                Verb::UpdateScale => self.scaler(&arg(0), ScalerAct::Update, call),
                Verb::ReadScale => self.scaler(&arg(0), ScalerAct::Read, call),
                Verb::Clip => self.clip(&arg(0), &arg(1), call.place),
                Verb::Clear => self.clear(&arg(0), call.place),
                Verb::Train => {
                    let flag = (effect.args.len() > 1).then(|| arg(1));
                    self.train(&arg(0), flag.as_ref(), call.place);
                }
                Verb::Eval => self.set_mode(&arg(0), Mode::Eval, call.place),
                Verb::RequiresGrad => self.requires_grad(&arg(0), &arg(1), call.place),
                Verb::Move => {
                    let device = transfer::device_of(self, &arg(1));
                    self.place_parts(&arg(0), device);
                }
                Verb::Call => {
                    let args: Vec<Value> = (1..effect.args.len()).map(arg).collect();
                    self.call_back(&arg(0), args, call.place);
                }
                Verb::Hook => self.hook(&arg(0), &arg(1), &arg(2), call.place),
                Verb::StepHook => self.hook_step(&arg(0), arg(1), &arg(2)),
                Verb::Fit => self.fit(call, &effect.args),
                Verb::Predict => self.predicted(call, &arg(0), &arg(1)),
                Verb::Example => self.example(&arg(0), &arg(1), call.place),
                Verb::ExampleOf => self.example_of(&arg(0), &arg(1), &arg(2), call.place),
                Verb::Compile => super::compiled::compile(self, call, &effect.args),
                Verb::AddLayer => {
                    let before = (effect.args.len() > 2).then(|| arg(2));
                    super::stacked::add_layer(self, &arg(0), &arg(1), before.as_ref());
                }
                Verb::DefaultDevice => self.default_device_from_here(&arg(0)),
                Verb::ScoreOn => self.note_gone_through(&arg(0), false, call.place, Confidence::High),
                Verb::GradMode => self.ambient.grad = self.truth(&arg(0)),
                Verb::Walk => self.walk_for_values(&arg(0), call.place),
                Verb::AddParams => self.add_params(&arg(0), &arg(1), call.place),
                Verb::Spawn => self.spawn(&arg(0), &arg(1), call.place),
                Verb::Zero => self.zero(&arg(0), call.place),
                Verb::Register => self.register(&arg(0), &arg(1), arg(2), &arg(3)),
                Verb::DefaultDType => self.default_dtype_from_here(&arg(0)),
                Verb::Empty => self.empty(&arg(0), call.place),
                Verb::Redraw => self.redraw(&arg(0), call.place),
                Verb::Restore => {
                    self.note_resumed(&arg(0), &arg(1));
                    self.restore(&arg(0), call.place);
                }
                Verb::Exhaust => self.spend(&arg(0), call.place),
                Verb::Detach => self.detach_in_place(&arg(0)),
                Verb::TrainBatch => self.train_batch(call, &effect.args),
                Verb::Trainable => self.trainable(&arg(0), &arg(1), call.place),
                Verb::Differentiate => self.differentiate(&arg(0), call.place),
                // These matter to whoever listens, and to nothing that is rehearsed.
                Verb::ClearSession
                | Verb::Copy
                | Verb::Draw
                | Verb::Drop
                | Verb::FindDevices
                | Verb::FixAlgorithms
                | Verb::Observe
                | Verb::ReadClock
                | Verb::Recompute
                | Verb::RefuseAutocast
                | Verb::RefuseBoth
                | Verb::RefuseHalf
                | Verb::RefuseUnequal
                | Verb::Processes
                | Verb::Replicate
                | Verb::Average
                | Verb::Seed
                | Verb::SetEpoch
                | Verb::StartMethod
                | Verb::TryAlgorithms
                | Verb::Update
                | Verb::Validate
                | Verb::Wait
                | Verb::WatchBackward
                | Verb::WorkerInfo => {}
                Verb::Unknown => self.havoc(&Call::with(call.place, [arg(0)])),
            }
        }
    }

    fn default_device_from_here(&mut self, device: &Value) {
        // On one of several ways it may or may not hold from here on.
        let tentative = self.heap.is_tentative();
        self.ambient.device_told += 1;
        self.ambient.device = if tentative { Device::Unknown } else { transfer::device_named(device) };
    }

    /// The rank of the process goes in front of the arguments.
    fn spawn(&mut self, callback: &Value, args: &Value, place: Place) {
        let mut all = vec![Value::of_int(Int::Unknown)];
        if let Value::Tuple(items) = args {
            all.extend(items.iter().cloned());
        }
        self.call_back(callback, all, place);
    }

    fn zero(&mut self, target: &Value, place: Place) {
        if let Some(targets) = self.gradients_within(target) {
            self.event(place, Effect::Clear { targets, whole: true }, Confidence::High);
        }
    }

    /// Whose gradients a value is, or a list of some.
    fn gradients_within(&self, value: &Value) -> Option<ObjSet> {
        let own = |value: &Value| match value.bare() {
            Value::Grad(owners) => Some((**owners).clone()),
            _ => None,
        };
        let list = value.as_obj().map(|list| &self.heap.get(list).state);
        match list {
            Some(State::List(Items { exact: Some(all), .. })) => {
                let first = own(all.first()?)?;
                all.iter().try_fold(first, |found, one| Some(found.union(&own(one)?)))
            }
            Some(State::List(items)) => own(&items.any),
            _ => own(value),
        }
    }

    fn register(&mut self, module: &Value, name: &Value, value: Value, kind: &Value) {
        let Some(object) = module.as_obj() else { return };
        let Some(name) = name.as_str().map(Ustr::from) else {
            self.register_unnamed(object, &value);
            return;
        };
        if value.is_unknown() {
            self.heap.note(object, super::stacked::UNSEEN_PART, Value::None);
        }
        let is_buffer = kind.as_str() == Some("buffer");
        if !super::is_parameter(&value) {
            self.keep_buffer(object, name, value);
        } else if is_buffer {
            self.heap.note(object, LEARNED_BUFFER, Value::Str(Some(Rc::from(name.as_str()))));
            self.keep_buffer(object, name, value);
        } else {
            self.heap.get_mut(object).set_attr(name, value);
        }
    }

    /// What an instance is made with. A framework's module registers the tensors among it, for a class that inherits from
    /// it, too.
    pub(super) fn keep_argument(&mut self, object: ObjId, name: Ustr, value: Value) {
        let here = self.heap.get(object);
        let inherits = here.module().is_some() && matches!(here.class, ClassRef::Project(_));
        match &value {
            Value::Tensor(tensor) if inherits && !tensor.is_parameter() => {
                self.keep_buffer(object, name, value);
            }
            _ => self.heap.get_mut(object).set_attr(name, value),
        }
    }

    /// A tensor that moves with a module from here on.
    fn keep_buffer(&mut self, object: ObjId, name: Ustr, value: Value) {
        let value = super::device_origins::with_device_origin(value, Some(DeviceOrigin::Module));
        self.heap.get_mut(object).set_attr(name, value);
        if let State::Module(module) = &mut self.heap.get_mut(object).state {
            module.buffers.push(name);
        }
    }

    /// A search along a line: the closure is asked for the loss of one point after the other.
    fn steps_around(&mut self, optimizer: &Value, closure: &Value, call: &Invocation) {
        self.run_loop(call.place, Over::Other, true, &mut |interp| {
            interp.step(optimizer, closure, &Value::None, call);
            Flow::Next
        });
    }

    fn step(&mut self, optimizer: &Value, closure: &Value, scaler: &Value, call: &Invocation) {
        if matches!(closure.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
            // The optimizer runs its closure, with gradients on, as often as it likes.
            let grad = self.ambient.grad.replace(true);
            self.call_value(closure, &Call::new(call.place));
            self.ambient.grad = grad;
        }
        let Some(object) = optimizer.as_obj() else {
            // A scaler may be handed any of them.
            if optimizer.is_unknown() {
                self.event(call.place, Effect::UnseenStep, Confidence::High);
            }
            return;
        };
        if self.heap.get(object).optimizer().is_some() {
            let confidence = self.heap.get(object).confidence;
            let scaler = self.working_scaler(scaler).or(self.ambient.stepping);
            self.run_step_hooks(object, BEFORE_STEP, call.place);
            self.change_what_is_kept(object);
            self.event(call.place, Effect::Step { optimizer: object, scaler }, confidence);
            self.run_step_hooks(object, AFTER_STEP, call.place);
        } else if !self.step_wrapper(object, scaler, call.place) {
            self.havoc(&Call::with(call.place, [optimizer.clone()]));
        }
    }

    /// A class of the project is the optimizer, and its own `step` was called. What it computes is not judged; that it
    /// applies the gradients is what it is for. One that hands on to another optimizer has stepped there.
    pub(super) fn note_own_step(&mut self, method: &Value, name: Ustr, place: Place) {
        let Value::Bound(method) = method else { return };
        let Some(object) = method.receiver.as_obj() else { return };
        let is_own = matches!(method.method, Method::Closure(_))
            && self.heap.get(object).optimizer().is_some()
            && self.apis.method_does(Role::Optimizer, name, Verb::Step);
        if !is_own || self.trace.last().and_then(|nodes| nodes.last()).is_some_and(steps) {
            return;
        }
        let confidence = self.heap.get(object).confidence;
        self.change_what_is_kept(object);
        self.event(place, Effect::Step { optimizer: object, scaler: self.ambient.stepping }, confidence);
    }

    /// From here on each step of an optimizer calls back.
    fn hook_step(&mut self, optimizer: &Value, hook: Value, when: &Value) {
        let Some(object) = optimizer.as_obj() else { return };
        let note = if when.as_str() == Some("before") { BEFORE_STEP } else { AFTER_STEP };
        let hooks = match self.heap.noted(object, note) {
            None => Value::tuple(vec![hook]),
            Some(Value::Tuple(hooks)) if hooks.iter().any(|known| known.same(&hook)) => return,
            Some(Value::Tuple(hooks)) => Value::tuple(hooks.iter().cloned().chain([hook]).collect()),
            Some(_) => Value::Unknown,
        };
        self.heap.note(object, note, hooks);
    }

    fn run_step_hooks(&mut self, optimizer: ObjId, note: Note, place: Place) {
        match self.heap.noted(optimizer, note).cloned() {
            None => {}
            Some(Value::Tuple(hooks)) => {
                let args = [Value::Obj(optimizer), Value::Unknown, Value::Unknown];
                hooks.iter().for_each(|hook| self.call_back(hook, args.to_vec(), place));
            }
            // Which of them are there is not known.
            Some(_) => self.havoc(&Call::with(place, [Value::Obj(optimizer)])),
        }
    }

    /// A class of the project around an optimizer: its own `step` is called, through the scaler.
    fn step_wrapper(&mut self, object: ObjId, scaler: &Value, place: Place) -> bool {
        let name = Ustr::from("step");
        let Some(method @ Value::Function(_)) = self.find_attr(object, name) else { return false };
        let bound = self.bind(&Value::Obj(object), &method, name, place);
        let through = self.working_scaler(scaler);
        let around = std::mem::replace(&mut self.ambient.stepping, through);
        self.call_value(&bound, &Call::new(place));
        self.ambient.stepping = around;
        true
    }

    /// A schedule that is told the epoch goes wherever it is told.
    fn schedule(&mut self, scheduler: &Value, to_epoch: bool, place: Place) {
        let Some(object) = scheduler.as_obj().filter(|_| !to_epoch) else { return };
        // Its constructor sets the first learning rate.
        if self.is_constructing(object) {
            return;
        }
        let optimizer = self.heap.attr(object, Ustr::from("optimizer")).and_then(Value::as_obj);
        let confidence = self.heap.get(object).confidence;
        self.event(place, Effect::Schedule { scheduler: object, optimizer }, confidence);
    }

    /// `optimizer.step` without parentheses, as a statement.
    pub(super) fn note_named_step(&mut self, value: &Value, place: Place) {
        let Value::Bound(bound) = value else { return };
        let Method::Api(name) = bound.method else { return };
        let optimizer = bound.receiver.as_obj().filter(|object| self.heap.get(*object).optimizer().is_some());
        if let Some(optimizer) = optimizer
            && self.apis.get(name).is_some_and(|api| api.does(Verb::Step))
        {
            let confidence = self.heap.get(optimizer).confidence;
            self.event(place, Effect::NamedStep { optimizer }, confidence);
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
            Value::Obj(_) => self.freeze_parts(target, frozen),
            _ => {}
        }
    }

    /// The graph is walked, and nothing accumulates.
    pub(super) fn walk(&mut self, outputs: &Value) {
        let mut reached = ObjSet::default();
        self.reach(outputs, &mut reached, 2);
        if let Some(tensor) = outputs.as_tensor()
            && let Graph::Live(nodes) = &tensor.graph
        {
            self.out.walked = self.out.walked.union(&nodes.leaves);
            self.note_backpropagated(tensor);
            self.use_what_was_kept(tensor);
        }
    }

    /// Whether gradients are recorded where the module is called is not known where the hook is registered.
    /// Of what a module gives only a hook after its call gets hold.
    fn hook(&mut self, module: &Value, hook: &Value, when: &Value, place: Place) {
        if let Some(object) = module.as_obj().filter(|_| when.as_str() == Some("after"))
            && let State::Module(state) = &mut self.heap.get_mut(object).state
        {
            state.hooked = true;
            self.graphs.hooks = true;
        }
        let grad = self.ambient.grad.take();
        self.call_back(hook, vec![module.clone()], place);
        self.ambient.grad = grad;
    }

    /// Calls a callback, which may be run at any time.
    fn call_back(&mut self, callback: &Value, args: Vec<Value>, place: Place) {
        if matches!(callback.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
            self.call_value(callback, &Call::with(place, args));
        }
    }
}

/// Whether a call says something other than `None` for an operand.
fn is_passed(operand: &Operand, call: &Invocation) -> bool {
    match operand {
        Operand::Param(name) => !matches!(call.get(name), Value::None),
        Operand::Literal(_) => false,
    }
}

/// Whether any optimizer steps within a node.
fn steps(node: &Node) -> bool {
    match node {
        Node::Event(event) => matches!(event.effect, Effect::Step { .. } | Effect::UnseenStep),
        Node::Loop { body, .. } | Node::Call { body, .. } => body.iter().any(steps),
        Node::Branch { arms, .. } => arms.iter().flatten().any(steps),
        Node::Exit(_) => false,
    }
}
