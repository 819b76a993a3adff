//! What a backward pass says of the value that it starts from: a tensor that has a graph, whoever made it. Knows no
//! framework.

use super::Interp;
use super::roles::Backward;
use crate::apis::Role;
use crate::names::{Act, Module, Origin, Subject};
use crate::report::{Confidence, Place};
use crate::syntax::{Arg, ArgKind, BinaryOp, ExprId, ExprKind, FnId, Tree};
use crate::values::{Entries, Graph, Key, ObjId, Scaled, Source, State, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

/// `loss.backward()`, `scaler.scale(loss).backward()`, `engine.backward(loss)`, where nobody knows who made the loss:
/// from here on it is known to hold a graph.
pub(super) fn shows_graph(interp: &mut Interp, call: ExprId, receiver: &Value, method: Ustr) {
    if !interp.apis.walks_back(method) {
        return;
    }
    let Some(loss) = start(interp, call, receiver) else { return };
    let Value::Tensor(tensor) = interp.eval(loss) else { return };
    if matches!(tensor.graph, Graph::Unknown) && !tensor.is_array {
        let graph = Graph::of_others(interp.epoch);
        interp.assign(loss, Value::tensor(Tensor { graph, ..(*tensor).clone() }));
    }
}

/// So many backward passes behind a value are looked at: what comes later starts from others.
const NEXT_PASSES: usize = 8;
/// So many names of one loss are followed back from its backward pass.
const LONGEST_CHAIN: usize = 4;

/// A tensor of which nobody knows whether it has a graph, or whether it is one, and that is bound to a name from which
/// the next backward pass of the same iteration starts: it has one, before that pass as well.
pub(super) fn foreseen(interp: &mut Interp, target: ExprId, value: Value) -> Value {
    let tensor = match &value {
        Value::Tensor(tensor) if is_in_question(tensor) => tensor.clone(),
        Value::Unknown => Rc::new(Tensor {
            confidence: Confidence::Medium,
            source: Source::Output,
            made: Some(interp.expr_place(target)),
            created: interp.epoch,
            ..Tensor::default()
        }),
        _ => return value,
    };
    if interp.ambient.grad == Some(false) || !is_walked_next(interp, target, !value.is_unknown()) {
        return value;
    }
    let scaled = if tensor.scaled == Scaled::No { Scaled::Maybe } else { tensor.scaled };
    let graph = match &tensor.graph {
        Graph::Unknown => Graph::of_others(interp.epoch),
        known => known.clone(),
    };
    Value::tensor(Tensor { graph, scaled, among: false, ..(*tensor).clone() })
}

fn is_in_question(tensor: &Tensor) -> bool {
    (matches!(tensor.graph, Graph::Unknown) || tensor.among) && !tensor.is_array
}

/// Whether a backward pass of the same iteration starts from the name that a value is bound to, before another value
/// takes its place. Of what is no tensor for sure a scaler, or an engine, may be told anything.
fn is_walked_next(interp: &mut Interp, target: ExprId, is_tensor: bool) -> bool {
    let file = interp.file();
    let losses = interp.losses(file);
    let tree = interp.tree(file);
    let ExprKind::Name(name) = tree.expr(target).kind else { return false };
    let function = interp.frames.last().and_then(|frame| frame.function);
    let bound = tree.expr(target).span;
    let is_later =
        |pass: &&Backward| pass.act.function == function && tree.expr(pass.act.call).span.start > bound.end;
    let module = interp.module(file);
    let starts_here = |pass: &&Backward| {
        let walked = loss_of(tree, &pass.act);
        let leads_here = |expr: ExprId| rescaled_names(module, function, expr).any(|known| known == name);
        walked.receiver.is_some_and(leads_here)
            || is_tensor && walked.values.into_iter().any(|expr| named(tree, expr) == Some(name))
    };
    let later = losses.backwards.iter().filter(is_later);
    let Some(pass) = later.take(NEXT_PASSES).find(starts_here) else { return false };
    let walked = tree.expr(pass.act.call).span;
    let relations = module.relations();
    let subject = Subject::Local(module.names.owner(tree, function, name), name);
    // The first of these is what is bound here; what another binds takes its place.
    let is_between = |(other, _): &(ExprId, Option<FnId>)| {
        let other = tree.expr(*other).span;
        other.start > bound.end && other.end < walked.start
    };
    let is_replaced = relations.bindings(subject).filter(is_between).count() > 1;
    !is_replaced && relations.innermost_loop(bound) == relations.innermost_loop(walked)
}

/// What a backward pass starts from without the numbers that it is divided or multiplied by: `(loss / steps).backward()`.
fn rescaled(tree: &Tree, loss: ExprId) -> ExprId {
    let is_number = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Int(_) | ExprKind::Float(_));
    match tree.expr(loss).kind {
        ExprKind::Binary { op: BinaryOp::Div, left, .. } => rescaled(tree, left),
        ExprKind::Binary { op: BinaryOp::Mul, left, right } if is_number(right) => rescaled(tree, left),
        ExprKind::Binary { op: BinaryOp::Mul, left, right } if is_number(left) => rescaled(tree, right),
        ExprKind::Unary { operand, .. } => rescaled(tree, operand),
        _ => loss,
    }
}

