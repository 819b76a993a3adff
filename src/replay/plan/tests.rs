//! Plans survive the way to a file and back, and what is no plan is refused with its place.

use super::*;
use crate::replay::outcome::Verdict;
use crate::replay::run::{Cpu, run};
use crate::report::replay::{
    Act, Call, Claim, Demand, Domain, Float, Form, Framework, Function, Layer, Loss, Modes, Number,
    Optimizer, Program, Step, Training,
};
use std::time::{Duration, Instant};

fn program() -> Program {
    let mut program = Program { dtype: Float::F16, framework: Framework::Jax, ..Program::default() };
    let target = program.input("target", Form::Many, Domain::LABEL, false);
    let prediction = program.input("prediction", Form::Many, Domain::REAL, true);
    let mut repaired = program.clone();
    let ratio = program.apply(Function::Div, &[target, prediction], None);
    program.apply(Function::Mean, &[ratio], None);
    let epsilon = repaired.number(1e-3);
    let size = repaired.apply(Function::Abs, &[prediction], None);
    let held = repaired.apply(Function::ClampMin, &[size, epsilon], None);
    let ratio = repaired.apply(Function::Div, &[target, held], None);
    repaired.apply(Function::Mean, &[ratio], None);
    program.repaired = Some(Box::new(repaired));
    program
}

fn training() -> Training {
    let mut head = Program::default();
    let output = head.input("output", Form::Many, Domain::REAL, true);
    let target = head.input("target", Form::Many, Domain::LABEL, false);
    head.apply(Function::CrossEntropy, &[output, target], None);
    let mut round = Training::default().round;
    round[2].every = 8;
    round.push(Act::always(Call::Schedule));
    Training {
        round,
        loss: Loss::Classes(Box::new(head)),
        layers: [Layer::Learns, Layer::Cut, Layer::Unowned],
        modes: Modes { dropout: Some(Number::new(0.25)), ..Modes::default() },
        ..Training::default()
    }
}

pub fn plan() -> Plan {
    let at =
        Spot { path: "träin.py".to_owned(), line: 14, column: 9, text: "target / prediction".to_owned() };
    let item = |work| Item {
        rule: "unsafe-division".to_owned(),
        at: at.clone(),
        message: "a denominator can be zero".to_owned(),
        work,
    };
    let program = program();
    let spots = vec![None, None, Some(at.clone()), None];
    let step = Step {
        optimizer: Some(Optimizer::AdamW),
        learning_rate: Some(Number::new(1e-3)),
        momentum: None,
        weight_decay: Some(Number::new(0.0)),
        script: training(),
        repaired: Training { divisor: 8, ..training() },
    };
    let demand =
        Demand { each_step: Some(4), samples: Some(9), wasted: true, ..Demand::of("the dataset", 1 << 40) };
    Plan {
        seed: 42,
        sources: vec![SourceHash { path: "train.py".to_owned(), sha256: "00ff".to_owned() }],
        limits: Limits { item_seconds: 0.5, total_seconds: 9.0 },
        items: vec![
            item(Work::Expr(Expr { program, spots, width: 4, samples: 1000 })),
            item(Work::Step(Box::new(step))),
            item(Work::Memory(Memory { demand, capacity: 80 << 30, card: "a100-80g".to_owned() })),
        ],
    }
}

#[test]
fn plans_come_back_as_they_were() {
    assert_eq!(read(&write(&plan())), Ok(plan()));
}

/// Where the error is, and a part of what it says.
fn refused(text: &str) -> (String, String) {
    let error = read(text.as_bytes()).unwrap_err();
    (error.path, error.message)
}

#[test]
fn what_is_wrong_is_named_by_its_place() {
    let good = String::from_utf8(write(&plan())).unwrap();
    for (from, to, path, message) in [
        ("trainlint-replay/1", "trainlint-replay/2", "$.schema", "make the plan anew"),
        ("\"seed\":42", "\"seed\":-1", "$.seed", "invalid value"),
        ("\"width\":4", "\"width\":4000", "$.items[0].expr.width", "1 to 16"),
        ("\"samples\":1000", "\"samples\":0", "$.items[0].expr.samples", "is not in"),
        ("[\"div\",0,1]", "[\"div\",0]", "$.items[0].expr.nodes[2]", "takes 2 operands, and 1"),
        ("[\"div\",0,1]", "[\"div\",0,2]", "$.items[0].expr.nodes[2]", "does not come before"),
        ("[\"div\",0,1]", "[\"eval\",0,1]", "$.items[0].expr.nodes[2]", "is no function"),
        ("[\"input\",1]", "[\"input\",7]", "$.items[0].expr.nodes[1]", "one of 2 inputs"),
        ("0x7ff0000000000000", "0x7ff", "$.items[0].expr.inputs[1].high", "bits of an f64"),
        ("0x7ff0000000000000", "0xfff8000000000000", "$.items[0].expr.inputs[1]", "holds no number"),
        ("\"float16\"", "\"float8\"", "$.items[0].expr.dtype", "is none of `float16`"),
        ("\"item_seconds\":0.5", "\"item_seconds\":1e9", "$.limits.item_seconds", "at most 86400"),
        ("\"spots\":{\"2\"", "\"spots\":{\"9\"", "$.items[0].expr.spots.9", "only 4 nodes"),
        ("\"divisor\":8", "\"divisor\":0", "$.items[1].step.repaired.divisor", "0 is not in 1 to 65536"),
        ("[\"step\",8]", "[\"leap\",8]", "$.items[1].step.script.round[2]", "is none of `clear`"),
        ("[\"step\",8]", "[\"step\",0]", "$.items[1].step.script.round[2]", "every 0 rounds"),
        ("\"unowned\"", "\"lost\"", "$.items[1].step.script.layers[2]", "is none of `learns`"),
        (
            "[\"cross-entropy\",0,1]",
            "[\"cross-entropy\",0,3]",
            "$.items[1].step.script.loss.classes.nodes[2]",
            "does not come before",
        ),
        ("\"message\"", "\"massage\"", "$.items[0].massage", "unknown field"),
        ("\"step\":{", "\"memory\":{", "$.items[1].memory.optimizer", "unknown field"),
    ] {
        assert!(good.contains(from), "{from}");
        let (found, said) = refused(&good.replacen(from, to, 1));
        assert_eq!(found, path, "{said}");
        assert!(said.contains(message), "{said}");
    }
    assert_eq!(refused("").0, "$");
    assert_eq!(refused("[1, 2]").0, "$.schema");
}

