//! Expressions: what they evaluate to.

use super::layered::symbolic;
use super::selections::chosen_by_masks;
use super::{
    Arithmetic, Compare, Difference, Interp, NumberApplied, Operation, OperationResult, Operator, TupleUse,
    python, transfer,
};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::{Effect, Over, When};
use crate::values::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Of yielded values with more calls of layers behind them, nothing is known.
const MOST_YIELDED: usize = 256;

impl<'p> Interp<'p> {
    pub(crate) fn eval(&mut self, id: ExprId) -> Value {
        let value = self.evaluated(id);
        if self.probe.is_some() {
            self.probe_expression(id, &value);
        }
        value
    }

    #[inline]
    fn evaluated(&mut self, id: ExprId) -> Value {
        if !self.burn(1) {
            return Value::Unknown;
        }
        let tree = self.here();
        match &tree.expr(id).kind {
            ExprKind::Name(name) => self.looked_up(id, *name),
            ExprKind::Attribute { base, name, .. } => {
                let holder = self.eval(*base);
                let place = self.expr_place(id);
                let mut value = self.get_attr(&holder, *name, place);
                if holder.is_unknown() && value.is_unknown() {
                    value = self.part_of_unknown(*base, *name);
                }
                match &value {
                    Value::Grad(owners) => {
                        let objects = (**owners).clone();
                        self.event(place, Effect::Read { objects }, Confidence::High);
                    }
                    // Of something, and nobody knows of what.
                    Value::Unknown if *name == "grad" => {
                        self.event(place, Effect::Read { objects: ObjSet::default() }, Confidence::High);
                    }
                    _ => {}
                }
                self.named_number(id, *name, value)
            }
            ExprKind::Call { callee, args } => {
                let value = self.call_expr(id, *callee, args);
                super::walked::record_of(self, id, value)
            }
            ExprKind::Subscript { base, index } => self.subscript(id, *base, *index),
            ExprKind::Slice { lower, upper, step } => self.slice(*lower, *upper, *step),
            ExprKind::Int(value) => Value::int(*value),
            ExprKind::Float(value) => Value::Float(Some(*value)),
            ExprKind::Str(text) => Value::str(text),
            ExprKind::Bytes => Value::Str(None),
            ExprKind::FString(parts) => {
                let values: Vec<Value> = parts.iter().map(|part| self.eval(*part)).collect();
                python::formatted(self, self.expr_place(id), parts, &values).unwrap_or(Value::Str(None))
            }
            ExprKind::True => Value::Bool(Some(true)),
            ExprKind::False => Value::Bool(Some(false)),
            ExprKind::None => Value::None,
            ExprKind::Ellipsis => Value::Ellipsis,
            ExprKind::Tuple(items) => self.items(items).map_or(Value::Unknown, Value::tuple),
            ExprKind::List(items) => {
                let place = self.expr_place(id);
                match self.items(items) {
                    Ok(values) => self.list(place, values),
                    Err(any) => self.list_of(place, any),
                }
            }
            ExprKind::Set(items) => {
                let items = self.items(items).map_or_else(Items::any, Items::exact);
                python::set_of(self, self.expr_place(id), &items)
            }
            ExprKind::Dict(entries) => self.dict_display(id, entries),
            ExprKind::Unary { op, operand } => {
                let value = self.eval(*operand);
                if *op == UnaryOp::Not {
                    self.asked_truth(*operand, &value);
                }
                let place = self.expr_place(id);
                self.unary(*op, &value, place)
            }
            ExprKind::Binary { op, left, right } => {
                let a = self.eval(*left);
                let b = self.eval(*right);
                // What meets is shown where the second operand stands; a power is one thing.
                let place = self.expr_place(if *op == BinaryOp::Pow { id } else { *right });
                let same = self.same_target(*left, *right);
                self.on_arithmetic(&Arithmetic { operator: *op, left: *left, right: *right });
                self.binary(*op, &a, &b, place, same)
            }
            ExprKind::Compare { first, rest } => self.compare(*first, rest),
            ExprKind::Bool { and, items } => self.bool_op(*and, items),
            ExprKind::Conditional { test, then, otherwise } => self.conditional(*test, *then, *otherwise),
            ExprKind::Lambda(function) => self.closure(*function),
            ExprKind::Comprehension(comprehension) => self.comprehension(id, comprehension),
            ExprKind::Await(inner) | ExprKind::Starred(inner) => self.eval(*inner),
            ExprKind::Yield(value) => {
                let value = value.map_or(Value::None, |value| self.eval(value));
                self.yields(value);
                Value::Unknown
            }
            ExprKind::YieldFrom(value) => {
                let value = self.eval(*value);
                let place = self.expr_place(id);
                let items = self.iterate(&value, place);
                let any = self.heap.any_of(&items).unwrap_or_default();
                self.yield_value(any);
                Value::Unknown
            }
            ExprKind::Walrus { name, value, .. } => {
                let value = self.eval(*value);
                self.set_name(*name, value.clone());
                value
            }
            ExprKind::Missing => Value::Unknown,
        }
    }

