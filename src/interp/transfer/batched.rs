//! Layers whose first axis is always the batch and whose last holds the channels.

use super::build::*;
use super::dims::{self, Dims};
use super::elementwise::of_all;
use super::layers::activation;
use crate::apis::Slot;
use crate::interp::{Interp, Invocation};
use crate::values::*;
use std::rc::Rc;

/// `reshape-batched x shape`: the batch stays.
pub(crate) fn reshape(interp: &mut Interp, call: &Invocation) -> Value {
    let input = first(interp, call);
    let wanted = given(call, Slot::Shape).and_then(|shape| ints_of(interp, &shape));
    let shape = input.shape.as_ref().zip(wanted).and_then(|(shape, wanted)| behind_batch(shape, &wanted));
    Value::tensor(kept(interp, &input).with_shape(shape.map(Rc::from)))
}

fn behind_batch(shape: &[Int], wanted: &[Int]) -> Option<Dims> {
    let (batch, rest) = shape.split_first()?;
    Some([batch.clone()].into_iter().chain(dims::reshape(Some(rest), wanted)).collect())
}

/// `global-pool-keras x keepdims rank`: the axes between batch and channels go.
pub(crate) fn global_pool(interp: &mut Interp, call: &Invocation) -> Value {
    let input = first(interp, call);
    let keep = flag(param(call, Slot::Keepdim));
    let shape =
        input.shape.as_ref().zip(quoted_rank(call)).and_then(|(shape, rank)| pooled(shape, rank, keep?));
    Value::tensor(Tensor { shape: shape.map(Rc::from), ..result(interp, call.place, &[&input]) })
}

fn pooled(shape: &[Int], rank: usize, keep: bool) -> Option<Dims> {
    if shape.len() != rank + 2 {
        return None;
    }
    let axes: Vec<i64> = (1..=rank as i64).collect();
    dims::reduce(shape, &axes, keep)
}

/// `recurrent-keras x units return_sequences return_state`
pub(crate) fn recurrent(interp: &mut Interp, call: &Invocation) -> Value {
    // How many states there are depends on the layer.
    if flag(param(call, Slot::ReturnState)) != Some(false) {
        return Value::Unknown;
    }
    let input = first(interp, call);
    let units = param(call, Slot::Units).and_then(|units| units.as_int().cloned()).unwrap_or_default();
    let sequences = flag(param(call, Slot::ReturnSequences));
    let shape = input.shape.as_ref().and_then(|shape| unrolled(shape, units, sequences?)).map(Rc::from);
    Value::tensor(Tensor { shape, ..result(interp, call.place, &[&input]) })
}

fn unrolled(shape: &[Int], units: Int, sequences: bool) -> Option<Dims> {
    match shape {
        [batch, steps, _] if sequences => Some(vec![batch.clone(), steps.clone(), units]),
        [batch, _, _] => Some(vec![batch.clone(), units]),
        _ => None,
    }
}

/// `merge inputs`: number by number on a list of tensors.
pub(crate) fn merge(interp: &mut Interp, call: &Invocation) -> Value {
    let inputs = call.nth(0);
    let all = match sequence(interp, &inputs) {
        Some(Sequence::Exact(items)) => items,
        Some(Sequence::Any(any, _)) => vec![any],
        None => vec![Value::Unknown],
    };
    Value::tensor(of_all(interp, call.place, &all))
}

/// `activated x activation`: new numbers in a shape that nobody says, then an activation by name.
pub(crate) fn activated(interp: &mut Interp, call: &Invocation) -> Value {
    let input = first(interp, call);
    let plain = result(interp, call.place, &[&input]);
    let Some(name) = given(call, Slot::Activation) else { return Value::tensor(plain) };
    let (mark, range) = name.as_str().map_or((None, None), activation);
    Value::tensor(Tensor { mark: mark.map(|mark| (mark, call.place)), range, ..plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batched(sizes: &[i64]) -> Dims {
        [Int::symbol(Symbol(0))].into_iter().chain(sizes.iter().map(|size| Int::Known(*size))).collect()
    }

    #[test]
    fn the_batch_stays() {
        let wanted = [Int::Known(7), Int::Known(-1)];
        assert_eq!(behind_batch(&batched(&[28]), &wanted), Some(batched(&[7, 4])));
        assert_eq!(behind_batch(&[], &wanted), None);
    }

    #[test]
    fn global_pools_keep_batch_and_channels() {
        assert_eq!(pooled(&batched(&[8, 8, 3]), 2, false), Some(batched(&[3])));
        assert_eq!(pooled(&batched(&[8, 8, 3]), 2, true), Some(batched(&[1, 1, 3])));
        assert_eq!(pooled(&batched(&[8, 3]), 2, false), None);
    }

    #[test]
    fn recurrent_layers_give_the_last_step_or_all() {
        assert_eq!(unrolled(&batched(&[20, 4]), Int::Known(64), true), Some(batched(&[20, 64])));
        assert_eq!(unrolled(&batched(&[20, 4]), Int::Known(64), false), Some(batched(&[64])));
        assert_eq!(unrolled(&batched(&[4]), Int::Known(64), false), None);
    }
}
