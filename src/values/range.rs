//! Intervals of real numbers, with ends that are reached or only approached.
//! They answer one question: can this operand be zero (or negative)?

/// `None` in place of an interval means that nothing is known; [`Interval::REAL`] means that any number can come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub low_open: bool,
    pub high_open: bool,
}

impl Interval {
    pub const REAL: Interval =
        Interval { low: f64::NEG_INFINITY, high: f64::INFINITY, low_open: true, high_open: true };
    pub const NON_NEGATIVE: Interval =
        Interval { low: 0.0, high: f64::INFINITY, low_open: false, high_open: true };
    pub const POSITIVE: Interval =
        Interval { low: 0.0, high: f64::INFINITY, low_open: true, high_open: true };

    pub fn point(value: f64) -> Interval {
        Interval { low: value, high: value, low_open: false, high_open: false }
    }

    pub fn closed(low: f64, high: f64) -> Interval {
        Interval { low, high, low_open: low.is_infinite(), high_open: high.is_infinite() }
    }

    pub fn as_point(&self) -> Option<f64> {
        (self.low == self.high).then_some(self.low)
    }

    pub fn contains(&self, value: f64) -> bool {
        let above = value > self.low || (value == self.low && !self.low_open);
        let below = value < self.high || (value == self.high && !self.high_open);
        above && below
    }

    pub fn contains_zero(&self) -> bool {
        self.contains(0.0)
    }

    pub fn join(&self, other: &Interval) -> Interval {
        let (low, low_open) = lower((self.low, self.low_open), (other.low, other.low_open));
        let (high, high_open) = upper((self.high, self.high_open), (other.high, other.high_open));
        Interval { low, high, low_open, high_open }
    }

    pub fn neg(&self) -> Interval {
        Interval { low: -self.high, high: -self.low, low_open: self.high_open, high_open: self.low_open }
    }

    pub fn add(&self, other: &Interval) -> Interval {
        Interval {
            low: self.low + other.low,
            high: self.high + other.high,
            low_open: self.low_open || other.low_open,
            high_open: self.high_open || other.high_open,
        }
    }

    pub fn sub(&self, other: &Interval) -> Interval {
        self.add(&other.neg())
    }

    pub fn mul(&self, other: &Interval) -> Interval {
        let ends = [
            end_product((self.low, self.low_open), (other.low, other.low_open)),
            end_product((self.low, self.low_open), (other.high, other.high_open)),
            end_product((self.high, self.high_open), (other.low, other.low_open)),
            end_product((self.high, self.high_open), (other.high, other.high_open)),
        ];
        let (low, low_open) = ends.iter().copied().reduce(lower).unwrap_or((0.0, false));
        let (high, high_open) = ends.iter().copied().reduce(upper).unwrap_or((0.0, false));
        Interval { low, high, low_open, high_open }
    }

    /// The quotient where the divisor is not zero.
    pub fn div(&self, other: &Interval) -> Interval {
        if other.contains_zero() || other.low < 0.0 && other.high > 0.0 {
            return Interval::REAL;
        }
        let inverse = Interval {
            low: 1.0 / other.high,
            high: if other.low == 0.0 { f64::INFINITY } else { 1.0 / other.low },
            low_open: other.high_open,
            high_open: other.low_open,
        };
        if other.high == 0.0 {
            return self.mul(&Interval {
                low: f64::NEG_INFINITY,
                high: 1.0 / other.low,
                low_open: true,
                high_open: other.low_open,
            });
        }
        self.mul(&inverse)
    }

    pub fn abs(&self) -> Interval {
        if self.low >= 0.0 {
            *self
        } else if self.high <= 0.0 {
            self.neg()
        } else {
            let (high, high_open) = upper((self.high, self.high_open), (-self.low, self.low_open));
            Interval { low: 0.0, high, low_open: false, high_open }
        }
    }

    pub fn square(&self) -> Interval {
        let positive = self.abs();
        positive.mul(&positive)
    }

    pub fn exp(&self) -> Interval {
        let low = self.low.exp();
        Interval {
            low,
            high: self.high.exp(),
            low_open: self.low_open || low == 0.0,
            high_open: self.high_open,
        }
    }

    pub fn log(&self) -> Interval {
        let low = if self.low <= 0.0 { f64::NEG_INFINITY } else { self.low.ln() };
        Interval {
            low,
            high: self.high.max(0.0).ln(),
            low_open: self.low_open || low.is_infinite(),
            high_open: self.high_open,
        }
    }

    pub fn sqrt(&self) -> Interval {
        Interval {
            low: self.low.max(0.0).sqrt(),
            high: self.high.max(0.0).sqrt(),
            low_open: self.low_open && self.low >= 0.0,
            high_open: self.high_open,
        }
    }

