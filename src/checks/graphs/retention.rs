//! What keeps its graph over iterations: sums and containers that are older than the iteration.

use super::resets::{Holder, holder_of, is_behind_itself};
use crate::apis::{Api, Transfer};
use crate::interp::{Assignment, Checker, ContainerWrite, Interp, Update, is_bounded, mark_graph};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::FnKey;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Containers inside what is kept are looked into so deep.
const DEEPEST: u32 = 2;

/// Methods of containers that take nothing out of them.
const ADDING: [&str; 6] = ["append", "copy", "count", "extend", "index", "insert"];

pub(super) static CHECKER: Checker = Checker {
    on_update: Some(on_update),
    on_assign: Some(on_assign),
    on_container_write: Some(on_container_write),
    on_unknown_backward: Some(on_unknown_backward),
    ..Checker::SILENT
};

/// A value with a live graph was added to something older than this iteration.
pub(super) struct Carried {
    /// The graph, as the core follows it.
    pub id: u32,
    pub into: Rc<str>,
    /// What holds it, in all the ways in which it may start anew.
    pub holders: Vec<Holder>,
    pub into_place: Option<Place>,
    pub by: Carry,
    /// The loops around it from this one on are outlived.
    pub outlives: usize,
    pub value: Rc<Tensor>,
    /// What is kept is the tensor itself, and not something that holds it.
    pub bare: bool,
    /// No loop is around it: an object keeps it that lives longer than a call of its method, which nothing here calls.
    pub by_call: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carry {
    /// `total += loss`
    Sum,
    /// `losses.append(loss)`
    Append,
}

/// Graphs that something keeps over iterations, and the function without a caller in which it does.
#[derive(Default)]
struct Retained(Vec<(Option<FnKey>, u32)>);

/// A graph that a backward pass has shown to be there can't be used by another one.
fn follow(cx: &mut Interp<'_>, id: u32, graph: &Graph) {
    if graph.is_shown() {
        return;
    }
    // What a method keeps, others of its object may use.
    let is_method = |key: &FnKey| cx.tree(key.file).function(key.function).class.is_some();
    let kept = (cx.supposed.seeded.filter(|key| !is_method(key)), id);
    cx.remember(|retained: &mut Retained| {
        if !retained.0.contains(&kept) {
            retained.0.push(kept);
        }
    });
}

/// A graph was backpropagated through of which we know nothing: it may be any of those that were kept, but by a function
/// that others call and that is over.
fn on_unknown_backward(cx: &mut Interp<'_>, (): ()) {
    let kept = cx.remember(|retained: &mut Retained| retained.0.clone());
    let here = |from: Option<FnKey>| from.is_none() || from == cx.supposed.seeded;
    let kept: Vec<u32> = kept.into_iter().filter(|(from, _)| here(*from)).map(|(_, id)| id).collect();
    cx.out.consumed.extend(kept);
}

/// `total += loss`, and what is written into an item of `total`.
fn on_update(cx: &mut Interp<'_>, update: &Update<'_>) {
    let result = carried_sum(cx, update.target, update.before, &update.result.borrow());
    update.result.replace(result);
}

/// `x = x + loss`, `x = a * x + b * loss`, `x = torch.cat([x, loss])` carry a graph as `x += loss` does.
fn on_assign(cx: &mut Interp<'_>, assignment: &Assignment) {
    let tree = cx.tree(cx.file());
    let target = assignment.target;
    let nameable = matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
    let live = assignment.result.borrow().as_tensor().is_some_and(|tensor| tensor.graph.is_live());
    if !cx.in_loop() || !nameable || !live || !builds_on(cx, assignment.value, target) {
        return;
    }
    let before = cx.eval(target);
    let result = carried_sum(cx, target, &before, &assignment.result.borrow());
    assignment.result.replace(result);
}

/// One of several results of a model that nobody sees into may be counts, without a graph.
fn sureness(kept: &Tensor) -> Confidence {
    if kept.among { Confidence::Low } else { kept.confidence }
}

/// `total += loss`: does the sum keep the graphs of earlier iterations?
fn carried_sum(cx: &mut Interp<'_>, target: ExprId, before: &Value, result: &Value) -> Value {
    let Some(sum) = result.as_tensor().filter(|sum| sum.graph.is_live()) else { return result.clone() };
    if cx.ambient.grad != Some(true) {
        return result.clone();
    }
    let old = before.as_tensor().and_then(|old| match &old.graph {
        Graph::Live(nodes) => Some((nodes.oldest.max(old.created), old.confidence)),
        _ => None,
    });
    // Both the value and its graph come from an earlier iteration, or from an earlier call.
    let outlived = old.and_then(|(age, confidence)| Some((cx.outlived(age)?, confidence)));
    let by_call =
        outlived.is_none() && old.is_none() && is_number_at_first(cx, target) && keeps_over_calls(cx, target);
    let Some((outlives, known)) = outlived.or(by_call.then_some((0, sum.confidence))) else {
        return result.clone();
    };
    // What is written into an item that decides whether it is written is set once.
    if is_item_written(cx, target) && is_behind_itself(cx, target) {
        return result.clone();
    }
    let place = cx.expr_place(target);
    let confidence = sureness(sum).min(known);
    let id = cx.graph_id(place);
    follow(cx, id, &sum.graph);
    if !by_call && is_read_elsewhere(cx, target) {
        cx.out.consumed.insert(id);
    }
    let into = cx.written(target);
    let holders = holder_of(cx, target).into_iter().collect();
    let (value, by) = (sum.clone(), Carry::Sum);
    let (into_place, bare) = (None, true);
    let carried = Carried { id, into, holders, into_place, by, outlives, value, bare, by_call };
    cx.observe(place, carried, confidence);
    mark_graph(result, id)
}

/// `target[…] = value`
fn is_item_written(cx: &Interp<'_>, target: ExprId) -> bool {
    let tree = cx.tree(cx.file());
    let holds = |written: &ExprId| matches!(tree.expr(*written).kind, ExprKind::Subscript { base, .. } if base == target);
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.iter().any(holds),
        _ => false,
    })
}

