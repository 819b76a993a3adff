//! Python's operators on tensors and arrays.

use super::build::*;
use super::elementwise::{beside_numbers, last_of_all, of_all};
use super::layers::product_of;
use super::masks::{is_judged, lifted_where, times_number};
use crate::apis::Mark;
use crate::interp::Interp;
use crate::interp::offered::note_trial;
use crate::report::Place;
use crate::report::replay::Function;
use crate::syntax::BinaryOp;
use crate::values::recipe::{Ingredient, Step};
use crate::values::*;
use std::rc::Rc;

/// `left op right`, when one of them is a tensor; `None` when neither is.
/// `same_operand` says that both are the same expression, as in `x * x`.
pub fn binary(
    interp: &mut Interp,
    op: BinaryOp,
    left: &Value,
    right: &Value,
    place: Place,
    same_operand: bool,
) -> Option<Value> {
    if !is_tensor(left) && !is_tensor(right) {
        return None;
    }
    if matches!(left.bare(), Value::Str(_)) {
        // `"%s" % tensor`
        return None;
    }
    // `[0] * n.item()` is so long a list.
    let is_list = |side: &Value| !is_tensor(side) && sequence(interp, side).is_some();
    if op == BinaryOp::Mul && (is_list(left) || is_list(right)) {
        return Some(Value::Unknown);
    }
    if !takes_part(interp, left) || !takes_part(interp, right) {
        return Some(Value::Unknown);
    }
    if op == BinaryOp::MatMul {
        let (a, b) = (tensor_of(interp, left), tensor_of(interp, right));
        return Some(Value::tensor(product_of(interp, place, &a, &b)));
    }
    note_trial(interp, op, left, right);
    let values = [left.clone(), right.clone()];
    let mut result = of_all(interp, place, &values);
    // What one mask leaves out another may hold.
    let both_select = || [left, right].iter().all(|side| side.as_tensor().is_some_and(|mask| mask.selects));
    result.selects &= !matches!(op, BinaryOp::Add | BinaryOp::Or) || both_select();
    if leaves_others(op, left, right) {
        (result.selects, result.source) = (true, Source::Mask);
    }
    if op == BinaryOp::Div && result.dtype.is_some_and(|dtype| !dtype.is_float()) {
        result.dtype = Some(default_float(result.is_array));
    }
    // What a model makes is of single precision where nothing else is said.
    let single = || (result.learned && !result.is_array).then_some(DType::Float32);
    let held = result.dtype.or(result.cast).or_else(single);
    let (mut x, y) = (settled(left, held), settled(right, held));
    // What two predictions differ by may be any number, and so may what is raised to a power.
    let is_raised = op == BinaryOp::Pow && x.range.is_none() && is_prediction(left);
    let differ = op == BinaryOp::Sub && [&x, &y].iter().all(|side| side.range.is_none());
    if is_raised || differ && is_prediction(left) && is_prediction(right) {
        x.range = Some(Interval::REAL);
    }
    if op == BinaryOp::Pow {
        result.cast = None;
    }
    result.range = match (left.as_tensor(), right.as_tensor()) {
        (Some(minuend), Some(subtrahend))
            if op == BinaryOp::Sub
                && let Some(range) = minuend.less_its_extreme(subtrahend) =>
        {
            Some(range)
        }
        // But for rounding.
        (Some(squares), Some(square)) if op == BinaryOp::Sub && squares.makes_variance_with(square) => {
            Some(Interval::REAL.square())
        }
        (Some(sum), Some(product))
            if op == BinaryOp::Sub
                && let Some(range) = union_of(sum, product) =>
        {
            Some(range)
        }
        (Some(above), Some(below))
            if op == BinaryOp::Div
                && let Some(range) = share_of_union(above, below).or_else(|| cosine(above, below)) =>
        {
            Some(range)
        }
        (Some(a), Some(b))
            if op == BinaryOp::Add
                && let Some(range) = lifted_where(a, b) =>
        {
            Some(range)
        }
        (Some(a), Some(b)) if op == BinaryOp::Add && (a.is_corrected_by(b) || b.is_corrected_by(a)) => None,
        (Some(a), Some(b)) if op == BinaryOp::Mul && is_masked(a, b) => {
            range_of(op, x.range, y.range, false).map(|range| rounded(one_by_one(range), held))
        }
        _ => range_of(op, x.range, y.range, same_operand).map(|range| {
            let squares = op == BinaryOp::Pow || (op == BinaryOp::Mul && same_operand);
            let range = if is_raised { range.never_at_zero() } else { range };
            let base = left.as_tensor().filter(|_| squares && !is_raised);
            rounded(base.map_or(range, |base| base.of_squares(range)), held)
        }),
    };
    let judged = [left, right].iter().any(|side| is_judged(side));
    // An exponent guards nothing.
    result.relation = match x.lost_epsilon.or(y.lost_epsilon).filter(|_| op != BinaryOp::Pow) {
        _ if judged => Some(Rc::new(times_number(op, left, right, held).unwrap_or(Relation::Judged))),
        _ if op == BinaryOp::Sub && is_one(left) && is_diagonal(right) => Some(Rc::new(Relation::Hollow)),
        _ if [left, right].iter().any(|side| is_diagonal(side)) => with_diagonal(op),
        Some(lost_epsilon) => Some(Rc::new(Relation::LostEpsilon(LostEpsilon { place, ..lost_epsilon }))),
        None => lost_epsilon_of(left)
            .or(lost_epsilon_of(right))
            .or_else(|| difference(op, left, right))
            .or_else(|| squared(op, left, right, same_operand))
            .or_else(|| product(op, left, right)),
    };
    result.mark = kept_mark(op, left, right).or_else(|| kept_raw(op, left, right, result.range));
    result.last = kept_last(left, right).filter(|_| result.shape.is_none());
    result.standing = beside_numbers(&values);
    Some(Value::tensor(result))
}

