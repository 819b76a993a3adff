//! Statistics of a single number: it has a mean and no deviation.

use super::{Interp, Invocation, transfer};
use crate::apis::{Apply, PoleKind};
use crate::values::*;

impl Interp<'_> {
    /// The deviation of one number is no number.
    pub(super) fn note_deviation(
        &mut self,
        apply: &Apply<PoleKind>,
        call: &Invocation,
        result: Value,
    ) -> Value {
        let operand = |at: usize| apply.args.get(at).map_or(Value::None, |arg| call.value_of(arg));
        let (Some(of), Some(tensor)) = (operand(0).as_tensor().cloned(), result.as_tensor()) else {
            return result;
        };
        let biased = self.truth(&operand(2)) == Some(false) || operand(3).as_known_int() == Some(0);
        if biased || self.numbers_along(&of, &operand(1)) != Some(Int::Known(1)) {
            return result;
        }
        let hazard = Hazard::new(HazardKind::StandardDeviation, call.place, of.confidence);
        Value::tensor(tensor.with_hazard(Hazard { made_at: of.made, ..hazard }))
    }

    /// How many numbers a reduction along axes takes together.
    fn numbers_along(&self, tensor: &Tensor, axes: &Value) -> Option<Int> {
        let shape = tensor.shape.as_deref()?;
        if matches!(axes.bare(), Value::None) {
            return Some(tensor.numel());
        }
        let mut sizes = Vec::new();
        for axis in transfer::ints_of(self, axes)? {
            let axis = transfer::dims::normalise_dim(axis.known()?, shape.len())?;
            sizes.push(shape[axis].clone());
        }
        Some(crate::values::int::product(sizes.iter()))
    }
}
