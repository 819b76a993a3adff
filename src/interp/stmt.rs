//! Statements, and the joining of the ways that branches, handlers and loops open.

use super::{ActiveLoop, Interp};
use crate::report::{Place, Span};
use crate::syntax::*;
use crate::trace::{Exit, LoopId, LoopInfo, Node, Over, When};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Stop(Exit),
}

/// A loop is run until nothing changes, but not more often than this.
const MOST_PASSES: usize = 3;
/// A sequence of known values up to this length is run value by value.
const UNROLLED: usize = 8;

/// What an arm does; it owns what it needs.
type Boxed<'p> = Box<dyn FnMut(&mut Interp<'p>) -> Flow + 'p>;

/// One arm of a branch.
pub(super) type Arm<'a, 'p> = &'a mut dyn FnMut(&mut Interp<'p>) -> Flow;

impl<'p> Interp<'p> {
    pub(super) fn block(&mut self, block: &'p [StmtId]) -> Flow {
        for &stmt in block {
            if !self.burn(1) {
                return Flow::Next;
            }
            let flow = self.stmt(stmt);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    pub(super) fn stmt(&mut self, id: StmtId) -> Flow {
        let tree = self.tree(self.file());
        let stmt = tree.stmt(id);
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                self.eval(*expr);
                if self.never_returns(*expr) {
                    return self.exit(Exit::Raise);
                }
            }
            StmtKind::Assign { targets, value } => self.assign_statement(targets, *value),
            StmtKind::AugAssign { target, op, value } => self.aug_assign(*target, *op, *value),
            StmtKind::AnnAssign { target, annotation, value } => {
                self.ann_assign(*target, *annotation, *value)
            }
            StmtKind::Return(value) => {
                let value = value.map_or(Value::None, |value| self.eval(value));
                self.return_value(value);
                return self.exit(Exit::Return);
            }
            StmtKind::Raise(value) => {
                if let Some(value) = value {
                    self.eval(*value);
                }
                return self.exit(Exit::Raise);
            }
            StmtKind::Assert { test } => {
                self.eval(*test);
                self.refine(*test, true);
            }
            StmtKind::Del(targets) => targets.iter().for_each(|target| self.delete(*target)),
            StmtKind::Pass | StmtKind::Global(_) | StmtKind::Nonlocal(_) => {}
            StmtKind::Break => return self.exit(Exit::Break),
            StmtKind::Continue => return self.exit(Exit::Continue),
            StmtKind::Import(items) => items.iter().for_each(|item| self.import(item)),
            StmtKind::ImportFrom { level, module, names } => self.import_from(id, *level, *module, names),
            StmtKind::If { arms, otherwise } => return self.if_statement(arms, otherwise),
            StmtKind::While { test, body, otherwise } => {
                return self.while_loop(stmt.span, *test, body, otherwise);
            }
            StmtKind::For { target, iter, body, otherwise } => {
                return self.for_loop(stmt.span, *target, *iter, body, otherwise);
            }
            StmtKind::With { items, body } => return self.with(items, body),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                return self.try_statement(body, handlers, otherwise, finally);
            }
            StmtKind::Function(function) => self.define(*function),
            StmtKind::Class(class) => self.define_class(*class),
            StmtKind::Match { subject, cases } => return self.match_statement(*subject, cases),
        }
        Flow::Next
    }

    fn exit(&mut self, exit: Exit) -> Flow {
        self.push(Node::Exit(exit));
        Flow::Stop(exit)
    }

    fn return_value(&mut self, value: Value) {
        let Some(frame) = self.frames.last_mut() else { return };
        let joined = match frame.returned.take() {
            None => value,
            Some(other) => self.heap.join(&other, &value),
        };
        if let Some(frame) = self.frames.last_mut() {
            frame.returned = Some(joined);
        }
    }

    fn if_statement(&mut self, arms: &'p [(ExprId, Block)], otherwise: &'p [StmtId]) -> Flow {
        // Tests up to the first that surely holds; those that surely do not drop out.
        let mut open: Vec<(Option<ExprId>, &'p [StmtId])> = Vec::new();
        let mut closed = false;
        let mut when = When::Unknown;
        for (test, body) in arms {
            let value = self.eval(*test);
            match self.truth(&value) {
                Some(false) => continue,
                Some(true) => {
                    open.push((Some(*test), body));
                    closed = true;
                    break;
                }
                None => {
                    if open.is_empty() {
                        when = self.when_of(*test);
                    }
                    open.push((Some(*test), body));
                }
            }
        }
        if !closed {
            open.push((None, otherwise));
        }
        let tests: Vec<ExprId> = open.iter().filter_map(|(test, _)| *test).collect();
        if let [(test, body)] = open.as_slice() {
            if let Some(test) = test {
                self.refine(*test, true);
            }
            return self.block(body);
        }
        let mut closures: Vec<Boxed<'p>> = Vec::new();
        for (index, (test, body)) in open.into_iter().enumerate() {
            let before: Vec<ExprId> = tests.iter().take(index).copied().collect();
            closures.push(Box::new(move |interp| {
                before.iter().for_each(|test| interp.refine(*test, false));
                if let Some(test) = test {
                    interp.refine(test, true);
                }
                interp.block(body)
            }));
        }
        let mut arms: Vec<Arm<'_, 'p>> = closures.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>).collect();
        self.branch(when, &mut arms)
    }

    /// Runs each arm from here and goes on with what any of them left.
    pub(super) fn branch(&mut self, when: When, arms: &mut [Arm<'_, 'p>]) -> Flow {
        let mut nodes = Vec::with_capacity(arms.len());
        let mut ends = Vec::with_capacity(arms.len());
        for arm in arms.iter_mut() {
            self.heap.begin();
            self.trace.push(Vec::new());
            let flow = arm(self);
            nodes.push(self.trace.pop().unwrap_or_default());
            ends.push((flow, self.heap.rollback()));
        }
        if nodes.iter().any(|arm| !arm.is_empty()) {
            self.push(Node::Branch { when, arms: nodes });
        }
        let mut through: Option<heap::Writes> = None;
        let mut through_count = 0;
        let mut stopped = None;
        for (flow, writes) in ends {
            match flow {
                Flow::Next => {
                    through_count += 1;
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
        match (through, stopped) {
            (Some(writes), _) => {
                debug_assert!(through_count > 0);
                self.heap.apply(writes);
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

    fn try_statement(
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
        let mut handling: Vec<Boxed<'p>> = Vec::new();
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
            self.branch(When::Exception, &mut arms)
        };
        match self.block(finally) {
            Flow::Next => flow,
            stop => stop,
        }
    }

    fn only_imports(&self, body: &[StmtId]) -> bool {
        let tree = self.tree(self.file());
        body.iter()
            .any(|stmt| matches!(tree.stmt(*stmt).kind, StmtKind::Import(_) | StmtKind::ImportFrom { .. }))
    }

    fn match_statement(&mut self, subject: ExprId, cases: &'p [Case]) -> Flow {
        self.eval(subject);
        let mut closures: Vec<Boxed<'p>> = Vec::new();
        let mut total = false;
        for case in cases {
            total |= case.irrefutable;
            closures.push(Box::new(move |interp| {
                case.binds.iter().for_each(|name| interp.set_name(*name, Value::Unknown));
                if let Some(guard) = case.guard {
                    interp.eval(guard);
                }
                interp.block(&case.body)
            }));
        }
        if !total {
            closures.push(Box::new(|_| Flow::Next));
        }
        let mut arms: Vec<Arm<'_, 'p>> = closures.iter_mut().map(|arm| &mut **arm as Arm<'_, 'p>).collect();
        self.branch(When::Unknown, &mut arms)
    }

    fn while_loop(&mut self, span: Span, test: ExprId, body: &'p [StmtId], otherwise: &'p [StmtId]) -> Flow {
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
        self.block(otherwise)
    }

    fn for_loop(
        &mut self,
        span: Span,
        target: ExprId,
        iter: ExprId,
        body: &'p [StmtId],
        otherwise: &'p [StmtId],
    ) -> Flow {
        let iterable = self.eval(iter);
        let place = self.place(span);
        let items = self.iterate(&iterable, place);
        match items.exact {
            Some(values) if values.len() <= UNROLLED => {
                if let Flow::Stop(exit) = self.unrolled(place, target, values, body) {
                    return Flow::Stop(exit);
                }
            }
            exact => {
                let any = match exact {
                    Some(values) => self.heap.any_of(&Items::exact(values)).unwrap_or_default(),
                    None => items.any,
                };
                let over = self.over(&iterable, &any);
                let mut run = |interp: &mut Interp<'p>| {
                    interp.assign(target, any.clone());
                    interp.block(body)
                };
                self.run_loop(place, over, true, &mut run);
            }
        }
        self.block(otherwise)
    }

    fn over(&self, iterable: &Value, any: &Value) -> Over {
        if let Some(loader) = self.loader_of(iterable) {
            return Over::Loader(loader);
        }
        match any {
            Value::Int(num) if num.tag == Tag::Counter => Over::Counter,
            _ => Over::Other,
        }
    }

    /// Runs the body for each of a few known values; breaks and continues stay inside.
    fn unrolled(&mut self, place: Place, target: ExprId, values: Vec<Value>, body: &'p [StmtId]) -> Flow {
        let path = self.path;
        for (index, value) in values.into_iter().enumerate() {
            self.path = super::call::mix(path, place.span.start, index as u32 + 1);
            self.assign(target, value);
            self.trace.push(Vec::new());
            let flow = self.block(body);
            let nodes = self.trace.pop().unwrap_or_default();
            // An exit of one round ends that round: a call node would catch returns, so rounds with exits are branches.
            match flow {
                Flow::Stop(Exit::Return | Exit::Raise) => {
                    nodes.into_iter().for_each(|node| self.push(node));
                    self.path = path;
                    return flow;
                }
                Flow::Stop(Exit::Break) => {
                    self.push_round(nodes);
                    break;
                }
                _ => self.push_round(nodes),
            }
        }
        self.path = path;
        Flow::Next
    }

    /// The events of one unrolled round; `break` and `continue` in it no longer belong to a loop of the trace.
    fn push_round(&mut self, nodes: Vec<Node>) {
        nodes.into_iter().filter_map(without_loop_exits).for_each(|node| self.push(node));
    }

    /// Runs a body until what it leaves no longer changes what it starts with.
    pub(super) fn run_loop(&mut self, place: Place, over: Over, at_least_once: bool, body: Arm<'_, 'p>) {
        let id = LoopId(self.out.loops.len() as u32);
        let outer: Rc<[LoopId]> = self.active.iter().map(|active| active.id).collect();
        self.out.loops.push(LoopInfo { place, over, first: self.epoch + 1, outer });
        self.active.push(ActiveLoop { id, since: 0, breaks: Vec::new(), continues: Vec::new() });
        let seen = self.out.sightings.len();
        for pass in 1..=MOST_PASSES {
            self.epoch += 1;
            self.out.sightings.truncate(seen);
            if let Some(active) = self.active.last_mut() {
                active.since = self.epoch;
                active.breaks.clear();
                active.continues.clear();
            }
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
            let changed = goes_round && self.heap.join_in(&writes);
            let head = self.heap.rollback();
            let last = pass == MOST_PASSES || !changed || self.is_starved();
            if !last {
                self.heap.apply(head);
                continue;
            }
            self.heap.apply(if at_least_once { writes } else { head });
            self.push(Node::Loop { id, body: nodes });
            break;
        }
        if let Some(active) = self.active.pop() {
            active.breaks.iter().for_each(|writes| {
                self.heap.join_in(writes);
            });
        }
    }

    /// Whether the pass of the innermost loop began after this epoch.
    pub fn loop_since(&self) -> u32 {
        self.active.last().map_or(0, |active| active.since)
    }

    pub fn in_loop(&self) -> bool {
        !self.active.is_empty()
    }

    /// Assigns and, for names, says where a number got its name.
    fn assign_statement(&mut self, targets: &'p [ExprId], value: ExprId) {
        let result = self.eval(value);
        for target in targets {
            let result = self.note_carried_sum(*target, value, result.clone());
            let named = self.named(*target, value, result);
            self.assign(*target, named);
        }
    }

    /// Whether two expressions are the same name or attribute path.
    pub(super) fn same_target(&self, a: ExprId, b: ExprId) -> bool {
        let tree = self.tree(self.file());
        match (&tree.expr(a).kind, &tree.expr(b).kind) {
            (ExprKind::Name(x), ExprKind::Name(y)) => x == y,
            (ExprKind::Attribute { base: x, name: n, .. }, ExprKind::Attribute { base: y, name: m, .. }) => {
                n == m && self.same_target(*x, *y)
            }
            _ => false,
        }
    }

    fn aug_assign(&mut self, target: ExprId, op: BinaryOp, value: ExprId) {
        let before = self.eval(target);
        let operand = self.eval(value);
        let place = self.expr_place(value);
        if op == BinaryOp::Add && self.extend_in_place(&before, &operand, target) {
            return;
        }
        let mut result = self.binary(op, &before, &operand, place, self.same_target(target, value));
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            result = self.carried_sum(target, &before, &result);
        }
        // A number that is added to in a loop counts.
        if let (Value::Int(num), true) = (&result, self.in_loop() && op == BinaryOp::Add) {
            result = Value::Int(Num { tag: Tag::Counter, ..num.clone() });
        }
        self.assign(target, result);
    }

    fn ann_assign(&mut self, target: ExprId, annotation: ExprId, value: Option<ExprId>) {
        let Some(value) = value else { return };
        let result = self.eval(value);
        let named = self.named(target, value, result);
        let typed = self.typed_by_annotation(annotation, named);
        self.assign(target, typed);
    }

    fn delete(&mut self, target: ExprId) {
        let tree = self.tree(self.file());
        match tree.expr(target).kind {
            ExprKind::Name(name) => self.set_name(name, Value::Unknown),
            ExprKind::Attribute { base, name, .. } => {
                let base = self.eval(base);
                self.delete_attr(&base, name);
            }
            ExprKind::Subscript { base, index } => {
                let base = self.eval(base);
                let index = self.eval(index);
                self.delete_item(&base, &index);
            }
            _ => {}
        }
    }

    pub(super) fn assign(&mut self, target: ExprId, value: Value) {
        let tree = self.tree(self.file());
        match &tree.expr(target).kind {
            ExprKind::Name(name) => self.set_name(*name, value),
            ExprKind::Attribute { base, name, .. } => {
                let receiver = self.eval(*base);
                let place = self.expr_place(target);
                self.set_attr(&receiver, *name, value, place);
            }
            ExprKind::Subscript { base, index } => {
                let container = self.eval(*base);
                let index = self.eval(*index);
                let place = self.expr_place(target);
                self.set_item(*base, &container, &index, value, place);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                self.unpack(targets, &value, self.expr_place(target))
            }
            ExprKind::Starred(inner) => self.assign(*inner, value),
            _ => {}
        }
    }

    fn unpack(&mut self, targets: &'p [ExprId], value: &Value, place: Place) {
        let items = self.iterate(value, place);
        let tree = self.tree(self.file());
        let starred =
            targets.iter().position(|target| matches!(tree.expr(*target).kind, ExprKind::Starred(_)));
        match (items.exact, starred) {
            (Some(values), None) if values.len() == targets.len() => {
                for (target, value) in targets.iter().zip(values) {
                    self.assign(*target, value);
                }
            }
            (Some(values), Some(at)) if values.len() + 1 >= targets.len() => {
                let after = targets.len() - at - 1;
                let middle = self.list(place, values[at..values.len() - after].to_vec());
                let tail = values[values.len() - after..].to_vec();
                let head = values[..at].to_vec();
                for (target, value) in targets.iter().zip(head.into_iter().chain([middle]).chain(tail)) {
                    self.assign(*target, value);
                }
            }
            (exact, _) => {
                let any = match exact {
                    Some(_) => Value::Unknown,
                    None => items.any,
                };
                targets.iter().for_each(|target| self.assign(*target, any.clone()));
            }
        }
    }

    /// What decides a test whose outcome is not known.
    fn when_of(&mut self, test: ExprId) -> When {
        let tree = self.tree(self.file());
        match &tree.expr(test).kind {
            ExprKind::Compare { first, rest } => {
                let operands = std::iter::once(*first).chain(rest.iter().map(|(_, operand)| *operand));
                operands.map(|operand| self.tag_of(operand)).fold(When::Unknown, stronger)
            }
            ExprKind::Unary { operand, .. } => self.when_of(*operand),
            ExprKind::Bool { items, .. } => {
                items.iter().map(|item| self.when_of(*item)).fold(When::Unknown, stronger)
            }
            ExprKind::Name(_) | ExprKind::Binary { .. } | ExprKind::Attribute { .. } => self.tag_of(test),
            _ => When::Unknown,
        }
    }

    fn tag_of(&mut self, operand: ExprId) -> When {
        match self.eval(operand) {
            Value::Int(Num { tag: Tag::Phase, .. }) => When::Phase,
            Value::Int(Num { tag: Tag::Counter, .. }) => When::Counter,
            _ => When::Unknown,
        }
    }

    pub(super) fn set_name(&mut self, name: Ustr, value: Value) {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return };
        let target = self.binding_env(env, name);
        let value = self.typed_by_use(target, name, value);
        self.burn_over(self.heap.get(target).attrs.len());
        self.heap.get_mut(target).set_attr(name, value);
    }
}

fn stronger(a: When, b: When) -> When {
    match (a, b) {
        (When::Phase, _) | (_, When::Phase) => When::Phase,
        (When::Counter, _) | (_, When::Counter) => When::Counter,
        (other, _) => other,
    }
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
