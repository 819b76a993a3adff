//! Classes and functions that a test tells apart: `model == Classifier`, `criterion.__name__ == "dice"`,
//! `isinstance(found, type)`.

use super::{Interp, python};
use crate::syntax::{CompareOp, ExprId, ExprKind};
use crate::values::{ObjId, State, Value};
use std::rc::Rc;
use ustr::Ustr;

impl Interp<'_> {
    /// Whether two values are the same class or function.
    pub(super) fn same_callable(&self, left: &Value, right: &Value) -> Option<bool> {
        match (left, right) {
            (Value::Function(a), Value::Function(b)) => python::same_function(a, b),
            (Value::Api(a), Value::Api(b)) if a == b => Some(true),
            (Value::Obj(a), Value::Obj(b)) => match (&self.heap.get(*a).state, &self.heap.get(*b).state) {
                (State::Class(_), State::Class(_)) if a == b => Some(true),
                (State::Class(one), State::Class(other)) => {
                    ((one.file, one.class) != (other.file, other.class)).then_some(false)
                }
                _ => None,
            },
            (Value::Function(_), _) if self.is_class(right) => Some(false),
            (_, Value::Function(_)) if self.is_class(left) => Some(false),
            _ => None,
        }
    }

    fn is_class(&self, value: &Value) -> bool {
        value.as_obj().is_some_and(|object| self.heap.is_class(object))
    }

    /// `__name__` of a class or a function.
    pub(super) fn name_of_callable(&self, value: &Value) -> Option<Value> {
        let name = match value {
            Value::Function(closure) => self.tree(closure.file).function(closure.function).name,
            Value::Api(name) => Ustr::from(name.rsplit('.').next()?),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::Class(class) => self.tree(class.file).class(class.class).name,
                _ => return None,
            },
            _ => return None,
        };
        Some(Value::str(name.as_str()))
    }

    /// Whether a class or function is written into a registry of another file, by a function of that file: files that
    /// this run does not read have written theirs into it, too.
    pub(super) fn registers_from_elsewhere(&self, registry: ObjId, value: &Value) -> bool {
        let is_callable = matches!(value, Value::Function(_)) || self.is_class(value);
        let Some(writer) = self.frames.last().filter(|frame| is_callable && frame.function.is_some()) else {
            return false;
        };
        let home = self.heap.get(registry).site.file;
        let module = self.frames.iter().rfind(|frame| frame.function.is_none());
        writer.file == home && module.is_some_and(|module| module.file != home)
    }

    /// Leaves those of several classes or functions for which a comparison may come out as it did.
    pub(super) fn refine_compared(&mut self, op: CompareOp, one: ExprId, other: ExprId, holds: bool) {
        let is_equal = match op {
            CompareOp::Eq | CompareOp::Is => holds,
            CompareOp::NotEq | CompareOp::IsNot => !holds,
            _ => return,
        };
        for (asked, beside) in [(one, other), (other, one)] {
            match self.here().expr(asked).kind {
                ExprKind::Attribute { base, name, .. } if name == "__name__" => {
                    let Value::Str(Some(text)) = self.eval(beside) else { continue };
                    self.refine_choice(base, |interp, one| match interp.name_of_callable(one)? {
                        Value::Str(Some(name)) => Some((name == text) == is_equal),
                        _ => None,
                    });
                }
                ExprKind::Name(_) | ExprKind::Attribute { .. } => {
                    let beside = self.eval(beside);
                    self.refine_choice(asked, |interp, one| {
                        interp.same_callable(one, &beside).map(|same| same == is_equal)
                    });
                }
                _ => {}
            }
        }
    }

    /// `isinstance(found, type)`
    pub(super) fn refine_class_or_function(&mut self, target: ExprId, class: ExprId, holds: bool) {
        if !matches!(self.here().expr(class).kind, ExprKind::Name(name) if name == "type") {
            return;
        }
        self.refine_choice(target, |interp, one| match one {
            Value::Function(_) => Some(!holds),
            one => interp.is_class(one).then_some(holds),
        });
    }

    /// Leaves those of several values that may be there.
    fn refine_choice(&mut self, target: ExprId, may_be: impl Fn(&Interp<'_>, &Value) -> Option<bool>) {
        if !matches!(self.here().expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        let all = match self.eval(target) {
            Value::AnyOf(all) => all,
            // Nothing that is known comes this way.
            one if may_be(self, one.bare()) == Some(false) => return self.assign(target, Value::Unknown),
            _ => return,
        };
        let left: Rc<[Value]> = all.iter().filter(|one| may_be(self, one) != Some(false)).cloned().collect();
        match &*left {
            [only] => self.assign(target, only.clone()),
            [_, ..] if left.len() < all.len() => self.assign(target, Value::AnyOf(left)),
            _ => {}
        }
    }
}
