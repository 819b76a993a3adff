//! Where what gathers graphs starts anew: a sum that is set to zero, a list that is emptied, every few iterations.

use crate::interp::{ArmEnd, Assignment, Checker, Interp};
use crate::names::subject_of;
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::At;
use crate::values::*;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_arm: Some(on_arm),
    on_arm_end: Some(on_arm_end),
    on_assign: Some(on_assign),
    on_cleared: Some(on_cleared),
    ..Checker::SILENT
};

/// What holds values: a name, an attribute, or a container itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Named(ObjId, Ustr),
    Container(ObjId),
}

/// A holder was given something that holds no graph.
pub(super) struct Reset {
    holder: Holder,
}

impl Reset {
    /// The container was emptied, whatever it is called.
    pub(super) fn is_emptying(&self) -> bool {
        matches!(self.holder, Holder::Container(_))
    }

    /// Of the loops around what is gathered, those that hold the reset, too: nothing of it outlives their
    /// iterations for long.
    pub(super) fn bounds(&self, at: &At, holders: &[Holder], gathered: &At) -> usize {
        if !holders.contains(&self.holder) {
            return 0;
        }
        at.loops.iter().zip(gathered.loops.iter()).take_while(|(own, other)| own == other).count()
    }
}

/// Names are followed through so many others.
const DEEPEST: u32 = 3;

/// What is gathered over more iterations than this takes room that is worth a word.
const SHORT: i64 = 32;

/// The tests of the arms that run, each with the frame that runs it.
#[derive(Default)]
struct Arms(Vec<Option<(u32, ExprId)>>);

fn on_arm(cx: &mut Interp<'_>, test: Option<ExprId>) {
    let frame = cx.running().next_back().map_or(0, |running| running.serial);
    cx.remember(|arms: &mut Arms| arms.0.push(test.map(|test| (frame, test))));
}

/// `if step == 0`, `if epoch == 1 and …`: what is set there starts the whole training.
fn is_for_the_first(tree: &Tree, test: ExprId) -> bool {
    match &tree.expr(test).kind {
        ExprKind::Compare { first, rest } => match &**rest {
            [(CompareOp::Eq, number)] => {
                let counts = matches!(tree.expr(*first).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
                counts && matches!(tree.expr(*number).kind, ExprKind::Int(0 | 1))
            }
            _ => false,
        },
        ExprKind::Bool { items, .. } => items.iter().any(|item| is_for_the_first(tree, *item)),
        _ => false,
    }
}

fn on_arm_end(cx: &mut Interp<'_>, _: &ArmEnd) {
    cx.remember(|arms: &mut Arms| {
        arms.0.pop();
    });
}

/// `total = 0`, `losses, count = [], 0`
fn on_assign(cx: &mut Interp<'_>, assignment: &Assignment) {
    if cx.in_loop() {
        let value = assignment.result.borrow().clone();
        note_reset(cx, assignment.target, &value);
    }
}

fn note_reset(cx: &mut Interp<'_>, target: ExprId, value: &Value) {
    if let (ExprKind::Tuple(targets), Value::Tuple(values)) =
        (&cx.tree(cx.file()).expr(target).kind, value.bare())
    {
        return targets.iter().zip(values.iter()).for_each(|(target, value)| note_reset(cx, *target, value));
    }
    if is_blank(cx, value)
        && let Some(holder) = holder_of(cx, target)
    {
        let place = cx.expr_place(target);
        observe(cx, place, holder);
    }
}

fn on_cleared(cx: &mut Interp<'_>, container: ObjId) {
    if cx.in_loop() {
        let place = cx.heap.get(container).site;
        observe(cx, place, Holder::Container(container));
    }
}

fn observe(cx: &mut Interp<'_>, place: Place, holder: Holder) {
    if is_often(cx) {
        cx.observe(place, Reset { holder }, Confidence::High);
    }
}

/// Whether the arms of this function that run are taken every few iterations, as far as that is known.
fn is_often(cx: &mut Interp<'_>) -> bool {
    let frame = cx.running().next_back().map_or(0, |running| running.serial);
    let arms = cx.remember(|arms: &mut Arms| arms.0.clone());
    arms.into_iter().flatten().filter(|(own, _)| *own == frame).all(|(_, test)| {
        let pace = cx.pace_of(test).map(|every| cx.eval(every));
        !is_for_the_first(cx.tree(cx.file()), test)
            && pace.and_then(|pace| pace.as_known_int()).is_none_or(|every| every <= SHORT)
    })
}

/// Whether an arm that runs in this function asks what something holds: `z = self.params[1].item()`, `if z < 0: …`.
pub(super) fn is_behind_itself(cx: &mut Interp<'_>, held: ExprId) -> bool {
    let frame = cx.running().next_back().map_or(0, |running| running.serial);
    let arms = cx.remember(|arms: &mut Arms| arms.0.clone());
    let mut tests = arms.into_iter().flatten().filter(|(own, _)| *own == frame);
    tests.any(|(_, test)| is_made_of(cx, test, held, DEEPEST))
}

/// Whether a value comes from another one, by operators, calls and names of the function.
fn is_made_of(cx: &Interp<'_>, value: ExprId, held: ExprId, depth: u32) -> bool {
    let file = cx.file();
    let tree = cx.tree(file);
    if depth == 0 || cx.same_target(value, held) {
        return depth > 0;
    }
    let here = cx.running().next_back().and_then(|running| running.function);
    match &tree.expr(value).kind {
        ExprKind::Name(_) => {
            let module = cx.module(file);
            let own = subject_of(tree, &module.names, value, here);
            own.is_some_and(|own| {
                let mut values = module.relations().bindings(own).filter(|(_, function)| *function == here);
                values.any(|(value, _)| is_made_of(cx, value, held, depth - 1))
            })
        }
        ExprKind::Call { callee: inner, .. } | ExprKind::Attribute { base: inner, .. } => {
            is_made_of(cx, *inner, held, depth)
        }
        other => {
            let mut found = false;
            other.each_operand(|operand| found |= is_made_of(cx, operand, held, depth));
            found
        }
    }
}

/// Numbers, tensors without a graph, and empty containers.
fn is_blank(cx: &Interp<'_>, value: &Value) -> bool {
    match value.bare() {
        Value::Int(_) | Value::Float(_) | Value::None => true,
        Value::Tensor(tensor) => !tensor.graph.is_live(),
        Value::Obj(object) => match &cx.heap.get(*object).state {
            State::List(Items { exact: Some(items), .. }) => items.is_empty(),
            State::Dict(entries) => entries.known.is_empty(),
            _ => false,
        },
        _ => false,
    }
}

/// What a name or an attribute is, for whoever meets it again.
pub(super) fn holder_of(cx: &Interp<'_>, target: ExprId) -> Option<Holder> {
    match cx.tree(cx.file()).expr(target).kind {
        ExprKind::Name(name) => cx.locals().map(|names| Holder::Named(names, name)),
        ExprKind::Attribute { base, name, .. } => {
            let ExprKind::Name(owner) = cx.tree(cx.file()).expr(base).kind else { return None };
            let owner = cx.heap.attr(cx.locals()?, owner)?.as_obj()?;
            Some(Holder::Named(owner, name))
        }
        _ => None,
    }
}
