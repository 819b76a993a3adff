//! Values that reach a script from outside: flags, configuration files, the environment. Each carries
//! where it was set, and `--set name=value` stands in for it.

use super::super::{Call, Interp};
use crate::report::Place;
use crate::values::{Given, Origin, Value};
use std::rc::Rc;

/// What a text from outside is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Float,
    Bool,
    Str,
    Any,
}

impl Kind {
    /// Of a value that stands as the default.
    pub(super) fn of(value: &Value) -> Kind {
        match value.bare() {
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Bool(_) => Kind::Bool,
            Value::Str(_) => Kind::Str,
            _ => Kind::Any,
        }
    }

    /// Of a converter as flags name it: `int`, `float`, `pathlib.Path`.
    pub(super) fn of_type(converter: &Value) -> Kind {
        let Value::Builtin(name) = converter else { return Kind::Any };
        match name.as_str() {
            "int" => Kind::Int,
            "float" => Kind::Float,
            "bool" => Kind::Bool,
            "str" | "pathlib.Path" | "os.path.expanduser" => Kind::Str,
            _ => Kind::Any,
        }
    }

    /// Some value of the kind.
    pub(super) fn some(self) -> Value {
        match self {
            Kind::Int => Value::of_int(crate::values::Int::Unknown),
            Kind::Float => Value::Float(None),
            Kind::Bool => Value::Bool(None),
            Kind::Str => Value::Str(None),
            Kind::Any => Value::Unknown,
        }
    }

    /// Reads a text as the kind; `None` when it is not one.
    pub(super) fn parse(self, text: &str) -> Option<Value> {
        match self {
            Kind::Int => parse_int(text).map(Value::int),
            Kind::Float => text.trim().parse().ok().map(|value| Value::Float(Some(value))),
            Kind::Bool => parse_bool(text).map(|value| Value::Bool(Some(value))),
            Kind::Str => Some(Value::str(text)),
            Kind::Any => Some(parse_any(text)),
        }
    }
}

pub(super) fn parse_int(text: &str) -> Option<i64> {
    let digits: String = text.trim().chars().filter(|char| *char != '_').collect();
    digits.parse().ok()
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A text as the scalar it looks like.
pub fn parse_any(text: &str) -> Value {
    match text.trim() {
        "true" | "True" => return Value::Bool(Some(true)),
        "false" | "False" => return Value::Bool(Some(false)),
        "none" | "None" | "null" => return Value::None,
        _ => {}
    }
    let int = Kind::Int.parse(text);
    int.or_else(|| Kind::Float.parse(text)).unwrap_or_else(|| Value::str(text))
}

/// A value that the user may change from outside under one of these names (the first is the one to show).
pub(super) fn outside(interp: &Interp, names: &[&str], kind: Kind, default: Value, place: Place) -> Value {
    let name = names.first().copied().unwrap_or_default();
    if let Some(set) = setting(interp, names, kind) {
        return number_from(set, origin(place, name, false));
    }
    wrap(default, &origin(place, name, true), kind)
}

/// What `--set` says of one of the names.
pub(super) fn setting(interp: &Interp, names: &[&str], kind: Kind) -> Option<Value> {
    let asked = |set: &str| names.iter().any(|name| same_name(set, name));
    let (_, text) = interp.settings.values.iter().rev().find(|(name, _)| asked(name))?;
    kind.parse(text)
}

/// `--batch-size` and `batch_size` are one name.
fn same_name(a: &str, b: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('-').replace('-', "_");
    plain(a) == plain(b)
}

pub(super) fn origin(place: Place, name: &str, given: bool) -> Rc<Origin> {
    Rc::new(Origin { place, name: Rc::from(name), given })
}

/// Says of a value where it comes from. `kind` is what it would be if it were not missing.
pub(super) fn wrap(value: Value, origin: &Rc<Origin>, kind: Kind) -> Value {
    match value {
        Value::Int(num) => Value::Int(num.set_at(origin)),
        Value::None => Value::Maybe(Rc::new(wrap(kind.some(), origin, kind))),
        Value::Maybe(inner) => Value::Maybe(Rc::new(wrap((*inner).clone(), origin, kind))),
        Value::Given(given) => wrap(given.value.clone(), origin, kind),
        value => Value::Given(Rc::new(Given { value, origin: origin.clone() })),
    }
}

/// `exec(open("configurator.py").read())`: the numbers, texts and flags that the module has so far are defaults.
pub(super) fn executed(interp: &mut Interp, call: &Call) -> Option<Value> {
    let is_written = matches!(call.positional.first()?.value.bare(), Value::Str(Some(_)));
    let env = interp.frames.last().filter(|frame| frame.function.is_none() && !is_written)?.env;
    for index in 0..interp.heap.get(env).attrs.len() {
        let (name, value) = interp.heap.get(env).attrs[index].clone();
        let kind = Kind::of(&value);
        if kind == Kind::Any || matches!(value, Value::Maybe(_) | Value::Given(_)) {
            continue;
        }
        let default = outside(interp, &[&name], kind, value, call.place);
        interp.heap.get_mut(env).attrs[index].1 = default;
    }
    Some(Value::None)
}

/// A number that the user may change with what holds it; anything else as it is.
pub fn set_from(value: Value, origin: &Rc<Origin>) -> Value {
    match value {
        Value::Int(num) => Value::Int(num.set_at(origin)),
        other => other,
    }
}

/// Keeps the origin where a value can hold one without being in doubt.
fn number_from(value: Value, origin: Rc<Origin>) -> Value {
    match value {
        Value::Int(num) => Value::Int(num.set_at(&origin)),
        other => other,
    }
}

/// A result computed from others keeps the origin of the first of them that has one, a given one before others.
pub(super) fn keep_origin(result: Value, operands: &[&Value]) -> Value {
    let origins = || operands.iter().filter_map(|value| value.origin());
    let Some(origin) = origins().find(|origin| origin.given).or_else(|| origins().next()) else {
        return result;
    };
    match result {
        Value::Int(num) if num.from.is_none() => Value::Int(num.set_at(origin)),
        Value::Float(_) | Value::Str(_) | Value::Bool(_) if origin.given => {
            Value::Given(Rc::new(Given { value: result, origin: origin.clone() }))
        }
        other => other,
    }
}

/// The user can change it from outside, so that its value decides nothing.
pub(super) fn is_given(value: &Value) -> bool {
    match value {
        Value::Given(given) => given.origin.given,
        Value::Int(num) => num.is_given(),
        Value::Maybe(inner) => is_given(inner),
        Value::Tuple(items) => items.iter().any(is_given),
        _ => false,
    }
}
