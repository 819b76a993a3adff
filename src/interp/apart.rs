//! Ways that are kept apart: where the arms of an `if` leave in a local variable two things that no value stands for,
//! a tensor and a number, a tensor on the GPU and one on the CPU, what follows in the block runs once for each.

use super::{Interp, stmt::Flow};
use crate::report::Span;
use crate::syntax::*;
use crate::trace::{Node, When};
use crate::values::*;
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// More ways than these are joined.
const MOST_WAYS: usize = 3;
/// So many steps of a rehearsal are spent on what runs once more for another way.
const MOST_SPENT: u32 = 20_000;

/// How an arm of a branch ended, and what it wrote.
pub(super) type End = (Flow, heap::Writes);

/// What follows an `if` in its block.
#[derive(Clone, Copy)]
pub(super) struct Rest<'a, 'p> {
    pub(super) stmts: &'p [StmtId],
    /// The tests that tell the arms apart.
    pub(super) tests: &'a [ExprId],
}

/// Runs what follows once for each way of a branch, where they have to be kept apart.
pub(super) fn arms<'p>(
    interp: &mut Interp<'p>,
    when: When,
    nodes: &mut [Vec<Node>],
    ends: &mut [End],
    rest: Rest<'_, 'p>,
) {
    if interp.are_kept_apart(when, ends, rest) {
        interp.go_on_apart(when, nodes, ends, rest);
    }
}

/// Assigns, and runs what follows once for each of two things of which one is assigned.
pub(super) fn assign<'p>(interp: &mut Interp<'p>, targets: &'p [ExprId], value: ExprId) -> Flow {
    interp.assign_apart(targets, value)
}

/// What a conditional expression gives on its two ways.
pub(super) fn note_choice(interp: &mut Interp<'_>, test: ExprId, then: &Value, otherwise: &Value) {
    if interp.differ(then, otherwise, None) {
        interp.passes.chosen = Some((test, then.clone(), otherwise.clone()));
    }
}

impl<'p> Interp<'p> {
    /// Whether the arms of a branch disagree about a variable so that what follows is judged for each of them. It
    /// is once at a time: what follows in what follows is joined, so that the work at most triples.
    fn are_kept_apart(&mut self, when: When, ends: &[End], rest: Rest<'_, 'p>) -> bool {
        let ways: Vec<&heap::Writes> =
            ends.iter().filter(|(flow, _)| *flow == Flow::Next).map(|(_, writes)| writes).collect();
        let is_local = self.frames.last().is_some_and(|frame| frame.function.is_some()) || self.in_loop();
        if when != When::Unknown || self.passes.apart || rest.stmts.is_empty() || !is_local {
            return false;
        }
        // A model's layers are worth one walk: what they cost is cost at each call of them.
        let is_dear = self.passes.spent_apart > MOST_SPENT || self.in_forward();
        if !(2..=MOST_WAYS).contains(&ways.len()) || is_dear || self.is_out_of_fuel() {
            return false;
        }
        let disputed = self.disputed(&ways);
        !disputed.is_empty() && self.is_asked_no_more(&disputed, rest)
    }