/// `x ** 2`, `x * x`
fn squared(op: BinaryOp, left: &Value, right: &Value, same_operand: bool) -> Option<Rc<Relation>> {
    let by_power = op == BinaryOp::Pow && right.as_num() == Some(2.0);
    let squares = by_power || op == BinaryOp::Mul && same_operand;
    left.as_tensor().filter(|_| squares).map(Relation::square_of)
}

fn product(op: BinaryOp, left: &Value, right: &Value) -> Option<Rc<Relation>> {
    let (left, right) = (left.as_tensor()?, right.as_tensor()?);
    Relation::of_product(left, right).filter(|_| op == BinaryOp::Mul).map(Rc::new)
}

/// `-x`
pub fn negate(interp: &mut Interp, operand: &Value, place: Place) -> Option<Value> {
    let tensor = operand.as_tensor()?;
    let range = tensor.range.map(|range| range.neg());
    Some(Value::tensor(Tensor { shape: tensor.shape.clone(), range, ..result(interp, place, &[tensor]) }))
}

pub(super) fn is_tensor(value: &Value) -> bool {
    matches!(value.bare(), Value::Tensor(_) | Value::Grad(_))
}

/// Whether a value joins in arithmetic as numbers; another object may do anything with its operators.
fn takes_part(interp: &Interp, value: &Value) -> bool {
    is_tensor(value) || is_number(value) || value.is_unknown() || sequence(interp, value).is_some()
}

/// An operand as the dtype of the result holds it.
struct Settled {
    range: Option<Interval>,
    lost_epsilon: Option<LostEpsilon>,
}

fn settled(operand: &Value, dtype: Option<DType>) -> Settled {
    let range = interval_of(operand);
    let (Some(number), Some(dtype), true) = (operand.as_num(), dtype, is_number(operand)) else {
        return Settled { range, lost_epsilon: None };
    };
    let held = dtype.round(number);
    // `1e-8` in half precision, `1 + 1e-10` in single precision.
    let is_lost = number.fract() != 0.0 && held.fract() == 0.0;
    Settled {
        range: Some(Interval::point(held)),
        lost_epsilon: is_lost.then_some(LostEpsilon { place: Place::default(), number, dtype }),
    }
}

fn rounded(range: Interval, dtype: Option<DType>) -> Interval {
    match dtype {
        Some(dtype) if dtype.is_float() => range.rounded(|end| dtype.round(end)),
        _ => range,
    }
}

/// Whether a model made something, and no operation since: sums and products may be bound to each other.
pub(crate) fn is_prediction(operand: &Value) -> bool {
    let made = |tensor: &Rc<Tensor>| {
        tensor.learned && tensor.source == Source::Output && tensor.what.is_none() && tensor.recipe.is_none()
    };
    operand.as_tensor().is_some_and(made)
}

/// The guard of an operand that was lost to rounding.
fn lost_epsilon_of(operand: &Value) -> Option<Rc<Relation>> {
    let relation = operand.as_tensor()?.relation.as_ref()?;
    matches!(**relation, Relation::LostEpsilon(_)).then(|| relation.clone())
}

