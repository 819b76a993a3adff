//! Functions over all numbers of a sample, in the stable forms that the frameworks compute, and losses that are
//! kernels of their own. Gradients as in `elementwise`.

use super::build::Builder;
use super::elementwise::{log_sigmoid, spread};
use super::graph::{Binary, Id, Reduce, Unary};
use crate::report::replay::Function;

/// `binary_cross_entropy` holds its logarithms above this (`aten/src/ATen/native/Loss.cpp`).
const LOWEST_LOG: f64 = -100.0;
/// And the divisor of its gradient above this, which is a `float` for every type.
const BCE_EPSILON: f32 = 1e-12;

pub(crate) fn reduce(function: Function) -> Option<Reduce> {
    Some(match function {
        Function::Sum => Reduce::Sum,
        Function::Mean => Reduce::Mean,
        Function::Prod => Reduce::Prod,
        Function::Amax => Reduce::Max,
        Function::Amin => Reduce::Min,
        _ => return None,
    })
}

pub(crate) fn forward(b: &mut Builder, function: Function, operands: &[Id]) -> Option<Id> {
    if let ([x], Some(op)) = (operands, reduce(function)) {
        return Some(b.reduce(op, *x));
    }
    Some(match (function, operands) {
        (Function::Var, [x, correction]) => b.fused(|b| variance(b, *x, *correction)),
        (Function::Std, [x, correction]) => b.fused(|b| {
            let variance = variance(b, *x, *correction);
            b.unary(Unary::Sqrt, variance)
        }),
        (Function::Norm1, [x]) => b.fused(|b| {
            let sizes = b.unary(Unary::Abs, *x);
            b.sum(sizes)
        }),
        (Function::Norm2, [x]) => b.fused(|b| norm(b, *x)),
        (Function::LogSumExp, [x]) => log_sum_exp(b, *x),
        (Function::Softmax, [x]) => b.fused(|b| {
            let powers = shifted_powers(b, *x);
            let total = b.sum(powers);
            b.div(powers, total)
        }),
        (Function::LogSoftmax, [x]) => b.fused(|b| {
            let highest = b.reduce(Reduce::Max, *x);
            let shifted = b.sub(*x, highest);
            let powers = b.exp(shifted);
            let total = b.sum(powers);
            let log = b.unary(Unary::Log, total);
            b.sub(shifted, log)
        }),
        (Function::CosineSimilarity, [x, y, epsilon]) => {
            let (x, y) = (unit(b, *x, *epsilon), unit(b, *y, *epsilon));
            let product = b.mul(x, y);
            b.sum(product)
        }
        (Function::Bce, [p, y]) => {
            let losses = b.fused(|b| bce(b, *p, *y));
            b.reduce(Reduce::Mean, losses)
        }
        (Function::BceWithLogits, [x, y]) => {
            let log = b.fused(|b| log_sigmoid(b, *x));
            let rest = b.from(1.0, *y);
            let linear = b.mul(rest, *x);
            let losses = b.sub(linear, log);
            b.reduce(Reduce::Mean, losses)
        }
        (Function::GaussianNll, [x, y, variance, epsilon]) => {
            let (variance, difference) = gaussian(b, *x, *y, *variance, *epsilon);
            let square = b.mul(difference, difference);
            let scaled = b.div(square, variance);
            let log = b.unary(Unary::Log, variance);
            let both = b.add(log, scaled);
            let losses = b.times(both, 0.5);
            b.reduce(Reduce::Mean, losses)
        }
        _ => return None,
    })
}

fn deviations(b: &mut Builder, x: Id) -> Id {
    let mean = b.reduce(Reduce::Mean, x);
    b.sub(x, mean)
}

/// The count, less what is taken from it.
fn freedom(b: &mut Builder, x: Id, correction: Id) -> Id {
    let count = b.count(x);
    match b.value(correction) {
        Some(correction) => b.number(count - correction),
        None => b.from(count, correction),
    }
}

fn variance(b: &mut Builder, x: Id, correction: Id) -> Id {
    let deviations = deviations(b, x);
    let squares = b.mul(deviations, deviations);
    let total = b.sum(squares);
    let freedom = freedom(b, x, correction);
    b.div(total, freedom)
}

fn norm(b: &mut Builder, x: Id) -> Id {
    let squares = b.mul(x, x);
    let total = b.sum(squares);
    b.unary(Unary::Sqrt, total)
}

fn shifted_powers(b: &mut Builder, x: Id) -> Id {
    let highest = b.reduce(Reduce::Max, x);
    let shifted = b.sub(x, highest);
    b.exp(shifted)
}

