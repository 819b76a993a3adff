//! Faults that people report, in small: what goes wrong must go wrong here, and its repair must not.

use super::{Ran, run};
use crate::report::replay::{Claim, Domain, Float, Form, Framework, Function, Program};

fn bad(numbers: &[f64]) -> bool {
    numbers.iter().any(|number| !number.is_finite())
}

fn fails(ran: &Ran) -> (bool, bool) {
    (bad(&ran.output), ran.gradients.iter().any(|(_, gradient)| bad(gradient)))
}

fn of_row(build: impl FnOnce(&mut Program, u32) -> u32) -> Program {
    let mut program = Program::default();
    let x = program.input("x", Form::Many, Domain::REAL, true);
    build(&mut program, x);
    program
}

#[test]
fn the_root_of_zero_has_a_value_and_no_slope() {
    let distance = of_row(|program, x| {
        let squares = program.apply(Function::Square, &[x], None);
        let total = program.apply(Function::Sum, &[squares], None);
        program.apply(Function::Sqrt, &[total], None)
    });
    assert_eq!(fails(&run(&distance, &[vec![0.0; 4]])), (false, true));
    let norm = of_row(|program, x| program.apply(Function::Norm2, &[x], None));
    assert_eq!(fails(&run(&norm, &[vec![0.0; 4]])), (false, false));
    let elsewhere = Program { framework: Framework::Jax, ..norm };
    assert_eq!(fails(&run(&elsewhere, &[vec![0.0; 4]])), (false, true));
}

#[test]
fn the_way_not_taken_spoils_the_gradient() {
    let masked = of_row(|program, x| {
        let zero = program.number(0.0);
        let above = program.apply(Function::Gt, &[x, zero], None);
        let log = program.apply(Function::Log, &[x], None);
        program.apply(Function::Where, &[above, log, zero], None)
    });
    assert_eq!(fails(&run(&masked, &[vec![0.0, 1.0, 2.0, 3.0]])), (false, true));
}

#[test]
fn a_logarithm_of_softmax_underflows_where_log_softmax_does_not() {
    let logits = vec![120.0, 0.0, 0.0, 0.0];
    let naive = of_row(|program, x| {
        let shares = program.apply(Function::Softmax, &[x], None);
        program.apply(Function::Log, &[shares], None)
    });
    assert_eq!(fails(&run(&naive, std::slice::from_ref(&logits))), (true, true));
    let stable = of_row(|program, x| program.apply(Function::LogSoftmax, &[x], None));
    assert_eq!(fails(&run(&stable, &[logits])), (false, false));
}

#[test]
fn an_epsilon_is_nothing_in_half_precision() {
    let quotient = |dtype: Float| {
        let mut program = of_row(|program, x| {
            let epsilon = program.number(1e-8);
            let held = program.apply(Function::Add, &[x, epsilon], None);
            program.apply(Function::Reciprocal, &[held], None)
        });
        program.dtype = dtype;
        program
    };
    let zeros = [vec![0.0; 4]];
    assert_eq!(fails(&run(&quotient(Float::F16), &zeros)), (true, true));
    assert_eq!(fails(&run(&quotient(Float::F32), &zeros)), (false, false));
    // The slope is beyond what the type holds: 1 / 1e-8 ** 2 is 1e16, which it does hold.
    assert_eq!(fails(&run(&quotient(Float::Bf16), &zeros)), (false, false));
}

#[test]
fn casts_round_on_the_way_there_and_back() {
    let mut program = of_row(|program, x| {
        let half = program.apply(Function::ToF16, &[x], None);
        let scale = program.number(1e5);
        let scaled = program.apply(Function::Mul, &[half, scale], None);
        program.apply(Function::ToF32, &[scaled], None)
    });
    program.dtype = Float::F32;
    assert_eq!(fails(&run(&program, &[vec![1.0; 4]])), (true, true));
}

#[test]
fn detached_values_have_no_gradient() {
    let program = of_row(|program, x| {
        let detached = program.apply(Function::Detach, &[x], None);
        program.apply(Function::Mul, &[detached, x], None)
    });
    let ran = run(&program, &[vec![1.0, 2.0, 3.0, 4.0]]);
    assert_eq!(ran.gradients, [(0, vec![1.0, 2.0, 3.0, 4.0])]);
}

#[test]
fn a_binary_loss_of_probabilities_stays_finite_but_in_half_precision() {
    let loss = |dtype| {
        let mut program = Program { dtype, ..Program::default() };
        let p = program.input("p", Form::Many, Domain::UNIT, true);
        let y = program.input("y", Form::Many, Domain::LABEL, false);
        program.apply(Function::Bce, &[p, y], None);
        program
    };
    let sample = [vec![0.0, 1.0, 0.0, 1.0], vec![0.0, 0.0, 1.0, 1.0]];
    assert_eq!(fails(&run(&loss(Float::F32), &sample)), (false, false));
    assert_eq!(fails(&run(&loss(Float::F16), &sample)), (false, true));
}

#[test]
fn every_function_is_lowered() {
    for function in Function::ALL {
        let mut program = Program { dtype: Float::F64, ..Program::default() };
        let operands: Vec<u32> =
            (0..function.arity()).map(|_| program.input("x", Form::Many, Domain::REAL, true)).collect();
        program.apply(*function, &operands, None);
        let inputs = vec![vec![0.5, 0.25, 0.75, 0.125]; function.arity()];
        assert!(!bad(&run(&program, &inputs).output), "{function:?}");
    }
}

/// The derivative of `x ** 2` times what comes in, and two claims about it.
#[test]
fn a_claim_is_held_against_the_derivative() {
    let claimed = |factor: f64| {
        let mut program = Program { dtype: Float::F64, ..Program::default() };
        let x = program.input("x", Form::One, Domain::REAL, true);
        let incoming = program.input("grad", Form::One, Domain::REAL, false);
        let factor = program.number(factor);
        let scaled = program.apply(Function::Mul, &[factor, x], None);
        let node = program.apply(Function::Mul, &[scaled, incoming], None);
        let square = program.apply(Function::Square, &[x], None);
        program.apply(Function::Mul, &[square, incoming], None);
        program.claim = Some(Claim { input: 0, node });
        program
    };
    let sample = [vec![3.0], vec![0.5]];
    assert_eq!(run(&claimed(2.0), &sample).output, [0.0]);
    assert!(run(&claimed(1.0), &sample).output[0].is_nan());
    // Where nothing is asked for, both are nothing; beyond all numbers there is nothing to compare.
    assert_eq!(run(&claimed(1.0), &[vec![0.0], vec![0.5]]).output, [0.0]);
    assert_eq!(run(&claimed(1.0), &[vec![1e200], vec![1e200]]).output, [0.0]);
}