/// Whether an expression computes its value from another one, by arithmetic or the framework's functions.
fn builds_on(cx: &mut Interp<'_>, expr: ExprId, target: ExprId) -> bool {
    if cx.same_target(expr, target) {
        return true;
    }
    let tree = cx.tree(cx.file());
    match &tree.expr(expr).kind {
        ExprKind::Binary { left, right, .. } => builds_on(cx, *left, target) || builds_on(cx, *right, target),
        ExprKind::Unary { operand, .. } => builds_on(cx, *operand, target),
        // `g = zeros if g is None else g` leaves it as it is, or makes another.
        ExprKind::Conditional { then, otherwise, .. } => {
            let mut grows = |arm: ExprId| !cx.same_target(arm, target) && builds_on(cx, arm, target);
            grows(*then) || grows(*otherwise)
        }
        ExprKind::Tuple(items) | ExprKind::List(items) => {
            items.iter().any(|item| builds_on(cx, *item, target))
        }
        ExprKind::Call { callee, args } => {
            let of_receiver = match &tree.expr(*callee).kind {
                ExprKind::Attribute { base, .. } => builds_on(cx, *base, target),
                _ => false,
            };
            let mentioned = of_receiver || args.iter().any(|arg| builds_on(cx, arg.value, target));
            mentioned && is_combining(cx, *callee)
        }
        _ => false,
    }
}

/// A function or tensor method of a framework that makes one tensor of several.
fn is_combining(cx: &mut Interp<'_>, callee: ExprId) -> bool {
    let tree = cx.tree(cx.file());
    let mut root = callee;
    while let ExprKind::Attribute { base, .. } = tree.expr(root).kind {
        root = base;
    }
    if !matches!(tree.expr(root).kind, ExprKind::Name(_)) {
        return false;
    }
    let name = match cx.eval(callee) {
        Value::Api(name) => name,
        Value::Bound(bound) => match bound.method {
            Method::Api(name) => name,
            _ => return false,
        },
        _ => return false,
    };
    cx.apis.get(name).and_then(Api::transfer).is_some_and(Transfer::combines)
}

