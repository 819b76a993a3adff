//! Lists, sets, deques and tuples: their methods, their operators, and indexing of all containers.

use super::super::{AS_MODULE, AS_SCRIPT, Call, Interp, stacked};
use super::iteration::{MOST_EXACT, any, concat, iterate, length, make, sort};
use super::{dicts, is_older, numbers, stdlib, strings};
use crate::report::Place;
use crate::syntax::BinaryOp;
use crate::values::*;
use ustr::ustr;

/// A container that drops old items by itself (`deque(maxlen=…)`): it does not grow without end.
pub fn is_bounded(interp: &Interp, value: &Value) -> bool {
    let bound = value.as_obj().and_then(|id| interp.heap.attr(id, ustr("maxlen")));
    bound.is_some_and(|bound| !matches!(bound, Value::None))
}

pub(super) fn items_of(interp: &Interp, id: ObjId) -> Items {
    match &interp.heap.get(id).state {
        State::List(items) => items.clone(),
        _ => Items::any(Value::Unknown),
    }
}

fn set_items(interp: &mut Interp, id: ObjId, items: Items) {
    if let State::List(slot) = &mut interp.heap.get_mut(id).state {
        *slot = items;
    }
}

pub(super) fn list_method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    let first = || call.positional.first().map(|passed| passed.value.clone());
    match name {
        "append" | "add" => push(interp, id, first()?),
        "appendleft" => insert(interp, id, 0, first()?),
        "insert" => {
            let value = call.positional.get(1)?.value.clone();
            match first()?.as_known_int().and_then(|at| usize::try_from(at).ok()) {
                Some(at) => insert(interp, id, at, value),
                None => blur(interp, id, Some(value)),
            }
        }
        "extend" | "update" | "extendleft" | "union_update" => {
            for passed in &call.positional {
                extend(interp, id, &passed.value, call.place);
            }
        }
        "pop" | "popleft" => return Some(pop(interp, id, name, first())),
        "remove" | "discard" => remove(interp, id, &first()?),
        "clear" => clear(interp, id),
        "sort" => {
            let items = items_of(interp, id);
            let sorted = sort(interp, items, call);
            set_items(interp, id, sorted);
        }
        "reverse" | "rotate" => turn(interp, id, name == "reverse"),
        "difference_update" | "intersection_update" | "symmetric_difference_update" => blur(interp, id, None),
        _ => return pure_method(interp, id, name, call),
    }
    Some(Value::None)
}

/// Methods that leave the list as it is.
fn pure_method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    let items = items_of(interp, id);
    match name {
        "index" => {
            let wanted = &call.positional.first()?.value;
            let known = items.exact.as_ref().and_then(|exact| position(wanted, exact));
            Some(Value::of_int(known.map_or(Int::Unknown, |at| Int::Known(at as i64))))
        }
        "count" => Some(Value::of_int(Int::Unknown)),
        "copy" => Some(make(interp, call.place, items)),
        "union" => {
            let mut all = items;
            for passed in &call.positional {
                let more = iterate(interp, &passed.value, call.place);
                all = concat(interp, &all, &more);
            }
            let any = any(interp, &all);
            Some(make(interp, call.place, Items::any(any)))
        }
        "intersection" | "difference" | "symmetric_difference" => {
            let any = any(interp, &items);
            Some(make(interp, call.place, Items::any(any)))
        }
        "issubset" | "issuperset" | "isdisjoint" => Some(Value::Bool(None)),
        "__len__" => Some(length_of(interp, id, call.place)),
        "__iter__" => Some(Value::Obj(id)),
        "__next__" | "next" => {
            interp.drawn_by(name, id, call.place);
            interp.note_drawn(&Value::Obj(id));
            Some(any(interp, &items))
        }
        "__getitem__" => index(interp, &Value::Obj(id), &call.positional.first()?.value, call.place),
        // A generator's: what is sent is not followed.
        "send" => Some(any(interp, &items)),
        "close" => Some(Value::None),
        _ => None,
    }
}

/// Where an item surely is for the first time.
fn position(wanted: &Value, items: &[Value]) -> Option<usize> {
    for (at, item) in items.iter().enumerate() {
        match numbers::equal(wanted, item) {
            Some(true) => return Some(at),
            Some(false) => {}
            None => return None,
        }
    }
    None
}

