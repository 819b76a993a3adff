//! Arithmetic and comparison of plain values: numbers, strings, tuples, lists. Tensors belong to the tables.

use super::super::{Call, Interp};
use super::outside::{is_given, keep_origin};
use super::{Table, containers, dicts, strings};
use crate::report::Place;
use crate::syntax::{BinaryOp, CompareOp, UnaryOp};
use crate::values::{Closure, Int, Nth, Num, Tag, Value};
use std::cmp::Ordering;
use std::rc::Rc;

pub(super) const CALLS: Table = &[
    ("abs", |_, call| number(call.arg(0, "x")?, f64::abs)),
    ("round", |_, call| round(call)),
    ("pow", |interp, call| {
        binary(interp, BinaryOp::Pow, call.arg(0, "base")?, call.arg(1, "exp")?, call.place)
    }),
    ("divmod", |interp, call| {
        let (a, b) = (call.arg(0, "a")?, call.arg(1, "b")?);
        let quotient = binary(interp, BinaryOp::FloorDiv, a, b, call.place)?;
        Some(Value::tuple(vec![quotient, binary(interp, BinaryOp::Mod, a, b, call.place)?]))
    }),
    ("math.sqrt", |_, call| float(call, f64::sqrt)),
    ("math.exp", |_, call| float(call, f64::exp)),
    ("math.log2", |_, call| float(call, f64::log2)),
    ("math.log10", |_, call| float(call, f64::log10)),
    ("math.log1p", |_, call| float(call, f64::ln_1p)),
    ("math.sin", |_, call| float(call, f64::sin)),
    ("math.cos", |_, call| float(call, f64::cos)),
    ("math.tanh", |_, call| float(call, f64::tanh)),
    ("math.fabs", |_, call| float(call, f64::abs)),
    ("math.log", |_, call| match call.positional.len() {
        1 => float(call, f64::ln),
        _ => Some(Value::Float(None)),
    }),
    ("math.floor", |_, call| rounded(call, f64::floor)),
    ("math.ceil", |_, call| rounded(call, f64::ceil)),
    ("math.trunc", |_, call| rounded(call, f64::trunc)),
    ("math.pow", |interp, call| {
        let power = binary(interp, BinaryOp::Pow, call.arg(0, "x")?, call.arg(1, "y")?, call.place)?;
        number(&power, |value| value).map(as_float)
    }),
    ("math.prod", |interp, call| {
        let items = super::iterate(interp, call.arg(0, "iterable")?, call.place);
        let Some(exact) = items.exact else { return Some(Value::Unknown) };
        exact
            .iter()
            .try_fold(Value::int(1), |all, item| binary(interp, BinaryOp::Mul, &all, item, call.place))
    }),
    ("math.isnan", |_, _| Some(Value::Bool(None))),
    ("math.isinf", |_, _| Some(Value::Bool(None))),
    ("math.isfinite", |_, _| Some(Value::Bool(None))),
    ("math.isclose", |_, _| Some(Value::Bool(None))),
    ("math.gcd", |_, _| Some(Value::Int(Num::default()))),
    ("math.comb", |_, _| Some(Value::Int(Num::default()))),
    ("math.factorial", |_, _| Some(Value::Int(Num::default()))),
];

fn is_number(value: &Value) -> bool {
    matches!(value.bare(), Value::Int(_) | Value::Float(_) | Value::Bool(_))
}

/// A function of one number that keeps its kind.
fn number(value: &Value, apply: fn(f64) -> f64) -> Option<Value> {
    let result = match value.bare() {
        Value::Int(num) => {
            let int = num.int.known().map_or(Int::Unknown, |known| Int::Known(apply(known as f64) as i64));
            Value::Int(Num { int, tag: num.tag, ..Num::default() })
        }
        Value::Float(known) => Value::Float(known.map(apply)),
        _ => return None,
    };
    Some(keep_origin(result, &[value]))
}

fn as_float(value: Value) -> Value {
    let known = value.as_num();
    keep_origin(Value::Float(known), &[&value])
}

/// A function of one number that gives a float; of a tensor, Python reads its number.
fn float(call: &Call, apply: fn(f64) -> f64) -> Option<Value> {
    let value = call.arg(0, "x")?;
    let result = value.as_num().map(apply).filter(|result| result.is_finite());
    Some(keep_origin(Value::Float(result), &[value]))
}

fn rounded(call: &Call, apply: fn(f64) -> f64) -> Option<Value> {
    let value = call.arg(0, "x")?;
    let result = match value.bare() {
        Value::Int(num) => Value::Int(num.clone()),
        Value::Float(Some(known)) => Value::Int(Num::of(to_int(apply(*known)))),
        _ => Value::Int(Num::default()),
    };
    Some(keep_origin(result, &[value]))
}

