//! Which classes and functions are the same, what they are called, and where they are registered.

use super::{Interp, python};
use crate::values::{ObjId, State, Value};
use ustr::Ustr;

impl Interp<'_> {
    /// Whether two values are the same class or function.
    pub(super) fn same_callable(&self, left: &Value, right: &Value) -> Option<bool> {
        match (left, right) {
            (Value::Function(a), Value::Function(b)) => python::same_function(a, b),
            (Value::Api(a), Value::Api(b)) if a == b => Some(true),
            (Value::Obj(a), Value::Obj(b)) => match (&self.heap.get(*a).state, &self.heap.get(*b).state) {
                (State::Class(_), State::Class(_)) if a == b => Some(true),
                (State::Class(one), State::Class(other)) => {
                    ((one.file, one.class) != (other.file, other.class)).then_some(false)
                }
                _ => None,
            },
            (Value::Function(_), _) if self.is_class(right) => Some(false),
            (_, Value::Function(_)) if self.is_class(left) => Some(false),
            _ => None,
        }
    }

    pub(super) fn is_class(&self, value: &Value) -> bool {
        value.as_obj().is_some_and(|object| self.heap.is_class(object))
    }

    /// `__name__` of a class or a function.
    pub(super) fn name_of_callable(&self, value: &Value) -> Option<Ustr> {
        match value {
            Value::Function(closure) => Some(self.tree(closure.file).function(closure.function).name),
            Value::Api(name) => name.rsplit('.').next().map(Ustr::from),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Class(class) => Some(self.tree(class.file).class(class.class).name),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a class or function is written into a registry of another file, by a function of that file: files that
    /// this run does not read have written theirs into it, too.
    pub(super) fn registers_from_elsewhere(&self, registry: ObjId, value: &Value) -> bool {
        let is_callable = matches!(value, Value::Function(_)) || self.is_class(value);
        let Some(writer) = self.frames.last().filter(|frame| is_callable && frame.function.is_some()) else {
            return false;
        };
        let home = self.heap.get(registry).site.file;
        let module = self.frames.iter().rfind(|frame| frame.function.is_none());
        writer.file == home && module.is_some_and(|module| module.file != home)
    }
}