    pub(super) fn yield_value(&mut self, value: Value) {
        let Some(before) = self.frames.last_mut().map(|frame| frame.yielded.take()) else { return };
        let parts = |value: &Value| value.as_tensor().map_or(0, |tensor| tensor.graph.parts().len());
        let joined = match before {
            None => value,
            Some(other) if parts(&other) > MOST_YIELDED => Value::Unknown,
            Some(other) => self.heap.join(&other, &value),
        };
        let loader = self.active.last().and_then(|active| match self.out.loop_info(active.id).over {
            Over::Loader(loader) => Some(loader),
            _ => None,
        });
        let running = self.active.len();
        let Some(frame) = self.frames.last_mut() else { return };
        frame.yielded = Some(joined);
        if running > frame.around_loops {
            frame.hands_on = loader;
        }
        // `while True: for batch in loader: yield batch`
        let around = self.active[..running.saturating_sub(1)].get(frame.around_loops..).unwrap_or_default();
        let counts =
            |active: &super::loops::ActiveLoop| matches!(self.out.loop_info(active.id).over, Over::Counter);
        if let Some(loader) = loader.filter(|_| around.iter().any(counts)) {
            self.goes_round(loader);
        }
    }

    /// The values of a display, or what any of them is when a starred part is not known one by one.
    fn items(&mut self, items: &'p [ExprId]) -> Result<Vec<Value>, Value> {
        let tree = self.here();
        let mut values = Vec::with_capacity(items.len());
        let mut exact = true;
        for item in items {
            match tree.is_starred(*item) {
                true => {
                    let value = self.eval(*item);
                    let place = self.expr_place(*item);
                    let more = self.iterate(&value, place);
                    exact &= more.exact.is_some();
                    values.extend(more.exact.unwrap_or_else(|| vec![more.any]));
                }
                false => values.push(self.eval(*item)),
            }
        }
        if exact { Ok(values) } else { Err(self.heap.any_of(&Items::exact(values)).unwrap_or_default()) }
    }

    fn dict_display(&mut self, id: ExprId, entries: &'p [(Option<ExprId>, ExprId)]) -> Value {
        let mut result = Entries::default();
        for (key, value) in entries {
            let value = self.eval(*value);
            self.burn_over(result.known.len());
            match key {
                Some(key) => {
                    let key = self.eval(*key);
                    match key_of(&key) {
                        Some(key) => result.set(key, value),
                        None => self.other_entry(&mut result, value),
                    }
                }
                None => match value.as_obj().map(|object| self.heap.get(object).state.clone()) {
                    Some(State::Dict(more)) => {
                        self.burn_over(
                            more.known.len().saturating_mul(more.known.len() + result.known.len()),
                        );
                        self.heap.set_all(&mut result, &more);
                        if let Some(other) = more.other {
                            self.other_entry(&mut result, other);
                        }
                    }
                    _ => self.other_entry(&mut result, Value::Unknown),
                },
            }
        }
        let place = self.expr_place(id);
        self.dict(place, result)
    }