/// A row of infinities is not shifted, so that it stays infinite.
fn log_sum_exp(b: &mut Builder, x: Id) -> Id {
    let highest = b.reduce(Reduce::Max, x);
    let size = b.unary(Unary::Abs, highest);
    let infinite = b.test(Binary::Eq, size, f64::INFINITY);
    let highest = b.masked(highest, infinite);
    let shifted = b.sub(x, highest);
    let powers = b.exp(shifted);
    let total = b.sum(powers);
    let log = b.unary(Unary::Log, total);
    b.add(log, highest)
}

/// Divided by its norm, which is held above an epsilon without a gradient of its own.
fn unit(b: &mut Builder, x: Id, epsilon: Id) -> Id {
    let held = held_norm(b, x, epsilon);
    b.div(x, held)
}

fn held_norm(b: &mut Builder, x: Id, epsilon: Id) -> Id {
    let norm = b.fused(|b| norm(b, x));
    b.binary(Binary::Max, norm, epsilon)
}

fn bce(b: &mut Builder, p: Id, y: Id) -> Id {
    let lowest = b.number(LOWEST_LOG);
    let log = b.unary(Unary::Log, p);
    let log = b.binary(Binary::Max, log, lowest);
    let negated = b.neg(p);
    let log_rest = b.unary(Unary::Log1p, negated);
    let log_rest = b.binary(Binary::Max, log_rest, lowest);
    // (y - 1) * max(log(1 - p), -100) - y * max(log p, -100)
    let less = b.plus(y, -1.0);
    let first = b.mul(less, log_rest);
    let second = b.mul(y, log);
    b.sub(first, second)
}

fn gaussian(b: &mut Builder, x: Id, y: Id, variance: Id, epsilon: Id) -> (Id, Id) {
    let held = b.binary(Binary::Max, variance, epsilon);
    (held, b.sub(x, y))
}

/// The gradients of such a function, from that of its result `r`.
pub(crate) fn slopes(b: &mut Builder, function: Function, operands: &[Id], r: Id, g: Id) -> Vec<Option<Id>> {
    match (function, operands) {
        (Function::Sum | Function::Mean, [x]) => {
            let op = if function == Function::Sum { Reduce::Sum } else { Reduce::Mean };
            vec![Some(spread(b, op, *x, g))]
        }
        (Function::Prod, [x]) => vec![Some(slope_of_product(b, *x, r, g))],
        (Function::Amax | Function::Amin, [x]) => {
            let reached = b.binary(Binary::Eq, *x, r);
            let count = b.sum(reached);
            let shared = b.mul(g, reached);
            vec![Some(b.div(shared, count))]
        }
        (Function::Var, [x, correction]) => vec![Some(slope_of_variance(b, *x, *correction, g)), None],
        (Function::Std, [x, correction]) => {
            let double = b.times(r, 2.0);
            let of_variance = b.div(g, double);
            let constant = b.test(Binary::Eq, r, 0.0);
            let of_variance = b.masked(of_variance, constant);
            vec![Some(slope_of_variance(b, *x, *correction, of_variance)), None]
        }
        (Function::Norm1, [x]) => {
            let sign = b.unary(Unary::Sign, *x);
            vec![Some(b.mul(sign, g))]
        }
        (Function::Norm2, [x]) => vec![Some(slope_of_norm(b, *x, r, g))],
        (Function::LogSumExp, [x]) => {
            let shifted = b.sub(*x, r);
            let share = b.exp(shifted);
            vec![Some(b.mul(g, share))]
        }
        _ => slopes_of_kernels(b, function, operands, r, g),
    }
}