fn difference(op: BinaryOp, left: &Value, right: &Value) -> Option<Rc<Relation>> {
    let both = left.as_tensor().is_some() && right.as_tensor().is_some();
    (op == BinaryOp::Sub && both).then(|| Rc::new(Relation::Difference))
}

fn is_diagonal(operand: &Value) -> bool {
    let relation = operand.as_tensor().and_then(|tensor| tensor.relation.as_deref());
    matches!(relation, Some(Relation::Diagonal))
}

fn is_one(operand: &Value) -> bool {
    let range = operand.as_tensor().and_then(|tensor| tensor.range);
    operand.as_num() == Some(1.0) || range.and_then(|range| range.as_point()) == Some(1.0)
}

/// `torch.eq(labels, labels.T) * (1 - torch.eye(n))`: each sample is like itself, and perhaps like no other.
fn leaves_others(op: BinaryOp, left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_tensor(), right.as_tensor()) else { return false };
    let is_hollow = |side: &Tensor| matches!(side.relation.as_deref(), Some(Relation::Hollow));
    let is_repeated = |side: &Tensor| matches!(side.relation.as_deref(), Some(Relation::Repeated));
    let is_mask = |side: &Tensor| side.source == Source::Mask && !is_hollow(side) && !is_repeated(side);
    op == BinaryOp::Mul && (is_hollow(left) && is_mask(right) || is_mask(left) && is_hollow(right))
}

/// What a diagonal makes of the other operand: a multiple of it, or a matrix that has an inverse.
fn with_diagonal(op: BinaryOp) -> Option<Rc<Relation>> {
    match op {
        BinaryOp::Mul | BinaryOp::Div => Some(Rc::new(Relation::Diagonal)),
        BinaryOp::Add | BinaryOp::Sub => Some(Rc::new(Relation::Regular)),
        _ => None,
    }
}

fn range_of(op: BinaryOp, left: Option<Interval>, right: Option<Interval>, same: bool) -> Option<Interval> {
    if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) && !same {
        return with_any(left, right, |a, b| match op {
            BinaryOp::Add => a.add(b),
            BinaryOp::Sub => a.sub(b),
            _ => a.mul(b),
        });
    }
    let (left, right) = (left?, right?);
    Some(match op {
        BinaryOp::Add => left.mul(&Interval::point(2.0)),
        BinaryOp::Sub => Interval::point(0.0),
        BinaryOp::Mul => left.square(),
        BinaryOp::Div if same => Interval::point(1.0),
        BinaryOp::Div => left.div(&right),
        BinaryOp::Pow => power(&left, &right)?,
        BinaryOp::Mod => match right.as_point() {
            Some(by) if by > 0.0 => Interval { high_end: End::Open, ..Interval::closed(0.0, by) },
            _ => return None,
        },
        // Of masks.
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
            let of_masks = |side: &Interval| side.low >= 0.0 && side.high <= 1.0;
            (of_masks(&left) && of_masks(&right)).then(|| Interval::closed(0.0, 1.0))?
        }
        _ => return None,
    })
}

/// `a + b - a * b` of two shares: the probability of either, which grows with both; also added up, together or apart,
/// and with the same weights on both sides.
fn union_of(sum: &Tensor, product: &Tensor) -> Option<Interval> {
    let same = |x: &Rc<Tensor>, y: &Rc<Tensor>| Rc::ptr_eq(x, y);
    let added_up =
        |union: Interval| Interval { low_end: union.low_end, ..Interval::closed(0.0, f64::INFINITY) };
    let inner = reduced(sum).zip(reduced(product)).or_else(|| {
        let ([a, weight], [b, other]) = (applied(sum, Function::Mul)?, applied(product, Function::Mul)?);
        let is_weight = |range: Interval| range.low >= 0.0;
        (same(weight, other) && weight.range.is_some_and(is_weight)).then_some((a, b))
    });
    if let Some((sum, product)) = inner {
        return union_of(sum, product).map(added_up);
    }
    let [a, b] = applied(sum, Function::Add)?;
    if let (Some(a), Some(b), Some(product)) = (reduced(a), reduced(b), reduced(product)) {
        return union_of_both(a, b, product).map(added_up);
    }
    union_of_both(a, b, product)
}

