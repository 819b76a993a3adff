//! The interval of a result, as the tables say it: written out, or a function of the operands' intervals.

use super::build::is_number;
use super::ops::{is_prediction, with_any};
use crate::apis::{Apply, RangeFunction, RangeSpec};
use crate::interp::Invocation;
use crate::values::{DType, End, Interval, Relation, Source, Tensor, Value, interval_of};

type Function = fn(&Operands) -> Option<Interval>;

/// The interval of the numbers in a call's result; `None` when nothing is known.
pub fn range(spec: &RangeSpec, call: &Invocation) -> Option<Interval> {
    match spec {
        RangeSpec::Interval { low, low_open, high, high_open } => {
            let end = |open: bool| if open { End::Open } else { End::Reached };
            Some(Interval::between((*low, end(*low_open)), (*high, end(*high_open))))
        }
        RangeSpec::Of(apply) => of(apply, call),
    }
}

fn of(apply: &Apply<RangeFunction>, call: &Invocation) -> Option<Interval> {
    let operands = Operands(apply.args.iter().map(|operand| call.value_of(operand)).collect());
    function(apply.verb)(&operands)
}

/// The values that a range function is applied to.
struct Operands(Vec<Value>);

impl Operands {
    fn interval(&self, index: usize) -> Option<Interval> {
        interval_of(self.0.get(index)?)
    }

    /// The interval of an operand; what a model made and nothing is known of may be any number.
    fn made(&self, index: usize) -> Option<Interval> {
        let any = |value: &Value| is_prediction(value).then_some(Interval::REAL);
        self.interval(index).or_else(|| any(self.0.get(index)?))
    }

    /// The interval of sizes or powers of the first operand. That nothing is known of it is no sign that it comes
    /// to zero: it may be the deviation that a model gives.
    fn sizes(&self, of: impl Fn(&Interval) -> Interval) -> Option<Interval> {
        if let Some(range) = self.interval(0) {
            return self.squares(of(&range));
        }
        self.made(0).map(|any| of(&any).never_at_zero())
    }

    /// The interval of the first operand's squares or sizes.
    fn squares(&self, range: Interval) -> Option<Interval> {
        Some(self.0.first()?.as_tensor().map_or(range, |tensor| tensor.of_squares(range)))
    }

    /// Whether a model made an operand.
    fn is_learned(&self, index: usize) -> bool {
        self.0.get(index).and_then(Value::as_tensor).is_some_and(|tensor| tensor.learned)
    }

    /// Whether a diagonal was added to an operand.
    fn is_regular(&self, index: usize) -> bool {
        let tensor = self.0.get(index).and_then(Value::as_tensor);
        matches!(tensor.and_then(|tensor| tensor.relation.as_deref()), Some(Relation::Regular))
    }

    fn number(&self, index: usize) -> Option<f64> {
        self.0.get(index)?.as_num()
    }

    /// A bound that may be left out; the outer `None` when it is given and not known.
    fn bound(&self, index: usize) -> Option<Option<Interval>> {
        match self.0.get(index).map(Value::bare) {
            None | Some(Value::None) => Some(None),
            Some(value) => interval_of(value).map(Some),
        }
    }
}

/// Of what a softmax or a sigmoid is taken; numbers that nobody knows can be any.
fn share(x: &Operands) -> Option<Interval> {
    Some(x.interval(0).unwrap_or(Interval::REAL).share())
}

/// One function for each word; a word without one does not compile.
macro_rules! functions {
    ($($word:ident => $function:expr,)*) => {
        fn function(word: RangeFunction) -> Function {
            match word { $(RangeFunction::$word => $function,)* }
        }
    };
}

