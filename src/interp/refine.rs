//! What a test says about its operands: the arm of a branch knows that a value is none, is a number or has
//! been checked.

use super::Interp;
use crate::apis::{Api, Role, Transfer};
use crate::syntax::*;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// What frameworks call their tensors.
const TENSORS: [&str; 3] = ["Tensor", "Parameter", "Variable"];

impl<'p> Interp<'p> {
    /// Takes over what a test says of the names in it, on the way where it is true or false.
    pub(super) fn refine(&mut self, test: ExprId, holds: bool) {
        let tree = self.here();
        match &tree.expr(test).kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.refine(*operand, !holds),
            ExprKind::Bool { and, items } if *and == holds => {
                items.iter().for_each(|item| self.refine(*item, holds));
            }
            ExprKind::Compare { first, rest } => {
                if let [(op @ (CompareOp::Is | CompareOp::IsNot), right)] = &**rest
                    && matches!(tree.expr(*right).kind, ExprKind::None)
                {
                    self.refine_none(*first, (*op == CompareOp::Is) == holds);
                } else if let [(CompareOp::In, listing)] = &**rest
                    && let Some([listed]) = self.args_of_builtin("dir", *listing)
                {
                    self.refine_having(listed.value, *first, holds);
                } else if let [(CompareOp::In, text)] = &**rest
                    && let Some(object) = self.named_by_class(*text)
                {
                    self.refine_kind(object, *first, holds);
                } else {
                    if let [(op, right)] = &**rest {
                        self.refine_compared(*op, *first, *right, holds);
                    }
                    self.refine_numbers(*first, rest);
                }
            }
            ExprKind::Call { callee, args } => match self.args_of_builtin("hasattr", test) {
                Some([object, name]) => self.refine_having(object.value, name.value, holds),
                _ => match self.args_of_builtin("isinstance", test) {
                    Some([object, class]) => {
                        self.refine_class_or_function(object.value, class.value, holds);
                        if holds {
                            self.refine_stand_in(object.value, class.value);
                        }
                    }
                    None => self.refine_checked(*callee, args),
                    Some(_) => {}
                },
            },
            ExprKind::Attribute { base, name, .. } if *name == "requires_grad" && !holds => {
                self.refine_followed(*base);
            }
            ExprKind::Name(_) | ExprKind::Attribute { .. } if holds => self.refine_none(test, false),
            _ => {}
        }
    }

    /// Leaves those of several classes or functions for which a comparison may come out as it did.
    fn refine_compared(&mut self, op: CompareOp, one: ExprId, other: ExprId, holds: bool) {
        let is_equal = match op {
            CompareOp::Eq | CompareOp::Is => holds,
            CompareOp::NotEq | CompareOp::IsNot => !holds,
            _ => return,
        };
        for (asked, beside) in [(one, other), (other, one)] {
            let named = match self.here().expr(asked).kind {
                ExprKind::Attribute { base, name, .. } if name == "__name__" => Some(base),
                _ => None,
            };
            // What stands beside is computed again only where there is a choice.
            let target = named.unwrap_or(asked);
            let Some(all) = self.choice_at(target) else { continue };
            let beside = self.eval(beside);
            match (named, &beside) {
                (Some(_), Value::Str(Some(text))) => self.refine_choice(target, &all, |interp, one| {
                    interp.name_of_callable(one).map(|name| (*name == **text) == is_equal)
                }),
                (Some(_), _) => {}
                (None, _) => self.refine_choice(target, &all, |interp, one| {
                    interp.same_callable(one, &beside).map(|same| same == is_equal)
                }),
            }
        }
    }

    /// `type(points) is np.ndarray`: what is no instance of a class is not of it.
    pub(super) fn is_of_class(&mut self, op: CompareOp, kind: ExprId, class: &Value) -> Option<bool> {
        let [object] = self.args_of_builtin("type", kind)? else { return None };
        let holds = match op {
            CompareOp::Is | CompareOp::Eq => true,
            CompareOp::IsNot | CompareOp::NotEq => false,
            _ => return None,
        };
        let value = self.eval(object.value);
        (self.is_instance(&value, class) == Some(false)).then_some(!holds)
    }

    /// `isinstance(found, type)`
    fn refine_class_or_function(&mut self, target: ExprId, class: ExprId, holds: bool) {
        if !matches!(self.here().expr(class).kind, ExprKind::Name(name) if name == "type") {
            return;
        }
        let Some(all) = self.choice_at(target) else { return };
        self.refine_choice(target, &all, |interp, one| match one {
            Value::Function(_) => Some(!holds),
            one => interp.is_class(one).then_some(holds),
        });
    }

    /// The classes and functions that a name may stand for.
    fn choice_at(&mut self, target: ExprId) -> Option<Rc<[Value]>> {
        if !matches!(self.here().expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return None;
        }
        match self.eval(target) {
            Value::AnyOf(all) => Some(all),
            one => self.name_of_callable(one.bare()).map(|_| Rc::from([one.bare().clone()])),
        }
    }

    /// Leaves those that may be there; of one that may not, nothing that is known comes this way.
    fn refine_choice(
        &mut self,
        target: ExprId,
        all: &[Value],
        may_be: impl Fn(&Interp<'_>, &Value) -> Option<bool>,
    ) {
        let left: Rc<[Value]> = all.iter().filter(|one| may_be(self, one) != Some(false)).cloned().collect();
        match &*left {
            [] if all.len() == 1 => self.assign(target, Value::Unknown),
            [only] if all.len() > 1 => self.assign(target, only.clone()),
            [_, _, ..] if left.len() < all.len() => self.assign(target, Value::AnyOf(left)),
            _ => {}
        }
    }

    fn refine_none(&mut self, target: ExprId, is_none: bool) {
        let tree = self.here();
        if !matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        match self.eval(target) {
            Value::Maybe(value) => {
                let refined = if is_none { Value::None } else { (*value).clone() };
                self.assign(target, refined);
            }
            // On this way a caller has said what it is.
            Value::None if !is_none => self.assign(target, Value::Unknown),
            Value::Grad(_) => self.unread(),
            _ => {}
        }
    }

    /// The arguments of a call of one of Python's own functions.
    pub(super) fn args_of_builtin(&self, name: &str, call: ExprId) -> Option<&'p [Arg]> {
        let tree = self.here();
        let ExprKind::Call { callee, args } = &tree.expr(call).kind else { return None };
        matches!(tree.expr(*callee).kind, ExprKind::Name(said) if said == name).then_some(&**args)
    }

    /// `isinstance(x, Class)` of what was only taken for a module: it is something else there.
    fn refine_stand_in(&mut self, target: ExprId, class: ExprId) {
        let value = self.eval(target);
        let class = self.eval(class);
        let of_modules = match &class {
            Value::Api(name) => self.apis.role(*name) == Some(Role::Module),
            _ => true,
        };
        if !of_modules && value.as_obj().is_some_and(|object| self.is_opaque(object)) {
            let is_tensor = matches!(&class, Value::Api(name)
                if matches!(self.apis.role(*name), Some(Role::Tensor | Role::Parameter)));
            self.assign(target, if is_tensor { Value::tensor(Tensor::default()) } else { Value::Unknown });
        }
    }

    fn is_opaque(&self, object: ObjId) -> bool {
        self.heap.get(object).module().is_some_and(|module| module.weights == Learned::Opaque)
    }

    /// `hasattr(x, "name")` of what has no such name as far as we know: it is something else there.
    fn refine_having(&mut self, target: ExprId, name: ExprId, holds: bool) {
        let tree = self.here();
        if !holds || !matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        let ExprKind::Str(name) = &tree.expr(name).kind else { return };
        let value = self.eval(target);
        let place = self.place(tree.expr(target).span);
        let has = |interp: &mut Self| !interp.get_attr(&value, Ustr::from(name), place).is_unknown();
        if value.as_tensor().is_some() && !self.quietly(has) {
            self.assign(target, Value::Unknown);
        }
    }

    /// `x` of `str(type(x))` and of `x.__class__.__name__`.
    fn named_by_class(&self, text: ExprId) -> Option<ExprId> {
        let tree = self.here();
        let class = match tree.expr(text).kind {
            ExprKind::Attribute { base, name, .. } if name == "__name__" => base,
            _ => match self.args_of_builtin("str", text)? {
                [class] => class.value,
                _ => return None,
            },
        };
        match tree.expr(class).kind {
            ExprKind::Attribute { base, name, .. } if name == "__class__" => Some(base),
            _ => match self.args_of_builtin("type", class)? {
                [object] => Some(object.value),
                _ => None,
            },
        }
    }

    /// `if "LSTM" in str(type(x))` of a tensor: it is something else there.
    fn refine_kind(&mut self, target: ExprId, text: ExprId, holds: bool) {
        let ExprKind::Str(text) = &self.here().expr(text).kind else { return };
        let is_of_tensors = TENSORS.iter().any(|kind| kind.contains(&**text));
        if holds && !is_of_tensors && self.eval(target).as_tensor().is_some() {
            self.assign(target, Value::Unknown);
        }
    }

    /// `x.detach() if x.requires_grad else x`: on the other way autograd does not follow it.
    fn refine_followed(&mut self, target: ExprId) {
        if matches!(self.here().expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. })
            && let Value::Tensor(tensor) = self.eval(target)
            && !matches!(tensor.graph, Graph::None)
        {
            self.assign(target, Value::tensor(Tensor { graph: Graph::None, ..(*tensor).clone() }));
        }
    }

    /// What a comparison was made of is no longer any number, on either way.
    fn refine_numbers(&mut self, first: ExprId, rest: &'p [(CompareOp, ExprId)]) {
        for operand in std::iter::once(first).chain(rest.iter().map(|(_, operand)| *operand)) {
            self.refine_tensor(operand, |tensor| Tensor { range: None, selects: false, ..tensor });
            if self.asks_for_size(operand) {
                self.refine_selections();
            }
        }
    }

    /// `if positive.nelement() == 0`
    fn asks_for_size(&self, operand: ExprId) -> bool {
        let ExprKind::Call { callee, .. } = self.here().expr(operand).kind else { return false };
        let ExprKind::Attribute { name, .. } = self.here().expr(callee).kind else { return false };
        let api = self.apis.method_of(Role::Tensor, name);
        matches!(api.and_then(Api::transfer), Some(Transfer::Numel | Transfer::Size))
    }

    /// How many a mask has selected was asked for: what the function counts is looked after.
    fn refine_selections(&mut self) {
        let Some(env) = self.frames.last().map(|frame| frame.env) else { return };
        for (name, value) in self.heap.get(env).attrs.clone() {
            if let Some(tensor) = value.as_tensor().filter(|tensor| tensor.selects) {
                let looked_after = Value::tensor(Tensor { selects: false, ..(**tensor).clone() });
                self.heap.get_mut(env).set_attr(name, looked_after);
            }
        }
    }

    /// `if torch.isnan(loss).any()`: the script looks after the value itself.
    fn refine_checked(&mut self, callee: ExprId, args: &'p [Arg]) {
        if let ExprKind::Attribute { base, .. } = self.here().expr(callee).kind {
            self.refine_checked_operand(base);
        }
        args.iter().for_each(|arg| self.refine_checked_operand(arg.value));
    }

    fn refine_checked_operand(&mut self, operand: ExprId) {
        match &self.here().expr(operand).kind {
            ExprKind::Call { callee, args } => self.refine_checked(*callee, args),
            // `if (x == 0).any()`
            ExprKind::Compare { first, rest } => self.refine_numbers(*first, rest),
            _ => self.refine_tensor(operand, |tensor| Tensor { hazards: None, selects: false, ..tensor }),
        }
    }

    fn refine_tensor(&mut self, target: ExprId, change: impl Fn(Tensor) -> Tensor) {
        let tree = self.here();
        let target = self.asked_about(target);
        if !matches!(tree.expr(target).kind, ExprKind::Name(_) | ExprKind::Attribute { .. }) {
            return;
        }
        if let Value::Tensor(tensor) = self.eval(target)
            && (tensor.hazards.is_some() || tensor.range.is_some())
        {
            self.assign(target, Value::tensor(change((*tensor).clone())));
        }
    }

    /// What a chain of methods asks about: `x` of `x.sum().item() > 0`, and of `torch.sum(x) > 0`.
    fn asked_about(&mut self, mut target: ExprId) -> ExprId {
        let tree = self.here();
        while let ExprKind::Call { callee, args } = &tree.expr(target).kind
            && let ExprKind::Attribute { base, name, .. } = tree.expr(*callee).kind
        {
            let is_function = matches!(self.eval(*callee), Value::Api(_));
            let first = args.first().filter(|_| self.apis.method_of(Role::Tensor, name).is_some());
            target = match first {
                Some(first) if is_function => first.value,
                _ => base,
            };
        }
        target
    }
}

/// `numbers.Number` and its kin, which no tensor is.
pub(super) fn is_of_numbers(class: Ustr) -> bool {
    class.starts_with("numbers.")
}

/// `isinstance` of a plain value and a class of the language.
pub(super) fn is_plain_instance(value: &Value, class: &Value) -> Option<bool> {
    if let Value::Api(name) = class
        && is_of_numbers(*name)
    {
        return Some(matches!(value, Value::Bool(_) | Value::Int(_) | Value::Float(_)));
    }
    let Value::Builtin(name) = class else {
        return matches!(class, Value::Api(_) | Value::Obj(_)).then_some(false);
    };
    let own = match value {
        Value::Bool(_) => &["bool", "int"][..],
        Value::Int(_) => &["int"],
        Value::Float(_) => &["float"],
        Value::Str(_) => &["str"],
        Value::Tuple(_) => &["tuple"],
        Value::None => &[],
        _ => return None,
    };
    Some(own.contains(&name.as_str()))
}
