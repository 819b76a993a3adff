//! Weights of an attention: a softmax of the products of two activations, of which each row weights the values that it
//! is multiplied with. Clusters and slots that compete for samples are no such products, or are normalized again.

use crate::apis::{Literal, Mark, Need, Operand, Transfer, Verb};
use crate::interp::{
    ApiResult, Checker, Interp, Invocation, NumberApplied, OperationResult, Operator, transfer,
};
use crate::report::{Confidence, Place};
use crate::syntax::BinaryOp;
use crate::values::{Shape, Source, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_operation_result: Some(computed),
    on_number_applied: Some(scaled),
    on_api_result: Some(called),
    on_end: Some(ended),
    ..Checker::SILENT
};

/// Weights that a softmax normalized along another axis than they are summed over.
pub(super) struct WrongWeights {
    pub softmax: Place,
}

/// In one call or another such a softmax may run over the last axis: how many there are is not known for sure.
pub(super) struct MayBeRight;

#[derive(Default)]
struct Attention {
    /// Where products of two activations were made, or what is computed of them number by number; of how many axes.
    scores: FxHashMap<Place, Option<usize>>,
    /// Where weights were made that are normalized along another axis than the last: by which softmax, and their shape.
    weights: FxHashMap<Place, (Place, Option<Shape>)>,
    /// Softmaxes that ran over the last axis once, or over one that may be it.
    may_be_right: FxHashSet<Place>,
}

/// What some call leaves open is open, whatever became of that call.
fn ended(cx: &mut Interp<'_>, (): ()) {
    let mut places: Vec<Place> =
        cx.remember(|attention: &mut Attention| attention.may_be_right.drain().collect());
    places.sort_unstable();
    places.into_iter().for_each(|place| cx.observe(place, MayBeRight, Confidence::High));
}

fn computed(cx: &mut Interp<'_>, operation: &OperationResult<'_>) {
    let result = operation.result.borrow().as_tensor().cloned();
    let (Some(result), &Operator::Binary(operator)) = (result, &operation.operator) else { return };
    let (left, right) = (operation.left, operation.right);
    if operator == BinaryOp::MatMul {
        return multiplied(cx, left, right, &result, None, operation.place);
    }
    if keeps_scores(operator) {
        let scores = if is_scores(cx, left) { left } else { right };
        pass_on(cx, scores, &result);
    }
}

fn scaled(cx: &mut Interp<'_>, scaled: &NumberApplied<'_>) {
    if let Some(result) = scaled.result.as_tensor().filter(|_| keeps_scores(scaled.operator)) {
        pass_on(cx, scaled.tensor, result);
    }
}

fn keeps_scores(operator: BinaryOp) -> bool {
    matches!(operator, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)
}

fn called(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let (call, Some(tensor)) = (result.call, result.value.as_tensor()) else { return };
    let verb = call.gives.map(|gives| gives.verb);
    if verb == Some(Transfer::Matmul) {
        if let (Some(left), Some(right)) = (call.nth_tensor(0), call.nth_tensor(1)) {
            multiplied(cx, &left, &right, tensor, rank_needed(call), call.place);
        }
        return;
    }
    let Some(input) = call.tensors().into_iter().next() else { return };
    match tensor.mark {
        Some((Mark::Softmax, at)) if at == call.place => normalized(cx, call, &input, tensor),
        // A layer makes something else of them.
        Some((Mark::Raw, at)) if at == call.place => {}
        _ => {
            pass_on(cx, &input, tensor);
            if call.api.does(Verb::Drop) {
                dropped(cx, &input, tensor);
            }
        }
    }
}

/// How many axes a call's operands have to have.
fn rank_needed(call: &Invocation<'_>) -> Option<usize> {
    let need = call.api.needs.iter().find(|need| need.verb == Need::Rank)?;
    need.args.iter().find_map(|arg| match arg {
        Operand::Literal(Literal::Int(rank)) => usize::try_from(*rank).ok(),
        _ => None,
    })
}

fn multiplied(
    cx: &mut Interp<'_>,
    left: &Tensor,
    right: &Tensor,
    result: &Tensor,
    rank: Option<usize>,
    place: Place,
) {
    let are_activations = is_activation(left) && is_activation(right);
    let weights = left.made.filter(|_| are_activations).and_then(|made| {
        cx.remember(|attention: &mut Attention| attention.weights.get(&made).cloned())
            .filter(|(_, shape)| *shape == left.shape)
    });
    if let Some((softmax, _)) = weights {
        cx.observe(place, WrongWeights { softmax }, left.confidence.min(right.confidence));
    }
    let made = result.made;
    cx.remember(|attention: &mut Attention| {
        put(&mut attention.scores, made, are_activations.then_some(rank));
    });
}

/// What is known of a place is what was computed there last.
fn put<T>(known: &mut FxHashMap<Place, T>, made: Option<Place>, what: Option<T>) {
    let Some(made) = made else { return };
    known.remove(&made);
    known.extend(what.map(|what| (made, what)));
}

/// What a model computes of its input, and no weight of its own.
fn is_activation(tensor: &Tensor) -> bool {
    tensor.learned && !tensor.is_leaf && tensor.source != Source::Parameter
}

fn is_scores(cx: &mut Interp<'_>, tensor: &Tensor) -> bool {
    tensor
        .made
        .is_some_and(|made| cx.remember(|attention: &mut Attention| attention.scores.contains_key(&made)))
}

/// Scores that are scaled or masked are scores.
fn pass_on(cx: &mut Interp<'_>, scores: &Tensor, result: &Tensor) {
    let (Some(from), Some(to)) = (scores.made, result.made) else { return };
    if from != to {
        let is_same = scores.shape == result.shape;
        cx.remember(|attention: &mut Attention| {
            let rank = attention.scores.get(&from).copied().filter(|_| is_same);
            put(&mut attention.scores, Some(to), rank);
        });
    }
}

fn normalized(cx: &mut Interp<'_>, call: &Invocation<'_>, scores: &Rc<Tensor>, weights: &Tensor) {
    let rank = cx.remember(|attention: &mut Attention| attention.scores.get(&scores.made?).copied());
    if rank.is_some_and(|rank| !transfer::leaves_out_last(call, weights, rank)) {
        cx.remember(|attention: &mut Attention| attention.may_be_right.insert(call.place));
    }
    let is_wrong = rank.is_some_and(|rank| transfer::leaves_out_last(call, weights, rank));
    let by = is_wrong.then(|| (call.place, weights.shape.clone()));
    cx.remember(|attention: &mut Attention| put(&mut attention.weights, Some(call.place), by));
}

/// Weights of which some are left out by chance weight the same.
fn dropped(cx: &mut Interp<'_>, weights: &Tensor, result: &Tensor) {
    let (Some(from), Some(to)) = (weights.made, result.made) else { return };
    cx.remember(|attention: &mut Attention| {
        let known = attention.weights.get(&from).cloned();
        put(&mut attention.weights, Some(to), known);
    });
}
