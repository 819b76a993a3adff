//! Recipes of tensors that depend on a model: what operators and calls of the frameworks compute, in the words of
//! `report::replay`. What is not known by such a word is left out, and what comes after begins anew.

use super::{Interp, Invocation};
use crate::apis::{Api, Computed, Mark, Operand, RangeFunction, RangeSpec, Transfer, Vocabulary};
use crate::report::Place;
use crate::report::replay::Function;
use crate::syntax::{BinaryOp, CompareOp};
use crate::values::recipe::Step;
use crate::values::*;
use smallvec::SmallVec;
use std::rc::Rc;

/// So many numbers of `softplus` are those of its usual form.
const USUAL_SOFTPLUS: [f64; 2] = [1.0, 20.0];

type Ingredients = SmallVec<[Ingredient; 2]>;

impl Interp<'_> {
    pub(super) fn recipe_of_binary(
        &self,
        op: BinaryOp,
        a: &Value,
        b: &Value,
        place: Place,
        result: Value,
    ) -> Value {
        let function = match op {
            BinaryOp::Add => Function::Add,
            BinaryOp::Sub => Function::Sub,
            BinaryOp::Mul => Function::Mul,
            BinaryOp::Div => Function::Div,
            BinaryOp::Pow => Function::Pow,
            _ => return result,
        };
        with_recipe(function, &[a, b], place, result)
    }

    pub(super) fn recipe_of_negation(&self, operand: &Value, place: Place, result: Value) -> Value {
        with_recipe(Function::Neg, &[operand], place, result)
    }

    /// `~x` of a mask.
    pub(super) fn recipe_of_inversion(&self, operand: &Value, place: Place, result: Value) -> Value {
        match operand.as_tensor() {
            Some(tensor) if is_mask(tensor) => {
                with_recipe(Function::Eq, &[operand, &Value::int(0)], place, result)
            }
            _ => result,
        }
    }

    pub(super) fn recipe_of_comparison(
        &self,
        op: CompareOp,
        a: &Value,
        b: &Value,
        place: Place,
        result: Value,
    ) -> Value {
        let function = match op {
            CompareOp::Less => Function::Lt,
            CompareOp::LessEq => Function::Le,
            CompareOp::Greater => Function::Gt,
            CompareOp::GreaterEq => Function::Ge,
            CompareOp::Eq => Function::Eq,
            CompareOp::NotEq => Function::Ne,
            _ => return result,
        };
        with_recipe(function, &[a, b], place, result)
    }

    /// Of what a call gives; `tensor` is its result.
    pub(super) fn recipe_given(&self, api: &Api, call: &Invocation, tensor: &Tensor) -> Option<Rc<Recipe>> {
        if call.open || !call.more.is_empty() {
            return None;
        }
        let step = match tensor.learned {
            true => computed(api, call).or_else(|| kept(api, call))?,
            false => cast_mask(api, call, tensor).or_else(|| sum_of_shares(api, call))?,
        };
        Some(Recipe::new(step, call.place, tensor.range))
    }
}

fn with_recipe(function: Function, operands: &[&Value], place: Place, result: Value) -> Value {
    // A mask is not learned itself, and says what of a value counts.
    let learned = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.learned || is_mask(tensor));
    if !operands.iter().any(|operand| learned(operand)) {
        return result;
    }
    let Some(tensor) = result.as_tensor() else { return result };
    let Some(operands) = ingredients(operands.iter().copied()) else { return result };
    let recipe = Some(Recipe::new(Step::Apply(function, operands), place, tensor.range));
    Value::tensor(Tensor { recipe, ..(**tensor).clone() })
}

fn is_mask(tensor: &Tensor) -> bool {
    tensor.source == Source::Mask && tensor.recipe.is_some()
}

fn ingredients<'v>(operands: impl Iterator<Item = &'v Value>) -> Option<Ingredients> {
    operands.map(ingredient).collect()
}

fn ingredient(value: &Value) -> Option<Ingredient> {
    match value.bare() {
        Value::Tensor(tensor) => Some(Ingredient::Tensor(tensor.clone())),
        // Data, as far as can be told: what a model makes is known to be so.
        Value::Unknown => Some(Ingredient::Tensor(Rc::new(Tensor::default()))),
        _ => value.as_num().map(Ingredient::Number),
    }
}

/// The function that the tables name: outright, by what it makes of intervals, or by a mark.
fn computed(api: &Api, call: &Invocation) -> Option<Step> {
    if call.api.params.iter().any(|param| param.name == "alpha" && call.is_given("alpha")) {
        return None;
    }
    let operands = |args: &[Operand]| -> Vec<Value> { args.iter().map(|arg| call.value_of(arg)).collect() };
    if let Some(apply) = &api.computes {
        return said(apply.verb, &operands(&apply.args));
    }
    if let Some(function) = api.mark.and_then(marked) {
        return step(function, &[call.nth(0)]);
    }
    let Some(RangeSpec::Of(apply)) = &api.range else { return None };
    let operand = |at: usize| apply.args.get(at).map_or(Value::Unknown, |arg: &Operand| call.value_of(arg));
    match apply.verb {
        RangeFunction::Filled => step(Function::Where, &[operand(1), operand(2), operand(0)]),
        RangeFunction::Chosen => step(Function::Where, &operands(&apply.args)),
        RangeFunction::Clamp => clamped(&operand(0), &operand(1), &operand(2), call.place),
        RangeFunction::OptionalMax if matches!(operand(1), Value::None) => {
            step(Function::Amax, &[operand(0)])
        }
        RangeFunction::OptionalMin if matches!(operand(1), Value::None) => {
            step(Function::Amin, &[operand(0)])
        }
        RangeFunction::Sum => {
            let picked = call.nth_tensor(0)?.picked_by_sum(operand(1).as_num()).cloned();
            picked.map_or_else(|| step(Function::Sum, &[operand(0)]), |picked| Some(Step::Same(picked)))
        }
        word => step(ranged(word)?, &operands(&apply.args)),
    }
}

