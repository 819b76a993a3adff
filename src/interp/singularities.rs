//! Operations with a pole: what comes of one stays with the value, until it reaches a loss.

use super::determinants::is_determinant;
use super::{Interp, Invocation};
use crate::apis::{Api, Apply, Operand, PoleKind, RangeFunction, RangeSpec};
use crate::report::replay::Function;
use crate::report::{Confidence, Place};
use crate::values::recipe::Step;
use crate::values::*;
use std::rc::Rc;

/// What the tables say of an operation with a pole: which it is, and the operands.
struct Pole {
    operation: Singularity,
    operand: Value,
    /// What is divided.
    above: Value,
    place: Place,
}

impl Interp<'_> {
    /// A division of one value by another.
    pub(super) fn note_division(
        &mut self,
        above: &Value,
        below: &Value,
        place: Place,
        result: Value,
    ) -> Value {
        let is_itself =
            matches!((above.as_tensor(), below.as_tensor()), (Some(a), Some(b)) if Rc::ptr_eq(a, b));
        if is_itself || is_scaled_by_its_own_form(above, below) {
            return result;
        }
        let result = self.written_out(above, below, place, result);
        let result = without_overflow_of(below, above, result);
        let result = note_count(above, below, place, result);
        self.note_pole(Singularity::Divide, below, place, result)
    }

    /// A power with a known exponent.
    pub(super) fn note_power(
        &mut self,
        base: &Value,
        exponent: &Value,
        place: Place,
        result: Value,
    ) -> Value {
        match exponent.as_num() {
            Some(exponent) => self.note_pole(Singularity::Power(exponent), base, place, result),
            None => result,
        }
    }

    /// What an entry of the tables says of poles: in words of its own, or by its range.
    pub(super) fn note_poles_of(&mut self, api: &Api, call: &Invocation, result: Value) -> Value {
        match (&api.pole, &api.range) {
            (Some(apply), _) => self.note_said_pole(apply, call, result),
            (None, Some(RangeSpec::Of(apply))) => {
                let operands = Operands { args: &apply.args, call };
                match pole_of_range(apply.verb, &operands) {
                    Some(pole) => self.note_operation(pole, result),
                    None => with_followed(apply.verb, &operands, result),
                }
            }
            _ => result,
        }
    }

    fn note_said_pole(&mut self, apply: &Apply<PoleKind>, call: &Invocation, result: Value) -> Value {
        match apply.verb {
            PoleKind::Diagonal => with_relation(result, Relation::Diagonal),
            PoleKind::Hollow => hollowed(apply, call, result),
            PoleKind::Finite => without_hazards(result),
            PoleKind::Variance => self.note_deviation(apply, call, result),
            PoleKind::Norm => self.note_norm(apply, call, result),
            kind => match pole(kind, &Operands { args: &apply.args, call }) {
                Some(pole) => self.note_operation(pole, result),
                None => result,
            },
        }
    }

    /// Of all numbers at once a norm is zero in no run.
    fn note_norm(&mut self, apply: &Apply<PoleKind>, call: &Invocation, result: Value) -> Value {
        match apply.args.first() {
            Some(of) if !is_one(&result) => {
                self.note_pole(Singularity::Norm, &call.value_of(of), call.place, result)
            }
            _ => result,
        }
    }

    fn note_operation(&mut self, pole: Pole, result: Value) -> Value {
        match pole.operation {
            Singularity::Divide => self.note_division(&pole.above, &pole.operand, pole.place, result),
            Singularity::Log { .. } => {
                let result = written_out_log(&pole.operand, pole.place, result);
                self.note_pole(pole.operation, &pole.operand, pole.place, result)
            }
            operation => self.note_pole(operation, &pole.operand, pole.place, result),
        }
    }

    /// A softmax or a sigmoid by hand: a sum with an exponential that overflows is below the line, or a number
    /// is above one.
    fn written_out(&self, above: &Value, below: &Value, place: Place, result: Value) -> Value {
        let Some(below) = below.as_tensor() else { return result };
        let is_sum = below
            .what
            .and_then(|what| self.apis.get(what))
            .is_some_and(|api| api.range_function() == Some(RangeFunction::Sum));
        let is_above = |other: &Hazard| {
            above.as_tensor().is_some_and(|above| overflows(above).any(|hazard| is_same(hazard, other)))
        };
        let over_a_number = above.as_num().is_some() && below.range.is_some_and(|range| range.low > 0.0);
        let Some(overflow) =
            overflows(below).find(|hazard| over_a_number || is_sum || is_above(hazard)).cloned()
        else {
            return result;
        };
        let is_share = is_above(&overflow);
        let result = written_at(Some(overflow), place, result);
        match result.as_tensor() {
            Some(tensor) if is_share => {
                Value::tensor(Tensor { range: Some(Interval::PROBABILITY), ..(**tensor).clone() })
            }
            _ => result,
        }
    }

    fn note_pole(&mut self, operation: Singularity, operand: &Value, place: Place, result: Value) -> Value {
        let (Some(operand), Some(tensor)) = (operand.as_tensor(), result.as_tensor()) else { return result };
        let Some(hazard) = hazard_of(operation, operand, place) else { return result };
        if hazard.is_of_gradient() && matches!(tensor.graph, Graph::None) {
            return result;
        }
        let recipe = tensor.recipe.clone();
        Value::tensor(tensor.with_hazard(Hazard { recipe, ..hazard }))
    }
}

