//! Containers of modules that grow: one layer after the other, before another, and in loops. What a loop adds to a
//! stack in one of its rounds is a part of the stack that stands for any number of them.

use super::{Interp, StackMade};
use crate::apis::{Api, Role, Transfer};
use crate::report::Place;
use crate::values::*;
use ustr::Ustr;

/// A child that stands for what a loop adds in any number of rounds.
const PART_OF_ROUNDS: Note = Note::new("part of rounds");

/// The layers of a list in the order in which they were put there, as a stack.
const STACK_OF_LIST: Note = Note::new("stack of the list");

/// A layer that is added is looked for so often among those that are there.
const LOOKS_AT_A_LAYER: usize = 2;

/// A container has fewer attributes than this that are no children.
const FEW_OTHERS: usize = 16;

/// What a container holds beside its numbered children stands at places that nobody knows.
pub(super) const OUT_OF_ORDER: Note = Note::new("out of order");

/// `model.add(layer)`, `layers.insert(index, layer)`
pub(super) fn add_layer(interp: &mut Interp<'_>, model: &Value, layer: &Value, before: Option<&Value>) {
    let Some(object) = model.as_obj() else { return };
    let held = interp.heap.get(object).attrs.len();
    // It is looked for among all that are there, and put behind them.
    interp.burn_over(held * LOOKS_AT_A_LAYER);
    let looped = interp.outlived(interp.heap.get(object).epoch).is_some();
    if let Some(before) = before {
        let at = before.as_known_int().and_then(|at| usize::try_from(at).ok());
        let count = count_of_children(interp, object);
        return insert_layer(interp, object, layer.clone(), at.map(|at| (at, count)), looped);
    }
    if !looped {
        return push_layer(interp, object, layer.clone());
    }
    if is_stack(interp, object) {
        stack_in_rounds(interp, object, layer.clone());
    }
    let name = Ustr::from("*");
    let layer = match interp.heap.attr(object, name).cloned() {
        // Each pass adds one, and not all are of a kind.
        Some(before) => interp.heap.join(&before, layer),
        None => layer.clone(),
    };
    interp.heap.get_mut(object).set_attr(name, layer);
}

fn push_layer(interp: &mut Interp<'_>, object: ObjId, layer: Value) {
    let name = Ustr::from(&count_of_children(interp, object).to_string());
    interp.heap.get_mut(object).set_attr(name, layer);
}

fn count_of_children(interp: &Interp<'_>, object: ObjId) -> usize {
    let in_order = || children_in_order(interp, object).map(|children| children.len());
    // Behind what a loop has added, the next number is that of nobody else.
    let next = numbered_children(interp, object).or_else(in_order);
    next.unwrap_or_else(|| numbered(interp, object).len())
}

/// Of a stack that was given a part of a class that is not seen, `stack.add_module(name, Block())`: nobody knows what it
/// computes.
pub(super) const UNSEEN_PART: Note = Note::new("a part that is not seen");

/// Whether calling a container calls its children, one after the other.
pub(super) fn is_stack(interp: &Interp<'_>, object: ObjId) -> bool {
    interp.layer_api(object).and_then(Api::transfer) == Some(Transfer::Sequential)
}

/// A stack was put together.
pub(super) fn put_together(interp: &mut Interp<'_>, stack: ObjId, place: Place) {
    run_as_stacks(interp, stack);
    let open = interp.repeats(stack);
    if !open && is_stack(interp, stack) && !interp.is_out_of_fuel() {
        interp.on_stack(&StackMade { stack, place });
    }
}

/// The children of a container as a call goes through them, where a loop has added some, too.
pub(super) fn children_in_order(interp: &Interp<'_>, object: ObjId) -> Option<Vec<Value>> {
    let here = interp.heap.get(object);
    if here.attr(Ustr::from("*")).is_none() {
        return interp.indexed_children(object);
    }
    let is_named = |(name, value): &(Ustr, Value)| {
        is_layer(interp, value) && name != "*" && name.parse::<usize>().is_err()
    };
    let in_order = interp.heap.noted(object, OUT_OF_ORDER).is_none() && !here.attrs.iter().any(is_named);
    (in_order && is_stack(interp, object)).then(|| numbered(interp, object))
}

fn numbered(interp: &Interp<'_>, object: ObjId) -> Vec<Value> {
    let here = interp.heap.get(object);
    (0..).map_while(|index: usize| here.attr(Ustr::from(&index.to_string())).cloned()).collect()
}

