//! Tuples, such as what a model returns beside its predictions, that are used as only a tensor can be.

use super::missing_attribute::RULE;
use super::tried::is_tried;
use crate::apis::{Role, Transfer};
use crate::facts::{Findings, Script};
use crate::interp::{AppliedLayer, Checker, Interp, Invocation, TupleUse};
use crate::report::{Confidence, Place};
use crate::syntax::BinaryOp;
use crate::values::Value;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_tuple_use: Some(used),
    on_layer_applied: Some(applied),
    on_call: Some(called),
    ..Checker::SILENT
};

/// What functions on tensors call the tensor.
const INPUT: &str = "input";

/// A tuple of tensors where only a tensor will do.
struct TupleForTensor {
    said: Rc<str>,
}

fn used(cx: &mut Interp<'_>, seen: &TupleUse<'_>) {
    let &TupleUse { items, with, operator, place } = seen;
    if !has_tensor(items) {
        return;
    }
    let said = match operator {
        None => match with {
            Value::Tuple(_) => "a tuple or list of tensors is indexed along several dimensions",
            Value::Str(Some(_)) => "a tuple or list of tensors is indexed by a name",
            _ => return,
        },
        // A number of times a tuple is a longer one.
        Some(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Div) if is_number(with) => {
            "a number is combined with a tuple or list of tensors"
        }
        Some(_) => return,
    };
    note(cx, place, Rc::from(said));
}

/// `nn.Linear(8, 2)(outputs)`
fn applied(cx: &mut Interp<'_>, layer: &AppliedLayer<'_>) {
    // What is only taken for a loss may take anything.
    let takes_any = matches!(layer.transfer, Transfer::Same | Transfer::CriterionResult);
    if !takes_any && cx.apis.is_beside_modules(layer.call.api.name) {
        given(cx, layer.call);
    }
}

/// `torch.relu(outputs)`: what is a method of tensors, too, and what computes with layers' weights.
fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let name = call.api.name;
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_method = || {
        let method = cx.apis.method_of(Role::Tensor, Ustr::from(last));
        method.is_some_and(|method| method.name == name)
    };
    let takes_tensor = call.api.params.first().is_some_and(|param| param.name == INPUT);
    if takes_tensor
        && cx.apis.role(name) != Some(Role::Module)
        && (cx.apis.is_beside_modules(name) || is_method())
    {
        given(cx, call);
    }
}

fn given(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(Value::Tuple(items)) = call.values().next().filter(|_| !call.open) else { return };
    let name = call.api.name;
    if has_tensor(items) {
        let what = name.rsplit('.').next().unwrap_or_default();
        note(
            cx,
            call.place,
            Rc::from(format!("`{what}` expects a tensor, but receives a tuple or list of tensors")),
        );
    }
}

fn has_tensor(items: &[Value]) -> bool {
    items.iter().any(|item| item.as_tensor().is_some_and(|tensor| !tensor.is_array))
}

/// An array makes an array of the tuple, and what is taken for a tensor may be a tuple itself.
fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

fn note(cx: &mut Interp<'_>, place: Place, said: Rc<str>) {
    if cx.is_provided_for() || cx.undecided_arms() > 0 || is_tried(cx, place, "TypeError") {
        return;
    }
    cx.observe(place, TupleForTensor { said }, Confidence::High);
}

pub(super) fn tuples_for_tensors(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<TupleForTensor>() {
        if at.confidence < Confidence::Medium || !script.imports_around(at, "torch") {
            continue;
        }
        let finding = script.finding(RULE.id, RULE.severity, at, seen.said.to_string());
        let help = "unpack it, as in `logits, _ = model(x)`, or take the item that is meant";
        out.push(finding.note("this raises a `TypeError`").help(help), at);
    }
}