functions! {
    Abs => |x| x.sizes(Interval::abs),
    Add => |x| with_any(x.interval(0), x.interval(1), Interval::add),
    Any => |x| x.0.iter().any(can_be_any).then_some(Interval::REAL),
    CeilAt => |x| bounded(x, None, Some(1)),
    Chosen => chosen,
    Clamp => |x| bounded(x, Some(1), Some(2)),
    Clip => clip,
    Cos => |_| Some(Interval::closed(-1.0, 1.0)),
    Div => |x| Some(x.interval(0)?.div(&x.interval(1)?)),
    Elu => elu,
    Exp => |x| Some(x.made(0)?.exp()),
    Expm1 => |x| Some(x.made(0)?.exp().sub(&Interval::point(1.0))),
    Filled => filled,
    FloorAt => |x| bounded(x, Some(1), None),
    Largest => |x| x.interval(0),
    Leaky => leaky,
    Log => |x| Some(x.interval(0)?.log()),
    Log10 => |x| Some(x.interval(0)?.log().mul(&Interval::point(std::f64::consts::LOG10_E))),
    Log1p => |x| Some(x.interval(0)?.add(&Interval::point(1.0)).log()),
    Log2 => |x| Some(x.interval(0)?.log().mul(&Interval::point(std::f64::consts::LOG2_E))),
    // At least the largest number, more by the logarithm of how many there are.
    Logsumexp => |x| Some(x.interval(0)?.add(&Interval::NON_NEGATIVE)),
    Max => |x| Some(x.interval(0)?.max(&x.interval(1)?)),
    Mean => |x| x.interval(0).map(of_many),
    Min => |x| Some(x.interval(0)?.min(&x.interval(1)?)),
    Mul => |x| with_any(x.interval(0), x.interval(1), Interval::mul),
    Neg => |x| Some(x.interval(0)?.neg()),
    Norm => |x| Some(x.interval(0)?.norm()),
    Normalized => normalized,
    OptionalMax => |x| extreme(x, Interval::max),
    OptionalMin => |x| extreme(x, Interval::min),
    Padded => padded,
    Pixels => pixels,
    Pow => pow,
    Prod => |x| Some(x.interval(0)?.product()),
    Product => product,
    QuotientOrZero => quotient_or_zero,
    Reciprocal => |x| Some(Interval::point(1.0).div(&x.interval(0)?)),
    Relu => |x| Some(x.made(0)?.relu()),
    Same => |x| x.interval(0),
    Scaled => |x| Some(x.interval(0)?.join(&Interval::point(0.0)).sum()),
    Scattered => scattered,
    Share => share,
    Sin => |_| Some(Interval::closed(-1.0, 1.0)),
    Smallest => |x| x.interval(0),
    Sqrt => |x| Some(x.interval(0)?.sqrt()),
    Square => |x| x.sizes(Interval::square),
    Sub => |x| with_any(x.interval(0), x.interval(1), Interval::sub),
    Sum => sum,
    Tanh => |x| Some(x.interval(0).unwrap_or(Interval::REAL).tanh()),
    Union => |x| (0..x.0.len()).map(|at| x.interval(at)).reduce(|a, b| Some(a?.join(&b?))).flatten(),
}

/// Between bounds at these operands, numbers or tensors, which may be left out.
fn bounded(x: &Operands, low: Option<usize>, high: Option<usize>) -> Option<Interval> {
    let low = low.map_or(Some(None), |at| x.bound(at))?;
    // What a model made is held at zero or above where it comes down to that, or nobody would hold it.
    let is_held = low.is_some_and(|bound| bound.low >= 0.0 && x.is_learned(0));
    let any = is_held.then_some(Interval::REAL);
    let mut range = x.interval(0).or(any)?;
    let dtype = x.0[0].as_tensor().and_then(|tensor| tensor.dtype.or(tensor.cast));
    let held = |bound: Interval| bound.rounded(|end| dtype.map_or(end, |dtype| dtype.round(end)));
    if let Some(low) = low {
        range = range.max(&held(low));
    }
    if let Some(high) = high.map_or(Some(None), |at| x.bound(at))? {
        range = range.min(&held(high));
    }
    Some(range)
}