/// Whether a loop has added children to a container, so that nobody knows how many there are.
pub(super) fn has_part_of_rounds(interp: &Interp<'_>, object: ObjId) -> bool {
    let is_part =
        |value: &Value| value.as_obj().is_some_and(|part| interp.heap.noted(part, PART_OF_ROUNDS).is_some());
    interp.heap.get(object).attrs.iter().any(|(_, value)| is_part(value))
}

/// `layers.append(nn.ReLU())` of a list whose items are no longer known one by one: those that were, as `before`, and
/// this one are kept in order for the container that will take them.
pub(super) fn listed_layer(interp: &mut Interp<'_>, list: ObjId, before: Option<&[Value]>, layer: &Value) {
    let noted = interp.heap.noted(list, STACK_OF_LIST);
    let stack = match (noted, before) {
        (Some(Value::Obj(stack)), _) if is_layer(interp, layer) => *stack,
        (None, Some(before)) if before.iter().chain([layer]).all(|layer| is_layer(interp, layer)) => {
            stack_of_list(interp, list, before)
        }
        _ => return unlist_layers(interp, list),
    };
    interp.burn_over(interp.heap.get(stack).attrs.len() * LOOKS_AT_A_LAYER);
    match interp.outlived(interp.heap.get(stack).epoch) {
        Some(_) => stack_in_rounds(interp, stack, layer.clone()),
        None => push_layer(interp, stack, layer.clone()),
    }
}

/// `layers += [nn.Linear(8, 8) for _ in range(depth)]`
pub(super) fn listed_layers(interp: &mut Interp<'_>, list: ObjId, before: Option<&[Value]>, more: &Value) {
    match layers_in_order(interp, more) {
        Some(more) => more.iter().for_each(|layer| listed_layer(interp, list, before, layer)),
        None => unlist_layers(interp, list),
    }
}

/// `[nn.Linear(4, 8)] + [nn.Linear(8, 8) for _ in range(depth)]`, where the items of the sum are not known one by one.
pub(super) fn layers_of_sum(interp: &mut Interp<'_>, sum: ObjId, left: &Value, right: &Value) {
    let layers =
        |interp: &mut Interp<'_>| Some((layers_in_order(interp, left)?, layers_in_order(interp, right)?));
    if let Some((before, more)) = layers(interp) {
        more.iter().for_each(|layer| listed_layer(interp, sum, Some(&before), layer));
    }
}

fn is_layer(interp: &Interp<'_>, value: &Value) -> bool {
    value.as_obj().is_some_and(|part| interp.heap.get(part).module().is_some())
}

fn stack_of_list(interp: &mut Interp<'_>, list: ObjId, layers: &[Value]) -> ObjId {
    let (site, epoch) = (interp.heap.get(list).site, interp.heap.get(list).epoch);
    let state = ModuleState { weights: Learned::Nothing, ..ModuleState::default() };
    let stack = interp.alloc(site, ClassRef::Builtin, State::Module(state));
    interp.heap.get_mut(stack).epoch = epoch;
    for layer in layers {
        push_layer(interp, stack, layer.clone());
    }
    interp.heap.note(list, STACK_OF_LIST, Value::Obj(stack));
    stack
}

/// The layers of a list: of those that are not known one by one, one part stands for any number.
fn layers_in_order(interp: &mut Interp<'_>, list: &Value) -> Option<Vec<Value>> {
    let object = list.as_obj()?;
    let State::List(items) = &interp.heap.get(object).state else { return None };
    let layers = match (&items.exact, layers_of_list(interp, list)) {
        (Some(exact), _) => exact.clone(),
        (None, Some(layers)) => layers,
        (None, None) => {
            let any = items.any.clone();
            if interp.heap.noted(object, STACK_OF_LIST).is_some() || !is_layer(interp, &any) {
                return None;
            }
            let state = ModuleState { weights: Learned::Nothing, repeats: true, ..ModuleState::default() };
            let part = interp.alloc(interp.heap.get(object).site, ClassRef::Builtin, State::Module(state));
            interp.heap.note(part, PART_OF_ROUNDS, Value::Bool(Some(true)));
            push_layer(interp, part, any);
            vec![Value::Obj(part)]
        }
    };
    layers.iter().all(|layer| is_layer(interp, layer)).then_some(layers)
}

/// The order of a list's layers is lost.
pub(super) fn unlist_layers(interp: &mut Interp<'_>, list: ObjId) {
    if interp.heap.noted(list, STACK_OF_LIST).is_some() {
        interp.heap.note(list, STACK_OF_LIST, Value::None);
    }
}

