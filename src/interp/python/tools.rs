//! Functions that make functions and small classes: `functools`, `namedtuple`, `dataclasses`, `operator`.

use super::super::{Call, Interp, Passed};
use super::{Table, alloc_part, dicts, iteration, numbers};
use crate::syntax::BinaryOp;
use crate::values::*;
use std::rc::Rc;
use ustr::ustr;

pub(super) const NAMED_TUPLE: &str = "collections.namedtuple";
const MAKE: &str = "collections.namedtuple.make";
const IDENTITY: &str = "functools.identity";
const FIELDS: &str = "_fields";

pub(super) const CALLS: Table = &[
    ("importlib.import_module", |interp, call| Some(imported(interp, call))),
    ("__import__", |interp, call| Some(imported(interp, call))),
    ("functools.partial", |_, call| Some(partial(call))),
    ("functools.partialmethod", |_, call| Some(partial(call))),
    ("functools.wraps", |_, _| Some(Value::Builtin(ustr(IDENTITY)))),
    ("functools.lru_cache", |_, call| Some(decorator(call))),
    ("functools.cache", |_, call| Some(decorator(call))),
    ("functools.cached_property", |_, call| Some(decorator(call))),
    ("functools.singledispatch", |_, call| Some(decorator(call))),
    ("functools.total_ordering", |_, call| Some(decorator(call))),
    ("functools.update_wrapper", |_, call| Some(decorator(call))),
    ("functools.cmp_to_key", |_, _| Some(Value::Unknown)),
    ("contextlib.wraps", |_, _| Some(Value::Builtin(ustr(IDENTITY)))),
    ("abc.abstractmethod", |_, call| Some(decorator(call))),
    ("typing.overload", |_, call| Some(decorator(call))),
    ("typing.final", |_, call| Some(decorator(call))),
    ("typing.no_type_check", |_, call| Some(decorator(call))),
    ("typing.cast", |_, call| call.positional.get(1).map(|passed| passed.value.clone())),
    ("atexit.register", |_, call| Some(decorator(call))),
    (IDENTITY, |_, call| call.positional.first().map(|passed| passed.value.clone())),
    (NAMED_TUPLE, |interp, call| named_tuple(interp, call)),
    (MAKE, |interp, call| Some(make(interp, call))),
    ("dataclasses.field", |interp, call| Some(field(interp, call))),
    ("dataclasses.asdict", |interp, call| as_dict(interp, call)),
    ("dataclasses.astuple", |_, _| Some(Value::Unknown)),
    ("dataclasses.fields", |interp, call| Some(interp.list_of(call.place, Value::Unknown))),
    ("dataclasses.is_dataclass", |_, _| Some(Value::Bool(None))),
    ("dataclasses.replace", |interp, call| replace(interp, call)),
    ("operator.add", |interp, call| apply(interp, call, BinaryOp::Add)),
    ("operator.sub", |interp, call| apply(interp, call, BinaryOp::Sub)),
    ("operator.mul", |interp, call| apply(interp, call, BinaryOp::Mul)),
    ("operator.itemgetter", |_, _| Some(Value::Unknown)),
    ("operator.attrgetter", |_, _| Some(Value::Unknown)),
    ("enum.auto", |_, _| Some(Value::Int(Num::default()))),
];

fn partial(call: &Call) -> Value {
    let Some((callee, rest)) = call.positional.split_first() else { return Value::Unknown };
    if call.open {
        return Value::Unknown;
    }
    Value::partial(Partial {
        callee: callee.value.clone(),
        positional: rest.iter().map(|passed| passed.value.clone()).collect(),
        keywords: call.keywords.iter().map(|(name, passed)| (*name, passed.value.clone())).collect(),
    })
}

/// `@lru_cache` and `@lru_cache(maxsize=None)`: the function, or what gives it back.
fn decorator(call: &Call) -> Value {
    match call.positional.first().map(|passed| &passed.value) {
        Some(
            value
            @ (Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::Obj(_) | Value::Api(_)),
        ) => value.clone(),
        _ => Value::Builtin(ustr(IDENTITY)),
    }
}

fn apply(interp: &mut Interp, call: &Call, op: BinaryOp) -> Option<Value> {
    numbers::binary(interp, op, call.arg(0, "a")?, call.arg(1, "b")?, call.place)
}

/// `namedtuple("Batch", ["x", "y"])`: a function that makes objects with these fields.
fn named_tuple(interp: &mut Interp, call: &Call) -> Option<Value> {
    let fields = call.arg(1, "field_names")?.clone();
    let names: Vec<Value> = match fields.as_str() {
        Some(text) => {
            let names =
                text.split(|char: char| char == ',' || char.is_whitespace()).filter(|name| !name.is_empty());
            names.map(Value::str).collect()
        }
        None => iteration::iterate(interp, &fields, call.place).exact?,
    };
    let defaults = call.keyword("defaults").map(|passed| passed.value.clone());
    let defaults = defaults.and_then(|defaults| iteration::iterate(interp, &defaults, call.place).exact);
    let defaults = defaults.unwrap_or_default();
    Some(Value::Partial(Rc::new(Partial {
        callee: Value::Builtin(ustr(MAKE)),
        positional: vec![Value::tuple(names), Value::tuple(defaults)],
        keywords: Vec::new(),
    })))
}