/// The names that a loss has before numbers divide or multiply it: `scaled = loss / steps; scaled.backward()`.
fn rescaled_names(module: &Module, function: Option<FnId>, loss: ExprId) -> impl Iterator<Item = Ustr> {
    let (tree, relations) = (&module.tree, module.relations());
    let first = named(tree, rescaled(tree, loss));
    let before = move |name: &Ustr| {
        let subject = Subject::Local(module.names.owner(tree, function, *name), *name);
        named(tree, rescaled(tree, relations.sole_binding(subject)?))
    };
    std::iter::successors(first, before).take(LONGEST_CHAIN)
}

fn named(tree: &Tree, expr: ExprId) -> Option<Ustr> {
    if let ExprKind::Name(name) = tree.expr(expr).kind { Some(name) } else { None }
}

/// What a call gave that nobody sees into, where a backward pass starts from an entry of it:
/// `output = engine.step(batch); output["loss"].backward()`.
pub(super) fn record_of(interp: &mut Interp, call: ExprId, value: Value) -> Value {
    let entries = |value: &Value| match &interp.heap.get(value.as_obj()?).state {
        State::Dict(entries) => Some(entries),
        _ => None,
    };
    let is_open = |entries: &Entries| {
        entries.known.iter().map(|(_, value)| value).chain(&entries.other).any(Value::is_unknown)
    };
    if !value.is_unknown() && !entries(&value).is_some_and(is_open) {
        return value;
    }
    let file = interp.file();
    let losses = interp.losses(file);
    let tree = interp.tree(file);
    // What a method of tensors gives is known, and a name may be used again after the backward pass.
    let is_loss = |backward: &&Backward| {
        let relations = interp.module(file).relations();
        relations.act(call).is_some_and(|made| {
            let of_tensor =
                made.method.is_some_and(|method| interp.apis.method_of(Role::Tensor, method).is_some());
            let before = tree.expr(call).span.start < tree.expr(backward.act.call).span.start;
            let within = relations.is_inside(made.within, backward.act.within);
            made.function == backward.act.function && before && within && !of_tensor
        })
    };
    let is_whole = |origin: &&Origin| origin.call == call && !origin.among && origin.item.is_none();
    // Few calls are what a backward pass starts from: the others are told from them first.
    let mut wholes = losses.backwards.iter().filter_map(|backward| {
        let whole = backward.origins.iter().find(is_whole)?;
        is_loss(&backward).then_some(whole)
    });
    let Some(key) = wholes.next().and_then(|origin| origin.key) else { return value };
    let place = interp.expr_place(call);
    let loss = Value::tensor(Tensor {
        graph: Graph::of_others(interp.epoch),
        confidence: Confidence::Medium,
        source: Source::Output,
        made: Some(place),
        created: interp.epoch,
        ..Tensor::default()
    });
    let key = Rc::from(key.as_str());
    let Some(known) = value.as_obj() else { return record(interp, place, key, loss) };
    fill(interp, known, Key::Str(key), loss);
    value
}

/// A dictionary that is seen, with a loss of which nothing is known: a method of the project returns it.
fn fill(interp: &mut Interp, dictionary: ObjId, key: Key, loss: Value) {
    let State::Dict(entries) = &interp.heap.get(dictionary).state else { return };
    if entries.get(&key).or(entries.other.as_ref()).is_some_and(Value::is_unknown) {
        let mut entries = entries.clone();
        entries.set(key, loss);
        interp.heap.get_mut(dictionary).state = State::Dict(entries);
    }
}

/// `output["loss"] = output["loss"].detach()`: what a model gave was no tensor, but a record.
pub(super) fn written_by_name(
    interp: &mut Interp,
    base: ExprId,
    of: &Value,
    index: &Value,
    value: &Value,
) -> bool {
    let (Value::Tensor(written), Value::Str(Some(key))) = (of.bare(), index.bare()) else { return false };
    // A table has a column of that name from here on.
    if written.is_array {
        return false;
    }
    let place = interp.expr_place(base);
    let record = record(interp, place, key.clone(), value.clone());
    interp.assign(base, record);
    true
}

