//! Entering and leaving contexts: what a `with` or a decorator of a framework changes, and how it is put back.
//! A context that is not known leaves open whether gradients are recorded.

use super::{Call, Interp, Invocation, Passed, transfer};
use crate::apis::{Api, Context, Literal, Operand};
use crate::report::Place;
use crate::values::*;
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

impl<'p> Interp<'p> {
    pub(super) fn context_object(&mut self, api: &'p Api, call: &Call) -> Value {
        let invocation = Invocation::bind(api, call);
        let object = self.alloc(call.place, ClassRef::Api(api.name), State::Plain);
        self.keep_arguments(object, api, &invocation);
        Value::Obj(object)
    }

    /// The context that a value stands for: `None` when it is none, `Some(None)` when it changes nothing.
    pub(super) fn context_of(&mut self, value: &Value) -> Option<Option<ContextKind>> {
        let apis = self.apis;
        let (api, object) = match value.bare() {
            Value::Device(device, _) => return Some(Some(ContextKind::Device(*device))),
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
            Context::Strategy(strategy) => operand(self, strategy).as_obj().map(ContextKind::Strategy),
            Context::Traced => Some(ContextKind::Traced),
            Context::Recording => Some(ContextKind::Recording),
            Context::Failing => Some(ContextKind::Failing),
            Context::Autocast(device, enabled, dtype) => {
                let (device, enabled) = (operand(self, device), operand(self, enabled));
                let place = object.map(|object| self.heap.get(object).site);
                let device = transfer::device_named(&device);
                let dtype = match operand(self, dtype) {
                    Value::None if device.is_gpu() => Some(DType::Float16),
                    given => transfer::dtype_of(&given),
                };
                Some(ContextKind::Autocast(Autocast { place, device, on: self.switched(&enabled), dtype }))
            }
            Context::Transparent | Context::Result => None,
        })
    }

    /// The context that is one of two: the same, or autocast on one way and nothing on the other.
    pub(super) fn either_context(&mut self, a: &Value, b: &Value) -> Option<Value> {
        match (self.context_of(a)?, self.context_of(b)?) {
            (x, y) if x == y => Some(a.clone()),
            (Some(ContextKind::Autocast(_)), None | Some(ContextKind::Autocast(_))) => {
                Some(self.perhaps_autocast(a))
            }
            (None, Some(ContextKind::Autocast(_))) => Some(self.perhaps_autocast(b)),
            _ => None,
        }
    }

    fn perhaps_autocast(&mut self, value: &Value) -> Value {
        let Some(object) = value.as_obj() else { return value.clone() };
        let mut copy = self.heap.get(object).clone();
        copy.set_attr(Ustr::from("enabled"), Value::Bool(None));
        Value::Obj(self.heap.alloc(copy))
    }

    /// Whether a context is switched on: `None` when the script lets something decide that is not known.
    fn switched(&mut self, enabled: &Value) -> Option<bool> {
        if matches!(enabled, Value::None) { None } else { self.truth(enabled) }
    }

    /// The contexts in force, outermost first; those that only switch gradients on or off are not among them.
    pub(crate) fn contexts(&self) -> &[ContextKind] {
        &self.ambient.contexts
    }

    /// An error is expected, or one of several models runs, which the script may choose by what it gives them.
    pub(crate) fn is_provided_for(&self) -> bool {
        let doubtful = |context: &ContextKind| {
            matches!(context, ContextKind::Failing | ContextKind::OneOfSeveral { .. })
        };
        self.contexts().iter().any(doubtful)
    }

    /// The same of an operation on what was `made` somewhere: what one of several models computes of what it has
    /// computed itself, in the same function or in one call of a stack, is its own, whichever is chosen.
    pub(crate) fn is_provided_for_input(&self, made: Option<Place>, place: Place) -> bool {
        let here = self.frames.len();
        let in_stack = made == Some(place);
        let function = self.frames.last().and_then(|frame| Some((frame.file, frame.function?)));
        let in_function = made.zip(function).is_some_and(|(made, (file, function))| {
            made.file == file && self.tree(file).function(function).span.contains(made.span)
        });
        self.contexts().iter().any(|context| match context {
            ContextKind::Failing => true,
            ContextKind::OneOfSeveral { frames } => !(in_stack || in_function && here > *frames),
            _ => false,
        })
    }

    /// The autocast in force here, if there may be one.
    pub fn autocast(&self) -> Option<Autocast> {
        let innermost = self.ambient.contexts.iter().rev().find_map(|context| match context {
            ContextKind::Autocast(autocast) => Some(*autocast),
            _ => None,
        });
        innermost.filter(|autocast| autocast.on != Some(false))
    }

    pub(super) fn push_context(&mut self, kind: ContextKind) -> Before {
        let before = Before { grad: self.ambient.grad, contexts: self.ambient.contexts.len() };
        match kind {
            ContextKind::NoGrad => self.ambient.grad = Some(false),
            ContextKind::EnableGrad => self.ambient.grad = Some(true),
            ContextKind::UnknownGrad => self.ambient.grad = None,
            ContextKind::Accumulate
            | ContextKind::Device(_)
            | ContextKind::Autocast(_)
            | ContextKind::Strategy(_)
            | ContextKind::Replica
            | ContextKind::Traced
            | ContextKind::Failing
            | ContextKind::OneOfSeveral { .. }
            | ContextKind::Recording => {
                self.ambient.recorded |= kind == ContextKind::Recording;
                self.ambient.contexts.push(kind);
            }
        }
        before
    }

    pub(super) fn pop_context(&mut self, before: Before) {
        self.ambient.grad = before.grad;
        self.ambient.contexts.truncate(before.contexts);
    }

    /// Enters a context; `records` where it surely leaves gradients switched on.
    pub(super) fn enter(&mut self, value: &Value, place: Place, records: bool) -> Entered {
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
        // A context that is not understood may switch gradients off, and switches none on.
        let doubtful = value.is_unknown() && !records && self.ambient.grad != Some(false);
        let before = doubtful.then(|| self.push_context(ContextKind::UnknownGrad));
        Entered { target, before, exit: None }
    }

    /// `torch.no_grad().__enter__()`: what a context does to gradients, it does until something else is said.
    pub(super) fn entered_by_hand(&mut self, context: &Value, method: Ustr) -> Option<Value> {
        let kind = match method.as_str() {
            "__enter__" => self.context_of(context)??,
            "__exit__" if self.context_of(context).is_some() => ContextKind::UnknownGrad,
            _ => return None,
        };
        if matches!(kind, ContextKind::NoGrad | ContextKind::EnableGrad | ContextKind::UnknownGrad) {
            self.push_context(kind);
        }
        Some(context.clone())
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
}
