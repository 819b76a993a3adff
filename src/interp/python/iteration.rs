//! What iterating gives, and the builtin functions that make iterables of iterables.

use super::super::{Call, Interp, call_path::Hop};
use super::{Table, dicts, numbers};
use crate::report::Place;
use crate::syntax::BinaryOp;
use crate::values::*;
use std::rc::Rc;
use ustr::ustr;

pub(super) const CALLS: Table = &[
    ("range", |interp, call| Some(range(interp, call))),
    ("enumerate", |interp, call| Some(enumerate(interp, call))),
    ("zip", |interp, call| Some(zip(interp, call))),
    ("itertools.zip_longest", |interp, call| Some(zip(interp, call))),
    ("reversed", |interp, call| reversed(interp, call)),
    ("sorted", |interp, call| sorted(interp, call)),
    ("iter", |interp, call| collect(interp, call)),
    ("list", |interp, call| collect(interp, call)),
    ("tuple", |interp, call| tuple(interp, call)),
    ("set", |interp, call| set(interp, call)),
    ("frozenset", |interp, call| set(interp, call)),
    ("collections.deque", |interp, call| deque(interp, call)),
    ("next", |interp, call| next(interp, call)),
    ("sum", |interp, call| sum(interp, call)),
    ("any", |interp, call| Some(any_or_all(interp, call, true))),
    ("all", |interp, call| Some(any_or_all(interp, call, false))),
];

/// More items than this are not kept one by one.
pub(super) const MOST_EXACT: usize = 256;
const MOST_CHARS: usize = 64;

/// What iterating over a value gives.
pub fn iterate(interp: &mut Interp, value: &Value, _place: Place) -> Items {
    match value.bare() {
        Value::Tuple(items) => Items::exact(items.to_vec()),
        Value::Str(Some(text)) if text.len() <= MOST_CHARS => {
            Items::exact(text.chars().map(|char| Value::str(char.encode_utf8(&mut [0; 4]))).collect())
        }
        Value::Str(_) => Items::any(Value::Str(None)),
        Value::Tensor(tensor) => rows(tensor),
        Value::Params(params) => Items::any(one_of(params)),
        Value::Obj(id) => held_items(interp, *id).unwrap_or_else(|| Items::any(Value::Unknown)),
        _ => Items::any(Value::Unknown),
    }
}

/// The items of an object that has them in itself.
fn held_items(interp: &mut Interp, id: ObjId) -> Option<Items> {
    let object = interp.heap.get(id);
    Some(match &object.state {
        State::List(items) => items.clone(),
        State::Dict(_) => dicts::keys(interp, id),
        State::Loader(loader) => Items::any(loader.batch.clone()),
        State::Plain => match object.attr(ustr("_fields"))? {
            Value::Tuple(fields) => {
                let names = fields.iter().filter_map(Value::as_str);
                Items::exact(names.filter_map(|name| object.attr(ustr(name)).cloned()).collect())
            }
            _ => Items::any(Value::Unknown),
        },
        _ => return None,
    })
}

/// A tensor goes through its first dimension.
fn rows(tensor: &Tensor) -> Items {
    let shape = tensor.shape.as_ref();
    let len = shape.and_then(|shape| shape.first().cloned()).unwrap_or_default();
    let rest = shape.and_then(|shape| shape.get(1..)).map(Shape::from);
    let row = Tensor { is_leaf: false, numbers: None, recipe: None, ..tensor.clone() }.with_shape(rest);
    Items { exact: None, any: Value::tensor(row), len: Num::of(len) }
}

fn one_of(params: &Params) -> Value {
    Value::Params(Rc::new(Params { whole: false, stream: None, ..params.clone() }))
}

/// The items of an argument.
pub(super) fn items(interp: &mut Interp, call: &Call, position: usize) -> Items {
    let value = call.positional.get(position).map(|passed| passed.value.clone()).unwrap_or_default();
    // Modules, progress bars and objects of classes are iterated by the interpreter, which knows them.
    match &value {
        Value::Obj(object) => {
            held_items(interp, *object).unwrap_or_else(|| interp.iterate(&value, call.place))
        }
        Value::Params(_) => interp.iterate(&value, call.place),
        _ => iterate(interp, &value, call.place),
    }
}

