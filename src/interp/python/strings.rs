//! Strings: operators, formatting, methods. What is not known stays `Str(None)`.

use super::super::{Call, Interp};
use super::containers::resolve;
use super::conversions::text_of;
use super::iteration::{iterate, make};
use super::outside::keep_origin;
use super::paths;
use crate::report::Place;
use crate::syntax::{BinaryOp, ExprId};
use crate::values::*;
use std::rc::Rc;

/// Longer texts are forgotten: nothing asks about them.
const MOST_BYTES: usize = 4096;

fn known(text: String) -> Value {
    if text.len() > MOST_BYTES { Value::Str(None) } else { Value::Str(Some(text.into())) }
}

pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Option<Value> {
    match (op, left, right) {
        (BinaryOp::Add, Value::Str(a), Value::Str(b)) => {
            Some(a.as_ref().zip(b.as_ref()).map_or(Value::Str(None), |(a, b)| known(format!("{a}{b}"))))
        }
        (BinaryOp::Mul, Value::Str(text), Value::Int(times))
        | (BinaryOp::Mul, Value::Int(times), Value::Str(text)) => {
            let times = times.int.known().and_then(|times| usize::try_from(times.max(0)).ok());
            Some(match (text, times) {
                (Some(text), Some(times)) if text.len().saturating_mul(times) <= MOST_BYTES => {
                    known(text.repeat(times))
                }
                _ => Value::Str(None),
            })
        }
        (BinaryOp::Mod, Value::Str(text), _) => {
            let args = match right {
                Value::Tuple(items) => items.to_vec(),
                other => vec![other.clone()],
            };
            let result = text.as_ref().and_then(|text| percent(text, &args));
            Some(result.map_or(Value::Str(None), known))
        }
        // Paths are strings to us.
        (BinaryOp::Div, Value::Str(_) | Value::Unknown, Value::Str(_) | Value::Unknown) => {
            Some(paths::join(&[left.clone(), right.clone()]))
        }
        _ => None,
    }
}

/// `"cuda:%d" % gpu`
fn percent(text: &str, args: &[Value]) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut args = args.iter();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            result.push(char);
            continue;
        }
        match chars.next()? {
            '%' => result.push('%'),
            's' | 'd' | 'i' => result.push_str(&text_of(args.next()?)?),
            _ => return None,
        }
    }
    Some(result)
}

/// `"cuda:{}".format(gpu)`, without format specifications.
fn braces(text: &str, call: &Call) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut next = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        result.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            result.push_str(&tail[..1]);
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|end| *end > 0)?;
        let field = &tail[1..end];
        let value = match field.parse::<usize>() {
            Ok(position) => &call.positional.get(position)?.value,
            Err(_) if field.is_empty() => {
                next += 1;
                &call.positional.get(next - 1)?.value
            }
            Err(_) => &call.keyword(field)?.value,
        };
        result.push_str(&text_of(value)?);
        rest = &tail[end + 1..];
    }
    result.push_str(rest);
    Some(result)
}

pub(super) fn index(text: Option<&str>, key: &Value) -> Value {
    let (Some(text), Some(at)) = (text, key.as_known_int()) else { return Value::Str(None) };
    let chars: Vec<char> = text.chars().take(MOST_BYTES).collect();
    resolve(at, chars.len()).map_or(Value::Str(None), |at| known(chars[at].to_string()))
}

pub(super) fn method(interp: &mut Interp, receiver: &Value, name: &str, call: &Call) -> Option<Value> {
    let text = match receiver.bare() {
        Value::Str(text) => text.clone(),
        _ => return None,
    };
    let text = text.as_deref();
    let result = match name {
        "format" => maybe(text.and_then(|text| braces(text, call))),
        "join" => joined(interp, text, call),
        "split" | "rsplit" | "splitlines" | "partition" | "rpartition" => {
            return Some(split(interp, receiver, name, call));
        }
        "lower" | "casefold" => maybe(text.map(str::to_lowercase)),
        "upper" => maybe(text.map(str::to_uppercase)),
        "strip" | "lstrip" | "rstrip" => maybe(stripped(text, name, call)),
        "replace" => maybe(replaced(text, call)),
        "removeprefix" | "removesuffix" | "title" | "capitalize" | "swapcase" | "zfill" | "ljust"
        | "rjust" | "center" | "expandtabs" | "translate" | "format_map" | "decode" | "__str__" => {
            Value::Str(None)
        }
        "encode" => Value::Unknown,
        "startswith" | "endswith" => Value::Bool(affix(text, name, call)),
        "isdigit" | "isalpha" | "isalnum" | "isspace" | "isupper" | "islower" | "isnumeric" | "isdecimal"
        | "isidentifier" | "istitle" => Value::Bool(None),
        "find" | "rfind" | "index" | "rindex" | "count" => Value::Int(Num::default()),
        _ => return paths::method(interp, receiver, name, call),
    };
    Some(keep_origin(result, &[receiver]))
}

