//! Values that are one of several: instances and modules of several classes, and what is called by a name that a
//! script chooses.

use super::{ClassRef, Heap, ObjId, ObjSet, State, Value};

/// More classes or functions than these are not followed one by one.
const MOST_CALLABLES: usize = 8;

impl Heap {
    pub(super) fn have_classes(&self, ids: &ObjSet) -> bool {
        ids.iter().all(|id| self.get(id).class != ClassRef::Builtin)
    }

    /// The instances of several classes that a value is one of.
    pub fn alternatives(&self, value: &Value) -> Option<Vec<ObjId>> {
        let Value::Obj(id) = value.bare() else { return None };
        let members = self.members.get(id)?;
        let plain = matches!(self.get(*id).state, State::Plain) && self.get(*id).class == ClassRef::Builtin;
        (plain && self.have_classes(members)).then(|| members.iter().collect())
    }

    /// The modules that a value is one of, where they are of several classes.
    pub fn of_several_classes(&self, value: &Value) -> Option<Vec<ObjId>> {
        let Value::Obj(id) = value.bare() else { return None };
        let members = self.members.get(id).filter(|_| self.get(*id).module().is_some())?;
        let mut classes = members.iter().map(|member| self.get(member).class);
        let first = classes.next()?;
        classes.any(|class| class != first).then(|| members.iter().collect())
    }

    /// What is called as one or the other.
    pub(super) fn join_callables(&self, a: &Value, b: &Value) -> Value {
        let (Some(mut all), Some(more)) = (self.callables(a), self.callables(b)) else {
            return Value::Unknown;
        };
        for value in more {
            if !all.iter().any(|known| known.same(&value)) {
                all.push(value);
            }
        }
        if all.len() > MOST_CALLABLES { Value::Unknown } else { Value::AnyOf(all.into()) }
    }

    fn callables(&self, value: &Value) -> Option<Vec<Value>> {
        match value {
            Value::AnyOf(all) => Some(all.to_vec()),
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::Api(_) => {
                Some(vec![value.clone()])
            }
            Value::Obj(object) if matches!(self.get(*object).state, State::Class(_)) => {
                Some(vec![value.clone()])
            }
            _ => None,
        }
    }
}