/// A program whose first node claims to be the derivative of the last.
#[test]
fn a_claim_names_an_input_that_is_learned_and_a_node() {
    let mut plan = plan();
    let Work::Expr(expr) = &mut plan.items[0].work else { panic!("an expression") };
    expr.program.repaired = None;
    expr.program.claim = Some(Claim { input: 1, node: 0 });
    assert_eq!(read(&write(&plan)).as_ref(), Ok(&plan));
    let good = String::from_utf8(write(&plan)).unwrap();
    let claim = "\"claim\":{\"input\":1,\"node\":0}";
    for (to, path, message) in [
        (claim.replace(":1", ":0"), "$.items[0].expr.claim.input", "no input that is learned"),
        (claim.replace(":1", ":9"), "$.items[0].expr.claim.input", "no input that is learned"),
        (claim.replace(":0", ":4"), "$.items[0].expr.claim.node", "only 4 nodes"),
        (format!("{claim},\"repaired\":[[\"input\",0]]"), "$.items[0].expr.repaired", "has no repair"),
    ] {
        assert!(good.contains(claim), "{good}");
        let (found, said) = refused(&good.replacen(claim, &to, 1));
        assert_eq!(found, path, "{said}");
        assert!(said.contains(message), "{said}");
    }
}

/// A linear congruential generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

fn any_program(dice: &mut Dice) -> Program {
    let mut program = Program {
        dtype: Float::ALL[dice.next(4)],
        framework: Framework::ALL[dice.next(3)],
        ..Program::default()
    };
    let domains = [Domain::REAL, Domain::UNIT, Domain::LABEL, Domain::closed(-3.0, f64::INFINITY)];
    for index in 0..=dice.next(3) {
        program.input(format!("x{index}"), Form::ALL[dice.next(2)], domains[dice.next(4)], dice.next(2) == 0);
    }
    program.number([0.0, 1.0, -2.5, f64::INFINITY, f64::NAN][dice.next(5)]);
    for _ in 0..=dice.next(12) {
        let function = Function::ALL[dice.next(Function::ALL.len())];
        let operands: Vec<u32> =
            (0..function.arity()).map(|_| dice.next(program.nodes.len()) as u32).collect();
        program.apply(function, &operands, None);
    }
    program
}

/// Whatever is computed of whatever: it comes back from a file as it was, runs, and is judged.
#[test]
fn any_program_can_be_carried_and_run() {
    let mut dice = Dice(5);
    for _ in 0..300 {
        let program = any_program(&mut dice);
        let spots = vec![None; program.nodes.len()];
        let work = Work::Expr(Expr { program, spots, width: 1 + dice.next(5), samples: 300 });
        let item = Item { rule: "any".to_owned(), at: Spot::default(), message: String::new(), work };
        let plan = Plan { seed: 3, sources: Vec::new(), limits: Limits::default(), items: vec![item] };
        assert_eq!(read(&write(&plan)).as_ref(), Ok(&plan));
        let deadline = Instant::now() + Duration::from_secs(60);
        let outcome = run(&plan.items[0], plan.seed, deadline, &mut Cpu).outcome;
        let counts = outcome.expr.as_ref().map(|expr| (expr.counts, expr.witness.is_some()));
        let Some((counts, has_witness)) = counts else { panic!("{outcome:?}") };
        assert_eq!(counts.samples, 300);
        assert_eq!(has_witness, counts.forward + counts.gradient > 0, "{plan:?}");
        assert_ne!(outcome.verdict, Verdict::Inconclusive, "{plan:?}");
    }
}

/// Bytes that a stranger changed are refused or run, and nothing else.
#[test]
fn broken_plans_are_refused_and_never_panic() {
    let good = write(&plan());
    let (mut dice, mut read_well) = (Dice(1), 0);
    let mut next = |below: usize| dice.next(below);
    for _ in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = b"0123456789\"[]{},:.-exabcdf"[next(26)],
                1 => bytes[at] = next(256) as u8,
                _ => drop(bytes.remove(at)),
            }
        }
        let Ok(plan) = read(&bytes) else { continue };
        read_well += 1;
        for item in &plan.items {
            if let Work::Expr(expr) = &item.work {
                let graph = crate::replay::ir::lower(&expr.program, expr.width);
                assert!(!graph.nodes.is_empty());
            }
        }
        assert_eq!(read(&write(&plan)).as_ref().map(|again| again.items.len()), Ok(plan.items.len()));
    }
    assert!(read_well > 50, "{read_well}");
}
