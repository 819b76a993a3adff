//! Columns and vectors of the same samples that meet: the operation is over all of their pairs. What comes of it stays with
//! the value, until it reaches a loss.

use crate::apis::Transfer;
use crate::interp::{ApiResult, Checker, IndexResult, Interp, OperationResult, Operator};
use crate::report::Place;
use crate::syntax::BinaryOp;
use crate::values::{Hazard, HazardKind, Int, Tensor, Value};
use std::cell::Cell;
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_operation_result: Some(met),
    on_index_result: Some(picked),
    on_api_result: Some(averaged),
    ..Checker::SILENT
};

/// A column and a vector met, which gives all their pairs.
pub(super) struct AllPairs {
    pub left: Rc<Tensor>,
    pub right: Rc<Tensor>,
    pub of: Of,
    /// All pairs were averaged, and nothing that tells one from another came in between.
    averaged: Cell<bool>,
    /// What there is for each pair met them: they are meant.
    meant: Cell<bool>,
}

/// What the pairs consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// Predictions and targets.
    Targets,
    /// What a loss gives for each sample, and weights.
    Weights,
    /// What is computed for each sample, and a number for each.
    Factors,
    /// Rows, and an index for each.
    Indices,
}

impl AllPairs {
    /// A product over all pairs may be meant, and of its mean nothing is left but two means.
    pub(super) fn is_certain(&self) -> bool {
        self.of != Of::Factors || self.averaged.get() && !self.meant.get()
    }
}

fn met(cx: &mut Interp<'_>, operation: &OperationResult<'_>) {
    let &OperationResult { operator: Operator::Binary(operator), left, right, place, .. } = operation else {
        return;
    };
    tell_apart(cx, left, right);
    tell_apart(cx, right, left);
    let both = [(left, right), (right, left)];
    let of = match operator {
        BinaryOp::Sub if both.iter().any(|(a, b)| is_column_to(a, b)) => Of::Targets,
        BinaryOp::Mul if both.iter().any(|(a, b)| is_weighted_by(cx, a, b)) => Of::Weights,
        BinaryOp::Mul | BinaryOp::Div if both.iter().any(|(a, b)| are_factors(a, b)) => Of::Factors,
        _ => return,
    };
    let Some(spread) = operation.result.borrow().as_tensor().cloned() else { return };
    let pairs = (left.clone(), right.clone());
    operation.result.replace(all_pairs(cx, &spread, pairs, of, place));
}

fn all_pairs(
    cx: &mut Interp<'_>,
    spread: &Tensor,
    (left, right): (Rc<Tensor>, Rc<Tensor>),
    of: Of,
    place: Place,
) -> Value {
    let hazard = Hazard::new(HazardKind::PairwiseBroadcast, place, spread.confidence);
    let (averaged, meant) = (Cell::new(false), Cell::new(false));
    cx.observe(place, AllPairs { left, right, of, averaged, meant }, spread.confidence);
    Value::tensor(spread.with_hazard(hazard))
}

/// Where the pairs were made that a value consists of.
fn pairs_of(tensor: &Tensor) -> impl Iterator<Item = Place> + '_ {
    let all = tensor.hazards.iter().flat_map(|hazards| hazards.iter());
    all.filter(|hazard| hazard.kind == HazardKind::PairwiseBroadcast).map(|hazard| hazard.place)
}

/// A matrix that meets pairs has a number of its own for each of them.
fn tell_apart(cx: &Interp<'_>, pairs: &Tensor, other: &Tensor) {
    if pairs.hazards.is_none() || !is_matrix(pairs) || pairs_of(other).next().is_some() {
        return;
    }
    let is_spread = |shape: &[Int]| shape.len() < 2 || shape.contains(&Int::Known(1));
    if other.shape.as_ref().is_some_and(|shape| is_spread(shape)) {
        return;
    }
    pairs_of(pairs).for_each(|place| note(cx, place, |pairs| &pairs.meant));
}