/// A value is put into a container.
fn on_container_write(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) {
    if let Some(marked) = kept_in(cx, write) {
        write.value.replace(marked);
    }
}

/// The value marked, when its graph is kept after the iteration in the container.
fn kept_in(cx: &mut Interp<'_>, write: &ContainerWrite<'_>) -> Option<Value> {
    let ContainerWrite { container, into, place, .. } = *write;
    let value = &*write.value.borrow();
    let by_call = keeps_over_calls(cx, into);
    if !cx.in_loop() && !by_call || cx.ambient.grad != Some(true) {
        return None;
    }
    // What a forward gathers under a name of its own is gone when it has computed its output of it.
    let is_local = matches!(cx.tree(cx.file()).expr(into).kind, ExprKind::Name(_));
    if is_bounded(cx, &Value::Obj(container)) || is_local && cx.in_forward() {
        return None;
    }
    let here = cx.heap.get(container);
    let site = here.site;
    let outlives = cx.outlived(here.epoch).or(by_call.then_some(0))?;
    let tensor = live_within(cx, value, DEEPEST)?;
    let id = cx.graph_id(place);
    // What is computed from the iteration before, and not by way of the container, keeps its graph anyway: without the
    // container nothing would go.
    if is_carried_on(cx, &tensor, outlives) && !tensor.graph.carried().contains(&id) {
        return Some(mark_within(cx, value, id, DEEPEST));
    }
    follow(cx, id, &tensor.graph);
    if !by_call && is_read_elsewhere(cx, into) || is_anothers(cx, container, into) {
        cx.out.consumed.insert(id);
    }
    let holders = holder_of(cx, into).into_iter().chain([Holder::Container(container)]).collect();
    let into = cx.written(into);
    let confidence = sureness(&tensor);
    let bare = matches!(value.bare(), Value::Tensor(_));
    let (into_place, by) = (Some(site), Carry::Append);
    let carried = Carried { id, into, holders, into_place, by, outlives, value: tensor, bare, by_call };
    cx.observe(place, carried, confidence);
    Some(mark_within(cx, value, id, DEEPEST))
}

/// Whether the graph of a value goes back to before this iteration of a loop, by its place among those that run.
fn is_carried_on(cx: &Interp<'_>, value: &Tensor, outlived: usize) -> bool {
    let Graph::Live(nodes) = &value.graph else { return false };
    cx.outlived(nodes.oldest).is_some_and(|oldest| oldest <= outlived)
}

/// In a method that was rehearsed without its callers: other methods may do anything with the attribute of an object
/// that the method did not make itself.
fn is_read_elsewhere(cx: &mut Interp<'_>, target: ExprId) -> bool {
    let Some(seeded) = cx.supposed.seeded else { return false };
    let file = cx.file();
    let ExprKind::Attribute { base, name, .. } = cx.tree(file).expr(target).kind else { return false };
    if cx.eval(base).as_obj().is_some_and(|owner| owner.0 >= cx.supposed.since) {
        return false;
    }
    let here = cx.running_functions(file);
    let (tree, scopes) = (cx.tree(file), &cx.module(file).names.scopes);
    scopes.iter().enumerate().any(|(index, scope)| {
        let function = FnId(index as u32);
        // A constructor runs once, before all others.
        let running = here.contains(&function)
            || function == seeded.function
            || tree.functions.get(index).is_some_and(|function| function.name == "__init__");
        !running && scope.mentions.contains(name)
    })
}