fn step(function: Function, operands: &[Value]) -> Option<Step> {
    (operands.len() == function.arity()).then_some(())?;
    Some(Step::Apply(function, ingredients(operands.iter())?))
}

fn marked(mark: Mark) -> Option<Function> {
    Some(match mark {
        Mark::Softmax => Function::Softmax,
        Mark::LogSoftmax => Function::LogSoftmax,
        Mark::Sigmoid => Function::Sigmoid,
        Mark::LogSigmoid => Function::LogSigmoid,
        Mark::Raw => return None,
    })
}

/// Functions on intervals that say which function on numbers it is.
fn ranged(word: RangeFunction) -> Option<Function> {
    match word {
        RangeFunction::CeilAt => Some(Function::ClampMax),
        RangeFunction::FloorAt => Some(Function::ClampMin),
        word if word.replayed() => Function::named(word.name()),
        _ => None,
    }
}

fn said(word: Computed, operands: &[Value]) -> Option<Step> {
    let number = |at: usize| operands.get(at).and_then(Value::as_num);
    let first = operands.first()?.clone();
    match word {
        Computed::Norm => {
            let by_default =
                matches!(operands[1].as_str(), Some("fro")) || matches!(operands[1], Value::None);
            match number(1) {
                Some(2.0) => step(Function::Norm2, &[first]),
                Some(1.0) => step(Function::Norm1, &[first]),
                None if by_default => step(Function::Norm2, &[first]),
                _ => None,
            }
        }
        Computed::Normalize if number(1) == Some(2.0) => {
            step(Function::Normalize, &[first, operands[2].clone()])
        }
        Computed::Softplus if [number(1), number(2)] == USUAL_SOFTPLUS.map(Some) => {
            step(Function::Softplus, &[first])
        }
        Computed::Normalize | Computed::Softplus => None,
        Computed::Std | Computed::Var => {
            let correction = match operands[1].as_bool() {
                Some(false) => 0.0,
                _ => number(2)?,
            };
            let function = if word == Computed::Std { Function::Std } else { Function::Var };
            let operands = SmallVec::from_vec(vec![ingredient(&first)?, Ingredient::Number(correction)]);
            Some(Step::Apply(function, operands))
        }
        word => step(Function::named(word.name())?, operands),
    }
}

/// Two bounds are two steps.
fn clamped(x: &Value, low: &Value, high: &Value, place: Place) -> Option<Step> {
    let low = (!matches!(low, Value::None)).then_some(low);
    let high = (!matches!(high, Value::None)).then_some(high);
    match (low, high) {
        (Some(low), None) => step(Function::ClampMin, &[x.clone(), low.clone()]),
        (None, Some(high)) => step(Function::ClampMax, &[x.clone(), high.clone()]),
        (Some(low), Some(high)) => {
            let between = with_range(x.as_tensor()?, None);
            let recipe = Recipe::new(step(Function::ClampMin, &[x.clone(), low.clone()])?, place, None);
            let between = Value::tensor(Tensor { recipe: Some(recipe), ..between });
            step(Function::ClampMax, &[between, high.clone()])
        }
        (None, None) => None,
    }
}

fn with_range(tensor: &Tensor, range: Option<Interval>) -> Tensor {
    Tensor { range, ..tensor.clone() }
}

/// A mask of another type is the same mask.
fn cast_mask(api: &Api, call: &Invocation, tensor: &Tensor) -> Option<Step> {
    let mask = call.nth_tensor(0).filter(|mask| is_mask(mask) && tensor.source == Source::Mask)?;
    api.transfer()?.converts().then_some(Step::Same(mask))
}

/// Shares of data that are added up, such as a mask: beside sums of predictions they make a union.
fn sum_of_shares(api: &Api, call: &Invocation) -> Option<Step> {
    let is_share = |range: Interval| range.low >= 0.0 && range.high <= 1.0;
    call.nth_tensor(0)?.range.filter(|range| is_share(*range))?;
    let is_sum = |step: &Step| matches!(step, Step::Apply(Function::Sum | Function::Mean, _));
    computed(api, call).filter(is_sum)
}

/// The same numbers; of a half type they are rounded.
fn kept(api: &Api, call: &Invocation) -> Option<Step> {
    let transfer = api.transfer()?;
    let same_range = match &api.range {
        None => true,
        Some(RangeSpec::Of(apply)) => apply.verb == RangeFunction::Same,
        Some(RangeSpec::Interval { .. }) => false,
    };
    (transfer.keeps_values() && same_range).then_some(())?;
    let tensor = call.nth_tensor(0)?;
    if transfer == Transfer::Detach {
        return Some(Step::Apply(Function::Detach, SmallVec::from_vec(vec![Ingredient::Tensor(tensor)])));
    }
    Some(Step::Same(tensor))
}
