//! `int(x)`, `float(x)`, `str(x)` and their kin. A number read out of a tensor has no graph left.

use super::super::{Call, Interp};
use super::Table;
use super::numbers::to_int;
use super::outside::{is_given, keep_origin, parse_int};
use crate::values::*;

pub(super) const CALLS: Table = &[
    ("int", |interp, call| {
        Some(interp.number_of_element(call, Some(DType::Int64)).unwrap_or_else(|| int(call)))
    }),
    ("float", |interp, call| Some(interp.number_of_element(call, None).unwrap_or_else(|| float(call)))),
    ("bool", |interp, call| Some(boolean(interp, call))),
    ("str", |_, call| Some(string(call))),
    ("repr", |_, _| Some(Value::Str(None))),
    ("ascii", |_, _| Some(Value::Str(None))),
    ("format", |_, call| Some(format(call))),
    ("chr", |_, _| Some(Value::Str(None))),
    ("hex", |_, _| Some(Value::Str(None))),
    ("bin", |_, _| Some(Value::Str(None))),
    ("oct", |_, _| Some(Value::Str(None))),
    ("ast.literal_eval", |_, _| Some(Value::Unknown)),
];

fn int(call: &Call) -> Value {
    let Some(first) = call.positional.first() else { return Value::int(0) };
    let value = &first.value;
    let num = match value.bare() {
        Value::Int(num) => Num { from: None, ..num.clone() },
        Value::Float(known) => Num::of(known.map_or(Int::Unknown, |known| to_int(known.trunc()))),
        Value::Bool(known) => Num::of(known.map_or(Int::Unknown, |known| Int::Known(i64::from(known)))),
        Value::Str(Some(text)) if call.positional.len() == 1 => {
            Num::of(parse_int(text).map_or(Int::Unknown, Int::Known))
        }
        _ => Num::default(),
    };
    keep_origin(Value::Int(num), &[value])
}

fn float(call: &Call) -> Value {
    let Some(first) = call.positional.first() else { return Value::Float(Some(0.0)) };
    let value = &first.value;
    let known = match value.bare() {
        Value::Str(Some(text)) => text.trim().parse().ok(),
        other => other.as_num(),
    };
    keep_origin(Value::Float(known), &[value])
}

fn boolean(interp: &mut Interp, call: &Call) -> Value {
    let Some(first) = call.positional.first() else { return Value::Bool(Some(false)) };
    let known = if is_given(&first.value) { None } else { interp.truth(&first.value) };
    keep_origin(Value::Bool(known), &[&first.value])
}

/// The text of a value as `str` writes it, where that is short and sure.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value.bare() {
        Value::Str(text) => text.as_deref().map(str::to_owned),
        Value::Int(num) => num.int.known().map(|known| known.to_string()),
        Value::Bool(known) => known.map(|known| if known { "True" } else { "False" }.to_owned()),
        Value::None => Some("None".to_owned()),
        _ => None,
    }
}

fn string(call: &Call) -> Value {
    let Some(first) = call.positional.first() else { return Value::str("") };
    // A device by its name is as good as the device.
    if let Value::Device(device, _) = first.value {
        return Value::Device(device, DeviceForm::Unsure);
    }
    let text = if matches!(first.value, Value::Maybe(_)) { None } else { text_of(&first.value) };
    keep_origin(Value::Str(text.map(Into::into)), &[&first.value])
}

fn format(call: &Call) -> Value {
    match call.positional.as_slice() {
        [_] => string(call),
        _ => Value::Str(None),
    }
}
