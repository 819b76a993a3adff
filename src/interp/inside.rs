//! What is inside of a module: the layers below it, and what is done to all of them.

use super::Interp;
use crate::values::*;

impl Interp<'_> {
    /// A module and all modules inside it.
    pub fn descendants(&self, object: ObjId) -> ObjSet {
        self.heap.descendants(object)
    }

    /// A module and all modules inside it, or those that parameters belong to.
    pub(super) fn parts_of(&self, value: &Value) -> ObjSet {
        match value.bare() {
            Value::Obj(object) => self.descendants(*object),
            Value::Params(params) if params.whole => {
                params.owners.iter().fold(ObjSet::default(), |all, owner| all.union(&self.descendants(owner)))
            }
            Value::Params(params) => params.owners.clone(),
            _ => ObjSet::default(),
        }
    }

    /// Does something to the state of a module and of all modules inside.
    pub(super) fn for_each_part(&mut self, value: &Value, change: impl Fn(&mut ModuleState)) {
        let parts = self.parts_of(value);
        self.burn_over(parts.len());
        for part in parts.iter() {
            if let State::Module(_) = self.heap.get(part).state
                && let State::Module(module) = &mut self.heap.get_mut(part).state
            {
                change(module);
            }
        }
    }
}