/// A weight over a product of itself with constant vectors: its spectral norm, which is zero where the whole weight is.
fn is_scaled_by_its_own_form(above: &Value, below: &Value) -> bool {
    let (Some(weight), Some(norm)) = (above.as_tensor(), below.as_tensor()) else { return false };
    let alone = |tensor: &Tensor| match &tensor.graph {
        Graph::Live(nodes) if !nodes.others => nodes.only_leaf(),
        _ => None,
    };
    weight.source == Source::Parameter
        && matches!(norm.relation.as_deref(), Some(Relation::Product(_)))
        && alone(weight).is_some_and(|owner| alone(norm) == Some(owner))
}

/// The operands of a word of the tables, in a call.
struct Operands<'a> {
    args: &'a [Operand],
    call: &'a Invocation<'a>,
}

impl Operands<'_> {
    fn value(&self, at: usize) -> Value {
        self.args.get(at).map_or(Value::Unknown, |arg| self.call.value_of(arg))
    }

    fn place(&self, at: usize) -> Place {
        match self.args.get(at) {
            Some(Operand::Param(name)) => self.call.place_of(name).unwrap_or(self.call.place),
            _ => self.call.place,
        }
    }

    fn pole(&self, operation: Singularity) -> Pole {
        Pole { operation, operand: self.value(0), above: Value::Unknown, place: self.call.place }
    }

    /// A division is shown where its denominator stands.
    fn quotient(&self, above: Value, below: usize) -> Pole {
        let operation = Singularity::Divide;
        Pole { operation, operand: self.value(below), above, place: self.place(below) }
    }
}

/// The operation that an entry says has a pole.
fn pole(kind: PoleKind, operands: &Operands) -> Option<Pole> {
    let operation = match kind {
        PoleKind::Div => return Some(operands.quotient(operands.value(0), 1)),
        PoleKind::Arc => Singularity::InverseTrig,
        PoleKind::Cholesky => Singularity::Inverse(Solver::Cholesky),
        PoleKind::Determinant => Singularity::Inverse(Solver::Determinant),
        PoleKind::Inverse => Singularity::Inverse(Solver::Inverse),
        PoleKind::LogDeterminant => Singularity::Inverse(Solver::LogDeterminant),
        PoleKind::Log => Singularity::Log { plus: 0.0 },
        PoleKind::Root => Singularity::Root,
        PoleKind::Rsqrt => Singularity::Power(-0.5),
        PoleKind::Diagonal
        | PoleKind::Hollow
        | PoleKind::Finite
        | PoleKind::Moments
        | PoleKind::None
        | PoleKind::Norm
        | PoleKind::Variance => return None,
    };
    Some(operands.pole(operation))
}

/// The operation with a pole that has this range.
fn pole_of_range(word: RangeFunction, operands: &Operands) -> Option<Pole> {
    let operation = match word {
        RangeFunction::Div => return Some(operands.quotient(operands.value(0), 1)),
        RangeFunction::Reciprocal => return Some(operands.quotient(Value::int(1), 0)),
        RangeFunction::Exp => Singularity::Exp,
        RangeFunction::Log | RangeFunction::Log2 | RangeFunction::Log10 => Singularity::Log { plus: 0.0 },
        RangeFunction::Log1p => Singularity::Log { plus: 1.0 },
        RangeFunction::Pow => Singularity::Power(operands.value(1).as_num()?),
        RangeFunction::Sqrt => Singularity::Root,
        _ => return None,
    };
    Some(operands.pole(operation))
}

