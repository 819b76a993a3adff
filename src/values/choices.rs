//! Values that are one of several: instances and modules of several classes, and what is called by a name that a
//! script chooses.

use super::{ClassRef, Heap, ModuleState, ObjId, ObjSet, State, Value};
use std::rc::Rc;
use ustr::Ustr;

/// More classes or functions than these are not followed one by one.
const MOST_CALLABLES: usize = 8;

impl Heap {
    /// Whether an object gives what another one gives, such as a progress bar: `if rank == 0: loader = tqdm(loader)`.
    pub(super) fn goes_through(&self, wrapper: ObjId, iterable: &Value) -> bool {
        let inner = self.attr(wrapper, Ustr::from("iterable"));
        inner.is_some_and(|inner| inner.same(iterable))
    }

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

    /// What stands for two stands for them as they are now.
    pub(super) fn renew_merged(&mut self, known: ObjId, a: ObjId, b: ObjId) {
        match (&self.get(a).state, &self.get(b).state) {
            (State::Module(_), State::Module(_)) => self.renew_merged_module(known, a, b),
            (State::List(_) | State::Dict(_), _) | (State::Plain, State::Plain) => {
                self.renew_merged_container(known, a, b);
            }
            _ => {}
        }
    }

    /// Containers and instances that were made again since: what the merged one held is gone with them.
    fn renew_merged_container(&mut self, known: ObjId, a: ObjId, b: ObjId) {
        let (x, y) = (self.get(a), self.get(b));
        let epoch = x.epoch.min(y.epoch);
        if epoch <= self.get(known).epoch {
            return;
        }
        let (x, y) = (Rc::new(x.clone()), Rc::new(y.clone()));
        // Once is enough: what they hold may lead back to them.
        self.get_mut(known).epoch = epoch;
        let joined = self.join_objects(&x, &y);
        *self.get_mut(known) = (*joined).clone();
    }

    /// Modules that were moved or put into another mode since, with all below them.
    fn renew_merged_module(&mut self, known: ObjId, a: ObjId, b: ObjId) {
        let (x, y) = (self.get(a).clone(), self.get(b).clone());
        let State::Module(now) = self.join_states(&x.state, &y.state) else { return };
        let State::Module(module) = &self.get(known).state else { return };
        if (module.mode, module.device, module.dtype, module.frozen)
            == (now.mode, now.device, now.dtype, now.frozen)
        {
            return;
        }
        let renewed = ModuleState {
            mode: now.mode,
            device: now.device,
            dtype: now.dtype,
            frozen: now.frozen,
            apart: now.apart,
            ..module.clone()
        };
        self.get_mut(known).state = State::Module(renewed);
        for (name, part) in &x.attrs {
            if let (Value::Obj(_), Some(other @ Value::Obj(_))) = (part, y.attr(*name)) {
                self.join(part, other);
            }
        }
    }

    /// A tensor, or what is called as one or the other.
    pub(super) fn join_callables(&self, a: &Value, b: &Value) -> Value {
        if let (Value::Params(one), Value::Tensor(x)) | (Value::Tensor(x), Value::Params(one)) = (a, b) {
            return self.join_weight(one, x);
        }
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

    pub fn is_class(&self, object: ObjId) -> bool {
        matches!(self.get(object).state, State::Class(_))
    }

    fn callables(&self, value: &Value) -> Option<Vec<Value>> {
        match value {
            Value::AnyOf(all) => Some(all.to_vec()),
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::Api(_) => {
                Some(vec![value.clone()])
            }
            Value::Obj(object) => {
                let (state, class) = (&self.get(*object).state, self.get(*object).class);
                // What owns nothing and changes nothing but itself: a loss, a schedule.
                let has_methods =
                    matches!((state, class), (State::Plain, ClassRef::Project(_) | ClassRef::Api(_)));
                (has_methods || self.is_class(*object)).then(|| vec![value.clone()])
            }
            _ => None,
        }
    }
}
