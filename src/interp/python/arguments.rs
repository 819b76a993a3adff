//! `argparse` and its kin: a parser is an object with its options' values, each with where its default was
//! written. Groups and subparsers are the parser itself, so that all options end in one namespace.

use super::super::{Call, DeclaredOption, Interp, Passed};
use super::outside::{Kind, outside};
use super::{Table, alloc_part, dicts, iteration};
use crate::values::*;
use std::rc::Rc;
use ustr::{Ustr, ustr};

pub(super) const PARSER: &str = "argparse.ArgumentParser";
pub(super) const NAMESPACE: &str = "argparse.Namespace";
const OPTIONS: &str = "$options";
/// Of a parser that converts texts itself, as `no` to false.
const CONVERTS: &str = "$converts";
const RECORD: &str = "easydict.EasyDict";
/// What every dictionary has: a name of these is no entry, unless one is called so.
const METHODS: [&str; 10] =
    ["clear", "copy", "fromkeys", "get", "items", "keys", "pop", "setdefault", "update", "values"];
/// Dictionaries in each other are no records from here on.
const DEEPEST_RECORD: u32 = 8;

pub(super) const CALLS: Table = &[
    (PARSER, |interp, call| Some(parser(interp, call))),
    ("configargparse.ArgumentParser", |interp, call| Some(parser(interp, call))),
    ("configargparse.ArgParser", |interp, call| Some(parser(interp, call))),
    ("jsonargparse.ArgumentParser", |interp, call| Some(converting(interp, call))),
    (NAMESPACE, |interp, call| Some(namespace(interp, call))),
    ("types.SimpleNamespace", |interp, call| Some(namespace(interp, call))),
    ("easydict.EasyDict", |interp, call| Some(record(interp, call))),
    ("addict.Dict", |interp, call| Some(record(interp, call))),
    ("box.Box", |interp, call| Some(record(interp, call))),
    ("munch.Munch", |interp, call| Some(record(interp, call))),
    ("munch.munchify", |interp, call| Some(record(interp, call))),
    ("ml_collections.ConfigDict", |interp, call| Some(record(interp, call))),
    ("ml_collections.config_dict.ConfigDict", |interp, call| Some(record(interp, call))),
    ("argparse.FileType", |_, _| Some(Value::Unknown)),
];

fn parser(interp: &mut Interp, call: &Call) -> Value {
    let id = interp.alloc(call.place, ClassRef::Api(ustr(PARSER)), State::Plain);
    let options = alloc_part(interp, call.place, 0, ClassRef::Builtin, State::Dict(Entries::default()));
    interp.heap.get_mut(id).set_attr(ustr(OPTIONS), Value::Obj(options));
    take_over(interp, id, call);
    Value::Obj(id)
}

/// `ArgumentParser(parents=[common])` has the options of the others.
fn take_over(interp: &mut Interp, id: ObjId, call: &Call) {
    let parents = match call.keyword("parents").map(|passed| passed.value.clone()) {
        Some(parents) => iteration::iterate(interp, &parents, call.place).exact,
        None => Some(Vec::new()),
    };
    let is_parser = |interp: &Interp, value: &Value| {
        let object = value.as_obj();
        object.filter(|object| interp.heap.get(*object).class == ClassRef::Api(ustr(PARSER)))
    };
    let known = parents.as_ref().is_some_and(|all| all.iter().all(|one| is_parser(interp, one).is_some()));
    if call.open || !known {
        interp.open_options(id);
    }
    for parent in parents.unwrap_or_default().iter().filter_map(Value::as_obj) {
        if interp.has_open_options(parent) {
            interp.open_options(id);
        }
        for (name, value) in options_of(interp, parent) {
            set_option(interp, id, &name, value, false);
        }
    }
}

