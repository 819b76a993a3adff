//! Singularity operations: where an operation has a pole, and what went through one on the way to a loss.

use super::range::{End, Interval};
use super::recipe::Recipe;
use crate::report::{Confidence, Place};
use std::rc::Rc;
use ustr::Ustr;

/// A singular operation that a value went through.
#[derive(Clone, Debug, PartialEq)]
pub struct Hazard {
    /// Of the operation.
    pub place: Place,
    pub kind: HazardKind,
    /// What the operand can be, with what the operation adds to it.
    pub range: Interval,
    /// What the operation adds to its operand first, as `log1p` does.
    pub plus: f64,
    /// How near the operand comes to the pole.
    pub nearness: End,
    /// The API that gave the operand, by qualified name.
    pub what: Option<Ustr>,
    pub made_at: Option<Place>,
    /// A guard that rounding takes away.
    pub lost_epsilon: Option<LostEpsilon>,
    /// Where a choice leaves out what comes of it, its gradient not.
    pub chosen: Option<Place>,
    /// How the result was computed, where a replay may be made of it.
    pub recipe: Option<Rc<Recipe>>,
    pub confidence: Confidence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HazardKind {
    Division,
    /// A division by how many numbers pass a test, which may be none.
    Count,
    Log,
    /// The logarithm of what a softmax or a sigmoid has just made.
    LogOfShare,
    /// A square root, a norm or a deviation.
    Root,
    /// Raised to a power that is no whole number, or negative.
    Power,
    /// An inverse trigonometric or hyperbolic function at the ends of its domain.
    InverseTrig,
    /// An exponential that overflows, and that nothing has been done with yet.
    Overflow,
    /// A stable form written out: a quotient or a logarithm of what overflows.
    WrittenOut,
    /// The inverse of a matrix, or what is computed through it.
    Inverse(Solver),
    /// The deviation of a single number.
    StandardDeviation,
    /// A column met a vector, and every number the other's.
    PairwiseBroadcast,
}

/// A number that was to keep an operand from its pole, and that the dtype cannot hold there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostEpsilon {
    pub place: Place,
    pub number: f64,
    pub dtype: super::DType,
}

/// An operation with a pole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Singularity {
    Divide,
    /// The logarithm of the operand plus a number.
    Log {
        plus: f64,
    },
    Root,
    /// The root of a sum of squares.
    Norm,
    Power(f64),
    InverseTrig,
    Exp,
    Inverse(Solver),
}

/// What is computed of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Solver {
    Inverse,
    Cholesky,
    Determinant,
    LogDeterminant,
}

impl Singularity {
    pub fn kind(self) -> HazardKind {
        match self {
            Singularity::Divide => HazardKind::Division,
            Singularity::Log { .. } => HazardKind::Log,
            Singularity::Norm | Singularity::Root => HazardKind::Root,
            Singularity::Power(0.5) => HazardKind::Root,
            Singularity::Power(-1.0) => HazardKind::Division,
            Singularity::Power(_) => HazardKind::Power,
            Singularity::InverseTrig => HazardKind::InverseTrig,
            Singularity::Exp => HazardKind::Overflow,
            Singularity::Inverse(solver) => HazardKind::Inverse(solver),
        }
    }

    /// Whether the value is finite for all numbers of an interval, so that only the gradient may be not.
    pub fn is_finite_from(self, range: &Interval) -> bool {
        match self {
            Singularity::Norm | Singularity::Root => range.low >= 0.0,
            Singularity::Power(exponent) => exponent > 0.0 && range.low >= 0.0,
            _ => false,
        }
    }

    /// What the operation has its pole in, for an operand from an interval.
    pub fn reached_from(self, range: Interval) -> Interval {
        match self {
            Singularity::Log { plus } => range.add(&Interval::point(plus)),
            Singularity::Norm => range.norm(),
            _ => range,
        }
    }

    /// How near numbers from an interval come to where the operation or its gradient is not finite.
    pub fn nearness(self, range: &Interval) -> Option<End> {
        let beyond = |outside: bool, pole: f64| match outside {
            true => Some(End::Reached),
            false => range.nearness(pole),
        };
        match self {
            Singularity::Divide => range.nearness(0.0),
            Singularity::Log { .. } => beyond(range.low < 0.0, 0.0),
            Singularity::Norm | Singularity::Root => beyond(range.low < 0.0, 0.0),
            Singularity::Power(exponent) => {
                let whole = exponent.fract() == 0.0;
                match exponent {
                    e if e < 0.0 => beyond(!whole && range.low < 0.0, 0.0),
                    _ if whole => None,
                    e if e < 1.0 => beyond(range.low < 0.0, 0.0),
                    _ => (range.low < 0.0).then_some(End::Reached),
                }
            }
            Singularity::InverseTrig => {
                let outside = range.low < -1.0 || range.high > 1.0;
                beyond(outside, 1.0).max(beyond(outside, -1.0))
            }
            Singularity::Exp => (range.high == f64::INFINITY).then_some(End::Reached),
            Singularity::Inverse(_) => Some(End::Reached),
        }
    }
}

