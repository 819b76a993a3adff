//! Flags of `absl` and TensorFlow, and the options of `click` and `typer`.

use super::super::{Call, CallPath, Interp};
use super::Table;
use super::outside::{Kind, outside};
use crate::report::{FileId, Place, Span};
use crate::values::*;
use ustr::{Ustr, ustr};

pub(super) const CALLS: Table = &[
    ("typer.Option", |interp, call| Some(typer(interp, call))),
    ("typer.Argument", |interp, call| Some(typer(interp, call))),
];

const HOLDER: &str = "absl.flags.FlagHolder";
const FLAGS: &str = "absl.flags.FlagValues";

/// The one object that holds the flags of a run.
pub(super) fn flags(interp: &mut Interp) -> ObjId {
    // A place in no file: nothing else is made there.
    let key = (CallPath::default(), Place::new(FileId(u32::MAX), Span::default()));
    if let Some(id) = interp.sites.made.get(&key) {
        return *id;
    }
    let object = Object {
        class: ClassRef::Api(ustr(FLAGS)),
        attrs: Vec::new(),
        notes: Vec::new(),
        state: State::Plain,
        site: Place::new(FileId(0), Span::default()),
        epoch: 0,
        confidence: crate::report::Confidence::High,
    };
    let id = interp.heap.alloc(object);
    interp.sites.made.insert(key, id);
    id
}

/// `flags.DEFINE_integer("batch_size", 64, "…")`
pub(super) fn define(interp: &mut Interp, kind: &str, call: &Call) -> Option<Value> {
    let kind = match kind {
        "integer" => Kind::Int,
        "float" => Kind::Float,
        "bool" | "boolean" => Kind::Bool,
        "string" | "enum" => Kind::Str,
        _ => Kind::Any,
    };
    let name = call.arg(0, "name")?.as_str()?.to_owned();
    let default = call.passed(1, "default").or_else(|| call.keyword("default_value"));
    let place = default.map_or(call.place, |passed| passed.place);
    let value = default.map_or(Value::None, |passed| passed.value.clone());
    let value = match (value, kind) {
        (Value::Int(num), Kind::Float) => Value::Float(num.int.known().map(|known| known as f64)),
        (value, _) => value,
    };
    let value = outside(interp, &[&name], kind, value, place);
    let flags = flags(interp);
    interp.heap.get_mut(flags).set_attr(ustr(&name), value.clone());
    let holder = interp.alloc(call.place, ClassRef::Api(ustr(HOLDER)), State::Plain);
    let object = interp.heap.get_mut(holder);
    object.set_attr(ustr("value"), value.clone());
    object.set_attr(ustr("default"), value);
    Some(Value::Obj(holder))
}

fn typer(interp: &mut Interp, call: &Call) -> Value {
    let default = call.passed(0, "default");
    let name =
        call.positional.iter().filter_map(|passed| passed.value.as_str()).find(|name| name.starts_with("--"));
    let place = default.map_or(call.place, |passed| passed.place);
    match default.map(|passed| passed.value.clone()) {
        None | Some(Value::Ellipsis) => Value::Unknown,
        Some(value) => outside(interp, &[name.unwrap_or("option")], Kind::of(&value), value, place),
    }
}

/// What the parameters of a `click` command are by default, from the calls of its decorators.
pub fn click_defaults(interp: &mut Interp, decorators: &[(Ustr, Call)]) -> Vec<(Ustr, Value)> {
    let mut defaults = Vec::new();
    for (name, call) in decorators {
        let is_option = name.ends_with("click.option");
        if (is_option || name.ends_with("click.argument"))
            && let Some(default) = click_default(interp, call, is_option)
        {
            defaults.push(default);
        }
    }
    defaults
}

fn click_default(interp: &Interp, call: &Call, is_option: bool) -> Option<(Ustr, Value)> {
    let names: Vec<&str> = call.positional.iter().filter_map(|passed| passed.value.as_str()).collect();
    let bare = names.iter().find(|name| !name.starts_with('-'));
    let long = names.iter().find(|name| name.starts_with("--")).or_else(|| names.first());
    let shown = bare.or(long)?.split('/').next()?.trim_end();
    let parameter = shown.trim_start_matches('-').replace('-', "_");
    let default = call.keyword("default");
    let is_set = |name: &str| call.keyword(name).and_then(|passed| passed.value.as_bool()) == Some(true);
    let flag = is_set("is_flag") || names.iter().any(|name| name.contains('/'));
    let kind = match call.keyword("type") {
        Some(passed) => click_type(&passed.value),
        None if flag => Kind::Bool,
        None => default.map_or(Kind::Str, |passed| Kind::of(&passed.value)),
    };
    let start = match default {
        Some(passed) => passed.value.clone(),
        None if flag => Value::Bool(Some(false)),
        None if !is_option || is_set("required") => kind.some(),
        None => Value::None,
    };
    let start = if is_set("multiple") { Value::Unknown } else { start };
    let place = default.map_or(call.place, |passed| passed.place);
    let mut all = vec![parameter.as_str()];
    all.extend(&names);
    Some((ustr(&parameter), outside(interp, &all, kind, start, place)))
}

fn click_type(value: &Value) -> Kind {
    match value {
        Value::Api(name) | Value::Builtin(name) => match name.as_str() {
            "click.INT" => Kind::Int,
            "click.FLOAT" => Kind::Float,
            "click.STRING" => Kind::Str,
            "click.BOOL" => Kind::Bool,
            _ => Kind::of_type(value),
        },
        _ => Kind::Any,
    }
}