fn converting(interp: &mut Interp, call: &Call) -> Value {
    let parser = parser(interp, call);
    if let Some(id) = parser.as_obj() {
        // An option `--optimizer.lr` is an attribute of an attribute.
        interp.open_options(id);
        convert_by_itself(interp, id);
    }
    parser
}

/// A parser reads texts as it sees fit from here on, whatever the types say.
fn convert_by_itself(interp: &mut Interp, parser: ObjId) {
    interp.heap.get_mut(parser).set_attr(ustr(CONVERTS), Value::Bool(Some(true)));
}

/// An object with the keywords as attributes.
fn namespace(interp: &mut Interp, call: &Call) -> Value {
    let id = interp.alloc(call.place, ClassRef::Api(ustr(NAMESPACE)), State::Plain);
    let object = interp.heap.get_mut(id);
    for (name, passed) in &call.keywords {
        object.set_attr(*name, passed.value.clone());
    }
    Value::Obj(id)
}

/// A dictionary whose entries are attributes, too, and those of the dictionaries in it.
fn record(interp: &mut Interp, call: &Call) -> Value {
    let made = dicts::dict(interp, call);
    let mut open: Vec<(Value, u32)> = vec![(made.clone(), 0)];
    while let Some((value, depth)) = open.pop() {
        let Some(id) = value.as_obj().filter(|_| depth < DEEPEST_RECORD) else { continue };
        let State::Dict(entries) = &interp.heap.get(id).state else { continue };
        open.extend(entries.known.iter().map(|(_, value)| (value.clone(), depth + 1)));
        interp.heap.get_mut(id).class = ClassRef::Api(ustr(RECORD));
    }
    made
}

/// `configs.lr` of a record, `inputs.input_ids` of what a tokenizer gives, unless it is one of the methods that every
/// dictionary has.
pub fn entry_as_attribute(interp: &Interp, id: ObjId, name: Ustr) -> Option<Value> {
    let object = interp.heap.get(id);
    let State::Dict(entries) = &object.state else { return None };
    let ClassRef::Api(class) = object.class else { return None };
    if class != ustr(RECORD) && interp.apis.class(class).is_none() {
        return None;
    }
    let key = Key::Str(Rc::from(name.as_str()));
    match entries.get(&key) {
        Some(value) => Some(value.clone()),
        None if METHODS.contains(&name.as_str()) => None,
        None => Some(entries.other.clone().unwrap_or_default()),
    }
}

/// `config.grid = 14` of a record writes an entry; whether it is one.
pub fn attribute_as_entry(interp: &mut Interp, id: ObjId, name: Ustr, value: &Value) -> bool {
    let is_record = interp.heap.get(id).class == ClassRef::Api(ustr(RECORD));
    match &mut interp.heap.get_mut(id).state {
        State::Dict(entries) if is_record => {
            entries.set(Key::Str(Rc::from(name.as_str())), value.clone());
            true
        }
        _ => false,
    }
}

fn options_of(interp: &Interp, parser: ObjId) -> Vec<(Key, Value)> {
    let options = interp.heap.attr(parser, ustr(OPTIONS)).and_then(Value::as_obj);
    match options.map(|options| &interp.heap.get(options).state) {
        Some(State::Dict(entries)) => entries.known.clone(),
        _ => Vec::new(),
    }
}

/// The first option of a destination gives its default, as argparse has it, unless it is `forced`.
fn set_option(interp: &mut Interp, parser: ObjId, name: &Key, value: Value, forced: bool) {
    let Some(options) = interp.heap.attr(parser, ustr(OPTIONS)).and_then(Value::as_obj) else { return };
    if let State::Dict(entries) = &mut interp.heap.get_mut(options).state
        && (forced || entries.get(name).is_none())
    {
        entries.set(name.clone(), value);
    }
}