/// The length of a list: known, or the list's own symbol.
pub(super) fn length_of(interp: &mut Interp, id: ObjId, place: Place) -> Value {
    let len = length(&items_of(interp, id));
    if !len.int.is_unknown() {
        return Value::Int(len);
    }
    let name = interp.words(place).to_owned();
    Value::Int(Num { int: interp.length_symbol(id, &name), ..len })
}

pub(super) fn push(interp: &mut Interp, id: ObjId, value: Value) {
    let blurs = is_older(interp, id) || is_bounded(interp, &Value::Obj(id));
    match &mut interp.heap.get_mut(id).state {
        State::List(Items { exact: Some(exact), .. }) if !blurs && exact.len() < MOST_EXACT => {
            exact.push(value);
        }
        State::List(items) => {
            let before = items.exact.clone();
            // The order of layers outlives the list's.
            stacked::listed_layer(interp, id, before.as_deref(), &value);
            join_into(interp, id, Some(value));
        }
        _ => {}
    }
}

fn insert(interp: &mut Interp, id: ObjId, at: usize, value: Value) {
    if is_older(interp, id) {
        return blur(interp, id, Some(value));
    }
    match &mut interp.heap.get_mut(id).state {
        State::List(Items { exact: Some(exact), .. }) if exact.len() < MOST_EXACT => {
            exact.insert(at.min(exact.len()), value);
        }
        State::List(_) => blur(interp, id, Some(value)),
        _ => {}
    }
}

/// The list holds any number of what it held, and of the value, in any order.
fn blur(interp: &mut Interp, id: ObjId, value: Option<Value>) {
    stacked::unlist_layers(interp, id);
    join_into(interp, id, value);
}

fn join_into(interp: &mut Interp, id: ObjId, value: Option<Value>) {
    let items = items_of(interp, id);
    let held = interp.heap.any_of(&items);
    let any = match (held, value) {
        (Some(held), Some(value)) => interp.heap.join(&held, &value),
        (held, value) => held.or(value).unwrap_or_default(),
    };
    set_items(interp, id, Items::any(any));
}

pub(super) fn extend(interp: &mut Interp, id: ObjId, value: &Value, place: Place) {
    let more = match value.bare() {
        // Kept as the whole that it is: whoever takes the list apart joins the owners.
        Value::Params(_) => Items::any(value.clone()),
        _ => iterate(interp, value, place),
    };
    let items = items_of(interp, id);
    let mut all = concat(interp, &items, &more);
    if is_older(interp, id) || is_bounded(interp, &Value::Obj(id)) {
        all = Items::any(any(interp, &all));
    }
    if all.exact.is_none() {
        stacked::listed_layers(interp, id, items.exact.as_deref(), value);
    }
    set_items(interp, id, all);
}

fn pop(interp: &mut Interp, id: ObjId, name: &str, at: Option<Value>) -> Value {
    let items = items_of(interp, id);
    let at = match &at {
        None => Some(if name == "popleft" { 0 } else { -1 }),
        Some(at) => at.as_known_int(),
    };
    if let (Some(exact), Some(at), false) = (&items.exact, at, is_older(interp, id)) {
        let Some(at) = resolve(at, exact.len()) else { return Value::Unknown };
        let mut rest = exact.clone();
        let item = rest.remove(at);
        set_items(interp, id, Items::exact(rest));
        return item;
    }
    let item = any(interp, &items);
    blur(interp, id, None);
    item
}

fn remove(interp: &mut Interp, id: ObjId, value: &Value) {
    let items = items_of(interp, id);
    let at = items.exact.as_ref().and_then(|exact| position(value, exact));
    match (items.exact, at) {
        (Some(mut exact), Some(at)) if !is_older(interp, id) => {
            exact.remove(at);
            set_items(interp, id, Items::exact(exact));
        }
        _ => blur(interp, id, None),
    }
}

/// Empties the list; in a loop it may have been filled by a later statement of the pass before.
pub(in crate::interp) fn clear(interp: &mut Interp, id: ObjId) {
    set_items(interp, id, Items::exact(Vec::new()));
    interp.on_cleared(id);
}

fn turn(interp: &mut Interp, id: ObjId, reverse: bool) {
    let older = is_older(interp, id);
    match &mut interp.heap.get_mut(id).state {
        State::List(Items { exact: Some(exact), .. }) if reverse && !older => exact.reverse(),
        State::List(Items { exact: Some(exact), .. }) if exact.len() > 1 => blur(interp, id, None),
        _ => {}
    }
}