impl Hazard {
    /// Of an operand of which nothing more is known.
    pub fn new(kind: HazardKind, place: Place, confidence: Confidence) -> Hazard {
        Hazard {
            place,
            kind,
            range: Interval::REAL,
            plus: 0.0,
            nearness: End::Reached,
            what: None,
            made_at: None,
            lost_epsilon: None,
            chosen: None,
            recipe: None,
            confidence,
        }
    }

    /// Whether the gradient is no number even where a choice leaves the value out. That of a quotient or a
    /// logarithm is wrong at the pole only, that of a root everywhere below, too.
    pub fn outlives_choice(&self) -> bool {
        match self.kind {
            HazardKind::Root | HazardKind::Power | HazardKind::InverseTrig => true,
            HazardKind::Overflow | HazardKind::WrittenOut => true,
            HazardKind::Division => self.nearness == End::Reached,
            HazardKind::Log => self.nearness == End::Reached && self.range.low >= 0.0,
            HazardKind::Count
            | HazardKind::LogOfShare
            | HazardKind::Inverse(_)
            | HazardKind::StandardDeviation
            | HazardKind::PairwiseBroadcast => false,
        }
    }

    /// The value is finite at the pole; only the gradient is not.
    pub fn is_of_gradient(&self) -> bool {
        match self.kind {
            HazardKind::Root => self.range.low >= 0.0,
            HazardKind::InverseTrig => self.range.low >= -1.0 && self.range.high <= 1.0,
            _ => false,
        }
    }
}

/// More hazards on one value than a report would show are forgotten.
const MOST_HAZARDS: usize = 8;

pub fn union_hazards(a: &Option<Rc<[Hazard]>>, b: &Option<Rc<[Hazard]>>) -> Option<Rc<[Hazard]>> {
    match (a, b) {
        (None, other) | (other, None) => other.clone(),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Some(a.clone()),
        (Some(a), Some(b)) => {
            let is_known = |hazard: &&Hazard| !a.iter().any(|known| hazard.is_that(known));
            let mut all = a.to_vec();
            all.extend(b.iter().filter(is_known).cloned());
            all.truncate(MOST_HAZARDS);
            Some(all.into())
        }
    }
}

impl Hazard {
    fn is_that(&self, other: &Hazard) -> bool {
        self.place == other.place && self.kind == other.kind
    }
}

/// What is left where numbers have gone through weights, or into something that has bounds: whatever overflowed
/// is no longer what a logarithm or a quotient is written out of, and what features were divided by is a length, unless
/// it `counts` as before.
pub fn without_overflow(hazards: &Option<Rc<[Hazard]>>, counts: bool) -> Option<Rc<[Hazard]>> {
    retain_hazards(hazards, |hazard| match hazard.kind {
        HazardKind::Count => counts,
        HazardKind::Overflow => false,
        _ => true,
    })
}

/// Those that a condition keeps.
pub fn retain_hazards(
    hazards: &Option<Rc<[Hazard]>>,
    keep: impl Fn(&Hazard) -> bool,
) -> Option<Rc<[Hazard]>> {
    let all = hazards.as_ref()?;
    if all.iter().all(&keep) {
        return Some(all.clone());
    }
    let kept: Rc<[Hazard]> = all.iter().filter(|hazard| keep(hazard)).cloned().collect();
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poles_of_operations() {
        let log = Singularity::Log { plus: 0.0 };
        assert_eq!(log.nearness(&Interval::REAL), Some(End::Reached));
        assert_eq!(log.nearness(&Interval::PROBABILITY), Some(End::Underflow));
        assert_eq!(log.nearness(&Interval::closed(1e-7, 1.0)), None);
        let shifted = Singularity::Log { plus: 1.0 };
        assert_eq!(shifted.nearness(&shifted.reached_from(Interval::NON_NEGATIVE)), None);
        assert_eq!(
            Singularity::Norm.nearness(&Singularity::Norm.reached_from(Interval::REAL)),
            Some(End::Open)
        );
        assert_eq!(Singularity::Root.nearness(&Interval::NON_NEGATIVE), Some(End::Reached));
        assert_eq!(Singularity::Power(2.0).nearness(&Interval::REAL), None);
        assert_eq!(Singularity::Power(-2.0).nearness(&Interval::REAL), Some(End::Reached));
        assert_eq!(Singularity::Power(1.5).nearness(&Interval::NON_NEGATIVE), None);
        assert_eq!(Singularity::Power(1.5).nearness(&Interval::REAL), Some(End::Reached));
        assert_eq!(Singularity::InverseTrig.nearness(&Interval::closed(-0.9, 0.9)), None);
        assert_eq!(Singularity::InverseTrig.nearness(&Interval::closed(-1.0, 0.9)), Some(End::Reached));
        assert_eq!(Singularity::Exp.nearness(&Interval::closed(-9.0, 0.0)), None);
    }
}