pub(super) fn method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    match name {
        "add_argument" | "add" | "add_arg" => {
            add_argument(interp, id, call);
            Some(Value::Unknown)
        }
        "add_argument_group" | "add_mutually_exclusive_group" => Some(Value::Obj(id)),
        "add_parser" => {
            take_over(interp, id, call);
            Some(Value::Obj(id))
        }
        "add_subparsers" => {
            if let Some(dest) =
                call.keyword("dest").and_then(|passed| passed.value.as_str().map(str::to_owned))
            {
                let value = outside(interp, &[&dest], Kind::Str, Value::Str(None), call.place);
                set_option(interp, id, &Key::Str(dest.into()), value, false);
            }
            Some(Value::Obj(id))
        }
        "set_defaults" => {
            set_defaults(interp, id, call);
            Some(Value::None)
        }
        "parse_args" | "parse_intermixed_args" => Some(parse(interp, id, call)),
        "parse_known_args" | "parse_known_intermixed_args" => {
            let parsed = parse(interp, id, call);
            let rest = alloc_part(
                interp,
                call.place,
                1,
                ClassRef::Builtin,
                State::List(Items::any(Value::Str(None))),
            );
            Some(Value::tuple(vec![parsed, Value::Obj(rest)]))
        }
        "get_default" => {
            let wanted = dicts::key_of(&call.positional.first()?.value)?;
            options_of(interp, id).into_iter().find(|(name, _)| *name == wanted).map(|(_, value)| value)
        }
        "register" => {
            // `parser.register("type", bool, as_bool)`
            convert_by_itself(interp, id);
            Some(Value::None)
        }
        "error" | "exit" | "print_help" | "print_usage" => Some(Value::None),
        "format_help" | "format_usage" => Some(Value::Str(None)),
        _ => {
            interp.open_options(id);
            None
        }
    }
}

/// What an option's declaration says.
struct Declared<'a> {
    dest: String,
    names: Vec<&'a str>,
    positional: bool,
}

fn declared(call: &Call) -> Option<Declared<'_>> {
    let names: Vec<&str> = call.positional.iter().filter_map(|passed| passed.value.as_str()).collect();
    let named = call.keyword("dest").and_then(|passed| passed.value.as_str());
    let positional = names.first().is_none_or(|name| !name.starts_with('-'));
    let main = names.iter().find(|name| name.starts_with("--")).or_else(|| names.first()).copied();
    let dest = named.or(main)?.trim_start_matches('-');
    let dest = if positional { dest.to_owned() } else { dest.replace('-', "_") };
    Some(Declared { dest, names, positional })
}

fn add_argument(interp: &mut Interp, id: ObjId, call: &Call) {
    let dest = call.keyword("dest").map(|passed| &passed.value);
    if call.open
        || call.positional.iter().map(|passed| &passed.value).chain(dest).any(|name| name.as_str().is_none())
    {
        interp.open_options(id);
    }
    let Some(declared) = declared(call) else { return interp.open_options(id) };
    if let Some(name) = declared.names.last().filter(|_| interp.heap.attr(id, ustr(CONVERTS)).is_none()) {
        interp.on_option(&DeclaredOption { name, dest: ustr(&declared.dest), call });
    }
    let action = call.keyword("action").map(|passed| &passed.value);
    let required = call.keyword("required").and_then(|passed| passed.value.as_bool()) == Some(true);
    // What has to be given never falls back on a default.
    let default = call.keyword("default").filter(|_| !required);
    let suppressed = default.is_some_and(
        |passed| matches!(&passed.value, Value::Builtin(name) if name.ends_with("argparse.SUPPRESS")),
    );
    if suppressed || matches!(action.and_then(Value::as_str), Some("help" | "version")) {
        return;
    }
    let many = call.keyword("nargs").is_some_and(|passed| passed.value.as_str() != Some("?"));
    let kind = kind_of(call, action, default);
    let start = match default {
        Some(passed) => parsed(&passed.value, kind),
        None => match action.and_then(Value::as_str) {
            Some("store_true") => Value::Bool(Some(false)),
            Some("store_false") => Value::Bool(Some(true)),
            _ if many && (required || declared.positional) => {
                let some = State::List(Items::any(kind.some()));
                Value::Obj(alloc_part(interp, call.place, 0, ClassRef::Builtin, some))
            }
            _ if required || (declared.positional && !is_optional(call)) => kind.some(),
            _ => Value::None,
        },
    };
    let place = default.map_or(call.place, |passed| passed.place);
    let mut names = vec![declared.dest.as_str()];
    names.extend(&declared.names);
    // A list of values is not written as one `--set` text.
    let kind = if many { Kind::Any } else { kind };
    let value = match (action.and_then(Value::as_str), &start) {
        // A switch that stores what it holds already: no user can change it.
        (Some("store_true"), Value::Bool(Some(true))) | (Some("store_false"), Value::Bool(Some(false))) => {
            start
        }
        _ => outside(interp, &names, kind, start, place),
    };
    set_option(interp, id, &Key::Str(Rc::from(declared.dest.as_str())), value, false);
}

