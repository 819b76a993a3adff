//! Loops over single numbers: the indices that count through a loop, what they pick, and what is written
//! at them. A loop that writes each number of a buffer computes the buffer.

use super::call_path::CallPath;
use super::{ElementRead, ElementWrite, Interp};
use crate::apis::Transfer;
use crate::report::Place;
use crate::syntax::{CompareOp, ExprId};
use crate::trace::LoopId;
use crate::values::*;
use smallvec::SmallVec;
use std::rc::Rc;
use ustr::Ustr;

/// The attribute of a buffer's object that holds what is in it.
pub(super) const CONTENT: Note = Note::new("content");

type Indices = SmallVec<[Nth; 2]>;

/// What is known of the passes of the loops that run, and of the ways through branches.
#[derive(Default)]
pub(super) struct Passes {
    /// The passes that count one by one.
    pub(super) counts: Vec<Count>,
    /// Where iterators were gone through: by the way that led there, and the place.
    pub(super) endings: Vec<(CallPath, Place)>,
    /// Ways of branches that are running.
    pub(super) arms: usize,
    /// Those of them that only the first iteration of a loop takes, or only the others.
    pub(super) first_only: usize,
    /// The second iteration of a loop runs by itself.
    pub(super) second: bool,
    /// What follows a branch runs for one of its ways.
    pub(super) apart: bool,
    /// How many steps that took beyond one run.
    pub(super) spent_apart: u32,
    /// The test of the conditional expression that ran last and gives one of two things that have nothing in common.
    pub(super) chosen: Option<(ExprId, Value, Value)>,
}

/// One pass of a loop that counts one by one.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    /// How often the loop runs.
    pub len: Int,
    /// What says so.
    pub place: Place,
    pub over: Option<LoopId>,
}

/// What a loop wrote into a buffer, until it is known whether it came to its end.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    place: Place,
    buffer: ObjId,
    formula: Option<Formula>,
    /// Every number was written, whatever they are.
    complete: bool,
}

