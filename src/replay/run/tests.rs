//! Whole replays: known faults are confirmed with a witness that people can read, their repairs are not.

use super::*;
use crate::report::replay::{Form, Framework, Function};
use std::time::Duration;

const SAMPLES: u64 = 20_000;

fn replayed(program: Program) -> Judged {
    let spots = vec![None; program.nodes.len()];
    let expr = Expr { program, spots, width: 4, samples: SAMPLES };
    run_expr(&expr, 7, Instant::now() + Duration::from_secs(60), &mut Cpu).unwrap()
}

fn of(build: impl FnOnce(&mut Program)) -> Judged {
    let mut program = Program::default();
    build(&mut program);
    replayed(program)
}

fn numbers(row: &Row) -> Vec<&str> {
    row.numbers.iter().map(|one| one.decimal.as_str()).collect()
}

#[test]
fn a_division_by_a_prediction_is_confirmed_and_its_repair_is_clean() {
    let build = |program: &mut Program, repaired: bool| {
        let y = program.input("y", Form::Many, Domain::UNIT, false);
        let p = program.input("p", Form::Many, Domain::REAL, true);
        let below = if repaired {
            let size = program.apply(Function::Abs, &[p], None);
            let least = program.number(1e-6);
            program.apply(Function::ClampMin, &[size, least], None)
        } else {
            p
        };
        let ratio = program.apply(Function::Div, &[y, below], None);
        program.apply(Function::Mean, &[ratio], None);
    };
    let judged = of(|program| {
        build(program, false);
        let mut repaired = Program::default();
        build(&mut repaired, true);
        program.repaired = Some(Box::new(repaired));
    });
    assert_eq!((judged.verdict, judged.evidence), (Verdict::Confirmed, Some(Evidence::Exact)));
    let expr = judged.expr.unwrap();
    assert_eq!(expr.repaired, Some(Counts { samples: SAMPLES, forward: 0, gradient: 0 }));
    let witness = expr.witness.unwrap();
    assert_eq!(numbers(&witness.inputs[1]), ["0", "0", "0", "0"]);
    let failure = expr.failure.unwrap();
    assert_eq!((failure.operation.as_str(), failure.backward), ("division", false));
    assert!(expr.counts.forward > 1000 && expr.counts.forward < SAMPLES / 2, "{:?}", expr.counts);
    assert_eq!(expr.ordinary.forward, 0, "data as it usually is does not hold exact zeros");
}

#[test]
fn a_root_at_zero_is_seen_in_the_gradient_only() {
    let judged = of(|program| {
        let a = program.input("a", Form::Many, Domain::REAL, true);
        let b = program.input("b", Form::Many, Domain::REAL, true);
        let difference = program.apply(Function::Sub, &[a, b], None);
        let squares = program.apply(Function::Square, &[difference], None);
        let total = program.apply(Function::Sum, &[squares], None);
        program.apply(Function::Sqrt, &[total], None);
    });
    assert_eq!(judged.verdict, Verdict::Confirmed);
    let expr = judged.expr.unwrap();
    assert_eq!(expr.counts.forward, 0);
    let witness = expr.witness.unwrap();
    assert_eq!(witness.inputs[0].numbers, witness.inputs[1].numbers);
    let failure = expr.failure.unwrap();
    assert!(failure.backward);
    assert_eq!((failure.operation.as_str(), failure.part_of.as_deref()), ("division", Some("sqrt")));
}

#[test]
fn an_overflow_tells_from_where() {
    for (dtype, from) in [(Float::F32, "88.72284"), (Float::F16, "11.094")] {
        let mut program = Program { dtype, ..Program::default() };
        let x = program.input("x", Form::Many, Domain::REAL, true);
        let powers = program.apply(Function::Exp, &[x], None);
        program.apply(Function::Mean, &[powers], None);
        let expr = replayed(program).expr.unwrap();
        let failure = expr.failure.unwrap();
        assert_eq!(failure.operation, "exp");
        assert_eq!(failure.fails_from.unwrap().decimal, from);
        assert_eq!(numbers(&expr.witness.unwrap().inputs[0]).len(), 4);
    }
}

#[test]
fn the_way_not_taken_is_named() {
    let judged = of(|program| {
        let x = program.input("x", Form::Many, Domain::NON_NEGATIVE, true);
        let zero = program.number(0.0);
        let above = program.apply(Function::Gt, &[x, zero], None);
        let log = program.apply(Function::Log, &[x], None);
        let chosen = program.apply(Function::Where, &[above, log, zero], None);
        program.apply(Function::Mean, &[chosen], None);
    });
    let expr = judged.expr.unwrap();
    assert_eq!(expr.counts.forward, 0);
    assert!(expr.counts.gradient > 0);
    let failure = expr.failure.unwrap();
    assert_eq!((failure.operation.as_str(), failure.part_of.as_deref()), ("division", Some("log")));
}

#[test]
fn what_is_held_away_from_its_pole_is_not_reproduced() {
    let judged = of(|program| {
        let x = program.input("logits", Form::Many, Domain::REAL, true);
        let y = program.input("y", Form::Many, Domain::LABEL, false);
        program.apply(Function::CrossEntropy, &[x, y], None);
    });
    assert_eq!(judged.verdict, Verdict::NotReproduced);
    assert_eq!(judged.expr.unwrap().counts, Counts { samples: SAMPLES, forward: 0, gradient: 0 });
}

#[test]
fn frameworks_differ_at_the_edge() {
    for (framework, verdict) in [
        (Framework::Torch, Verdict::NotReproduced),
        (Framework::TensorFlow, Verdict::Confirmed),
        (Framework::Jax, Verdict::Confirmed),
    ] {
        let mut program = Program { framework, ..Program::default() };
        let x = program.input("x", Form::Many, Domain::REAL, true);
        program.apply(Function::Norm2, &[x], None);
        assert_eq!(replayed(program).verdict, verdict, "{framework:?}");
    }
}

#[test]
fn without_time_nothing_is_said() {
    let mut program = Program::default();
    let x = program.input("x", Form::Many, Domain::UNIT, true);
    program.apply(Function::Exp, &[x], None);
    let spots = vec![None; 2];
    let expr = Expr { program, spots, width: 4, samples: SAMPLES };
    let judged = run_expr(&expr, 7, Instant::now(), &mut Cpu).unwrap();
    assert_eq!(judged.verdict, Verdict::Inconclusive);
    assert!(judged.reason.unwrap().starts_with("out of time after 0 of"));
}

#[test]
fn counts_do_not_depend_on_threads() {
    let counts = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let judged = pool.install(|| {
            of(|program| {
                let x = program.input("x", Form::Many, Domain::REAL, true);
                let log = program.apply(Function::Log, &[x], None);
                program.apply(Function::Sum, &[log], None);
            })
        });
        judged.expr.unwrap()
    };
    assert_eq!(counts(1), counts(4));
}