fn is_optional(call: &Call) -> bool {
    call.keyword("nargs").is_some_and(|passed| matches!(passed.value.as_str(), Some("?" | "*")))
}

fn kind_of(call: &Call, action: Option<&Value>, default: Option<&Passed>) -> Kind {
    match action {
        Some(Value::Builtin(name)) if name.ends_with("BooleanOptionalAction") => return Kind::Bool,
        Some(action) => match action.as_str() {
            Some("store_true" | "store_false") => return Kind::Bool,
            Some("count") => return Kind::Int,
            Some("append" | "extend" | "append_const" | "store_const") => return Kind::Any,
            _ => {}
        },
        None => {}
    }
    match call.keyword("type") {
        Some(passed) => match Kind::of_type(&passed.value) {
            // `type=str2bool` and the like say it by their default.
            Kind::Any => default.map_or(Kind::Any, |passed| match Kind::of(&passed.value) {
                Kind::Str => Kind::Any,
                kind => kind,
            }),
            kind => kind,
        },
        None => default.map_or(Kind::Str, |passed| Kind::of(&passed.value)),
    }
}

/// argparse converts defaults that are strings.
fn parsed(default: &Value, kind: Kind) -> Value {
    match (default, kind) {
        (Value::Str(Some(_)), Kind::Bool) => Value::Bool(None),
        (Value::Str(Some(text)), Kind::Int | Kind::Float) => kind.parse(text).unwrap_or_else(|| kind.some()),
        (Value::Str(_), Kind::Any) => Value::Unknown,
        _ => default.clone(),
    }
}

fn set_defaults(interp: &mut Interp, id: ObjId, call: &Call) {
    if call.open {
        interp.open_options(id);
    }
    for (name, Passed { value, place }) in &call.keywords {
        let value = match value {
            // `set_defaults(run=train)`: the way to the function of a subcommand.
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) => value.clone(),
            value => outside(interp, &[name.as_str()], Kind::of(value), value.clone(), *place),
        };
        set_option(interp, id, &Key::Str(Rc::from(name.as_str())), value, true);
    }
}

fn parse(interp: &mut Interp, id: ObjId, call: &Call) -> Value {
    let known = options_of(interp, id);
    let into = call.arg(1, "namespace").and_then(Value::as_obj);
    let parsed =
        into.unwrap_or_else(|| interp.alloc(call.place, ClassRef::Api(ustr(NAMESPACE)), State::Plain));
    if call.arg(1, "namespace").is_none() {
        interp.note_parsed(parsed, id);
    }
    let object = interp.heap.get_mut(parsed);
    for (name, value) in known {
        let Key::Str(name) = name else { continue };
        let name: Ustr = ustr(&name);
        if into.is_none() || object.attr(name).is_none() {
            object.set_attr(name, value);
        }
    }
    Value::Obj(parsed)
}