fn slopes_of_kernels(b: &mut Builder, function: Function, operands: &[Id], r: Id, g: Id) -> Vec<Option<Id>> {
    match (function, operands) {
        (Function::Softmax, [_]) => vec![Some(b.fused(|b| {
            let weighted = b.mul(g, r);
            let total = b.sum(weighted);
            let rest = b.sub(g, total);
            b.mul(rest, r)
        }))],
        (Function::LogSoftmax, [_]) => vec![Some(b.fused(|b| {
            // A gradient that is the same in all places counts in each.
            let row = b.fill(g);
            let total = b.sum(row);
            let share = b.exp(r);
            let taken = b.mul(share, total);
            b.sub(g, taken)
        }))],
        (Function::CosineSimilarity, [x, y, epsilon]) => {
            let (of_x, of_y) = (unit(b, *x, *epsilon), unit(b, *y, *epsilon));
            let (for_x, for_y) = (b.mul(g, of_y), b.mul(g, of_x));
            vec![
                Some(slope_of_unit(b, *x, *epsilon, for_x)),
                Some(slope_of_unit(b, *y, *epsilon, for_y)),
                None,
            ]
        }
        (Function::Bce, [p, y]) => {
            let g = spread(b, Reduce::Mean, *p, g);
            vec![Some(slope_of_bce(b, *p, *y, g)), None]
        }
        (Function::BceWithLogits, [x, y]) => {
            let g = spread(b, Reduce::Mean, *x, g);
            let negated = b.neg(*x);
            let power = b.exp(negated);
            let below = b.plus(power, 1.0);
            let one = b.number(1.0);
            let chance = b.div(one, below);
            let slope = b.sub(chance, *y);
            vec![Some(b.mul(slope, g)), None]
        }
        (Function::GaussianNll, [x, y, variance, epsilon]) => {
            let g = spread(b, Reduce::Mean, *x, g);
            let (held, difference) = gaussian(b, *x, *y, *variance, *epsilon);
            let half = b.times(g, 0.5);
            slopes_of_gaussian(b, held, difference, half)
        }
        _ => vec![None; operands.len()],
    }
}

/// Without a zero the product by each, with one zero the product of the rest there, else nothing.
fn slope_of_product(b: &mut Builder, x: Id, r: Id, g: Id) -> Id {
    let zeros = b.test(Binary::Eq, x, 0.0);
    let count = b.sum(zeros);
    let one = b.number(1.0);
    let others = b.choose(zeros, one, x);
    let rest = b.reduce(Reduce::Prod, others);
    let quotient = b.div(r, x);
    let usual = b.mul(g, quotient);
    let there = b.mul(g, rest);
    let there = b.only(there, zeros);
    let single = b.test(Binary::Eq, count, 1.0);
    let none = b.test(Binary::Eq, count, 0.0);
    let with_zeros = b.only(there, single);
    b.choose(none, usual, with_zeros)
}

fn slope_of_variance(b: &mut Builder, x: Id, correction: Id, g: Id) -> Id {
    let freedom = freedom(b, x, correction);
    let two = b.number(2.0);
    let scale = b.div(two, freedom);
    let scaled = b.mul(scale, g);
    let deviations = deviations(b, x);
    b.mul(scaled, deviations)
}

/// `g * (x / norm).masked_fill(norm == 0, 0)`
fn slope_of_norm(b: &mut Builder, x: Id, norm: Id, g: Id) -> Id {
    let direction = b.div(x, norm);
    let zero = b.test(Binary::Eq, norm, 0.0);
    let direction = b.masked(direction, zero);
    b.mul(g, direction)
}

/// Of a row divided by its norm: through the row, and through the norm as if it were not held.
fn slope_of_unit(b: &mut Builder, x: Id, epsilon: Id, g: Id) -> Id {
    let held = held_norm(b, x, epsilon);
    let norm = b.fused(|b| norm(b, x));
    let direct = b.div(g, held);
    let quotient = b.div(x, held);
    let quotient = b.div(quotient, held);
    let negated = b.neg(g);
    let of_norm = b.mul(negated, quotient);
    let of_norm = b.sum(of_norm);
    let through = slope_of_norm(b, x, norm, of_norm);
    b.add(direct, through)
}

fn slope_of_bce(b: &mut Builder, p: Id, y: Id, g: Id) -> Id {
    // In half precision the epsilon is stored as zero, and protects nothing.
    let epsilon = b.stored(f64::from(BCE_EPSILON));
    b.fused(|b| {
        let rest = b.from(1.0, p);
        let spread = b.mul(rest, p);
        let below = b.binary(Binary::Max, spread, epsilon);
        let difference = b.sub(p, y);
        let above = b.mul(g, difference);
        b.div(above, below)
    })
}

fn slopes_of_gaussian(b: &mut Builder, held: Id, difference: Id, half: Id) -> Vec<Option<Id>> {
    let scaled = b.div(half, held);
    let double = b.times(difference, 2.0);
    let of_x = b.mul(scaled, double);
    let square = b.mul(difference, difference);
    let quotient = b.div(square, held);
    let quotient = b.div(quotient, held);
    let negated = b.neg(half);
    let through_scale = b.mul(negated, quotient);
    let of_variance = b.add(scaled, through_scale);
    let of_y = b.neg(of_x);
    vec![Some(of_x), Some(of_y), Some(of_variance), None]
}
