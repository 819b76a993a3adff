//! What keeps its graph over iterations: sums and containers that are older than the iteration.

use super::modules::mark_graph;
use super::{Call, Interp, python};
use crate::apis::{Api, Transfer};
use crate::report::Place;
use crate::syntax::*;
use crate::trace::{Carry, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Containers inside what is kept are looked into so deep.
const DEEPEST: u32 = 2;

impl<'p> Interp<'p> {
    /// An id for a graph that is followed from this place on.
    pub(super) fn graph_id(&mut self, place: Place) -> u32 {
        let key = (self.path, place);
        if let Some(id) = self.followed.get(&key) {
            return *id;
        }
        self.carried += 1;
        self.followed.insert(key, self.carried);
        self.carried
    }

    fn follow(&mut self, id: u32) {
        if !self.retained.contains(&id) {
            self.retained.push(id);
        }
    }

    /// A graph was walked of which we know nothing: it may be any of those that were kept.
    pub(super) fn let_all_go(&mut self) {
        self.out.walks_unknown = true;
        self.out.consumed.extend(self.retained.iter().copied());
    }

    /// `total += loss`: does the sum keep the graphs of earlier iterations?
    pub(super) fn carried_sum(&mut self, target: ExprId, before: &Value, result: &Value) -> Value {
        let (Some(old), Some(sum)) = (before.as_tensor(), result.as_tensor()) else { return result.clone() };
        let Graph::Live(nodes) = &old.graph else { return result.clone() };
        if !sum.graph.is_live() || self.grad != Some(true) {
            return result.clone();
        }
        // Both the value and its graph come from an earlier iteration.
        let age = nodes.oldest.max(old.born);
        let Some(outlives) = self.outlived(age) else { return result.clone() };
        let place = self.expr_place(target);
        let confidence = sum.confidence.min(old.confidence);
        let id = self.graph_id(place);
        self.follow(id);
        if self.is_read_elsewhere(target) {
            self.out.consumed.insert(id);
        }
        let into = self.written(target);
        let value = sum.clone();
        let sight =
            Sight::Carried { id, into, into_place: None, by: Carry::Sum, outlives, value, bare: true };
        self.see(place, sight, confidence);
        mark_graph(result, id)
    }

    /// `x = x + loss`, `x = a * x + b * loss`, `x = torch.cat([x, loss])` carry a graph as `x += loss` does.
    pub(super) fn note_carried_sum(&mut self, target: ExprId, value: ExprId, result: Value) -> Value {
        let tree = self.tree(self.file());
        let nameable = matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
        let live = result.as_tensor().is_some_and(|tensor| tensor.graph.is_live());
        if !self.in_loop() || !nameable || !live || !self.builds_on(value, target) {
            return result;
        }
        let before = self.eval(target);
        self.carried_sum(target, &before, &result)
    }

    /// Whether an expression computes its value from another one, by arithmetic or the framework's functions.
    fn builds_on(&mut self, expr: ExprId, target: ExprId) -> bool {
        if self.same_target(expr, target) {
            return true;
        }
        let tree = self.tree(self.file());
        match &tree.expr(expr).kind {
            ExprKind::Binary { left, right, .. } => {
                self.builds_on(*left, target) || self.builds_on(*right, target)
            }
            ExprKind::Unary { operand, .. } => self.builds_on(*operand, target),
            ExprKind::Conditional { then, otherwise, .. } => {
                self.builds_on(*then, target) || self.builds_on(*otherwise, target)
            }
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().any(|item| self.builds_on(*item, target))
            }
            ExprKind::Call { callee, args } => {
                let of_receiver = match &tree.expr(*callee).kind {
                    ExprKind::Attribute { base, .. } => self.builds_on(*base, target),
                    _ => false,
                };
                let mentioned = of_receiver || args.iter().any(|arg| self.builds_on(arg.value, target));
                mentioned && self.is_combining(*callee)
            }
            _ => false,
        }
    }

    /// A function or tensor method of a framework that makes one tensor of several.
    fn is_combining(&mut self, callee: ExprId) -> bool {
        let tree = self.tree(self.file());
        let mut root = callee;
        while let ExprKind::Attribute { base, .. } = tree.expr(root).kind {
            root = base;
        }
        if !matches!(tree.expr(root).kind, ExprKind::Name(_)) {
            return false;
        }
        let name = match self.eval(callee) {
            Value::Api(name) => name,
            Value::Bound(bound) => match bound.method {
                Method::Api(name) => name,
                _ => return false,
            },
            _ => return false,
        };
        self.apis.get(name).and_then(Api::transfer).is_some_and(Transfer::combines)
    }

    /// The outermost of the running loops whose iteration is younger than this, by its place among them.
    fn outlived(&self, age: u32) -> Option<usize> {
        self.active.iter().position(|active| active.since > age)
    }

    /// `losses.append(loss)` on a list that is older than the iteration.
    pub(super) fn append_in_loop(
        &mut self,
        receiver: &Value,
        name: Ustr,
        call: &Call,
        base: ExprId,
    ) -> Option<Value> {
        if !self.in_loop() || !matches!(name.as_str(), "append" | "extend" | "insert" | "appendleft" | "add")
        {
            return None;
        }
        let object = receiver.as_obj()?;
        if !matches!(self.heap.get(object).state, State::List(_)) {
            return None;
        }
        let mut call = call.clone();
        let passed = call.positional.last_mut()?;
        passed.value = self.retain(object, &passed.value, base, call.place)?;
        Some(self.language_method(receiver, name, &call))
    }

    /// Puts a value into a container; gives it back marked when its graph outlives the iteration in there.
    pub(super) fn retain(
        &mut self,
        container: ObjId,
        value: &Value,
        into: ExprId,
        place: Place,
    ) -> Option<Value> {
        if self.active.is_empty() || self.grad != Some(true) {
            return None;
        }
        if python::is_bounded(self, &Value::Obj(container)) {
            return None;
        }
        let here = self.heap.get(container);
        let site = here.site;
        let outlives = self.outlived(here.epoch)?;
        let tensor = self.live_within(value, DEEPEST)?;
        let id = self.graph_id(place);
        self.follow(id);
        if self.is_read_elsewhere(into) || self.is_anothers(container, into) {
            self.out.consumed.insert(id);
        }
        let into = self.written(into);
        let confidence = tensor.confidence;
        let bare = matches!(value.bare(), Value::Tensor(_));
        let (into_place, by) = (Some(site), Carry::Append);
        let sight = Sight::Carried { id, into, into_place, by, outlives, value: tensor, bare };
        self.see(place, sight, confidence);
        Some(self.mark_within(value, id, DEEPEST))
    }

    /// In a method that was rehearsed without its callers: other methods may do anything with the attribute.
    fn is_read_elsewhere(&self, target: ExprId) -> bool {
        let Some(seeded) = self.seeded else { return false };
        let file = self.file();
        let ExprKind::Attribute { name, .. } = self.tree(file).expr(target).kind else { return false };
        let here: Vec<Option<FnId>> =
            self.frames.iter().filter(|frame| frame.file == file).map(|frame| frame.function).collect();
        let scopes = &self.module(file).names.scopes;
        scopes.iter().enumerate().any(|(index, scope)| {
            let function = FnId(index as u32);
            let running = here.contains(&Some(function)) || function == seeded.function;
            !running && scope.mentions.contains(name)
        })
    }

    /// A container that a function rehearsed without its callers was given.
    fn is_anothers(&self, container: ObjId, into: ExprId) -> bool {
        let file = self.file();
        let own = matches!(self.tree(file).expr(into).kind, ExprKind::Attribute { .. });
        self.seeded.is_some() && container.0 < self.seeded_from && !own
    }

    /// The first tensor with a graph in a value.
    fn live_within(&self, value: &Value, depth: u32) -> Option<Rc<Tensor>> {
        match value.bare() {
            Value::Tensor(tensor) => tensor.graph.is_live().then(|| tensor.clone()),
            Value::Tuple(items) if depth > 0 => {
                items.iter().find_map(|item| self.live_within(item, depth - 1))
            }
            Value::Obj(object) if depth > 0 => match &self.heap.get(*object).state {
                State::List(Items { exact: Some(items), .. }) => {
                    items.iter().find_map(|item| self.live_within(item, depth - 1))
                }
                State::List(items) => self.live_within(&items.any, depth - 1),
                State::Dict(entries) => {
                    entries.known.iter().find_map(|(_, value)| self.live_within(value, depth - 1))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Marks the graphs of all tensors in a value.
    fn mark_within(&mut self, value: &Value, id: u32, depth: u32) -> Value {
        let Some(object) = value.as_obj() else { return mark_graph(value, id) };
        if depth == 0 {
            return value.clone();
        }
        let state = match self.heap.get(object).state.clone() {
            State::List(items) => State::List(Items {
                exact: items
                    .exact
                    .map(|all| all.iter().map(|item| self.mark_within(item, id, depth - 1)).collect()),
                any: self.mark_within(&items.any, id, depth - 1),
                len: items.len,
            }),
            State::Dict(mut entries) => {
                for (_, value) in &mut entries.known {
                    *value = self.mark_within(value, id, depth - 1);
                }
                State::Dict(entries)
            }
            _ => return value.clone(),
        };
        self.heap.get_mut(object).state = state;
        value.clone()
    }
}