/// A dictionary of which one entry is known.
fn record(interp: &mut Interp, place: Place, key: Rc<str>, value: Value) -> Value {
    let mut entries = Entries::new(Vec::new(), Some(Value::Unknown));
    entries.set(Key::Str(key), value);
    interp.dict(place, entries)
}

/// Whether a backward pass of its file starts from what the call at this place gives.
pub(super) fn is_gone_back_through(interp: &mut Interp, call: Place) -> bool {
    let losses = interp.losses(call.file);
    let tree = interp.tree(call.file);
    let is_it = |origin: &Origin| tree.expr(origin.call).span == call.span && origin.is_first();
    losses.backwards.iter().any(|backward| backward.origins.iter().any(is_it))
}

/// `loss.data`, where a backward pass of the function starts from the loss and is given no gradient: it is one number,
/// whatever its shape is.
pub(super) fn is_data_of_loss(interp: &mut Interp, base: ExprId, value: &Value) -> bool {
    let Value::Tensor(tensor) = value else { return false };
    if tensor.is_array || tensor.rank().is_some() || tensor.graph.is_live() {
        return false;
    }
    let file = interp.file();
    let tree = interp.tree(file);
    let ExprKind::Attribute { base: holder, .. } = tree.expr(base).kind else { return false };
    let Some(name) = named(tree, holder) else { return false };
    let losses = interp.losses(file);
    let function = interp.frames.last().and_then(|frame| frame.function);
    losses.backwards.iter().filter(|pass| pass.act.function == function).any(|pass| {
        let walked = loss_of(tree, &pass.act);
        !walked.is_told && walked.receiver.is_some_and(|receiver| named(tree, receiver) == Some(name))
    })
}

/// The variable or attribute that a backward pass starts from: its receiver, what the call that gave the receiver
/// got, or what an engine is told.
fn start(interp: &Interp, call: ExprId, receiver: &Value) -> Option<ExprId> {
    let tree = interp.tree(interp.file());
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else { return None };
    let ExprKind::Attribute { base, .. } = tree.expr(*callee).kind else { return None };
    // What is told to retain the graph is walked again.
    if args.iter().any(|arg| matches!(arg.kind, ArgKind::Keyword(_))) {
        return None;
    }
    let first = |args: &[Arg]| args.iter().find(|arg| arg.kind == ArgKind::Positional).map(|arg| arg.value);
    let from = match &tree.expr(base).kind {
        ExprKind::Call { args, .. } => first(args)?,
        _ if receiver.as_tensor().is_some() => base,
        _ => first(args)?,
    };
    is_named(tree, from).then_some(from)
}

fn is_named(tree: &Tree, expr: ExprId) -> bool {
    match tree.expr(expr).kind {
        ExprKind::Name(_) => true,
        ExprKind::Attribute { base, .. } => matches!(tree.expr(base).kind, ExprKind::Name(_)),
        _ => false,
    }
}

/// What a backward pass starts from: `loss.backward()`, `scaler.scale(loss).backward()`, `engine.backward(loss)`.
pub(super) fn loss_of(tree: &Tree, act: &Act) -> Walked {
    let ExprKind::Call { callee, args } = &tree.expr(act.call).kind else { return Walked::default() };
    let ExprKind::Attribute { base, .. } = tree.expr(*callee).kind else { return Walked::default() };
    let told = || args.iter().filter(|arg| arg.kind == ArgKind::Positional).map(|arg| arg.value);
    let mut values = Vec::new();
    if let ExprKind::Call { args, .. } = &tree.expr(base).kind {
        values.extend(args.iter().map(|arg| arg.value));
    }
    values.extend(told());
    Walked { receiver: Some(base), values, is_told: told().next().is_some() }
}

/// What may be the loss of a backward pass.
#[derive(Default)]
pub(super) struct Walked {
    pub receiver: Option<ExprId>,
    /// What its call, or that of the backward pass, is given.
    pub values: Vec<ExprId>,
    pub is_told: bool,
}

/// `loss.item()`, also times a number.
pub(super) fn is_number_of_tensor(tree: &Tree, value: ExprId) -> bool {
    match &tree.expr(value).kind {
        ExprKind::Call { callee, .. } => match tree.expr(*callee).kind {
            ExprKind::Attribute { name, .. } => name == "item",
            _ => false,
        },
        ExprKind::Binary { left, right, .. } => {
            is_number_of_tensor(tree, *left) || is_number_of_tensor(tree, *right)
        }
        _ => false,
    }
}
