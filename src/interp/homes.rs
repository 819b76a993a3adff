//! Tensors that a forward makes where nobody said a device: they are on the CPU, and the model may not be.

use super::{Call, Interp, Invocation, device::collect_tensors};
use crate::apis::{Role, Transfer};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{FnId, Function};
use crate::trace::{Sight, Stranded};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Methods that records and batches have as tensors do.
const SHARED: [&str; 7] = ["copy", "data", "index", "items", "to", "type", "values"];
/// By these names a class moves what it holds.
const MOVING: [&str; 6] = ["_apply", "cpu", "cuda", "device", "to", "type_as"];

impl<'p> Interp<'p> {
    /// The outermost module whose output is being computed.
    fn computing(&self) -> Option<ObjId> {
        self.frames.iter().find_map(|frame| {
            let object = frame.receiver.as_ref().and_then(Value::as_obj)?;
            self.heap.get(object).module()?;
            let (_, name) = frame.site?;
            let steps = name.ends_with("_step") && self.is_owned(object);
            (steps || super::modules::FORWARDS.contains(&name.as_str())).then_some(object)
        })
    }

    /// Whether a method of a module is one that its framework calls to compute with it.
    pub(super) fn computes(&self, receiver: &Value, function: &Function) -> bool {
        let Some(object) = receiver.as_obj() else { return false };
        let hook = function.name.ends_with("_step") && self.is_owned(object);
        let named = hook || super::modules::FORWARDS.contains(&function.name.as_str());
        named && self.heap.get(object).module().is_some()
    }

    /// What a forward is given is where the model is; what was made outside is no matter of the forward.
    pub(super) fn at_home(&mut self, closure: &Closure, call: &Call) -> Call {
        let inside = self.computing().is_some();
        let (file, function) = (closure.file, closure.function);
        let params = &self.tree(file).function(function).params;
        let mut call = call.clone();
        for (index, passed) in call.positional.iter_mut().enumerate() {
            let name = params.get(index + 1).map(|param| param.name);
            passed.value = self.given_to_forward(&passed.value, file, function, name, inside);
        }
        for (name, passed) in &mut call.keywords {
            passed.value = self.given_to_forward(&passed.value, file, function, Some(*name), inside);
        }
        call
    }

    fn given_to_forward(
        &self,
        value: &Value,
        file: FileId,
        function: FnId,
        name: Option<Ustr>,
        inside: bool,
    ) -> Value {
        match value {
            Value::Unknown if name.is_some_and(|name| self.is_used_as_tensor(file, function, name)) => {
                let confidence = Confidence::Medium;
                Value::tensor(Tensor { home: Some(Home::Model), confidence, ..Tensor::default() })
            }
            Value::Tensor(tensor) if !inside && !tensor.is_array => {
                let home = match tensor.home {
                    Some(Home::Default { .. }) => None,
                    _ => Some(Home::Model),
                };
                Value::tensor(Tensor { home, ..(**tensor).clone() })
            }
            Value::Tuple(items) if !inside => {
                let each = |item: &Value| self.given_to_forward(item, file, function, None, inside);
                Value::tuple(items.iter().map(each).collect())
            }
            other => other.clone(),
        }
    }

    /// All that is done with a parameter can be done with tensors, and some of it only with them.
    fn is_used_as_tensor(&self, file: FileId, function: FnId, name: Ustr) -> bool {
        let uses = &self.module(file).names.uses;
        let used = uses.of_local(Some(function), name);
        let Some(class) = self.apis.class_of(Role::Tensor) else { return false };
        !uses.called_local(Some(function), name)
            && used.iter().any(|used| !SHARED.contains(&used.as_str()))
            && used.iter().all(|used| self.apis.method(class, *used).is_some())
    }

    /// The operands of an operation that needs them on one device.
    pub(super) fn meet_operands(&mut self, call: &Invocation) {
        if !call.gives.is_some_and(|gives| gives.verb.meets()) {
            return;
        }
        let mut operands = call.tensors();
        for value in [call.nth(0), call.nth(1)] {
            if let Value::Obj(object) = value.bare()
                && let State::List(items) = &self.heap.get(*object).state
            {
                items.exact.iter().flatten().for_each(|item| collect_tensors(item, &mut operands));
            }
        }
        let compares = call.gives.is_some_and(|gives| gives.verb == Transfer::Compare);
        if compares && operands.iter().any(|tensor| may_stay_on_purpose(tensor)) {
            return;
        }
        let Some((first, rest)) = operands.split_first() else { return };
        // A number on the CPU may meet anything.
        let whole = |tensor: &Rc<Tensor>| {
            tensor.device != Device::Cpu
                || tensor.stays_behind()
                || tensor.rank().is_some_and(|rank| rank > 0)
        };
        let apart = |tensor: &&Rc<Tensor>| first.device.differs(tensor.device) && whole(tensor);
        let other = rest.iter().find(apart).filter(|_| whole(first));
        if !self.note_stranded(&operands, call.place)
            && let Some(other) = other
        {
            self.meet_whole(first, other, call.place, ["one of its tensors", "another"]);
        }
    }

    /// Operands of a comparison.
    pub(super) fn meet_compared(&mut self, left: &Rc<Tensor>, right: &Rc<Tensor>, place: Place) {
        if ![left, right].into_iter().any(|tensor| may_stay_on_purpose(tensor)) {
            self.meet(left, right, place);
        }
    }

