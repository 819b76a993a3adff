//! Builtin functions that are neither conversions, nor arithmetic, nor iteration.

use super::super::{Call, Interp};
use super::outside::{Kind, executed, keep_origin, outside};
use super::{Table, dicts, iteration, paths};
use crate::apis::Role;
use crate::report::Confidence;
use crate::syntax::CompareOp;
use crate::values::*;
use ustr::ustr;

/// Builtins that only the interpreter can answer.
pub(super) const BY_THE_INTERPRETER: &[&str] = &[
    "delattr",
    "getattr",
    "hasattr",
    "isinstance",
    "issubclass",
    "property",
    "classmethod",
    "setattr",
    "staticmethod",
    "super",
];

pub(super) const CALLS: Table = &[
    ("len", |interp, call| len(interp, call)),
    ("min", |interp, call| extreme(interp, call, CompareOp::Less)),
    ("max", |interp, call| extreme(interp, call, CompareOp::Greater)),
    ("dict", |interp, call| Some(dicts::dict(interp, call))),
    ("dict.fromkeys", |interp, call| Some(dicts::from_keys(interp, call))),
    ("collections.OrderedDict", |interp, call| Some(dicts::dict(interp, call))),
    ("collections.OrderedDict.fromkeys", |interp, call| Some(dicts::from_keys(interp, call))),
    ("collections.ChainMap", |interp, call| Some(dicts::dict(interp, call))),
    ("collections.defaultdict", |interp, call| Some(dicts::default_dict(interp, call))),
    ("collections.Counter", |interp, call| Some(dicts::counter(interp, call))),
    ("callable", |_, call| {
        Some(Value::Bool(is_callable(call.positional.first().map(|passed| &passed.value)?)))
    }),
    ("type", |interp, call| kind_of(interp, call)),
    ("id", |_, _| Some(Value::Int(Num::default()))),
    ("hash", |_, _| Some(Value::Int(Num::default()))),
    ("ord", |_, _| Some(Value::Int(Num::default()))),
    ("print", |_, _| Some(Value::None)),
    ("breakpoint", |_, _| Some(Value::None)),
    ("help", |_, _| Some(Value::None)),
    ("exit", |_, _| Some(Value::None)),
    ("quit", |_, _| Some(Value::None)),
    ("input", |interp, call| Some(outside(interp, &["input"], Kind::Str, Value::Str(None), call.place))),
    ("open", |interp, call| Some(paths::open(interp, call))),
    ("vars", |interp, call| vars(interp, call)),
    ("globals", |interp, call| Some(unknown_dict(interp, call))),
    ("locals", |interp, call| Some(unknown_dict(interp, call))),
    ("exec", |interp, call| executed(interp, call)),
    ("dir", |interp, call| Some(interp.list_of(call.place, Value::Str(None)))),
    ("slice", |_, call| Some(slice(call))),
    ("object", |interp, call| Some(Value::Obj(interp.alloc(call.place, ClassRef::Builtin, State::Plain)))),
    ("bytes", |_, _| Some(Value::Unknown)),
    ("bytearray", |_, _| Some(Value::Unknown)),
    ("memoryview", |_, _| Some(Value::Unknown)),
    ("complex", |_, _| Some(Value::Unknown)),
];

fn len(interp: &mut Interp, call: &Call) -> Option<Value> {
    let value = &call.positional.first()?.value;
    match value.bare() {
        Value::Tuple(items) => Some(Value::int(items.len() as i64)),
        Value::Str(text) => {
            let len = text.as_ref().map_or(Int::Unknown, |text| Int::Known(text.chars().count() as i64));
            Some(keep_origin(Value::of_int(len), &[value]))
        }
        Value::Params(_) => Some(Value::Int(Num::default())),
        _ => dicts::container_length(interp, value, call.place),
    }
}

