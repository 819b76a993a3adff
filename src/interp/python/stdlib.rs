//! The rest of the standard library: the environment, constants, random numbers, and whole modules whose
//! functions change nothing that we follow.

use super::super::{Call, Interp, sample_order::PROCESSORS};
use super::outside::{Kind, outside};
use super::{Table, flags, iteration};
use crate::report::Place;
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::ustr;

pub(super) const CALLS: Table = &[
    ("os.environ.get", |interp, call| getenv(interp, call)),
    ("os.environ.setdefault", |interp, call| getenv(interp, call)),
    ("os.environ.pop", |interp, call| getenv(interp, call)),
    ("os.getenv", |interp, call| getenv(interp, call)),
    ("os.environ.copy", |interp, call| Some(strings_dict(interp, call))),
    ("os.environ.update", |_, _| Some(Value::None)),
    ("os.cpu_count", |interp, _| Some(processors(interp))),
    ("os.getpid", |_, _| Some(Value::Int(Num::default()))),
    ("multiprocessing.cpu_count", |interp, _| Some(processors(interp))),
    ("logging.getLogger", |interp, call| Some(opaque(interp, call, "logging.Logger"))),
    ("threading.Lock", |interp, call| Some(opaque(interp, call, "threading.Lock"))),
    ("re.compile", |interp, call| Some(opaque(interp, call, "re.Pattern"))),
    ("datetime.datetime.now", |interp, call| Some(opaque(interp, call, "datetime.datetime"))),
    ("datetime.datetime.utcnow", |interp, call| Some(opaque(interp, call, "datetime.datetime"))),
    ("datetime.datetime.today", |interp, call| Some(opaque(interp, call, "datetime.datetime"))),
    ("datetime.datetime", |interp, call| Some(opaque(interp, call, "datetime.datetime"))),
    ("datetime.timedelta", |interp, call| Some(opaque(interp, call, "datetime.timedelta"))),
    ("contextlib.nullcontext", |interp, call| Some(opaque(interp, call, "contextlib.nullcontext"))),
    ("contextlib.suppress", |interp, call| Some(opaque(interp, call, "contextlib.suppress"))),
    ("contextlib.ExitStack", |interp, call| Some(opaque(interp, call, "contextlib.ExitStack"))),
    ("contextlib.redirect_stdout", |interp, call| Some(opaque(interp, call, "contextlib.redirect_stdout"))),
    ("pickle.load", |_, _| Some(Value::Unknown)),
    ("pickle.loads", |_, _| Some(Value::Unknown)),
    ("pickle.dump", |_, _| Some(Value::None)),
    ("pickle.dumps", |_, _| Some(Value::Unknown)),
    ("csv.writer", |interp, call| Some(opaque(interp, call, "csv.Writer"))),
    ("csv.DictWriter", |interp, call| Some(opaque(interp, call, "csv.Writer"))),
    ("time.strftime", |_, _| Some(Value::Str(None))),
    ("time.ctime", |_, _| Some(Value::Str(None))),
    ("time.sleep", |_, _| Some(Value::None)),
    ("sys.getsizeof", |_, _| Some(Value::Int(Num::default()))),
    ("sys.exit", |_, _| Some(Value::None)),
    ("os.makedirs", |_, _| Some(Value::None)),
    ("os.mkdir", |_, _| Some(Value::None)),
];

/// As many as the machine has: not known, and not zero.
fn processors(interp: &mut Interp) -> Value {
    let symbol = interp.symbol(PROCESSORS);
    Value::of_int(Int::symbol(symbol))
}

/// What an unlisted function of a module gives.
#[derive(Clone, Copy)]
enum Gives {
    Float,
    Text,
    Nothing,
    Unknown,
}

