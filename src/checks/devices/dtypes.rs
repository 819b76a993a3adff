//! Numbers of one dtype that meet weights, or factors, of another. A dtype counts only where the script chose it,
//! or where the framework's default is known to hold.

use super::forwards::Forwards;
use crate::apis::Transfer;
use crate::interp::{AppliedLayer, Augment, Checker, Indexed, Interp, Operation, Operator, index_parts};
use crate::report::{Confidence, Place};
use crate::syntax::BinaryOp;
use crate::trace::At;
use crate::values::{DType, Learned, ObjId, Tensor, Value};
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_layer_applied: Some(meet_weights),
    on_operation: Some(meet_factors),
    on_augment: Some(change_in_place),
    on_index: Some(pick),
    ..Checker::SILENT
};

/// Integers are changed in place to what only floats can hold.
pub(super) struct Narrowed {
    pub holds: DType,
    pub made: Option<Place>,
    pub divides: bool,
}

/// Numbers of a dtype met weights, or factors, of another.
pub(super) struct Mistyped {
    pub what: Rc<str>,
    /// Where the numbers come from.
    pub made: Option<Place>,
    pub gets: DType,
    pub wants: DType,
    /// They were looked up in a table, which takes whole numbers.
    pub lookup: bool,
}

/// What is looked up by an index, and not by a layer.
pub(super) const INDEX: &str = "this tensor";

/// What a layer asks of its input's dtype.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// The dtype of its weights.
    Same,
    /// The same, or a shorter one.
    Floats,
    /// Whole numbers.
    Whole,
}

fn asks(transfer: Transfer) -> Option<Asks> {
    match transfer {
        Transfer::Linear
        | Transfer::Conv
        | Transfer::ConvTranspose
        | Transfer::Recurrent
        | Transfer::RecurrentCell
        | Transfer::AttentionPair => Some(Asks::Same),
        Transfer::Like => Some(Asks::Floats),
        Transfer::Embedding => Some(Asks::Whole),
        _ => None,
    }
}

/// A layer, and numbers of a dtype that it does not take.
fn meet_weights(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    let call = applied.call;
    let Some(asks) = asks(applied.transfer).filter(|_| !cx.apis.is_copying(call.api.name)) else { return };
    let Some(input) = call.nth_tensor(0).filter(|input| !input.is_array) else { return };
    let here = cx.heap.get(applied.layer);
    let Some(module) = here.module().filter(|module| !module.managed) else { return };
    let (Some(gets), Some(wants)) = (input.dtype, module.dtype) else { return };
    let learns = module.weights != Learned::Nothing;
    let confidence = here.confidence.min(input.confidence);
    if !cx.has_plain_dtypes() || !learns || !refuses(cx, asks, gets, wants) {
        return;
    }
    let (what, made, lookup) = (cx.class_name(applied.layer), input.made, asks == Asks::Whole);
    end_forward(cx, applied.layer, Mistyped { what, made, gets, wants, lookup }, confidence);
}

fn refuses(cx: &Interp<'_>, asks: Asks, gets: DType, weights: DType) -> bool {
    let differs = gets != weights && gets != DType::Complex64;
    // Autocast leaves doubles and whole numbers as they are.
    // Who calls what makes halves itself may have autocast on.
    let is_half = matches!(gets, DType::Float16 | DType::BFloat16);
    let may_cast = cx.autocast().is_some() || is_half && cx.supposed.seeded.is_some();
    let cast = may_cast && gets.is_float() && gets != DType::Float64;
    match asks {
        Asks::Same => differs && !cast,
        Asks::Floats => differs && (gets == DType::Float64 || weights == DType::Float64),
        Asks::Whole => gets.is_float(),
    }
}