/// A Python index as one of Rust's.
pub(super) fn resolve(at: i64, len: usize) -> Option<usize> {
    let at = if at < 0 { at + len as i64 } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

/// `container[key]`; `None` for what is not a container of the language.
pub fn index(interp: &mut Interp, receiver: &Value, key: &Value, place: Place) -> Option<Value> {
    match receiver.bare() {
        Value::Tuple(items) => Some(pick(interp, &Items::exact(items.to_vec()), key).map_or(
            Value::Unknown,
            |picked| match picked {
                Picked::One(value) => value,
                Picked::Many(items) => match items.exact {
                    Some(exact) => Value::tuple(exact),
                    None => make(interp, place, items),
                },
            },
        )),
        Value::Str(text) => Some(strings::index(text.as_deref(), key)),
        Value::Builtin(name) if name == "os.environ" => Some(stdlib::environment(interp, key, None, place)),
        Value::Builtin(name) if name == "sys.argv" => Some(Value::Str(None)),
        // `sys.modules[__name__]`
        Value::Builtin(name) if name == "sys.modules" => match key.as_str() {
            Some(AS_SCRIPT | AS_MODULE) => Some(Value::Module(interp.file())),
            _ => None,
        },
        Value::Params(_) => iterate(interp, receiver, place).any.into(),
        Value::Obj(id) => match interp.heap.get(*id).state {
            State::Dict(_) => Some(dicts::lookup(interp, *id, key)),
            State::List(_) => list_index(interp, *id, key, place),
            State::Plain if interp.heap.attr(*id, ustr("_fields")).is_some() => {
                let items = iterate(interp, receiver, place);
                index(interp, &Value::tuple(items.exact?), key, place)
            }
            _ => None,
        },
        _ => None,
    }
}

fn list_index(interp: &mut Interp, id: ObjId, key: &Value, place: Place) -> Option<Value> {
    let items = items_of(interp, id);
    Some(match pick(interp, &items, key)? {
        Picked::One(value) => value,
        Picked::Many(items) => make(interp, place, items),
    })
}

enum Picked {
    One(Value),
    Many(Items),
}

fn pick(interp: &mut Interp, items: &Items, key: &Value) -> Option<Picked> {
    match key.bare() {
        Value::Slice(slice) => Some(Picked::Many(part(interp, items, slice))),
        Value::Int(num) => Some(Picked::One(match (&items.exact, num.int.known()) {
            (Some(exact), Some(at)) => {
                resolve(at, exact.len()).map_or(Value::Unknown, |at| exact[at].clone())
            }
            _ => any(interp, items),
        })),
        Value::Unknown | Value::Bool(_) => Some(Picked::One(any(interp, items))),
        _ => None,
    }
}

fn part(interp: &mut Interp, items: &Items, slice: &(Value, Value, Value)) -> Items {
    let bound = |value: &Value| match value.bare() {
        Value::None => Some(None),
        value => value.as_known_int().map(Some),
    };
    let bounds = (bound(&slice.0), bound(&slice.1), bound(&slice.2));
    if let (Some(exact), (Some(low), Some(high), Some(None | Some(1)))) = (&items.exact, bounds) {
        let len = exact.len() as i64;
        let clip = |at: i64| (if at < 0 { at + len } else { at }).clamp(0, len) as usize;
        let (low, high) = (low.map_or(0, clip), high.map_or(exact.len(), clip));
        return Items::exact(exact.get(low..high).unwrap_or_default().to_vec());
    }
    if let (Some(exact), (Some(None), Some(None), Some(Some(-1)))) = (&items.exact, bounds) {
        return Items::exact(exact.iter().rev().cloned().collect());
    }
    Items::any(any(interp, items))
}

/// `container[key] = value`; false for what is not a container of the language.
pub fn store(interp: &mut Interp, receiver: &Value, key: &Value, value: Value) -> bool {
    let Some(id) = receiver.as_obj() else { return false };
    match interp.heap.get(id).state {
        State::Dict(_) => dicts::store(interp, id, key, value),
        State::List(_) => store_item(interp, id, key, value),
        _ => return false,
    }
    true
}

fn store_item(interp: &mut Interp, id: ObjId, key: &Value, value: Value) {
    if let Value::Slice(_) = key.bare() {
        let more = iterate(interp, &value, interp.heap.get(id).site);
        let value = any(interp, &more);
        return blur(interp, id, Some(value));
    }
    let at = key.as_known_int();
    if let State::List(Items { exact: Some(exact), .. }) = &mut interp.heap.get_mut(id).state
        && let Some(at) = at
        && let Some(at) = resolve(at, exact.len())
    {
        exact[at] = value;
        return;
    }
    let items = items_of(interp, id);
    // Any one of them may be it now; there are as many as before.
    let held = any(interp, &items);
    let any = interp.heap.join(&held, &value);
    set_items(interp, id, Items { exact: None, any, len: length(&items) });
}

/// Whether a container holds an item; of a dict, a key.
pub fn contains(interp: &mut Interp, container: &Value, item: &Value) -> Option<bool> {
    match container.bare() {
        Value::Obj(id) => match &interp.heap.get(*id).state {
            State::List(Items { exact: Some(exact), .. }) => numbers::any_equal(item, exact),
            State::Dict(entries) => dicts::has(entries, item),
            _ => None,
        },
        _ => numbers::compare(crate::syntax::CompareOp::In, item, container),
    }
}

pub(super) fn repeat(items: &[Value], times: Option<i64>) -> Option<Vec<Value>> {
    let times = usize::try_from(times?.max(0)).ok()?;
    let total = items.len().checked_mul(times).filter(|total| *total <= MOST_EXACT)?;
    Some(items.iter().cycle().take(total).cloned().collect())
}

/// `list + list`, `list * n`, and the operators of sets.
pub(super) fn binary(interp: &mut Interp, op: BinaryOp, a: &Value, b: &Value, place: Place) -> Option<Value> {
    let list = |value: &Value| {
        let id = value.as_obj()?;
        matches!(interp.heap.get(id).state, State::List(_)).then(|| items_of(interp, id))
    };
    let items = match (list(a), list(b), op) {
        (Some(x), None, BinaryOp::Mul) => times(interp, &x, b),
        (None, Some(y), BinaryOp::Mul) => times(interp, &y, a),
        (Some(x), Some(y), BinaryOp::Add) => concat(interp, &x, &y),
        (Some(x), Some(y), BinaryOp::Or | BinaryOp::Xor) => {
            let all = concat(interp, &x, &y);
            Items::any(any(interp, &all))
        }
        (Some(x), Some(_), BinaryOp::And | BinaryOp::Sub) => Items::any(any(interp, &x)),
        (Some(x), None, BinaryOp::Add) if matches!(b, Value::Params(_)) => {
            return Some(with_params(interp, x, b, place));
        }
        (None, Some(y), BinaryOp::Add) if matches!(a, Value::Params(_)) => {
            return Some(with_params(interp, y, a, place));
        }
        _ => return None,
    };
    let is_sum = op == BinaryOp::Add && items.exact.is_none();
    let made = make(interp, place, items);
    if let Some(sum) = made.as_obj().filter(|_| is_sum) {
        stacked::layers_of_sum(interp, sum, a, b);
    }
    Some(made)
}

fn with_params(interp: &mut Interp, items: Items, params: &Value, place: Place) -> Value {
    if matches!(&items.exact, Some(exact) if exact.is_empty()) {
        return params.clone();
    }
    let all = concat(interp, &items, &Items::any(params.clone()));
    make(interp, place, all)
}

fn times(interp: &mut Interp, items: &Items, times: &Value) -> Items {
    let Some(count) = times.as_int() else { return Items::any(any(interp, items)) };
    if let Some(exact) = items.exact.as_ref().and_then(|exact| repeat(exact, count.known())) {
        return Items::exact(exact);
    }
    let len = length(items).int.mul(count);
    Items { exact: None, any: any(interp, items), len: Num::of(len) }
}

/// `list += items`
pub(super) fn extend_in_place(
    interp: &mut Interp,
    op: BinaryOp,
    left: &Value,
    right: &Value,
    place: Place,
) -> Option<Value> {
    let id = left.as_obj()?;
    if op != BinaryOp::Add || !matches!(interp.heap.get(id).state, State::List(_)) {
        return None;
    }
    extend(interp, id, right, place);
    Some(left.clone())
}

pub(super) fn tuple_method(items: &[Value], name: &str, call: &Call) -> Option<Value> {
    match name {
        "index" => {
            let at = position(&call.positional.first()?.value, items);
            Some(Value::of_int(at.map_or(Int::Unknown, |at| Int::Known(at as i64))))
        }
        "count" => Some(Value::of_int(Int::Unknown)),
        "__len__" => Some(Value::int(items.len() as i64)),
        // `torch.Size` is a tuple to us.
        "numel" => {
            let sizes: Option<Vec<&Int>> = items.iter().map(Value::as_int).collect();
            Some(Value::of_int(sizes.map_or(Int::Unknown, int::product)))
        }
        _ => None,
    }
}
