//! Masks: the truth of something about each number, and what they say of the numbers that they were made of.

use super::build::*;
use super::elementwise::{arguments, of_all};
use super::ops::is_tensor;
use crate::apis::Literal;
use crate::interp::{Interp, Invocation, TensorCompare};
use crate::report::Place;
use crate::syntax::{BinaryOp, CompareOp};
use crate::values::*;
use std::rc::Rc;

/// A comparison of tensors by an operator; `None` when neither is one.
pub fn compare_by_operator(
    interp: &mut Interp,
    op: CompareOp,
    left: &Value,
    right: &Value,
    place: Place,
) -> Option<Value> {
    (is_tensor(left) || is_tensor(right)).then(|| Value::tensor(comparison(interp, op, left, right, place)))
}

/// A comparison by name.
pub(crate) fn compare(interp: &mut Interp, call: &Invocation) -> Value {
    let mut values = arguments(interp, call);
    values.retain(|value| !matches!(value, Value::Str(_)));
    Value::tensor(match (values.as_slice(), quoted_operator(call)) {
        ([left, right], Some(op)) => comparison(interp, op, left, right, call.place),
        ([left, right], None) => {
            interp.on_tensor_compare(&TensorCompare { left, right, place: call.place });
            mask(interp, call.place, &values)
        }
        _ => mask(interp, call.place, &values),
    })
}

/// The operator that an entry says a function stands for.
fn quoted_operator(call: &Invocation) -> Option<CompareOp> {
    literals(call).find_map(|literal| match literal {
        Literal::Str(text) => Some(match text.as_str() {
            "==" => CompareOp::Eq,
            "!=" => CompareOp::NotEq,
            "<" => CompareOp::Less,
            "<=" => CompareOp::LessEq,
            ">" => CompareOp::Greater,
            ">=" => CompareOp::GreaterEq,
            _ => return None,
        }),
        _ => None,
    })
}

fn comparison(interp: &mut Interp, op: CompareOp, left: &Value, right: &Value, place: Place) -> Tensor {
    interp.on_tensor_compare(&TensorCompare { left, right, place });
    let mask = mask(interp, place, &[left.clone(), right.clone()]);
    let relation = match (left.as_tensor(), right.as_tensor()) {
        (Some(subject), None) => compared(subject, op, right),
        (None, Some(subject)) => compared(subject, turned(op), left),
        _ => None,
    };
    let relation = relation.or(mask.relation.clone());
    let selects = match op {
        CompareOp::Eq => is_number(left) || is_number(right),
        // What is above zero is what is not padding, as often as what is there to be found.
        CompareOp::Greater | CompareOp::GreaterEq => is_number(right) && right.as_num() != Some(0.0),
        CompareOp::Less | CompareOp::LessEq => is_number(left) && left.as_num() != Some(0.0),
        _ => false,
    };
    let turned = left.as_tensor().and_then(|left| left.turned.as_deref().map(Turned::copied));
    Tensor { relation, selects, turned, ..mask }
}

/// A mask that says how a tensor compares to a number.
fn compared(subject: &Rc<Tensor>, op: CompareOp, number: &Value) -> Option<Rc<Relation>> {
    subject.range?;
    let number = number.as_num()?;
    Some(Rc::new(Relation::Compared { subject: subject.clone(), op, number }))
}

/// `0 < x` is `x > 0`.
fn turned(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEq => CompareOp::GreaterEq,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEq => CompareOp::LessEq,
        other => other,
    }
}

/// The truth of something about each number.
pub(crate) fn mask(interp: &Interp, place: Place, values: &[Value]) -> Tensor {
    let mut learned = values.iter().filter_map(Value::as_tensor).filter(|tensor| tensor.learned);
    let is_repeated = |value: &Value| {
        let relation = value.as_tensor().and_then(|tensor| tensor.relation.as_deref());
        matches!(relation, Some(Relation::Repeated))
    };
    let relation = match (learned.next(), learned.next()) {
        _ if values.iter().any(is_repeated) => Some(Relation::Repeated),
        // `torch.logical_or(torch.isinf(x), torch.isnan(x))`
        (None, _) if values.iter().any(is_judged) => Some(Relation::Judged),
        (None, _) => None,
        (Some(only), None) => Some(Relation::JudgedBy(only.clone())),
        _ => Some(Relation::Judged),
    };
    Tensor {
        relation: relation.map(Rc::new),
        dtype: Some(DType::Bool),
        graph: Graph::None,
        range: Some(Interval::closed(0.0, 1.0)),
        source: Source::Mask,
        learned: false,
        hazards: None,
        selects: false,
        ..of_all(interp, place, values)
    }
}

/// `~x`: of a mask the other mask.
pub fn invert(interp: &mut Interp, operand: &Value, place: Place) -> Option<Value> {
    let tensor = operand.as_tensor()?;
    let range = tensor.range.filter(|_| tensor.dtype == Some(DType::Bool));
    let relation = tensor.relation.as_ref().and_then(|relation| relation.inverted()).map(Rc::new);
    Some(Value::tensor(Tensor {
        shape: tensor.shape.clone(),
        range,
        relation,
        selects: false,
        ..result(interp, place, &[tensor])
    }))
}

/// A mask that depends on what a model makes.
pub(super) fn is_judged(operand: &Value) -> bool {
    let relation = operand.as_tensor().and_then(|tensor| tensor.relation.as_deref());
    match relation {
        Some(Relation::Compared { subject, .. } | Relation::Lifting { subject, .. }) => subject.learned,
        Some(Relation::Judged | Relation::JudgedBy(_)) => true,
        _ => false,
    }
}

/// `mask * 1e-16`: a number where a comparison holds, and zero where it does not.
pub(super) fn times_number(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    dtype: Option<DType>,
) -> Option<Relation> {
    let (mask, number) = match (left.as_tensor(), right.as_tensor()) {
        (Some(mask), None) => (mask, right.as_num()?),
        (None, Some(mask)) => (mask, left.as_num()?),
        _ => return None,
    };
    let Some(Relation::Compared { subject, op: by, number: to }) = mask.relation.as_deref() else {
        return None;
    };
    let height = dtype.map_or(number, |dtype| dtype.round(number));
    let lifting = || Relation::Lifting { subject: subject.clone(), op: *by, number: *to, height };
    (op == BinaryOp::Mul).then(lifting)
}

/// `x + (x == 0) * 1e-16`: what is left of an interval where a mask of the same numbers lifts some of them.
pub(super) fn lifted_where(a: &Rc<Tensor>, b: &Rc<Tensor>) -> Option<Interval> {
    a.lifted_by(b).or_else(|| b.lifted_by(a))
}
