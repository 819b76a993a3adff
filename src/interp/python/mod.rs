//! The language's own functions and the standard library, as far as training scripts need them.

use super::{Call, Interp};
use crate::values::Value;

/// A call of a builtin or standard-library function by qualified name; `None` when it is not modelled.
pub fn call(_interp: &mut Interp, _name: &str, _call: &Call) -> Option<Value> {
    None
}
