//! Gradients against central differences, in f64, at points that are drawn away from the edges.

use super::{WIDTH, run};
use crate::report::replay::{Domain, Float, Form, Framework, Function, Program};

const STEP: f64 = 1e-6;
const TOLERANCE: f64 = 1e-5;

/// Numbers in so many steps of a linear congruential generator, between the two ends.
struct Points(u64);

impl Points {
    fn next(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * ((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Where a function and its slope are defined.
fn between(function: Function) -> (f64, f64) {
    match function {
        Function::Asin | Function::Acos | Function::Atanh | Function::Bce => (0.05, 0.95),
        Function::Tan => (0.2, 1.2),
        _ => (0.2, 2.3),
    }
}

/// The operands that are numbers of the script.
fn parameters(function: Function) -> &'static [f64] {
    match function {
        Function::Var | Function::Std => &[1.0],
        Function::CosineSimilarity | Function::Normalize | Function::LayerNorm => &[1e-8],
        Function::Huber | Function::SmoothL1 => &[0.7],
        Function::NanToNum => &[0.0, 1.0, 2.0],
        Function::GaussianNll => &[1e-6],
        _ => &[],
    }
}

fn program(function: Function, framework: Framework) -> Program {
    let mut program = Program { dtype: Float::F64, framework, ..Program::default() };
    let parameters = parameters(function);
    let free = function.arity() - parameters.len();
    // The slope in the target is not asked for by anybody who trains.
    let is_loss = function >= Function::Huber || matches!(function, Function::Mse | Function::L1);
    let learned = |index: usize| index == 0 || !is_loss;
    let mut nodes: Vec<u32> =
        (0..free).map(|index| program.input("x", Form::Many, Domain::REAL, learned(index))).collect();
    for parameter in parameters {
        nodes.push(program.number(*parameter));
    }
    let result = program.apply(function, &nodes, None);
    // Places weigh differently, so that what is shared out among them shows.
    let weights = program.input("weights", Form::Many, Domain::REAL, false);
    let product = program.apply(Function::Mul, &[result, weights], None);
    program.apply(Function::Sum, &[product], None);
    program
}

fn check(function: Function, framework: Framework, points: &mut Points) {
    let program = program(function, framework);
    let (low, high) = between(function);
    let mut inputs: Vec<Vec<f64>> =
        program.inputs.iter().map(|_| (0..WIDTH).map(|_| points.next(low, high)).collect()).collect();
    let ran = run(&program, &inputs);
    assert!(!ran.gradients.is_empty(), "{function:?} has no gradient");
    for (input, gradient) in &ran.gradients {
        for (lane, gradient) in gradient.iter().enumerate() {
            let at = inputs[*input as usize][lane];
            let mut value = |x: f64| {
                inputs[*input as usize][lane] = x;
                run(&program, &inputs).output[0]
            };
            let slope = (value(at + STEP) - value(at - STEP)) / (2.0 * STEP);
            value(at);
            let off = (slope - gradient).abs() / slope.abs().max(1.0);
            assert!(
                off < TOLERANCE,
                "{function:?} in {framework:?}, input {input}, lane {lane}: {gradient}, not {slope}, at {inputs:?}"
            );
        }
    }
}

#[test]
fn gradients_are_central_differences() {
    let mut points = Points(7);
    let flat = |function: &Function| {
        *function >= Function::Lt && *function <= Function::IsNan
            || matches!(
                function,
                Function::Sign | Function::Detach | Function::ToF16 | Function::ToBf16 | Function::ToF32
            )
    };
    for function in Function::ALL.iter().copied().filter(|function| !flat(function)) {
        for framework in [Framework::Torch, Framework::TensorFlow, Framework::Jax] {
            for _ in 0..20 {
                check(function, framework, &mut points);
            }
        }
    }
}
