//! Containers: indexing, iterating, and what is kept in them over iterations.

mod kept;
mod masks;
mod slices;
mod tensors;

pub(super) use slices::{position, slice_bounds};
use slices::{sliced, with_item};
use tensors::{as_numbers, with_part};

use super::{
    Call, ContainerWrite, EntryRead, IndexResult, Indexed, Interp, TupleUse, batches::DEEPEST_WRAPPER,
    expr::key_of, listing::some_of, python, transfer, walked,
};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprId, ExprKind};
use crate::trace::Effect;
use crate::values::*;
use std::cell::RefCell;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// What iterating over a value gives.
    pub fn iterate(&mut self, value: &Value, place: Place) -> Items {
        let items = self.iterate_bare(value.bare(), place);
        match value {
            // What stands in a list that the user may change is no surer than the list.
            Value::Given(given) => {
                let each = |item: Value| python::set_from(item, &given.origin);
                let exact = items.exact.map(|exact| exact.into_iter().map(each).collect());
                Items { exact, any: each(items.any), len: items.len.set_at(&given.origin) }
            }
            _ => items,
        }
    }

    fn iterate_bare(&mut self, value: &Value, place: Place) -> Items {
        match value {
            Value::Tensor(tensor) => {
                let row = transfer::index(self, tensor, &Value::of_int(Int::Unknown), place);
                let any = Value::tensor(Tensor { numbers: None, recipe: None, ..row });
                let len = tensor.shape.as_ref().and_then(|shape| shape.first().cloned()).unwrap_or_default();
                Items { exact: None, any, len: Num::of(len) }
            }
            Value::Obj(object) => self.iterate_object(*object, place),
            Value::Params(params) => Items::any(self.parameter_of(params)),
            Value::Unknown => Items::any(Value::Unknown),
            bare => python::iterate(self, bare, place),
        }
    }

    fn iterate_object(&mut self, object: ObjId, place: Place) -> Items {
        let receiver = Value::Obj(object);
        if self.supposed.annotated.contains(&object) {
            return Items::any(Value::Unknown);
        }
        match self.heap.get(object).state.clone() {
            State::Loader(loader) => return Items::any(loader.batch.clone()),
            State::Module(_) => {
                if let Some(items) = self.indexed_children(object) {
                    if !self.repeats(object) {
                        return Items::exact(items);
                    }
                    return Items::any(self.heap.any_of(&Items::exact(items)).unwrap_or_default());
                }
                if let Some(any) = self.any_child(object) {
                    return Items::any(any);
                }
            }
            State::Plain if !matches!(self.heap.get(object).class, ClassRef::Project(_)) => {
                if let Some(inner) = self.heap.attr(object, Ustr::from("iterable")).cloned() {
                    return self.iterate(&inner, place);
                }
            }
            State::List(_) | State::Dict(_) => return python::iterate(self, &receiver, place),
            _ => {}
        }
        for (name, next) in [("__iter__", false), ("__getitem__", true)] {
            let name = Ustr::from(name);
            if let Some(Value::Function(closure)) = self.find_attr(object, name) {
                let call =
                    if next { Call::with(place, [Value::of_int(Int::Unknown)]) } else { Call::new(place) };
                let result = self.inline(&closure, Some(&receiver), &call);
                if next {
                    return Items::any(result);
                }
                if result.as_obj() == Some(object) {
                    return self.iterate_next(object, place);
                }
                return self.iterate(&result, place);
            }
        }
        Items::any(Value::Unknown)
    }

    fn iterate_next(&mut self, object: ObjId, place: Place) -> Items {
        match self.find_attr(object, Ustr::from("__next__")) {
            Some(Value::Function(closure)) => {
                Items::any(self.inline(&closure, Some(&Value::Obj(object)), &Call::new(place)))
            }
            _ => Items::any(Value::Unknown),
        }
    }

    /// `container[index]`; `module.__dict__[name]` is the attribute of that name.
    pub(super) fn subscript(&mut self, id: ExprId, base: ExprId, index: ExprId) -> Value {
        let holder = match self.here().expr(base).kind {
            ExprKind::Attribute { base, name, .. } if name == "__dict__" => Some(base),
            _ => None,
        };
        let container = self.eval(holder.unwrap_or(base));
        let at = index;
        let index = self.eval(at);
        let place = self.expr_place(id);
        match (holder, index.as_str().map(Ustr::from)) {
            (None, _)
                if index.as_known_int() == Some(0) && walked::is_data_of_loss(self, base, &container) =>
            {
                Value::Float(None)
            }
            (None, key) => {
                if let Some(key) = key {
                    self.on_entry_read(&EntryRead { container: &container, key, place });
                }
                let index = masks::mask_of_own_rows(self, base, &container, at, index);
                let item = self.get_item(&container, &index, place);
                self.item_of_batch(base, place, item)
            }
            (Some(_), Some(name)) => self.get_attr(&container, name, place),
            (Some(_), None) => Value::Unknown,
        }
    }

    pub(super) fn get_item(&mut self, container: &Value, index: &Value, place: Place) -> Value {
        let item = self.item_of(container.bare(), index, place);
        match container {
            Value::Given(given) => python::set_from(item, &given.origin),
            _ => item,
        }
    }

    fn item_of(&mut self, container: &Value, index: &Value, place: Place) -> Value {
        match container {
            Value::Tensor(tensor) => {
                let tensor = tensor.clone();
                self.on_index(&Indexed { tensor: &tensor, index, place });
                if tensor.rank() == Some(0) && !tensor.is_array && index.as_int().is_some() {
                    // `loss.data[0]` was the number of a loss until 0.4, and is an error since.
                    return Value::Float(None);
                }
                let mut part = transfer::index(self, &tensor, index, place);
                if matches!(index.bare(), Value::Str(_)) {
                    tensors::asked_by_name(&tensor, &mut part);
                }
                let result = RefCell::new(Value::tensor(self.pick(&tensor, index, part, place)));
                let chosen = IndexResult { tensor: &tensor, index, place, result };
                self.on_index_result(&chosen);
                chosen.result.into_inner()
            }
            Value::Tuple(items) => {
                self.on_tuple_use(&TupleUse { items, with: index, operator: None, place });
                self.sequence_item(&items.clone(), index)
            }
            Value::Obj(object) => self.object_item(*object, index, place),
            Value::Str(_) => Value::Str(None),
            Value::Params(params) => {
                self.parameters_at(params, index).unwrap_or_else(|| some_of(Value::Params(params.clone())))
            }
            Value::Builtin(_) => python::index(self, container, index, place).unwrap_or_default(),
            _ => Value::Unknown,
        }
    }

    fn sequence_item(&mut self, items: &[Value], index: &Value) -> Value {
        match index.bare() {
            Value::Slice(_) => sliced(index, items).map_or(Value::Unknown, Value::tuple),
            _ => match index.as_known_int().and_then(|at| position(at, items.len())) {
                Some(at) => items[at].clone(),
                None => self.any_in_turn(items, index),
            },
        }
    }

    fn named_child(&self, object: ObjId, index: &Value) -> Option<Value> {
        index.as_str().and_then(|name| self.heap.attr(object, Ustr::from(name)).cloned())
    }

    fn object_item(&mut self, object: ObjId, index: &Value, place: Place) -> Value {
        self.burn_over(self.heap.get(object).state.held());
        if let Some(made) = python::made_by_default(self, object, index) {
            return made;
        }
        if let (State::Dict(entries), Some(key)) = (&self.heap.get(object).state, key_of(index)) {
            let found = entries.get(&key).or(entries.other.as_ref()).cloned();
            // Who chooses what is not there by default, chooses one of those that are.
            if found.is_some() || !matches!(index, Value::Given(_)) {
                return found.unwrap_or_default();
            }
        }
        match self.heap.get(object).state.clone() {
            State::List(items) => match (&items.exact, index.bare()) {
                (Some(exact), Value::Slice(_)) => match sliced(index, exact) {
                    Some(taken) => self.list(place, taken),
                    None => {
                        let any = self.heap.any_of(&items).unwrap_or_default();
                        self.list_of(place, any)
                    }
                },
                (Some(exact), _) => self.sequence_item(exact, index),
                (None, Value::Slice(_)) => self.list_of(place, items.any),
                (None, _) => items.any,
            },
            State::Dict(entries) => {
                let mut all: Vec<Value> = entries.known.into_iter().map(|(_, value)| value).collect();
                all.extend(entries.other);
                self.heap.any_of(&Items::exact(all)).unwrap_or_default()
            }
            State::Module(_) if self.named_child(object, index).is_some() => {
                self.named_child(object, index).unwrap_or_default()
            }
            State::Module(_) => match (self.indexed_children(object), index.bare()) {
                (Some(children), bare) if self.repeats(object) => {
                    let any = self.heap.any_of(&Items::exact(children)).unwrap_or_default();
                    if matches!(bare, Value::Slice(_)) { self.list_of(place, any) } else { any }
                }
                (Some(children), _) => match self.sequence_item(&children, index) {
                    Value::Tuple(part) => self.part_of_container(object, &part, place),
                    item => item,
                },
                (None, Value::Slice(_)) => match self.any_child(object) {
                    Some(any) => self.list_of(place, any),
                    None => Value::Unknown,
                },
                (None, _) => self.any_child(object).unwrap_or_default(),
            },
            State::Class(_) => Value::Unknown,
            _ => {
                let getter = Ustr::from("__getitem__");
                match self.find_attr(object, getter) {
                    Some(Value::Function(closure)) => {
                        let call = Call::with(place, [index.clone()]);
                        self.inline(&closure, Some(&Value::Obj(object)), &call)
                    }
                    Some(method @ Value::Api(_)) => {
                        let bound = self.bind(&Value::Obj(object), &method, getter, place);
                        self.call_value(&bound, &Call::with(place, [index.clone()]))
                    }
                    _ => index
                        .as_str()
                        .and_then(|name| self.heap.attr(object, Ustr::from(name)).cloned())
                        .unwrap_or_default(),
                }
            }
        }
    }

    pub(super) fn set_item(
        &mut self,
        base: ExprId,
        container: &Value,
        index: &Value,
        value: Value,
        place: Place,
    ) {
        match container.bare() {
            Value::Tensor(tensor) => {
                let tensor = tensor.clone();
                self.write_element(&tensor, index, &value, place);
                let value = as_numbers(&tensor, value);
                let joined = with_part(&tensor, index, &value);
                // A number that is written into it brings no graph along.
                let brings = value.as_tensor().is_none_or(|value| !matches!(value.graph, Graph::None));
                let joined = match brings && value.as_num().is_none() {
                    true => self.followed_update(base, &Value::Tensor(tensor), Value::tensor(joined)),
                    false => Value::tensor(joined),
                };
                self.assign(base, joined);
            }
            Value::Obj(object) => self.set_object_item(base, *object, index, value, place),
            Value::Tuple(items) => {
                let written = with_item(&mut self.heap, items, index, &value);
                self.assign(base, written);
            }
            Value::Builtin(name) | Value::Api(name) if *name == "os.environ" => {
                self.set_variable(index, value, place);
            }
            // Of several, one of a list takes the place of another.
            Value::Params(params) if params.only.as_deref().is_some_and(|only| only.len() == 1) => {
                self.followed_update(base, container.bare(), Value::Unknown);
            }
            // Numbers are written into a gradient.
            Value::Grad(owners) => {
                let objects = (**owners).clone();
                self.event(place, Effect::WriteGradients { objects, kept: false }, Confidence::High);
            }
            Value::Unknown if kept::is_recorded(&value) => kept::under_name(self, base, index, value, place),
            _ => {}
        }
    }

    fn set_object_item(&mut self, base: ExprId, object: ObjId, index: &Value, value: Value, place: Place) {
        let key = key_of(index);
        let mut value = value;
        // Under a key of its own each iteration's value stays.
        // A text that is made up, such as `f"layer{i}"`, is one of those that the next round writes again.
        let named = matches!(index.bare(), Value::Str(_));
        if key.is_none() && !named && matches!(self.heap.get(object).state, State::Dict(_) | State::List(_)) {
            value = self.followed_into(object, value, base, place);
        }
        self.burn_over(self.heap.get(object).state.held());
        if let (State::Dict(_), Some(key)) = (&self.heap.get(object).state, &key) {
            let others = self.registers_from_elsewhere(object, &value);
            if let State::Dict(entries) = &mut self.heap.get_mut(object).state {
                entries.set(key.clone(), value);
                entries.other = if others { Some(Value::Unknown) } else { entries.other.take() };
            }
            return;
        }
        match self.heap.get(object).state.clone() {
            State::Dict(mut entries) => {
                self.other_entry(&mut entries, value);
                self.heap.get_mut(object).state = State::Dict(entries);
            }
            State::List(mut items) => {
                let at = index.as_known_int();
                match (&mut items.exact, at) {
                    (Some(exact), Some(at)) if position(at, exact.len()).is_some() => {
                        if let Some(at) = position(at, exact.len()) {
                            exact[at] = value;
                        }
                    }
                    _ => {
                        let any = match self.heap.any_of(&items) {
                            Some(any) if !matches!(index.bare(), Value::Slice(_)) => {
                                self.heap.join(&any, &value)
                            }
                            Some(_) => Value::Unknown,
                            None => value,
                        };
                        items = Items::any(any);
                    }
                }
                self.heap.get_mut(object).state = State::List(items);
            }
            State::Module(_) | State::Plain => {
                if let Some(Value::Function(setter)) = self.find_attr(object, Ustr::from("__setitem__")) {
                    let call = Call::with(place, [index.clone(), value]);
                    self.inline(&setter, Some(&Value::Obj(object)), &call);
                    return;
                }
                let name = match key {
                    Some(Key::Str(name)) => Some(Ustr::from(&name)),
                    // `model[-1] = nn.Identity()`
                    Some(Key::Int(at)) => self
                        .indexed_children(object)
                        .and_then(|children| position(at, children.len()))
                        .map(|at| Ustr::from(&at.to_string())),
                    None => None,
                };
                if let Some(name) = name {
                    self.note_replaced(object, name, &value, place);
                    self.heap.get_mut(object).set_attr(name, value);
                }
            }
            _ => {}
        }
    }

    pub(super) fn delete_item(&mut self, container: &Value, index: &Value) {
        let Some(object) = container.as_obj() else { return };
        if let State::List(items) = self.heap.get(object).state.clone() {
            let whole = matches!(index, Value::Slice(slice) if matches!((&slice.0, &slice.1), (Value::None, Value::None)));
            if whole {
                return python::clear(self, object);
            }
            self.heap.get_mut(object).state = State::List(Items::any(items.any));
        }
    }

    /// A value that is put into a container.
    pub(super) fn followed_into(
        &mut self,
        container: ObjId,
        value: Value,
        into: ExprId,
        place: Place,
    ) -> Value {
        let value = RefCell::new(value);
        self.on_container_write(&ContainerWrite { container, into, place, value: &value });
        value.into_inner()
    }

    /// `list += values` in place, as Python does it.
    pub(super) fn extend_in_place(&mut self, list: &Value, more: &Value, target: ExprId) -> bool {
        let Some(object) = list.as_obj() else { return false };
        if !matches!(self.heap.get(object).state, State::List(_)) {
            return false;
        }
        let place = self.heap.get(object).site;
        let at = self.expr_place(target);
        let more = self.followed_into(object, more.clone(), target, at);
        let call = Call::with(place, [more]);
        python::method(self, list, "extend", &call).is_some()
    }

    /// The length of anything that has one.
    pub fn length(&mut self, value: &Value, place: Place) -> Int {
        match value.bare() {
            Value::Tensor(tensor) => match &tensor.shape {
                Some(shape) => shape.first().cloned().unwrap_or_default(),
                None => self.length_of_tensor(tensor),
            },
            Value::Tuple(items) => Int::Known(items.len() as i64),
            Value::Str(Some(text)) => Int::Known(text.chars().count() as i64),
            Value::Obj(object) => self.object_length(*object, place),
            _ => Int::Unknown,
        }
    }

    /// The length of a tensor of unknown shape: the same symbol each time it is asked for, outside of loops, where
    /// each iteration has another.
    fn length_of_tensor(&mut self, tensor: &Rc<Tensor>) -> Int {
        if self.in_loop() && tensor.created >= self.loop_since() {
            return Int::Unknown;
        }
        let known = self.symbols.tensor_lengths.iter().find(|(known, _)| Rc::ptr_eq(known, tensor));
        if let Some((_, symbol)) = known {
            return Int::symbol(*symbol);
        }
        let symbol = self.symbol("len");
        self.symbols.tensor_lengths.push((tensor.clone(), symbol));
        Int::symbol(symbol)
    }

    /// Who says from outside how many items a list has: with the list itself, or with its length.
    pub(super) fn length_given(&self, value: &Value) -> Option<Rc<Origin>> {
        if let Some(origin) = value.origin().filter(|origin| origin.given) {
            return Some(origin.clone());
        }
        match value.as_obj().map(|object| &self.heap.get(object).state) {
            Some(State::List(items)) => items.len.from.clone(),
            _ => None,
        }
    }

    fn object_length(&mut self, object: ObjId, place: Place) -> Int {
        match self.heap.get(object).state.clone() {
            State::List(items) => {
                return match items.exact {
                    Some(exact) => Int::Known(exact.len() as i64),
                    None if !items.len.int.is_unknown() => items.len.int,
                    None => self.length_symbol(object, "len"),
                };
            }
            State::Dict(entries) if entries.is_complete() => return Int::Known(entries.known.len() as i64),
            State::Class(_) | State::Frame => return Int::Unknown,
            State::Loader(_) => return self.length_of_loader(object),
            _ => {}
        }
        if let Some(Value::Function(closure)) = self.find_attr(object, Ustr::from("__len__")) {
            let value = self.inline(&closure, Some(&Value::Obj(object)), &Call::new(place));
            if let Some(int) = value.as_int()
                && !int.is_unknown()
            {
                return int.clone();
            }
        }
        if let Some(length) = self.dataset_length(object, place) {
            return length;
        }
        let is_counted = self.heap.get(object).module().is_some() && !self.repeats(object);
        match self.indexed_children(object).filter(|_| is_counted) {
            Some(children) => Int::Known(children.len() as i64),
            None => self.length_symbol(object, "len(dataset)"),
        }
    }

    /// A progress bar around an iterable; one around another goes through what that goes through.
    pub(super) fn wrapped_iterable(&mut self, inner: &Value, place: Place) -> Value {
        let name = Ustr::from("iterable");
        let mut source = inner.clone();
        for _ in 0..DEEPEST_WRAPPER {
            let Some(bar) = source.as_obj().map(|bar| self.heap.get(bar)) else { break };
            // `enumerate` gives something else than what it goes through.
            let is_bar = matches!(bar.state, State::Plain) && bar.class == ClassRef::Builtin;
            match bar.attr(name).filter(|_| is_bar) {
                Some(behind) => source = behind.clone(),
                None => break,
            }
        }
        let object = self.alloc(place, ClassRef::Builtin, State::Plain);
        // `loader = tqdm(loader)` in a loop is the bar of the round before, made again.
        let source = if source.as_obj() == Some(object) { Value::Unknown } else { source };
        self.heap.get_mut(object).set_attr(name, source);
        Value::Obj(object)
    }
}
