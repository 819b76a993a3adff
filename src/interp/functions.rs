//! Custom autograd functions: applying one runs its forward, and autograd knows its inputs, and not how the
//! result was computed.

use super::{Call, FunctionApplied, Interp, Invocation, MethodResult};
use crate::apis::{Role, Slot};
use crate::report::Place;
use crate::syntax::{Param, ParamKind};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl Interp<'_> {
    /// `apply-function cls args context`
    pub(super) fn applied_function(&mut self, call: &Invocation) -> Value {
        let (Some(class), Some(context)) =
            (call.operand(Slot::Cls).as_obj(), call.operand(Slot::Context).as_str().map(Ustr::from))
        else {
            return Value::Unknown;
        };
        if call.open || !matches!(self.heap.get(class).state, State::Class(_)) {
            return Value::Unknown;
        }
        self.apply_function(class, &call.rest, context, call.place)
    }

    pub(super) fn apply_function(
        &mut self,
        class: ObjId,
        args: &[Value],
        context: Ustr,
        place: Place,
    ) -> Value {
        let Some(Value::Function(forward)) = self.find_attr(class, Ustr::from("forward")) else {
            return Value::Unknown;
        };
        let setup = match self.find_attr(class, Ustr::from("setup_context")) {
            Some(Value::Function(setup)) => Some(setup),
            _ => None,
        };
        let context = Value::Obj(self.alloc(place, ClassRef::Api(context), State::Plain));
        let skipped = usize::from(setup.is_none()) + usize::from(forward.wrap.is_class);
        let names: Vec<Ustr> =
            self.params_of(&forward).iter().skip(skipped).map(|param| param.name).collect();
        let inputs: Vec<Value> = args
            .iter()
            .enumerate()
            .map(|(index, arg)| self.as_input(arg, names.get(index).copied().unwrap_or_default()))
            .collect();
        let grad = self.ambient.grad.replace(false);
        let first = if setup.is_none() { Some(context.clone()) } else { None };
        let receiver = forward.wrap.is_class.then_some(Value::Obj(class));
        let call = Call::with(place, first.into_iter().chain(inputs.clone()));
        let result = self.inline(&forward, receiver.as_ref(), &call);
        if let Some(setup) = setup {
            let given = [context.clone(), Value::tuple(inputs.clone()), result.clone()];
            self.inline(&setup, None, &Call::with(place, given));
        }
        let (forward, context, inputs, result) = (&forward, &context, &inputs, &result);
        self.on_function_applied(&FunctionApplied { class, forward, context, inputs, result, place });
        self.ambient.grad = grad;
        self.recorded(result, args)
    }

    /// `Double()(x)`, as before PyTorch 1.5: the instance is its own context.
    pub(super) fn apply_instance(&mut self, forward: &Rc<Closure>, instance: &Value, call: &Call) -> Value {
        let apis = self.apis;
        let own = instance.as_obj().and_then(|object| self.find_attr(object, Ustr::from("__call__")));
        if let Some(Value::Api(name)) = own
            && let Some(api) = apis.get(name)
        {
            let called = call.with_first(instance.clone());
            self.on_method_result(&MethodResult { api, receiver: instance, call: &called });
        }
        let args: Vec<Value> = call.positional.iter().map(|passed| passed.value.clone()).collect();
        let grad = self.ambient.grad.replace(false);
        let result = self.inline(forward, Some(instance), call);
        self.ambient.grad = grad;
        self.recorded(&result, &args)
    }

    pub(crate) fn params_of(&self, closure: &Closure) -> &[Param] {
        &self.tree(closure.file).function(closure.function).params
    }

    /// An argument as what the function is computed of.
    fn as_input(&mut self, arg: &Value, name: Ustr) -> Value {
        match arg.bare() {
            Value::Tensor(tensor) => {
                let numbers = Some(Rc::new(Numbers::of(self.fresh_input(name))));
                Value::tensor(Tensor { numbers, ..(**tensor).clone() })
            }
            _ => arg.clone(),
        }
    }

    /// The result as the script sees it: autograd knows its inputs, and not how it was computed.
    fn recorded(&self, result: &Value, args: &[Value]) -> Value {
        let tensors = args.iter().filter_map(Value::as_tensor);
        let graph = tensors.clone().fold(Graph::None, |graph, arg| graph.union(&arg.graph));
        let learned = tensors.clone().any(|arg| arg.learned);
        let one = |value: &Value| match value {
            Value::Tensor(tensor) => {
                let graph = super::transfer::build::graph_here(self.ambient.grad, tensor.dtype, &graph);
                let learned = learned || tensor.learned;
                Value::tensor(Tensor {
                    graph,
                    learned,
                    is_leaf: false,
                    numbers: None,
                    recipe: None,
                    ..(**tensor).clone()
                })
            }
            other => other.clone(),
        };
        match result {
            Value::Tuple(items) => Value::tuple(items.iter().map(one).collect()),
            other => one(other),
        }
    }

    /// Applies a function that the script defines and does not apply, to tensors of any kind.
    pub(super) fn apply_seeded(&mut self, class: ObjId, forward: &Closure, place: Place) -> Option<Value> {
        let apply = self.find_attr(class, Ustr::from("apply"))?;
        let own_context =
            matches!(self.find_attr(class, Ustr::from("setup_context")), Some(Value::Function(_)));
        let params = &self.tree(forward.file).function(forward.function).params;
        let mut args = Vec::new();
        for param in params.iter().skip(usize::from(!own_context)) {
            args.push(match param.kind {
                ParamKind::Plain => self.seeded_input(forward, param),
                _ => return None,
            });
        }
        let Value::Api(apply) = apply else { return None };
        Some(self.call_api_method(apply, &Value::Obj(class), &Call::with(place, args)))
    }

    fn seeded_input(&mut self, forward: &Closure, param: &Param) -> Value {
        match self.seeded_param(forward, param) {
            Value::Unknown => Value::tensor(Tensor { confidence: self.supposed.trust, ..Tensor::default() }),
            known => known,
        }
    }

    pub(super) fn is_function_class(&self, class: ClassRef) -> bool {
        self.role_of(class) == Some(Role::Function)
    }
}