/// `min` and `max` of numbers; of tensors they are the tables'.
fn extreme(interp: &mut Interp, call: &Call, wanted: CompareOp) -> Option<Value> {
    let items = match call.positional.as_slice() {
        [only] => {
            if only.value.as_tensor().is_some() {
                return None;
            }
            iteration::iterate(interp, &only.value, call.place)
        }
        several => Items::exact(several.iter().map(|passed| passed.value.clone()).collect()),
    };
    let candidates = items.exact.clone().unwrap_or_else(|| vec![items.any.clone()]);
    if candidates.iter().any(|item| item.as_tensor().is_some()) {
        return None;
    }
    if let Some(key) = call.keyword("key").map(|passed| passed.value.clone()) {
        let item = iteration::any(interp, &items);
        interp.call_value(&key, &Call::with(call.place, [item.clone()]));
        return Some(item);
    }
    let exact = items.exact.is_some() && !call.open;
    Some(best(&candidates, wanted).filter(|_| exact).unwrap_or_else(|| some_number(&candidates)))
}

/// The least or the greatest, when all are known.
fn best(candidates: &[Value], wanted: CompareOp) -> Option<Value> {
    let mut best: Option<(f64, &Value)> = None;
    for value in candidates {
        let number = value.as_num()?;
        let better = best
            .is_none_or(|(known, _)| if wanted == CompareOp::Less { number < known } else { number > known });
        if better {
            best = Some((number, value));
        }
    }
    let operands: Vec<&Value> = candidates.iter().collect();
    best.map(|(_, value)| keep_origin(value.clone(), &operands))
}

fn some_number(candidates: &[Value]) -> Value {
    let all = |test: fn(&Value) -> bool| {
        !candidates.is_empty() && candidates.iter().all(|value| test(value.bare()))
    };
    if all(|value| matches!(value, Value::Int(_) | Value::Bool(_))) {
        let counter =
            candidates.iter().any(|value| matches!(value.bare(), Value::Int(num) if num.tag == Tag::Counter));
        let tag = if counter { Tag::Counter } else { Tag::None };
        Value::Int(Num { tag, ..Num::default() })
    } else if all(|value| matches!(value, Value::Int(_) | Value::Bool(_) | Value::Float(_))) {
        Value::Float(None)
    } else if all(|value| matches!(value, Value::Str(_))) {
        Value::Str(None)
    } else {
        Value::Unknown
    }
}

fn is_callable(value: &Value) -> Option<bool> {
    match value {
        Value::Function(_) | Value::Bound(_) | Value::Partial(_) | Value::AnyOf(_) | Value::Builtin(_) => {
            Some(true)
        }
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Tuple(_) => {
            Some(false)
        }
        Value::Given(given) => is_callable(&given.value).filter(|callable| *callable),
        _ => None,
    }
}

/// `type(x)`; of instances, the class.
fn kind_of(interp: &mut Interp, call: &Call) -> Option<Value> {
    let [only] = call.positional.as_slice() else { return Some(Value::Unknown) };
    let name = match only.value.bare() {
        Value::Obj(id) => {
            let object = interp.heap.get(*id);
            match (object.class, &object.state) {
                (_, State::Class(_)) => return Some(Value::Unknown),
                (ClassRef::Project(class), _) => return Some(Value::Obj(class)),
                (ClassRef::Api(name), _) => return Some(Value::Api(name)),
                (_, State::Dict(_)) => "dict",
                _ => return Some(Value::Unknown),
            }
        }
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Str(_) => "str",
        Value::Tuple(_) => "tuple",
        Value::Tensor(tensor) if !tensor.is_array && tensor.confidence >= Confidence::Medium => {
            let class = interp.apis.class_of(Role::Tensor);
            return Some(class.map_or(Value::Unknown, Value::Api));
        }
        _ => return Some(Value::Unknown),
    };
    Some(Value::Builtin(ustr(name)))
}

fn vars(interp: &mut Interp, call: &Call) -> Option<Value> {
    let Some(first) = call.positional.first() else { return Some(unknown_dict(interp, call)) };
    let Some(id) = first.value.as_obj() else { return Some(unknown_dict(interp, call)) };
    Some(dicts::of_attrs(interp, id, call.place))
}

fn unknown_dict(interp: &mut Interp, call: &Call) -> Value {
    interp.dict(call.place, Entries::new(Vec::new(), Some(Value::Unknown)))
}

fn slice(call: &Call) -> Value {
    let at =
        |position: usize| call.positional.get(position).map_or(Value::None, |passed| passed.value.clone());
    let bounds = match call.positional.len() {
        1 => (Value::None, at(0), Value::None),
        _ => (at(0), at(1), at(2)),
    };
    Value::Slice(std::rc::Rc::new(bounds))
}