/// An instance; the first two arguments are the fields and the defaults of the last ones.
fn make(interp: &mut Interp, call: &Call) -> Value {
    let tuple = |position: usize| match call.positional.get(position).map(|passed| &passed.value) {
        Some(Value::Tuple(items)) => items.clone(),
        _ => Rc::from([]),
    };
    let (fields, defaults) = (tuple(0), tuple(1));
    let id = interp.alloc(call.place, ClassRef::Api(ustr(NAMED_TUPLE)), State::Plain);
    let object = interp.heap.get_mut(id);
    object.set_attr(ustr(FIELDS), Value::Tuple(fields.clone()));
    for (at, name) in fields.iter().enumerate() {
        let Some(name) = name.as_str() else { continue };
        let default = (at + defaults.len()).checked_sub(fields.len()).and_then(|at| defaults.get(at));
        let given = call.positional.get(at + 2).or_else(|| call.keyword(name));
        let value = given.map(|passed| &passed.value).or(default).cloned().unwrap_or_default();
        object.set_attr(ustr(name), value);
    }
    Value::Obj(id)
}

pub(super) fn named_tuple_method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    match name {
        "_replace" => Some(copy_with(interp, id, call)),
        "_asdict" => {
            let all = dicts::of_attrs(interp, id, call.place);
            if let State::Dict(entries) = &mut interp.heap.get_mut(all.as_obj()?).state {
                entries.known.retain(|(key, _)| *key != Key::Str(Rc::from(FIELDS)));
            }
            Some(all)
        }
        "index" | "count" => Some(Value::Int(Num::default())),
        _ => None,
    }
}

fn copy_with(interp: &mut Interp, id: ObjId, call: &Call) -> Value {
    let original = interp.heap.get(id).clone();
    let copy = interp.alloc(call.place, original.class, original.state);
    let object = interp.heap.get_mut(copy);
    (object.attrs, object.notes) = (original.attrs, original.notes);
    if call.open {
        // Any of the fields may be another one.
        object.attrs.iter_mut().for_each(|(_, value)| *value = Value::Unknown);
    }
    for (name, Passed { value, .. }) in &call.keywords {
        object.set_attr(*name, value.clone());
    }
    Value::Obj(copy)
}

/// The default of a dataclass's field.
fn field(interp: &mut Interp, call: &Call) -> Value {
    if let Some(passed) = call.keyword("default") {
        return passed.value.clone();
    }
    match call.keyword("default_factory").map(|passed| passed.value.clone()) {
        Some(Value::Builtin(name)) => {
            super::call(interp, name.as_str(), &Call::new(call.place)).unwrap_or_default()
        }
        Some(factory) => interp.call_value(&factory, &Call::new(call.place)),
        None => Value::Unknown,
    }
}

fn as_dict(interp: &mut Interp, call: &Call) -> Option<Value> {
    let id = call.arg(0, "obj")?.as_obj()?;
    let mut part = 0;
    Some(dict_of(interp, id, call, &mut part, 0))
}

/// Nested instances become nested dicts.
fn dict_of(interp: &mut Interp, id: ObjId, call: &Call, part: &mut u64, depth: usize) -> Value {
    *part += 1;
    let nth = *part;
    let mut entries = Entries::default();
    for (name, value) in interp.heap.get(id).attrs.clone() {
        let inner = value.as_obj().filter(|inner| matches!(interp.heap.get(*inner).state, State::Plain));
        let value = match inner {
            Some(inner) if depth < 8 && nth < 256 => dict_of(interp, inner, call, part, depth + 1),
            _ => value,
        };
        entries.known.push((Key::Str(Rc::from(name.as_str())), value));
    }
    Value::Obj(alloc_part(interp, call.place, nth, ClassRef::Builtin, State::Dict(entries)))
}

fn replace(interp: &mut Interp, call: &Call) -> Option<Value> {
    let id = call.arg(0, "obj")?.as_obj()?;
    Some(copy_with(interp, id, call))
}

/// `importlib.import_module("models.net")`, of a name that is written there, gives what the statement would. One that
/// an option or a configuration says is one of several modules.
fn imported(interp: &mut Interp, call: &Call) -> Value {
    let relative = call.arg(1, "package").is_some_and(|package| !matches!(package.bare(), Value::None));
    let Some(passed) = call.positional.first().filter(|_| !relative) else { return Value::Unknown };
    let (written, quotes) = (interp.words(passed.place), ['"', '\'']);
    let is_written = written.starts_with(quotes) && written.ends_with(quotes);
    match passed.value.as_str().filter(|name| is_written && !name.starts_with('.')).map(ustr) {
        Some(name) => interp.module_value(0, Some(name)),
        None => Value::Unknown,
    }
}