/// `clip x low high old_low old_high`: bounds under either of two names.
fn clip(x: &Operands) -> Option<Interval> {
    let either = |new: usize, old: usize| match x.0.get(new).map(Value::bare) {
        None | Some(Value::None) => old,
        _ => new,
    };
    bounded(x, Some(either(1, 3)), Some(either(2, 4)))
}

/// `chosen mask x y`
fn chosen(x: &Operands) -> Option<Interval> {
    let mask = x.0.first()?.as_tensor().and_then(|mask| mask.relation.clone());
    let branch = |at: usize, holds: bool| match x.0.get(at)?.as_tensor() {
        Some(branch) => Relation::narrowed(mask.as_deref(), branch, holds),
        None => x.interval(at),
    };
    Some(branch(1, true)?.join(&branch(2, false)?))
}

/// `filled x mask value`: numbers of `x` where the mask does not hold, else the value.
fn filled(x: &Operands) -> Option<Interval> {
    let (numbers, value) = (x.0.first()?.as_tensor()?, x.interval(2)?);
    let mask = x.0.get(1)?.as_tensor().and_then(|mask| mask.relation.as_deref());
    Some(Relation::narrowed(mask, numbers, false)?.join(&value))
}

/// Of a sum or mean over many: all of them lie at an end at once only where each is there for a reason.
fn of_many(range: Interval) -> Interval {
    let far = |end: End| if end == End::Reached { end } else { End::Open };
    Interval { low_end: far(range.low_end), high_end: far(range.high_end), ..range }
}

/// `elu x alpha`: `x` above zero, below it never as low as `-alpha`.
fn elu(x: &Operands) -> Option<Interval> {
    let (range, alpha) = (x.interval(0)?, if x.0.len() > 1 { x.number(1)? } else { 1.0 });
    if range.low >= 0.0 {
        return Some(range);
    }
    Some(Interval::between(
        (-alpha, End::Open),
        (range.high.max(0.0), if range.high < 0.0 { End::Open } else { range.high_end }),
    ))
}

/// Whether numbers are known to be without bounds. What is learned starts near where it is meant to be, so of a
/// parameter itself nothing is known; what is summed up with it goes anywhere.
fn can_be_any(value: &Value) -> bool {
    match value.bare() {
        Value::Tensor(tensor) => is_boundless(tensor),
        Value::Tuple(items) => items.iter().any(can_be_any),
        _ => false,
    }
}

fn is_boundless(tensor: &Tensor) -> bool {
    let is_parameter = tensor.learned && tensor.source == Source::Parameter;
    tensor.range == Some(Interval::REAL) || tensor.range.is_none() && is_parameter
}

/// Of sums of products of two tensors' numbers.
pub(crate) fn products(a: &Tensor, b: &Tensor) -> Option<Interval> {
    let nothing = Some(Interval::point(0.0));
    if (is_boundless(a) && b.range != nothing) || (is_boundless(b) && a.range != nothing) {
        return Some(Interval::REAL);
    }
    Some(a.range?.mul(&b.range?).sum())
}

/// `product x weight bias`: as a layer does it, with a bias that may be left out.
fn product(x: &Operands) -> Option<Interval> {
    let (a, b) = (x.0.first()?.as_tensor(), x.0.get(1)?.as_tensor());
    let range = match (a, b) {
        (Some(a), Some(b)) => products(a, b),
        (Some(known), None) | (None, Some(known)) => is_boundless(known).then_some(Interval::REAL),
        (None, None) => None,
    };
    match x.0.get(2).map(Value::bare) {
        None | Some(Value::None) => range,
        Some(bias) if can_be_any(bias) => Some(Interval::REAL),
        Some(bias) => with_any(range, interval_of(bias), Interval::add),
    }
}

