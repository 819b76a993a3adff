//! From a sample that fails to one that people can read: smaller, rounder, and with the operation that failed
//! first.

use super::ir::{Binary, Graph, Id, Op, Origin, Real, Unary};
use super::sample::inside;
use super::search::{Trace, is_number};
use crate::report::replay::{Float, Input};
use std::time::Instant;

/// Halving a gap so often reaches neighbouring numbers of any type.
const HALVINGS: u32 = 200;

/// Below this it is no size that is reached, but a sign.
const LEAST_THRESHOLD: f64 = 1e-3;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Forward,
    Gradient,
}

/// Inputs on which a graph fails, as small as was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    pub side: Side,
    pub inputs: Vec<Vec<f64>>,
}

impl Witness {
    pub fn fails(&self, graph: &Graph) -> bool {
        fails(graph, self.side, &self.inputs)
    }

    /// Each number nearer to zero, as long as it fails in the same way, stays in its domain, and there is time.
    pub fn shrunk(mut self, graph: &Graph, inputs: &[Input], deadline: Instant) -> Witness {
        self.level(graph, deadline);
        for (index, input) in inputs.iter().enumerate() {
            for place in 0..self.inputs[index].len() {
                if Instant::now() >= deadline {
                    return self;
                }
                self.lower(graph, input, index, place);
            }
        }
        self
    }

    /// One number in all places of a row.
    fn level(&mut self, graph: &Graph, deadline: Instant) {
        for index in 0..self.inputs.len() {
            for place in 0..self.inputs[index].len() {
                if Instant::now() >= deadline {
                    return;
                }
                let value = self.inputs[index][place];
                let row = vec![value; self.inputs[index].len()];
                let before = std::mem::replace(&mut self.inputs[index], row);
                if self.fails(graph) {
                    break;
                }
                self.inputs[index] = before;
            }
        }
    }

    fn lower(&mut self, graph: &Graph, input: &Input, index: usize, place: usize) {
        let ends = [0.0, 1.0, -1.0, input.domain.low.value(), input.domain.high.value()];
        if ends.into_iter().any(|value| self.accepts(graph, input, index, place, value)) {
            return;
        }
        let failing = self.inputs[index][place];
        let (mut good, mut bad) = (0.0, failing);
        for _ in 0..HALVINGS {
            let middle = good + (bad - good) / 2.0;
            if middle == good || middle == bad {
                break;
            }
            if self.accepts(graph, input, index, place, middle) { bad = middle } else { good = middle }
        }
        let rounder = (1..5).map(|digits| rounded_up(bad, digits));
        for value in rounder {
            if value.abs() <= failing.abs().max(bad.abs() * 1.1)
                && self.accepts(graph, input, index, place, value)
            {
                return;
            }
        }
        self.inputs[index][place] = bad;
    }

    /// Puts a number in its place if it belongs there and the graph still fails.
    fn accepts(&mut self, graph: &Graph, input: &Input, index: usize, place: usize, value: f64) -> bool {
        let stored = value as f32;
        if !stored.is_finite() || inside(input.domain, stored) != stored {
            return false;
        }
        let before = std::mem::replace(&mut self.inputs[index][place], f64::from(stored));
        let fails = self.fails(graph);
        if !fails {
            self.inputs[index][place] = before;
        }
        fails
    }
}

fn fails(graph: &Graph, side: Side, inputs: &[Vec<f64>]) -> bool {
    let trace = Trace::of(graph, inputs);
    match side {
        Side::Forward => trace.forward_is_bad(graph),
        Side::Gradient => !trace.forward_is_bad(graph) && trace.bad_gradient(graph).is_some(),
    }
}

/// Away from zero, to so many decimal digits.
fn rounded_up(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value.abs() * scale).ceil() / scale * value.signum()
}

/// The operation that gave the first number that is not finite, of numbers that are.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub operation: &'static str,
    /// What it was computed of, the first where there are several, and what gave it.
    pub operand: Option<Id>,
    pub origin: Origin,
    pub operands: Vec<f64>,
    pub result: f64,
    pub threshold: Option<Threshold>,
}

/// From where on an operation fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// The last operand with a finite result, and the first without.
    pub good: f64,
    pub bad: f64,
}

/// Follows what is not finite back to where it began.
pub fn first_failure(graph: &Graph, witness: &Witness) -> Option<Failure> {
    let trace = Trace::of(graph, &witness.inputs);
    let mut at = match witness.side {
        Side::Forward => graph.output,
        Side::Gradient => trace.bad_gradient(graph)?,
    };
    let mut place = trace.of_node(at).iter().position(|value| !value.is_finite())?;
    while let Some((operand, there)) = bad_operand(graph, &trace, at, place) {
        (at, place) = (operand, there);
    }
    Some(failure(graph, &trace, at, place))
}