/// One report for a forward: what comes after the error never runs.
fn end_forward(cx: &mut Interp<'_>, layer: ObjId, mistyped: Mistyped, confidence: Confidence) {
    if cx.is_provided_for() {
        return;
    }
    let mut forwards: Forwards = cx.recall();
    if !forwards.0.iter().any(|open| open.mistyped) {
        // What the model was called with, and not what its forward made, is at fault outside.
        let outer = forwards.0.first().filter(|outer| {
            outer.given.iter().any(|given| given.dtype == Some(mistyped.gets) && !given.is_array)
        });
        let at = match outer {
            Some(outer) => At { confidence: outer.at.confidence.min(confidence), ..outer.at.clone() },
            None => {
                let place = forwards.0.last().map_or(cx.heap.get(layer).site, |open| open.at.place);
                cx.at(place, confidence)
            }
        };
        cx.observe_at_for_good(at, mistyped);
        forwards.0.iter_mut().for_each(|open| open.mistyped = true);
    }
    cx.remember(|all: &mut Forwards| *all = forwards);
}

/// The factors of a matrix product, which are of one dtype.
fn meet_factors(cx: &mut Interp<'_>, operation: &Operation<'_>) {
    let (a, b): (&Tensor, &Tensor) = (operation.left, operation.right);
    let (Some(gets), Some(wants)) = (a.dtype, b.dtype) else { return };
    if operation.operator != Operator::Binary(BinaryOp::MatMul) || a.is_array || b.is_array || gets == wants {
        return;
    }
    let cast = cx.autocast().is_some() && gets != DType::Float64 && wants != DType::Float64;
    if !cast && cx.has_plain_dtypes() && gets.is_float() && wants.is_float() {
        let what = Rc::from("this product");
        let product = Mistyped { what, made: a.made, gets, wants, lookup: false };
        cx.observe_for_good(operation.place, product, a.confidence.min(b.confidence));
    }
}

/// `beams[position / vocabulary]`: what `/` makes of integers are floats, and no index.
fn pick(cx: &mut Interp<'_>, indexed: &Indexed<'_>) {
    // A tensor makes integers of an array, and not of a number of NumPy's.
    let is_cast = |index: &Tensor| index.is_array && index.rank() != Some(0) && !indexed.tensor.is_array;
    let is_float = |index: &&Rc<Tensor>| index.dtype.is_some_and(DType::is_float) && !is_cast(index.as_ref());
    let parts = index_parts(indexed.index);
    let Some(index) = parts.iter().filter_map(Value::as_tensor).find(is_float) else { return };
    let Some(gets) = index.dtype.filter(|_| cx.has_plain_dtypes() && !cx.is_provided_for()) else { return };
    let (what, made) = (Rc::from(INDEX), index.made);
    let sure = index.confidence.min(indexed.tensor.confidence);
    cx.observe_for_good(
        indexed.place,
        Mistyped { what, made, gets, wants: DType::Int64, lookup: true },
        sure,
    );
}

/// `counts *= 0.5`, of integers.
fn change_in_place(cx: &mut Interp<'_>, change: &Augment<'_>) {
    let Value::Tensor(tensor) = change.before else { return };
    let Some(holds) = tensor.dtype.filter(|dtype| !dtype.is_float()) else { return };
    // NumPy has rules of its own, and other frameworks make a new tensor.
    let is_changed = !tensor.is_array && !tensor.what.is_some_and(|what| cx.apis.is_copying(what));
    let divides = change.operator == BinaryOp::Div;
    let confidence = match change.operand {
        Value::Tensor(operand) if divides || operand.dtype.is_some_and(DType::is_float) => operand.confidence,
        Value::Float(_) => Confidence::High,
        Value::Int(_) if divides => Confidence::High,
        _ => return,
    };
    let arithmetic = matches!(change.operator, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div);
    if arithmetic && is_changed && !cx.is_provided_for() {
        let place = cx.expr_place(change.target);
        let narrowed = Narrowed { holds, made: tensor.made, divides };
        cx.observe_for_good(place, narrowed, confidence.min(tensor.confidence));
    }
}