    /// Raised to a known power.
    pub fn pow(&self, exponent: f64) -> Interval {
        if exponent == 0.5 {
            self.sqrt()
        } else if exponent == 1.0 {
            *self
        } else if exponent > 0.0 && exponent % 2.0 == 0.0 {
            let base = self.abs();
            Interval { low: base.low.powf(exponent), high: base.high.powf(exponent), ..base }
        } else if exponent > 0.0 && self.low >= 0.0 {
            Interval { low: self.low.powf(exponent), high: self.high.powf(exponent), ..*self }
        } else if exponent < 0.0 && self.low >= 0.0 && !self.contains_zero() {
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
        let (low, low_open) = end_max((self.low, self.low_open), (other.low, other.low_open), true);
        let (high, high_open) = end_max((self.high, self.high_open), (other.high, other.high_open), false);
        Interval { low, high, low_open, high_open }
    }

    pub fn min(&self, other: &Interval) -> Interval {
        self.neg().max(&other.neg()).neg()
    }

    /// Of a sum of an unknown number (at least one) of such numbers.
    pub fn sum(&self) -> Interval {
        Interval {
            low: if self.low < 0.0 { f64::NEG_INFINITY } else { self.low },
            high: if self.high > 0.0 { f64::INFINITY } else { self.high },
            low_open: self.low_open || self.low < 0.0,
            high_open: self.high_open || self.high > 0.0,
        }
    }

    /// The larger of the number and zero.
    pub fn relu(&self) -> Interval {
        self.max(&Interval::point(0.0))
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

    /// In words, for a message.
    pub fn describe(&self) -> String {
        if *self == Interval::REAL {
            return "any real number".into();
        }
        let end = |value: f64| match value {
            v if v == f64::INFINITY => "∞".to_owned(),
            v if v == f64::NEG_INFINITY => "-∞".to_owned(),
            v => format!("{v}"),
        };
        let (open, close) = (if self.low_open { '(' } else { '[' }, if self.high_open { ')' } else { ']' });
        format!("{open}{}, {}{close}", end(self.low), end(self.high))
    }
}

fn lower(a: (f64, bool), b: (f64, bool)) -> (f64, bool) {
    if a.0 < b.0 {
        a
    } else if b.0 < a.0 {
        b
    } else {
        (a.0, a.1 && b.1)
    }
}

fn upper(a: (f64, bool), b: (f64, bool)) -> (f64, bool) {
    if a.0 > b.0 {
        a
    } else if b.0 > a.0 {
        b
    } else {
        (a.0, a.1 && b.1)
    }
}

/// The end of a maximum: the larger; between equals a lower end is open only if either is (the larger wins), an upper end if both are.
fn end_max(a: (f64, bool), b: (f64, bool), low: bool) -> (f64, bool) {
    if a.0 > b.0 {
        a
    } else if b.0 > a.0 {
        b
    } else if low {
        (a.0, a.1 || b.1)
    } else {
        (a.0, a.1 && b.1)
    }
}

/// Zero times infinity is the limit zero: an end that is never reached.
fn end_product(a: (f64, bool), b: (f64, bool)) -> (f64, bool) {
    let product = a.0 * b.0;
    if product.is_nan() {
        return (0.0, if a.0 == 0.0 { a.1 } else { b.1 });
    }
    if product == 0.0 {
        let closed_zero = (a.0 == 0.0 && !a.1) || (b.0 == 0.0 && !b.1);
        return (0.0, !closed_zero);
    }
    (product, a.1 || b.1)
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
        let unit = Interval { low: 0.0, high: 1.0, low_open: true, high_open: true };
        assert!(!unit.mul(&unit).contains_zero());
        assert!(unit.sub(&Interval::point(1.0)).neg().contains(0.5));
        assert!(!Interval::point(1.0).sub(&unit).contains_zero());
        assert!(!Interval::POSITIVE.mul(&Interval::POSITIVE).contains_zero());
        assert!(Interval::NON_NEGATIVE.mul(&Interval::POSITIVE).contains_zero());
    }

    #[test]
    fn quotients_and_roots() {
        assert_eq!(Interval::closed(1.0, 2.0).div(&Interval::closed(2.0, 4.0)), Interval::closed(0.25, 1.0));
        assert_eq!(Interval::REAL.square().sqrt(), Interval::NON_NEGATIVE);
        assert!(!Interval::POSITIVE.sqrt().contains_zero());
        assert_eq!(Interval::closed(-3.0, 2.0).abs(), Interval::closed(0.0, 3.0));
    }
}
