//! Formulas of tensors: what operations make of them, and what changes them in place. Only values that
//! were given one are followed; everywhere else this costs a look.

use super::{Call, Interp, Invocation};
use crate::apis::index::{self, Answer};
use crate::apis::{Api, Mark, RangeFunction, RangeSpec, Role, Transfer, Vocabulary};
use crate::syntax::BinaryOp;
use crate::values::formula::Function;
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// What was made up so far: names for numbers that are not in the text.
#[derive(Default)]
pub(super) struct Symbols {
    /// The lengths of objects that were asked for.
    pub(super) lengths: FxHashMap<ObjId, Symbol>,
    /// The lengths of tensors of unknown shape that were asked for.
    pub(super) tensor_lengths: Vec<(Rc<Tensor>, Symbol)>,
    /// How many samples a batch has of which nobody knows.
    pub(super) uncounted: Option<Symbol>,
    /// Inputs of formulas so far.
    inputs: u32,
    /// There are symbolic values, of which models are made.
    pub(super) symbolic: bool,
    /// Sizes that callers choose, and layers that are told them.
    pub(super) calls: super::sizes::Calls,
    /// Numbers that only a path of names tells.
    pub(super) paths: super::sizes::Paths,
    /// What is evaluated stands for several values, so many times over.
    pub(super) several: u32,
}

