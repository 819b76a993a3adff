//! What is added up over batches: means, sums over samples, and how many there are. It is followed through names,
//! calls, arguments and what functions return. It knows nothing of what the sums are divided by.

use crate::apis::Transfer;
use crate::interp::{ApiResult, Assignment, Augment, Entered, Interp, MethodResult, Return};
use crate::names::Subject;
use crate::report::{FileId, Place};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use crate::values::Value;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addend {
    /// The mean of a batch, or a constant part of it.
    Mean,
    /// The same times the size of the batch: the sum over its samples.
    Weighted,
    /// The size of a batch.
    Size,
    /// One batch.
    One,
    Other,
}

impl Addend {
    fn plus(self, other: Addend) -> Addend {
        match (self, other) {
            (Addend::Mean, Addend::Mean) => Addend::Mean,
            (Addend::Weighted, Addend::Weighted) => Addend::Weighted,
            _ => Addend::Other,
        }
    }

    fn times(self, other: Addend) -> Addend {
        match (self, other) {
            (Addend::Mean, Addend::Size) | (Addend::Size, Addend::Mean) => Addend::Weighted,
            _ => Addend::Other,
        }
    }
}

/// What calls gave when they last ran, and what names hold.
#[derive(Default)]
struct Held {
    calls: FxHashMap<Place, Addend>,
    /// Methods that give the number that they were called on.
    passing: FxHashSet<Place>,
    names: FxHashMap<(FileId, Subject), Addend>,
}

/// `criterion(output, target)`
pub(super) fn computed(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let Some(tensor) = result.value.as_tensor() else { return };
    let (place, averaged) = (result.call.place, tensor.averaged);
    note(cx, place, averaged);
}

/// `loss.item()`, `loss.detach()`
pub(super) fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let Some(transfer) = result.api.transfer() else { return };
    let is_item = transfer == Transfer::Item;
    if (is_item || transfer == Transfer::Detach || transfer.converts())
        && let Some(tensor) = result.receiver.as_tensor()
    {
        let (place, averaged) = (result.call.place, tensor.averaged);
        cx.remember(|held: &mut Held| held.passing.insert(place));
        if is_item {
            note(cx, place, averaged);
        }
    }
}

fn note(cx: &mut Interp<'_>, call: Place, averaged: bool) {
    cx.remember(|held: &mut Held| match averaged {
        true => held.calls.insert(call, Addend::Mean),
        false => held.calls.remove(&call),
    });
}

/// `number = loss.item()`
pub(super) fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let holds = may_be_one(&assignment.result.borrow());
    let addend = if holds { addend_of(cx, assignment.value) } else { Addend::Other };
    hold(cx, assignment.target, addend);
}

/// `number *= len(batch)`
pub(super) fn changed(cx: &mut Interp<'_>, augment: &Augment<'_>) {
    let Some(before) = held_by(cx, augment.target) else { return };
    let by = addend_of(cx, augment.value);
    let addend = match augment.operator {
        BinaryOp::Add => before.plus(by),
        BinaryOp::Mul => before.times(by),
        _ => Addend::Other,
    };
    hold(cx, augment.target, addend);
}

/// `meter.update(loss.item(), inputs.size(0))`
pub(super) fn entered(cx: &mut Interp<'_>, entered: &Entered<'_>) {
    let site = entered.call.place;
    cx.remember(|held: &mut Held| held.calls.remove(&site));
    let file = entered.key.file;
    for (index, param) in cx.tree(file).function(entered.key.function).params.iter().enumerate() {
        let by_position =
            index.checked_sub(entered.bound).and_then(|index| entered.call.positional.get(index));
        let passed = by_position.or_else(|| entered.call.keyword(&param.name));
        let name = (file, Subject::Local(Some(entered.key.function), param.name));
        let given = passed.filter(|passed| may_be_one(&passed.value) && passed.place.file == cx.file());
        let given = given.and_then(|passed| cx.module(passed.place.file).expr_at(passed.place.span));
        let addend = given.map_or(Addend::Other, |given| addend_of(cx, given));
        keep(cx, name, addend);
    }
}

/// `return loss.item()`
pub(super) fn returned(cx: &mut Interp<'_>, returned: &Return<'_>) {
    let Some(site) = cx.running().next_back().and_then(|frame| frame.site) else { return };
    let addend = match returned.expr {
        Some(expr) if may_be_one(returned.value) => addend_of(cx, expr),
        _ => Addend::Other,
    };
    cx.remember(|held: &mut Held| {
        let known = held.calls.entry(site).or_insert(addend);
        if *known != addend {
            *known = Addend::Other;
        }
    });
}

/// Whether a value may be a number of a batch: a fraction that is known is none.
fn may_be_one(value: &Value) -> bool {
    match value.bare() {
        Value::Float(known) => known.is_none(),
        Value::Int(_) => true,
        Value::Tensor(tensor) => tensor.rank() == Some(0),
        _ => false,
    }
}

