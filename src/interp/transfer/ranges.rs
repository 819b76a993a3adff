//! The interval of a result, as the tables say it: written out, or a function of the operands' intervals.

use super::build::is_number;
use crate::apis::{Apply, Mark, RangeSpec};
use crate::interp::Invocation;
use crate::values::{Interval, Value, interval_of};

type Function = fn(&Operands) -> Option<Interval>;

/// The interval of the numbers in a call's result; `None` when nothing is known.
pub fn range(spec: &RangeSpec, call: &Invocation) -> Option<Interval> {
    match spec {
        RangeSpec::Interval { low, low_open, high, high_open } => {
            Some(Interval { low: *low, high: *high, low_open: *low_open, high_open: *high_open })
        }
        RangeSpec::Of(apply) => of(apply, call),
    }
}

fn of(apply: &Apply, call: &Invocation) -> Option<Interval> {
    let at = FUNCTIONS.binary_search_by_key(&apply.verb.as_str(), |(name, _)| name).ok()?;
    let operands = Operands(apply.args.iter().map(|operand| call.operand(operand)).collect());
    (FUNCTIONS[at].1)(&operands)
}

/// The names that a table's `range` may use.
pub fn range_functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// The values that a range function is applied to.
struct Operands(Vec<Value>);

impl Operands {
    fn interval(&self, index: usize) -> Option<Interval> {
        interval_of(self.0.get(index)?)
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

/// Sorted by name.
static FUNCTIONS: &[(&str, Function)] = &[
    ("abs", |x| Some(x.interval(0)?.abs())),
    ("add", |x| Some(x.interval(0)?.add(&x.interval(1)?))),
    ("clamp", clamp),
    ("div", |x| Some(x.interval(0)?.div(&x.interval(1)?))),
    ("exp", |x| Some(x.interval(0)?.exp())),
    ("expm1", |x| Some(x.interval(0)?.exp().sub(&Interval::point(1.0)))),
    ("join", |x| Some(x.interval(0)?.join(&x.interval(1)?))),
    ("log", |x| Some(x.interval(0)?.log())),
    ("log1p", |x| Some(x.interval(0)?.add(&Interval::point(1.0)).log())),
    ("max", |x| Some(x.interval(0)?.max(&x.interval(1)?))),
    ("mean", |x| x.interval(0)),
    ("min", |x| Some(x.interval(0)?.min(&x.interval(1)?))),
    ("mul", |x| Some(x.interval(0)?.mul(&x.interval(1)?))),
    ("neg", |x| Some(x.interval(0)?.neg())),
    ("pow", pow),
    ("reciprocal", |x| Some(Interval::point(1.0).div(&x.interval(0)?))),
    ("relu", |x| Some(x.interval(0)?.relu())),
    ("rsqrt", |x| Some(Interval::point(1.0).div(&x.interval(0)?.sqrt()))),
    ("same", |x| x.interval(0)),
    ("softplus", |x| Some(x.interval(0)?.softplus())),
    ("sqrt", |x| Some(x.interval(0)?.sqrt())),
    ("square", |x| Some(x.interval(0)?.square())),
    ("sub", |x| Some(x.interval(0)?.sub(&x.interval(1)?))),
    ("sum", sum),
];

/// `clamp x min max`: the bounds may be numbers or tensors.
fn clamp(x: &Operands) -> Option<Interval> {
    let mut range = x.interval(0)?;
    if let Some(min) = x.bound(1)? {
        range = range.max(&min);
    }
    if let Some(max) = x.bound(2)? {
        range = range.min(&max);
    }
    Some(range)
}

fn pow(x: &Operands) -> Option<Interval> {
    match (x.number(1), x.number(0)) {
        (Some(exponent), _) => Some(x.interval(0)?.pow(exponent)),
        (None, Some(base)) if base > 0.0 => Some(Interval::POSITIVE),
        _ => None,
    }
}

/// `sum x dim`: of probabilities over their classes it is one, up to rounding.
fn sum(x: &Operands) -> Option<Interval> {
    let value = x.0.first()?;
    if is_number(value) {
        return x.interval(0);
    }
    let softmax =
        value.as_tensor().and_then(|tensor| tensor.mark).is_some_and(|mark| mark.0 == Mark::Softmax);
    if softmax && x.0.get(1).and_then(Value::as_known_int) == Some(-1) {
        return Some(Interval::POSITIVE);
    }
    Some(x.interval(0)?.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Tensor;

    fn apply(name: &str, operands: Vec<Value>) -> Option<Interval> {
        let at = FUNCTIONS.binary_search_by_key(&name, |(name, _)| name).ok()?;
        (FUNCTIONS[at].1)(&Operands(operands))
    }

    fn ranged(range: Interval) -> Value {
        Value::tensor(Tensor { range: Some(range), ..Tensor::default() })
    }

    #[test]
    fn functions_are_sorted() {
        assert!(FUNCTIONS.is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn clamps_guard_only_with_known_bounds() {
        let any = ranged(Interval::REAL);
        let eps = Value::Float(Some(1e-6));
        let guarded = apply("clamp", vec![any.clone(), eps.clone(), Value::None]);
        assert!(guarded.is_some_and(|range| !range.contains_zero()));
        assert_eq!(apply("clamp", vec![any.clone(), Value::Unknown, Value::None]), None);
        assert_eq!(apply("clamp", vec![Value::Unknown, eps.clone()]), None);
        let above = apply("clamp", vec![any, Value::None, eps]);
        assert!(above.is_some_and(|range| range.contains_zero()));
    }

    #[test]
    fn activations_bound_their_results() {
        let any = || ranged(Interval::REAL);
        assert_eq!(apply("relu", vec![any()]), Some(Interval::NON_NEGATIVE));
        assert_eq!(apply("softplus", vec![any()]), Some(Interval::POSITIVE));
        assert_eq!(apply("square", vec![any()]), Some(Interval::NON_NEGATIVE));
        assert_eq!(apply("pow", vec![any(), Value::int(2)]), Some(Interval::NON_NEGATIVE));
        assert_eq!(apply("pow", vec![any(), Value::Unknown]), None);
        assert_eq!(apply("expm1", vec![any()]).map(|range| range.low), Some(-1.0));
        assert_eq!(apply("relu", vec![Value::Unknown]), None);
        assert_eq!(apply("no such function", vec![any()]), None);
    }

    #[test]
    fn sums_of_positive_numbers_are_positive() {
        let sum = apply("sum", vec![ranged(Interval::POSITIVE), Value::int(-1)]);
        assert_eq!(sum, Some(Interval::POSITIVE));
        assert_eq!(apply("sum", vec![Value::int(3)]), Some(Interval::point(3.0)));
        assert_eq!(apply("sum", vec![Value::Unknown]), None);
    }
}
