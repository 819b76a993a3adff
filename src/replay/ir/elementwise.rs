//! Functions that are applied number by number, and their gradients as the frameworks define them.
//!
//! Gradients are PyTorch's `tools/autograd/derivatives.yaml`, read at v2.5.1; where TensorFlow
//! (`tensorflow/python/ops/math_grad.py`) or JAX (`jax/_src/lax/lax.py`) differ at an edge, they have an arm of
//! their own. What the edges give matters more here than what the textbook gives.

use super::build::Builder;
use super::graph::{Binary, Id, Reduce, Unary};
use crate::report::replay::{Float, Framework, Function};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, SQRT_2};

/// Past this, `softplus` is its operand (`torch.nn.functional.softplus`).
const SOFTPLUS_THRESHOLD: f64 = 20.0;

/// What is one operation of the graph.
pub(crate) fn primitive(function: Function) -> Option<Unary> {
    Some(match function {
        Function::Neg => Unary::Neg,
        Function::Abs => Unary::Abs,
        Function::Sign => Unary::Sign,
        Function::Exp => Unary::Exp,
        Function::Exp2 => Unary::Exp2,
        Function::Expm1 => Unary::Expm1,
        Function::Log => Unary::Log,
        Function::Log2 => Unary::Log2,
        Function::Log10 => Unary::Log10,
        Function::Log1p => Unary::Log1p,
        Function::Sqrt => Unary::Sqrt,
        Function::Rsqrt => Unary::Rsqrt,
        Function::Sin => Unary::Sin,
        Function::Cos => Unary::Cos,
        Function::Tan => Unary::Tan,
        Function::Asin => Unary::Asin,
        Function::Acos => Unary::Acos,
        Function::Atan => Unary::Atan,
        Function::Atanh => Unary::Atanh,
        Function::Sinh => Unary::Sinh,
        Function::Cosh => Unary::Cosh,
        Function::Tanh => Unary::Tanh,
        Function::Erf => Unary::Erf,
        Function::IsNan => Unary::IsNan,
        _ => return None,
    })
}

pub(crate) fn comparison(function: Function) -> Option<Binary> {
    Some(match function {
        Function::Lt => Binary::Lt,
        Function::Le => Binary::Le,
        Function::Gt => Binary::Gt,
        Function::Ge => Binary::Ge,
        Function::Eq => Binary::Eq,
        Function::Ne => Binary::Ne,
        _ => return None,
    })
}

/// Of one operand.
pub(crate) fn one(b: &mut Builder, function: Function, x: Id) -> Option<Id> {
    if let Some(op) = primitive(function) {
        return Some(b.unary(op, x));
    }
    Some(match function {
        Function::Reciprocal => {
            let one = b.number(1.0);
            b.div(one, x)
        }
        Function::Square => b.mul(x, x),
        Function::Relu => {
            let zero = b.number(0.0);
            b.binary(Binary::Max, x, zero)
        }
        Function::Sigmoid => b.fused(|b| sigmoid(b, x)),
        Function::LogSigmoid => b.fused(|b| log_sigmoid(b, x)),
        Function::Softplus => b.fused(|b| softplus(b, x)),
        Function::Silu => b.fused(|b| {
            let gate = sigmoid(b, x);
            b.mul(x, gate)
        }),
        Function::Gelu => b.fused(|b| {
            let share = normal_share(b, x);
            b.mul(x, share)
        }),
        Function::Detach => b.unary(Unary::Copy, x),
        Function::ToF16 => b.cast(x, Float::F16),
        Function::ToBf16 => b.cast(x, Float::Bf16),
        Function::ToF32 => b.cast(x, Float::F32),
        _ => return None,
    })
}