pub(super) fn to_int(value: f64) -> Int {
    // Past 2^53 a float does not hold every integer.
    if value.abs() < 9.0e15 { Int::Known(value as i64) } else { Int::Unknown }
}

fn round(call: &Call) -> Option<Value> {
    let value = call.arg(0, "number")?;
    if !is_number(value) {
        return if value.as_tensor().is_some() { None } else { Some(Value::Unknown) };
    }
    match call.arg(1, "ndigits") {
        None | Some(Value::None) => {
            let whole = value.as_num().map_or(Int::Unknown, |known| to_int(known.round_ties_even()));
            Some(keep_origin(Value::Int(Num::of(whole)), &[value]))
        }
        Some(_) if value.as_int().is_some() => Some(value.clone()),
        Some(_) => Some(keep_origin(Value::Float(None), &[value])),
    }
}

/// `+`, `*`, … of plain values; `None` when an operand is not plain.
pub fn binary(interp: &mut Interp, op: BinaryOp, left: &Value, right: &Value, place: Place) -> Option<Value> {
    let result = match (left.bare(), right.bare()) {
        (Value::Bool(a), Value::Bool(b)) if bits(op) => {
            Value::Bool(a.zip(*b).and_then(|(a, b)| bools(op, a, b)))
        }
        (a, b) if is_number(a) && is_number(b) => numbers(op, a, b)?,
        // Every so often, whoever says how often.
        (Value::Int(Num { tag: Tag::Counter, .. }), Value::Unknown) if op == BinaryOp::Mod => {
            Value::Int(Num { tag: Tag::Phase, ..Num::default() })
        }
        (Value::Str(_), _) | (_, Value::Str(_)) => strings::binary(op, left.bare(), right.bare())?,
        (Value::Tuple(a), Value::Tuple(b)) if op == BinaryOp::Add => {
            Value::tuple(a.iter().chain(b.iter()).cloned().collect())
        }
        (Value::Tuple(items), Value::Int(times)) | (Value::Int(times), Value::Tuple(items))
            if op == BinaryOp::Mul =>
        {
            Value::tuple(containers::repeat(items, times.int.known())?)
        }
        (Value::Params(a), Value::Params(b)) if op == BinaryOp::Add => Value::Params(Rc::new(a.union(b))),
        (a, b) => {
            let merged = dicts::merge(interp, op, a, b, place);
            return merged.or_else(|| containers::binary(interp, op, a, b, place));
        }
    };
    Some(keep_origin(result, &[left, right]))
}

/// `a += b`: lists grow in place.
pub fn augment(
    interp: &mut Interp,
    op: BinaryOp,
    left: &Value,
    right: &Value,
    place: Place,
) -> Option<Value> {
    let grown = containers::extend_in_place(interp, op, left, right, place);
    grown.or_else(|| binary(interp, op, left, right, place))
}

fn bits(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
}

fn bools(op: BinaryOp, a: bool, b: bool) -> Option<bool> {
    match op {
        BinaryOp::And => Some(a && b),
        BinaryOp::Or => Some(a || b),
        BinaryOp::Xor => Some(a != b),
        _ => None,
    }
}

fn as_num(value: &Value) -> Option<Num> {
    match value {
        Value::Int(num) => Some(num.clone()),
        Value::Bool(value) => Some(Num::of(value.map_or(Int::Unknown, |value| Int::Known(i64::from(value))))),
        _ => None,
    }
}

fn numbers(op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    if op == BinaryOp::MatMul {
        return None;
    }
    if let (Some(a), Some(b)) = (as_num(left), as_num(right)) {
        return Some(ints(op, &a, &b));
    }
    let known = left.as_num().zip(right.as_num()).and_then(|(a, b)| floats(op, a, b));
    Some(Value::Float(known))
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if b != 0.0 => a / b,
        BinaryOp::FloorDiv if b != 0.0 => (a / b).floor(),
        BinaryOp::Mod if b != 0.0 => a - b * (a / b).floor(),
        BinaryOp::Pow => a.powf(b),
        _ => return None,
    };
    // A NaN here is a complex number or an error there.
    (!result.is_nan()).then_some(result)
}

fn ints(op: BinaryOp, a: &Num, b: &Num) -> Value {
    let known = a.int.known().zip(b.int.known());
    let int = match op {
        BinaryOp::Add => a.int.add(&b.int),
        BinaryOp::Sub => a.int.sub(&b.int),
        BinaryOp::Mul => a.int.mul(&b.int),
        BinaryOp::FloorDiv => floor_div(&a.int, &b.int),
        BinaryOp::Mod => modulo(&a.int, &b.int),
        BinaryOp::Div => {
            return Value::Float(known.and_then(|(a, b)| floats(op, a as f64, b as f64)));
        }
        BinaryOp::Pow => match known {
            Some((a, b)) if b < 0 => return Value::Float(floats(op, a as f64, b as f64)),
            Some((a, b)) => {
                u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).map_or(Int::Unknown, Int::Known)
            }
            None => Int::Unknown,
        },
        _ => known.and_then(|(a, b)| bitwise(op, a, b)).map_or(Int::Unknown, Int::Known),
    };
    let tag = tag(op, a.tag, b.tag);
    let int = if tag == Tag::Phase { Int::Unknown } else { int };
    Value::Int(Num { int, tag, nth: shifted(op, a, b), ..Num::default() })
}

