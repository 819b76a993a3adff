//! What iterating gives, and the functions that make iterables of iterables.

use super::super::{Call, Interp};
use super::numbers::union;
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
    ("map", |interp, call| Some(map(interp, call))),
    ("itertools.starmap", |interp, call| Some(starmap(interp, call))),
    ("filter", |interp, call| filter(interp, call)),
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
    ("functools.reduce", |interp, call| Some(reduce(interp, call))),
    ("itertools.chain", |interp, call| Some(chain(interp, call))),
    ("itertools.chain.from_iterable", |interp, call| Some(flatten(interp, call))),
    ("itertools.cycle", |interp, call| Some(endless(interp, call))),
    ("itertools.repeat", |interp, call| Some(repeat(interp, call))),
    ("itertools.islice", |interp, call| Some(slice(interp, call))),
    ("itertools.count", |interp, call| Some(count(interp, call))),
    ("itertools.product", |interp, call| Some(product(interp, call))),
    ("itertools.permutations", |interp, call| Some(product(interp, call))),
    ("itertools.combinations", |interp, call| Some(product(interp, call))),
    ("itertools.accumulate", |interp, call| Some(some_of_each(interp, call))),
    ("itertools.takewhile", |interp, call| Some(some_of_second(interp, call))),
    ("itertools.dropwhile", |interp, call| Some(some_of_second(interp, call))),
];

/// More items than this are not kept one by one.
pub(super) const MOST_EXACT: usize = 256;
const MOST_CHARS: usize = 64;
const MOST_CALLS: usize = 16;

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
        Value::Obj(id) => object_items(interp, *id),
        _ => Items::any(Value::Unknown),
    }
}

fn object_items(interp: &mut Interp, id: ObjId) -> Items {
    let object = interp.heap.get(id);
    match &object.state {
        State::List(items) => items.clone(),
        State::Dict(_) => dicts::keys(interp, id),
        State::Loader(loader) => Items::any(loader.batch.clone()),
        State::Plain => match object.attr(ustr("_fields")) {
            Some(Value::Tuple(fields)) => {
                let names = fields.iter().filter_map(Value::as_str);
                Items::exact(names.filter_map(|name| object.attr(ustr(name)).cloned()).collect())
            }
            _ => Items::any(Value::Unknown),
        },
        _ => Items::any(Value::Unknown),
    }
}

/// A tensor goes through its first dimension.
fn rows(tensor: &Tensor) -> Items {
    let shape = tensor.shape.as_ref();
    let len = shape.and_then(|shape| shape.first().cloned()).unwrap_or_default();
    let rest = shape.and_then(|shape| shape.get(1..)).map(Shape::from);
    let row = Tensor { is_leaf: false, ..tensor.clone() }.with_shape(rest);
    Items { exact: None, any: Value::tensor(row), len: Num::of(len) }
}

fn one_of(params: &Params) -> Value {
    Value::Params(Rc::new(Params { whole: false, ..params.clone() }))
}

/// The items of an argument.
fn items(interp: &mut Interp, call: &Call, position: usize) -> Items {
    let value = call.positional.get(position).map(|passed| passed.value.clone()).unwrap_or_default();
    iterate(interp, &value, call.place)
}

/// What any item is; unknown for none.
pub(super) fn any(interp: &mut Interp, items: &Items) -> Value {
    interp.heap.any_of(items).unwrap_or_default()
}

pub(super) fn length(items: &Items) -> Num {
    items.exact.as_ref().map_or_else(|| items.len.clone(), |exact| Num::known(exact.len() as i64))
}

pub(super) fn make(interp: &mut Interp, place: Place, items: Items) -> Value {
    Value::Obj(interp.alloc(place, ClassRef::Builtin, State::List(items)))
}

fn counter() -> Value {
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
    make(interp, call.place, Items { exact: None, any: counter(), len })
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
    Num { int, from, tag: Tag::None }
}

