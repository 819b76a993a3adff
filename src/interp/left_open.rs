//! What is left open of an instance whose methods are called in whatever order: its methods may have counted,
//! replaced and filled what the constructor began with.

use super::{Interp, lineage::Base};
use crate::names::Subject;
use crate::syntax::FnId;
use crate::values::*;
use ustr::Ustr;

/// What another method than the constructor sets, counts or fills is not what the constructor made of it.
pub(super) fn leave_attributes_open(interp: &mut Interp, instance: &Value) {
    let Some(instance) = instance.as_obj() else { return };
    let object = interp.heap.get(instance);
    let class = object.class;
    let begun = object.attrs.iter().enumerate().filter(|(_, (_, value))| interp.is_beginning(value));
    let open: Vec<usize> =
        begun.filter(|(_, (name, _))| interp.changes_later(class, *name)).map(|(at, _)| at).collect();
    for at in open {
        let value = interp.heap.get(instance).attrs[at].1.bare().clone();
        match value {
            Value::Obj(container) => interp.heap.get_mut(container).state = interp.filled(container),
            _ => interp.heap.get_mut(instance).attrs[at].1 = Value::Unknown,
        }
    }
}

impl Interp<'_> {
    /// What methods change: a number, a text or a flag, nothing yet, or what is still empty.
    fn is_beginning(&self, value: &Value) -> bool {
        match value.bare() {
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Str(_) | Value::None => true,
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(items) => items.exact.as_ref().is_some_and(Vec::is_empty),
                State::Dict(entries) => entries.known.is_empty() && entries.other.is_none(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Holds whatever methods put into it.
    fn filled(&self, container: ObjId) -> State {
        match self.heap.get(container).state.clone() {
            State::List(_) => State::List(Items::any(Value::Unknown)),
            State::Dict(_) => State::Dict(Entries { other: Some(Value::Unknown), ..Entries::default() }),
            state => state,
        }
    }

    /// Whether a method binds an attribute, or calls a method of it, as a loss has them.
    fn changes_later(&self, class: ClassRef, name: Ustr) -> bool {
        self.lineage(class).into_iter().any(|base| {
            let Base::Project(base) = base else { return false };
            let State::Class(state) = &self.heap.get(base).state else { return false };
            let (tree, relations) = (self.tree(state.file), self.module(state.file).relations());
            let subject = Subject::Own(state.class, name);
            let later = |function: Option<FnId>| {
                function.is_some_and(|function| tree.function(function).name != "__init__")
            };
            relations.acts_of(subject).any(|act| later(act.function))
                || relations.bindings(subject).any(|(_, function)| later(function))
        })
    }
}
