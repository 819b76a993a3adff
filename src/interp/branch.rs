//! Branches: every way runs on the heap as it was before, and what the ways wrote is joined.
//! `if`, `try` and `match` are branches; the condition says when an arm is taken.

use super::{
    ArmEnd, Branch, Interp, Test, Tried, Uncalled, answered, apart, apart::Rest, left_out, questions,
    stmt::Flow,
};
use crate::report::Confidence;
use crate::syntax::*;
use crate::trace::{Effect, Exit, LoopId, Node, When};
use crate::values::*;
use smallvec::SmallVec;
use std::rc::Rc;
use ustr::Ustr;

/// So many names and items that the arms of a branch leave are joined for one step.
const JOINED_A_STEP: u32 = 32;

/// What an arm does; it owns what it needs.
pub(super) type Boxed<'a, 'p> = Box<dyn FnMut(&mut Interp<'p>) -> Flow + 'a>;

/// One arm of a branch.
pub(super) type Arm<'a, 'p> = &'a mut dyn FnMut(&mut Interp<'p>) -> Flow;

/// An arm of an `if` that may run.
#[derive(Clone, Copy)]
struct OpenArm<'p> {
    /// Its place among all arms.
    index: usize,
    test: Option<ExprId>,
    body: &'p [StmtId],
    /// A question for the device led here, and the answer need not be the GPU: what is made here by default is
    /// where the script wants it.
    by_device: bool,
}

/// How often the script asked for the device so far, and whether one of the questions led here whose answer need
/// not be the GPU.
#[derive(Default)]
struct DeviceQuestions {
    asked: u32,
    off_gpu: bool,
}

impl<'p> Interp<'p> {
    pub(crate) fn asked_for_device(&mut self) {
        self.remember(|questions: &mut DeviceQuestions| questions.asked += 1);
        self.on_device_query(());
    }

    fn device_questions(&mut self) -> u32 {
        self.remember(|questions: &mut DeviceQuestions| questions.asked)
    }

    /// A function is always true.
    pub(super) fn asked_truth(&mut self, test: ExprId, value: &Value) {
        if let Value::Api(_) = value {
            let place = self.expr_place(test);
            self.on_uncalled(&Uncalled { value, attribute: Ustr::from("__bool__"), place });
        }
    }

    /// Whether this runs in an arm that is not for the GPU alone, of a question for the device.
    pub(crate) fn is_off_gpu(&mut self) -> bool {
        self.remember(|questions: &mut DeviceQuestions| questions.off_gpu)
    }

    fn go_off_gpu(&mut self, off: bool) -> bool {
        self.remember(|questions: &mut DeviceQuestions| std::mem::replace(&mut questions.off_gpu, off))
    }

    /// How many ways of branches are running of which nobody knows whether they are taken.
    pub(crate) fn undecided_arms(&self) -> usize {
        self.passes.arms
    }

    /// Each iteration of the innermost loop comes here: no branch of it decides.
    pub(crate) fn in_each_iteration(&self) -> bool {
        self.active.last().is_some_and(|active| active.arms == self.passes.arms)
    }

    pub(super) fn if_statement(&mut self, arms: &'p [(ExprId, Block)], otherwise: &'p [StmtId]) -> Flow {
        let (began, rest) = (self.moment(), self.take_rest());
        let (open, when) = self.open_arms(arms, otherwise);
        let only = match open.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        if let Some(test) = only.and_then(|only| only.test) {
            self.refine(test, true);
        }
        let branch = Branch { arms, otherwise, taken: only.map(|only| only.index), began };
        self.on_branch(&branch);
        let flow = match only {
            Some(only) => self.arm(only),
            None => self.either_arm(open, when, rest),
        };
        self.on_branch_end(&branch);
        flow
    }

