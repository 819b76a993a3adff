//! Functions with a gradient of their own: applying one runs its forward, and where that is understood its
//! backward is run beside it and compared with the slope.

use super::{Call, Interp, Invocation};
use crate::apis::{Role, Slot};
use crate::report::{Confidence, Place};
use crate::syntax::{Param, ParamKind};
use crate::trace::{OwnGradient, Sight};
use crate::values::formula::{Input, Term, agree, slopes_agree};
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
        let skipped = usize::from(setup.is_none());
        let names: Vec<Ustr> =
            self.params_of(&forward).iter().skip(skipped).map(|param| param.name).collect();
        let inputs: Vec<Value> = args
            .iter()
            .enumerate()
            .map(|(index, arg)| self.as_input(arg, names.get(index).copied().unwrap_or_default()))
            .collect();
        let grad = self.grad.replace(false);
        let first = if setup.is_none() { Some(context.clone()) } else { None };
        let result = self.inline(&forward, None, &Call::with(place, first.into_iter().chain(inputs.clone())));
        if let Some(setup) = setup {
            let given = [context.clone(), Value::tuple(inputs.clone()), result.clone()];
            self.inline(&setup, None, &Call::with(place, given));
        }
        self.check_gradient(class, &forward, context, &inputs, &result, place);
        self.grad = grad;
        self.recorded(result, args)
    }

    fn params_of(&self, closure: &Closure) -> &[Param] {
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
    fn recorded(&self, result: Value, args: &[Value]) -> Value {
        let tensors = args.iter().filter_map(Value::as_tensor);
        let graph = tensors.clone().fold(Graph::None, |graph, arg| graph.union(&arg.graph));
        let learned = tensors.clone().any(|arg| arg.learned);
        let one = |value: &Value| match value {
            Value::Tensor(tensor) => {
                let graph = super::transfer::build::graph_here(self.grad, tensor.dtype, &graph);
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
        match &result {
            Value::Tuple(items) => Value::tuple(items.iter().map(one).collect()),
            other => one(other),
        }
    }

    /// Runs the backward, where the forward is understood, and compares what it gives with the slope.
    fn check_gradient(
        &mut self,
        class: ObjId,
        forward: &Closure,
        context: Value,
        inputs: &[Value],
        result: &Value,
        place: Place,
    ) {
        let Value::Tensor(result) = result else { return };
        let Some(formula) =
            self.formula_of(result).filter(|formula| formula.is_known() && formula.is_smooth())
        else {
            return;
        };
        // One that is inherited passes gradients on for whatever forward, as estimators do on purpose.
        let Some(Value::Function(backward)) = self.heap.attr(class, Ustr::from("backward")).cloned() else {
            return;
        };
        let name = self.params_of(&backward).get(1).map(|param| param.name).unwrap_or_default();
        let incoming = self.fresh_input(name);
        let numbers = Some(Rc::new(Numbers::of(incoming.clone())));
        let gradient = Tensor { numbers, graph: Graph::None, mark: None, range: None, ..(**result).clone() };
        let call = Call::with(place, [context, Value::tensor(gradient)]);
        let returned = self.quietly(|interp| interp.inline(&backward, None, &call));
        let returned = match &returned {
            Value::Tuple(items) => items.to_vec(),
            one => vec![one.clone()],
        };
        for (input, gradient) in inputs.iter().zip(returned) {
            let given = gradient.as_tensor().and_then(|gradient| self.formula_of(gradient));
            // What the forward leaves aside is there for the backward: another slope is wanted.
            let is_chosen = |given: &Formula| {
                inputs.iter().filter_map(input_of).any(|other| match other.term() {
                    Term::Input(other) => given.uses(other.id) && !formula.uses(other.id),
                    _ => false,
                })
            };
            let given = given.filter(|given| !is_chosen(given));
            if let (Some(input), Some(given)) = (input_of(input), given)
                && let Some((input, incoming, is_slope)) = judged(&formula, &input, &given, &incoming)
            {
                let own = OwnGradient {
                    class: self.own_name(class),
                    forward: formula.clone(),
                    forward_place: self.name_place(forward),
                    gradient: given,
                    input,
                    incoming,
                    is_slope,
                };
                let at = self.name_place(&backward);
                self.see(at, Sight::OwnGradient(Rc::new(own)), Confidence::High);
            }
        }
    }

    fn own_name(&self, class: ObjId) -> Ustr {
        match &self.heap.get(class).state {
            State::Class(state) => self.tree(state.file).class(state.class).name,
            _ => Ustr::default(),
        }
    }

    fn name_place(&self, closure: &Closure) -> Place {
        Place::new(closure.file, self.tree(closure.file).function(closure.function).name_span)
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
            Value::Unknown => Value::tensor(Tensor { confidence: self.trust, ..Tensor::default() }),
            known => known,
        }
    }

    pub(super) fn is_function_class(&self, class: ClassRef) -> bool {
        self.role_of(class) == Some(Role::Function)
    }
}

fn input_of(value: &Value) -> Option<Formula> {
    value.as_tensor()?.numbers.as_ref()?.formula.clone()
}

/// Whether a gradient is the slope. Where the forward leaves its input as it is, or computes nothing of it, the
/// backward is the point of the function; where nothing comes back, the gradient is stopped.
fn judged(
    forward: &Formula,
    input: &Formula,
    gradient: &Formula,
    incoming: &Formula,
) -> Option<(Input, Input, bool)> {
    let (Term::Input(one), Term::Input(coming)) = (input.term(), incoming.term()) else { return None };
    let stopped = agree(gradient, &Formula::number(0.0)) == Some(true);
    let untouched = agree(forward, input) == Some(true);
    if stopped || untouched || !forward.uses(one.id) {
        return None;
    }
    slopes_agree(forward, one.id, gradient, coming.id).map(|is_slope| (*one, *coming, is_slope))
}
