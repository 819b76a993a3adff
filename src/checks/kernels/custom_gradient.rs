//! The gradients of custom autograd functions: where a forward is understood its backward is run beside it, and
//! compared with the derivative.

use crate::interp::{Call, Checker, FunctionApplied, Interp};
use crate::report::{Confidence, Place};
use crate::values::formula::{Input, Term, agree, slopes_agree};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_function_applied: Some(applied), ..Checker::SILENT };

/// What a backward gives for an input of its forward, where it can be compared with the derivative.
pub(super) struct CustomGradient {
    pub class: Ustr,
    pub forward: Formula,
    pub forward_place: Place,
    pub gradient: Formula,
    /// What the derivative is taken with respect to, and the gradient that comes in.
    pub input: Input,
    pub incoming: Input,
    /// Whether it is the derivative of the forward at the points that were looked at.
    pub is_derivative: bool,
}

/// Runs the backward, where the forward is understood, and compares what it gives with the derivative.
fn applied(cx: &mut Interp<'_>, applied: &FunctionApplied<'_>) {
    let Value::Tensor(result) = applied.result else { return };
    let Some(formula) = cx.formula_of(result).filter(|formula| formula.is_known() && formula.is_smooth())
    else {
        return;
    };
    // One that is inherited passes gradients on for whatever forward, as estimators do on purpose.
    let Some(Value::Function(backward)) = cx.heap.attr(applied.class, Ustr::from("backward")).cloned() else {
        return;
    };
    let name = cx.params_of(&backward).get(1).map(|param| param.name).unwrap_or_default();
    let incoming = cx.fresh_input(name);
    let returned = run_backward(cx, applied, &backward, (result, &incoming));
    for (input, gradient) in applied.inputs.iter().zip(returned) {
        let given = gradient.as_tensor().and_then(|gradient| cx.formula_of(gradient));
        let given = given.filter(|given| !is_chosen(applied.inputs, &formula, given));
        if let (Some(input), Some(given)) = (input_of(input), given)
            && let Some((input, incoming, is_derivative)) = judged(&formula, &input, &given, &incoming)
        {
            let own = CustomGradient {
                class: function_name(cx, applied.class),
                forward: formula.clone(),
                forward_place: name_place(cx, applied.forward),
                gradient: given,
                input,
                incoming,
                is_derivative,
            };
            cx.observe(name_place(cx, &backward), own, Confidence::High);
        }
    }
}

/// What the backward returns for a gradient of the form of the result.
fn run_backward(
    cx: &mut Interp<'_>,
    applied: &FunctionApplied<'_>,
    backward: &Rc<Closure>,
    (result, incoming): (&Tensor, &Formula),
) -> Vec<Value> {
    let numbers = Some(Rc::new(Numbers::of(incoming.clone())));
    let gradient = Tensor { numbers, graph: Graph::None, mark: None, range: None, ..result.clone() };
    let call = Call::with(applied.place, [applied.context.clone(), Value::tensor(gradient)]);
    let returned = cx.quietly(|cx| cx.inline(backward, None, &call));
    match &returned {
        Value::Tuple(items) => items.to_vec(),
        one => vec![one.clone()],
    }
}

/// What the forward leaves aside is there for the backward: another gradient is wanted.
fn is_chosen(inputs: &[Value], forward: &Formula, given: &Formula) -> bool {
    inputs.iter().filter_map(input_of).any(|other| match other.term() {
        Term::Input(other) => given.uses(other.id) && !forward.uses(other.id),
        _ => false,
    })
}

fn function_name(cx: &Interp<'_>, class: ObjId) -> Ustr {
    match &cx.heap.get(class).state {
        State::Class(state) => cx.tree(state.file).class(state.class).name,
        _ => Ustr::default(),
    }
}

fn name_place(cx: &Interp<'_>, closure: &Closure) -> Place {
    Place::new(closure.file, cx.tree(closure.file).function(closure.function).name_span)
}

fn input_of(value: &Value) -> Option<Formula> {
    value.as_tensor()?.numbers.as_ref()?.formula.clone()
}

/// Whether a gradient is the derivative. Where the forward leaves its input as it is, or computes nothing of it,
/// the backward is the point of the function; where nothing comes back, the gradient is stopped.
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
    slopes_agree(forward, one.id, gradient, coming.id).map(|is_derivative| (*one, *coming, is_derivative))
}