fn enumerate(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    let start = call.arg(1, "start").map_or(Some(0), Value::as_known_int);
    let items = match items.exact {
        Some(exact) => {
            let index = |at: usize| start.map_or_else(counter, |start| Value::int(start + at as i64));
            let pairs = exact.into_iter().enumerate();
            Items::exact(pairs.map(|(at, item)| Value::tuple(vec![index(at), item])).collect())
        }
        None => Items { exact: None, any: Value::tuple(vec![counter(), items.any]), len: items.len },
    };
    make(interp, call.place, items)
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
        _ if call.open => Items::any(Value::Unknown),
        _ => {
            let len = shortest(all.iter().map(length).collect());
            let row = all.iter().map(|items| any(interp, items)).collect();
            Items { exact: None, any: Value::tuple(row), len }
        }
    };
    make(interp, call.place, zipped)
}

fn shortest(lengths: Vec<Num>) -> Num {
    let known: Option<Vec<i64>> = lengths.iter().map(|len| len.int.known()).collect();
    if let Some(least) = known.and_then(|known| known.into_iter().min()) {
        return lengths.into_iter().find(|len| len.int == Int::Known(least)).unwrap_or_default();
    }
    let mut lengths = lengths.into_iter();
    let Some(first) = lengths.next() else { return Num::default() };
    if lengths.all(|len| len.int == first.int) { first } else { Num::default() }
}

fn params_of(call: &Call, position: usize) -> Option<Value> {
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

fn map(interp: &mut Interp, call: &Call) -> Value {
    let callee = call.positional.first().map(|passed| passed.value.clone()).unwrap_or_default();
    let all: Vec<Items> = (1..call.positional.len()).map(|position| items(interp, call, position)).collect();
    apply(interp, call.place, &callee, all)
}

fn apply(interp: &mut Interp, place: Place, callee: &Value, all: Vec<Items>) -> Value {
    let shortest = all.iter().map(|items| items.exact.as_ref().map(Vec::len)).min().flatten();
    let is_exact = all.iter().all(|items| items.exact.is_some());
    if let Some(count) = shortest.filter(|count| is_exact && *count <= MOST_CALLS) {
        let rows: Vec<Vec<Value>> = (0..count)
            .map(|at| all.iter().filter_map(|items| items.exact.as_ref()?.get(at).cloned()).collect())
            .collect();
        let results =
            rows.into_iter().map(|row| interp.call_value(callee, &Call::with(place, row))).collect();
        return make(interp, place, Items::exact(results));
    }
    let len = all.first().map(length).unwrap_or_default();
    let row: Vec<Value> = all.iter().map(|items| any(interp, items)).collect();
    let result = interp.call_value(callee, &Call::with(place, row));
    make(interp, place, Items { exact: None, any: result, len })
}

fn starmap(interp: &mut Interp, call: &Call) -> Value {
    let callee = call.positional.first().map(|passed| passed.value.clone()).unwrap_or_default();
    let items = items(interp, call, 1);
    let row = match any(interp, &items) {
        Value::Tuple(row) => row.to_vec(),
        _ => Vec::new(),
    };
    let mut inner = Call::with(call.place, row);
    inner.open = inner.positional.is_empty();
    let result = interp.call_value(&callee, &inner);
    make(interp, call.place, Items { exact: None, any: result, len: length(&items) })
}

fn filter(interp: &mut Interp, call: &Call) -> Option<Value> {
    let callee = call.positional.first().map(|passed| passed.value.clone()).unwrap_or_default();
    let items = items(interp, call, 1);
    let item = any(interp, &items);
    if !matches!(callee, Value::None) {
        interp.call_value(&callee, &Call::with(call.place, [item.clone()]));
    }
    // `filter(lambda p: p.requires_grad, …)`: those left out have no gradients, so it is still all that counts.
    if let Some(params) = params_of(call, 1) {
        return Some(params);
    }
    Some(make(interp, call.place, Items::any(item)))
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
            _ => return None,
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
        None => make(interp, call.place, items),
    })
}