/// Of several operands.
pub(crate) fn several(b: &mut Builder, function: Function, operands: &[Id]) -> Option<Id> {
    if let ([x, y], Some(op)) = (operands, comparison(function)) {
        return Some(b.binary(op, *x, *y));
    }
    Some(match (function, operands) {
        (Function::Add, [x, y]) => b.add(*x, *y),
        (Function::Sub, [x, y]) => b.sub(*x, *y),
        (Function::Mul, [x, y]) => b.mul(*x, *y),
        (Function::Div, [x, y]) => b.div(*x, *y),
        (Function::Pow, [x, y]) => b.power(*x, *y),
        (Function::Max | Function::ClampMin, [x, y]) => b.binary(Binary::Max, *x, *y),
        (Function::Min | Function::ClampMax, [x, y]) => b.binary(Binary::Min, *x, *y),
        (Function::Where, [condition, then, otherwise]) => b.choose(*condition, *then, *otherwise),
        (Function::NanToNum, [x, nan, high, low]) => {
            let infinite = b.test(Binary::Eq, *x, f64::INFINITY);
            let result = b.choose(infinite, *high, *x);
            let infinite = b.test(Binary::Eq, *x, f64::NEG_INFINITY);
            let result = b.choose(infinite, *low, result);
            let is_nan = b.unary(Unary::IsNan, *x);
            b.choose(is_nan, *nan, result)
        }
        _ => return None,
    })
}

fn sigmoid(b: &mut Builder, x: Id) -> Id {
    let negated = b.neg(x);
    let power = b.exp(negated);
    let below = b.plus(power, 1.0);
    let one = b.number(1.0);
    b.div(one, below)
}

/// `exp(-|x|)`, which never overflows.
fn small_power(b: &mut Builder, x: Id) -> Id {
    let size = b.unary(Unary::Abs, x);
    let negated = b.neg(size);
    b.exp(negated)
}

pub(crate) fn log_sigmoid(b: &mut Builder, x: Id) -> Id {
    let zero = b.number(0.0);
    let low = b.binary(Binary::Min, x, zero);
    let power = small_power(b, x);
    let rest = b.unary(Unary::Log1p, power);
    b.sub(low, rest)
}

fn softplus(b: &mut Builder, x: Id) -> Id {
    let power = b.exp(x);
    let soft = b.unary(Unary::Log1p, power);
    let far = b.test(Binary::Gt, x, SOFTPLUS_THRESHOLD);
    b.choose(far, x, soft)
}

/// The share of a normal distribution below `x`.
fn normal_share(b: &mut Builder, x: Id) -> Id {
    let scaled = b.times(x, 1.0 / SQRT_2);
    let erf = b.unary(Unary::Erf, scaled);
    let above = b.plus(erf, 1.0);
    b.times(above, 0.5)
}

/// The gradient of a function of one operand, from that of its result `r`; `None` where none passes.
pub(crate) fn slope_of_one(b: &mut Builder, function: Function, x: Id, r: Id, g: Id) -> Option<Id> {
    if let Some(slope) = slope_by_quotient(b, function, x, r, g) {
        return Some(slope);
    }
    Some(match function {
        Function::Neg => b.neg(g),
        Function::Abs => {
            let sign = b.unary(Unary::Sign, x);
            b.mul(g, sign)
        }
        Function::Exp => b.mul(g, r),
        Function::Exp2 => {
            let slope = b.times(r, LN_2);
            b.mul(g, slope)
        }
        Function::Expm1 => {
            let slope = b.plus(r, 1.0);
            b.mul(g, slope)
        }
        Function::Square => {
            let slope = b.times(x, 2.0);
            b.mul(g, slope)
        }
        Function::Sin | Function::Sinh => {
            let slope = b.unary(if function == Function::Sin { Unary::Cos } else { Unary::Cosh }, x);
            b.mul(g, slope)
        }
        Function::Cos => {
            let sine = b.unary(Unary::Sin, x);
            let slope = b.neg(sine);
            b.mul(g, slope)
        }
        Function::Cosh => {
            let slope = b.unary(Unary::Sinh, x);
            b.mul(g, slope)
        }
        Function::Tan => {
            let square = b.mul(r, r);
            let slope = b.plus(square, 1.0);
            b.mul(g, slope)
        }
        Function::Erf => {
            let square = b.mul(x, x);
            let negated = b.neg(square);
            let bell = b.exp(negated);
            let slope = b.times(bell, FRAC_2_SQRT_PI);
            b.mul(slope, g)
        }
        Function::Relu => {
            let off = b.test(Binary::Le, r, 0.0);
            b.masked(g, off)
        }
        // Casts round the gradient back, which is done where gradients meet.
        Function::ToF16 | Function::ToBf16 | Function::ToF32 => g,
        _ => return slope_of_kernel(b, function, x, r, g),
    })
}