    /// The arms up to the first whose test surely holds; those whose tests surely do not drop out.
    fn open_arms(
        &mut self,
        arms: &'p [(ExprId, Block)],
        otherwise: &'p [StmtId],
    ) -> (Vec<OpenArm<'p>>, When) {
        let mut open: Vec<OpenArm<'p>> = Vec::new();
        let mut when = When::Unknown;
        let mut by_device = false;
        for (index, (test, body)) in arms.iter().enumerate() {
            let (began, questions) = (self.moment(), self.device_questions());
            let value = self.eval(*test);
            let asks = self.device_questions() > questions;
            let kind = &self.here().expr(*test).kind;
            let is_flag = matches!(kind, ExprKind::Attribute { .. } | ExprKind::Call { .. });
            self.on_test(&Test { expr: *test, value: &value, began });
            self.asked_truth(*test, &value);
            self.on_condition(*test);
            let holds =
                self.truth(&value).filter(|holds| *holds || !left_out::is_left_to_callers(self, *test, body));
            if holds == Some(false) {
                continue;
            }
            if holds.is_none() && open.is_empty() {
                when = self.when_of(*test);
            }
            open.push(OpenArm { index, test: Some(*test), body, by_device: by_device || asks && !is_flag });
            by_device |= asks;
            if holds == Some(true) {
                return (open, when);
            }
        }
        if !(otherwise.is_empty() && open.len() > 1 && self.names_all_cases(arms)) {
            open.push(OpenArm { index: arms.len(), test: None, body: otherwise, by_device });
        }
        (open, when)
    }

    /// `if kind == "a": … elif kind == "b": …`: who tells cases apart by their names means to name all that there are.
    fn names_all_cases(&self, arms: &'p [(ExprId, Block)]) -> bool {
        let tree = self.here();
        let mut subjects = arms.iter().map(|(test, _)| match &tree.expr(*test).kind {
            ExprKind::Compare { first, rest } => match &**rest {
                [(CompareOp::Eq, name)] if matches!(tree.expr(*name).kind, ExprKind::Str(_)) => Some(*first),
                _ => None,
            },
            _ => None,
        });
        let text = |expr: ExprId| self.module(self.file()).source.text.get(tree.expr(expr).span.range());
        let Some(Some(first)) = subjects.next() else { return false };
        subjects.all(|subject| subject.is_some_and(|subject| text(subject) == text(first)))
    }

    fn arm(&mut self, arm: OpenArm<'p>) -> Flow {
        self.on_arm(arm.test);
        let (default, told) = (self.ambient.device, self.ambient.device_told);
        let before = arm.by_device.then(|| self.go_off_gpu(true));
        if arm.by_device {
            self.ambient.device = Device::Unknown;
        }
        let flow = self.block(arm.body);
        if let Some(before) = before {
            if self.ambient.device_told == told {
                self.ambient.device = default;
            }
            self.go_off_gpu(before);
        }
        let exit = match flow {
            Flow::Next => None,
            Flow::Stop(exit) => Some(exit),
        };
        self.on_arm_end(&ArmEnd { exit });
        flow
    }