    /// The local variables that the ways bind to things which have nothing in common.
    fn disputed(&self, ways: &[&heap::Writes]) -> Vec<Ustr> {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return Vec::new() };
        // What changes an object may change what it is elsewhere, too.
        if ways.iter().any(|writes| writes.objects().any(|object| object != env)) {
            return Vec::new();
        }
        let before = self.heap.get(env);
        let mut names: Vec<Ustr> = Vec::new();
        for (name, _) in ways.iter().filter_map(|writes| writes.get(env)).flat_map(|object| &object.attrs) {
            if names.contains(name) {
                continue;
            }
            let values = ways.iter().map(|writes| writes.get(env).unwrap_or(before).attr(*name));
            let Some(values) = values.collect::<Option<Vec<&Value>>>() else { continue };
            let is_disputed = |other: &&Value| self.differ(values[0], other, before.attr(*name));
            if values[1..].iter().any(is_disputed) {
                names.push(*name);
            }
        }
        names
    }

    fn differ(&self, a: &Value, b: &Value, before: Option<&Value>) -> bool {
        match (a.bare(), b.bare()) {
            (Value::Tensor(a), Value::Tensor(b)) => {
                // What one way moves to the GPU, the model is moved there with it.
                let was_there = before.and_then(Value::as_tensor).is_some_and(|was| on_gpu(was.device));
                let left = |one: Device, other: Device| one == Device::Cpu && on_gpu(other);
                was_there && (left(a.device, b.device) || left(b.device, a.device))
            }
            (Value::Tensor(tensor), other) | (other, Value::Tensor(tensor)) => {
                !tensor.is_tree() && self.is_no_tensor(other)
            }
            _ => false,
        }
    }

    /// A number, a list or a tuple.
    fn is_no_tensor(&self, value: &Value) -> bool {
        match value {
            Value::Int(_) | Value::Float(_) | Value::Tuple(_) => true,
            Value::Obj(object) => matches!(self.heap.get(*object).state, State::List(_)),
            _ => false,
        }
    }

    /// Whether what follows uses a variable, and no test in it asks again what told the ways apart, or what it holds.
    fn is_asked_no_more(&mut self, disputed: &[Ustr], rest: Rest<'_, 'p>) -> bool {
        let tree = self.here();
        let (Some(first), Some(last)) = (rest.stmts.first(), rest.stmts.last()) else { return false };
        let span = Span { start: tree.stmt(*first).span.start, end: tree.stmt(*last).span.end };
        let is_used = tree.exprs.iter().any(|expr| {
            matches!(expr.kind, ExprKind::Name(name) if disputed.contains(&name)) && span.contains(expr.span)
        });
        if !is_used {
            return false;
        }
        let mut asked: FxHashSet<Ustr> = disputed.iter().copied().collect();
        rest.tests.iter().for_each(|test| names_in(tree, *test, &mut asked));
        let mut again: FxHashSet<Ustr> = FxHashSet::default();
        tests_within(tree, span, &mut |test| names_in(tree, test, &mut again));
        asked.is_disjoint(&again)
    }

    /// Goes on from each way by itself.
    fn go_on_apart(&mut self, when: When, nodes: &mut [Vec<Node>], ends: &mut [End], rest: Rest<'_, 'p>) {
        self.passes.apart = true;
        let before = self.budget.fuel;
        let recorded = self.ambient.grad;
        let given = self.frames.last().map_or(0, |frame| frame.returned.len());
        for (nodes, end) in nodes.iter_mut().zip(&mut *ends).filter(|(_, end)| end.0 == Flow::Next) {
            self.ambient.grad = recorded;
            self.heap.begin();
            self.heap.apply(std::mem::take(&mut end.1));
            self.trace.push(std::mem::take(nodes));
            let behind = self.left_behind();
            let flow = self.block(rest.stmts);
            self.ends_behind(behind, when, flow);
            *nodes = self.trace.pop().unwrap_or_default();
            *end = (flow, self.heap.rollback());
        }
        self.passes.apart = false;
        self.passes.spent_apart += before.saturating_sub(self.budget.fuel) / 2;
        self.let_lost_go(ends, given);
        if let Some(frame) = self.frames.last_mut() {
            frame.rest_ran = true;
        }
    }

    /// What one way makes a tensor and another leaves unknown is unknown from here on: whoever gets that may go back
    /// through the tensor.
    fn let_lost_go(&mut self, ends: &[End], given: usize) {
        let returned =
            self.frames.last().map_or(&[][..], |frame| &frame.returned[given.min(frame.returned.len())..]);
        let mut lost: Vec<Value> = Vec::new();
        if returned.iter().any(Value::is_unknown) {
            lost.extend(returned.iter().filter(|value| value.as_tensor().is_some()).cloned());
        }
        for (_, writes) in ends {
            for object in writes.objects() {
                let written = writes.get(object).into_iter().flat_map(|object| &object.attrs);
                for (name, value) in written.filter(|(_, value)| value.as_tensor().is_some()) {
                    let elsewhere = |(_, other): &End| {
                        let there = other.get(object).unwrap_or(self.heap.get(object));
                        there.attr(*name).is_some_and(Value::is_unknown)
                    };
                    lost.extend(ends.iter().any(elsewhere).then(|| value.clone()));
                }
            }
        }
        lost.iter().for_each(|value| self.hand_over(value));
    }

    /// `data = batch if len(batch) > 1 else batch[0]`: what follows runs with either, where nothing stands for both.
    fn assign_apart(&mut self, targets: &'p [ExprId], value: ExprId) -> Flow {
        let rest = self.take_rest();
        self.passes.chosen = None;
        self.assign_statement(targets, value);
        let tree = self.here();
        let ([target], ExprKind::Conditional { test, .. }) = (targets, &tree.expr(value).kind) else {
            return Flow::Next;
        };
        let ExprKind::Name(name) = tree.expr(*target).kind else { return Flow::Next };
        let chosen = self.passes.chosen.take().filter(|(of, ..)| of == test && !rest.is_empty());
        let (Some((_, then, otherwise)), Some(frame)) = (chosen, self.frames.last()) else {
            return Flow::Next;
        };
        let env = frame.env;
        let either = |value: Value| {
            move |interp: &mut Self| {
                interp.heap.get_mut(env).set_attr(name, value.clone());
                Flow::Next
            }
        };
        let joined = self.heap.attr(env, name).cloned();
        let (mut one, mut other) = (either(then), either(otherwise));
        let flow = self.branch_before(
            When::Unknown,
            &mut [&mut one, &mut other],
            Rest { stmts: rest, tests: &[*test] },
        );
        // What was not kept apart is what the assignment made of it.
        if let Some(joined) = joined.filter(|_| !self.frames.last().is_some_and(|frame| frame.rest_ran)) {
            self.heap.get_mut(env).set_attr(name, joined);
        }
        flow
    }
}