/// What any item is; unknown for none.
pub(super) fn any(interp: &mut Interp, items: &Items) -> Value {
    interp.heap.any_of(items).unwrap_or_default()
}

pub(super) fn length(items: &Items) -> Num {
    items.exact.as_ref().map_or_else(
        || items.len.clone(),
        |exact| Num { int: Int::Known(exact.len() as i64), ..items.len.clone() },
    )
}

pub(super) fn make(interp: &mut Interp, place: Place, items: Items) -> Value {
    Value::Obj(interp.alloc(place, ClassRef::Builtin, State::List(items)))
}

pub(super) fn counter() -> Value {
    Value::Int(Num { tag: Tag::Counter, ..Num::default() })
}

fn range(interp: &mut Interp, call: &Call) -> Value {
    let num = |position: usize| match call.positional.get(position).map(|passed| passed.value.bare()) {
        Some(Value::Int(num)) => Some(num.clone()),
        _ => None,
    };
    let len = match call.positional.len() {
        1 => num(0).unwrap_or_default(),
        2 => num(0).zip(num(1)).map(|(start, stop)| between(&start, &stop, 1)).unwrap_or_default(),
        3 => match (num(0), num(1), num(2).and_then(|step| step.int.known())) {
            (Some(start), Some(stop), Some(step)) => between(&start, &stop, step),
            _ => Num::default(),
        },
        _ => Num::default(),
    };
    let any = match first_of(call) {
        Some(start) => {
            let nth = Some(interp.counted(len.int.clone(), start, call.place));
            Value::Int(Num { nth, tag: Tag::Counter, ..Num::default() })
        }
        None => counter(),
    };
    // The layers of a small model are told apart where it is built.
    if let (Some(start), Some(count @ 1..=FEW_LAYERS)) = (first_of(call), len.int.known())
        && interp.builds_module()
    {
        let numbers = (start..start + count).map(Value::int).collect();
        let len = Num { from: len.from, ..Num::default() };
        return make(interp, call.place, Items { len, ..Items::exact(numbers) });
    }
    make(interp, call.place, Items { exact: None, any, len })
}

/// So many layers that a loop of a constructor makes are told apart.
const FEW_LAYERS: i64 = 4;

/// Where a range that goes up one by one begins, when that is known.
fn first_of(call: &Call) -> Option<i64> {
    let known = |position: usize| call.positional.get(position)?.value.as_known_int();
    match call.positional.len() {
        1 => Some(0),
        2 => known(0),
        3 => known(0).filter(|_| known(2) == Some(1)),
        _ => None,
    }
}

fn between(start: &Num, stop: &Num, step: i64) -> Num {
    let from = stop.from.clone().or_else(|| start.from.clone());
    let distance = stop.int.sub(&start.int);
    let int = match (distance.known(), step) {
        (_, 0) => Int::Unknown,
        (Some(known), _) => {
            let size = i128::from(step).abs();
            let reach = i128::from(known) * i128::from(step.signum());
            i64::try_from(((reach + size - 1) / size).max(0)).map_or(Int::Unknown, Int::Known)
        }
        (None, 1) => distance,
        (None, _) => Int::Unknown,
    };
    Num { int, from, ..Num::default() }
}

fn enumerate(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    let start = call.arg(1, "start").map_or(Some(0), Value::as_known_int);
    let items = match items.exact {
        Some(exact) => {
            let index = |at: usize| {
                start.and_then(|start| start.checked_add(at as i64)).map_or_else(counter, Value::int)
            };
            let pairs = exact.into_iter().enumerate();
            Items::exact(pairs.map(|(at, item)| Value::tuple(vec![index(at), item])).collect())
        }
        None => {
            // The first iteration is another than those after it, and so is the last.
            let loader = call.arg(0, "iterable").and_then(|iterable| interp.loader_of(iterable));
            let len = match loader {
                Some(loader) if items.len.int.is_unknown() => Num::of(interp.length_of_loader(loader)),
                _ => items.len,
            };
            let end = if loader.is_some() { len.int.clone() } else { Int::Unknown };
            let nth = start.map(|start| interp.counted(end, start, call.place));
            let index = Value::Int(Num { nth, tag: Tag::Counter, ..Num::default() });
            Items { exact: None, any: Value::tuple(vec![index, items.any]), len }
        }
    };
    make_over(interp, call, items)
}

