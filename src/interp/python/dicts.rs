//! Dicts: keys, look-ups, methods, merging.

use super::super::{Call, Interp, Passed};
use super::iteration::{self, any, iterate, make};
use super::outside::is_given;
use super::{aside, containers, is_older};
use crate::report::Place;
use crate::syntax::BinaryOp;
use crate::values::*;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use std::rc::Rc;
use ustr::ustr;

/// Of a dict that `vars` gave: the object.
pub(super) const VARS_OF: &str = "$of";

/// The key that a value is, when it is a known string or integer that no flag decides.
pub fn key_of(value: &Value) -> Option<Key> {
    match value {
        _ if is_given(value) => None,
        Value::Str(Some(text)) => Some(Key::Str(text.clone())),
        Value::Int(num) => num.int.known().map(Key::Int),
        Value::Bool(Some(value)) => Some(Key::Int(i64::from(*value))),
        _ => None,
    }
}

fn value_of(key: &Key) -> Value {
    match key {
        Key::Str(text) => Value::Str(Some(text.clone())),
        Key::Int(value) => Value::int(*value),
    }
}

fn entries_of(interp: &Interp, id: ObjId) -> Entries {
    match &interp.heap.get(id).state {
        State::Dict(entries) => entries.clone(),
        _ => Entries::new(Vec::new(), Some(Value::Unknown)),
    }
}

fn write(interp: &mut Interp, id: ObjId, change: impl FnOnce(&mut Entries)) {
    if let State::Dict(entries) = &mut interp.heap.get_mut(id).state {
        change(entries);
    }
}

/// What any value of the dict is.
fn any_value(interp: &mut Interp, entries: &Entries) -> Value {
    let values = entries.known.iter().map(|(_, value)| value).chain(&entries.other).cloned().collect();
    any(interp, &Items::exact(values))
}

/// `dict[key]`: of an unknown key, whatever the dict holds.
pub fn lookup(interp: &mut Interp, id: ObjId, key: &Value) -> Value {
    find(interp, id, key).unwrap_or_else(|| match default_of(interp, id) {
        Some(factory) => {
            let site = interp.heap.get(id).site;
            // The site is the dict's own: a dict made there again would replace it, and so would what another key holds.
            let nth = key_of(key.bare()).map_or(0, |key| FxBuildHasher.hash_one(key));
            let value = aside(interp, nth, |interp| interp.call_value(&factory, &Call::new(site)));
            store(interp, id, key, value.clone());
            value
        }
        None => Value::Unknown,
    })
}

/// `None` when the dict surely lacks the key, or a default would be made for it.
fn find(interp: &mut Interp, id: ObjId, key: &Value) -> Option<Value> {
    let key = key_of(key.bare()).filter(|_| !is_given(key));
    if let (Some(key), State::Dict(entries)) = (&key, &interp.heap.get(id).state) {
        return entries.get(key).or(entries.other.as_ref()).cloned();
    }
    let entries = entries_of(interp, id);
    match key {
        Some(_) => entries.other,
        None if entries.known.is_empty() && entries.other.is_none() => None,
        None => Some(any_value(interp, &entries)),
    }
}

/// `dict[key]` of a `defaultdict`.
pub fn made_by_default(interp: &mut Interp, id: ObjId, key: &Value) -> Option<Value> {
    let is_dict = matches!(interp.heap.get(id).state, State::Dict(_));
    (is_dict && default_of(interp, id).is_some()).then(|| lookup(interp, id, key))
}

/// What makes missing values of a `defaultdict`.
fn default_of(interp: &Interp, id: ObjId) -> Option<Value> {
    interp.heap.attr(id, ustr("default_factory")).filter(|factory| !matches!(factory, Value::None)).cloned()
}

pub(super) fn store(interp: &mut Interp, id: ObjId, key: &Value, value: Value) {
    if let Some(key) = key_of(key.bare()).filter(|_| !is_given(key)) {
        write(interp, id, |entries| entries.set(key, value));
        return write_through(interp, id);
    }
    let entries = entries_of(interp, id);
    let other = match &entries.other {
        Some(other) => interp.heap.join(other, &value),
        None => value,
    };
    write(interp, id, |entries| entries.other = Some(other));
}

