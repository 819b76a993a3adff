//! Containers of modules that grow: one layer after the other, before another, and in loops. What a loop adds to a
//! stack in one of its rounds is a part of the stack that stands for any number of them.

use super::Interp;
use crate::apis::{Api, Role, Transfer};
use crate::values::*;
use ustr::Ustr;

/// A layer that is added is looked for so often among those that are there.
const LOOKS_AT_A_LAYER: usize = 2;

/// A container has fewer attributes than this that are no children.
const FEW_OTHERS: usize = 16;

/// What a container holds beside its numbered children stands at places that nobody knows.
pub(super) const OUT_OF_ORDER: Note = Note::new("out of order");

impl Interp<'_> {
    /// `model.add(layer)`, `layers.insert(index, layer)`
    pub(super) fn add_layer(&mut self, model: &Value, layer: &Value, before: Option<&Value>) {
        let Some(object) = model.as_obj() else { return };
        let held = self.heap.get(object).attrs.len();
        // It is looked for among all that are there, and put behind them.
        self.burn_over(held * LOOKS_AT_A_LAYER);
        let looped = self.outlived(self.heap.get(object).epoch).is_some();
        if let Some(before) = before {
            let at = before.as_known_int().and_then(|at| usize::try_from(at).ok());
            let count = self.count_of_children(object);
            return self.insert_layer(object, layer.clone(), at.map(|at| (at, count)), looped);
        }
        if !looped {
            return self.push_layer(object, layer.clone());
        }
        if self.is_stack(object) {
            self.stack_in_rounds(object, layer.clone());
        }
        let name = Ustr::from("*");
        let layer = match self.heap.attr(object, name).cloned() {
            // Each pass adds one, and not all are of a kind.
            Some(before) => self.heap.join(&before, layer),
            None => layer.clone(),
        };
        self.heap.get_mut(object).set_attr(name, layer);
    }

    fn push_layer(&mut self, object: ObjId, layer: Value) {
        let name = Ustr::from(&self.count_of_children(object).to_string());
        self.heap.get_mut(object).set_attr(name, layer);
    }

    fn count_of_children(&self, object: ObjId) -> usize {
        let count = self.numbered_children(object);
        count.unwrap_or_else(|| self.children_in_order(object).map_or(0, |children| children.len()))
    }

    /// Whether calling a container calls its children, one after the other.
    pub(super) fn is_stack(&self, object: ObjId) -> bool {
        self.layer_api(object).and_then(Api::transfer) == Some(Transfer::Sequential)
    }

    /// The children of a container as a call goes through them, where a loop has added some, too.
    pub(super) fn children_in_order(&self, object: ObjId) -> Option<Vec<Value>> {
        let here = self.heap.get(object);
        if here.attr(Ustr::from("*")).is_none() {
            return self.indexed_children(object);
        }
        let is_named = |(name, value): &(Ustr, Value)| {
            let is_module = value.as_obj().is_some_and(|part| self.heap.get(part).module().is_some());
            is_module && name != "*" && name.parse::<usize>().is_err()
        };
        let in_order = self.heap.noted(object, OUT_OF_ORDER).is_none() && !here.attrs.iter().any(is_named);
        (in_order && self.is_stack(object)).then(|| self.numbered(object))
    }

    fn numbered(&self, object: ObjId) -> Vec<Value> {
        let here = self.heap.get(object);
        (0..).map_while(|index: usize| here.attr(Ustr::from(&index.to_string())).cloned()).collect()
    }

    /// Adds a layer to the part of a stack that the running loops make in each of their rounds.
    fn stack_in_rounds(&mut self, stack: ObjId, layer: Value) {
        let mut holder = stack;
        while let Some(outermost) = self.outlived(self.heap.get(holder).epoch) {
            holder = self.part_of_round(holder, outermost);
        }
        self.push_layer(holder, layer);
    }

    /// The last part of a stack, if it was begun in this round of a loop; else a new one, in place of that of the round
    /// before.
    fn part_of_round(&mut self, stack: ObjId, active: usize) -> ObjId {
        let (id, since) = (self.active[active].id, self.active[active].since);
        let (place, first) = (self.out.loops[id.0 as usize].place, self.out.loops[id.0 as usize].first);
        let mut parts = self.numbered(stack);
        let last = parts.last().and_then(Value::as_obj).map(|part| (part, self.heap.get(part)));
        let own = last.filter(|(_, part)| {
            part.site == place && part.epoch >= first && part.module().is_some_and(|module| module.repeats)
        });
        let own = own.map(|(part, here)| (part, here.epoch));
        match own {
            Some((part, epoch)) if epoch >= since => return part,
            Some(_) => drop(parts.pop()),
            None => {}
        }
        let class = self.layer_api(stack).map_or(ClassRef::Builtin, |api| ClassRef::Api(api.name));
        let around = self.heap.get(stack).module().cloned().unwrap_or_default();
        let state =
            ModuleState { weights: Learned::Nothing, repeats: true, parts: Default::default(), ..around };
        let part = self.alloc(place, class, State::Module(state));
        self.heap.get_mut(part).epoch = since;
        self.heap.get_mut(stack).set_attr(Ustr::from(&parts.len().to_string()), Value::Obj(part));
        part
    }

    /// Puts a layer before the one at an index, of so many: of others nobody knows any more which is where.
    fn insert_layer(&mut self, object: ObjId, layer: Value, place: Option<(usize, usize)>, looped: bool) {
        let numbered = |index: usize| Ustr::from(&index.to_string());
        let is_numbered = self.heap.attr(object, Ustr::from("*")).is_none() && !looped;
        let Some((at, count)) = place.filter(|(at, count)| at <= count && is_numbered) else {
            let any = self.any_child(object).map_or(layer.clone(), |any| self.heap.join(&any, &layer));
            self.heap.note(object, OUT_OF_ORDER, Value::Bool(Some(true)));
            return self.heap.get_mut(object).set_attr(Ustr::from("*"), any);
        };
        self.burn_over(count);
        let here = self.heap.get_mut(object);
        for index in (at..count).rev() {
            if let Some(moved) = here.attr(numbered(index)).cloned() {
                here.set_attr(numbered(index + 1), moved);
            }
        }
        here.set_attr(numbered(at), layer);
    }

    /// How many children a container has, where they stand behind all else that it has, and each has its own number.
    fn numbered_children(&self, object: ObjId) -> Option<usize> {
        let here = self.heap.get(object);
        let attrs = &here.attrs;
        self.role_of(here.class).filter(|role| *role == Role::Module)?;
        let count = attrs.last()?.0.parse::<usize>().ok()? + 1;
        let first = attrs.len().checked_sub(count)?;
        let is_module =
            |value: &Value| value.as_obj().is_some_and(|part| self.heap.get(part).module().is_some());
        let others = &attrs[..first];
        let alone = first < FEW_OTHERS && attrs[first].0 == "0";
        (alone && !others.iter().any(|(name, value)| name == "*" || is_module(value))).then_some(count)
    }
}
