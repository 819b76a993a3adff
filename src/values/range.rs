//! Intervals of real numbers, with ends that are reached, that rounding reaches, or that are only approached.
//! They answer one question: can this operand be where an operation has a pole?

/// How near numbers come to the end of an interval, from the farthest to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Never there: beyond a guard, or so far out that no run comes near.
    Open,
    /// Zero, to which small numbers underflow: a softmax, from differences of 104 between its logits on.
    Underflow,
    /// A number to which near ones are rounded: one minus a sigmoid, from logits of 17 on.
    Rounded,
    /// Zero, as the square of what crosses it: by one number alone, so not by many at once.
    Touched,
    Reached,
}

/// How long the vectors are that the numbers are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Any,
    /// One at most, as `normalize` makes them.
    Unit,
    /// The products of the numbers of two such: in all no more than one.
    UnitProducts,
}

/// `None` in place of an interval means that nothing is known; [`Interval::REAL`] means that any number can come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub low_end: End,
    pub high_end: End,
    pub length: Length,
}

impl Interval {
    pub const REAL: Interval = Interval::between((f64::NEG_INFINITY, End::Open), (f64::INFINITY, End::Open));
    pub const NON_NEGATIVE: Interval = Interval::between((0.0, End::Reached), (f64::INFINITY, End::Open));
    pub const POSITIVE: Interval = Interval::between((0.0, End::Open), (f64::INFINITY, End::Open));
    /// The numbers of vectors of length one.
    pub const UNIT: Interval =
        Interval { length: Length::Unit, ..Interval::between((-1.0, End::Reached), (1.0, End::Reached)) };
    /// What a softmax or a sigmoid makes of any numbers.
    pub const PROBABILITY: Interval = Interval::between((0.0, End::Underflow), (1.0, End::Rounded));

    pub const fn between((low, low_end): (f64, End), (high, high_end): (f64, End)) -> Interval {
        Interval { low, high, low_end, high_end, length: Length::Any }
    }

    pub fn point(value: f64) -> Interval {
        Interval::between((value, End::Reached), (value, End::Reached))
    }

    pub fn closed(low: f64, high: f64) -> Interval {
        let end = |value: f64| if value.is_infinite() { End::Open } else { End::Reached };
        Interval::between((low, end(low)), (high, end(high)))
    }

    pub fn as_point(&self) -> Option<f64> {
        (self.low == self.high).then_some(self.low)
    }

    /// How near its numbers come to a value; `None` where it lies outside.
    pub fn nearness(&self, value: f64) -> Option<End> {
        if value < self.low || value > self.high {
            return None;
        }
        let mut nearest = End::Reached;
        if value == self.low {
            nearest = nearest.min(self.low_end);
        }
        if value == self.high {
            nearest = nearest.min(self.high_end);
        }
        Some(nearest)
    }

    pub fn contains(&self, value: f64) -> bool {
        self.nearness(value) >= Some(End::Touched)
    }

    pub fn contains_zero(&self) -> bool {
        self.contains(0.0)
    }

    /// Zero lies inside, not at an end.
    pub fn crosses_zero(&self) -> bool {
        self.low < 0.0 && self.high > 0.0
    }

    pub fn join(&self, other: &Interval) -> Interval {
        let (low, low_end) = lower((self.low, self.low_end), (other.low, other.low_end));
        let (high, high_end) = upper((self.high, self.high_end), (other.high, other.high_end));
        let length = if self.length == other.length { self.length } else { Length::Any };
        Interval { length, ..Interval::between((low, low_end), (high, high_end)) }
    }

    /// The numbers that are in both; `None` when there are none.
    pub fn meet(&self, other: &Interval) -> Option<Interval> {
        let (low, low_end) = end_max((self.low, self.low_end), (other.low, other.low_end), true);
        let met = self.neg();
        let bound = other.neg();
        let (high, high_end) = end_max((met.low, met.low_end), (bound.low, bound.low_end), true);
        (low <= -high).then_some(Interval::between((low, low_end), (-high, high_end)))
    }

    pub fn neg(&self) -> Interval {
        let length = self.length;
        Interval { length, ..Interval::between((-self.high, self.high_end), (-self.low, self.low_end)) }
    }

    pub fn add(&self, other: &Interval) -> Interval {
        Interval::between(
            (self.low + other.low, self.low_end.min(other.low_end)),
            (self.high + other.high, self.high_end.min(other.high_end)),
        )
    }