fn note(cx: &Interp<'_>, place: Place, what: impl Fn(&AllPairs) -> &Cell<bool>) {
    let seen = cx.observed_since(Default::default()).iter().filter(|seen| seen.at.place == place);
    seen.filter_map(|seen| seen.get::<AllPairs>()).for_each(|pairs| what(pairs).set(true));
}

fn averaged(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    if result.call.api.transfer() != Some(Transfer::Reduce) {
        return;
    }
    let Some(all) = result.call.nth_tensor(0).filter(|all| all.hazards.is_some() && is_matrix(all)) else {
        return;
    };
    if result.value.as_tensor().is_some_and(|mean| mean.rank() == Some(0)) {
        pairs_of(&all).for_each(|place| note(cx, place, |pairs| &pairs.averaged));
    }
}

/// `q[range(n), actions]`, where the actions are a column: each row is picked from with the actions of all.
fn picked(cx: &mut Interp<'_>, picked: &IndexResult<'_>) {
    let Value::Tuple(parts) = picked.index.bare() else { return };
    let [rows, Value::Tensor(column)] = &parts[..] else { return };
    let Some(part) = picked.result.borrow().as_tensor().cloned() else { return };
    let (Some(whole), Some([size, Int::Known(1)])) = (&picked.tensor.shape, column.shape.as_deref()) else {
        return;
    };
    let [first, _, ..] = &**whole else { return };
    if !is_made(picked.tensor) || !is_many(size) || first != size || !cx.counts_up_to(rows, size) {
        return;
    }
    let rows = Rc::new(Tensor { shape: Some([size.clone()].into()), ..Tensor::default() });
    picked.result.replace(all_pairs(cx, &part, (rows, column.clone()), Of::Indices, picked.place));
}

/// Whether what is learned has a part in a value.
fn is_made(tensor: &Tensor) -> bool {
    tensor.learned || tensor.graph.is_live()
}

fn is_many(size: &Int) -> bool {
    matches!(size, Int::Sum(_)) || size.known().is_some_and(|size| size > 1)
}

fn is_matrix(tensor: &Tensor) -> bool {
    matches!(tensor.shape.as_deref(), Some([rows, columns]) if may_be_one(rows, columns))
}

/// Whether two sizes are the same, as far as they are known.
fn may_be_one(rows: &Int, columns: &Int) -> bool {
    rows == columns || rows.is_unknown() || columns.is_unknown()
}

/// Whether one has a number in each row, and the other as many in a row: one of them may be of a size that is not known.
fn is_column_of(column: &Tensor, vector: &Tensor) -> bool {
    let (Some(column), Some(vector)) = (&column.shape, &vector.shape) else { return false };
    let fits = |rows, size| may_be_one(rows, size) && (is_many(rows) || is_many(size));
    matches!((&**column, &**vector), ([rows, Int::Known(1)], [size]) if fits(rows, size))
}

/// Whether one is a column of predictions and the other a vector of data that may be as long. Neither is a single one,
/// though nobody knows how many there are.
fn is_column_to(column: &Tensor, vector: &Tensor) -> bool {
    let of_unknown = matches!(
        (column.shape.as_deref(), vector.shape.as_deref()),
        (Some([Int::Unknown, Int::Known(1)]), Some([Int::Unknown]))
    );
    is_made(column) && !is_made(vector) && (of_unknown || is_column_of(column, vector))
}

/// Whether one is what a loss gives for each sample and the other a column of as many weights.
fn is_weighted_by(cx: &Interp<'_>, losses: &Tensor, weights: &Tensor) -> bool {
    let by_loss = losses.what.and_then(|what| cx.apis.get(what)).is_some_and(|api| api.loss.is_some());
    by_loss && is_column_of(weights, losses)
}

/// Whether a number for each sample meets what is computed for each.
fn are_factors(column: &Tensor, vector: &Tensor) -> bool {
    (is_made(column) || is_made(vector)) && is_column_of(column, vector)
}
