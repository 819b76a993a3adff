//! Dtypes of weights. A dtype counts only where the script chose it, or where the framework's default is known to
//! hold.

use super::{Interp, Invocation, transfer};
use crate::values::*;

impl<'p> Interp<'p> {
    /// The dtype of a new layer's weights: as told, or the framework's default where it takes one.
    pub(super) fn dtype_in_force(&mut self, call: &Invocation) -> Option<DType> {
        let takes = call.api.params.iter().any(|param| param.name == "dtype");
        match call.get("dtype") {
            Value::None if takes && self.ambient.plain_dtypes => Some(DType::Float32),
            told if takes && call.is_given("dtype") => transfer::dtype_of(&told),
            _ => None,
        }
    }

    /// Layers and tensors that are told no dtype have the one that the tables say.
    pub(crate) fn has_plain_dtypes(&self) -> bool {
        self.ambient.plain_dtypes
    }

    /// From here on new tensors and layers are of another dtype than the tables say.
    pub(super) fn default_dtype_from_here(&mut self, dtype: &Value) {
        if transfer::dtype_of(dtype) != Some(DType::Float32) {
            self.ambient.plain_dtypes = false;
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
}