/// The layers of a list that are not known one by one, in order: what a loop has added in its rounds is one of them.
pub(super) fn layers_of_list(interp: &Interp<'_>, list: &Value) -> Option<Vec<Value>> {
    match interp.heap.noted(list.as_obj()?, STACK_OF_LIST)? {
        Value::Obj(stack) => Some(numbered(interp, *stack)),
        _ => None,
    }
}

/// A stack was made of layers of a list: what a loop has added in its rounds is run as the stack is.
fn run_as_stacks(interp: &mut Interp<'_>, stack: ObjId) {
    if is_stack(interp, stack) && has_part_of_rounds(interp, stack) {
        let class = interp.heap.get(stack).class;
        for part in numbered(interp, stack).iter().filter_map(Value::as_obj) {
            if interp.heap.noted(part, PART_OF_ROUNDS).is_some() {
                interp.heap.get_mut(part).class = class;
                run_as_stacks(interp, part);
            }
        }
    }
}

/// Adds a layer to the part of a stack that the running loops make in each of their rounds.
fn stack_in_rounds(interp: &mut Interp<'_>, stack: ObjId, layer: Value) {
    let mut holder = stack;
    while let Some(outermost) = interp.outlived(interp.heap.get(holder).epoch) {
        holder = part_of_round(interp, holder, outermost);
    }
    push_layer(interp, holder, layer);
}

/// The last part of a stack, if it was begun in this round of a loop; else a new one, in place of that of the round
/// before.
fn part_of_round(interp: &mut Interp<'_>, stack: ObjId, active: usize) -> ObjId {
    let (id, since) = (interp.active[active].id, interp.active[active].since);
    let (place, first) = (interp.out.loops[id.0 as usize].place, interp.out.loops[id.0 as usize].first);
    let mut parts = numbered(interp, stack);
    let last = parts.last().and_then(Value::as_obj).map(|part| (part, interp.heap.get(part)));
    let own = last.filter(|(_, part)| {
        part.site == place && part.epoch >= first && part.module().is_some_and(|module| module.repeats)
    });
    let own = own.map(|(part, here)| (part, here.epoch));
    match own {
        Some((part, epoch)) if epoch >= since => return part,
        Some(_) => drop(parts.pop()),
        None => {}
    }
    let class = interp.layer_api(stack).map_or(ClassRef::Builtin, |api| ClassRef::Api(api.name));
    let around = interp.heap.get(stack).module().cloned().unwrap_or_default();
    let state = ModuleState { weights: Learned::Nothing, repeats: true, parts: Default::default(), ..around };
    let part = interp.alloc(place, class, State::Module(state));
    interp.heap.get_mut(part).epoch = since;
    interp.heap.note(part, PART_OF_ROUNDS, Value::Bool(Some(true)));
    interp.heap.get_mut(stack).set_attr(Ustr::from(&parts.len().to_string()), Value::Obj(part));
    part
}

/// Puts a layer before the one at an index, of so many: of others nobody knows any more which is where.
fn insert_layer(
    interp: &mut Interp<'_>,
    object: ObjId,
    layer: Value,
    place: Option<(usize, usize)>,
    looped: bool,
) {
    let numbered = |index: usize| Ustr::from(&index.to_string());
    let is_numbered = interp.heap.attr(object, Ustr::from("*")).is_none() && !looped;
    let Some((at, count)) = place.filter(|(at, count)| at <= count && is_numbered) else {
        let any = interp.any_child(object).map_or(layer.clone(), |any| interp.heap.join(&any, &layer));
        interp.heap.note(object, OUT_OF_ORDER, Value::Bool(Some(true)));
        return interp.heap.get_mut(object).set_attr(Ustr::from("*"), any);
    };
    interp.burn_over(count);
    let here = interp.heap.get_mut(object);
    for index in (at..count).rev() {
        if let Some(moved) = here.attr(numbered(index)).cloned() {
            here.set_attr(numbered(index + 1), moved);
        }
    }
    here.set_attr(numbered(at), layer);
}

/// How many children a container has, where they stand behind all else that it has, and each has its own number.
fn numbered_children(interp: &Interp<'_>, object: ObjId) -> Option<usize> {
    let here = interp.heap.get(object);
    let attrs = &here.attrs;
    interp.role_of(here.class).filter(|role| *role == Role::Module)?;
    let count = attrs.last()?.0.parse::<usize>().ok()? + 1;
    let first = attrs.len().checked_sub(count)?;
    let others = &attrs[..first];
    let alone = first < FEW_OTHERS && attrs[first].0 == "0";
    (alone && !others.iter().any(|(name, value)| name == "*" || is_layer(interp, value))).then_some(count)
}
