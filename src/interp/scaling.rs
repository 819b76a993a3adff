//! Scalers of gradients, and clipping: what was multiplied by which scale, and who divides by it again.
//! A scaler that is known to be switched off does nothing.

use super::{Interp, Invocation};
use crate::apis::Slot;
use crate::report::{Confidence, Place};
use crate::trace::{Effect, ScalerAct};
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// The scaler that a value is, unless it is switched off for sure.
    pub(crate) fn working_scaler(&mut self, value: &Value) -> Option<ObjId> {
        let object = value.as_obj().filter(|object| self.heap.get(*object).state.is_scaler())?;
        // What the user may switch on from outside counts as on.
        let enabled = self.heap.attr(object, Ustr::from("enabled")).cloned();
        let off = enabled.is_some_and(|enabled| self.truth(&enabled) == Some(false));
        (!off).then_some(object)
    }

    /// `scaler.scale(loss)`: the same numbers times the scale, one by one where they are several.
    pub(super) fn scaled(&mut self, call: &Invocation) -> Value {
        let scaler = self.working_scaler(&call.operand(Slot::Scaler));
        let known = matches!(call.operand(Slot::Scaler).as_obj(), Some(object) if self.heap.get(object).state.is_scaler());
        let scaled = match scaler {
            Some(scaler) => {
                let effect = Effect::Scaler { scaler, act: ScalerAct::Scale };
                self.event(call.place, effect, Confidence::High);
                Scaled::By(scaler)
            }
            None if known => Scaled::No,
            None => Scaled::Maybe,
        };
        with_scale(&call.operand(Slot::X), scaled)
    }

    /// An optimizer, or the one that a class of the project wraps.
    pub(super) fn optimizer_within(&self, value: &Value) -> Option<ObjId> {
        let object = value.as_obj()?;
        let is_optimizer = |object: &ObjId| self.heap.get(*object).optimizer().is_some();
        if is_optimizer(&object) {
            return Some(object);
        }
        let mut held = self.heap.get(object).attrs.iter().filter_map(|(_, value)| value.as_obj());
        held.find(is_optimizer)
    }

    pub(super) fn scaler(&mut self, scaler: &Value, act: ScalerAct, call: &Invocation) {
        let Some(scaler) = self.working_scaler(scaler) else { return };
        let confidence = self.heap.get(scaler).confidence;
        self.event(call.place, Effect::Scaler { scaler, act }, confidence);
    }

    /// A bound of infinity is how a script asks for the norm alone.
    pub(super) fn clip(&mut self, target: &Value, bound: &Value, place: Place) {
        self.spend(target, place);
        if bound.as_num().is_some_and(f64::is_infinite) {
            return;
        }
        let params = self.collect_params(target, 3);
        let whole = params.whole && !params.others;
        self.event(place, Effect::Clip { targets: params.owners, whole }, Confidence::High);
    }
}

fn with_scale(value: &Value, scaled: Scaled) -> Value {
    match value.bare() {
        // Scaled, a loss that is a leaf has no more behind it than before.
        Value::Tensor(tensor) => Value::tensor(Tensor { scaled, ..(**tensor).clone() }),
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| with_scale(item, scaled)).collect()),
        // Whatever it is, it was multiplied.
        Value::Unknown => {
            Value::tensor(Tensor { scaled, confidence: Confidence::Medium, ..Tensor::default() })
        }
        other => other.clone(),
    }
}