/// `self.losses`, in a method that nothing here calls and that runs no loop around this: whoever trains calls it for each
/// batch.
fn keeps_over_calls(cx: &mut Interp<'_>, into: ExprId) -> bool {
    if cx.supposed.seeded.is_none() || cx.in_loop() || cx.in_constructor() || cx.in_forward() {
        return false;
    }
    let tree = cx.tree(cx.file());
    let mut kept = into;
    while let ExprKind::Subscript { base, .. } = tree.expr(kept).kind {
        kept = base;
    }
    let ExprKind::Attribute { base, .. } = tree.expr(kept).kind else { return false };
    let Some(object) = cx.eval(base).as_obj() else { return false };
    // The lists that the steps of an engine fill for its hooks are reported as outputs that are never cleared.
    let is_list = kept == into && cx.eval(into).as_obj().is_some();
    object.0 < cx.supposed.since && !(is_list && cx.is_owned(object)) && !starts_anew(cx, kept)
}

/// `self.total = 0`, in the constructor.
fn is_number_at_first(cx: &Interp<'_>, attribute: ExprId) -> bool {
    let module = cx.module(cx.file());
    let Some(own) = cx.subject_here(attribute) else { return false };
    module.relations().bindings(own).any(|(value, function)| {
        let constructs = function.is_some_and(|function| module.tree.function(function).name == "__init__");
        constructs && matches!(module.tree.expr(value).kind, ExprKind::Int(_) | ExprKind::Float(_))
    })
}

/// Whether a method other than the constructor binds an attribute, but to add to it, or takes something out of what it
/// holds.
fn starts_anew(cx: &Interp<'_>, attribute: ExprId) -> bool {
    let module = cx.module(cx.file());
    let Some(own) = cx.subject_here(attribute) else { return true };
    let is_other = |function: Option<FnId>| {
        function.is_none_or(|function| module.tree.function(function).name != "__init__")
    };
    let relations = module.relations();
    let adds = |method: Ustr| ADDING.contains(&method.as_str());
    let is_added = |value: ExprId| relations.added().iter().any(|(added, _)| *added == value);
    relations.bindings(own).any(|(value, function)| is_other(function) && !is_added(value))
        || relations.acts_of(own).any(|act| act.method.is_none_or(|method| !adds(method)))
}

/// A container that a function rehearsed without its callers was given.
fn is_anothers(cx: &Interp<'_>, container: ObjId, into: ExprId) -> bool {
    let file = cx.file();
    let own = matches!(cx.tree(file).expr(into).kind, ExprKind::Attribute { .. });
    cx.supposed.seeded.is_some() && container.0 < cx.supposed.since && !own
}

/// The first tensor with a graph in a value.
fn live_within(cx: &Interp<'_>, value: &Value, depth: u32) -> Option<Rc<Tensor>> {
    match value.bare() {
        Value::Tensor(tensor) => tensor.graph.is_live().then(|| tensor.clone()),
        Value::Tuple(items) if depth > 0 => items.iter().find_map(|item| live_within(cx, item, depth - 1)),
        Value::Obj(object) if depth > 0 => match &cx.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => {
                items.iter().find_map(|item| live_within(cx, item, depth - 1))
            }
            State::List(items) => live_within(cx, &items.any, depth - 1),
            State::Dict(entries) => {
                entries.known.iter().find_map(|(_, value)| live_within(cx, value, depth - 1))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Marks the graphs of all tensors in a value.
fn mark_within(cx: &mut Interp<'_>, value: &Value, id: u32, depth: u32) -> Value {
    let Some(object) = value.as_obj() else { return mark_graph(value, id) };
    if depth == 0 {
        return value.clone();
    }
    let state = match cx.heap.get(object).state.clone() {
        State::List(items) => State::List(Items {
            exact: items
                .exact
                .map(|all| all.iter().map(|item| mark_within(cx, item, id, depth - 1)).collect()),
            any: mark_within(cx, &items.any, id, depth - 1),
            len: items.len,
        }),
        State::Dict(mut entries) => {
            for (_, value) in &mut entries.known {
                *value = mark_within(cx, value, id, depth - 1);
            }
            State::Dict(entries)
        }
        _ => return value.clone(),
    };
    cx.heap.get_mut(object).state = state;
    value.clone()
}
