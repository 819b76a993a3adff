//! Configuration files: YAML, JSON and TOML read from a literal path, as dicts whose every scalar knows its
//! file, key and line.

use super::super::{Call, Interp};
use super::outside::{Kind, origin, setting, wrap};
use super::{Table, alloc_part, dicts, iteration, paths};
use crate::report::Place;
use crate::source::{holds_project, lies_within, read_text};
use crate::values::*;
use node::{Node, Scalar};
use std::path::{Component, Path};
use std::rc::Rc;

pub(super) mod node;

pub(super) const CALLS: Table = &[
    ("json.load", |interp, call| Some(load(interp, call, Format::Json))),
    ("json.loads", |interp, call| Some(load_text(interp, call, Format::Json))),
    ("yaml.safe_load", |interp, call| Some(load(interp, call, Format::Yaml))),
    ("yaml.load", |interp, call| Some(load(interp, call, Format::Yaml))),
    ("yaml.full_load", |interp, call| Some(load(interp, call, Format::Yaml))),
    ("yaml.unsafe_load", |interp, call| Some(load(interp, call, Format::Yaml))),
    ("tomllib.load", |interp, call| Some(load(interp, call, Format::Toml))),
    ("tomli.load", |interp, call| Some(load(interp, call, Format::Toml))),
    ("toml.load", |interp, call| Some(load(interp, call, Format::Toml))),
    ("tomllib.loads", |interp, call| Some(load_text(interp, call, Format::Toml))),
    ("tomli.loads", |interp, call| Some(load_text(interp, call, Format::Toml))),
    ("toml.loads", |interp, call| Some(load_text(interp, call, Format::Toml))),
    ("omegaconf.OmegaConf.load", |interp, call| Some(load(interp, call, Format::Yaml))),
    ("omegaconf.OmegaConf.create", |interp, call| Some(create(interp, call))),
    ("omegaconf.OmegaConf.from_cli", |interp, call| Some(dicts::dict(interp, &Call::new(call.place)))),
    ("omegaconf.OmegaConf.merge", |interp, call| Some(merge(interp, call))),
    ("omegaconf.OmegaConf.to_container", |_, call| call.arg(0, "cfg").cloned()),
    ("omegaconf.OmegaConf.to_object", |_, call| call.arg(0, "cfg").cloned()),
    ("omegaconf.OmegaConf.resolve", |_, _| Some(Value::None)),
    ("omegaconf.OmegaConf.set_struct", |_, _| Some(Value::None)),
    ("omegaconf.OmegaConf.set_readonly", |_, _| Some(Value::None)),
    ("omegaconf.OmegaConf.save", |_, _| Some(Value::None)),
    ("omegaconf.OmegaConf.to_yaml", |_, _| Some(Value::Str(None))),
    ("omegaconf.OmegaConf.register_new_resolver", |_, _| Some(Value::None)),
    ("json.dump", |_, _| Some(Value::None)),
    ("json.dumps", |_, _| Some(Value::Str(None))),
    ("yaml.dump", |_, _| Some(Value::Str(None))),
    ("yaml.safe_dump", |_, _| Some(Value::Str(None))),
    ("toml.dumps", |_, _| Some(Value::Str(None))),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Json,
    Toml,
}

impl Format {
    fn of(path: &str) -> Option<Format> {
        match Path::new(path).extension()?.to_str()? {
            "yaml" | "yml" => Some(Format::Yaml),
            "json" => Some(Format::Json),
            "toml" => Some(Format::Toml),
            _ => None,
        }
    }
}

/// The text of a configuration file that a script names.
pub(super) fn text_of(interp: &Interp, path: &str) -> Option<String> {
    Format::of(path)?;
    find(interp, path)
}

/// Without a mark, the folder of the script and so many above it are taken for the project.
const UNMARKED: usize = 1;

fn find(interp: &Interp, path: &str) -> Option<String> {
    let folders = interp.search_folders();
    // What a script names elsewhere on the machine would come out in messages.
    let own = folders.iter().position(|folder| holds_project(folder)).unwrap_or(UNMARKED);
    let own = &folders[..folders.len().min(own + 1)];
    let within = |path: &Path, folder: &Path| folder.parent().is_some() && lies_within(path, folder);
    // What lies below a folder above is where its user put it beside the script.
    let is_below =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    folders.iter().find_map(|folder| {
        let path = folder.join(path);
        let is_inside = (is_below && within(&path, folder)) || own.iter().any(|folder| within(&path, folder));
        // What is not there may be there in the next run, and is noted as asked for.
        if is_inside || !path.exists() { read_text(&path) } else { None }
    })
}

/// The tree of a configuration file, found as the script would find it or beside it.
pub(super) fn tree(interp: &Interp, path: &str, format: Format) -> Option<Node> {
    // What a file is called says more than the library that reads it.
    let format = Format::of(path).unwrap_or(format);
    let name = Path::new(path).file_name()?.to_str()?;
    node::parse(&find(interp, path)?, name, format)
}

fn load(interp: &mut Interp, call: &Call, format: Format) -> Value {
    let Some(first) = call.positional.first() else { return Value::Unknown };
    let value = first.value.clone();
    // `yaml.safe_load(f.read())` is given the text, with its path as the name.
    if value.as_obj().is_none()
        && let Some(origin) = value.origin()
        && Format::of(&origin.name).is_some()
        && value.as_str().is_some_and(|text| text != &*origin.name)
    {
        return load_text(interp, call, format);
    }
    let root = paths::path_of(interp, &value).and_then(|path| tree(interp, &path, format));
    root.map_or(Value::Unknown, |root| build(interp, &root, call.place))
}