fn union_of_both(a: &Rc<Tensor>, b: &Rc<Tensor>, product: &Tensor) -> Option<Interval> {
    let same = |x: &Rc<Tensor>, y: &Rc<Tensor>| Rc::ptr_eq(x, y);
    let [c, d] = applied(product, Function::Mul)?;
    if !(same(a, c) && same(b, d) || same(a, d) && same(b, c)) {
        return None;
    }
    let is_share = |range: &Interval| range.low >= 0.0 && range.high <= 1.0;
    let (a, b) = (a.range.filter(is_share)?, b.range.filter(is_share)?);
    let low = a.low + b.low - a.low * b.low;
    // It is zero where both are: the harder to reach of the two says how near it comes.
    let low_end = a.low_end.min(b.low_end);
    Some(Interval { low, low_end, ..Interval::closed(0.0, 1.0) })
}

/// `inter / (a + b - inter)`: the intersection over the union, which is zero where nothing overlaps.
fn share_of_union(part: &Rc<Tensor>, union: &Tensor) -> Option<Interval> {
    let union = without_summand(union);
    let [_, less] = applied(union, Function::Sub)?;
    let low_end = part.range.filter(|range| range.low == 0.0)?.low_end;
    Rc::ptr_eq(less, part).then_some(Interval { low_end, ..Interval::closed(0.0, 1.0) })
}

/// A product of vectors over that of their lengths, but for rounding.
fn cosine(product: &Tensor, lengths: &Tensor) -> Option<Interval> {
    product.makes_cosine_with(lengths).then_some(Interval::closed(-1.0, 1.0))
}

/// What a small number is added to.
fn without_summand(tensor: &Tensor) -> &Tensor {
    match tensor.recipe().map(|recipe| &recipe.step) {
        Some(Step::Apply(Function::Add, operands)) => match operands.as_slice() {
            [Ingredient::Tensor(tensor), Ingredient::Number(_)] => tensor,
            _ => tensor,
        },
        _ => tensor,
    }
}

/// The two tensors that a function was applied to last.
fn applied(tensor: &Tensor, function: Function) -> Option<[&Rc<Tensor>; 2]> {
    match &tensor.recipe()?.step {
        Step::Apply(last, operands) if *last == function => match operands.as_slice() {
            [Ingredient::Tensor(a), Ingredient::Tensor(b)] => Some([a, b]),
            _ => None,
        },
        _ => None,
    }
}

/// What was added up, or averaged, last.
fn reduced(tensor: &Tensor) -> Option<&Rc<Tensor>> {
    match &tensor.recipe()?.step {
        Step::Apply(Function::Sum | Function::Mean, operands) => match operands.as_slice() {
            [Ingredient::Tensor(tensor)] => Some(tensor),
            _ => None,
        },
        _ => None,
    }
}

/// Whether zeros of a product are those of data alone, such as a mask.
fn is_masked(a: &Tensor, b: &Tensor) -> bool {
    let by = |made: &Tensor, data: &Tensor| {
        made.learned && !data.learned && made.range.is_some_and(|range| !range.contains_zero())
    };
    by(a, b) || by(b, a)
}

/// With a zero end that some numbers come to and others do not.
fn one_by_one(range: Interval) -> Interval {
    let end = |value: f64, end: End| if value == 0.0 { end.min(End::Touched) } else { end };
    Interval { low_end: end(range.low, range.low_end), high_end: end(range.high, range.high_end), ..range }
}

/// A sum or product with what can be any number can be any number, whatever the other operand is.
pub(crate) fn with_any(
    left: Option<Interval>,
    right: Option<Interval>,
    of: impl Fn(&Interval, &Interval) -> Interval,
) -> Option<Interval> {
    match (left, right) {
        (Some(left), Some(right)) => Some(of(&left, &right)),
        (Some(one), None) | (None, Some(one)) if one == Interval::REAL => Some(one),
        _ => None,
    }
}

fn power(base: &Interval, exponent: &Interval) -> Option<Interval> {
    match (base.as_point(), exponent.as_point()) {
        (_, Some(exponent)) => Some(base.pow(exponent)),
        (Some(base), _) if base > 0.0 => Some(exponent.raised(base)),
        _ => None,
    }
}

/// What can be any number still can when it is scaled or moved by a number or by parameters.
fn kept_raw(op: BinaryOp, left: &Value, right: &Value, range: Option<Interval>) -> Option<(Mark, Place)> {
    if range != Some(Interval::REAL) {
        return None;
    }
    let raw = |value: &Value| value.as_tensor()?.mark.filter(|(mark, _)| *mark == Mark::Raw);
    let plain =
        |value: &Value| is_number(value) || value.as_tensor().is_some_and(|t| t.source == Source::Parameter);
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div if plain(right) => raw(left),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if plain(left) => raw(right),
        BinaryOp::Add | BinaryOp::Sub => raw(left).and(raw(right)),
        _ => None,
    }
}