/// The index of a loop and a known number.
fn shifted(op: BinaryOp, a: &Num, b: &Num) -> Option<Nth> {
    let (nth, by) = match (a.nth, b.nth, op) {
        (Some(nth), None, BinaryOp::Add) => (nth, b.int.known()?),
        (Some(nth), None, BinaryOp::Sub) => (nth, b.int.known()?.checked_neg()?),
        (None, Some(nth), BinaryOp::Add) => (nth, a.int.known()?),
        _ => return None,
    };
    Some(Nth { plus: nth.plus.checked_add(by)?, ..nth })
}

/// Rust's Euclidean division differs from Python's floor for negative divisors.
fn floor_div(a: &Int, b: &Int) -> Int {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) if b < 0 => {
            a.checked_neg().map_or(Int::Unknown, |a| floor_div(&Int::Known(a), &Int::Known(b).neg()))
        }
        (_, Some(b)) if b < 0 => Int::Unknown,
        _ => a.div_floor(b),
    }
}

fn modulo(a: &Int, b: &Int) -> Int {
    match b.known() {
        Some(b) if b < 0 => Int::Unknown,
        _ => a.modulo(b),
    }
}

fn bitwise(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::Shl => {
            1_i64.checked_shl(u32::try_from(b).ok()?).filter(|by| *by > 0).and_then(|by| a.checked_mul(by))
        }
        BinaryOp::Shr => a.checked_shr(u32::try_from(b).ok()?),
        _ => None,
    }
}

/// What becomes of a counter in arithmetic.
fn tag(op: BinaryOp, a: Tag, b: Tag) -> Tag {
    match op {
        BinaryOp::Mod if a == Tag::Counter => Tag::Phase,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if a == Tag::Counter || b == Tag::Counter => {
            Tag::Counter
        }
        BinaryOp::Add | BinaryOp::Sub if a == Tag::Phase || b == Tag::Phase => Tag::Phase,
        BinaryOp::FloorDiv => a,
        _ => Tag::None,
    }
}

/// `-x`, `+x`, `~x`, `not x` of plain values; `not` of what only the interpreter can judge is `None`.
pub fn unary(op: UnaryOp, value: &Value) -> Option<Value> {
    let result = match (op, value.bare()) {
        (UnaryOp::Not, Value::Bool(known)) => Value::Bool(known.map(|known| !known)),
        // It may be missing.
        (UnaryOp::Not, _) if matches!(value, Value::Maybe(_)) => Value::Bool(None),
        (UnaryOp::Not, Value::None) => Value::Bool(Some(true)),
        (UnaryOp::Not, plain) if is_number(plain) => Value::Bool(plain.as_num().map(|number| number == 0.0)),
        (UnaryOp::Minus, Value::Float(known)) => Value::Float(known.map(|known| -known)),
        (UnaryOp::Plus, plain) if is_number(plain) => plain.clone(),
        (UnaryOp::Minus, plain) => Value::Int(Num::of(as_num(plain)?.int.neg())),
        (UnaryOp::Invert, plain) => {
            let known = as_num(plain)?.int.known();
            Value::Int(Num::of(known.map_or(Int::Unknown, |known| Int::Known(!known))))
        }
        _ => return None,
    };
    Some(keep_origin(result, &[value]))
}

/// A comparison that comes out the same in every run. `in` of lists and dicts is `contains`.
pub fn compare(op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
    if is_given(left) || is_given(right) {
        return identity(op, left, right);
    }
    match op {
        CompareOp::Is | CompareOp::IsNot => identity(op, left, right),
        CompareOp::Eq => equal(left, right),
        CompareOp::NotEq => equal(left, right).map(|equal| !equal),
        CompareOp::In => member(left, right),
        CompareOp::NotIn => member(left, right).map(|found| !found),
        CompareOp::Less => order(left, right).map(Ordering::is_lt),
        CompareOp::LessEq => order(left, right).map(Ordering::is_le),
        CompareOp::Greater => order(left, right).map(Ordering::is_gt),
        CompareOp::GreaterEq => order(left, right).map(Ordering::is_ge),
    }
}