/// A list of what goes through the arguments; the loader among them drives it, if one does.
fn make_over(interp: &mut Interp, call: &Call, items: Items) -> Value {
    let loader = call.positional.iter().find_map(|passed| interp.loader_of(&passed.value));
    let made = make(interp, call.place, items);
    if let (Some(object), Some(loader)) = (made.as_obj(), loader) {
        interp.heap.get_mut(object).set_attr(ustr("iterable"), Value::Obj(loader));
    }
    made
}

fn zip(interp: &mut Interp, call: &Call) -> Value {
    let all: Vec<Items> = (0..call.positional.len()).map(|position| items(interp, call, position)).collect();
    let exact: Option<Vec<&Vec<Value>>> = all.iter().map(|items| items.exact.as_ref()).collect();
    let zipped = match exact {
        Some(lists) if !lists.is_empty() && !call.open => {
            let shortest = lists.iter().map(|list| list.len()).min().unwrap_or(0);
            let row = |at: usize| Value::tuple(lists.iter().map(|list| list[at].clone()).collect());
            Items::exact((0..shortest).map(row).collect())
        }
        _ if call.open => transposed(interp, call).unwrap_or_else(|| Items::any(Value::Unknown)),
        _ => {
            let len = shortest(all.iter().map(length).collect());
            let row = all.iter().map(|items| any(interp, items)).collect();
            Items { exact: None, any: Value::tuple(row), len }
        }
    };
    make_over(interp, call, zipped)
}

/// `zip(*batch)` of as many tuples as nobody knows: a list for each place in them.
fn transposed(interp: &mut Interp, call: &Call) -> Option<Items> {
    let each = call.each.clone().filter(|_| call.positional.is_empty())?;
    let parts = iterate(interp, &each.any, call.place).exact?;
    let path = interp.sites.path;
    let mut columns = Vec::with_capacity(parts.len());
    for (index, any) in parts.into_iter().enumerate() {
        interp.enter_path(Hop::Nth(call.place, index as u32));
        columns.push(make(interp, call.place, Items { exact: None, any, len: each.len.clone() }));
        interp.sites.path = path;
    }
    Some(Items::exact(columns))
}

fn shortest(lengths: Vec<Num>) -> Num {
    let known: Option<Vec<i64>> = lengths.iter().map(|len| len.int.known()).collect();
    if let Some(least) = known.and_then(|known| known.into_iter().min()) {
        return lengths.into_iter().find(|len| len.int.known() == Some(least)).unwrap_or_default();
    }
    let mut lengths = lengths.into_iter();
    let Some(first) = lengths.next() else { return Num::default() };
    if lengths.all(|len| len.int == first.int) { first } else { Num::default() }
}

pub(super) fn params_of(call: &Call, position: usize) -> Option<Value> {
    let value = &call.positional.get(position)?.value;
    matches!(value.bare(), Value::Params(_)).then(|| value.clone())
}

fn reversed(interp: &mut Interp, call: &Call) -> Option<Value> {
    if let Some(params) = params_of(call, 0) {
        return Some(params);
    }
    let mut items = items(interp, call, 0);
    if let Some(exact) = &mut items.exact {
        exact.reverse();
    }
    Some(make(interp, call.place, items))
}

fn sorted(interp: &mut Interp, call: &Call) -> Option<Value> {
    if let Some(params) = params_of(call, 0) {
        return Some(params);
    }
    let items = items(interp, call, 0);
    let items = sort(interp, items, call);
    Some(make(interp, call.place, items))
}

/// In the order of their keys, where the items themselves are the keys and known.
pub(super) fn sort(interp: &mut Interp, items: Items, call: &Call) -> Items {
    let len = length(&items);
    if let Some(key) = call.keyword("key").map(|passed| passed.value.clone()) {
        let item = any(interp, &items);
        interp.call_value(&key, &Call::with(call.place, [item]));
    } else if call.keyword("reverse").is_none()
        && let Some(exact) = &items.exact
    {
        if let Some(mut texts) =
            exact.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        {
            texts.sort_unstable();
            return Items::exact(texts.iter().map(|text| Value::str(text)).collect());
        }
        let ints = exact.iter().map(|item| item.as_known_int().map(|known| (known, item.clone())));
        if let Some(mut ints) = ints.collect::<Option<Vec<_>>>() {
            ints.sort_by_key(|(known, _)| *known);
            return Items::exact(ints.into_iter().map(|(_, item)| item).collect());
        }
    }
    if matches!(&items.exact, Some(exact) if exact.len() <= 1) {
        return items;
    }
    Items { exact: None, any: any(interp, &items), len }
}