/// What is written into `vars(object)` is the object's.
fn write_through(interp: &mut Interp, id: ObjId) {
    let Some(object) = interp.heap.attr(id, ustr(VARS_OF)).and_then(Value::as_obj) else { return };
    for (key, value) in entries_of(interp, id).known {
        if let Key::Str(name) = key {
            interp.heap.get_mut(object).set_attr(ustr(&name), value);
        }
    }
}

pub(super) fn has(entries: &Entries, key: &Value) -> Option<bool> {
    let key = key_of(key)?;
    match entries.get(&key) {
        Some(_) => (!entries.may_lack(&key)).then_some(true),
        None if entries.other.is_none() => Some(false),
        None => None,
    }
}

/// The keys, one by one when all are known.
pub(super) fn keys(interp: &mut Interp, id: ObjId) -> Items {
    let entries = entries_of(interp, id);
    let known: Vec<Value> = entries.known.iter().map(|(key, _)| value_of(key)).collect();
    if entries.other.is_none() {
        return Items::exact(known);
    }
    let texts = !known.is_empty() && entries.known.iter().all(|(key, _)| matches!(key, Key::Str(_)));
    Items::any(if texts { Value::Str(None) } else { Value::Unknown })
}

fn values(interp: &mut Interp, id: ObjId) -> Items {
    let entries = entries_of(interp, id);
    if entries.other.is_none() {
        return Items::exact(entries.known.into_iter().map(|(_, value)| value).collect());
    }
    Items::any(any_value(interp, &entries))
}

fn pairs(interp: &mut Interp, id: ObjId) -> Items {
    let entries = entries_of(interp, id);
    if entries.other.is_none() {
        let pairs = entries.known.into_iter();
        return Items::exact(pairs.map(|(key, value)| Value::tuple(vec![value_of(&key), value])).collect());
    }
    let keys = keys(interp, id);
    let key = any(interp, &keys);
    let value = any_value(interp, &entries);
    Items::any(Value::tuple(vec![key, value]))
}

pub(super) fn length(interp: &mut Interp, id: ObjId, place: Place) -> Value {
    let entries = entries_of(interp, id);
    if entries.is_complete() {
        return Value::int(entries.known.len() as i64);
    }
    let name = interp.words(place).to_owned();
    Value::of_int(interp.length_symbol(id, &name))
}

pub(super) fn method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    view(interp, id, name, call.place).or_else(|| access(interp, id, name, call))
}

/// Methods that show the dict in another form.
fn view(interp: &mut Interp, id: ObjId, name: &str, place: Place) -> Option<Value> {
    match name {
        "keys" => {
            let keys = keys(interp, id);
            Some(make(interp, place, keys))
        }
        "values" => {
            let values = values(interp, id);
            Some(make(interp, place, values))
        }
        "items" | "iteritems" => {
            let pairs = pairs(interp, id);
            Some(make(interp, place, pairs))
        }
        "copy" => {
            let entries = entries_of(interp, id);
            let copy = interp.dict(place, entries);
            copy_attrs(interp, id, &copy);
            Some(copy)
        }
        "most_common" => {
            let pairs = pairs(interp, id);
            let any = any(interp, &pairs);
            Some(interp.list_of(place, any))
        }
        "elements" => {
            let keys = keys(interp, id);
            let any = any(interp, &keys);
            Some(interp.list_of(place, any))
        }
        "__len__" => Some(length(interp, id, place)),
        _ => None,
    }
}

/// Methods that read or change entries.
fn access(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    match name {
        "get" => Some(get(interp, id, call)),
        "setdefault" => {
            let key = call.positional.first()?.value.clone();
            let found = find(interp, id, &key);
            let may_lack = key_of(&key).is_some_and(|key| entries_of(interp, id).may_lack(&key));
            let default = call.arg(1, "default").cloned().unwrap_or(Value::None);
            let value = match found {
                Some(value) if !may_lack => return Some(value),
                Some(value) => interp.heap.join(&value, &default),
                None => default,
            };
            store(interp, id, &key, value.clone());
            Some(value)
        }
        "pop" => Some(pop(interp, id, call)),
        "popitem" => {
            let pairs = pairs(interp, id);
            let pair = any(interp, &pairs);
            forget(interp, id);
            Some(pair)
        }
        "update" | "merge_with" => {
            update(interp, id, call);
            Some(Value::None)
        }
        "clear" => {
            write(interp, id, |entries| *entries = Entries::default());
            Some(Value::None)
        }
        "move_to_end" | "subtract" => Some(Value::None),
        "__getitem__" => Some(lookup(interp, id, &call.positional.first()?.value)),
        "__contains__" => {
            let entries = entries_of(interp, id);
            Some(Value::Bool(has(&entries, &call.positional.first()?.value)))
        }
        _ => None,
    }
}