/// The operand that brought what is not finite, and the place in its row. A number of the script that is infinite
/// is meant to be so.
fn bad_operand(graph: &Graph, trace: &Trace, id: Id, place: usize) -> Option<(Id, usize)> {
    let is_bad =
        |operand: Id, place: usize| !is_number(graph, operand) && !trace.at(operand, place).is_finite();
    match graph.node(id).op {
        Op::Reduce(_, operand) => {
            let places = trace.of_node(operand).len();
            (0..places).find(|place| is_bad(operand, *place)).map(|place| (operand, place))
        }
        Op::Where(condition, then, otherwise) => {
            let taken = if trace.at(condition, place) == 0.0 { otherwise } else { then };
            [condition, taken].into_iter().find(|operand| is_bad(*operand, place)).map(|one| (one, place))
        }
        op => op.operands().find(|operand| is_bad(*operand, place)).map(|one| (one, place)),
    }
}

fn failure(graph: &Graph, trace: &Trace, id: Id, place: usize) -> Failure {
    let node = graph.node(id);
    let origin = node.origin;
    let result = trace.at(id, place);
    // What a type cannot hold came out of the operation before.
    let (op, place_of) = match node.op {
        Op::Unary(Unary::Copy, operand) if trace.at(operand, place).is_finite() => {
            (graph.node(operand).op, operand)
        }
        op => (op, id),
    };
    let rounded = place_of != id;
    let operands = match op {
        Op::Reduce(_, operand) => trace.of_node(operand).to_vec(),
        op => op.operands().map(|operand| trace.at(operand, place)).collect(),
    };
    let threshold = threshold(graph, trace, op, node.dtype, place);
    let operation = match (rounded, op) {
        (true, Op::Input(_)) => "rounding",
        (_, op) => op.name(),
    };
    let operand = graph_operand(graph, op);
    Failure { operation, operand, origin, operands, result, threshold }
}

/// The operand that matters: of a division what is divided by.
fn graph_operand(graph: &Graph, op: Op) -> Option<Id> {
    match op {
        Op::Binary(Binary::Div, _, below) if !is_number(graph, below) => Some(below),
        op => op.operands().find(|operand| !is_number(graph, *operand)),
    }
}

/// Where an operation of one number, the rest of them fixed, begins to fail.
fn threshold(graph: &Graph, trace: &Trace, op: Op, dtype: Float, place: usize) -> Option<Threshold> {
    let apply: Box<dyn Fn(f64) -> f64> = match op {
        Op::Unary(op, _) => {
            Box::new(move |x| computed(dtype, |x| f64::unary(op, x), |x| f32::unary(op, x), x))
        }
        Op::Binary(Binary::Pow, _, exponent) if is_number(graph, exponent) => {
            let y = trace.at(exponent, place);
            Box::new(move |x| {
                computed(
                    dtype,
                    |x| f64::binary(Binary::Pow, x, y),
                    |x| f32::binary(Binary::Pow, x, y as f32),
                    x,
                )
            })
        }
        Op::Binary(Binary::Mul, x, y) if x == y => {
            Box::new(move |x| computed(dtype, |x| x * x, |x| x * x, x))
        }
        _ => return None,
    };
    let operand = op.operands().next()?;
    let bad = trace.at(operand, place);
    // What fails at zero, or on both sides, has no threshold.
    let good = [0.0, 1.0, 0.5].into_iter().find(|x| apply(*x).is_finite())?;
    let found = (bad.is_finite() && bad.abs() > good).then(|| bisect(apply, good.copysign(bad), bad, dtype));
    // Where all of one side fails it is a domain, and not a size.
    found.flatten().filter(|threshold| threshold.good.abs() > LEAST_THRESHOLD)
}

fn computed(dtype: Float, wide: impl Fn(f64) -> f64, narrow: impl Fn(f32) -> f32, x: f64) -> f64 {
    match dtype {
        Float::F64 => wide(x),
        half => f64::from(narrow(x as f32).rounded(half)),
    }
}

fn bisect(apply: impl Fn(f64) -> f64, good: f64, bad: f64, dtype: Float) -> Option<Threshold> {
    if !apply(good).is_finite() || apply(bad).is_finite() {
        return None;
    }
    let (mut good, mut bad) = (good, bad);
    for _ in 0..HALVINGS {
        let middle = (good + (bad - good) / 2.0).rounded(dtype);
        if middle == good || middle == bad {
            break;
        }
        if apply(middle).is_finite() { good = middle } else { bad = middle }
    }
    Some(Threshold { good, bad })
}
