//! What calls give: one function a verb of the tables' `gives`, on shapes, dtypes, devices, ranges and graphs.
//! Knows arithmetic, no framework.

use super::{Interp, Invocation};
use crate::values::Value;

/// Applies the verb of the entry's `gives`. The caller adds the entry's range and mark afterwards.
pub fn apply(_interp: &mut Interp, verb: &str, _call: &Invocation) -> Value {
    match verb {
        "none" => Value::None,
        _ => Value::Unknown,
    }
}