/// What threatens an operation on this operand. Masks, counts and data are what they are; what a model makes
/// can be anything that its interval holds.
fn hazard_of(operation: Singularity, operand: &Rc<Tensor>, place: Place) -> Option<Hazard> {
    if !operand.learned || matches!(operand.source, Source::Mask | Source::Constant) {
        return None;
    }
    if operation == Singularity::Divide && is_determinant(operand) {
        return None;
    }
    let is_regular = matches!(operand.relation.as_deref(), Some(Relation::Regular));
    let inverts = matches!(operation, Singularity::Inverse(_));
    let matrix = inverts && operand.source != Source::Parameter && !is_regular;
    if inverts && !matrix {
        return None;
    }
    let range = operand.range.or(matrix.then_some(Interval::REAL))?;
    let range = operation.reached_from(range);
    let nearness = operation.nearness(&range)?;
    if operation.is_finite_from(&range) && (is_rectified(operand) || !is_followed_to_pole(operation, operand))
    {
        return None;
    }
    let kind = match operation.kind() {
        HazardKind::Log if is_share(&range) => HazardKind::LogOfShare,
        kind if nearness >= End::Rounded => kind,
        _ => return None,
    };
    let sure = if nearness == End::Reached { Confidence::High } else { Confidence::Medium };
    let hazard = Hazard {
        range,
        plus: if let Singularity::Log { plus } = operation { plus } else { 0.0 },
        nearness,
        what: operand.what,
        made_at: operand.made,
        lost_epsilon: operand.lost_epsilon(),
        ..Hazard::new(kind, place, operand.confidence.min(sure))
    };
    let doubt = if hazard.is_of_gradient() { Confidence::Medium } else { Confidence::High };
    Some(Hazard { confidence: hazard.confidence.min(doubt), ..hazard })
}

/// `torch.scatter(ones, 1, own, 0)`, `mask.fill_diagonal_(0)`: what is written is a zero for each row.
fn hollowed(apply: &Apply<PoleKind>, call: &Invocation, result: Value) -> Value {
    let operands = Operands { args: &apply.args, call };
    let (into, Value::Tensor(tensor)) = (operands.value(0), &result) else { return result };
    let is_zero = |at: usize| operands.value(at).as_num() == Some(0.0);
    let Some(into) = into.as_tensor().filter(|_| is_zero(1) || is_zero(2)) else { return result };
    match into.range.and_then(|range| range.as_point()) {
        Some(1.0) => with_relation(result, Relation::Hollow),
        _ if matches!(into.relation.as_deref(), Some(Relation::Repeated)) => result,
        _ if into.source == Source::Mask => Value::tensor(Tensor { selects: true, ..(**tensor).clone() }),
        _ => result,
    }
}

/// A rectifier hands back nothing where it gave zero, whatever the gradient is that came to it.
fn is_rectified(operand: &Tensor) -> bool {
    let last = operand.recipe().map(|recipe| &recipe.step);
    matches!(last, Some(Step::Apply(Function::Relu, _)))
}

/// A choice, and zeros put into a triangle: backward hands nothing back where a constant was taken instead.
fn with_followed(word: RangeFunction, operands: &Operands, result: Value) -> Value {
    let Some(tensor) = result.as_tensor().filter(|tensor| tensor.relation.is_none()) else { return result };
    let branches = match word {
        RangeFunction::Chosen => 1..3,
        RangeFunction::Filled => 0..1,
        RangeFunction::Union => 0..operands.args.len(),
        _ => return result,
    };
    let mask = operands.value(if word == RangeFunction::Filled { 1 } else { 0 });
    let mask = mask.as_tensor().and_then(|mask| mask.relation.clone());
    let mut followed: Option<Interval> = None;
    for at in branches {
        let value = operands.value(at);
        let Some(branch) = value.as_tensor().filter(|branch| !matches!(branch.graph, Graph::None)) else {
            continue;
        };
        let range = match word {
            RangeFunction::Union => branch.range,
            _ => Relation::narrowed(mask.as_deref(), branch, word == RangeFunction::Chosen && at == 1),
        };
        let Some(range) = range else { return result };
        followed = Some(followed.map_or(range, |other| other.join(&range)));
    }
    match followed.filter(|followed| tensor.range != Some(*followed)) {
        Some(followed) => with_relation(result, Relation::Followed(followed)),
        None => result,
    }
}

/// Whether backward comes to numbers at which the gradient of an operation is not finite.
fn is_followed_to_pole(operation: Singularity, operand: &Tensor) -> bool {
    match operand.relation.as_deref() {
        Some(Relation::Followed(range)) => {
            operation.nearness(&operation.reached_from(*range)) >= Some(End::Rounded)
        }
        _ => true,
    }
}