fn maybe(text: Option<String>) -> Value {
    text.map_or(Value::Str(None), known)
}

fn joined(interp: &mut Interp, text: Option<&str>, call: &Call) -> Value {
    let Some(first) = call.positional.first() else { return Value::Str(None) };
    let items = iterate(interp, &first.value, call.place);
    let parts: Option<Vec<String>> = items
        .exact
        .as_ref()
        .and_then(|exact| exact.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    maybe(text.zip(parts).map(|(text, parts)| parts.join(text)))
}

fn split(interp: &mut Interp, receiver: &Value, name: &str, call: &Call) -> Value {
    let parts =
        receiver.as_str().and_then(|text| match (name, call.arg(0, "sep"), call.arg(1, "maxsplit")) {
            ("split", None | Some(Value::None), None) => {
                Some(text.split_whitespace().map(str::to_owned).collect())
            }
            ("split", Some(separator), None) => {
                let separator = separator.as_str().filter(|separator| !separator.is_empty())?;
                Some(text.split(separator).map(str::to_owned).collect::<Vec<String>>())
            }
            _ => None,
        });
    match parts {
        Some(parts) if parts.len() <= 64 => {
            let items = parts.iter().map(|part| keep_origin(Value::str(part), &[receiver])).collect();
            // How many parts a text has is up to whoever gives the text.
            let len = Num { from: receiver.origin().cloned(), ..Num::default() };
            make(interp, call.place, Items { len, ..Items::exact(items) })
        }
        _ if name.ends_with("partition") => Value::tuple(vec![Value::Str(None); 3]),
        _ => interp.list_of(call.place, keep_origin(Value::Str(None), &[receiver])),
    }
}

fn stripped(text: Option<&str>, name: &str, call: &Call) -> Option<String> {
    let text = text?;
    let set: Vec<char> = match call.positional.first() {
        Some(passed) => passed.value.as_str()?.chars().collect(),
        None => " \t\r\n\u{b}\u{c}".chars().collect(),
    };
    Some(
        match name {
            "lstrip" => text.trim_start_matches(set.as_slice()),
            "rstrip" => text.trim_end_matches(set.as_slice()),
            _ => text.trim_matches(set.as_slice()),
        }
        .to_owned(),
    )
}

fn replaced(text: Option<&str>, call: &Call) -> Option<String> {
    let (old, new) = (call.positional.first()?.value.as_str()?, call.positional.get(1)?.value.as_str()?);
    if old.is_empty() || call.positional.len() > 2 {
        // `Path.replace` and counted replacements.
        return None;
    }
    Some(text?.replace(old, new))
}

fn affix(text: Option<&str>, name: &str, call: &Call) -> Option<bool> {
    let text = text?;
    let wanted = &call.positional.first()?.value;
    let test =
        |affix: &str| if name == "startswith" { text.starts_with(affix) } else { text.ends_with(affix) };
    match wanted.bare() {
        Value::Tuple(items) => {
            let all: Option<Vec<bool>> = items.iter().map(|item| item.as_str().map(test)).collect();
            all.map(|all| all.contains(&true))
        }
        other => other.as_str().map(test),
    }
}

/// `f"models.{name}"`, where all that is filled in is known and written out as it is.
pub fn formatted(interp: &mut Interp, place: Place, parts: &[ExprId], values: &[Value]) -> Option<Value> {
    let text = interp.words(place).to_owned();
    let quoted = text.strip_prefix(['f', 'F'])?;
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let last =
        text.len().checked_sub(1).filter(|_| text.ends_with(quote) && !quoted[1..].starts_with(quote))?;
    let plain = |literal: &str| !literal.contains(['{', '}', '\\']);
    let (mut made, mut at) = (Value::str(""), 2);
    for (part, value) in parts.iter().zip(values) {
        let span = interp.here().expr(*part).span;
        let (start, end) =
            (span.start.checked_sub(place.span.start)? as usize, (span.end - place.span.start) as usize);
        let literal = text.get(at..start)?.strip_suffix('{').filter(|literal| plain(literal))?;
        text.get(end..)?.strip_prefix('}')?;
        made = super::binary(interp, BinaryOp::Add, &made, &Value::str(literal), place)?;
        made = super::binary(interp, BinaryOp::Add, &made, &written_out(value)?, place)?;
        at = end + 1;
    }
    let literal = text.get(at..last).filter(|literal| plain(literal))?;
    super::binary(interp, BinaryOp::Add, &made, &Value::str(literal), place)
}

/// A text, or a whole number as one; where it was given it stays so.
fn written_out(value: &Value) -> Option<Value> {
    if value.as_str().is_some() {
        return Some(value.clone());
    }
    let text = Value::str(&value.as_known_int()?.to_string());
    Some(match value.origin() {
        Some(origin) if origin.given => Value::Given(Rc::new(Given { value: text, origin: origin.clone() })),
        _ => text,
    })
}