    /// Runs arms of which any may be the one that is taken.
    fn either_arm(&mut self, open: Vec<OpenArm<'p>>, when: When, rest: &'p [StmtId]) -> Flow {
        let tests: Rc<[ExprId]> = open.iter().filter_map(|arm| arm.test).collect();
        let body = open.first().map_or(&[][..], |arm| arm.body);
        let mut closures: Vec<Boxed<'p, 'p>> = Vec::new();
        for (index, arm) in open.into_iter().enumerate() {
            let tests = tests.clone();
            closures.push(Box::new(move |interp| {
                // What the tests before it say is work for each of them; without fuel nothing is said any more.
                for test in tests.iter().take(index) {
                    if interp.is_out_of_fuel() {
                        break;
                    }
                    interp.refine(*test, false);
                    answered::recall(interp, *test, false);
                }
                if let Some(test) = arm.test {
                    interp.refine(test, true);
                    answered::recall(interp, test, true);
                }
                let flow = interp.arm(arm);
                interp.after_last(flow, arm.test)
            }));
        }
        if let (When::Phase | When::Counter, [test, ..]) = (when, &*tests) {
            self.note_pace(*test, when, body);
        }
        let mut arms: Vec<Arm<'_, 'p>> = closures.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>).collect();
        let before = self.trace.last().map_or(0, Vec::len);
        let flow = self.branch_before(when, &mut arms, Rest { stmts: rest, tests: &tests });
        questions::note(self, &tests, before);
        flow
    }

    /// How often a branch on a counter's phase is taken: `(i + 1) % every == 0`.
    fn note_pace(&mut self, test: ExprId, when: When, body: &'p [StmtId]) {
        let every = self.pace_of(test).or_else(|| self.pace_until_reset(test, body));
        let every = every.map(|every| self.eval(every));
        let (every, given) = match every {
            Some(Value::Int(num)) => (num.int.clone(), num.is_given()),
            Some(Value::Given(given)) => (given.value.as_int().cloned().unwrap_or_default(), true),
            // A counter that is past a number stays past it.
            None if when == When::Counter => (Int::Known(1), false),
            _ => (Int::Unknown, false),
        };
        let place = self.expr_place(test);
        self.event(place, Effect::Paced { every, given }, Confidence::High);
    }

    /// `count >= every`, of a count that starts again where this holds.
    fn pace_until_reset(&mut self, test: ExprId, body: &'p [StmtId]) -> Option<ExprId> {
        let tree = self.here();
        let ExprKind::Compare { first, rest } = &tree.expr(test).kind else { return None };
        let [(CompareOp::GreaterEq, every)] = **rest else { return None };
        let is_reset = |stmt: &StmtId| match &tree.stmt(*stmt).kind {
            StmtKind::Assign { targets, value } => {
                matches!(tree.expr(*value).kind, ExprKind::Int(_))
                    && targets.iter().any(|target| self.same_target(*target, *first))
            }
            _ => false,
        };
        body.iter().any(is_reset).then_some(every).filter(|_| self.tag_of(*first) == When::Counter)
    }

    /// What a counter, or its phase, is compared with in a test.
    pub(crate) fn pace_of(&mut self, test: ExprId) -> Option<ExprId> {
        let tree = self.here();
        match &tree.expr(test).kind {
            ExprKind::Compare { first, rest } => {
                let counts = |interp: &mut Self| interp.tag_of(*first) == When::Counter;
                match &**rest {
                    // `count == every`, where the count starts again.
                    [(CompareOp::Eq, other)] if counts(self) => Some(*other),
                    rest => {
                        let within =
                            |interp: &mut Self| rest.iter().find_map(|(_, operand)| interp.pace_of(*operand));
                        self.pace_of(*first).or_else(|| within(self))
                    }
                }
            }
            ExprKind::Unary { operand, .. } => self.pace_of(*operand),
            // What else lets the branch be taken takes it more often.
            ExprKind::Bool { items, .. } => items.iter().find_map(|item| self.pace_of(*item)),
            ExprKind::Binary { op: BinaryOp::Mod, right, .. } => Some(*right),
            _ => None,
        }
    }

    /// Runs each arm from here and goes on with what any of them left.
    pub(super) fn branch(&mut self, when: When, arms: &mut [Arm<'_, 'p>]) -> Flow {
        self.branch_before(when, arms, Rest { stmts: &[], tests: &[] })
    }

    /// The same before the rest of a block, which runs once for each arm where they have to be kept apart.
    pub(super) fn branch_before(&mut self, when: When, arms: &mut [Arm<'_, 'p>], rest: Rest<'_, 'p>) -> Flow {
        let mut nodes = Vec::with_capacity(arms.len());
        let mut ends = Vec::with_capacity(arms.len());
        let recorded = self.ambient.grad;
        let mut left = SmallVec::<[Option<bool>; 2]>::new();
        let first_only = usize::from(matches!(when, When::First(_) | When::Later(_)));
        self.passes.first_only += first_only;
        for arm in arms.iter_mut() {
            self.ambient.grad = recorded;
            self.heap.begin();
            self.trace.push(Vec::new());
            self.passes.arms += 1;
            let behind = self.left_behind();
            let flow = arm(self);
            self.ends_behind(behind, when, flow);
            self.passes.arms -= 1;
            nodes.push(self.trace.pop().unwrap_or_default());
            left.extend((flow == Flow::Next).then_some(self.ambient.grad));
            ends.push((flow, self.heap.rollback()));
        }
        self.passes.first_only -= first_only;
        // Each way goes on with what it has set, and behind them it is what all of them have.
        apart::arms(self, when, &mut nodes, &mut ends, rest);
        let first = left.first().copied().unwrap_or(recorded);
        self.ambient.grad = if left.iter().all(|mode| *mode == first) { first } else { None };
        if nodes.iter().any(|arm| !arm.is_empty()) {
            self.push(Node::Branch { when, arms: nodes });
        }
        ends.iter().for_each(|(flow, _)| self.escape(*flow));
        if let (When::Unknown, [(Flow::Next, one), (Flow::Next, other)]) = (when, ends.as_slice()) {
            self.choose_gpu(one, other);
            self.choose_gpu(other, one);
        }
        self.note_left_behind(when, &ends);
        let left = answered::left(self, rest.tests, &ends);
        let mut through: Option<heap::Writes> = None;
        let mut stopped = None;
        for (flow, writes) in ends {
            match flow {
                Flow::Next => {
                    through = Some(match through.take() {
                        None => writes,
                        Some(first) => self.joined(first, writes),
                    });
                }
                Flow::Stop(exit) => {
                    stopped.get_or_insert_with(|| (exit, writes.clone()));
                    self.leave_with(exit, writes);
                }
            }
        }
        let joined = self.heap.take_joined();
        self.burn(u32::try_from(joined).unwrap_or(u32::MAX) / JOINED_A_STEP);
        match (through, stopped) {
            (Some(writes), _) => {
                self.heap.apply(writes);
                left.into_iter().for_each(|left| answered::keep(self, left));
                Flow::Next
            }
            (None, Some((exit, writes))) => {
                self.heap.apply(writes);
                Flow::Stop(exit)
            }
            (None, None) => Flow::Next,
        }
    }

    /// The writes of either of two runs, as writes again.
    fn joined(&mut self, first: heap::Writes, second: heap::Writes) -> heap::Writes {
        self.heap.begin();
        self.heap.join_writes(first, second);
        self.heap.rollback()
    }

    /// Keeps what a way left that goes on elsewhere: behind the loop, at its head, at the caller.
    fn leave_with(&mut self, exit: Exit, writes: heap::Writes) {
        match exit {
            Exit::Return => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.exits.push(writes);
                }
            }
            Exit::Break => {
                if let Some(active) = self.active.last_mut() {
                    active.breaks.push(writes);
                }
            }
            Exit::Continue => {
                if let Some(active) = self.active.last_mut() {
                    active.continues.push(writes);
                }
            }
            Exit::Raise => {}
        }
    }

    pub(super) fn try_statement(
        &mut self,
        body: &'p [StmtId],
        handlers: &'p [Handler],
        otherwise: &'p [StmtId],
        finally: &'p [StmtId],
    ) -> Flow {
        let mut main = |interp: &mut Interp<'p>| match interp.block(body) {
            Flow::Next => interp.block(otherwise),
            stop => stop,
        };
        let mut handling: Vec<Boxed<'p, 'p>> = Vec::new();
        for handler in handlers {
            handling.push(Box::new(move |interp| {
                if let Some(name) = handler.name {
                    interp.set_name(name, Value::Unknown);
                }
                interp.block(&handler.body)
            }));
        }
        let flow = if handlers.is_empty() {
            main(self)
        } else if self.only_imports(body) {
            // The usual guard of an optional dependency: the import works, or the handler stands in for it.
            main(self)
        } else {
            let mut arms: Vec<Arm<'_, 'p>> = vec![&mut main];
            arms.extend(handling.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>));
            let began = self.trace_point();
            let flow = self.branch(When::Exception, &mut arms);
            self.on_try_end(&Tried { handlers, began });
            flow
        };
        match self.block(finally) {
            Flow::Next => flow,
            stop => stop,
        }
    }

    fn only_imports(&self, body: &[StmtId]) -> bool {
        let tree = self.here();
        body.iter()
            .any(|stmt| matches!(tree.stmt(*stmt).kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. }))
    }

    /// What decides a test whose outcome is not known.
    fn when_of(&mut self, test: ExprId) -> When {
        let tree = self.here();
        match &tree.expr(test).kind {
            ExprKind::Compare { first, rest } => {
                if let [(op, other)] = &**rest
                    && let Some(when) = self.when_first(*first, *op, *other)
                {
                    return when;
                }
                let operands = std::iter::once(*first).chain(rest.iter().map(|(_, operand)| *operand));
                operands.map(|operand| self.tag_of(operand)).fold(When::Unknown, stronger)
            }
            ExprKind::Unary { op, operand } => match (op, self.when_of(*operand)) {
                (UnaryOp::Not, When::First(id)) => When::Later(id),
                (UnaryOp::Not, When::Later(id)) => When::First(id),
                (_, When::First(_) | When::Later(_)) => When::Counter,
                (_, other) => other,
            },
            ExprKind::Bool { items, .. } => {
                items.iter().map(|item| self.when_of(*item)).fold(When::Unknown, stronger)
            }
            ExprKind::Name(_) => match self.first_index_of(test) {
                Some((0, id)) => When::Later(id),
                _ => self.tag_of(test),
            },
            ExprKind::Binary { .. } | ExprKind::Attribute { .. } => self.tag_of(test),
            _ => When::Unknown,
        }
    }

    fn first_index_of(&mut self, operand: ExprId) -> Option<(i64, LoopId)> {
        let value = self.eval(operand);
        self.first_index(&value)
    }

    /// `i == 0`, `epoch > 0`: a test that tells the first iteration of a loop from those after it.
    fn when_first(&mut self, left: ExprId, op: CompareOp, right: ExprId) -> Option<When> {
        let (index, bound, op) = match self.first_index_of(left) {
            Some(index) => (index, self.eval(right), op),
            None => (self.first_index_of(right)?, self.eval(left), turned(op)),
        };
        let ((first, id), bound) = (index, bound.as_known_int()?);
        match op {
            CompareOp::Eq if bound == first => Some(When::First(id)),
            CompareOp::Less if bound == first.checked_add(1)? => Some(When::First(id)),
            CompareOp::LessEq if bound == first => Some(When::First(id)),
            CompareOp::NotEq if bound == first => Some(When::Later(id)),
            CompareOp::Greater if bound == first => Some(When::Later(id)),
            CompareOp::GreaterEq if bound == first.checked_add(1)? => Some(When::Later(id)),
            _ => None,
        }
    }

    fn tag_of(&mut self, operand: ExprId) -> When {
        match self.eval(operand) {
            Value::Int(Num { tag: Tag::Phase, .. }) => When::Phase,
            Value::Int(Num { tag: Tag::Counter, .. }) => When::Counter,
            _ => When::Unknown,
        }
    }
}

/// The same comparison with its sides changed.
fn turned(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEq => CompareOp::GreaterEq,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEq => CompareOp::LessEq,
        other => other,
    }
}

/// What of two tests decides; several together no longer tell the first iteration from the others.
fn stronger(a: When, b: When) -> When {
    match (a, b) {
        (When::Phase, _) | (_, When::Phase) => When::Phase,
        (When::Unknown, When::Unknown) => When::Unknown,
        _ => When::Counter,
    }
}