/// Of functions whose slope is a quotient or a root.
fn slope_by_quotient(b: &mut Builder, function: Function, x: Id, r: Id, g: Id) -> Option<Id> {
    let below = match function {
        Function::Log => x,
        Function::Log2 => b.times(x, LN_2),
        Function::Log10 => b.times(x, LN_10),
        Function::Log1p => b.plus(x, 1.0),
        Function::Sqrt => b.times(r, 2.0),
        Function::Atan => {
            let square = b.mul(x, x);
            b.plus(square, 1.0)
        }
        Function::Atanh => {
            let square = b.mul(x, x);
            b.from(1.0, square)
        }
        Function::Asin | Function::Acos => {
            let negated = b.neg(x);
            let square = b.mul(negated, x);
            let inside = b.plus(square, 1.0);
            let slope = b.unary(Unary::Rsqrt, inside);
            let slope = if function == Function::Acos { b.neg(slope) } else { slope };
            return Some(b.mul(g, slope));
        }
        Function::Rsqrt => {
            let three = b.number(3.0);
            let cube = b.binary(Binary::Pow, r, three);
            let half = b.times(g, -0.5);
            return Some(b.mul(half, cube));
        }
        Function::Reciprocal => {
            let negated = b.neg(g);
            let square = b.mul(r, r);
            return Some(b.mul(negated, square));
        }
        _ => return None,
    };
    Some(b.div(g, below))
}

/// Of functions whose gradient is a kernel of its own.
fn slope_of_kernel(b: &mut Builder, function: Function, x: Id, r: Id, g: Id) -> Option<Id> {
    Some(match function {
        Function::Sigmoid => b.fused(|b| {
            let rest = b.from(1.0, r);
            let first = b.mul(g, rest);
            b.mul(first, r)
        }),
        Function::Tanh => b.fused(|b| {
            let square = b.mul(r, r);
            let rest = b.from(1.0, square);
            b.mul(g, rest)
        }),
        Function::LogSigmoid => b.fused(|b| {
            let power = small_power(b, x);
            let below = b.plus(power, 1.0);
            let share = b.div(power, below);
            let rest = b.from(1.0, share);
            let negative = b.test(Binary::Lt, x, 0.0);
            let slope = b.choose(negative, rest, share);
            b.mul(g, slope)
        }),
        Function::Softplus => b.fused(|b| {
            let power = b.exp(x);
            let below = b.plus(power, 1.0);
            let above = b.mul(g, power);
            let soft = b.div(above, below);
            let far = b.test(Binary::Gt, x, SOFTPLUS_THRESHOLD);
            b.choose(far, g, soft)
        }),
        Function::Silu => b.fused(|b| {
            let gate = sigmoid(b, x);
            let rest = b.from(1.0, gate);
            let weighted = b.mul(x, rest);
            let inner = b.plus(weighted, 1.0);
            let slope = b.mul(gate, inner);
            b.mul(g, slope)
        }),
        Function::Gelu => b.fused(|b| {
            let share = normal_share(b, x);
            let square = b.mul(x, x);
            let halved = b.times(square, -0.5);
            let power = b.exp(halved);
            let bell = b.times(power, FRAC_2_SQRT_PI / SQRT_2 * 0.5);
            let second = b.mul(x, bell);
            let slope = b.add(share, second);
            b.mul(g, slope)
        }),
        _ => return None,
    })
}

