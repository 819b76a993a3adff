//! Stand-ins for what the interpreter's core provides; dropped when it is merged.

use super::super::{Call, Interp};
use crate::report::Place;
use crate::values::Value;
use std::path::PathBuf;
use ustr::Ustr;

impl Interp<'_> {
    /// Calls any value.
    pub fn call_value(&mut self, callee: &Value, call: &Call) -> Value {
        match callee {
            Value::Builtin(name) => super::call(self, name.as_str(), call).unwrap_or_default(),
            _ => Value::Unknown,
        }
    }

    pub fn truth(&self, value: &Value) -> Option<bool> {
        match value {
            Value::None => Some(false),
            Value::Bool(value) => *value,
            Value::Int(num) if !num.is_given() => num.int.known().map(|value| value != 0),
            _ => None,
        }
    }

    pub fn get_attr(&mut self, value: &Value, name: Ustr, _place: Place) -> Value {
        value.as_obj().and_then(|id| self.heap.attr(id, name).cloned()).unwrap_or_default()
    }

    pub fn in_loop(&self) -> bool {
        !self.active.is_empty()
    }

    /// The epoch in which the current pass of the innermost loop began.
    pub fn loop_since(&self) -> u32 {
        self.active.last().map_or(0, |active| active.since)
    }

    /// The text of the script at a place.
    pub fn words(&self, _place: Place) -> &str {
        "…"
    }

    /// Where relative paths of the running script may lead: its folder, the project's root, the working folder.
    pub fn search_folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
