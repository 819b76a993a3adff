//! Numbers as the frameworks compute them: in f32 or f64, and rounded to the type that is stored.
//!
//! Functions come from `libm`, so that every platform gives the same bits.

use super::graph::{Binary, Reduce, Unary};
use crate::report::replay::Float;
use half::{bf16, f16};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What IEEE 754 gives the same bits for everywhere.
pub trait Arithmetic:
    Sized + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
}

impl Arithmetic for f32 {}
impl Arithmetic for f64 {}

/// What is computed with. Half types are computed in f32 and rounded where a kernel stores its result.
pub trait Real: Copy + PartialOrd + Send + Sync + Arithmetic + 'static {
    const ZERO: Self;
    const ONE: Self;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    fn is_finite(self) -> bool;
    fn rounded(self, to: Float) -> Self;
    fn unary(op: Unary, x: Self) -> Self;
    fn binary(op: Binary, x: Self, y: Self) -> Self;

    /// One more number in what a reduction has gathered.
    fn joined(op: Reduce, sum: Self, x: Self) -> Self {
        let op = match op {
            Reduce::Sum | Reduce::Mean => Binary::Add,
            Reduce::Prod => Binary::Mul,
            Reduce::Max => Binary::Max,
            Reduce::Min => Binary::Min,
        };
        Self::binary(op, sum, x)
    }
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn of(value: f64) -> Self {
        value as f32
    }

    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }

    fn rounded(self, to: Float) -> Self {
        match to {
            Float::F16 => f16::from_f32(self).to_f32(),
            Float::Bf16 => bf16::from_f32(self).to_f32(),
            Float::F32 | Float::F64 => self,
        }
    }

    fn unary(op: Unary, x: f32) -> f32 {
        match op {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Sign => sign(x),
            Unary::Exp => libm::expf(x),
            Unary::Exp2 => libm::exp2f(x),
            Unary::Expm1 => libm::expm1f(x),
            Unary::Log => libm::logf(x),
            Unary::Log2 => libm::log2f(x),
            Unary::Log10 => libm::log10f(x),
            Unary::Log1p => libm::log1pf(x),
            Unary::Sqrt => x.sqrt(),
            Unary::Rsqrt => 1.0 / x.sqrt(),
            Unary::Sin => libm::sinf(x),
            Unary::Cos => libm::cosf(x),
            Unary::Tan => libm::tanf(x),
            Unary::Asin => libm::asinf(x),
            Unary::Acos => libm::acosf(x),
            Unary::Atan => libm::atanf(x),
            Unary::Atanh => libm::atanhf(x),
            Unary::Sinh => libm::sinhf(x),
            Unary::Cosh => libm::coshf(x),
            Unary::Tanh => libm::tanhf(x),
            Unary::Erf => libm::erff(x),
            Unary::IsNan => truth(x.is_nan()),
            Unary::Copy => x,
        }
    }

    fn binary(op: Binary, x: f32, y: f32) -> f32 {
        if op == Binary::Pow { libm::powf(x, y) } else { two(op, x, y) }
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn of(value: f64) -> Self {
        value
    }

    fn wide(self) -> f64 {
        self
    }

    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }

    fn rounded(self, to: Float) -> Self {
        match to {
            Float::F64 => self,
            // A kernel for half types computes in f32, and rounds from there.
            narrow => f64::from((self as f32).rounded(narrow)),
        }
    }

    fn unary(op: Unary, x: f64) -> f64 {
        match op {
            Unary::Neg => -x,
            Unary::Abs => x.abs(),
            Unary::Sign => sign(x),
            Unary::Exp => libm::exp(x),
            Unary::Exp2 => libm::exp2(x),
            Unary::Expm1 => libm::expm1(x),
            Unary::Log => libm::log(x),
            Unary::Log2 => libm::log2(x),
            Unary::Log10 => libm::log10(x),
            Unary::Log1p => libm::log1p(x),
            Unary::Sqrt => x.sqrt(),
            Unary::Rsqrt => 1.0 / x.sqrt(),
            Unary::Sin => libm::sin(x),
            Unary::Cos => libm::cos(x),
            Unary::Tan => libm::tan(x),
            Unary::Asin => libm::asin(x),
            Unary::Acos => libm::acos(x),
            Unary::Atan => libm::atan(x),
            Unary::Atanh => libm::atanh(x),
            Unary::Sinh => libm::sinh(x),
            Unary::Cosh => libm::cosh(x),
            Unary::Tanh => libm::tanh(x),
            Unary::Erf => libm::erf(x),
            Unary::IsNan => truth(x.is_nan()),
            Unary::Copy => x,
        }
    }

    fn binary(op: Binary, x: f64, y: f64) -> f64 {
        if op == Binary::Pow { libm::pow(x, y) } else { two(op, x, y) }
    }
}

/// What needs no function of a library.
fn two<R: Real>(op: Binary, x: R, y: R) -> R {
    match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        // The frameworks hand NaN on from either side.
        Binary::Max => choose(x, y, x > y),
        Binary::Min => choose(x, y, x < y),
        Binary::Lt => truth(x < y),
        Binary::Le => truth(x <= y),
        Binary::Gt => truth(x > y),
        Binary::Ge => truth(x >= y),
        Binary::Eq => truth(x == y),
        Binary::Ne => truth(x != y),
        Binary::Pow => x,
    }
}

fn choose<R: Real>(x: R, y: R, first: bool) -> R {
    let is_nan = |value: R| value.partial_cmp(&value).is_none();
    if is_nan(x) || (first && !is_nan(y)) { x } else { y }
}

fn truth<R: Real>(holds: bool) -> R {
    if holds { R::ONE } else { R::ZERO }
}

/// Of zero and NaN it is zero.
fn sign<R: Real>(x: R) -> R {
    if x > R::ZERO {
        R::ONE
    } else if x < R::ZERO {
        -R::ONE
    } else {
        R::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_to_even_and_overflow() {
        assert_eq!(1e-8_f32.rounded(Float::F16), 0.0);
        assert_eq!(6e-8_f32.rounded(Float::F16), 5.960_464_5e-8);
        assert_eq!(65519.0_f32.rounded(Float::F16), 65504.0);
        assert_eq!(65520.0_f32.rounded(Float::F16), f32::INFINITY);
        assert_eq!(1e-8_f32.rounded(Float::Bf16), 1.001_171_8e-8);
        assert_eq!(257.0_f32.rounded(Float::Bf16), 256.0);
        assert_eq!(1e-50_f64.rounded(Float::F32), 0.0);
    }

    #[test]
    fn not_a_number_is_handed_on() {
        for op in [Binary::Max, Binary::Min] {
            assert!(f32::binary(op, f32::NAN, 1.0).is_nan());
            assert!(f32::binary(op, 1.0, f32::NAN).is_nan());
        }
        assert_eq!(f32::binary(Binary::Max, 1.0, 2.0), 2.0);
        assert_eq!(f32::binary(Binary::Min, 1.0, 2.0), 1.0);
        assert_eq!(f64::unary(Unary::Sign, -0.0), 0.0);
    }
}
