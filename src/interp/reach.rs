//! What a call that is not understood gets hold of: the training state within reach of its arguments. And what the
//! name of a method says where nobody knows what it is a method of.

use super::{Call, Interp, UnknownMethod};
use crate::apis::{Role, Verb};
use crate::report::Confidence;
use crate::trace::Effect;
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

impl Interp<'_> {
    /// A call that is not understood: it may have done anything to the training state it can reach.
    pub(super) fn havoc(&mut self, call: &Call) {
        self.spoil_arguments(call);
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
            self.event(call.place, Effect::Touch { objects: touched }, Confidence::High);
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
    pub(super) fn method_of_unknown(&mut self, name: Ustr, call: &Call) -> Value {
        if self.apis.is_tensor_method(name)
            && let Some(api) = self.apis.method_of(Role::Tensor, name)
        {
            let tensor = Value::tensor(Tensor { confidence: Confidence::Medium, ..Tensor::default() });
            return self.call_api_method(api.name, &tensor, call);
        }
        self.mode_by_unknown(&Value::Unknown, name, call.place);
        self.on_unknown_method(&UnknownMethod { name, place: call.place });
        // An environment that steps is told an action.
        let acts = call.values().any(|value| self.may_be_action(value));
        if !acts && self.apis.method_does(Role::Optimizer, name, Verb::Step) {
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
        self.havoc(call);
        self.made_of_tree(call).unwrap_or_default()
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