    pub fn sub(&self, other: &Interval) -> Interval {
        self.add(&other.neg())
    }

    pub fn mul(&self, other: &Interval) -> Interval {
        let ends = [
            end_product((self.low, self.low_end), (other.low, other.low_end)),
            end_product((self.low, self.low_end), (other.high, other.high_end)),
            end_product((self.high, self.high_end), (other.low, other.low_end)),
            end_product((self.high, self.high_end), (other.high, other.high_end)),
        ];
        let (low, low_end) = ends.iter().copied().reduce(lower).unwrap_or((0.0, End::Reached));
        let (high, high_end) = ends.iter().copied().reduce(upper).unwrap_or((0.0, End::Reached));
        let of_units = self.length == Length::Unit && other.length == Length::Unit;
        let length = if of_units { Length::UnitProducts } else { Length::Any };
        Interval { length, ..Interval::between((low, low_end), (high, high_end)) }
    }

    /// The quotient where the divisor is not zero.
    pub fn div(&self, other: &Interval) -> Interval {
        if other.low == 0.0 && other.high > 0.0 && other.low_end != End::Open {
            // Division by zero itself is told apart, and gives no other sign.
            return self.div(&Interval { low_end: End::Open, ..*other });
        }
        if other.contains_zero() || other.crosses_zero() {
            return Interval::REAL;
        }
        let inverse = Interval::between(
            (1.0 / other.high, other.high_end),
            (if other.low == 0.0 { f64::INFINITY } else { 1.0 / other.low }, other.low_end),
        );
        if other.high == 0.0 {
            return self
                .mul(&Interval::between((f64::NEG_INFINITY, End::Open), (1.0 / other.low, other.low_end)));
        }
        self.mul(&inverse)
    }

    pub fn abs(&self) -> Interval {
        if self.low >= 0.0 {
            *self
        } else if self.high <= 0.0 {
            self.neg()
        } else {
            let (high, high_end) = upper((self.high, self.high_end), (-self.low, self.low_end));
            Interval::between((0.0, End::Touched), (high, high_end))
        }
    }

    /// Of what can be zero in all places at once, as the difference of equal rows is.
    pub fn reaching(&self) -> Interval {
        let low_end = if self.low_end == End::Touched { End::Reached } else { self.low_end };
        Interval { low_end, ..*self }
    }

    pub fn square(&self) -> Interval {
        let positive = self.abs();
        positive.mul(&positive)
    }

    pub fn exp(&self) -> Interval {
        /// Smaller numbers are taken for zero, by the hardware or by what is divided by them.
        const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
        let low = Some(self.low.exp()).filter(|low| *low >= SMALLEST).unwrap_or(0.0);
        // Numbers without bound are rarely so low; those with a bound are, now and then.
        let low_end = if self.low.is_infinite() { End::Open } else { self.low_end };
        Interval::between((low, low_end), (self.high.exp(), self.high_end))
    }

    pub fn log(&self) -> Interval {
        let low = if self.low <= 0.0 { f64::NEG_INFINITY } else { self.low.ln() };
        Interval::between(
            (low, if low.is_infinite() { End::Open } else { self.low_end }),
            (self.high.max(0.0).ln(), self.high_end),
        )
    }

    pub fn sqrt(&self) -> Interval {
        Interval::between(
            (self.low.max(0.0).sqrt(), if self.low < 0.0 { End::Reached } else { self.low_end }),
            (self.high.max(0.0).sqrt(), self.high_end),
        )
    }

    /// The same, of which nobody knows whether it ever comes to its end at zero.
    pub fn never_at_zero(&self) -> Interval {
        let end = |value: f64, end: End| if value == 0.0 { End::Open } else { end };
        Interval { low_end: end(self.low, self.low_end), high_end: end(self.high, self.high_end), ..*self }
    }

    /// A positive number raised to this.
    pub fn raised(&self, base: f64) -> Interval {
        self.mul(&Interval::point(base.ln())).exp()
    }

    /// Raised to a known power.
    pub fn pow(&self, exponent: f64) -> Interval {
        if exponent == 0.5 {
            self.sqrt()
        } else if exponent == 1.0 {
            *self
        } else if exponent > 0.0 && exponent % 2.0 == 0.0 {
            let base = self.abs();
            Interval::between(
                (base.low.powf(exponent), base.low_end),
                (base.high.powf(exponent), base.high_end),
            )
        } else if exponent > 0.0 && self.low >= 0.0 {
            Interval::between(
                (self.low.powf(exponent), self.low_end),
                (self.high.powf(exponent), self.high_end),
            )
        } else if exponent < 0.0 && self.low >= 0.0 {
            // At zero it is infinite, which is told of the power itself.
            Interval::POSITIVE
        } else {
            Interval::REAL
        }
    }

