//! The language's own functions and the standard library, as far as training scripts need them: what
//! `range`, `list.append`, `argparse` and `yaml.safe_load` give on values of the lattice.
//! Knows no framework; calls back into the interpreter for the script's own functions.

mod arguments;
mod builtins;
mod config;
mod containers;
mod conversions;
mod copying;
mod dicts;
mod flags;
mod hydra;
mod iteration;
mod itertools;
mod numbers;
mod options;
mod outside;
mod paths;
mod stdlib;
mod strings;
#[cfg(test)]
mod tests;
mod tools;
mod truth;

pub use arguments::{attribute_as_entry, entry_as_attribute};
pub(super) use containers::clear;
pub use containers::{contains, index, is_bounded, store};
pub use dicts::{key_of, lookup, made_by_default};
pub use flags::click_defaults;
pub use hydra::hydra_config;
pub(crate) use iteration::tuple_of_unknown_length;
pub use iteration::{is_list, iterate, set_of};
pub(super) use numbers::same_function;
pub use numbers::{augment, binary, compare, unary};
pub use outside::parse_any as parse_scalar;
pub use outside::set_from;
pub use stdlib::constant;
pub use strings::formatted;

use super::{Call, Interp, call_path::Hop};
use crate::report::Place;
use crate::values::{ClassRef, ObjId, State, Value};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::LazyLock;
use ustr::{Ustr, ustr};

/// What a function of the language does with a call; `None` leaves the call to the interpreter.
type Handler = fn(&mut Interp, &Call) -> Option<Value>;
type Table = &'static [(&'static str, Handler)];

static CALLS: LazyLock<FxHashMap<&'static str, Handler>> = LazyLock::new(|| {
    let tables = [
        builtins::CALLS,
        conversions::CALLS,
        iteration::CALLS,
        itertools::CALLS,
        numbers::CALLS,
        arguments::CALLS,
        flags::CALLS,
        config::CALLS,
        copying::CALLS,
        tools::CALLS,
        stdlib::CALLS,
        paths::CALLS,
    ];
    tables.into_iter().flatten().copied().collect()
});

/// A call of a builtin or standard-library function by qualified name; `None` when it is not modelled.
pub fn call(interp: &mut Interp, name: &str, call: &Call) -> Option<Value> {
    if let Some(handler) = CALLS.get(name) {
        return handler(interp, call);
    }
    if let Some((_, kind)) = name.split_once("flags.DEFINE_") {
        return flags::define(interp, kind, call);
    }
    if name.starts_with("random.") {
        return stdlib::random(interp, name, call);
    }
    stdlib::family(name, call)
}

/// Whether `call` has more to say of the function than a table could.
pub fn is_modelled(name: &str) -> bool {
    CALLS.contains_key(name)
}

/// Whether the name is the language's own: one that `call` answers, or that the interpreter does itself.
pub fn is_known(name: &str) -> bool {
    CALLS.contains_key(name)
        || builtins::BY_THE_INTERPRETER.contains(&name)
        || name.contains("flags.DEFINE_")
        || stdlib::is_family(name)
}

/// [`is_known`] of a name that is asked for again and again.
pub fn is_known_name(name: Ustr) -> bool {
    thread_local! {
        static KNOWN: RefCell<FxHashMap<Ustr, bool>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| *known.entry(name).or_insert_with(|| is_known(&name)))
}

/// A method of a value of the language, or of an object of the standard library.
pub fn method(interp: &mut Interp, receiver: &Value, name: &str, call: &Call) -> Option<Value> {
    match receiver.bare() {
        Value::Str(_) => strings::method(interp, receiver, name, call),
        Value::Tuple(items) => containers::tuple_method(items, name, call),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => numbers::method(receiver, name),
        Value::Builtin(module) => {
            let qualified = format!("{module}.{name}");
            if is_known(&qualified) { self::call(interp, &qualified, call) } else { None }
        }
        Value::Obj(id) => object_method(interp, *id, name, call),
        _ => None,
    }
}

fn object_method(interp: &mut Interp, id: ObjId, name: &str, call: &Call) -> Option<Value> {
    let object = interp.heap.get(id);
    match (&object.state, object.class) {
        (State::List(_), _) => containers::list_method(interp, id, name, call),
        (State::Dict(_), _) => dicts::method(interp, id, name, call),
        (State::Plain, ClassRef::Api(class)) => plain_method(interp, id, class, name, call),
        (State::Loader(_), _) if name == "__iter__" => {
            Some(interp.wrapped_iterable(&Value::Obj(id), call.place))
        }
        (State::Plain, ClassRef::Builtin) if matches!(name, "__next__" | "next") => {
            object.attr(Ustr::from("iterable"))?;
            interp.drawn_by(name, id, call.place);
            Some(interp.drawn(&Value::Obj(id), call.place))
        }
        _ => None,
    }
}

/// Methods of the standard library's objects.
fn plain_method(interp: &mut Interp, id: ObjId, class: Ustr, name: &str, call: &Call) -> Option<Value> {
    match class.as_str() {
        arguments::PARSER => arguments::method(interp, id, name, call),
        paths::FILE => paths::file_method(interp, id, name, call),
        tools::NAMED_TUPLE => tools::named_tuple_method(interp, id, name, call),
        other if stdlib::is_family(other) => Some(Value::Unknown),
        _ => None,
    }
}

/// An attribute of a value of the language, of a standard module or of one of its objects.
pub fn attribute(interp: &mut Interp, receiver: &Value, name: &str) -> Option<Value> {
    match receiver.bare() {
        Value::Str(_) => paths::attribute(receiver, name),
        Value::Builtin(module) => {
            let qualified = format!("{module}.{name}");
            constant(interp, &qualified)
                .or_else(|| is_known(&qualified).then(|| Value::Builtin(ustr(&qualified))))
        }
        Value::Int(_) if matches!(name, "real" | "numerator") => Some(receiver.clone()),
        Value::Obj(id) => match &interp.heap.get(*id).state {
            // Configurations and attribute dicts.
            State::Dict(entries) => entries.get(&crate::values::Key::Str(name.into())).cloned(),
            State::Plain if name == "__dict__" => {
                let site = interp.heap.get(*id).site;
                Some(aside(interp, 0, |interp| dicts::of_attrs(interp, *id, site)))
            }
            _ => interp.heap.attr(*id, ustr(name)).cloned(),
        },
        _ => None,
    }
}

/// An object that a call makes besides its result: the same one when the same way leads there again.
pub(super) fn alloc_part(
    interp: &mut Interp,
    place: Place,
    nth: u64,
    class: ClassRef,
    state: State,
) -> ObjId {
    aside(interp, nth, |interp| interp.alloc(place, class, state))
}

/// Does something as if on a way of its own, so that objects it makes are not taken for those of a place.
pub(super) fn aside<T>(interp: &mut Interp, nth: u64, work: impl FnOnce(&mut Interp) -> T) -> T {
    let path = interp.enter_path(Hop::Aside(nth));
    let result = work(interp);
    interp.sites.path = path;
    result
}

/// Whether what is written to an object now was there when the current pass of a loop began, so that the
/// write may happen any number of times.
fn is_older(interp: &Interp, id: ObjId) -> bool {
    interp.in_loop() && interp.heap.get(id).epoch < interp.loop_since()
}