impl Interp<'_> {
    /// A new input, under the name that messages give it.
    pub(crate) fn fresh_input(&mut self, name: Ustr) -> Formula {
        self.symbols.inputs += 1;
        Formula::input(self.symbols.inputs, name)
    }

    /// What the numbers of a tensor are computed of; what was written into a buffer counts.
    pub(crate) fn formula_of(&self, tensor: &Tensor) -> Option<Formula> {
        let numbers = tensor.numbers.as_ref()?;
        if numbers.formula.is_some() {
            return numbers.formula.clone();
        }
        let content = self.heap.noted(numbers.buffer?, super::elements::CONTENT)?;
        content.as_tensor()?.numbers.as_ref()?.formula.clone()
    }

    /// The formula of an operand: of a number that it is this number.
    fn operand_formula(&self, value: &Value) -> Option<Formula> {
        match value.bare() {
            Value::Tensor(tensor) => self.formula_of(tensor),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
                let given = matches!(value, Value::Given(_));
                Some(value.as_num().filter(|_| !given).map_or_else(Formula::some, Formula::number))
            }
            _ => None,
        }
    }

    /// The numbers of what an operator gives.
    pub(super) fn formula_of_binary(&self, op: BinaryOp, a: &Value, b: &Value, result: Value) -> Value {
        if !is_followed(a) && !is_followed(b) {
            return result;
        }
        let (Some(x), Some(y)) = (self.operand_formula(a), self.operand_formula(b)) else { return result };
        let function = match op {
            BinaryOp::Add => Function::Add,
            BinaryOp::Sub => Function::Sub,
            BinaryOp::Mul => Function::Mul,
            BinaryOp::Div => Function::Div,
            BinaryOp::Pow => Function::Pow,
            BinaryOp::MatMul => return result,
            _ => return with_formula(result, Formula::other(), &[a, b]),
        };
        with_formula(result, Formula::apply(function, [x, y]), &[a, b])
    }

    pub(super) fn formula_of_negation(&self, operand: &Value, result: Value) -> Value {
        match operand.as_tensor().and_then(|tensor| self.formula_of(tensor)) {
            Some(formula) => with_formula(result, Formula::apply(Function::Neg, [formula]), &[operand]),
            None => result,
        }
    }

    /// The numbers of what a call of a framework gives; `kept` are those that its transfer left there.
    pub(super) fn numbers_given(
        &mut self,
        api: &Api,
        call: &Invocation,
        kept: Option<Rc<Numbers>>,
        dtype: Option<DType>,
    ) -> Option<Rc<Numbers>> {
        let followed: Vec<Value> =
            call.tensors().into_iter().filter(|tensor| tensor.numbers.is_some()).map(Value::Tensor).collect();
        let transfer = api.transfer().unwrap_or(Transfer::Unknown);
        if followed.is_empty() {
            return kept.filter(|_| transfer.allocates());
        }
        let refs: Vec<&Value> = followed.iter().collect();
        let at = place_of_all(&refs);
        let formula = match self.function_of(api, call) {
            Some(formula) => Some(formula),
            // Copies are told from the same by this verb alone, and what is taken for a copy is not changed with it.
            None if matches!(transfer, Transfer::Same | Transfer::Cloned) => {
                Some(self.formula_of(call.nth(0).as_tensor()?)?.copied())
            }
            None if transfer == Transfer::Itself && !keeps_numbers(api) => Some(Formula::other()),
            None if matches!(transfer, Transfer::Cast | Transfer::To) && changes_numbers(call, dtype) => {
                let operand = self.formula_of(call.nth(0).as_tensor()?)?;
                Some(Formula::apply(Function::Truncate, [operand]))
            }
            None if transfer.keeps_layout() || is_flat(call, transfer) => return kept,
            None if transfer.elementwise() => Some(Formula::other()),
            None => None,
        };
        Some(Rc::new(Numbers { formula: Some(formula?), buffer: None, at: at? }))
    }

    /// The function that the entry says a call computes, of its operands.
    fn function_of(&self, api: &Api, call: &Invocation) -> Option<Formula> {
        if call.open || !call.more.is_empty() {
            return None;
        }
        if api.mark == Some(Mark::Sigmoid) {
            let operand = self.operand_formula(&call.nth(0))?;
            return Some(Formula::apply(Function::Sigmoid, [operand]));
        }
        let Some(RangeSpec::Of(apply)) = &api.range else { return None };
        let mut operands = Vec::new();
        for operand in &apply.args {
            operands.push(self.operand_formula(&call.value_of(operand))?);
        }
        // What scales an operand besides is not among those that are listed.
        if call.api.params.iter().any(|param| param.name == "alpha" && call.is_given("alpha")) {
            return None;
        }
        let first = operands.first()?.clone();
        Some(match apply.verb {
            RangeFunction::Square => Formula::apply(Function::Mul, [first.clone(), first]),
            RangeFunction::Reciprocal => Formula::apply(Function::Div, [Formula::number(1.0), first]),
            word => Formula::apply(Function::named(word.name())?, operands),
        })
    }

    /// `int(x[i])`, `float(x[i])` and `x[i].item()`: in a loop over single numbers they stay followed.
    pub(crate) fn number_of_element(&self, call: &Call, cast: Option<DType>) -> Option<Value> {
        self.element_number(&call.positional.first()?.value, cast)
    }

    pub(crate) fn element_number(&self, element: &Value, cast: Option<DType>) -> Option<Value> {
        let tensor = element.as_tensor().filter(|tensor| is_element(tensor))?;
        let numbers = tensor.numbers.as_ref()?;
        let formula = self.formula_of(tensor)?;
        let whole = tensor.dtype.is_some_and(|dtype| !dtype.is_float());
        let formula = match cast {
            Some(_) if !whole => Formula::apply(Function::Truncate, [formula]),
            _ => formula,
        };
        let numbers = Numbers { formula: Some(formula), buffer: None, at: numbers.at.clone() };
        Some(Value::tensor(Tensor {
            dtype: cast.or(tensor.dtype),
            graph: Graph::None,
            device: Device::Cpu,
            hazards: None,
            numbers: Some(Rc::new(numbers)),
            ..(**tensor).clone()
        }))
    }

    /// The numbers of a tensor are changed in place, by something that is not followed.
    pub(super) fn spoil(&mut self, value: &Value) {
        match value.bare() {
            Value::Tensor(tensor) => {
                let Some(numbers) = tensor.numbers.clone() else { return };
                if let Some(formula) = &numbers.formula {
                    formula.spoil();
                }
                if let Some(buffer) = numbers.buffer {
                    self.fill(buffer, Formula::some());
                }
            }
            Value::Tuple(items) => items.clone().iter().for_each(|item| self.spoil(item)),
            _ => {}
        }
    }

    /// A call that is not understood may change what it is given.
    pub(super) fn spoil_arguments(&mut self, call: &Call) {
        let values: Vec<Value> = call.values().filter(|value| is_followed(value)).cloned().collect();
        values.iter().for_each(|value| self.spoil(value));
    }

    /// `dist.addmm_(1, -2, x, y.t())`: a method that frameworks have, and that no table describes. Whatever numbers it
    /// writes, it is told nothing but numbers, and does nothing to models and gradients.
    pub(super) fn computed_in_place(&mut self, receiver: &Value, name: Ustr, call: &Call) -> Option<Value> {
        let Value::Tensor(before) = receiver else { return None };
        if !name.ends_with('_') || name.ends_with("__") || before.is_array || before.is_tree() {
            return None;
        }
        let is_number = |value: &Value| {
            matches!(value.bare(), Value::Tensor(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_))
        };
        let classes = self.apis.classes_of(Role::Tensor);
        let is_listed = |class: &Ustr| {
            self.apis.method(*class, name).is_none()
                && matches!(index::ask(&format!("{class}.{name}")), Answer::Known(_))
        };
        if call.open || !call.values().all(is_number) || !classes.iter().any(is_listed) {
            return None;
        }
        let operands = call.values().filter_map(Value::as_tensor);
        let graph = operands.fold(before.graph.clone(), |all, operand| all.union(&operand.graph));
        self.spoil(receiver);
        Some(Value::tensor(Tensor {
            graph,
            range: None,
            mark: None,
            relation: None,
            numbers: None,
            recipe: None,
            averaged: false,
            selects: false,
            ..(**before).clone()
        }))
    }

    /// `x += y` changes what `x` is under every other name; under this one it is the sum.
    pub(super) fn replaced_in_place(&mut self, before: &Value, result: Value) -> Value {
        if !is_followed(before) {
            return result;
        }
        let formula = result.as_tensor().and_then(|tensor| self.formula_of(tensor));
        let kept = formula.map(|formula| apart_from(&formula, before));
        self.spoil(before);
        match kept {
            Some(formula) => with_formula(result, formula, &[before]),
            None => result,
        }
    }
}