    pub fn clamp(&self, min: Option<f64>, max: Option<f64>) -> Interval {
        let mut result = *self;
        if let Some(min) = min {
            result = result.max(&Interval::point(min));
        }
        if let Some(max) = max {
            result = result.min(&Interval::point(max));
        }
        result
    }

    /// The larger of two numbers, one of each.
    pub fn max(&self, other: &Interval) -> Interval {
        let (low, low_end) = end_max((self.low, self.low_end), (other.low, other.low_end), true);
        let (high, high_end) = end_max((self.high, self.high_end), (other.high, other.high_end), false);
        Interval::between((low, low_end), (high, high_end))
    }

    pub fn min(&self, other: &Interval) -> Interval {
        self.neg().max(&other.neg()).neg()
    }

    /// Of a sum of an unknown number (at least one) of such numbers.
    pub fn sum(&self) -> Interval {
        if self.length == Length::UnitProducts {
            return Interval::closed(-1.0, 1.0);
        }
        Interval::between(
            if self.low < 0.0 { (f64::NEG_INFINITY, End::Open) } else { (self.low, self.low_end) },
            if self.high > 0.0 { (f64::INFINITY, End::Open) } else { (self.high, self.high_end) },
        )
    }

    /// The larger of the number and zero.
    pub fn relu(&self) -> Interval {
        self.max(&Interval::point(0.0))
    }

    /// A logistic or exponential share of what these numbers are: all but exact where they lie close together.
    pub fn share(&self) -> Interval {
        /// Up to here `exp` of the negative is far from what rounding makes zero or one.
        const NEAR: f64 = 12.0;
        let tame = self.low >= -NEAR && self.high <= NEAR;
        let ends = if tame { End::Open } else { End::Underflow };
        Interval {
            low_end: ends,
            high_end: if tame { End::Open } else { End::Rounded },
            ..Interval::PROBABILITY
        }
    }

    /// The hyperbolic tangent.
    pub fn tanh(&self) -> Interval {
        let end = |value: f64| if value.abs() > 9.0 { End::Rounded } else { End::Reached };
        let (low_end, high_end) = (end(self.low), end(self.high));
        Interval::between((self.low.tanh(), low_end), (self.high.tanh(), high_end))
    }

    /// A norm is zero only where all numbers are: that happens where negative ones were cut off at zero,
    /// not where any number can come.
    pub fn norm(&self) -> Interval {
        let cut_off = self.nearness(0.0) == Some(End::Reached) && (self.low == 0.0 || self.high == 0.0);
        if cut_off { Interval::NON_NEGATIVE } else { Interval::POSITIVE }
    }

    /// Of a product of an unknown number of such numbers.
    pub fn product(&self) -> Interval {
        if self.low < 0.0 {
            Interval::REAL
        } else if self.contains_zero() {
            Interval::NON_NEGATIVE
        } else {
            Interval::POSITIVE
        }
    }

    /// With ends as a format of numbers holds them.
    pub fn rounded(&self, round: impl Fn(f64) -> f64) -> Interval {
        Interval { low: round(self.low), high: round(self.high), ..*self }
    }

    /// In words, for a message.
    pub fn describe(&self) -> String {
        if *self == Interval::REAL {
            return "any real number".into();
        }
        let end = |value: f64| match value {
            v if v == f64::INFINITY => "∞".to_owned(),
            v if v == f64::NEG_INFINITY => "-∞".to_owned(),
            // Numbers of single precision are written with as many digits as they have.
            v if f64::from(v as f32) == v => format!("{}", v as f32),
            v => format!("{v}"),
        };
        let open = if self.low_end == End::Open { '(' } else { '[' };
        let close = if self.high_end == End::Open { ')' } else { ']' };
        format!("{open}{}, {}{close}", end(self.low), end(self.high))
    }
}

fn lower(a: (f64, End), b: (f64, End)) -> (f64, End) {
    if a.0 < b.0 {
        a
    } else if b.0 < a.0 {
        b
    } else {
        (a.0, a.1.max(b.1))
    }
}

