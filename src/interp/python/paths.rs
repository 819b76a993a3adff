//! Files and paths. Paths are strings to us, `pathlib`'s too; a file knows only its path.

use super::super::{Call, Interp, Passed};
use super::iteration::iterate;
use super::outside::Kind;
use super::outside::{keep_origin, origin, wrap};
use super::{Table, config};
use crate::values::*;
use ustr::ustr;

pub(super) const FILE: &str = "io.TextIOWrapper";
const PATH: &str = "$path";

pub(super) const CALLS: Table = &[
    ("pathlib.Path", |_, call| Some(join(&values(call)))),
    ("pathlib.PurePath", |_, call| Some(join(&values(call)))),
    ("pathlib.PosixPath", |_, call| Some(join(&values(call)))),
    ("pathlib.Path.cwd", |_, _| Some(Value::Str(None))),
    ("pathlib.Path.home", |_, _| Some(Value::Str(None))),
    ("os.path.join", |_, call| Some(join(&values(call)))),
    ("os.path.abspath", |_, call| first(call)),
    ("os.path.realpath", |_, call| first(call)),
    ("os.path.normpath", |_, call| first(call)),
    ("os.path.expanduser", |_, call| first(call)),
    ("os.path.expandvars", |_, call| first(call)),
    ("os.fspath", |_, call| first(call)),
    ("os.path.dirname", |_, call| attribute(&call.positional.first()?.value, "parent")),
    ("os.path.basename", |_, call| attribute(&call.positional.first()?.value, "name")),
    ("os.path.splitext", |_, call| {
        let value = &call.positional.first()?.value;
        Some(Value::tuple(vec![Value::Str(None), attribute(value, "suffix")?]))
    }),
    ("os.path.split", |_, call| {
        let value = &call.positional.first()?.value;
        Some(Value::tuple(vec![attribute(value, "parent")?, attribute(value, "name")?]))
    }),
    ("os.path.relpath", |_, _| Some(Value::Str(None))),
    ("os.path.commonprefix", |_, _| Some(Value::Str(None))),
    ("os.path.getsize", |_, _| Some(Value::Int(Num::default()))),
    ("os.path.getmtime", |_, _| Some(Value::Float(None))),
    ("os.path.exists", |_, _| Some(Value::Bool(None))),
    ("os.path.isfile", |_, _| Some(Value::Bool(None))),
    ("os.path.isdir", |_, _| Some(Value::Bool(None))),
    ("os.path.islink", |_, _| Some(Value::Bool(None))),
    ("os.path.isabs", |_, _| Some(Value::Bool(None))),
    ("os.getcwd", |_, _| Some(Value::Str(None))),
    ("os.listdir", |interp, call| Some(interp.list_of(call.place, Value::Str(None)))),
    ("glob.glob", |interp, call| Some(interp.list_of(call.place, Value::Str(None)))),
    ("glob.iglob", |interp, call| Some(interp.list_of(call.place, Value::Str(None)))),
    ("io.open", |interp, call| Some(open(interp, call))),
    ("gzip.open", |interp, call| Some(open(interp, call))),
];

fn values(call: &Call) -> Vec<Value> {
    call.positional.iter().map(|passed| passed.value.clone()).collect()
}

fn first(call: &Call) -> Option<Value> {
    Some(as_text(call.positional.first().map(|passed| &passed.value)?))
}

fn as_text(value: &Value) -> Value {
    match value.bare() {
        Value::Str(_) => value.clone(),
        _ => Value::Str(None),
    }
}

/// Joined with slashes; an absolute part starts anew.
pub(super) fn join(parts: &[Value]) -> Value {
    let mut path = String::new();
    let texts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
    let Some(texts) = texts else { return keep_origin(Value::Str(None), &parts.iter().collect::<Vec<_>>()) };
    for text in texts.into_iter().filter(|text| !text.is_empty()) {
        if text.starts_with('/') {
            path.clear();
        } else if !path.is_empty() && !path.ends_with('/') {
            path.push('/');
        }
        path.push_str(text);
    }
    keep_origin(Value::str(&path), &parts.iter().collect::<Vec<_>>())
}