impl Interp<'_> {
    /// The index of a sequence that is counted through.
    pub(crate) fn counted(&mut self, len: Int, start: i64, place: Place) -> Nth {
        self.passes.counts.push(Count { len, place, over: None });
        Nth { count: self.passes.counts.len() as u32 - 1, plus: start }
    }

    /// The loop that an index counts through.
    pub(crate) fn count(&self, nth: Nth) -> &Count {
        &self.passes.counts[nth.count as usize]
    }

    /// One past the last number that an index takes.
    pub(crate) fn end(&self, nth: Nth) -> Int {
        self.count(nth).len.add(&Int::Known(nth.plus))
    }

    /// Whether these are the positions along an axis of a size, in order: `range(size)`, `torch.arange(size)`.
    pub(crate) fn counts_up_to(&self, positions: &Value, size: &Int) -> bool {
        match positions.bare() {
            Value::Obj(object) => {
                let State::List(items) = &self.heap.get(*object).state else { return false };
                let Value::Int(any) = &items.any else { return false };
                items.len.int == *size && any.nth.is_some_and(|nth| nth.plus == 0)
            }
            Value::Tensor(tensor) => {
                let made_by = tensor.what.and_then(|what| self.apis.get(what)?.transfer());
                matches!(made_by, Some(Transfer::Arange | Transfer::ArrayRange))
                    && matches!(tensor.shape.as_deref(), Some([count]) if count == size)
            }
            _ => false,
        }
    }

    /// The index in one pass of a loop: what earlier passes left is another.
    pub(super) fn this_pass(&mut self, any: &Value) -> Value {
        let num = match any {
            Value::Int(num) => num,
            // The index that `enumerate` gives with each item.
            Value::Tuple(items) => match &**items {
                [index @ Value::Int(_), rest @ ..] => {
                    let index = self.this_pass(index);
                    return Value::tuple(std::iter::once(index).chain(rest.iter().cloned()).collect());
                }
                _ => return any.clone(),
            },
            _ => return any.clone(),
        };
        let Some(nth) = num.nth else { return any.clone() };
        let over = self.active.last().map(|active| active.id);
        let count = Count { over, ..self.count(nth).clone() };
        self.passes.counts.push(count);
        let nth = Some(Nth { count: self.passes.counts.len() as u32 - 1, ..nth });
        Value::Int(Num { nth, ..num.clone() })
    }

    /// What an index is in the first iteration of the loop that it counts through, and that loop.
    pub(super) fn first_index(&self, value: &Value) -> Option<(i64, LoopId)> {
        let Value::Int(num) = value else { return None };
        let nth = num.nth.filter(|_| num.tag == Tag::Counter)?;
        Some((nth.plus, self.count(nth).over?))
    }

    /// Whether a number is the index of the innermost loop that runs.
    pub(super) fn counts_this_loop(&self, value: &Value) -> bool {
        let innermost = self.active.last().map(|active| active.id);
        innermost.is_some() && self.first_index(value).map(|(_, id)| id) == innermost
    }

    /// What a comparison of an index with a bound gives, where it holds in every pass.
    pub(super) fn compare_index(&self, op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
        let (nth, bound) = match op {
            CompareOp::Less => bounded_index(left, right)?,
            CompareOp::Greater => bounded_index(right, left)?,
            _ => return None,
        };
        self.is_always_under(nth, &bound).then_some(true)
    }

    /// Whether an index is under a bound in every pass of its loop.
    pub(crate) fn is_always_under(&self, index: Nth, bound: &Int) -> bool {
        bound.sub(&self.end(index)).known().is_some_and(|rest| rest >= 0)
    }

    /// A tensor that nobody has written into gets an object that holds what is.
    pub(super) fn buffered(&mut self, transfer: Transfer, place: Place, tensor: &mut Tensor) {
        if !transfer.allocates() || tensor.numbers.is_some() {
            return;
        }
        let buffer = self.heap.alloc(Object {
            class: ClassRef::Builtin,
            attrs: Vec::new(),
            notes: Vec::new(),
            state: State::Plain,
            site: place,
            epoch: self.epoch,
            confidence: self.supposed.trust,
        });
        tensor.numbers = Some(Rc::new(Numbers { buffer: Some(buffer), ..Numbers::default() }));
    }

    /// Whether nobody has written into a buffer.
    pub(crate) fn is_blank(&self, buffer: ObjId) -> bool {
        self.heap.noted(buffer, CONTENT).is_none()
    }

    /// Writes all numbers of a buffer.
    pub(crate) fn fill(&mut self, buffer: ObjId, formula: Formula) {
        let numbers = Some(Rc::new(Numbers::of(formula)));
        let content = Value::tensor(Tensor { numbers, ..Tensor::default() });
        self.heap.note(buffer, CONTENT, content);
    }

    /// What an index picks: single numbers at the indices of loops keep their formula, other parts lose it.
    pub(super) fn pick(&mut self, whole: &Tensor, index: &Value, mut part: Tensor, place: Place) -> Tensor {
        part.numbers = match loop_indices(index) {
            Some(found) if found.iter().all(|nth| nth.plus == 0) => {
                let before = whole.numbers.as_deref();
                let at: Indices =
                    before.map_or(&[][..], |numbers| &numbers.at).iter().copied().chain(found).collect();
                let formula = self.formula_of(whole).or_else(|| Some(Formula::some()));
                self.on_element_read(&ElementRead { tensor: whole, at: &at, part: &part, place });
                let buffer = before.and_then(|numbers| numbers.buffer);
                Some(Rc::new(Numbers { formula, buffer, at }))
            }
            _ => None,
        };
        part
    }

    /// `x[i] = value` of a tensor.
    pub(super) fn write_element(&mut self, whole: &Tensor, index: &Value, value: &Value, place: Place) {
        let before = whole.numbers.clone().unwrap_or_default();
        let written = loop_indices(index);
        let at: Indices = before.at.iter().copied().chain(written.iter().flatten().copied()).collect();
        let formula = value.as_tensor().and_then(|value| {
            let numbers = value.numbers.as_ref()?;
            self.formula_of(value).filter(|_| numbers.at == at)
        });
        self.on_element_write(&ElementWrite {
            tensor: whole,
            index,
            at: &at,
            value,
            formula: formula.as_ref(),
            place,
        });
        if let Some(formula) = before.formula.as_ref().filter(|_| before.buffer.is_none()) {
            formula.spoil();
        }
        let Some(buffer) = before.buffer else { return };
        self.fill(buffer, Formula::some());
        if let Some(written) = value.as_tensor().filter(|written| !matches!(written.graph, Graph::None)) {
            self.share_graph(buffer, &written.graph.clone());
        }
        if written.is_some() {
            let complete = before.at.is_empty() && self.is_whole(whole, &at);
            self.expect_whole(&at, Pending { place, buffer, formula, complete });
        }
    }

    /// What is written through a view or by a helper has its graph in the tensor under every name.
    fn share_graph(&mut self, buffer: ObjId, graph: &Graph) {
        let mut envs: Vec<ObjId> = self.frames.iter().map(|frame| frame.env).collect();
        envs.dedup();
        for env in envs {
            let holds = |value: &Value| match value {
                Value::Tensor(tensor) => {
                    tensor.numbers.as_ref().is_some_and(|numbers| numbers.buffer == Some(buffer))
                }
                _ => false,
            };
            let attrs = &self.heap.get(env).attrs;
            let names: Vec<Ustr> =
                attrs.iter().filter(|(_, value)| holds(value)).map(|(name, _)| *name).collect();
            for name in names {
                let Some(Value::Tensor(tensor)) = self.heap.attr(env, name).cloned() else { continue };
                let graph = tensor.graph.union(graph);
                let shared = Value::tensor(Tensor { graph, ..(*tensor).clone() });
                self.heap.get_mut(env).set_attr(name, shared);
            }
        }
    }

    /// Whether indices go through all numbers of a tensor.
    fn is_whole(&self, whole: &Tensor, at: &[Nth]) -> bool {
        let covers =
            |(nth, size): (&Nth, &Int)| nth.plus == 0 && !size.is_unknown() && self.count(*nth).len == *size;
        whole
            .shape
            .as_ref()
            .is_some_and(|shape| shape.len() == at.len() && at.iter().zip(shape.iter()).all(covers))
    }

    /// Leaves a write with the outermost of the loops that it counts through.
    fn expect_whole(&mut self, at: &[Nth], mut pending: Pending) {
        let arms = self.passes.arms;
        let Some(outermost) = self.outermost(at) else { return };
        if let Some(active) = self.active.iter_mut().find(|active| active.id == outermost) {
            pending.complete &= !active.escapes && active.arms == arms;
            active.written.retain(|known| known.place != pending.place);
            active.written.push(pending);
        }
    }

    fn outermost(&self, at: &[Nth]) -> Option<LoopId> {
        at.iter().filter_map(|nth| self.count(*nth).over).min()
    }

    /// Behind a loop its writes are what is in the buffers, where it wrote them whole.
    pub(super) fn settle_writes(&mut self, written: &[Pending]) {
        for write in written {
            let alone = written.iter().filter(|other| other.buffer == write.buffer).count() == 1;
            if let Some(formula) = write.formula.clone().filter(|_| write.complete && alone) {
                self.fill(write.buffer, formula);
            }
        }
    }

    /// Whether something in the loops that indices count through decides if the running code runs.
    pub(crate) fn is_conditional(&self, at: &[Nth]) -> bool {
        let outer = self.outermost(at).and_then(|id| self.active.iter().find(|active| active.id == id));
        outer.map_or(self.passes.arms > 0, |outer| outer.escapes || outer.arms != self.passes.arms)
    }
}

/// The indices of loops that an index consists of.
pub(crate) fn loop_indices(index: &Value) -> Option<Indices> {
    let one = |value: &Value| match value {
        Value::Int(num) => num.nth,
        _ => None,
    };
    index_parts(index).iter().map(one).collect::<Option<Indices>>().filter(|found| !found.is_empty())
}

/// An index of a loop and a number that the script knows, to be compared with each other.
pub(crate) fn bounded_index(index: &Value, bound: &Value) -> Option<(Nth, Int)> {
    let (Value::Int(Num { nth: Some(nth), .. }), Value::Int(bound)) = (index, bound) else { return None };
    (!bound.is_given() && bound.nth.is_none()).then(|| (*nth, bound.int.clone()))
}

/// What an index consists of: one for each dimension.
pub(crate) fn index_parts(index: &Value) -> &[Value] {
    match index {
        Value::Tuple(items) => items,
        other => std::slice::from_ref(other),
    }
}