fn set(interp: &mut Interp, call: &Call) -> Option<Value> {
    let Some(first) = call.positional.first() else { return Some(interp.list(call.place, Vec::new())) };
    if matches!(first.value.bare(), Value::Params(_)) {
        return Some(first.value.clone());
    }
    let items = plain_items(interp, &first.value, call.place)?;
    let Some(exact) = &items.exact else { return Some(make(interp, call.place, Items::any(items.any))) };
    let mut distinct: Vec<Value> = Vec::with_capacity(exact.len());
    let mut sure = true;
    for item in exact {
        match numbers::any_equal(item, &distinct) {
            Some(true) => {}
            known => {
                sure &= known.is_some() || item.as_obj().is_some();
                distinct.push(item.clone());
            }
        }
    }
    let items = if sure { Items::exact(distinct) } else { Items::any(any(interp, &items)) };
    Some(make(interp, call.place, items))
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

fn reduce(interp: &mut Interp, call: &Call) -> Value {
    let callee = call.positional.first().map(|passed| passed.value.clone()).unwrap_or_default();
    let items = items(interp, call, 1);
    let start = call.arg(2, "initial").cloned();
    match items.exact {
        Some(exact) if exact.len() <= MOST_CALLS => {
            let mut rest = start.into_iter().chain(exact);
            let Some(first) = rest.next() else { return Value::Unknown };
            rest.fold(first, |all, item| interp.call_value(&callee, &Call::with(call.place, [all, item])))
        }
        _ => {
            let item = any(interp, &items);
            let first = start.unwrap_or_else(|| item.clone());
            let result = interp.call_value(&callee, &Call::with(call.place, [first.clone(), item]));
            interp.heap.join(&first, &result)
        }
    }
}

fn chain(interp: &mut Interp, call: &Call) -> Value {
    join_all(
        interp,
        call.place,
        call.positional.iter().map(|passed| passed.value.clone()).collect(),
        !call.open,
    )
}

fn flatten(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    match items.exact {
        Some(exact) => join_all(interp, call.place, exact, true),
        None => match items.any {
            params @ Value::Params(_) => params,
            other => {
                let inner = iterate(interp, &other, call.place);
                let any = any(interp, &inner);
                make(interp, call.place, Items::any(any))
            }
        },
    }
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
        let mut all = rest.iter().fold((**first).clone(), |all, params| union(&all, params));
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

fn endless(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    let any = any(interp, &items);
    make(interp, call.place, Items::any(any))
}

fn repeat(interp: &mut Interp, call: &Call) -> Value {
    let item = call.arg(0, "object").cloned().unwrap_or_default();
    let len = match call.arg(1, "times").map(Value::bare) {
        Some(Value::Int(num)) => num.clone(),
        _ => Num::default(),
    };
    make(interp, call.place, Items { exact: None, any: item, len })
}

fn slice(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    let bounds: Option<Vec<usize>> = call.positional[1.min(call.positional.len())..]
        .iter()
        .map(|passed| passed.value.as_known_int().and_then(|bound| usize::try_from(bound).ok()))
        .collect();
    let items = match (&items.exact, bounds.as_deref()) {
        (Some(exact), Some([stop])) => Items::exact(exact.iter().take(*stop).cloned().collect()),
        (Some(exact), Some([start, stop])) => {
            Items::exact(exact.iter().take(*stop).skip(*start).cloned().collect())
        }
        (None, Some([stop])) => Items { len: Num::known(*stop as i64), ..items },
        _ => Items::any(any(interp, &items)),
    };
    make(interp, call.place, items)
}

fn count(interp: &mut Interp, call: &Call) -> Value {
    make(interp, call.place, Items::any(counter()))
}

fn product(interp: &mut Interp, call: &Call) -> Value {
    let plain = call.keywords.is_empty() && !call.open;
    let row: Vec<Value> = (0..call.positional.len())
        .map(|position| {
            let items = items(interp, call, position);
            any(interp, &items)
        })
        .collect();
    let any = if plain && row.len() > 1 && call.arg(1, "").is_some_and(|value| value.as_int().is_none()) {
        Value::tuple(row)
    } else {
        Value::Unknown
    };
    make(interp, call.place, Items::any(any))
}

fn some_of_each(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 0);
    make(interp, call.place, Items { exact: None, any: Value::Unknown, len: length(&items) })
}

fn some_of_second(interp: &mut Interp, call: &Call) -> Value {
    let items = items(interp, call, 1);
    let any = any(interp, &items);
    make(interp, call.place, Items::any(any))
}
