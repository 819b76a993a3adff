//! Reads and writes of elements in loops: how often they happen, how far they reach, what keeps them in bounds.

use crate::interp::{
    Branch, Checker, Compare, ElementRead, ElementWrite, Interp, Test, bounded_index, index_parts,
    loop_indices,
};
use crate::report::{FileId, Place};
use crate::syntax::{CompareOp, ExprId};
use crate::trace::LoopId;
use crate::values::*;
use std::rc::Rc;

pub(super) static CHECKER: Checker = Checker {
    on_compare: Some(compared),
    on_test: Some(tested),
    on_arm: Some(arm_entered),
    on_arm_end: Some(|cx, _| {
        cx.remember(|bounds: &mut Bounds| bounds.running.pop());
    }),
    on_branch_end: Some(branch_ended),
    on_element_read: Some(read),
    on_element_write: Some(written),
    ..Checker::SILENT
};

/// A loop that an index counts through.
pub(super) struct CountedLoop {
    pub times: Int,
    /// What says how often it runs.
    pub place: Place,
    pub id: Option<LoopId>,
}

/// An element of a tensor on the GPU was read at the indices of loops.
pub(super) struct GpuElementRead {
    pub target: Rc<Tensor>,
    pub loops: Vec<CountedLoop>,
}

/// An element, or a part, of a tensor was written at the indices of loops, or at a known one.
pub(super) struct IndexedWrite {
    pub target: Rc<Tensor>,
    pub loops: Vec<CountedLoop>,
    /// There is an index for each dimension.
    pub single: bool,
    /// For each index how far it reaches, and how far the dimension does.
    pub reaches: Vec<(Int, Int)>,
    /// Something in the loops decides whether it is written.
    pub conditional: bool,
    /// What tests keep an index under.
    pub bounds: Vec<Int>,
    /// What is written, of the elements at the same indices.
    pub formula: Option<Formula>,
    /// The dtype of what is written.
    pub dtype: Option<DType>,
}

impl IndexedWrite {
    /// The buffer that the write goes into, through views of it.
    pub(crate) fn buffer(&self) -> Option<ObjId> {
        self.target.numbers.as_ref()?.buffer
    }
}

/// `i < size`: the loop that `i` counts through, and what the test keeps it under.
type Bound = (u32, Int);

/// What tests keep indices under.
#[derive(Default)]
struct Bounds {
    /// The last comparison of an index with a bound, and its moment.
    compared: Option<(u32, Bound)>,
    /// Tests of the running `if`s that hold for some of the indices.
    tested: Vec<(FileId, ExprId, Bound)>,
    /// For each running arm what its test keeps an index under.
    running: Vec<Option<Bound>>,
}

fn compared(cx: &mut Interp<'_>, compare: &Compare<'_>) {
    let (index, bound) = match compare.op {
        CompareOp::Less => (compare.left, compare.right),
        CompareOp::Greater => (compare.right, compare.left),
        _ => return,
    };
    let Some((nth, bound)) = bounded_index(index, bound) else { return };
    if cx.is_always_under(nth, &bound) {
        return;
    }
    let compared = Some((cx.moment(), (nth.count, bound)));
    cx.remember(|bounds: &mut Bounds| bounds.compared = compared);
}

fn tested(cx: &mut Interp<'_>, test: &Test<'_>) {
    let since = |(moment, _): &mut (u32, Bound)| *moment > test.began;
    let Some((_, bound)) = cx.remember(|bounds: &mut Bounds| bounds.compared.take_if(since)) else { return };
    if cx.truth(test.value).is_none() {
        let file = cx.file();
        cx.remember(|bounds: &mut Bounds| bounds.tested.push((file, test.expr, bound)));
    }
}

fn arm_entered(cx: &mut Interp<'_>, test: Option<ExprId>) {
    let file = cx.file();
    cx.remember(|bounds: &mut Bounds| {
        let own = |(in_file, tested, _): &&(FileId, ExprId, Bound)| *in_file == file && Some(*tested) == test;
        let bound = bounds.tested.iter().rev().find(own).map(|(_, _, bound)| bound.clone());
        bounds.running.push(bound);
    });
}

fn branch_ended(cx: &mut Interp<'_>, branch: &Branch<'_>) {
    let file = cx.file();
    let is_over = |test: ExprId| branch.arms.iter().any(|(own, _)| *own == test);
    cx.remember(|bounds: &mut Bounds| {
        bounds.tested.retain(|(in_file, test, _)| *in_file != file || !is_over(*test));
    });
}

fn read(cx: &mut Interp<'_>, read: &ElementRead<'_>) {
    if read.part.rank() == Some(0) && read.tensor.device.is_gpu() {
        let seen = GpuElementRead { target: Rc::new(read.tensor.clone()), loops: loops_of(cx, read.at) };
        cx.observe(read.place, seen, read.tensor.confidence);
    }
}

fn written(cx: &mut Interp<'_>, write: &ElementWrite<'_>) {
    if loop_indices(write.index).is_none() && !is_constant(write.index) {
        return;
    }
    let seen = IndexedWrite {
        target: Rc::new(write.tensor.clone()),
        loops: loops_of(cx, write.at),
        single: write.tensor.rank() == Some(index_parts(write.index).len()),
        reaches: reaches(cx, write.tensor, write.index),
        conditional: cx.is_conditional(write.at),
        bounds: bounds_of(cx, write.at),
        formula: write.formula.cloned(),
        dtype: write.value.as_tensor().and_then(|value| value.dtype),
    };
    cx.observe(write.place, seen, write.tensor.confidence);
}

fn is_constant(index: &Value) -> bool {
    matches!(index, Value::Int(num) if num.int.known().is_some() && num.tag == Tag::None)
}

fn loops_of(cx: &Interp<'_>, at: &[Nth]) -> Vec<CountedLoop> {
    let of = |nth: &Nth| {
        let count = cx.count(*nth);
        CountedLoop { times: count.len.clone(), place: count.place, id: count.over }
    };
    at.iter().map(of).collect()
}

/// What the tests of the running arms keep any of the indices under.
fn bounds_of(cx: &mut Interp<'_>, at: &[Nth]) -> Vec<Int> {
    cx.remember(|bounds: &mut Bounds| {
        let running = bounds.running.iter().flatten();
        let kept = running.filter(|(count, _)| at.iter().any(|nth| nth.count == *count));
        kept.map(|(_, bound)| bound.clone()).collect()
    })
}

/// For each index how far it reaches, and how far the dimension does.
fn reaches(cx: &Interp<'_>, tensor: &Tensor, index: &Value) -> Vec<(Int, Int)> {
    let Some(shape) = &tensor.shape else { return Vec::new() };
    let reach = |part: &Value| match part {
        Value::Int(Num { nth: Some(nth), .. }) => cx.end(*nth),
        Value::Int(num) if num.tag == Tag::None && !num.is_given() => match num.int {
            Int::Known(at) if at >= 0 => Int::Known(at.saturating_add(1)),
            Int::Known(at) => Int::Known(at.saturating_neg()),
            _ => Int::Unknown,
        },
        _ => Int::Unknown,
    };
    index_parts(index).iter().map(reach).zip(shape.iter().cloned()).collect()
}
