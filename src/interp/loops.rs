//! Loops: a body runs until what it leaves no longer changes what it starts with; a short sequence of
//! known values is run value by value.

use super::one_by_one::{numbers_of_layers, runs_one_by_one};
use super::{
    Drawn, DrawnByName, Interp, LoopOver, branch::Arm, call_path::Hop, drawn, elements, listing,
    listing::Asked, stmt::Flow,
};
use crate::report::{Place, Span};
use crate::syntax::*;
use crate::trace::{Exit, LoopId, LoopInfo, Node, Over, When};
use crate::values::*;
use std::rc::Rc;

/// A loop is run until nothing changes, but not more often than this.
const MOST_PASSES: usize = 3;
/// What is asked of a loop is asked of those before it, too: so many of them cost a step.
const LOOPS_A_STEP: u32 = 16;

pub(super) struct ActiveLoop {
    pub(super) id: LoopId,
    /// The epoch in which the current pass began.
    pub(super) since: u32,
    pub(super) breaks: Vec<heap::Writes>,
    pub(super) continues: Vec<heap::Writes>,
    /// Ways of branches that were running when it began.
    pub(super) arms: usize,
    /// Calls that were running when it began.
    pub(super) frames: usize,
    /// Some way through this pass, or through one of a loop in it, does not come to its end.
    pub(super) escapes: bool,
    /// Some way returns or raises from this pass.
    pub(super) leaves: bool,
    /// What this pass wrote into buffers at the loop's index.
    pub(super) written: Vec<elements::Pending>,
    /// The test of the `if` that ends the body.
    pub(super) tail: Option<ExprId>,
    /// This pass went back through what was recorded before the loop: the next one shows whether it does so again.
    pub(super) goes_back_before: bool,
    /// Models that one way through this pass left on the CPU.
    pub(super) left_behind: Vec<ObjId>,
}

impl ActiveLoop {
    /// Every way through this pass, so far, comes to its end.
    pub(super) fn goes_on(&self) -> bool {
        !self.leaves && self.breaks.is_empty() && self.continues.is_empty()
    }
}