    /// Tensors that meet in an operation, of which one may have been left on the CPU by a forward; whether
    /// one was.
    pub(super) fn note_stranded(&mut self, tensors: &[Rc<Tensor>], place: Place) -> bool {
        let Some(stray) = tensors.iter().find(|tensor| tensor.stays_behind()) else { return false };
        let at_home = |tensor: &&Rc<Tensor>| {
            tensor.home == Some(Home::Model)
                && !tensor.is_array
                && tensor.device != Device::Cpu
                && tensor.rank() != Some(0)
        };
        let Some(other) = tensors.iter().find(at_home) else { return false };
        let doubtful = may_stay_on_purpose(other) && other.device == Device::Unknown;
        let sure = if doubtful { Confidence::Medium } else { other.confidence };
        self.strand(&stray.clone(), sure, place)
    }

    /// A layer with weights that is called with what a forward may have left on the CPU; whether it is.
    pub(super) fn note_stranded_input(&mut self, layer: ObjId, device: Device, call: &Call) -> bool {
        let Some(module) = self.heap.get(layer).module() else { return false };
        if device == Device::Cpu || module.scatters || module.weights == Learned::Opaque {
            return false;
        }
        let mut inputs = Vec::new();
        call.values().for_each(|value| collect_tensors(value, &mut inputs));
        let Some(stray) = inputs.iter().find(|tensor| tensor.stays_behind()) else { return false };
        self.strand(&stray.clone(), Confidence::High, call.place)
    }

    fn strand(&mut self, stray: &Tensor, sure: Confidence, place: Place) -> bool {
        let (Some(outer), Some(Home::Default { made, joined, .. })) = (self.computing(), stray.home) else {
            return false;
        };
        let device = self.device_of_module(outer);
        // What it is in another pass of a loop may be what a test asks for.
        let first_pass = self.active.last().is_some_and(|active| active.arms == self.arms);
        if device == Device::Cpu || (joined && !first_pass) {
            return false;
        }
        let (holder, attribute) = self.held_as(made).unzip();
        if self.seeded.is_some() && !self.stays_where_made(made, attribute) {
            return false;
        }
        let placed = self.is_owned(outer) || self.heap.get(outer).module().is_some_and(|it| it.managed);
        let inner = self.modules_running().last();
        let class = self.class_name(holder.or(inner).unwrap_or(outer));
        let confidence = stray.confidence.min(sure).min(self.heap.get(outer).confidence);
        let sight = Stranded { made, attribute, class, device, placed };
        self.see(place, Sight::Stranded(Rc::new(sight)), confidence);
        true
    }

    fn modules_running(&self) -> impl DoubleEndedIterator<Item = ObjId> {
        let receivers = self.frames.iter().filter_map(|frame| frame.receiver.as_ref()?.as_obj());
        receivers.filter(|object| self.heap.get(*object).module().is_some())
    }

    /// The running module that holds what was made at a place, and in which attribute.
    fn held_as(&self, made: Place) -> Option<(ObjId, Ustr)> {
        let here = |home: Home| matches!(home, Home::Default { made: other, .. } if other == made);
        let held = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.home.is_some_and(here));
        self.modules_running().find_map(|object| {
            let attrs = &self.heap.get(object).attrs;
            attrs.iter().find(|(_, value)| held(value)).map(|(name, _)| (object, *name))
        })
    }

    /// Of an instance that the script does not make itself: nothing in the file moves what it holds.
    fn stays_where_made(&self, made: Place, attribute: Option<Ustr>) -> bool {
        let module = self.module(made.file);
        let functions = || module.tree.functions.iter().enumerate();
        let Some(attribute) = attribute else {
            let inside = |function: &Function| function.span.contains(made.span);
            return !functions().any(|(_, function)| function.name == "__init__" && inside(function));
        };
        let running = |index: usize| {
            let function = Some(FnId(index as u32));
            self.frames.iter().any(|frame| frame.file == made.file && frame.function == function)
        };
        let moves = |index: usize| {
            let scope = &module.names.scopes[index];
            let named = MOVING.iter().any(|name| scope.mentions.contains(Ustr::from(name)));
            scope.mentions.contains(attribute) && named
        };
        !functions().any(|(index, function)| {
            let own = MOVING.contains(&function.name.as_str()) && function.class.is_some();
            own || (function.name != "__init__" && !running(index) && moves(index))
        })
    }

    /// Forwards that nothing calls, of classes that make tensors.
    pub(super) fn is_making_forward(&mut self, file: FileId, definition: &Function) -> bool {
        let Some(class) = definition.class.filter(|_| definition.name == "forward") else { return false };
        let module = self.module(file);
        let words = self.apis.making_words();
        let functions = || module.tree.functions.iter().enumerate();
        let mentions = |index: usize, word: Ustr| module.names.scopes[index].mentions.contains(word);
        let making = |index: usize| words.iter().any(|word| mentions(index, *word));
        let helpers: Vec<Ustr> = functions()
            .filter(|(index, function)| function.class.is_none() && making(*index))
            .map(|(_, function)| function.name)
            .collect();
        let makes = functions().any(|(index, function)| {
            function.class == Some(class)
                && (making(index) || helpers.iter().any(|helper| mentions(index, *helper)))
        });
        let name = self.tree(file).class(class).name;
        let env = self.modules.get(&file).map(|module| module.env).filter(|_| makes);
        let found = env.and_then(|env| self.heap.attr(env, name)).and_then(Value::as_obj);
        found.is_some_and(|object| self.role_of(ClassRef::Project(object)) == Some(Role::Module))
    }
}

/// What a forward is given is where the model is as a rule; lengths, which are compared with positions,
/// may be left on the CPU.
fn may_stay_on_purpose(tensor: &Tensor) -> bool {
    tensor.home == Some(Home::Model) && !tensor.learned && tensor.source != Source::Parameter
}

pub(super) fn with_home(value: Value, home: Option<Home>) -> Value {
    match &value {
        Value::Tensor(tensor) => Value::tensor(Tensor { home, ..(**tensor).clone() }),
        _ => value,
    }
}
