//! A value in one line of text: exact, compact, and the same in every run. Never says an id; what has no name is
//! called by its class. What is not known of a value is left out, or a `?` where it would have a place.

use super::names::ObjectNames;
use crate::names::Project;
use crate::values::*;
use std::fmt::Write;
use std::rc::Rc;
use ustr::Ustr;

/// So many items of a container are written.
const MOST_ITEMS: usize = 6;
/// Containers in containers are written so deep.
const DEEPEST: usize = 3;
/// Strings of a script may be whole files.
const MOST_LETTERS: usize = 40;

/// What it takes to put values into words.
pub(super) struct Words<'a> {
    pub heap: &'a Heap,
    pub project: &'a Project,
    pub symbols: &'a [Rc<str>],
    pub names: ObjectNames,
    /// When the running iteration began.
    pub since: u32,
}

impl Words<'_> {
    pub(crate) fn value(&self, value: &Value) -> String {
        self.nested(value, 0)
    }

    pub(super) fn nested(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::Unknown => "Unknown".to_owned(),
            Value::None => "None".to_owned(),
            Value::Maybe(inner) => format!("{} or None", self.nested(inner, depth)),
            Value::Bool(truth) => match truth {
                Some(true) => "True".to_owned(),
                Some(false) => "False".to_owned(),
                None => "bool".to_owned(),
            },
            Value::Int(num) => self.number(num),
            Value::Float(None) => "float".to_owned(),
            Value::Float(Some(number)) => format!("float {number:?}"),
            Value::Str(None) => "str".to_owned(),
            Value::Str(Some(text)) => format!("str {}", quoted(text)),
            Value::Given(given) => {
                format!("{}, given as `{}`", self.nested(&given.value, depth), given.origin.name)
            }
            Value::Tensor(tensor) => self.tensor(tensor),
            Value::Tuple(items) => format!("({})", self.items(items, depth)),
            Value::Slice(slice) => self.slice(slice, depth),
            Value::Ellipsis => "...".to_owned(),
            Value::Obj(object) => self.object(*object, depth),
            Value::Device(device, _) => format!("device {}", device_name(*device)),
            Value::DType(dtype) => format!("dtype {}", dtype.name()),
            Value::Params(params) => self.params(params),
            Value::Grad(owners) => format!("gradients of {}", self.all_names(owners)),
            other => self.callable(other, depth),
        }
    }

    /// Functions, methods, modules of Python: what is called, or looked into.
    fn callable(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::Function(closure) => format!("function {}", self.function(closure)),
            Value::Bound(bound) => {
                let method = match &bound.method {
                    Method::Closure(closure) => self.function(closure),
                    Method::Api(name) | Method::Builtin(name) => last_part(name),
                };
                format!("method {method} of {}", self.brief(&bound.receiver, depth))
            }
            Value::Partial(partial) => format!("partial of {}", self.brief(&partial.callee, depth)),
            Value::AnyOf(all) => {
                let all: Vec<String> = all.iter().map(|value| self.brief(value, depth)).collect();
                format!("one of {}", all.join(", "))
            }
            Value::Super { instance, .. } => format!("super of {}", self.name(*instance)),
            Value::Api(name) => format!("api {name}"),
            Value::Builtin(name) => format!("builtin {name}"),
            Value::Module(file) => {
                let name = self.project.module_name(*file).map(|name| name.to_string());
                format!("module {}", name.unwrap_or_else(|| "of the project".to_owned()))
            }
            Value::Folder(_) => "package of the project".to_owned(),
            _ => "value".to_owned(),
        }
    }

    /// An object by its name, any other value as it is.
    pub(super) fn brief(&self, value: &Value, depth: usize) -> String {
        match value.bare() {
            Value::Obj(object) => self.name(*object),
            other if depth < DEEPEST => self.nested(other, depth + 1),
            _ => "…".to_owned(),
        }
    }

    fn number(&self, num: &Num) -> String {
        let mut text = match self.int(&num.int) {
            known if num.int.is_unknown() => known,
            known => format!("int {known}"),
        };
        match num.tag {
            Tag::None => {}
            Tag::Counter => text.push_str(", counts"),
            Tag::Phase => text.push_str(", counts modulo something"),
        }
        if let Some(origin) = &num.from {
            let how = if origin.given { ", given as" } else { " from" };
            let _ = write!(text, "{how} `{}`", origin.name);
        }
        text
    }

    /// A size: `64`, `2·batch`, or `int` where it is not known.
    pub(super) fn int(&self, int: &Int) -> String {
        let name = |symbol: Symbol| {
            let name = self.symbols.get(symbol.0 as usize).map_or("?", |name| &**name);
            if name.contains(' ') { format!("({name})") } else { name.to_owned() }
        };
        int.written(name).unwrap_or_else(|| "int".to_owned())
    }

    pub(super) fn items(&self, items: &[Value], depth: usize) -> String {
        if depth >= DEEPEST && !items.is_empty() {
            return "…".to_owned();
        }
        let shown = items.iter().take(MOST_ITEMS).map(|item| self.nested(item, depth + 1));
        listed(shown.collect(), items.len())
    }

    fn slice(&self, (lower, upper, step): &(Value, Value, Value), depth: usize) -> String {
        let part = |bound: &Value| match bound {
            Value::None => String::new(),
            other => self.brief(other, depth),
        };
        let step = if matches!(step, Value::None) { String::new() } else { format!(":{}", part(step)) };
        format!("slice {}:{}{step}", part(lower), part(upper))
    }

    pub(super) fn entries(&self, entries: &Entries, depth: usize) -> String {
        if depth >= DEEPEST {
            return "{…}".to_owned();
        }
        let key = |key: &Key| match key {
            Key::Str(text) => quoted(text),
            Key::Int(number) => number.to_string(),
        };
        let entry =
            |(name, value): &(Key, Value)| format!("{}: {}", key(name), self.nested(value, depth + 1));
        let shown = entries.known.iter().take(MOST_ITEMS).map(entry).collect();
        let mut text = listed(shown, entries.known.len());
        if let Some(other) = &entries.other {
            let before = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{before}others: {}", self.nested(other, depth + 1));
        }
        format!("{{{text}}}")
    }

    pub(super) fn attributes(&self, attrs: &Attrs, depth: usize) -> String {
        let entry =
            |(name, value): &(Ustr, Value)| format!("{name}: {}", self.attribute(*name, value, depth));
        listed(attrs.iter().take(MOST_ITEMS).map(entry).collect(), attrs.len())
    }

    /// What an attribute holds: an object under its own name, or by its class where that is the attribute's.
    fn attribute(&self, name: Ustr, value: &Value, depth: usize) -> String {
        let Value::Obj(id) = value.bare() else { return self.brief(value, depth + 1) };
        let own = self.names.of(*id).is_none_or(|known| known.ends_with(&format!(".{name}")));
        match self.heap.get(*id).state {
            State::List(_) | State::Dict(_) => self.nested(value, depth + 1),
            _ if own => self.class(self.heap.get(*id)),
            _ => self.name(*id),
        }
    }

    fn params(&self, params: &Params) -> String {
        let which = if params.whole { "parameters of" } else { "some parameters of" };
        let stream = if params.stream.is_some() { ", once" } else { "" };
        if let Some(only) = &params.only {
            return format!("{} of {}{stream}", self.told_apart(only), self.all_names(&params.owners));
        }
        match (params.owners.is_empty(), params.others) {
            (true, _) => format!("parameters{stream}"),
            (false, true) => format!("{which} {} and others{stream}", self.all_names(&params.owners)),
            (false, false) => format!("{which} {}{stream}", self.all_names(&params.owners)),
        }
    }

    /// Parameters by their names; those that may be missing with a question mark.
    fn told_apart(&self, only: &[Parameter]) -> String {
        let name = |one: &Parameter| {
            let path = one.path.as_deref().or(one.name.as_ref().map(Ustr::as_str));
            format!("{}{}", path.unwrap_or("others"), if one.maybe { "?" } else { "" })
        };
        if only.is_empty() {
            "no parameters".to_owned()
        } else {
            only.iter().map(name).collect::<Vec<_>>().join(", ")
        }
    }

    pub(super) fn function(&self, closure: &Closure) -> String {
        let tree = &self.project.module(closure.file).tree;
        tree.function(closure.function).name.to_string()
    }
}

/// Items with commas between them, and how many are left out.
pub(super) fn listed(shown: Vec<String>, all: usize) -> String {
    let more = all - shown.len();
    let mut text = shown.join(", ");
    if more > 0 {
        let _ = write!(text, ", … {more} more");
    }
    text
}

pub(super) fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

pub(super) fn device_name(device: Device) -> String {
    match device {
        Device::Cpu => "cpu".to_owned(),
        Device::Cuda(None) => "cuda".to_owned(),
        Device::Cuda(Some(index)) => format!("cuda:{index}"),
        Device::Accelerator => "accelerator".to_owned(),
        Device::Chosen => "cuda where chosen".to_owned(),
        Device::Automatic => "automatic".to_owned(),
        Device::Unknown => "?".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    let short: String = text.chars().take(MOST_LETTERS).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("'{}{dots}'", short.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'"))
}
