//! Values that are written out as a determinant is: products of what may be any number, as many of them added as taken
//! away. What is known of the entries one by one says nothing of such a sum, whose bounds hold by what the matrix is.

use crate::report::replay::Function;
use crate::values::recipe::{Ingredient, Step};
use crate::values::{Interval, Tensor};
use std::rc::Rc;

/// How many products are added, and how many are taken away.
#[derive(Clone, Copy, Default)]
struct Balance {
    added: u32,
    taken: u32,
}

pub(super) fn is_determinant(value: &Rc<Tensor>) -> bool {
    is_balanced(value, DEEPEST)
}

fn is_balanced(value: &Rc<Tensor>, depth: u32) -> bool {
    let balance = balance(value, depth);
    balance.is_some_and(|balance| balance.added == balance.taken && balance.added > 0)
}

fn balance(value: &Rc<Tensor>, depth: u32) -> Option<Balance> {
    let is_any = |range: &Interval| range.low < 0.0 && range.high > 0.0;
    if depth == 0 || !value.range.as_ref().is_none_or(is_any) && !is_square(value) {
        return None;
    }
    let side = |side: &Ingredient| match side {
        Ingredient::Tensor(tensor) => balance(tensor, depth - 1),
        Ingredient::Number(_) => None,
    };
    match &value.recipe()?.step {
        Step::Same(before) => balance(before, depth - 1),
        Step::Apply(Function::Add, sides) => {
            let (left, right) = (side(sides.first()?)?, side(sides.get(1)?)?);
            Some(Balance { added: left.added + right.added, taken: left.taken + right.taken })
        }
        Step::Apply(Function::Sub, sides) => {
            let (left, right) = (side(sides.first()?)?, side(sides.get(1)?)?);
            Some(Balance { added: left.added + right.taken, taken: left.taken + right.added })
        }
        Step::Apply(Function::Mul, factors) => of_product(factors, depth - 1),
        _ => None,
    }
}

/// An entry times itself, as the determinant of what is symmetric has it.
fn is_square(value: &Tensor) -> bool {
    let Some(recipe) = value.recipe() else { return false };
    match &recipe.step {
        Step::Apply(Function::Mul, factors) => match &factors[..] {
            [Ingredient::Tensor(one), Ingredient::Tensor(other)] => Rc::ptr_eq(one, other),
            _ => false,
        },
        _ => false,
    }
}

/// Of an entry and a minor as much is added as is taken away.
fn of_product(factors: &[Ingredient], depth: u32) -> Option<Balance> {
    let mut is_minor = false;
    for factor in factors {
        let Ingredient::Tensor(tensor) = factor else { return None };
        is_minor |= is_balanced(tensor, depth);
    }
    Some(Balance { added: 1, taken: u32::from(is_minor) })
}

/// Sums of more terms than this are not looked through.
const DEEPEST: u32 = 10;