/// `is None`, also of a given value that cannot be missing.
fn identity(op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
    let negated = op == CompareOp::IsNot;
    if !negated && op != CompareOp::Is {
        return None;
    }
    let same = match (left, right) {
        (Value::Unknown | Value::Maybe(_), _) | (_, Value::Unknown | Value::Maybe(_)) => return None,
        (Value::None, Value::None) => true,
        (Value::Given(given), Value::None) | (Value::None, Value::Given(given)) => match given.value {
            Value::Unknown | Value::Maybe(_) | Value::None => return None,
            _ => false,
        },
        (Value::None, _) | (_, Value::None) => false,
        (Value::Bool(Some(a)), Value::Bool(Some(b))) => a == b,
        (Value::Obj(a), Value::Obj(b)) if a == b => true,
        (Value::Api(a), Value::Api(b)) | (Value::Builtin(a), Value::Builtin(b)) if a == b => true,
        (Value::DType(a), Value::DType(b)) => a == b,
        (Value::Function(a), Value::Function(b)) => same_function(a, b)?,
        _ => return None,
    };
    Some(same != negated)
}

/// A function that is defined once for each call of another is a new one each time.
pub(in crate::interp) fn same_function(a: &Closure, b: &Closure) -> Option<bool> {
    match (a.file, a.function) == (b.file, b.function) {
        true => (a.env == b.env).then_some(true),
        false => Some(false),
    }
}

pub(super) fn equal(left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::None, Value::None) => Some(true),
        (Value::Int(a), Value::Int(b)) if a.int == b.int && !a.int.is_unknown() => Some(true),
        (a, b) if is_number(a) && is_number(b) => Some(a.as_num()? == b.as_num()?),
        (Value::Str(Some(a)), Value::Str(Some(b))) => Some(a == b),
        // A device is none of the CPU where the script chose a GPU, whatever it is compared with.
        (Value::Device(device, _), Value::Str(Some(name)))
        | (Value::Str(Some(name)), Value::Device(device, _)) => {
            (device.is_chosen_gpu() && &**name == "cpu").then_some(false)
        }
        (Value::Tuple(a), Value::Tuple(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            let parts: Vec<Option<bool>> = a.iter().zip(b.iter()).map(|(a, b)| equal(a, b)).collect();
            if parts.contains(&Some(false)) {
                Some(false)
            } else {
                parts.into_iter().collect::<Option<Vec<_>>>().map(|_| true)
            }
        }
        (Value::Obj(_) | Value::Api(_) | Value::Builtin(_), _)
            if identity(CompareOp::Is, left, right) == Some(true) =>
        {
            Some(true)
        }
        (Value::Api(_), Value::Builtin(_)) | (Value::Builtin(_), Value::Api(_)) => Some(false),
        (Value::DType(a), Value::DType(b)) => Some(a == b),
        (Value::Function(a), Value::Function(b)) => same_function(a, b),
        (a, b) if plain_kind(a).is_some() && plain_kind(b).is_some() && plain_kind(a) != plain_kind(b) => {
            Some(false)
        }
        _ => None,
    }
}

/// Kinds of values that never equal one of another kind.
fn plain_kind(value: &Value) -> Option<u8> {
    match value {
        Value::None => Some(0),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some(1),
        Value::Str(_) => Some(2),
        Value::Tuple(_) => Some(3),
        _ => None,
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Str(Some(a)), Value::Str(Some(b))) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) if a.int == b.int && !a.int.is_unknown() => Some(Ordering::Equal),
        (a, b) if is_number(a) && is_number(b) => a.as_num()?.partial_cmp(&b.as_num()?),
        _ => None,
    }
}

fn member(item: &Value, container: &Value) -> Option<bool> {
    match (item, container) {
        (Value::Str(Some(part)), Value::Str(Some(text))) => Some(text.contains(part.as_ref())),
        // `"cpu" in str(x.device)`
        (Value::Str(Some(part)), Value::Device(device, _)) => {
            (device.is_chosen_gpu() && &**part == "cpu").then_some(false)
        }
        (item, Value::Tuple(items)) => any_equal(item, items),
        _ => None,
    }
}

/// Whether one of the items is it.
pub(super) fn any_equal(item: &Value, items: &[Value]) -> Option<bool> {
    let mut all_known = true;
    for other in items {
        match compare(CompareOp::Eq, item, other) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(false)
}

/// Methods of numbers.
pub(super) fn method(receiver: &Value, name: &str) -> Option<Value> {
    match name {
        "is_integer" => Some(Value::Bool(None)),
        "bit_length" => Some(Value::Int(Num::default())),
        "conjugate" => Some(receiver.clone()),
        "hex" => Some(Value::Str(None)),
        // Numbers of NumPy that we hold as plain ones.
        "item" | "copy" | "real" => Some(receiver.clone()),
        "as_integer_ratio" => Some(Value::Unknown),
        _ => None,
    }
}
