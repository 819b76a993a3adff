//! Dtypes of weights, and numbers of another dtype that meet them. A dtype counts only where the script chose
//! it, or where the framework's default is known to hold.

use super::{Interp, Invocation, transfer};
use crate::apis::Transfer;
use crate::report::{Confidence, Place};
use crate::trace::{At, Observation, Sight};
use crate::values::*;
use std::rc::Rc;

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

impl<'p> Interp<'p> {
    /// The dtype of a new layer's weights: as told, or the framework's default where it takes one.
    pub(super) fn dtype_in_force(&mut self, call: &Invocation) -> Option<DType> {
        let takes = call.api.params.iter().any(|param| param.name == "dtype");
        match call.get("dtype") {
            Value::None if takes && self.plain_dtypes => Some(DType::Float32),
            told if takes && call.is_given("dtype") => transfer::dtype_of(&told),
            _ => None,
        }
    }

    /// From here on new tensors and layers are of another dtype than the tables say.
    pub(super) fn default_dtype_from_here(&mut self, dtype: &Value) {
        if transfer::dtype_of(dtype) != Some(DType::Float32) {
            self.plain_dtypes = false;
        }
    }

    /// `module.to(dtype)`: weights, parameters and buffers that are no integers.
    pub(super) fn cast_parts(&mut self, value: &Value, dtype: Option<DType>) {
        self.for_each_part(value, |module| module.dtype = dtype);
        let Some(object) = value.as_obj() else { return };
        for part in self.descendants(object).iter() {
            for index in 0..self.heap.get(part).attrs.len() {
                let here = self.heap.get(part);
                let (name, value) = &here.attrs[index];
                let Some(tensor) =
                    value.as_tensor().filter(|_| super::device::moves_along(here, *name, value))
                else {
                    continue;
                };
                if tensor.dtype.is_none_or(DType::is_float) {
                    let tensor = Tensor { dtype, ..(**tensor).clone() };
                    self.heap.get_mut(part).attrs[index].1 = Value::tensor(tensor);
                }
            }
        }
    }

    /// A layer, and numbers of a dtype that it does not take.
    pub(super) fn meet_weights(&mut self, object: ObjId, transfer: Transfer, call: &Invocation) {
        let Some(asks) = asks(transfer).filter(|_| !self.apis.is_copying(call.api.name)) else { return };
        let Some(input) = call.nth_tensor(0).filter(|input| !input.is_array) else { return };
        let here = self.heap.get(object);
        let Some(module) = here.module().filter(|module| !module.managed) else { return };
        let (Some(gets), Some(weights)) = (input.dtype, module.dtype) else { return };
        let learns = module.weights != Learned::Nothing;
        let confidence = here.confidence.min(input.confidence);
        if !self.plain_dtypes || !learns || !self.refuses(asks, gets, weights) {
            return;
        }
        self.mistyped(object, &input, (gets, weights), asks == Asks::Whole, confidence);
    }

    fn refuses(&self, asks: Asks, gets: DType, weights: DType) -> bool {
        let differs = gets != weights && gets != DType::Complex64;
        // Autocast leaves doubles and whole numbers as they are.
        let cast = self.autocast().is_some() && gets.is_float() && gets != DType::Float64;
        match asks {
            Asks::Same => differs && !cast,
            Asks::Floats => differs && (gets == DType::Float64 || weights == DType::Float64),
            Asks::Whole => gets.is_float(),
        }
    }

    /// One report for a forward: what comes after the error never runs.
    fn mistyped(
        &mut self,
        object: ObjId,
        input: &Tensor,
        (gets, weights): (DType, DType),
        lookup: bool,
        confidence: Confidence,
    ) {
        if self.forwards.iter().any(|open| open.mistyped) {
            return;
        }
        // What the model was called with, and not what its forward made, is at fault outside.
        let outer = self
            .forwards
            .first()
            .filter(|outer| outer.given.iter().any(|given| given.dtype == Some(gets) && !given.is_array));
        let at = match outer {
            Some(outer) => self.at_depth(outer, confidence),
            None => {
                let place = self.forwards.last().map_or(self.heap.get(object).site, |open| open.place);
                self.at(place, confidence)
            }
        };
        self.see_mistyped(at, self.class_name(object), input.made, (gets, weights), lookup);
        self.forwards.iter_mut().for_each(|open| open.mistyped = true);
    }

    fn see_mistyped(
        &mut self,
        at: At,
        what: Rc<str>,
        made: Option<Place>,
        (gets, wants): (DType, DType),
        lookup: bool,
    ) {
        let sight = Sight::Mistyped { what, made, gets, wants, lookup };
        self.out.observations.push(Observation::new(at, sight));
    }

    /// The factors of a matrix product, which are of one dtype.
    pub(super) fn meet_factors(&mut self, a: &Tensor, b: &Tensor, place: Place) {
        let (Some(x), Some(y)) = (a.dtype, b.dtype) else { return };
        let cast = self.autocast().is_some() && x != DType::Float64 && y != DType::Float64;
        if a.is_array || b.is_array || x == y || cast || !self.plain_dtypes || !(x.is_float() && y.is_float())
        {
            return;
        }
        let at = self.at(place, a.confidence.min(b.confidence));
        self.see_mistyped(at, Rc::from("this product"), a.made, (x, y), false);
    }
}