fn copy_attrs(interp: &mut Interp, from: ObjId, to: &Value) {
    if let Some(to) = to.as_obj() {
        let original = interp.heap.get(from).clone();
        let copy = interp.heap.get_mut(to);
        (copy.attrs, copy.notes) = (original.attrs, original.notes);
        copy.attrs.retain(|(name, _)| *name != VARS_OF);
    }
}

fn get(interp: &mut Interp, id: ObjId, call: &Call) -> Value {
    let Some(key) = call.arg(0, "key").cloned() else { return Value::Unknown };
    let default = call.arg(1, "default").cloned().unwrap_or(Value::None);
    let entries = entries_of(interp, id);
    let found = find(interp, id, &key);
    match (found, has(&entries, &key)) {
        (Some(value), Some(true)) => value,
        (Some(value), _) => interp.heap.join(&value, &default),
        (None, _) => default,
    }
}

fn pop(interp: &mut Interp, id: ObjId, call: &Call) -> Value {
    let Some(key) = call.arg(0, "key").cloned() else { return Value::Unknown };
    let found = match call.arg(1, "default") {
        Some(_) => get(interp, id, call),
        None => find(interp, id, &key).unwrap_or_default(),
    };
    match key_of(&key) {
        Some(key) => write(interp, id, |entries| entries.known.retain(|(known, _)| *known != key)),
        None => forget(interp, id),
    }
    found
}

/// Any of the entries may be gone.
fn forget(interp: &mut Interp, id: ObjId) {
    let entries = entries_of(interp, id);
    if entries.known.is_empty() {
        return;
    }
    let any = any_value(interp, &entries);
    write(interp, id, |entries| *entries = Entries::new(Vec::new(), Some(any)));
}

/// `update(other, **more)`
fn update(interp: &mut Interp, id: ObjId, call: &Call) {
    let parts: Vec<Value> = call.positional.iter().map(|passed| passed.value.clone()).collect();
    for part in parts {
        let entries = entries_from(interp, &part, call.place);
        if part.as_obj().is_some_and(|part| part == id) {
            continue;
        }
        insert_all(interp, id, entries);
    }
    for (name, Passed { value, .. }) in &call.keywords {
        store(interp, id, &Value::str(name.as_str()), value.clone());
    }
    if call.open {
        store(interp, id, &Value::Unknown, Value::Unknown);
    }
    if is_older(interp, id) && call.open {
        forget(interp, id);
    }
}

fn insert_all(interp: &mut Interp, id: ObjId, more: Entries) {
    let mut merged = entries_of(interp, id);
    interp.burn_over(more.known.len().saturating_mul(merged.known.len() + more.known.len()));
    interp.heap.set_all(&mut merged, &more);
    if let Some(other) = more.other {
        // What is not known may stand over any of the known ones. A state that is put back holds what can be saved:
        // in the place of an object's optimizer, its layers or its loader it has nothing.
        let is_state = other.is_unknown() && interp.heap.attr(id, ustr(VARS_OF)).is_some();
        for (_, value) in &mut merged.known {
            if !(is_state && value.as_obj().is_some()) {
                *value = interp.heap.join(value, &other);
            }
        }
        merged.other = Some(match merged.other {
            Some(known) => interp.heap.join(&known, &other),
            None => other,
        });
    }
    write(interp, id, |entries| *entries = merged);
    write_through(interp, id);
}

/// The entries of what `dict(…)` and `update(…)` take: another dict, or pairs.
fn entries_from(interp: &mut Interp, value: &Value, place: Place) -> Entries {
    let unknown = || Entries::new(Vec::new(), Some(Value::Unknown));
    if let Some(id) = value.as_obj() {
        match &interp.heap.get(id).state {
            State::Dict(entries) => return entries.clone(),
            State::List(_) => {}
            _ => return unknown(),
        }
    }
    let items = iterate(interp, value, place);
    let Some(exact) = items.exact else {
        let other = match items.any {
            Value::Tuple(pair) if pair.len() == 2 => pair[1].clone(),
            _ => Value::Unknown,
        };
        return Entries::new(Vec::new(), Some(other));
    };
    let mut entries = Entries::default();
    for pair in exact {
        match pair.bare() {
            Value::Tuple(pair) if pair.len() == 2 => match key_of(&pair[0]) {
                Some(key) => entries.set(key, pair[1].clone()),
                None => entries.other = Some(Value::Unknown),
            },
            _ => return unknown(),
        }
    }
    entries
}