    pub(super) fn other_entry(&mut self, entries: &mut Entries, value: Value) {
        entries.other = Some(match entries.other.take() {
            None => value,
            Some(other) => self.heap.join(&other, &value),
        });
    }

    fn unary(&mut self, op: UnaryOp, value: &Value, place: Place) -> Value {
        if op == UnaryOp::Not {
            return Value::Bool(self.truth(value).map(|truth| !truth));
        }
        match value.bare() {
            Value::Tensor(_) => match op {
                UnaryOp::Minus => {
                    let negated = transfer::negate(self, value, place).unwrap_or_default();
                    let negated = self.recipe_of_negation(value, place, negated);
                    let negated = self.formula_of_negation(value, negated);
                    let averaged = value.as_tensor().is_some_and(|tensor| tensor.averaged);
                    if averaged { average(&negated) } else { negated }
                }
                UnaryOp::Invert => {
                    let inverted = transfer::invert(self, value, place).unwrap_or_default();
                    self.recipe_of_inversion(value, place, inverted)
                }
                _ => value.clone(),
            },
            bare => python::unary(op, bare).unwrap_or_default(),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value, place: Place, same: bool) -> Value {
        let (a, b) = (&self.as_operand(op, a, b), &self.as_operand(op, b, a));
        let tensors = matches!(a.bare(), Value::Tensor(_)) || matches!(b.bare(), Value::Tensor(_));
        if let (Value::Tuple(items), with) | (with, Value::Tuple(items)) = (a, b)
            && !matches!(with, Value::Tuple(_))
        {
            self.on_tuple_use(&TupleUse { items, with, operator: Some(op), place });
        }
        if !tensors {
            if let Some(value) = python::binary(self, op, a, b, place) {
                return value;
            }
            return self.operator_method(op, a, b, place).unwrap_or_default();
        }
        if op == BinaryOp::Mod && matches!(a.bare(), Value::Str(_)) {
            // A text with a number in it.
            return Value::Str(None);
        }
        if let (Some(x), Some(y)) = (a.as_tensor(), b.as_tensor()) {
            let operator = Operator::Binary(op);
            self.on_operation(&Operation { operator, left: x, right: y, place });
        }
        if op == BinaryOp::Sub {
            self.on_difference(&Difference { left: a, right: b, place });
        }
        let result = transfer::binary(self, op, a, b, place, same).unwrap_or_default();
        let result = chosen_by_masks(op, a, b, result);
        let mut result = self.recipe_of_binary(op, a, b, place, result);
        if result.is_unknown() {
            [a, b].into_iter().filter_map(|side| side.as_tensor()).for_each(|tensor| self.let_go(tensor));
        }
        if matches!(op, BinaryOp::Div | BinaryOp::FloorDiv) {
            result = self.note_division(a, b, place, result);
        } else if op == BinaryOp::Pow {
            result = self.note_power(a, b, place, result);
        }
        let mut result = self.formula_of_binary(op, a, b, result);
        if let (Some(left), Some(right)) = (a.as_tensor(), b.as_tensor()) {
            let operator = Operator::Binary(op);
            let done = OperationResult { operator, left, right, place, result: RefCell::new(result) };
            self.on_operation_result(&done);
            result = done.result.into_inner();
        } else if let Some(tensor) = a.as_tensor().or(b.as_tensor()) {
            let other = if a.as_tensor().is_some() { b } else { a };
            self.on_number_applied(&NumberApplied { operator: op, tensor, other, result: &result, place });
        }
        // A sum of losses is as large as any of them that nothing was multiplied with.
        let averaged = |side: &Value| side.as_tensor().is_some_and(|tensor| tensor.averaged);
        if matches!(op, BinaryOp::Add | BinaryOp::Sub) && (averaged(a) || averaged(b)) {
            result = average(&result);
        }
        symbolic(&[a, b], result)
    }

    fn compare(&mut self, first: ExprId, rest: &'p [(CompareOp, ExprId)]) -> Value {
        let mut left = self.eval(first);
        let mut left_at = first;
        let (mut result, mut plain) = (Some(true), true);
        for (op, right) in rest {
            let right_value = self.eval(*right);
            // What is not known may be an array, which is compared number by number.
            plain &= matches!(op, CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn)
                || !(left.is_unknown() || right_value.is_unknown());
            if (matches!(left.bare(), Value::Tensor(_)) || matches!(right_value.bare(), Value::Tensor(_)))
                && !matches!(op, CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn)
            {
                let place = self.expr_place(*right);
                if let (Some(x), Some(y)) = (left.as_tensor(), right_value.as_tensor()) {
                    let operator = Operator::Compare;
                    self.on_operation(&Operation { operator, left: x, right: y, place });
                }
                let mask = transfer::compare(self, *op, &left, &right_value, place).unwrap_or_default();
                return self.recipe_of_comparison(*op, &left, &right_value, place, mask);
            }
            if matches!((&left, &right_value), (Value::Grad(_), Value::None)) {
                self.unread();
            }
            let places = [left_at, *right].map(|side| self.expr_place(side));
            self.on_compare(&Compare { op: *op, left: &left, right: &right_value, places });
            let one = self.compare_index(*op, &left, &right_value);
            let one = one.or_else(|| self.is_listed(*op, &left, *right, &right_value));
            let one = one.or_else(|| self.compare_one(*op, &left, &right_value));
            let one = one.or_else(|| self.is_of_class(*op, left_at, &right_value));
            result = match (result, one) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            (left, left_at) = (right_value, *right);
        }
        if result.is_none() && !plain { Value::Unknown } else { Value::Bool(result) }
    }

    /// `kind in ["LSTM", "GRU"]`: what is written there holds nothing else in any run.
    fn is_listed(&mut self, op: CompareOp, item: &Value, listing: ExprId, listed: &Value) -> Option<bool> {
        if !matches!(op, CompareOp::In | CompareOp::NotIn)
            || !matches!(self.here().expr(listing).kind, ExprKind::List(_) | ExprKind::Set(_))
        {
            return None;
        }
        python::contains(self, listed, item).map(|listed| listed == (op == CompareOp::In))
    }

    fn compare_one(&self, op: CompareOp, left: &Value, right: &Value) -> Option<bool> {
        match op {
            CompareOp::Is | CompareOp::IsNot => {
                let same = match (left, right) {
                    (Value::None, Value::None) => Some(true),
                    (Value::Unknown | Value::Maybe(_) | Value::Given(_), _) => None,
                    (_, Value::Unknown | Value::Maybe(_) | Value::Given(_)) => None,
                    (Value::None, _) | (_, Value::None) => Some(false),
                    (Value::Bool(Some(a)), Value::Bool(Some(b))) => Some(a == b),
                    (Value::Obj(a), Value::Obj(b)) if a == b => Some(true),
                    // `type(x) is list`: a class of a framework is none of Python's own.
                    (Value::Api(_), Value::Builtin(_)) | (Value::Builtin(_), Value::Api(_)) => Some(false),
                    (Value::Builtin(a), Value::Builtin(b)) => Some(a == b),
                    _ => self.same_callable(left, right),
                };
                if op == CompareOp::Is { same } else { same.map(|same| !same) }
            }
            CompareOp::Eq | CompareOp::NotEq
                if matches!((left, right), (Value::None, Value::None))
                    || (matches!(left, Value::None) != matches!(right, Value::None)
                        && is_definite(left)
                        && is_definite(right)) =>
            {
                let equal = matches!((left, right), (Value::None, Value::None));
                Some(equal == (op == CompareOp::Eq))
            }
            CompareOp::Eq | CompareOp::NotEq => {
                let same = self.same_callable(left, right).map(|same| same == (op == CompareOp::Eq));
                same.or_else(|| python::compare(op, left, right))
            }
            _ => python::compare(op, left, right),
        }
    }

    fn bool_op(&mut self, and: bool, items: &'p [ExprId]) -> Value {
        let mut result: Option<Value> = None;
        for (index, item) in items.iter().enumerate() {
            let value = self.eval(*item);
            self.asked_truth(*item, &value);
            let truth = self.truth(&value);
            let last = index + 1 == items.len();
            // A value that decides ends the chain; one that cannot be the result drops out.
            let decides = truth == Some(!and);
            let passes = truth == Some(and);
            // Whatever comes before a value that decides, the chain is as true as it.
            let settled = decides && matches!(value, Value::Bool(_));
            if decides || last || !passes {
                result = Some(match result.take().filter(|_| !settled) {
                    None => value,
                    Some(other) => self.heap.join(&other, &value),
                });
            }
            if decides {
                break;
            }
        }
        result.unwrap_or_default()
    }

    fn conditional(&mut self, test: ExprId, then: ExprId, otherwise: ExprId) -> Value {
        let value = self.eval(test);
        self.asked_truth(test, &value);
        self.on_condition(test);
        match self.truth(&value) {
            Some(true) => self.eval(then),
            Some(false) => self.eval(otherwise),
            None => {
                let (mut a, mut b) = (Value::Unknown, Value::Unknown);
                self.branch(
                    When::Unknown,
                    &mut [
                        &mut |interp| {
                            interp.refine(test, true);
                            a = interp.eval(then);
                            super::stmt::Flow::Next
                        },
                        &mut |interp| {
                            interp.refine(test, false);
                            b = interp.eval(otherwise);
                            super::stmt::Flow::Next
                        },
                    ],
                );
                super::apart::note_choice(self, test, &a, &b);
                match self.heap.join(&a, &b) {
                    // Two contexts that change the same are one to us.
                    Value::Unknown => self.either_context(&a, &b).unwrap_or_default(),
                    joined => joined,
                }
            }
        }
    }

    fn call_expr(&mut self, id: ExprId, callee: ExprId, args: &'p [Arg]) -> Value {
        let tree = self.here();
        let place = self.expr_place(id);
        if let ExprKind::Attribute { base, name, .. } = tree.expr(callee).kind {
            let mut receiver = self.eval(base);
            if receiver.is_unknown()
                && let Some(scaler) = super::joined::scaler(self, base, name)
            {
                receiver = scaler;
            }
            if name == "requires_grad_"
                && let Some(params) = self.parameter_written(base)
            {
                receiver = Value::Params(Rc::new(params));
            }
            self.name_sizes(&receiver, Some(name), args);
            let call = self.arguments(place, args);
            let value = self.call_method(&receiver, name, &call, base);
            super::walked::shows_graph(self, id, &receiver, name);
            return value;
        }
        let mut function = self.eval(callee);
        if function.is_unknown()
            && let Some(criterion) = super::joined::criterion(self, callee)
        {
            function = criterion;
        }
        self.name_sizes(&function, None, args);
        let call = self.arguments(place, args);
        if let Value::Builtin(name) = &function {
            return self.call_builtin(*name, &call, args);
        }
        if let (Value::Unknown, ExprKind::Name(name)) = (&function, &tree.expr(callee).kind) {
            return self.unseen(*name, &call);
        }
        self.call_value(&function, &call)
    }
}

/// A value that is the mean of a batch.
pub(super) fn average(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor(Tensor { averaged: true, ..(**tensor).clone() }),
        other => other.clone(),
    }
}

fn is_definite(value: &Value) -> bool {
    !matches!(value, Value::Unknown | Value::Maybe(_) | Value::Given(_))
}

pub(super) fn key_of(value: &Value) -> Option<Key> {
    match value.bare() {
        Value::Str(Some(text)) => Some(Key::Str(text.clone())),
        Value::Int(num) if num.tag == Tag::None => num.int.known().map(Key::Int),
        Value::Bool(Some(value)) => Some(Key::Int(i64::from(*value))),
        _ => None,
    }
}