fn hold(cx: &mut Interp<'_>, target: ExprId, addend: Addend) {
    if let Some(of) = cx.subject_here(target) {
        keep(cx, (cx.file(), of), addend);
    }
}

fn keep(cx: &mut Interp<'_>, name: (FileId, Subject), addend: Addend) {
    cx.remember(|held: &mut Held| match addend {
        Addend::Other | Addend::One => held.names.remove(&name),
        _ => held.names.insert(name, addend),
    });
}

fn held_by(cx: &mut Interp<'_>, expr: ExprId) -> Option<Addend> {
    let name = (cx.file(), cx.subject_here(expr)?);
    cx.remember(|held: &mut Held| held.names.get(&name).copied())
}

/// What an expression that was evaluated gave.
pub(super) fn addend_of(cx: &mut Interp<'_>, expr: ExprId) -> Addend {
    let tree = cx.tree(cx.file());
    match &tree.expr(expr).kind {
        ExprKind::Int(1) => Addend::One,
        ExprKind::Name(_) | ExprKind::Attribute { .. } => read(cx, expr),
        ExprKind::Call { callee, args } => {
            let place = cx.expr_place(expr);
            let known = cx.remember(|held: &mut Held| held.calls.get(&place).copied());
            let passes = cx.remember(|held: &mut Held| held.passing.contains(&place));
            match (&tree.expr(*callee).kind, &**args) {
                (ExprKind::Name(name), [only]) if *name == "float" => addend_of(cx, only.value),
                (ExprKind::Name(name), [only]) if *name == "int" && is_batch_size(cx, only.value) => {
                    Addend::Size
                }
                _ if known.is_some() => known.unwrap_or(Addend::Other),
                (ExprKind::Attribute { base, .. }, _) if passes => addend_of(cx, *base),
                _ if is_batch_size(cx, expr) => Addend::Size,
                _ => Addend::Other,
            }
        }
        ExprKind::Subscript { .. } if is_batch_size(cx, expr) => Addend::Size,
        ExprKind::Binary { op: BinaryOp::Add, left, right } => {
            addend_of(cx, *left).plus(addend_of(cx, *right))
        }
        ExprKind::Binary { op: BinaryOp::Mul, left, right } if is_constant(cx, *left) => part(cx, *right),
        ExprKind::Binary { op: BinaryOp::Mul, left, right } if is_constant(cx, *right) => part(cx, *left),
        ExprKind::Binary { op: BinaryOp::Mul, left, right } => {
            addend_of(cx, *left).times(addend_of(cx, *right))
        }
        _ => Addend::Other,
    }
}

fn read(cx: &mut Interp<'_>, expr: ExprId) -> Addend {
    let held = held_by(cx, expr);
    let Some(value) = cx.read_again(expr) else { return held.unwrap_or(Addend::Other) };
    match held {
        _ if value.as_tensor().is_some_and(|tensor| tensor.averaged) => Addend::Mean,
        Some(held) if may_be_one(&value) => held,
        _ => Addend::Other,
    }
}

fn part(cx: &mut Interp<'_>, of: ExprId) -> Addend {
    match addend_of(cx, of) {
        whole @ (Addend::Mean | Addend::Weighted) => whole,
        _ => Addend::Other,
    }
}

/// A fraction that is written down or given from outside. A whole number may be the size of the batches.
fn is_constant(cx: &mut Interp<'_>, expr: ExprId) -> bool {
    match cx.tree(cx.file()).expr(expr).kind {
        ExprKind::Float(_) => true,
        _ => cx.read_again(expr).is_some_and(|value| matches!(value.bare(), Value::Float(Some(_)))),
    }
}

/// `len(x)`, `x.size(0)`, `x.shape[0]`
fn is_batch_size(cx: &mut Interp<'_>, expr: ExprId) -> bool {
    let tree = cx.tree(cx.file());
    let is_zero = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Int(0));
    let of = match &tree.expr(expr).kind {
        ExprKind::Call { callee, args } => match (&tree.expr(*callee).kind, &**args) {
            (ExprKind::Name(name), [only]) if *name == "len" => only.value,
            (ExprKind::Attribute { base, name, .. }, [only]) if *name == "size" && is_zero(only.value) => {
                *base
            }
            _ => return false,
        },
        ExprKind::Subscript { base, index } if is_zero(*index) => match &tree.expr(*base).kind {
            ExprKind::Attribute { base, name, .. } if *name == "shape" => *base,
            ExprKind::Call { callee, args } if args.is_empty() => match tree.expr(*callee).kind {
                ExprKind::Attribute { base, name, .. } if name == "size" => base,
                _ => return false,
            },
            _ => return false,
        },
        _ => return false,
    };
    cx.read_again(of).is_some_and(|value| value.as_tensor().is_some())
}