/// `dict(other, name=value)`
pub(super) fn dict(interp: &mut Interp, call: &Call) -> Value {
    let mut entries = match call.positional.first() {
        Some(first) => entries_from(interp, &first.value, call.place),
        None => Entries::default(),
    };
    for (name, passed) in &call.keywords {
        entries.set(Key::Str(Rc::from(name.as_str())), passed.value.clone());
    }
    if call.open {
        entries.other = Some(Value::Unknown);
    }
    interp.dict(call.place, entries)
}

/// `defaultdict(list)`: any other key holds what the factory makes.
pub(super) fn default_dict(interp: &mut Interp, call: &Call) -> Value {
    let factory = call.positional.first().map_or(Value::None, |passed| passed.value.clone());
    let rest = Call { positional: call.positional.iter().skip(1).cloned().collect(), ..call.clone() };
    let made = dict(interp, &rest);
    if let Some(id) = made.as_obj() {
        interp.heap.get_mut(id).set_attr(ustr("default_factory"), factory);
    }
    made
}

/// `Counter(items)`: numbers under unknown keys.
pub(super) fn counter(interp: &mut Interp, call: &Call) -> Value {
    let other = Some(Value::Int(Num::default()));
    interp.dict(call.place, Entries::new(Vec::new(), other))
}

pub(super) fn from_keys(interp: &mut Interp, call: &Call) -> Value {
    let value = call.arg(1, "value").cloned().unwrap_or(Value::None);
    let keys = call.arg(0, "iterable").cloned().unwrap_or_default();
    let items = iterate(interp, &keys, call.place);
    let known: Option<Vec<Key>> = items.exact.as_ref().and_then(|exact| exact.iter().map(key_of).collect());
    let mut entries = Entries::default();
    match known {
        Some(keys) => keys.into_iter().for_each(|key| entries.set(key, value.clone())),
        None => entries.other = Some(value),
    }
    interp.dict(call.place, entries)
}

/// `dict | dict`
pub(super) fn merge(interp: &mut Interp, op: BinaryOp, a: &Value, b: &Value, place: Place) -> Option<Value> {
    let dict = |interp: &Interp, value: &Value| match &interp.heap.get(value.as_obj()?).state {
        State::Dict(entries) => Some(entries.clone()),
        _ => None,
    };
    if op != BinaryOp::Or {
        return None;
    }
    let (first, second) = (dict(interp, a)?, dict(interp, b)?);
    let merged = interp.dict(place, first);
    insert_all(interp, merged.as_obj()?, second);
    Some(merged)
}

/// The attributes of an object as a dict, as `vars` gives them.
pub(super) fn of_attrs(interp: &mut Interp, id: ObjId, place: Place) -> Value {
    let attrs = interp.heap.get(id).attrs.iter();
    let shown = attrs.filter(|(name, _)| !name.starts_with('$'));
    let known = shown.map(|(name, value)| (Key::Str(Rc::from(name.as_str())), value.clone())).collect();
    let dict = interp.dict(place, Entries::new(known, None));
    if let Some(dict) = dict.as_obj() {
        interp.heap.get_mut(dict).set_attr(ustr(VARS_OF), Value::Obj(id));
    }
    dict
}

/// Whether a value is a container of the language that `len` can be asked of.
pub(super) fn container_length(interp: &mut Interp, value: &Value, place: Place) -> Option<Value> {
    let id = value.as_obj()?;
    match interp.heap.get(id).state {
        State::List(_) => Some(containers::length_of(interp, id, place)),
        State::Dict(_) => Some(length(interp, id, place)),
        State::Plain if interp.heap.attr(id, ustr("_fields")).is_some() => {
            let items = iterate(interp, value, place);
            Some(Value::Int(iteration::length(&items)))
        }
        _ => None,
    }
}