/// What a model made, over how many numbers pass a test: of those there may be none. A count that is clamped, or has
/// something added to it, is not zero.
fn note_count(above: &Value, below: &Value, place: Place, result: Value) -> Value {
    let (Some(above), Some(count), Some(tensor)) = (above.as_tensor(), below.as_tensor(), result.as_tensor())
    else {
        return result;
    };
    let Some(range) = count.range.filter(|range| range.low == 0.0 && range.high > 1.0) else { return result };
    if !count.selects || count.source != Source::Mask || !above.learned || range.low_end != End::Reached {
        return result;
    }
    let hazard = Hazard {
        range,
        what: count.what,
        made_at: count.made,
        ..Hazard::new(HazardKind::Count, place, count.confidence.min(Confidence::Medium))
    };
    Value::tensor(tensor.with_hazard(hazard))
}

/// The interval of a softmax, a sigmoid, or what either leaves of one.
fn is_share(range: &Interval) -> bool {
    let rounding = |end: End| matches!(end, End::Underflow | End::Rounded);
    // Where a mask says so, one is put in place of a share.
    let filled = range.low_end == End::Underflow && range.high_end == End::Reached;
    let whole = rounding(range.low_end) && rounding(range.high_end);
    range.low == 0.0 && range.high == 1.0 && (whole || filled)
}

/// The exponential of the same numbers, perhaps written twice.
fn is_same(one: &Hazard, other: &Hazard) -> bool {
    let same_operand = one.made_at.is_some() && (one.made_at, one.what) == (other.made_at, other.what);
    one.place == other.place || same_operand
}

/// Divided by what overflows a number is zero.
fn without_overflow_of(below: &Value, above: &Value, result: Value) -> Value {
    let (Some(below), Some(tensor)) = (below.as_tensor(), result.as_tensor()) else { return result };
    let of_above = |hazard: &Hazard| {
        above.as_tensor().is_some_and(|above| overflows(above).any(|other| other.place == hazard.place))
    };
    let of_below = |hazard: &Hazard| overflows(below).any(|other| other.place == hazard.place);
    let is_left =
        |hazard: &Hazard| hazard.kind != HazardKind::Overflow || of_above(hazard) || !of_below(hazard);
    let hazards = retain_hazards(&tensor.hazards, is_left);
    Value::tensor(Tensor { hazards, ..(**tensor).clone() })
}

/// A logarithm of a sum with an exponential that overflows.
fn written_out_log(operand: &Value, place: Place, result: Value) -> Value {
    // The logarithm of an exponential alone is what the exponential was taken of.
    let found = operand.as_tensor().and_then(|operand| {
        let is_bare = |hazard: &&Hazard| operand.what.is_some() && operand.made == Some(hazard.place);
        overflows(operand).find(|hazard| !is_bare(hazard)).cloned()
    });
    written_at(found, place, result)
}

/// The overflow is told here, and not again further on.
fn written_at(overflow: Option<Hazard>, place: Place, result: Value) -> Value {
    let (Some(overflow), Some(tensor)) = (overflow, result.as_tensor()) else { return result };
    let open = |hazard: &Hazard| hazard.kind != HazardKind::Overflow || hazard.place != overflow.place;
    let rest = Tensor { hazards: retain_hazards(&tensor.hazards, open), ..(**tensor).clone() };
    let recipe = tensor.recipe.clone();
    Value::tensor(rest.with_hazard(Hazard { place, kind: HazardKind::WrittenOut, recipe, ..overflow }))
}

/// The exponentials whose infinity is still there: what has bounds, a sigmoid as much as a clamp, took it away.
fn overflows(tensor: &Tensor) -> impl Iterator<Item = &Hazard> {
    let is_boundless = tensor.range.is_some_and(|range| range.high == f64::INFINITY);
    let hazards = tensor.hazards.iter().filter(move |_| is_boundless).flat_map(|hazards| hazards.iter());
    hazards.filter(|hazard| hazard.kind == HazardKind::Overflow)
}

fn is_one(value: &Value) -> bool {
    value.as_tensor().is_none_or(|tensor| tensor.rank() == Some(0))
}

fn with_relation(result: Value, relation: Relation) -> Value {
    match result.as_tensor() {
        Some(tensor) => Value::tensor(Tensor { relation: Some(Rc::new(relation)), ..(**tensor).clone() }),
        None => result,
    }
}

/// What is not finite was replaced.
fn without_hazards(result: Value) -> Value {
    match result.as_tensor() {
        Some(tensor) if tensor.hazards.is_some() => {
            Value::tensor(Tensor { hazards: None, ..(**tensor).clone() })
        }
        _ => result,
    }
}
