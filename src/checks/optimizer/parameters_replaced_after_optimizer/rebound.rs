//! Tensors that an optimizer was given one by one, and whose name stands for another tensor afterwards:
//! `w = w.clamp(0, 1)` behind the step.

use crate::apis::Role;
use crate::facts::Script;
use crate::interp::{Assignment, Checker, Interp, Invocation};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprId, ExprKind};
use crate::trace::{At, Effect, visits};
use crate::values::{Items, Key, State, Tensor, Value};
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(in crate::checks) static CHECKER: Checker =
    Checker { on_arguments: Some(given), on_assign: Some(assigned), ..Checker::SILENT };

/// Groups of parameters hold lists, and these tensors.
const DEEPEST: u32 = 3;

/// A name of a tensor that an optimizer has stands for what was computed of it.
pub(super) struct Rebound {
    pub written: Rc<str>,
    /// Where the optimizer was given the tensor.
    pub gathered: Place,
    /// It is an attribute, which the next call finds.
    pub is_kept: bool,
}

/// Leaves that optimizers were given, by where they were made.
#[derive(Default)]
struct Leaves(FxHashMap<Place, Place>);

/// `Adam([w, b])`, `SGD([{"params": [w]}])`
fn given(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.api.class.is_none() || cx.apis.role(call.api.name) != Some(Role::Optimizer) {
        return;
    }
    let Some(params) = call.api.params.first().map(|param| call.get(param.name.as_str())) else { return };
    let mut leaves = Vec::new();
    leaves_in(cx, &params, DEEPEST, &mut leaves);
    let place = call.place;
    cx.remember(|all: &mut Leaves| all.0.extend(leaves.into_iter().map(|made| (made, place))));
}

fn leaves_in(cx: &Interp<'_>, value: &Value, depth: u32, found: &mut Vec<Place>) {
    let mut all = |values: &[Value]| match depth {
        0 => {}
        _ => values.iter().for_each(|value| leaves_in(cx, value, depth - 1, found)),
    };
    match value.bare() {
        Value::Tensor(tensor) if tensor.is_leaf => found.extend(tensor.made),
        Value::Tuple(items) => all(items),
        Value::Obj(object) => match &cx.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => all(items),
            State::Dict(entries) => {
                let params = |key: &Key| matches!(key, Key::Str(name) if **name == *"params");
                let values: Vec<Value> = entries
                    .known
                    .iter()
                    .filter(|(key, _)| params(key))
                    .map(|(_, value)| value.clone())
                    .collect();
                all(&values);
            }
            _ => {}
        },
        _ => {}
    }
}

fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    if cx.remember(|all: &mut Leaves| all.0.is_empty()) {
        return;
    }
    let is_computed = |tensor: &Rc<Tensor>| !tensor.is_leaf && tensor.graph.is_live();
    if !assignment.result.borrow().as_tensor().is_some_and(is_computed) {
        return;
    }
    let target = assignment.target;
    let is_kept = match cx.tree(cx.file()).expr(target).kind {
        ExprKind::Attribute { .. } => true,
        ExprKind::Name(_) => false,
        _ => return,
    };
    if !comes_of(cx, assignment.value, target) {
        return;
    }
    let before = cx.quietly(|cx| cx.eval(target));
    let Some(made) = before.as_tensor().filter(|tensor| tensor.is_leaf).and_then(|tensor| tensor.made) else {
        return;
    };
    let Some(gathered) = cx.remember(|all: &mut Leaves| all.0.get(&made).copied()) else { return };
    if !is_kept && is_of_callee(cx, target, gathered) {
        return;
    }
    let (written, place) = (cx.written(target), cx.expr_place(target));
    cx.observe_for_good(place, Rebound { written, gathered, is_kept }, Confidence::High);
}

/// Whether a variable is one of another function than that which gave the tensor to its optimizer: it is gone when that
/// returns, and the tensor is there as before.
fn is_of_callee(cx: &Interp<'_>, target: ExprId, gathered: Place) -> bool {
    let module = cx.module(cx.file());
    let ExprKind::Name(name) = module.tree.expr(target).kind else { return false };
    let running = cx.running().next_back().and_then(|frame| frame.function);
    let Some(owner) = module.names.owner(&module.tree, running, name) else { return false };
    gathered.file != cx.file() || !module.tree.function(owner).span.contains(gathered.span)
}

/// Whether an expression mentions a variable or an attribute.
fn comes_of(cx: &Interp<'_>, expr: ExprId, target: ExprId) -> bool {
    if cx.same_target(expr, target) {
        return true;
    }
    let mut found = false;
    match &cx.tree(cx.file()).expr(expr).kind {
        ExprKind::Call { callee, args } => {
            found = comes_of(cx, *callee, target) || args.iter().any(|arg| comes_of(cx, arg.value, target));
        }
        ExprKind::Attribute { base, .. } => found = comes_of(cx, *base, target),
        kind => kind.each_operand(|operand| found |= comes_of(cx, operand, target)),
    }
    found
}

/// Those that the next step would have to know of: the loop goes on, or the attribute is there in the next call.
pub(super) fn rebound_leaves<'a>(script: &Script<'a>) -> Vec<(&'a At, &'a Rebound)> {
    let steps_again = |at: &At, rebound: &Rebound| {
        script.rehearsal.entries.iter().filter(|entry| entry.function == at.seeded).any(|entry| {
            let steps = visits(&entry.nodes, |effect| matches!(effect, Effect::Step { .. }));
            steps.iter().any(|step| match at.loops.last() {
                Some(own) => step.loops.contains(own),
                None => rebound.is_kept && at.seeded.is_some(),
            })
        })
    };
    script.observed_once_where(|at, rebound: &Rebound| steps_again(at, rebound)).collect()
}