/// `normalized order`: vectors of length one, by the norm of the order.
fn normalized(x: &Operands) -> Option<Interval> {
    let euclidean = x.0.is_empty() || x.number(0) == Some(2.0);
    Some(if euclidean { Interval::UNIT } else { Interval::closed(-1.0, 1.0) })
}

/// `leaky x slope`: below zero the slope times `x`.
fn leaky(x: &Operands) -> Option<Interval> {
    let range = x.interval(0)?;
    let below = |part: Interval| Some(part.mul(&Interval::point(x.number(1)?)));
    match (range.low < 0.0, range.high > 0.0) {
        (false, _) => Some(range),
        (true, false) => below(range),
        (true, true) => Some(range.relu().join(&below(range.min(&Interval::point(0.0)))?)),
    }
}

/// `scattered x src value`: other numbers were put between those of `x`, from one of two operands.
fn scattered(x: &Operands) -> Option<Interval> {
    let is_given = |at: &usize| x.0.get(*at).is_some_and(|value| !matches!(value.bare(), Value::None));
    let put = [1, 2].into_iter().filter(is_given);
    put.map(|at| x.interval(at)).fold(x.interval(0), |all, one| Some(all?.join(&one?)))
}

/// A quotient that is zero where its denominator is.
fn quotient_or_zero(x: &Operands) -> Option<Interval> {
    let (above, below) = (x.interval(0)?, x.interval(1)?);
    let positive = above.low >= 0.0 && below.low >= 0.0;
    Some(if positive { Interval::NON_NEGATIVE } else { Interval::REAL })
}

/// Of `x`, or of two tensors where the second operand is one.
fn extreme(x: &Operands, of: fn(&Interval, &Interval) -> Interval) -> Option<Interval> {
    match x.0.get(1).map(Value::bare) {
        Some(Value::Tensor(_)) => Some(of(&x.interval(0)?, &x.interval(1)?)),
        Some(Value::Unknown) => None,
        _ => x.interval(0),
    }
}

/// `padded x padding`: zeros are put around it, unless the padding is none.
fn padded(x: &Operands) -> Option<Interval> {
    let range = x.interval(0)?;
    Some(if x.number(1) == Some(0.0) { range } else { range.join(&Interval::point(0.0)) })
}

/// `pixels x dtype`: what becomes of an image; numbers that are no bytes are taken as they are.
fn pixels(x: &Operands) -> Option<Interval> {
    if matches!(x.0.get(1).map(Value::bare), Some(Value::DType(dtype)) if !dtype.is_float()) {
        return None;
    }
    match x.0.first()?.as_tensor().filter(|image| image.dtype.is_some()) {
        Some(image) if image.dtype != Some(DType::UInt8) => image.range,
        _ => Some(Interval::closed(0.0, 1.0)),
    }
}

fn pow(x: &Operands) -> Option<Interval> {
    match (x.number(1), x.number(0)) {
        (Some(exponent), _) => x.sizes(|base| base.pow(exponent)),
        (None, Some(base)) if base > 0.0 => {
            Some(x.interval(1).map_or(Interval::POSITIVE, |to| to.raised(base)))
        }
        _ => None,
    }
}