impl<'p> Interp<'p> {
    pub(super) fn while_loop(
        &mut self,
        span: Span,
        test: ExprId,
        body: &'p [StmtId],
        otherwise: &'p [StmtId],
    ) -> Flow {
        let value = self.eval(test);
        let truth = self.truth(&value);
        if truth == Some(false) {
            return self.block(otherwise);
        }
        let place = self.place(span);
        let mut run = |interp: &mut Interp<'p>| {
            interp.eval(test);
            interp.refine(test, true);
            interp.block(body)
        };
        self.run_loop(place, Over::Counter, truth == Some(true), &mut run);
        self.loop_otherwise(body, otherwise)
    }

    /// The `else` of a loop runs where no `break` has ended it.
    fn loop_otherwise(&mut self, body: &'p [StmtId], otherwise: &'p [StmtId]) -> Flow {
        if otherwise.is_empty() || !breaks(self.here(), body) {
            return self.block(otherwise);
        }
        let mut ended = |interp: &mut Interp<'p>| interp.block(otherwise);
        self.branch(When::Unknown, &mut [&mut ended, &mut |_| Flow::Next])
    }

    pub(super) fn for_loop(
        &mut self,
        span: Span,
        target: ExprId,
        iter: ExprId,
        body: &'p [StmtId],
        otherwise: &'p [StmtId],
    ) -> Flow {
        let iterable = self.eval(iter);
        let place = self.place(span);
        let header = self.expr_place(iter);
        self.spend(&iterable, header);
        let mut items = self.iterate(&iterable, place);
        if items.exact.is_none() {
            items.exact = numbers_of_layers(self, target, &items, body);
        }
        match items.exact {
            Some(values) if runs_one_by_one(&self.heap, self.here(), target, &values, body) => {
                if let Flow::Stop(exit) = self.unrolled(place, target, values, body) {
                    return Flow::Stop(exit);
                }
            }
            exact => {
                let mut any = items.any;
                if exact.is_none() && listing::params_within(&any).is_some() {
                    let asked = Asked::of(self.here(), body);
                    if let Some(flow) = self.unrolled_parameters(place, target, &iterable, &any, &asked, body)
                    {
                        return if flow == Flow::Next { self.loop_otherwise(body, otherwise) } else { flow };
                    }
                    if asked.breaks {
                        any = listing::some_of(any);
                    }
                }
                let count = exact.as_ref().map_or(items.len.int, |all| Int::Known(all.len() as i64));
                let any = match exact {
                    Some(values) => self.heap.any_of(&Items::exact(values)).unwrap_or_default(),
                    None => any,
                };
                let over = self.over(&iterable, &any);
                let count = match over {
                    Over::Loader(loader) if count.is_unknown() => self.length_of_loader(loader),
                    Over::Other if count.is_unknown() => self.length_of_iterated(iter),
                    _ => count,
                };
                let any = match over {
                    Over::Loader(loader) => self.parts_of_batch(target, any, loader),
                    Over::Other => {
                        let any = self.parts_of_unknown(target, any);
                        drawn::by_training(self, target, iter, any)
                    }
                    Over::Counter => any,
                };
                self.on_loop(&LoopOver { place, any: &any });
                let id = self.out.loops.len();
                let drawn = objects_in(&any);
                let tail = self.test_at_the_end(body);
                let mut run = |interp: &mut Interp<'p>| {
                    if let Some(active) = interp.active.last_mut() {
                        active.tail = tail;
                    }
                    let any = interp.this_pass(&any);
                    let any = interp.this_batch(any, place);
                    interp.assign(target, any);
                    interp.block(body)
                };
                self.run_loop(place, over, true, &mut run);
                if let Some(info) = self.out.loops.get_mut(id) {
                    info.count = count;
                    info.changed = info.changed.union(&drawn);
                }
            }
        }
        if self.may_break_off() {
            self.lose_track(&iterable);
        } else if matches!(iterable.bare(), Value::Params(_)) {
            self.without_round();
        }
        self.loop_otherwise(body, otherwise)
    }

    /// Runs the body for each parameter, where it tells them apart.
    fn unrolled_parameters(
        &mut self,
        place: Place,
        target: ExprId,
        iterable: &Value,
        any: &Value,
        asked: &Asked,
        body: &'p [StmtId],
    ) -> Option<Flow> {
        let rows = self.told_apart(target, any, &asked.tests, asked.breaks)?;
        let flow = self.unrolled(place, target, rows, body);
        if asked.breaks {
            self.lose_track(iterable);
        }
        Some(flow)
    }

    pub(super) fn over(&self, iterable: &Value, any: &Value) -> Over {
        if let Some(loader) = self.loader_of(iterable) {
            return Over::Loader(loader);
        }
        match any {
            Value::Int(num) if num.tag == Tag::Counter => Over::Counter,
            _ => Over::Other,
        }
    }

    /// The variable of a loop over parameters stands for all of them: what its body does to it is done to each, once.
    fn without_round(&mut self) {
        let Some(open) = self.trace.last_mut() else { return };
        match open.pop() {
            Some(Node::Loop { body, .. }) if !has_exits(&body) => open.extend(body),
            other => open.extend(other),
        }
    }

    /// What an iterator gives next: `next(batches)`, `batches.__next__()`.
    pub(super) fn drawn(&mut self, iterator: &Value, place: Place) -> Value {
        self.note_drawn(iterator);
        if let (Some(iterator), Some(loader)) = (iterator.as_obj(), self.loader_of(iterator))
            && iterator != loader
        {
            self.on_drawn(&Drawn { loader, iterator, place });
        }
        self.iterate(iterator, place).any
    }

    /// `batches.next()` is what Python 2 writes for it.
    pub(super) fn drawn_by(&mut self, name: &str, iterator: ObjId, place: Place) {
        if let Some(loader) = self.loader_of(&Value::Obj(iterator)).filter(|_| name == "next") {
            self.on_drawn_by_name(&DrawnByName { loader, place });
        }
    }

    /// `next(batches)`: a loop that draws from an iterator older than its iterations goes through the loader behind it.
    pub(super) fn note_drawn(&mut self, iterator: &Value) {
        let Some(active) = self.active.last() else { return };
        let older = |object: ObjId| self.heap.get(object).epoch < active.since;
        let drawn = iterator.as_obj().filter(|object| older(*object));
        let loader = drawn.and_then(|_| self.loader_of(iterator)).filter(|loader| Some(*loader) != drawn);
        let info = &mut self.out.loops[active.id.0 as usize];
        if let (Some(loader), Over::Counter) = (loader, &info.over) {
            info.over = Over::Loader(loader);
        }
    }

    /// Runs the body for each of a few known values; breaks and continues stay inside.
    fn unrolled(&mut self, place: Place, target: ExprId, values: Vec<Value>, body: &'p [StmtId]) -> Flow {
        let path = self.sites.path;
        let mut may_have_ended = false;
        for (index, value) in values.into_iter().enumerate() {
            let value = if may_have_ended { listing::doubted(&value) } else { value };
            self.sites.path = path;
            self.enter_path(Hop::Nth(place, index as u32));
            self.assign(target, value);
            self.trace.push(Vec::new());
            let flow = self.block(body);
            let nodes = self.trace.pop().unwrap_or_default();
            may_have_ended |= may_leave(&nodes);
            // An exit of one round ends that round: a call node would catch returns, so rounds with exits are branches.
            match flow {
                Flow::Stop(Exit::Return | Exit::Raise) => {
                    nodes.into_iter().for_each(|node| self.push(node));
                    self.sites.path = path;
                    return flow;
                }
                Flow::Stop(Exit::Break) => {
                    self.push_round(nodes);
                    break;
                }
                _ => self.push_round(nodes),
            }
        }
        self.sites.path = path;
        Flow::Next
    }

    /// The events of one unrolled round; `break` and `continue` in it no longer belong to a loop of the trace.
    fn push_round(&mut self, nodes: Vec<Node>) {
        nodes.into_iter().filter_map(without_loop_exits).for_each(|node| self.push(node));
    }

    /// Runs a body until what it leaves no longer changes what it starts with.
    pub(super) fn run_loop(&mut self, place: Place, over: Over, at_least_once: bool, body: Arm<'_, 'p>) {
        self.burn(self.out.loops.len() as u32 / LOOPS_A_STEP);
        let id = LoopId(self.out.loops.len() as u32);
        let outer: Rc<[LoopId]> = self.active.iter().map(|active| active.id).collect();
        let (changed, count) = (ObjSet::default(), Int::Unknown);
        let receiver = self.frames.last().and_then(|frame| frame.receiver.as_ref()?.as_obj());
        let of_model = receiver.is_some_and(|object| self.heap.get(object).module().is_some());
        self.out.loops.push(LoopInfo { place, over, first: self.epoch + 1, outer, changed, count, of_model });
        self.active.push(ActiveLoop {
            id,
            since: 0,
            breaks: Vec::new(),
            continues: Vec::new(),
            arms: self.passes.arms,
            frames: self.frames.len(),
            escapes: false,
            leaves: false,
            written: Vec::new(),
            tail: None,
            goes_back_before: false,
            left_behind: Vec::new(),
        });
        let seen = self.out.observations.len();
        for pass in 1..=MOST_PASSES {
            self.forget_observations(seen);
            self.begin_pass();
            self.heap.begin();
            self.trace.push(Vec::new());
            let flow = body(self);
            let nodes = self.trace.pop().unwrap_or_default();
            if let Some(active) = self.active.last_mut() {
                let continues = std::mem::take(&mut active.continues);
                continues.iter().for_each(|writes| {
                    self.heap.join_in(writes);
                });
            }
            let writes = self.heap.rollback();
            let goes_round = flow == Flow::Next || flow == Flow::Stop(Exit::Continue);
            self.heap.begin();
            let changed = goes_round && self.heap.join_round(&writes);
            let head = self.heap.rollback();
            let asked = self.active.last().is_some_and(|active| pass == 1 && active.goes_back_before);
            let last = pass == MOST_PASSES || !(changed || goes_round && asked) || self.is_out_of_fuel();
            if !last {
                if pass == 1 {
                    self.second_iteration(writes, body);
                }
                self.heap.apply(head);
                continue;
            }
            self.out.loops[id.0 as usize].changed = writes.objects().collect();
            self.heap.apply(if at_least_once { writes } else { head });
            self.push(Node::Loop { id, body: nodes });
            break;
        }
        if let Some(active) = self.active.pop() {
            self.settle_writes(&active.written);
            active.breaks.iter().for_each(|writes| {
                self.heap.join_in(writes);
            });
        }
    }

    /// Of a tensor or model that is elsewhere from the second iteration on, what holds for all of them says no device. The
    /// second is run by itself, for what is certain in it.
    fn second_iteration(&mut self, first: heap::Writes, body: Arm<'_, 'p>) {
        let behind = self.active.last_mut().map(|active| std::mem::take(&mut active.left_behind));
        let behind = self.still_behind(behind.unwrap_or_default(), &first);
        if behind.is_empty() && !self.heap.moves(&first) {
            return;
        }
        self.begin_pass();
        self.heap.begin();
        self.heap.apply(first);
        behind.into_iter().for_each(|model| self.leave_on_cpu(model));
        self.trace.push(Vec::new());
        let outer = std::mem::replace(&mut self.passes.second, true);
        body(self);
        self.passes.second = outer;
        self.trace.pop();
        self.heap.rollback();
    }

    /// A way that ends here comes to the end of no pass; but one that ends an inner loop, or a call, goes on around it.
    pub(super) fn escape(&mut self, flow: Flow) {
        let Flow::Stop(exit) = flow else { return };
        self.active.iter_mut().for_each(|active| active.escapes = true);
        let left = match exit {
            Exit::Break | Exit::Continue => return,
            Exit::Return => self.frames.last().map_or(0, |frame| frame.around_loops),
            Exit::Raise => 0,
        };
        self.active.iter_mut().skip(left).for_each(|active| active.leaves = true);
    }

    pub(super) fn begin_pass(&mut self) {
        self.epoch += 1;
        if let Some(active) = self.active.last_mut() {
            active.since = self.epoch;
            active.breaks.clear();
            active.continues.clear();
            active.escapes = false;
            active.leaves = false;
            active.written.clear();
            active.left_behind.clear();
        }
    }

    /// The test of the `if` that a loop's body ends with.
    fn test_at_the_end(&self, body: &[StmtId]) -> Option<ExprId> {
        match &self.here().stmt(*body.last()?).kind {
            StmtKind::If { arms, .. } => arms.first().map(|(test, _)| *test),
            _ => None,
        }
    }

    /// How a way goes on behind such an `if`, as in `if i == len(loader) - 1: validate(model)`: after the last iteration there is no next one.
    pub(super) fn after_last(&mut self, flow: Flow, test: Option<ExprId>) -> Flow {
        match test {
            Some(test) if flow == Flow::Next && self.is_at_the_end(test) && self.is_for_the_last(test) => {
                self.exit(Exit::Break)
            }
            _ => flow,
        }
    }

    /// Whether a test is that of the innermost loop's last statement, on no other way of a branch.
    fn is_at_the_end(&self, test: ExprId) -> bool {
        self.active.last().is_some_and(|active| {
            active.tail == Some(test)
                && active.frames == self.frames.len()
                && active.arms + 1 == self.passes.arms
        })
    }

    /// Whether a test compares the loop's index with the last number that it takes.
    fn is_for_the_last(&mut self, test: ExprId) -> bool {
        let ExprKind::Compare { first, rest } = &self.here().expr(test).kind else { return false };
        let [(CompareOp::Eq, second)] = **rest else { return false };
        let sides = [self.eval(*first), self.eval(second)];
        let is_last = |index: &Value, bound: &Value| {
            let (Value::Int(index), Some(bound)) = (index, bound.as_int()) else { return false };
            let nth = index.nth.filter(|_| index.tag == Tag::Counter);
            nth.is_some_and(|nth| bound.sub(&self.end(nth)).known() == Some(-1))
        };
        let [a, b] = &sides;
        self.counts_this_loop(a) && is_last(a, b) || self.counts_this_loop(b) && is_last(b, a)
    }

    /// Whether the pass of the innermost loop began after this epoch.
    pub fn loop_since(&self) -> u32 {
        self.active.last().map_or(0, |active| active.since)
    }

    /// The outermost of the running loops whose iteration is younger than this, by its place among them.
    pub(crate) fn outlived(&self, age: u32) -> Option<usize> {
        self.active.iter().position(|active| active.since > age)
    }

    /// Whether a loop over the batches of a loader runs.
    pub(super) fn in_batches(&self) -> bool {
        self.active.iter().any(|active| matches!(self.out.loops[active.id.0 as usize].over, Over::Loader(_)))
    }

    /// Whether a loop over the batches of a loader runs that puts one sample into each.
    pub(crate) fn goes_through_single_samples(&self) -> bool {
        self.active.iter().any(|active| match self.out.loops[active.id.0 as usize].over {
            Over::Loader(loader) => match &self.heap.get(loader).state {
                State::Loader(loader) => loader.batch_size.as_known_int() == Some(1),
                _ => false,
            },
            _ => false,
        })
    }

    pub fn in_loop(&self) -> bool {
        !self.active.is_empty()
    }
}