/// A number leaves the sizes alone, and the larger of two last sizes is that of the result.
fn kept_last(left: &Value, right: &Value) -> Option<Int> {
    match (left.as_tensor(), right.as_tensor()) {
        (Some(tensor), None) if is_number(right) => tensor.last.clone(),
        (None, Some(tensor)) if is_number(left) => tensor.last.clone(),
        (Some(a), Some(b)) => last_of_all([a.last_size(), b.last_size()].into_iter()),
        _ => None,
    }
}

/// An offset that only keeps logarithms and quotients finite.
const SMALL: f64 = 1e-3;

/// Probabilities stay probabilities when a tiny number is added, or when nothing happens to them.
fn kept_mark(op: BinaryOp, left: &Value, right: &Value) -> Option<(Mark, Place)> {
    let (tensor, number, tensor_first) = match (left.as_tensor(), right.as_tensor()) {
        (Some(tensor), None) => (tensor, right.as_num()?, true),
        (None, Some(tensor)) => (tensor, left.as_num()?, false),
        _ => return None,
    };
    let harmless = match op {
        BinaryOp::Add => number.abs() <= SMALL,
        BinaryOp::Sub => tensor_first && number.abs() <= SMALL,
        BinaryOp::Mul => number == 1.0,
        BinaryOp::Div | BinaryOp::Pow => tensor_first && number == 1.0,
        _ => false,
    };
    tensor.mark.filter(|(mark, _)| harmless && *mark != Mark::Raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FileId, Span};

    #[test]
    fn the_same_operand_twice_is_known_better() {
        let any = Some(Interval::REAL);
        assert_eq!(range_of(BinaryOp::Mul, any, any, true), Some(Interval::REAL.square()));
        assert_eq!(range_of(BinaryOp::Sub, any, any, true), Some(Interval::point(0.0)));
        assert_eq!(range_of(BinaryOp::Mul, any, any, false), Some(Interval::REAL));
        assert_eq!(range_of(BinaryOp::Mul, any, None, false), any);
    }

    #[test]
    fn ranges_follow_arithmetic() {
        let unit = Some(Interval::closed(0.0, 1.0));
        let eps = Some(Interval::point(1e-8));
        assert!(range_of(BinaryOp::Add, unit, eps, false).is_some_and(|range| !range.contains_zero()));
        assert!(range_of(BinaryOp::Sub, eps, unit, false).is_some_and(|range| range.contains_zero()));
        let two = Some(Interval::point(2.0));
        assert_eq!(range_of(BinaryOp::Pow, Some(Interval::REAL), two, false), Some(Interval::REAL.square()));
        assert_eq!(range_of(BinaryOp::Pow, two, Some(Interval::REAL), false), Some(Interval::POSITIVE));
        assert!(range_of(BinaryOp::Mod, unit, two, false).is_some_and(|range| !range.contains(2.0)));
        assert_eq!(range_of(BinaryOp::Mod, unit, unit, false), None);
        assert_eq!(range_of(BinaryOp::FloorDiv, unit, two, false), None);
    }

    #[test]
    fn tiny_offsets_keep_the_mark() {
        let place = Place::new(FileId(0), Span::new(0, 1));
        let softmax = Value::tensor(Tensor { mark: Some((Mark::Softmax, place)), ..Tensor::default() });
        let number = |value: f64| Value::Float(Some(value));
        assert!(kept_mark(BinaryOp::Add, &softmax, &number(1e-8)).is_some());
        assert!(kept_mark(BinaryOp::Add, &number(1e-8), &softmax).is_some());
        assert!(kept_mark(BinaryOp::Mul, &softmax, &Value::int(1)).is_some());
        assert!(kept_mark(BinaryOp::Sub, &Value::int(0), &softmax).is_none());
        assert!(kept_mark(BinaryOp::Mul, &softmax, &number(2.0)).is_none());
        assert!(kept_mark(BinaryOp::Add, &softmax, &number(0.5)).is_none());
        assert!(kept_mark(BinaryOp::Add, &softmax, &Value::Float(None)).is_none());
        assert!(kept_mark(BinaryOp::Add, &softmax, &softmax).is_none());
    }
}