fn load_text(interp: &mut Interp, call: &Call, format: Format) -> Value {
    let Some(first) = call.positional.first() else { return Value::Unknown };
    let name = first.value.origin().map_or("text", |origin| &origin.name);
    let name = name.rsplit('/').next().unwrap_or(name).to_owned();
    let root = first.value.as_str().and_then(|text| node::parse(text, &name, format));
    root.map_or(Value::Unknown, |root| build(interp, &root, call.place))
}

/// `OmegaConf.create(…)` of a dict or of a text.
fn create(interp: &mut Interp, call: &Call) -> Value {
    match call.positional.first().map(|passed| passed.value.clone()) {
        None => dicts::dict(interp, call),
        Some(Value::Str(Some(_))) => load_text(interp, call, Format::Yaml),
        Some(other) => other,
    }
}

/// `OmegaConf.merge(base, more, …)`: later ones win, dicts merge into dicts.
fn merge(interp: &mut Interp, call: &Call) -> Value {
    let mut parts = call.positional.iter().map(|passed| passed.value.clone());
    let Some(first) = parts.next() else { return Value::Unknown };
    let mut count = 0;
    parts.fold(first, |all, part| merged(interp, &all, &part, call.place, &mut count))
}

fn merged(interp: &mut Interp, base: &Value, more: &Value, place: Place, count: &mut u64) -> Value {
    let entries = |interp: &Interp, value: &Value| match &interp.heap.get(value.as_obj()?).state {
        State::Dict(entries) => Some(entries.clone()),
        _ => None,
    };
    let (Some(mut result), Some(more_entries)) = (entries(interp, base), entries(interp, more)) else {
        return if more.is_unknown() { base.clone() } else { more.clone() };
    };
    for (key, value) in more_entries.known {
        let value = match result.get(&key).cloned() {
            Some(known) if *count < 1000 => merged(interp, &known, &value, place, count),
            _ => value,
        };
        result.set(key, value);
    }
    result.other = result.other.or(more_entries.other);
    *count += 1;
    Value::Obj(alloc_part(interp, place, *count, ClassRef::Builtin, State::Dict(result)))
}

/// The values of a tree.
pub(super) fn build(interp: &mut Interp, root: &Node, place: Place) -> Value {
    let mut count = 0;
    build_node(interp, root, root, "", place, &mut count)
}

fn build_node(
    interp: &mut Interp,
    root: &Node,
    node: &Node,
    path: &str,
    place: Place,
    count: &mut u64,
) -> Value {
    *count += 1;
    let part = *count;
    match node {
        Node::Scalar(scalar) => build_scalar(interp, root, scalar, path, place),
        Node::List(nodes) => {
            let items = nodes.iter().enumerate();
            let items: Vec<Value> = items
                .map(|(at, node)| build_node(interp, root, node, &format!("{path}[{at}]"), place, count))
                .collect();
            let items = if items.len() <= iteration::MOST_EXACT {
                Items::exact(items)
            } else {
                let len = Num::known(items.len() as i64);
                Items { exact: None, any: iteration::any(interp, &Items::exact(items)), len }
            };
            Value::Obj(alloc_part(interp, place, part, ClassRef::Builtin, State::List(items)))
        }
        Node::Map(nodes) => {
            let mut entries = Entries::default();
            for (key, node) in nodes {
                let name = match key {
                    Key::Str(text) => text.to_string(),
                    Key::Int(value) => value.to_string(),
                };
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                entries.known.push((key.clone(), build_node(interp, root, node, &path, place, count)));
            }
            Value::Obj(alloc_part(interp, place, part, ClassRef::Builtin, State::Dict(entries)))
        }
    }
}

fn build_scalar(interp: &Interp, root: &Node, scalar: &Scalar, path: &str, place: Place) -> Value {
    let scalar = resolved(root, scalar);
    let value = match &scalar.value {
        Value::Str(Some(text)) if text.contains("${") => Value::Unknown,
        value => value.clone(),
    };
    let last = path.rsplit('.').next().unwrap_or(path);
    let names: &[&str] = if last == path { &[path] } else { &[path, last] };
    let kind = Kind::of(&value);
    let line = scalar.line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let name = format!("{}: {path}{line}", scalar.file);
    match setting(interp, names, kind) {
        Some(Value::Int(num)) => Value::Int(Num { from: Some(origin(place, path, false)), ..num }),
        Some(set) => set,
        None if matches!(value, Value::None) => Value::None,
        None => wrap(value, &origin(place, &name, true), kind),
    }
}

/// Follows `${model.width}` once.
fn resolved<'a>(root: &'a Node, scalar: &'a Scalar) -> &'a Scalar {
    let Value::Str(Some(text)) = &scalar.value else { return scalar };
    let Some(path) = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { return scalar };
    let found = path.split('.').try_fold(root, |node, name| match node {
        Node::Map(entries) => {
            let wanted = Key::Str(Rc::from(name));
            entries.iter().find(|(key, _)| *key == wanted).map(|(_, node)| node)
        }
        _ => None,
    });
    match found {
        Some(Node::Scalar(found)) => found,
        _ => scalar,
    }
}
