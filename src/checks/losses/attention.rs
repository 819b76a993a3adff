//! Weights of an attention: a softmax of the products of two activations, of which each row weights the values that it
//! is multiplied with. Clusters and slots that compete for samples are no such products, or are normalized again.

use crate::apis::{Literal, Mark, Need, Operand, Transfer, Verb};
use crate::interp::{
    ApiResult, Checker, Interp, Invocation, NumberApplied, OperationResult, Operator, transfer,
};
use crate::report::Place;
use crate::syntax::BinaryOp;
use crate::values::{Shape, Source, Tensor};
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_operation_result: Some(computed),
    on_number_applied: Some(scaled),
    on_api_result: Some(called),
    ..Checker::SILENT
};

/// Weights that a softmax normalized along another axis than they are summed over.
pub(super) struct WrongWeights {
    pub softmax: Place,
}

#[derive(Default)]
struct Attention {
    /// Where products of two activations were made, or what is computed of them number by number; of how many axes.
    scores: FxHashMap<Place, Option<usize>>,
    /// Where weights were made that are normalized along another axis than the last: by which softmax, and their shape.
    weights: FxHashMap<Place, (Place, Option<Shape>)>,
}

fn computed(cx: &mut Interp<'_>, operation: &OperationResult<'_>) {
    let result = operation.result.borrow().as_tensor().cloned();
    let (Some(result), &Operator::Binary(operator)) = (result, &operation.operator) else { return };
    let (left, right) = (operation.left, operation.right);
    if operator == BinaryOp::MatMul {
        return multiplied(cx, left, right, &result, None, operation.place);
    }
    if keeps_scores(operator) {
        pass_on(cx, left, &result);
        pass_on(cx, right, &result);
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
            if call.api.effects.iter().any(|effect| effect.verb == Verb::Drop) {
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
    if !is_activation(left) || !is_activation(right) {
        return;
    }
    let weights = left.made.and_then(|made| {
        cx.remember(|attention: &mut Attention| attention.weights.get(&made).cloned())
            .filter(|(_, shape)| *shape == left.shape)
    });
    if let Some((softmax, _)) = weights {
        cx.observe(place, WrongWeights { softmax }, left.confidence.min(right.confidence));
    }
    let rank = result.rank().or(rank);
    cx.remember(|attention: &mut Attention| attention.scores.extend(result.made.map(|made| (made, rank))));
}

/// What a model computes of its input, and no weight of its own.
fn is_activation(tensor: &Tensor) -> bool {
    tensor.learned && !tensor.is_leaf && tensor.source != Source::Parameter
}

/// Scores that are scaled or masked are scores.
fn pass_on(cx: &mut Interp<'_>, scores: &Tensor, result: &Tensor) {
    let (Some(from), Some(to)) = (scores.made, result.made) else { return };
    if from != to && scores.shape == result.shape {
        cx.remember(|attention: &mut Attention| {
            let rank = attention.scores.get(&from).copied();
            attention.scores.extend(rank.map(|rank| (to, rank)));
        });
    }
}

fn normalized(cx: &mut Interp<'_>, call: &Invocation<'_>, scores: &Rc<Tensor>, weights: &Tensor) {
    let rank = cx.remember(|attention: &mut Attention| attention.scores.get(&scores.made?).copied());
    let Some(rank) = rank else { return };
    if transfer::leaves_out_last(call, weights, rank) {
        let shape = weights.shape.clone();
        cx.remember(|attention: &mut Attention| attention.weights.insert(call.place, (call.place, shape)));
    }
}

/// Weights of which some are left out by chance weight the same.
fn dropped(cx: &mut Interp<'_>, weights: &Tensor, result: &Tensor) {
    let (Some(from), Some(to)) = (weights.made, result.made) else { return };
    cx.remember(|attention: &mut Attention| {
        let known = attention.weights.get(&from).cloned();
        attention.weights.extend(known.map(|weights| (to, weights)));
    });
}