/// Modules whose functions keep their hands off what they are given.
const FAMILIES: &[(&str, Gives)] = &[
    ("abc", Gives::Unknown),
    ("argparse", Gives::Unknown),
    ("ast", Gives::Unknown),
    ("base64", Gives::Unknown),
    ("bisect", Gives::Unknown),
    ("calendar", Gives::Unknown),
    ("cmath", Gives::Unknown),
    ("codecs", Gives::Unknown),
    ("colorsys", Gives::Unknown),
    ("configparser", Gives::Unknown),
    ("contextlib", Gives::Unknown),
    ("csv", Gives::Unknown),
    ("datetime", Gives::Unknown),
    ("decimal", Gives::Unknown),
    ("difflib", Gives::Unknown),
    ("enum", Gives::Unknown),
    ("faulthandler", Gives::Nothing),
    ("fnmatch", Gives::Unknown),
    ("fractions", Gives::Unknown),
    ("gc", Gives::Nothing),
    ("getpass", Gives::Text),
    ("glob", Gives::Unknown),
    ("hashlib", Gives::Unknown),
    ("html", Gives::Text),
    ("importlib", Gives::Unknown),
    ("inspect", Gives::Unknown),
    ("io", Gives::Unknown),
    ("locale", Gives::Unknown),
    ("logging", Gives::Nothing),
    ("math", Gives::Float),
    ("numbers", Gives::Unknown),
    ("os", Gives::Unknown),
    ("pathlib", Gives::Unknown),
    ("platform", Gives::Text),
    ("pprint", Gives::Nothing),
    ("re", Gives::Unknown),
    ("resource", Gives::Unknown),
    ("secrets", Gives::Unknown),
    ("shlex", Gives::Unknown),
    ("shutil", Gives::Nothing),
    ("signal", Gives::Unknown),
    ("socket", Gives::Unknown),
    ("statistics", Gives::Float),
    ("string", Gives::Unknown),
    ("struct", Gives::Unknown),
    ("subprocess", Gives::Unknown),
    ("sys", Gives::Unknown),
    ("tarfile", Gives::Unknown),
    ("tempfile", Gives::Unknown),
    ("textwrap", Gives::Text),
    ("threading", Gives::Unknown),
    ("time", Gives::Float),
    ("timeit", Gives::Float),
    ("traceback", Gives::Nothing),
    ("types", Gives::Unknown),
    ("typing", Gives::Unknown),
    ("typing_extensions", Gives::Unknown),
    ("unicodedata", Gives::Unknown),
    ("urllib", Gives::Unknown),
    ("uuid", Gives::Unknown),
    ("warnings", Gives::Nothing),
    ("zipfile", Gives::Unknown),
    ("zlib", Gives::Unknown),
];

fn family_of(name: &str) -> Option<Gives> {
    let module = name.split('.').next().unwrap_or(name);
    let at = FAMILIES.binary_search_by(|(known, _)| (*known).cmp(module)).ok()?;
    Some(FAMILIES[at].1)
}

pub(super) fn is_family(name: &str) -> bool {
    family_of(name).is_some() || is_exception(name) || name.starts_with("random.")
}

/// `ValueError` and the other builtin exceptions.
fn is_exception(name: &str) -> bool {
    let last = ["Error", "Exception", "Warning", "StopIteration", "KeyboardInterrupt", "SystemExit"];
    !name.contains('.') && last.iter().any(|end| name.ends_with(end)) && name.starts_with(char::is_uppercase)
}

/// They call what they are given, or make something of it; that is left to the interpreter.
const CALLS_BACK: &[&str] = &[
    "contextlib.asynccontextmanager",
    "contextlib.closing",
    "contextlib.contextmanager",
    "signal.signal",
    "threading.Thread",
    "threading.Timer",
    "timeit.timeit",
];

pub(super) fn family(name: &str, _call: &Call) -> Option<Value> {
    if CALLS_BACK.contains(&name) {
        return None;
    }
    if is_exception(name) {
        return Some(Value::Unknown);
    }
    Some(match family_of(name)? {
        Gives::Float => Value::Float(None),
        Gives::Text => Value::Str(None),
        Gives::Nothing => Value::None,
        Gives::Unknown => Value::Unknown,
    })
}

/// An object whose methods do nothing that we follow.
fn opaque(interp: &mut Interp, call: &Call, class: &str) -> Value {
    Value::Obj(interp.alloc(call.place, ClassRef::Api(ustr(class)), State::Plain))
}

fn getenv(interp: &mut Interp, call: &Call) -> Option<Value> {
    let default = call.arg(1, "default").cloned().unwrap_or(Value::None);
    Some(environment(interp, call.arg(0, "key")?, Some(default), call.place))
}

/// A variable of the environment; `default` is what stands in for it, if anything does.
pub(super) fn environment(interp: &mut Interp, key: &Value, default: Option<Value>, place: Place) -> Value {
    let name = key.as_str().unwrap_or("os.environ");
    if let Some(set) = interp.remember(|all: &mut Environment| all.0.get(name).cloned()) {
        return set;
    }
    let default = default.unwrap_or(Value::Str(None));
    let kind = if matches!(default, Value::None) { Kind::Str } else { Kind::of(&default) };
    outside(interp, &[name], kind, default, place)
}