/// `list(x)` and `iter(x)`: loaders and what only the interpreter can go through are left to it.
fn collect(interp: &mut Interp, call: &Call) -> Option<Value> {
    let Some(first) = call.positional.first() else { return Some(interp.list(call.place, Vec::new())) };
    let value = &first.value;
    if matches!(value.bare(), Value::Params(_) | Value::Grad(_)) {
        return Some(value.clone());
    }
    let items = plain_items(interp, value, call.place)?;
    Some(make(interp, call.place, items))
}

/// Items of values of the language.
fn plain_items(interp: &mut Interp, value: &Value, place: Place) -> Option<Items> {
    match value.bare() {
        Value::Tuple(_) | Value::Str(_) | Value::Tensor(_) | Value::Unknown => {}
        Value::Obj(id) => match interp.heap.get(*id).state {
            State::List(_) | State::Dict(_) => {}
            State::Plain if interp.heap.attr(*id, ustr("_fields")).is_some() => {}
            _ => {
                let items = interp.items_of_iterator(*id)?;
                return Some(iterate(interp, &Value::Obj(items), place));
            }
        },
        _ => return None,
    }
    Some(iterate(interp, value, place))
}

fn tuple(interp: &mut Interp, call: &Call) -> Option<Value> {
    let Some(first) = call.positional.first() else { return Some(Value::tuple(Vec::new())) };
    let value = &first.value;
    if matches!(value.bare(), Value::Params(_)) {
        return Some(value.clone());
    }
    let items = plain_items(interp, value, call.place)?;
    Some(match items.exact {
        Some(exact) => Value::tuple(exact),
        None => tuple_of_unknown_length(interp, call.place, items),
    })
}

/// A tuple of unknown length, which is kept as a list is.
pub(crate) fn tuple_of_unknown_length(interp: &mut Interp, place: Place, items: Items) -> Value {
    let tuple = make(interp, place, items);
    tuple.as_obj().into_iter().for_each(|tuple| interp.heap.note(tuple, TUPLE, Value::None));
    tuple
}

/// Of a list that is a tuple.
const TUPLE: Note = Note::new("a tuple");

/// Whether a list is an instance of a class of the language.
pub fn is_list(interp: &Interp, list: ObjId, class: &str) -> bool {
    match interp.heap.noted(list, TUPLE) {
        Some(_) => class == "tuple",
        None => matches!(class, "list" | "set"),
    }
}

fn set(interp: &mut Interp, call: &Call) -> Option<Value> {
    let Some(first) = call.positional.first() else { return Some(interp.list(call.place, Vec::new())) };
    if matches!(first.value.bare(), Value::Params(_)) {
        return Some(first.value.clone());
    }
    let items = plain_items(interp, &first.value, call.place)?;
    Some(set_of(interp, call.place, &items))
}

/// A set of these, which keeps each once.
pub fn set_of(interp: &mut Interp, place: Place, items: &Items) -> Value {
    let kept = distinct(interp, items);
    make(interp, place, kept)
}

/// What a set keeps of these: where it is not known which of them are equal, nor is how many there are.
fn distinct(interp: &mut Interp, items: &Items) -> Items {
    let Some(exact) = &items.exact else { return Items::any(items.any.clone()) };
    let mut kept: Vec<Value> = Vec::with_capacity(exact.len());
    let mut sure = true;
    for item in exact {
        match numbers::any_equal(item, &kept) {
            Some(true) => {}
            known => {
                sure &= kept.is_empty() || known.is_some() || item.as_obj().is_some();
                kept.push(item.clone());
            }
        }
    }
    if sure { Items::exact(kept) } else { Items::any(any(interp, items)) }
}

