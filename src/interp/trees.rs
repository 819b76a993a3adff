//! Trees of parameters: tensors in tuples, lists and dictionaries, any depth of them. A gradient is a tree like what it
//! is taken of, and a function is mapped over trees of one form.

use super::{Call, Interp, Invocation, call_path::Hop};
use crate::apis::Slot;
use crate::report::{Confidence, Place};
use crate::values::*;
use std::rc::Rc;

/// Deeper structures than this are not followed.
const DEEPEST: usize = 6;

/// What becomes of the leaves that stand at one place of all trees.
type OfLeaves<'a, 'p> = &'a mut dyn FnMut(&mut Interp<'p>, &[Value]) -> Value;

/// What a derivative gives for an argument: numbers in the same shapes.
pub(super) fn gradient_like<'p>(interp: &mut Interp<'p>, argument: &Value, place: Place) -> Value {
    // Beside the tree that is differentiated, which was made at the same place.
    let hop = Hop::Nth(place, u32::MAX);
    let mut leaf = |_: &mut Interp<'p>, leaves: &[Value]| Value::tensor(gradient(&leaves[0], place));
    interp
        .one_hop_on(hop, |interp| map_tree(interp, std::slice::from_ref(argument), DEEPEST, place, &mut leaf))
}

/// `mapped-tree f tree rest`: a tree of what f gives of the leaves.
pub(super) fn mapped_tree<'p>(interp: &mut Interp<'p>, call: &Invocation) -> Value {
    let function = call.operand(Slot::F);
    let trees: Vec<Value> = std::iter::once(call.nth(1)).chain(call.rest.iter().cloned()).collect();
    // Who says what a leaf is may mean a part of the tree.
    if call.open || !matches!(call.get("is_leaf").bare(), Value::None) {
        return Value::Unknown;
    }
    let mut leaf = |interp: &mut Interp<'p>, leaves: &[Value]| match leaves[0].bare() {
        Value::Tensor(tensor) if !tensor.is_tree() => {
            interp.call_value(&function, &Call::with(call.place, leaves.iter().cloned()))
        }
        _ => Value::Unknown,
    };
    map_tree(interp, &trees, DEEPEST, call.place, &mut leaf)
}

/// A tree of the form of the first one. The items of a container are objects of their own, made at one place.
fn map_tree<'p>(
    interp: &mut Interp<'p>,
    trees: &[Value],
    depth: usize,
    place: Place,
    leaf: OfLeaves<'_, 'p>,
) -> Value {
    let state = trees[0].as_obj().map(|object| interp.heap.get(object).state.clone());
    match (trees[0].bare(), state) {
        _ if depth == 0 => Value::Unknown,
        (Value::Tuple(items), _) => {
            Value::tuple(map_items(interp, items, indices(items.len()), trees, depth, place, leaf))
        }
        (_, Some(State::List(Items { exact: Some(items), .. }))) => {
            let mapped = map_items(interp, &items, indices(items.len()), trees, depth, place, leaf);
            interp.list(place, mapped)
        }
        (_, Some(State::Dict(Entries { known, other: None, .. }))) => {
            let (keys, items): (Vec<Key>, Vec<Value>) = known.into_iter().unzip();
            let mapped = map_items(interp, &items, keys.clone(), trees, depth, place, leaf);
            interp.dict(place, Entries::new(keys.into_iter().zip(mapped).collect(), None))
        }
        _ => leaf(interp, trees),
    }
}

fn map_items<'p>(
    interp: &mut Interp<'p>,
    items: &[Value],
    keys: Vec<Key>,
    trees: &[Value],
    depth: usize,
    place: Place,
    leaf: OfLeaves<'_, 'p>,
) -> Vec<Value> {
    let mut mapped = Vec::with_capacity(items.len());
    for (index, (item, key)) in items.iter().zip(keys).enumerate() {
        let path = interp.enter_path(Hop::Nth(place, index as u32));
        let others = trees[1..].iter().map(|tree| part_of_tree(interp, tree, &key));
        let parts: Vec<Value> = std::iter::once(item.clone()).chain(others).collect();
        mapped.push(map_tree(interp, &parts, depth - 1, place, leaf));
        interp.sites.path = path;
    }
    mapped
}

fn part_of_tree(interp: &Interp<'_>, tree: &Value, key: &Key) -> Value {
    let nth = |items: &[Value]| match key {
        Key::Int(at) => usize::try_from(*at).ok().and_then(|at| items.get(at)).cloned(),
        Key::Str(_) => None,
    };
    let part = match tree.bare() {
        // Any part is like the whole.
        Value::Tensor(tensor) if tensor.is_tree() => Some(tree.clone()),
        Value::Tuple(items) => nth(items),
        Value::Obj(object) => match &interp.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => nth(items),
            State::Dict(entries) => entries.get(key).cloned(),
            _ => None,
        },
        _ => None,
    };
    part.unwrap_or_default()
}

fn indices(count: usize) -> Vec<Key> {
    (0..count as i64).map(Key::Int).collect()
}

/// The gradient of a number or tensor; of anything else a tree of which nobody knows the form.
fn gradient(of: &Value, place: Place) -> Tensor {
    let made = Tensor { graph: Graph::None, made: Some(place), ..Tensor::default() };
    match of.bare() {
        Value::Tensor(tensor) if !tensor.is_tree() => Tensor {
            shape: tensor.shape.clone(),
            last: tensor.last.clone(),
            confidence: tensor.confidence,
            ..made
        },
        Value::Float(_) => Tensor { shape: Some(Rc::from([])), ..made },
        _ => Tensor { relation: Some(Rc::new(Relation::Tree)), confidence: Confidence::High, ..made },
    }
}