fn on_gpu(device: Device) -> bool {
    matches!(device, Device::Cuda(_) | Device::Accelerator)
}

/// All that decides on a way within a place.
fn tests_within(tree: &Tree, span: Span, see: &mut dyn FnMut(ExprId)) {
    for stmt in tree.stmts.iter().filter(|stmt| span.contains(stmt.span)) {
        match &stmt.kind {
            StmtKind::If { arms, .. } => arms.iter().for_each(|(test, _)| see(*test)),
            StmtKind::While { test, .. } | StmtKind::Assert { test } => see(*test),
            StmtKind::Match { subject, .. } => see(*subject),
            _ => {}
        }
    }
    for expr in tree.exprs.iter().filter(|expr| span.contains(expr.span)) {
        match &expr.kind {
            ExprKind::Conditional { test, .. } => see(*test),
            ExprKind::Bool { items, .. } => items.iter().for_each(|item| see(*item)),
            _ => {}
        }
    }
}

/// What an expression is about: `lengths` of `data.lengths`, and not `data`.
fn names_in(tree: &Tree, expr: ExprId, found: &mut FxHashSet<Ustr>) {
    match &tree.expr(expr).kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => {
            found.insert(*name);
        }
        _ => {}
    }
    match &tree.expr(expr).kind {
        ExprKind::Attribute { base, .. } if matches!(tree.expr(*base).kind, ExprKind::Name(_)) => {}
        ExprKind::Attribute { base, .. } => names_in(tree, *base, found),
        ExprKind::Call { callee, args } => {
            // A method asks its object.
            match tree.expr(*callee).kind {
                ExprKind::Attribute { base, .. } => names_in(tree, base, found),
                ExprKind::Name(_) => {}
                _ => names_in(tree, *callee, found),
            }
            args.iter().for_each(|arg| names_in(tree, arg.value, found));
        }
        _ => tree.expr(expr).kind.each_operand(|part| names_in(tree, part, found)),
    }
}
