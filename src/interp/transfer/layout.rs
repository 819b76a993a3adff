//! In which order the numbers of a result lie in memory, where that is not as they are counted.

use super::build::*;
use super::dims::normalise_dim;
use super::index::slice_len;
use super::shape::axes_from;
use crate::apis::{Api, Operand, Slot, Transfer};
use crate::interp::{Interp, Invocation, index_parts};
use crate::values::*;
use std::rc::Rc;

/// What a call turns, and what leaves a tensor as it lies: casts, moves and comparisons.
pub(crate) fn turned(interp: &Interp, api: &Api, call: &Invocation) -> Option<Rc<Turned>> {
    let transfer = api.transfer()?;
    let input = call.nth_tensor(0).filter(|input| !input.is_array)?;
    let axes = match transfer {
        Transfer::Permute => axes_from(interp, call, 1)?,
        Transfer::Transpose => transposed(call, &input)?,
        Transfer::Compare => return input.turned.as_deref().map(Turned::copied),
        Transfer::Cast | Transfer::Detach | Transfer::Place => return input.turned.clone(),
        _ => return None,
    };
    let rank = axes.len();
    let axes: Vec<usize> = axes.into_iter().map(|axis| normalise_dim(axis, rank)).collect::<Option<_>>()?;
    Turned::by(&axes, input.turned.as_deref(), input.shape.as_ref(), call.place)
}

/// The dimensions of a tensor of which two change their places. `x.t()` is of a matrix.
fn transposed(call: &Invocation, input: &Tensor) -> Option<Vec<i64>> {
    let quoted = matches!(operands(call).get(1), Some(Operand::Literal(_)));
    let (a, b) = (call.operand(Slot::A).as_known_int()?, call.operand(Slot::B).as_known_int()?);
    let known = input.rank().or(input.turned.as_ref().map(|turned| turned.rank()));
    let rank = known.or((quoted && (a, b) == (0, 1)).then_some(2)).filter(|rank| *rank > 1)?;
    let (a, b) = (normalise_dim(a, rank)?, normalise_dim(b, rank)?);
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes.swap(a, b);
    Some(axes)
}

/// The part that slices leave; any other index is not followed. So many rows as are asked for there are, as a rule.
pub(super) fn cut(turned: &Turned, index: &Value) -> Option<Rc<Turned>> {
    let parts = index_parts(index);
    let slices: Vec<_> = parts
        .iter()
        .map(|part| match part.bare() {
            Value::Slice(slice) => Some(slice.clone()),
            _ => None,
        })
        .collect::<Option<_>>()?;
    if slices.len() > turned.rank() || slices.iter().any(|slice| !matches!(slice.2.bare(), Value::None)) {
        return None;
    }
    let bound = |value: &Value| match value.bare() {
        Value::None => None,
        other => Some(other.as_int().cloned().unwrap_or_default()),
    };
    Some(turned.cut(|at, size| {
        let Some(slice) = slices.get(at) else { return size.clone() };
        let (start, stop) = (bound(&slice.0), bound(&slice.1));
        match (size, &start, &stop) {
            (Int::Unknown, None, Some(Int::Known(stop))) if *stop > 0 => Int::Known(*stop),
            _ => slice_len(size, start.as_ref(), stop.as_ref(), None),
        }
    }))
}