fn deque(interp: &mut Interp, call: &Call) -> Option<Value> {
    let bound = call.arg(1, "maxlen").cloned().unwrap_or(Value::None);
    let items = match call.arg(0, "iterable") {
        Some(value) => plain_items(interp, value, call.place).unwrap_or_else(|| Items::any(Value::Unknown)),
        None => Items::exact(Vec::new()),
    };
    let id = interp.alloc(call.place, ClassRef::Builtin, State::List(items));
    interp.heap.get_mut(id).set_attr(ustr("maxlen"), bound);
    Some(Value::Obj(id))
}

fn next(interp: &mut Interp, call: &Call) -> Option<Value> {
    let value = call.positional.first()?.value.clone();
    if let Value::Params(params) = value.bare() {
        return Some(one_of(params));
    }
    let id = value.as_obj().filter(|id| matches!(interp.heap.get(*id).state, State::List(_)))?;
    interp.note_drawn(&value);
    let items = iterate(interp, &value, call.place);
    let item = match &items.exact {
        Some(exact) if !super::is_older(interp, id) && !exact.is_empty() => {
            if let State::List(Items { exact: Some(exact), .. }) = &mut interp.heap.get_mut(id).state {
                return Some(exact.remove(0));
            }
            Value::Unknown
        }
        _ => any(interp, &items),
    };
    Some(match call.positional.get(1) {
        Some(default) => interp.heap.join(&item, &default.value),
        None => item,
    })
}

/// Sums of numbers; tensors are the tables'.
fn sum(interp: &mut Interp, call: &Call) -> Option<Value> {
    let value = call.arg(0, "iterable")?.clone();
    let items = plain_items(interp, &value, call.place)?;
    let start = call.arg(1, "start").cloned().unwrap_or_else(|| Value::int(0));
    match &items.exact {
        Some(exact) => exact
            .iter()
            .try_fold(start, |all, item| numbers::binary(interp, BinaryOp::Add, &all, item, call.place)),
        None => match items.any.bare() {
            Value::Int(_) | Value::Bool(_) => Some(Value::Int(Num::default())),
            Value::Float(_) => Some(Value::Float(None)),
            _ => None,
        },
    }
}

fn any_or_all(interp: &mut Interp, call: &Call, any: bool) -> Value {
    let Some(exact) = items(interp, call, 0).exact else { return Value::Bool(None) };
    let truths: Vec<Option<bool>> = exact.iter().map(|item| interp.truth(item)).collect();
    if truths.contains(&Some(any)) {
        return Value::Bool(Some(any));
    }
    Value::Bool(if truths.iter().all(Option::is_some) { Some(!any) } else { None })
}

/// One after the other.
pub(super) fn join_all(interp: &mut Interp, place: Place, parts: Vec<Value>, complete: bool) -> Value {
    let params: Option<Vec<Rc<Params>>> = parts
        .iter()
        .map(|part| match part.bare() {
            Value::Params(params) => Some(params.clone()),
            _ => None,
        })
        .collect();
    if let Some([first, rest @ ..]) = params.as_deref() {
        let mut all = rest.iter().fold((**first).clone(), |all, params| all.union(params));
        all.others |= !complete;
        return Value::Params(Rc::new(all));
    }
    let parts: Vec<Items> = parts.iter().map(|part| iterate(interp, part, place)).collect();
    let items = parts
        .into_iter()
        .reduce(|all, part| concat(interp, &all, &part))
        .unwrap_or_else(|| Items::exact(Vec::new()));
    let items = if complete { items } else { Items::any(Value::Unknown) };
    make(interp, place, items)
}

/// The items of one list and then those of another.
pub(super) fn concat(interp: &mut Interp, a: &Items, b: &Items) -> Items {
    if let (Some(x), Some(y)) = (&a.exact, &b.exact)
        && x.len() + y.len() <= MOST_EXACT
    {
        return Items::exact(x.iter().chain(y).cloned().collect());
    }
    let len = length(a).int.add(&length(b).int);
    let any = match (interp.heap.any_of(a), interp.heap.any_of(b)) {
        (Some(a), Some(b)) => interp.heap.join(&a, &b),
        (one, other) => one.or(other).unwrap_or_default(),
    };
    Items { exact: None, any, len: Num::of(len) }
}