/// The variable that says which GPUs a process sees.
const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Variables of the environment that the script sets.
#[derive(Default)]
struct Environment(FxHashMap<Rc<str>, Value>);

impl Interp<'_> {
    /// `os.environ["NAME"] = text`, from here on; on one of several ways it may be so or not.
    pub(in crate::interp) fn set_variable(&mut self, key: &Value, value: Value, place: Place) {
        let Value::Str(Some(name)) = key.bare() else { return };
        let value = if self.passes.arms == 0 { value } else { Value::Unknown };
        self.remember(|all: &mut Environment| all.0.insert(name.clone(), value));
        if **name == *VISIBLE_DEVICES {
            self.on_visible_devices(place);
        }
    }

    /// Whether the script lets the framework see a GPU, where it says so itself.
    pub(in crate::interp) fn sees_gpus(&mut self) -> Option<bool> {
        let visible = |all: &mut Environment| all.0.get(VISIBLE_DEVICES).cloned();
        let Some(visible) = self.remember(visible) else { return Some(true) };
        visible.as_str().map(|listed| !matches!(listed.trim(), "" | "-1"))
    }
}

fn strings_dict(interp: &mut Interp, call: &Call) -> Value {
    interp.dict(call.place, Entries::new(Vec::new(), Some(Value::Str(None))))
}

/// Random numbers: of the kind that the function gives.
pub(super) fn random(interp: &mut Interp, name: &str, call: &Call) -> Option<Value> {
    let first = call.positional.first().map(|passed| passed.value.clone());
    Some(match name {
        "random.randint" | "random.randrange" | "random.getrandbits" => Value::Int(Num::default()),
        "random.seed" | "random.setstate" => Value::None,
        "random.choice" => {
            let items = iteration::iterate(interp, &first?, call.place);
            iteration::any(interp, &items)
        }
        "random.choices" | "random.sample" => {
            let items = iteration::iterate(interp, &first?, call.place);
            let any = iteration::any(interp, &items);
            let len = match call.arg(1, "k").map(Value::bare) {
                Some(Value::Int(num)) => num.clone(),
                _ => Num::default(),
            };
            iteration::make(interp, call.place, Items { exact: None, any, len })
        }
        "random.shuffle" => {
            if let Some(id) = first?.as_obj()
                && let State::List(items) = interp.heap.get(id).state.clone()
            {
                let any = iteration::any(interp, &items);
                let len = iteration::length(&items);
                interp.heap.get_mut(id).state = State::List(Items { exact: None, any, len });
            }
            Value::None
        }
        "random.Random" | "random.SystemRandom" | "random.getstate" => Value::Unknown,
        _ => Value::Float(None),
    })
}

/// A value of a module that is no function: `math.pi`, and what others call so, `sys.argv`, `flags.FLAGS`.
pub fn constant(interp: &mut Interp, name: &str) -> Option<Value> {
    Some(match name {
        "math.pi" | "numpy.pi" | "torch.pi" | "jax.numpy.pi" => Value::Float(Some(std::f64::consts::PI)),
        "math.e" | "numpy.e" | "torch.e" | "jax.numpy.e" => Value::Float(Some(std::f64::consts::E)),
        "math.tau" => Value::Float(Some(std::f64::consts::TAU)),
        "math.inf" | "numpy.inf" | "torch.inf" | "jax.numpy.inf" => Value::Float(Some(f64::INFINITY)),
        "math.nan" => Value::Float(None),
        "sys.maxsize" => Value::int(i64::MAX),
        "os.sep" | "os.path.sep" => Value::str("/"),
        "os.linesep" => Value::str("\n"),
        "os.environ" | "sys.argv" | "sys.modules" | "os.path" => Value::Builtin(ustr(name)),
        "os.name" | "sys.platform" | "sys.version" | "sys.executable" => Value::Str(None),
        "sys.version_info" | "sys.path" | "sys.stdout" | "sys.stderr" => Value::Unknown,
        "typing.TYPE_CHECKING" | "__debug__" => Value::Bool(Some(name != "typing.TYPE_CHECKING")),
        _ if name.ends_with("flags.FLAGS") => Value::Obj(flags::flags(interp)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_sorted_for_the_search() {
        assert!(FAMILIES.is_sorted_by_key(|(name, _)| *name));
        assert!(is_family("warnings.warn"));
        assert!(is_family("ValueError"));
        assert!(!is_family("torch.Tensor"));
    }
}