fn upper(a: (f64, End), b: (f64, End)) -> (f64, End) {
    if a.0 > b.0 {
        a
    } else if b.0 > a.0 {
        b
    } else {
        (a.0, a.1.max(b.1))
    }
}

/// The end of a maximum: the larger; between equals a lower end is as far as the farther one (the larger wins), an
/// upper end as near as the nearer one.
fn end_max(a: (f64, End), b: (f64, End), low: bool) -> (f64, End) {
    if a.0 > b.0 {
        a
    } else if b.0 > a.0 {
        b
    } else if low {
        (a.0, a.1.min(b.1))
    } else {
        (a.0, a.1.max(b.1))
    }
}

/// Zero times infinity is the limit zero: as near as the zero is.
fn end_product(a: (f64, End), b: (f64, End)) -> (f64, End) {
    let product = a.0 * b.0;
    if product.is_nan() {
        return (0.0, if a.0 == 0.0 { a.1 } else { b.1 });
    }
    if product == 0.0 {
        let nearness = |side: (f64, End)| if side.0 == 0.0 { side.1 } else { End::Open };
        return (0.0, nearness(a).max(nearness(b)));
    }
    (product, a.1.min(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_that_work_exclude_zero() {
        let softplus = Interval::POSITIVE;
        assert!(!softplus.contains_zero());
        assert!(Interval::NON_NEGATIVE.contains_zero());
        assert!(!Interval::NON_NEGATIVE.add(&Interval::point(1e-8)).contains_zero());
        assert!(Interval::REAL.add(&Interval::point(1e-8)).contains_zero());
        assert!(!Interval::REAL.clamp(Some(1e-6), None).contains_zero());
        assert!(Interval::REAL.clamp(None, Some(1.0)).contains_zero());
        assert!(!Interval::REAL.square().add(&Interval::point(1.0)).contains_zero());
        assert!(!Interval::REAL.exp().contains_zero());
    }

    #[test]
    fn products_keep_open_ends() {
        let unit = Interval::between((0.0, End::Open), (1.0, End::Open));
        assert!(!unit.mul(&unit).contains_zero());
        assert!(unit.sub(&Interval::point(1.0)).neg().contains(0.5));
        assert!(!Interval::point(1.0).sub(&unit).contains_zero());
        assert!(!Interval::POSITIVE.mul(&Interval::POSITIVE).contains_zero());
        assert!(Interval::NON_NEGATIVE.mul(&Interval::POSITIVE).contains_zero());
    }

    #[test]
    fn rounding_reaches_the_ends_of_probabilities() {
        let p = Interval::PROBABILITY;
        assert_eq!(p.nearness(0.0), Some(End::Underflow));
        let rest = Interval::point(1.0).sub(&p);
        assert_eq!(rest.nearness(0.0), Some(End::Rounded));
        assert_eq!(p.mul(&rest).nearness(0.0), Some(End::Rounded));
        assert_eq!(rest.add(&Interval::point(1e-8)).nearness(0.0), None);
        assert_eq!(p.sum().nearness(0.0), Some(End::Underflow));
        assert_eq!(Interval::closed(-1.0, 1.0).share().nearness(0.0), Some(End::Open));
        let slope = Interval::point(1.0).sub(&Interval::REAL.tanh().square());
        assert_eq!(slope.nearness(0.0), Some(End::Rounded));
    }

    #[test]
    fn what_two_intervals_share() {
        let positive = Interval::REAL.meet(&Interval::POSITIVE);
        assert_eq!(positive, Some(Interval::POSITIVE));
        assert_eq!(Interval::closed(0.0, 1.0).meet(&Interval::closed(2.0, 3.0)), None);
        assert_eq!(
            Interval::NON_NEGATIVE.meet(&Interval::closed(-1.0, 1.0)),
            Some(Interval::closed(0.0, 1.0))
        );
    }

    #[test]
    fn quotients_and_roots() {
        assert_eq!(Interval::closed(1.0, 2.0).div(&Interval::closed(2.0, 4.0)), Interval::closed(0.25, 1.0));
        assert_eq!(Interval::REAL.square().sqrt().reaching(), Interval::NON_NEGATIVE);
        assert!(!Interval::POSITIVE.sqrt().contains_zero());
        assert_eq!(Interval::closed(-3.0, 2.0).abs().nearness(0.0), Some(End::Touched));
        assert_eq!(Interval::closed(-3.0, 2.0).abs().reaching(), Interval::closed(0.0, 3.0));
    }
}