/// The gradients of a function of several operands.
pub(crate) fn slopes(
    b: &mut Builder,
    framework: Framework,
    function: Function,
    operands: &[Id],
    r: Id,
    g: Id,
) -> Vec<Option<Id>> {
    match (function, operands) {
        (Function::Add, [..]) => vec![Some(g), Some(g)],
        (Function::Sub, [..]) => vec![Some(g), Some(b.neg(g))],
        (Function::Mul, [x, y]) => vec![Some(b.mul(g, *y)), Some(b.mul(g, *x))],
        (Function::Div, [x, y]) => {
            let first = b.div(g, *y);
            let quotient = b.div(*x, *y);
            let slope = b.div(quotient, *y);
            let negated = b.neg(g);
            vec![Some(first), Some(b.mul(negated, slope))]
        }
        (Function::Pow, [x, y]) => {
            vec![Some(slope_of_base(b, *x, *y, g)), slope_of_exponent(b, *x, *y, r, g)]
        }
        (Function::Max, [x, y]) => slopes_of_choice(b, framework, Binary::Lt, *x, *y, g),
        (Function::Min, [x, y]) => slopes_of_choice(b, framework, Binary::Gt, *x, *y, g),
        (Function::ClampMin, [x, y]) => slopes_of_clamp(b, Binary::Ge, Binary::Lt, *x, *y, g),
        (Function::ClampMax, [x, y]) => slopes_of_clamp(b, Binary::Le, Binary::Gt, *x, *y, g),
        (Function::Where, [condition, ..]) => {
            vec![None, Some(b.only(g, *condition)), Some(b.masked(g, *condition))]
        }
        (Function::NanToNum, [x, ..]) => {
            let size = b.unary(Unary::Abs, *x);
            let finite = b.test(Binary::Lt, size, f64::INFINITY);
            vec![Some(b.mul(g, finite)), None, None, None]
        }
        _ => vec![None; operands.len()],
    }
}

/// `where(exponent == 0, 0, g * (exponent * base ** (exponent - 1)))`
fn slope_of_base(b: &mut Builder, base: Id, exponent: Id, g: Id) -> Id {
    let less = match b.value(exponent) {
        Some(value) => b.number(value - 1.0),
        None => b.plus(exponent, -1.0),
    };
    let power = b.power(base, less);
    let slope = b.mul(exponent, power);
    let slope = b.mul(g, slope);
    let constant = b.test(Binary::Eq, exponent, 0.0);
    b.masked(slope, constant)
}

/// `where(base == 0 and exponent >= 0, 0, g * (result * log(base)))`; none for an exponent that the script says.
fn slope_of_exponent(b: &mut Builder, base: Id, exponent: Id, r: Id, g: Id) -> Option<Id> {
    if b.value(exponent).is_some() {
        return None;
    }
    let log = b.unary(Unary::Log, base);
    let slope = b.mul(r, log);
    let slope = b.mul(g, slope);
    let zero = b.test(Binary::Eq, base, 0.0);
    let grows = b.test(Binary::Ge, exponent, 0.0);
    let flat = b.mul(zero, grows);
    Some(b.masked(slope, flat))
}

/// Of the greater or lesser of two: PyTorch and JAX share it out at a tie, TensorFlow gives it to the first.
fn slopes_of_choice(
    b: &mut Builder,
    framework: Framework,
    loses: Binary,
    x: Id,
    y: Id,
    g: Id,
) -> Vec<Option<Id>> {
    let lost = b.binary(loses, x, y);
    if framework == Framework::TensorFlow {
        return vec![Some(b.masked(g, lost)), Some(b.only(g, lost))];
    }
    let tie = b.binary(Binary::Eq, x, y);
    let half = b.times(g, 0.5);
    let shared = b.choose(tie, half, g);
    let won = b.binary(loses, y, x);
    vec![Some(b.masked(shared, lost)), Some(b.masked(shared, won))]
}

/// At the bound the gradient passes to the operand.
fn slopes_of_clamp(
    b: &mut Builder,
    inside: Binary,
    past: Binary,
    x: Id,
    bound: Id,
    g: Id,
) -> Vec<Option<Id>> {
    let inside = b.binary(inside, x, bound);
    let past = b.binary(past, x, bound);
    vec![Some(b.only(g, inside)), Some(b.only(g, past))]
}

/// What a sum over a row hands to each of its places.
pub(crate) fn spread(b: &mut Builder, reduce: Reduce, x: Id, g: Id) -> Id {
    match reduce {
        Reduce::Mean => {
            let count = b.count(x);
            let count = b.number(count);
            b.div(g, count)
        }
        _ => g,
    }
}