/// The formula with a copy of its own of a value that is about to be changed.
fn apart_from(formula: &Formula, changed: &Value) -> Formula {
    let of_changed = changed.as_tensor().and_then(|tensor| tensor.numbers.as_ref()?.formula.clone());
    match of_changed {
        Some(old) => formula.replacing(&old, &old.copied()),
        None => formula.clone(),
    }
}

/// Whether a cast cuts fractions off.
fn changes_numbers(call: &Invocation, dtype: Option<DType>) -> bool {
    let before = call.nth(0).as_tensor().and_then(|tensor| tensor.dtype);
    dtype.is_some_and(|dtype| !dtype.is_float()) && before.is_none_or(DType::is_float)
}

/// Whether what gives its operand leaves the numbers in it as they are.
fn keeps_numbers(api: &Api) -> bool {
    match &api.range {
        None => true,
        Some(RangeSpec::Of(range)) => {
            let operand = api.gives.as_ref().and_then(|gives| gives.args.first());
            range.verb == RangeFunction::Same && range.args.first() == operand
        }
        Some(_) => false,
    }
}

/// Whether all numbers are laid out in one row, in the order they have.
fn is_flat(call: &Invocation, transfer: Transfer) -> bool {
    matches!(transfer, Transfer::View | Transfer::Reshape) && call.rest.len() <= 1 && {
        let sizes = call.nth(1);
        let only = match sizes.bare() {
            Value::Tuple(items) if items.len() == 1 => items[0].as_known_int(),
            other => other.as_known_int(),
        };
        only == Some(-1)
    }
}

pub(super) fn is_followed(value: &Value) -> bool {
    match value.bare() {
        Value::Tensor(tensor) => tensor.numbers.is_some(),
        Value::Tuple(items) => items.iter().any(is_followed),
        _ => false,
    }
}

fn with_formula(result: Value, formula: Formula, operands: &[&Value]) -> Value {
    let (Some(tensor), Some(at)) = (result.as_tensor(), place_of_all(operands)) else { return result };
    let numbers = Some(Rc::new(Numbers { formula: Some(formula), buffer: None, at }));
    Value::tensor(Tensor { numbers, ..(**tensor).clone() })
}

/// The indices by which operands were picked, when they were picked by the same.
fn place_of_all(operands: &[&Value]) -> Option<smallvec::SmallVec<[Nth; 2]>> {
    let mut places = operands
        .iter()
        .filter_map(|operand| operand.as_tensor()?.numbers.as_ref())
        .map(|numbers| numbers.at.clone());
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

/// Of numbers of which a function is taken that is not known.
pub(super) fn other_numbers(numbers: &Numbers) -> Rc<Numbers> {
    Rc::new(Numbers { formula: Some(Formula::other()), buffer: None, at: numbers.at.clone() })
}

/// Whether a value is one number that the indices of loops picked.
pub(super) fn is_element(tensor: &Tensor) -> bool {
    tensor.rank() == Some(0) && tensor.numbers.as_ref().is_some_and(|numbers| !numbers.at.is_empty())
}

/// What leaves a module is a value of its own to what follows.
pub(super) fn renewed(output: Value) -> Value {
    match &output {
        Value::Tensor(tensor) if tensor.numbers.is_some() => {
            Value::tensor(Tensor { numbers: None, ..(**tensor).clone() })
        }
        _ => output,
    }
}