/// Attributes of paths.
pub(super) fn attribute(receiver: &Value, name: &str) -> Option<Value> {
    let text = receiver.as_str().map(|text| text.trim_end_matches('/'));
    let (folder, file) = match text {
        Some(text) => match text.rsplit_once('/') {
            Some((folder, file)) => (Some(folder), Some(file)),
            None => (Some(""), Some(text)),
        },
        None => (None, None),
    };
    let dot = file.and_then(|file| file.rfind('.').filter(|at| *at > 0));
    let part = match name {
        "parent" => folder.map(str::to_owned),
        "name" => file.map(str::to_owned),
        "stem" => file.map(|file| dot.map_or(file, |at| &file[..at]).to_owned()),
        "suffix" => file.map(|file| dot.map_or("", |at| &file[at..]).to_owned()),
        "parents" => return Some(Value::Unknown),
        "parts" | "anchor" | "root" | "drive" | "suffixes" => return Some(Value::Unknown),
        _ => return None,
    };
    Some(keep_origin(Value::Str(part.map(Into::into)), &[receiver]))
}

/// Methods of paths that strings do not have.
pub(super) fn method(interp: &mut Interp, receiver: &Value, name: &str, call: &Call) -> Option<Value> {
    match name {
        "resolve" | "absolute" | "expanduser" | "as_posix" | "__fspath__" => Some(receiver.clone()),
        "joinpath" => {
            let parts: Vec<Value> = std::iter::once(receiver.clone()).chain(values(call)).collect();
            Some(join(&parts))
        }
        "exists" | "is_file" | "is_dir" | "is_absolute" | "samefile" | "match" => Some(Value::Bool(None)),
        "mkdir" | "unlink" | "touch" | "rename" | "rmdir" | "write_text" | "write_bytes" | "symlink_to" => {
            Some(Value::None)
        }
        "glob" | "rglob" | "iterdir" => Some(interp.list_of(call.place, Value::Str(None))),
        "with_suffix" | "with_name" | "with_stem" | "relative_to" | "as_uri" => Some(Value::Str(None)),
        "stat" | "read_bytes" => Some(Value::Unknown),
        "open" => Some(open_path(interp, receiver.clone(), call)),
        "read_text" => Some(read(interp, receiver, call)),
        _ => None,
    }
}

pub(super) fn open(interp: &mut Interp, call: &Call) -> Value {
    let path = call.arg(0, "file").map_or(Value::Unknown, as_text);
    open_path(interp, path, call)
}

fn open_path(interp: &mut Interp, path: Value, call: &Call) -> Value {
    let id = interp.alloc(call.place, ClassRef::Api(ustr(FILE)), State::Plain);
    interp.heap.get_mut(id).set_attr(ustr(PATH), path);
    Value::Obj(id)
}

/// The path of an open file, or of what stands for one.
pub(super) fn path_of(interp: &Interp, value: &Value) -> Option<String> {
    let path = match value.as_obj() {
        Some(id) => interp.heap.attr(id, ustr(PATH))?,
        None => value,
    };
    path.as_str().map(str::to_owned)
}

/// The text of a configuration file; what else is in files is not looked at.
fn read(interp: &mut Interp, path: &Value, call: &Call) -> Value {
    let text = path.as_str().and_then(|path| config::text_of(interp, path).map(|text| (path, text)));
    match text {
        Some((path, text)) => wrap(Value::str(&text), &origin(call.place, path, true), Kind::Str),
        None => Value::Str(None),
    }
}

pub(super) fn file_method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    match name {
        "__enter__" => Some(Value::Obj(id)),
        "read" => {
            let path = interp.heap.attr(id, ustr(PATH)).cloned().unwrap_or_default();
            Some(read(interp, &path, call))
        }
        "readline" => Some(Value::Str(None)),
        "readlines" | "__iter__" => Some(interp.list_of(call.place, Value::Str(None))),
        "write" | "tell" | "seek" | "fileno" => Some(Value::Int(Num::default())),
        "writelines" | "flush" | "close" | "__exit__" => {
            for Passed { value, .. } in &call.positional {
                iterate(interp, value, call.place);
            }
            Some(Value::None)
        }
        "isatty" | "readable" | "writable" => Some(Value::Bool(None)),
        _ => None,
    }
}
