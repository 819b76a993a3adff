//! `copy.copy` and `copy.deepcopy`: a copy of a module is another module with parameters of its own.

use super::super::{Call, Interp};
use super::{Table, alloc_part, dicts};
use crate::report::Place;
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) const CALLS: Table = &[
    ("copy.copy", |interp, call| Some(shallow(interp, call))),
    ("copy.deepcopy", |interp, call| Some(deep(interp, call))),
];

/// More objects than this stay shared with the original.
const MOST_COPIES: u64 = 4096;
const DEEPEST: usize = 48;
/// An object that is kept takes far more than a step: each meeting of two branches looks at it again.
const FUEL_A_COPY: u32 = 4;

fn shallow(interp: &mut Interp, call: &Call) -> Value {
    let Some(value) = call.arg(0, "x").cloned() else { return Value::Unknown };
    let Some(id) = value.as_obj().filter(|id| is_copied(interp, *id)) else { return value };
    let original = interp.heap.get(id).clone();
    let copy = interp.alloc(call.place, original.class, original.state);
    let object = interp.heap.get_mut(copy);
    (object.attrs, object.notes) = (original.attrs, original.notes);
    object.attrs.retain(|(name, _)| *name != dicts::VARS_OF);
    Value::Obj(copy)
}

fn deep(interp: &mut Interp, call: &Call) -> Value {
    let Some(value) = call.arg(0, "x").cloned() else { return Value::Unknown };
    let mut copier = Copier { interp, place: call.place, copies: FxHashMap::default(), count: 0 };
    copier.value(&value, 0)
}

/// Classes and frames are not copied, nor are the run's own objects.
fn is_copied(interp: &Interp, id: ObjId) -> bool {
    !matches!(interp.heap.get(id).state, State::Class(_) | State::Frame)
}

struct Copier<'a, 'p> {
    interp: &'a mut Interp<'p>,
    place: Place,
    copies: FxHashMap<ObjId, ObjId>,
    count: u64,
}

impl Copier<'_, '_> {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::Obj(id) => Value::Obj(self.object(*id, depth)),
            Value::Tuple(items) => {
                Value::tuple(items.iter().map(|item| self.value(item, depth + 1)).collect())
            }
            Value::Maybe(inner) => Value::Maybe(Rc::new(self.value(inner, depth + 1))),
            Value::Given(given) => {
                let value = self.value(&given.value, depth + 1);
                Value::Given(Rc::new(Given { value, origin: given.origin.clone() }))
            }
            Value::Bound(bound) => {
                let receiver = self.value(&bound.receiver, depth + 1);
                Value::Bound(Rc::new(Bound { receiver, method: bound.method.clone() }))
            }
            Value::Params(params) => {
                let owners = params.owners.iter().map(|owner| self.object(owner, depth + 1)).collect();
                let copy = |one: &Parameter, owner| Parameter { owner, ..one.clone() };
                let only = params.only.as_ref().map(|only| {
                    only.iter().map(|one| copy(one, self.object(one.owner, depth + 1))).collect()
                });
                Value::Params(Rc::new(Params { owners, only, ..(**params).clone() }))
            }
            other => other.clone(),
        }
    }

    fn object(&mut self, id: ObjId, depth: usize) -> ObjId {
        if let Some(copy) = self.copies.get(&id) {
            return *copy;
        }
        if depth > DEEPEST || self.count >= MOST_COPIES || !is_copied(self.interp, id) {
            return id;
        }
        if !self.interp.burn(FUEL_A_COPY) {
            return id;
        }
        let original = self.interp.heap.get(id).clone();
        let copy = self.alloc(&original);
        self.copies.insert(id, copy);
        let attrs =
            original.attrs.iter().map(|(name, value)| (*name, self.value(value, depth + 1))).collect();
        let notes =
            original.notes.iter().map(|(note, value)| (*note, self.value(value, depth + 1))).collect();
        let state = self.state(&original.state, depth + 1);
        let object = self.interp.heap.get_mut(copy);
        (object.attrs, object.notes) = (attrs, notes);
        object.state = state;
        self.interp.heap.note(copy, COPIED, Value::Obj(id));
        // Gradients are not copied.
        self.interp.made(self.place, copy);
        copy
    }

    /// The first copy is the call's own result.
    fn alloc(&mut self, original: &Object) -> ObjId {
        self.count += 1;
        let state = original.state.clone();
        match self.count {
            1 => self.interp.alloc(self.place, original.class, state),
            nth => alloc_part(self.interp, self.place, nth, original.class, state),
        }
    }

    fn state(&mut self, state: &State, depth: usize) -> State {
        match state {
            State::List(items) => {
                let exact = items.exact.as_ref();
                State::List(Items {
                    exact: exact.map(|exact| exact.iter().map(|item| self.value(item, depth)).collect()),
                    any: self.value(&items.any, depth),
                    len: items.len.clone(),
                })
            }
            State::Dict(entries) => State::Dict(entries.map(|value| self.value(value, depth))),
            State::Module(module) => {
                let parts = module.parts.iter().map(|part| self.object(*part, depth)).collect();
                State::Module(ModuleState { parts, ..module.clone() })
            }
            other => other.clone(),
        }
    }
}
