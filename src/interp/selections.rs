//! `(x >= a) * x + (x < a) * a`: two masks that exclude each other choose, as `where` does. What the sum can be is
//! what either side can be where its mask holds.

use crate::report::replay::Function;
use crate::syntax::BinaryOp;
use crate::values::recipe::Step;
use crate::values::*;
use std::rc::Rc;

/// What holds where a mask is one.
struct Condition<'t> {
    function: Function,
    left: &'t Ingredient,
    right: &'t Ingredient,
}

/// A value times a mask.
struct Picked<'t> {
    condition: Condition<'t>,
    value: &'t Ingredient,
}

/// The sum of two values of which masks choose one can be no more than these are.
pub(super) fn chosen_by_masks(op: BinaryOp, a: &Value, b: &Value, result: Value) -> Value {
    let (Some(a), Some(b), Some(sum)) = (a.as_tensor(), b.as_tensor(), result.as_tensor()) else {
        return result;
    };
    match between(a, b).filter(|_| op == BinaryOp::Add) {
        Some(range) => Value::tensor(Tensor { range: Some(range), ..(**sum).clone() }),
        None => result,
    }
}

fn between(a: &Tensor, b: &Tensor) -> Option<Interval> {
    let (a, b) = (picked(a)?, picked(b)?);
    excludes(&a.condition, &b.condition).then_some(())?;
    Some(a.range()?.join(&b.range()?))
}

fn picked(tensor: &Tensor) -> Option<Picked<'_>> {
    let Step::Apply(Function::Mul, operands) = &tensor.recipe.as_ref()?.step else { return None };
    let [one, other] = operands.as_slice() else { return None };
    let of = |mask, value| Some(Picked { condition: condition(mask)?, value });
    of(one, other).or_else(|| of(other, one))
}

fn condition(mask: &Ingredient) -> Option<Condition<'_>> {
    let Ingredient::Tensor(tensor) = mask else { return None };
    let Step::Apply(function, operands) = &root(tensor).recipe.as_ref()?.step else { return None };
    let [left, right] = operands.as_slice() else { return None };
    let compares = matches!(function, Function::Lt | Function::Le | Function::Gt | Function::Ge);
    compares.then_some(Condition { function: *function, left, right })
}

/// Whether exactly one of two conditions holds of each number.
fn excludes(a: &Condition<'_>, b: &Condition<'_>) -> bool {
    let opposite = matches!(
        (a.function, b.function),
        (Function::Lt, Function::Ge)
            | (Function::Ge, Function::Lt)
            | (Function::Le, Function::Gt)
            | (Function::Gt, Function::Le)
    );
    opposite && same(a.left, b.left) && same(a.right, b.right)
}

impl Picked<'_> {
    /// What the value can be where the mask is one.
    fn range(&self) -> Option<Interval> {
        let Condition { function, left, right } = self.condition;
        let range = range_of(self.value)?;
        let above = matches!(function, Function::Gt | Function::Ge);
        let is_reached = matches!(function, Function::Ge | Function::Le);
        if same(self.value, left) {
            return range.meet(&side(&range_of(right)?, above, is_reached));
        }
        if same(self.value, right) {
            return range.meet(&side(&range_of(left)?, !above, is_reached));
        }
        Some(range)
    }
}

/// The numbers above, or below, what something can be.
fn side(bound: &Interval, above: bool, is_reached: bool) -> Interval {
    let end = if is_reached { End::Reached } else { End::Open };
    match above {
        true => Interval::between((bound.low, end), (f64::INFINITY, End::Open)),
        false => Interval::between((f64::NEG_INFINITY, End::Open), (bound.high, end)),
    }
}

fn range_of(ingredient: &Ingredient) -> Option<Interval> {
    match ingredient {
        Ingredient::Tensor(tensor) => tensor.range,
        Ingredient::Number(value) => Some(Interval::point(*value)),
    }
}

fn same(a: &Ingredient, b: &Ingredient) -> bool {
    match (a, b) {
        (Ingredient::Tensor(a), Ingredient::Tensor(b)) => Rc::ptr_eq(root(a), root(b)),
        (Ingredient::Number(a), Ingredient::Number(b)) => a == b,
        _ => false,
    }
}

/// The tensor whose numbers it has, under another shape, type or name.
fn root(tensor: &Rc<Tensor>) -> &Rc<Tensor> {
    match tensor.recipe.as_ref().map(|recipe| &recipe.step) {
        Some(Step::Same(inner)) => root(inner),
        _ => tensor,
    }
}
