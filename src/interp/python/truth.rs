//! Truth value testing: what `if`, `not` and `bool` make of a value.

use super::super::Interp;
use crate::values::*;

impl Interp<'_> {
    /// Whether a value counts as true; `None` when it may be either, or when the user may change it.
    pub fn truth(&self, value: &Value) -> Option<bool> {
        match value {
            Value::None => Some(false),
            Value::Bool(value) => *value,
            Value::Int(num) if num.is_given() || num.tag != Tag::None => None,
            Value::Int(num) => num.int.known().map(|value| value != 0),
            Value::Float(value) => value.map(|value| value != 0.0),
            Value::Str(text) => text.as_ref().map(|text| !text.is_empty()),
            Value::Tuple(items) => Some(!items.is_empty()),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(items) => items.exact.as_ref().map(|items| !items.is_empty()),
                State::Dict(entries) if entries.is_complete() => Some(!entries.known.is_empty()),
                State::Dict(_) => None,
                _ => Some(true),
            },
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::AnyOf(_) | Value::Module(_) => {
                Some(true)
            }
            Value::Api(_) | Value::Builtin(_) | Value::Device(..) | Value::DType(_) => Some(true),
            _ => None,
        }
    }
}