fn sum(x: &Operands) -> Option<Interval> {
    if let Some(picked) = x.0.first()?.as_tensor().and_then(|of| of.picked_by_sum(x.number(1))) {
        return picked.range;
    }
    let range = x.interval(0)?;
    // `(A + torch.eye(n)).sum(1)`: no row of the sum is without its diagonal.
    if range.low >= 0.0 && x.is_regular(0) {
        return Some(Interval::POSITIVE);
    }
    Some(if is_number(&x.0[0]) { range } else { of_many(range.sum()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Tensor;

    fn apply(word: RangeFunction, operands: Vec<Value>) -> Option<Interval> {
        function(word)(&Operands(operands))
    }

    fn ranged(range: Interval) -> Value {
        Value::tensor(Tensor { range: Some(range), ..Tensor::default() })
    }

    #[test]
    fn clamps_guard_only_with_known_bounds() {
        let any = ranged(Interval::REAL);
        let eps = Value::Float(Some(1e-6));
        let guarded = apply(RangeFunction::Clamp, vec![any.clone(), eps.clone(), Value::None]);
        assert!(guarded.is_some_and(|range| !range.contains_zero()));
        assert_eq!(apply(RangeFunction::Clamp, vec![any.clone(), Value::Unknown, Value::None]), None);
        assert_eq!(apply(RangeFunction::Clamp, vec![Value::Unknown, eps.clone(), Value::None]), None);
        assert!(
            apply(RangeFunction::FloorAt, vec![any.clone(), eps.clone()])
                .is_some_and(|range| !range.contains_zero())
        );
        assert!(
            apply(RangeFunction::CeilAt, vec![any.clone(), eps.clone()])
                .is_some_and(|range| range.contains_zero())
        );
        let above = apply(RangeFunction::Clamp, vec![any, Value::None, eps]);
        assert!(above.is_some_and(|range| range.contains_zero()));
    }

    #[test]
    fn activations_bound_their_results() {
        let any = || ranged(Interval::REAL);
        assert_eq!(apply(RangeFunction::Relu, vec![any()]), Some(Interval::NON_NEGATIVE));
        assert_eq!(
            apply(RangeFunction::Elu, vec![any(), Value::Float(Some(2.0))]).map(|range| range.low),
            Some(-2.0)
        );
        let squares = Interval { low_end: End::Touched, ..Interval::NON_NEGATIVE };
        assert_eq!(apply(RangeFunction::Square, vec![any()]), Some(squares));
        assert_eq!(apply(RangeFunction::Pow, vec![any(), Value::int(2)]), Some(squares));
        assert_eq!(apply(RangeFunction::Sum, vec![ranged(squares)]), Some(Interval::POSITIVE));
        assert_eq!(apply(RangeFunction::Pow, vec![any(), Value::Unknown]), None);
        assert_eq!(
            apply(RangeFunction::Scaled, vec![ranged(Interval::closed(1.0, 2.0))]),
            Some(Interval::NON_NEGATIVE)
        );
        assert_eq!(apply(RangeFunction::Relu, vec![Value::Unknown]), None);
    }

    #[test]
    fn sums_of_products_with_what_is_learned_have_no_bounds() {
        let weight =
            || Value::tensor(Tensor { learned: true, source: Source::Parameter, ..Tensor::default() });
        let data = || Value::tensor(Tensor::default());
        assert_eq!(apply(RangeFunction::Product, vec![data(), weight()]), Some(Interval::REAL));
        assert_eq!(apply(RangeFunction::Product, vec![Value::Unknown, weight()]), Some(Interval::REAL));
        assert_eq!(apply(RangeFunction::Product, vec![data(), data()]), None);
        assert_eq!(apply(RangeFunction::Product, vec![ranged(Interval::point(0.0)), weight()]), None);
        let shares = || ranged(Interval::closed(0.0, 1.0));
        assert_eq!(apply(RangeFunction::Product, vec![shares(), shares()]), Some(Interval::NON_NEGATIVE));
        assert_eq!(apply(RangeFunction::Product, vec![shares(), shares(), weight()]), Some(Interval::REAL));
        assert_eq!(
            apply(RangeFunction::Product, vec![shares(), shares(), Value::None]),
            Some(Interval::NON_NEGATIVE)
        );
        assert_eq!(apply(RangeFunction::Any, vec![data(), weight()]), Some(Interval::REAL));
        assert_eq!(apply(RangeFunction::Any, vec![shares(), data()]), None);
    }

    #[test]
    fn what_is_put_into_zeros_is_there() {
        let zeros = || ranged(Interval::point(0.0));
        assert_eq!(
            apply(RangeFunction::Scattered, vec![zeros(), Value::int(1), Value::None]),
            Some(Interval::closed(0.0, 1.0))
        );
        assert_eq!(
            apply(RangeFunction::Scattered, vec![zeros(), Value::None, Value::int(2)]),
            Some(Interval::closed(0.0, 2.0))
        );
        assert_eq!(apply(RangeFunction::Scattered, vec![zeros(), Value::Unknown, Value::None]), None);
    }

    #[test]
    fn the_side_below_zero_is_leaky() {
        let leaks = |range| apply(RangeFunction::Leaky, vec![ranged(range), Value::Float(Some(0.5))]);
        assert_eq!(leaks(Interval::REAL), Some(Interval::REAL));
        assert_eq!(leaks(Interval::closed(-2.0, 3.0)), Some(Interval::closed(-1.0, 3.0)));
        assert_eq!(leaks(Interval::closed(1.0, 3.0)), Some(Interval::closed(1.0, 3.0)));
        assert_eq!(leaks(Interval::closed(-2.0, -1.0)), Some(Interval::closed(-1.0, -0.5)));
    }

    #[test]
    fn logarithms_of_sums_and_other_bases() {
        let sum = apply(RangeFunction::Logsumexp, vec![ranged(Interval::closed(1.0, 2.0))]);
        assert!(sum.is_some_and(|range| range.low == 1.0 && range.high.is_infinite()));
        assert_eq!(apply(RangeFunction::Logsumexp, vec![ranged(Interval::REAL)]), Some(Interval::REAL));
        let bits = apply(RangeFunction::Log2, vec![ranged(Interval::closed(1.0, 4.0))]);
        assert!(bits.is_some_and(|range| range.low == 0.0 && (range.high - 2.0).abs() < 1e-12));
    }

    #[test]
    fn a_quotient_without_a_pole() {
        let positive = || ranged(Interval::NON_NEGATIVE);
        assert_eq!(
            apply(RangeFunction::QuotientOrZero, vec![positive(), positive()]),
            Some(Interval::NON_NEGATIVE)
        );
        assert_eq!(
            apply(RangeFunction::QuotientOrZero, vec![positive(), ranged(Interval::REAL)]),
            Some(Interval::REAL)
        );
    }

    #[test]
    fn unions_and_extremes_follow_their_operands() {
        let unit = || ranged(Interval::closed(0.0, 1.0));
        assert_eq!(
            apply(RangeFunction::Union, vec![Value::int(-1), Value::int(3)]),
            Some(Interval::closed(-1.0, 3.0))
        );
        assert_eq!(apply(RangeFunction::Union, vec![unit(), Value::Unknown]), None);
        let two = ranged(Interval::closed(2.0, 3.0));
        assert_eq!(apply(RangeFunction::OptionalMax, vec![unit(), two]), Some(Interval::closed(2.0, 3.0)));
        assert_eq!(
            apply(RangeFunction::OptionalMax, vec![unit(), Value::int(-1)]),
            Some(Interval::closed(0.0, 1.0))
        );
        assert_eq!(apply(RangeFunction::OptionalMin, vec![unit(), Value::Unknown]), None);
        assert_eq!(apply(RangeFunction::Prod, vec![unit()]), Some(Interval::NON_NEGATIVE));
        assert_eq!(apply(RangeFunction::Prod, vec![ranged(Interval::REAL)]), Some(Interval::REAL));
    }

    #[test]
    fn sums_of_positive_numbers_are_positive() {
        let sum = apply(RangeFunction::Sum, vec![ranged(Interval::POSITIVE)]);
        assert_eq!(sum, Some(Interval::POSITIVE));
        assert_eq!(apply(RangeFunction::Sum, vec![Value::int(3)]), Some(Interval::point(3.0)));
        assert_eq!(apply(RangeFunction::Sum, vec![Value::Unknown]), None);
    }
}
