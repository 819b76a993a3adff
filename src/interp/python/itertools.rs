//! `map`, `filter`, `reduce` and `itertools`: iterables made by calls and out of others.

use super::super::{Call, Interp};
use super::Table;
use super::iteration::{any, counter, items, iterate, join_all, length, make, params_of};
use crate::report::Place;
use crate::values::*;
use std::rc::Rc;

pub(super) const CALLS: Table = &[
    ("map", |interp, call| Some(map(interp, call))),
    ("itertools.starmap", |interp, call| Some(starmap(interp, call))),
    ("filter", |interp, call| filter(interp, call)),
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

/// Exact items up to this many are passed one by one.
const MOST_CALLS: usize = 16;

fn map(interp: &mut Interp, call: &Call) -> Value {
    let callee = call.positional.first().map(|passed| passed.value.clone()).unwrap_or_default();
    let all: Vec<Items> = (1..call.positional.len()).map(|position| items(interp, call, position)).collect();
    apply(interp, call.place, &callee, all)
}

fn apply(interp: &mut Interp, place: Place, callee: &Value, all: Vec<Items>) -> Value {
    let shortest = all.iter().map(|items| items.exact.as_ref().map(Vec::len)).min().flatten();
    let is_exact = all.iter().all(|items| items.exact.is_some());
    let len = all.first().map(length).unwrap_or_default();
    if let Some(count) = shortest.filter(|count| is_exact && *count <= MOST_CALLS) {
        let rows: Vec<Vec<Value>> = (0..count)
            .map(|at| all.iter().filter_map(|items| items.exact.as_ref()?.get(at).cloned()).collect())
            .collect();
        let results =
            rows.into_iter().map(|row| interp.call_value(callee, &Call::with(place, row))).collect();
        return make(interp, place, Items { len, ..Items::exact(results) });
    }
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
    if let Some(Value::Params(params)) = params_of(call, 1).as_ref().map(Value::bare) {
        let chosen = interp.chosen(params, |interp, one| {
            let said = interp.quietly(|interp| interp.call_value(&callee, &Call::with(call.place, [one])));
            interp.truth(&said)
        });
        return Some(Value::Params(Rc::new(chosen)));
    }
    Some(make(interp, call.place, Items::any(item)))
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
