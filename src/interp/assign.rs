//! Assignments: targets of every form, unpacking, deletion.
//! A number that gets a name remembers the name and the place.

use super::{
    Assignment, Augment, Interp, Unpacked, Update, drawn, heads, python, roles::is_guessed, switches,
};
use crate::apis::{Role, Verb};
use crate::names::{Subject, subject_of};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::values::*;
use std::cell::RefCell;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// Assigns and, for names, says where a number got its name.
    pub(super) fn assign_statement(&mut self, targets: &'p [ExprId], value: ExprId) {
        let began = self.moment();
        let unpacks = targets.first().and_then(|target| self.names_of_call(*target, value));
        if let Some(frame) = self.frames.last_mut() {
            frame.unpacks = unpacks;
        }
        let result = self.eval(value);
        if let Some(frame) = self.frames.last_mut() {
            frame.unpacks = None;
        }
        for target in targets {
            let batch = self.unpacked_batch(*target, value, &result);
            let result = RefCell::new(drawn::for_hook(self, *target, value, batch));
            let assignment = Assignment { target: *target, value, began, result };
            self.on_assign(&assignment);
            let named = self.named(*target, value, assignment.result.into_inner());
            let named = super::device_origins::part_of_input(self, *target, value, named);
            let named = heads::part_taken(self, *target, value, named);
            let is_built = is_guessed(&named) && self.is_call_of_another(value, *target);
            self.assign(*target, named);
            self.learn_rank(*target, value);
            if is_built {
                self.note_built(*target);
            }
        }
    }

    /// `logits, features = model(x)`: the call, and how many names its result has to fill.
    fn names_of_call(&self, target: ExprId, value: ExprId) -> Option<(Place, usize)> {
        let tree = self.here();
        let (ExprKind::Tuple(names) | ExprKind::List(names), ExprKind::Call { .. }) =
            (&tree.expr(target).kind, &tree.expr(value).kind)
        else {
            return None;
        };
        (!has_star(tree, names)).then(|| (self.expr_place(value), names.len()))
    }

    /// Of results of several kinds those that the caller can take apart as it does: which way is taken, it knows.
    pub(super) fn that_can_be_unpacked(&self, mut returned: Vec<Value>) -> Vec<Value> {
        let Some((site, _)) = self.frames.last().and_then(|frame| frame.site) else { return returned };
        let wanted = self.frames.iter().filter_map(|frame| frame.unpacks).find(|(call, _)| *call == site);
        let Some((_, count)) = wanted else { return returned };
        let fits = |value: &Value| matches!(value.bare(), Value::Tuple(items) if items.len() == count);
        if returned.iter().any(fits) {
            returned.retain(fits);
        }
        returned
    }

    /// `b, c, h, w = x.shape`: behind it `x` has so many axes, whoever made it.
    fn learn_rank(&mut self, target: ExprId, value: ExprId) {
        let tree = self.here();
        let (ExprKind::Tuple(names), Some(base)) = (&tree.expr(target).kind, self.sized_by(value)) else {
            return;
        };
        let is_named = matches!(tree.expr(base).kind, ExprKind::Name(_));
        if !is_named || has_star(tree, names) {
            return;
        }
        let Value::Tensor(tensor) = self.eval(base) else { return };
        if tensor.shape.is_none() {
            let mut sizes = vec![Int::Unknown; names.len()];
            if let (Some(size), Some(last)) = (sizes.last_mut(), tensor.last.clone()) {
                *size = last;
            }
            let shaped = (*tensor).clone().with_shape(Some(sizes.into()));
            self.assign(base, Value::tensor(Tensor { has_axis: tensor.has_axis, ..shaped }));
        }
    }

    /// `x` of `x.shape` and `x.size()`; the `size` of a picture is no call.
    fn sized_by(&self, value: ExprId) -> Option<ExprId> {
        let tree = self.here();
        let (holder, said) = match &tree.expr(value).kind {
            ExprKind::Call { callee, args } if args.is_empty() => (*callee, "size"),
            _ => (value, "shape"),
        };
        match tree.expr(holder).kind {
            ExprKind::Attribute { base, name, .. } if name == said => Some(base),
            _ => None,
        }
    }

    /// Gives a number the name under which the script set it.
    fn named(&mut self, target: ExprId, written: ExprId, value: Value) -> Value {
        let tree = self.here();
        let (ExprKind::Name(name) | ExprKind::Attribute { name, .. }) = &tree.expr(target).kind else {
            return value;
        };
        if let Some(text) = self.stated(name) {
            return text;
        }
        if matches!(value, Value::Bool(Some(_))) && matches!(tree.expr(target).kind, ExprKind::Name(_)) {
            return switches::set_by_hand(self, *name, written, value);
        }
        let Value::Int(num) = &value else { return value };
        let literal = matches!(tree.expr(written).kind, ExprKind::Int(_) | ExprKind::Binary { .. });
        if num.from.is_some() || num.tag != Tag::None || !literal || num.int.known().is_none() {
            return value;
        }
        let origin = Origin { place: self.expr_place(written), name: Rc::from(name.as_str()), given: false };
        Value::Int(Num { from: Some(Rc::new(origin)), ..num.clone() })
    }

    /// `--set name=value`, for a name of the script itself.
    fn stated(&self, name: &str) -> Option<Value> {
        let (_, text) = self.settings.values.iter().find(|(known, _)| known == name)?;
        Some(python::parse_scalar(text))
    }

    /// What a name or item becomes of what it was.
    pub(super) fn followed_update(&mut self, target: ExprId, before: &Value, result: Value) -> Value {
        let update = Update { target, before, result: RefCell::new(result) };
        self.on_update(&update);
        update.result.into_inner()
    }

    /// `x.unsqueeze_(1)`: what the method gives is the receiver from here on.
    pub(super) fn changed_in_place(&mut self, receiver: &Value, name: Ustr, value: &Value, base: ExprId) {
        let Value::Tensor(before) = receiver else { return };
        if self.resizes(before, name, base) || !name.ends_with('_') || name.ends_with("__") {
            return;
        }
        let tree = self.here();
        let is_name = matches!(tree.expr(base).kind, ExprKind::Name(_));
        let asks = |tensor: &Tensor| tensor.graph.is_live();
        match value {
            Value::Tensor(after)
                if is_name && (before.shape != after.shape || asks(before) != asks(after)) =>
            {
                self.assign(base, value.clone());
            }
            Value::Tensor(after) if before.range == after.range && before.shape == after.shape => {}
            _ => self.with_other_numbers(base, value),
        }
    }

    /// The numbers of a tensor were changed in place, under its own name or as `x.data` and `x.detach()`.
    fn with_other_numbers(&mut self, base: ExprId, value: &Value) {
        let tree = self.here();
        let target = match tree.expr(base).kind {
            ExprKind::Attribute { base, name, .. } if name == "data" => base,
            ExprKind::Call { callee, .. } => match tree.expr(callee).kind {
                ExprKind::Attribute { base, name, .. } if name == "detach" => base,
                _ => return,
            },
            _ => base,
        };
        if !matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        let Value::Tensor(tensor) = self.eval(target) else { return };
        let after = value.as_tensor();
        let range = after.and_then(|after| after.range);
        let relation = after.and_then(|after| after.relation.clone());
        let mark = after.map_or(tensor.mark, |after| after.mark);
        let shape = after.map_or(tensor.shape.clone(), |after| after.shape.clone());
        self.assign(target, Value::tensor(Tensor { range, relation, mark, shape, ..(*tensor).clone() }));
    }

    /// `array.resize(…)` gives the array itself another shape.
    pub(super) fn resizes(&mut self, before: &Tensor, name: Ustr, base: ExprId) -> bool {
        let resizes = before.is_array && name == "resize";
        if resizes {
            self.assign(base, Value::tensor(before.clone().with_shape(None)));
        }
        resizes
    }

    /// What an expression says by name throughout its file, seen from the function that runs.
    pub(crate) fn subject_here(&self, expr: ExprId) -> Option<Subject> {
        let module = self.module(self.file());
        let here = self.running().next_back().and_then(|frame| frame.function);
        subject_of(&module.tree, &module.names, expr, here)
    }

    /// Whether an expression is made of names and attributes alone, which may be evaluated again.
    pub(crate) fn is_reading(&self, expr: ExprId) -> bool {
        match self.here().expr(expr).kind {
            ExprKind::Name(_) => true,
            ExprKind::Attribute { base, .. } => self.is_reading(base),
            _ => false,
        }
    }

    /// What names and attributes hold that were read just now: to look at a name again is no work of the script. An
    /// attribute may be a property.
    pub(crate) fn read_again(&mut self, expr: ExprId) -> Option<Value> {
        let is_name = matches!(self.here().expr(expr).kind, ExprKind::Name(_));
        let free = std::mem::replace(&mut self.budget.free, is_name);
        let value = self.is_reading(expr).then(|| self.eval(expr));
        self.budget.free = free;
        value
    }

    /// `y`, of `x = x + y` and `x = y + x`.
    pub(crate) fn added_to(&self, target: ExprId, value: ExprId) -> Option<ExprId> {
        let ExprKind::Binary { op: BinaryOp::Add, left, right } = self.here().expr(value).kind else {
            return None;
        };
        let sides = [(left, right), (right, left)];
        sides.into_iter().find_map(|(sum, addend)| self.same_target(sum, target).then_some(addend))
    }

    /// Whether two expressions are the same name or attribute path.
    pub(crate) fn same_target(&self, a: ExprId, b: ExprId) -> bool {
        let tree = self.here();
        match (&tree.expr(a).kind, &tree.expr(b).kind) {
            (ExprKind::Name(x), ExprKind::Name(y)) => x == y,
            (ExprKind::Attribute { base: x, name: n, .. }, ExprKind::Attribute { base: y, name: m, .. }) => {
                n == m && self.same_target(*x, *y)
            }
            _ => false,
        }
    }

    /// `lower:upper:step`
    pub(super) fn slice(
        &mut self,
        lower: Option<ExprId>,
        upper: Option<ExprId>,
        step: Option<ExprId>,
    ) -> Value {
        let mut part = |bound: Option<ExprId>| bound.map_or(Value::None, |bound| self.eval(bound));
        let (mut from, mut to, step) = (part(lower), part(upper), part(step));
        if let (Some(lower), Some(upper), Some(Int::Unknown), Some(Int::Unknown)) =
            (lower, upper, from.as_int(), to.as_int())
            && let Some(length) = self.distance(lower, upper)
        {
            let start = Int::symbol(self.symbol("start"));
            to = Value::of_int(start.add(&length));
            from = Value::of_int(start);
        }
        Value::Slice(Rc::new((from, to, step)))
    }

    /// How far the second bound is behind the first, where it is written as a sum: `i` and `i + n`.
    fn distance(&mut self, lower: ExprId, upper: ExprId) -> Option<Int> {
        let (left, right) = self.operands(upper, BinaryOp::Add)?;
        let length = match (self.same_target(lower, left), self.same_target(lower, right)) {
            (true, _) => right,
            (_, true) => left,
            _ => return None,
        };
        self.eval(length).as_int().filter(|length| length.known().is_some()).cloned()
    }

    fn operands(&self, expr: ExprId, wanted: BinaryOp) -> Option<(ExprId, ExprId)> {
        match &self.here().expr(expr).kind {
            ExprKind::Binary { op, left, right } if *op == wanted => Some((*left, *right)),
            _ => None,
        }
    }

    pub(super) fn aug_assign(&mut self, target: ExprId, op: BinaryOp, value: ExprId) {
        let gradients = self.gradients_in(target);
        let before = self.eval(target);
        if let Some(owners) = gradients {
            return self.augment_gradients(&owners, op, value, target);
        }
        let operand = self.eval(value);
        let place = self.expr_place(value);
        self.on_augment(&Augment { target, operator: op, value, before: &before, operand: &operand });
        if op == BinaryOp::Add && self.extend_in_place(&before, &operand, target) {
            return;
        }
        let mut result = self.binary(op, &before, &operand, place, self.same_target(target, value));
        result = self.replaced_in_place(&before, result);
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            result = self.followed_update(target, &before, result);
        }
        result = in_its_shape(&before, still_the_leaf(&before, result));
        // A number that is added to in a loop counts.
        if let (Value::Int(num), true) = (&result, self.in_loop() && op == BinaryOp::Add) {
            result = Value::Int(Num { tag: Tag::Counter, ..num.clone() });
        }
        self.assign(target, result);
    }

    pub(super) fn ann_assign(&mut self, target: ExprId, annotation: ExprId, value: Option<ExprId>) {
        let Some(value) = value else { return };
        let result = self.eval(value);
        let named = self.named(target, value, result);
        let typed = self.typed_by_annotation(annotation, named);
        self.assign(target, typed);
    }

    pub(super) fn delete(&mut self, target: ExprId) {
        let tree = self.here();
        match tree.expr(target).kind {
            ExprKind::Name(name) => self.set_name(name, Value::Unknown),
            ExprKind::Attribute { base, name, .. } => {
                let base = self.eval(base);
                let place = self.expr_place(target);
                self.delete_attr(&base, name, place);
            }
            ExprKind::Subscript { base, index } => {
                let holder = self.eval(base);
                let index = self.eval(index);
                let place = self.expr_place(target);
                heads::replace_part(self, &holder, base, heads::name_of_item(&index), &Value::Unknown, place);
                self.delete_item(&holder, &index);
            }
            _ => {}
        }
    }

    pub(super) fn assign(&mut self, target: ExprId, value: Value) {
        if self.probe.is_some() {
            self.probe_target(target, &value);
        }
        let tree = self.here();
        match &tree.expr(target).kind {
            ExprKind::Name(name) => {
                let value = super::walked::foreseen(self, target, value);
                self.set_name(*name, value);
            }
            ExprKind::Attribute { base, name, .. } => {
                let mut receiver = self.eval(*base);
                if *name == "requires_grad"
                    && let Some(params) = self.parameter_written(*base)
                {
                    receiver = Value::Params(Rc::new(params));
                }
                let place = self.expr_place(target);
                if *name == "data" {
                    self.given_other_data(*base, &receiver, &value);
                }
                heads::replace_part(self, &receiver, *base, *name, &value, place);
                match self.asked(&receiver, *name, &value) {
                    Some(leaf) if matches!(tree.expr(*base).kind, ExprKind::Name(_)) => {
                        self.assign(*base, leaf);
                    }
                    _ => self.set_attr(&receiver, *name, value, place),
                }
            }
            ExprKind::Subscript { base, index } => {
                let container = self.eval(*base);
                let index = self.eval(*index);
                let place = self.expr_place(target);
                heads::replace_part(self, &container, *base, heads::name_of_item(&index), &value, place);
                if !super::walked::written_by_name(self, *base, &container, &index, &value) {
                    self.set_item(*base, &container, &index, value, place);
                }
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                self.unpack(targets, &value, self.expr_place(target));
            }
            ExprKind::Starred(inner) => self.assign(*inner, value),
            _ => {}
        }
    }

    /// What a model that is not seen into gives beside the loss, in `loss, acc = model(x)`, may be plain numbers.
    fn beside_loss(&self, targets: &[ExprId], any: &Value) -> Value {
        let (Some(frame), Some(first)) = (self.frames.last(), targets.first()) else { return any.clone() };
        let module = self.module(frame.file);
        let ExprKind::Name(name) = module.tree.expr(*first).kind else { return any.clone() };
        let owner = module.names.owner(&module.tree, frame.function, name);
        let used = module.names.uses.of_local(owner, name);
        let is_loss = used.iter().any(|method| self.apis.method_does(Role::Tensor, *method, Verb::Backward));
        match any {
            Value::Tensor(tensor) if is_loss && tensor.source == Source::Output => {
                Value::tensor(Tensor { confidence: Confidence::Low, ..(**tensor).clone() })
            }
            _ => any.clone(),
        }
    }

    fn unpack(&mut self, targets: &'p [ExprId], value: &Value, place: Place) {
        let items = match self.parts_of_outcome(value, targets.len()) {
            Some(parts) => Items::exact(parts),
            None => self.iterate(value, place),
        };
        let tree = self.here();
        let starred =
            targets.iter().position(|target| matches!(tree.expr(*target).kind, ExprKind::Starred(_)));
        let names = targets.len() - usize::from(starred.is_some());
        self.on_unpack(&Unpacked { names, rest: starred.is_some(), value, place });
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
                // What a criterion gives beside the loss may be plain numbers.
                let lone = any.as_tensor().is_some_and(|tensor| tensor.source == Source::Loss);
                let rest = self.beside_loss(targets, &any);
                for (at, target) in targets.iter().enumerate() {
                    let beside = if lone { &Value::Unknown } else { &rest };
                    let one = one_of_several(if at > 0 { beside } else { &any });
                    // However many are left over, they are a list.
                    let given = if starred == Some(at) { self.list_of(place, one) } else { one };
                    self.assign(*target, given);
                }
            }
        }
    }

    pub(super) fn set_name(&mut self, name: Ustr, value: Value) {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return };
        let target = self.binding_env(env, name);
        let value = self.typed_by_use(target, name, value);
        self.burn_over(self.heap.get(target).attrs.len());
        self.heap.get_mut(target).set_attr(name, value);
    }

    /// `x.mul_(2)`: the name holds what the call gives.
    pub(super) fn renamed(&mut self, receiver: &Value, name: Ustr, base: ExprId, result: Value) -> Value {
        // By the convention of the frameworks, a method that changes its receiver ends so.
        if !name.ends_with('_') || name.ends_with("__") {
            return result;
        }
        let has_formula = |tensor: &Tensor| tensor.numbers.as_ref().is_some_and(|own| own.formula.is_some());
        if !receiver.as_tensor().is_some_and(|tensor| has_formula(tensor)) {
            self.spoil(receiver);
            return result;
        }
        let result = self.replaced_in_place(receiver, result);
        if matches!(self.here().expr(base).kind, ExprKind::Name(_)) && result.as_tensor().is_some() {
            self.assign(base, result.clone());
        }
        result
    }
}