/// The objects that a loop draws, each of them another one in each iteration.
fn objects_in(drawn: &Value) -> ObjSet {
    match drawn {
        Value::Tuple(parts) => parts.iter().filter_map(Value::as_obj).collect(),
        one => one.as_obj().into_iter().collect(),
    }
}

/// Whether a statement of a loop's body ends that loop by `break`.
fn breaks(tree: &Tree, body: &[StmtId]) -> bool {
    body.iter().any(|statement| match &tree.stmt(*statement).kind {
        StmtKind::Break => true,
        StmtKind::For { .. } | StmtKind::While { .. } => false,
        other => other.blocks().into_iter().any(|body| breaks(tree, body)),
    })
}

/// Whether a way through a loop's body leaves out what comes later in it.
fn has_exits(body: &[Node]) -> bool {
    body.iter().any(|node| match node {
        Node::Exit(_) => true,
        Node::Branch { arms, .. } => arms.iter().any(|arm| has_exits(arm)),
        _ => false,
    })
}

/// Whether a loop's body may end the loop itself.
pub(super) fn may_leave(body: &[Node]) -> bool {
    body.iter().any(|node| match node {
        Node::Exit(exit) => matches!(exit, Exit::Break | Exit::Return),
        Node::Branch { arms, .. } => arms.iter().any(|arm| may_leave(arm)),
        _ => false,
    })
}

/// Takes `break` and `continue` out of a round that is no loop of the trace any more.
fn without_loop_exits(node: Node) -> Option<Node> {
    match node {
        Node::Exit(Exit::Break | Exit::Continue) => None,
        Node::Branch { when, arms } => Some(Node::Branch {
            when,
            arms: arms
                .into_iter()
                .map(|arm| arm.into_iter().filter_map(without_loop_exits).collect())
                .collect(),
        }),
        other => Some(other),
    }
}