/// A result of which no layer has said a size: what gave several of them is not seen.
fn one_of_several(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) if tensor.source == Source::Output && tensor.last_size().is_none() => {
            Value::tensor(Tensor { among: true, ..(**tensor).clone() })
        }
        _ => value.clone(),
    }
}

/// An operation in place leaves the shape as it is. Numbers are bound anew.
fn in_its_shape(before: &Value, result: Value) -> Value {
    let (Some(old), Some(new)) = (before.as_tensor(), result.as_tensor()) else { return result };
    if new.shape.is_some() || old.rank().is_none_or(|rank| rank == 0) {
        return result;
    }
    Value::tensor((**new).clone().with_shape(old.shape.clone()))
}

/// A leaf that is changed in place has other numbers, and is the leaf that it was.
fn still_the_leaf(before: &Value, result: Value) -> Value {
    match before.bare() {
        Value::Params(_) if result.is_unknown() => before.clone(),
        Value::Tensor(leaf) if leaf.is_leaf && leaf.graph.is_live() && !leaf.is_array => {
            let numbers = match &result {
                Value::Tensor(tensor) => (**tensor).clone(),
                _ => Tensor { range: None, numbers: None, recipe: None, ..(**leaf).clone() },
            };
            let (graph, source, made) = (leaf.graph.clone(), leaf.source, leaf.made);
            let (is_leaf, learned, created) = (true, leaf.learned, leaf.created);
            Value::tensor(Tensor { graph, source, made, is_leaf, learned, created, ..numbers })
        }
        _ => result,
    }
}

/// Whether one of several targets takes whatever is left: `first, *rest`.
fn has_star(tree: &Tree, targets: &[ExprId]) -> bool {
    targets.iter().any(|target| matches!(tree.expr(*target).kind, ExprKind::Starred(_)))
}
