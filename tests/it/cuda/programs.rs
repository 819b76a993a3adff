//! Programs to run on all backends: every function in every type, what the rules find in their fixtures, and
//! graphs drawn at random.

use std::path::PathBuf;
use trainlint::engine::configs::Origin;
use trainlint::engine::{Request, Silent, check};
use trainlint::replay::sample::philox;
use trainlint::report::replay::{Domain, Float, Form, Framework, Function, Program, Replay, Step};

use crate::findings::root;

/// Every function with one weight a place, so that each place counts.
pub fn functions() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for (index, function) in Function::ALL.iter().enumerate() {
        for (shift, dtype) in Float::ALL.iter().enumerate() {
            let framework = Framework::ALL[(index + shift) % Framework::ALL.len()];
            programs
                .push((format!("{} {}", function.name(), dtype.name()), of(*function, *dtype, framework)));
        }
    }
    programs
}

/// The operands that scripts say as numbers.
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

const DOMAINS: [Domain; 5] =
    [Domain::REAL, Domain::UNIT, Domain::NON_NEGATIVE, Domain::LABEL, Domain::closed(-3.0, 0.5)];

fn of(function: Function, dtype: Float, framework: Framework) -> Program {
    let mut program = Program { dtype, framework, ..Program::default() };
    let parameters = parameters(function);
    let domain = match function {
        Function::Asin | Function::Acos | Function::Atanh => Domain::closed(-1.0, 1.0),
        Function::Bce | Function::KlDiv => Domain { low_open: true, ..Domain::UNIT },
        _ => Domain::REAL,
    };
    let mut nodes: Vec<u32> = (0..function.arity() - parameters.len())
        .map(|_| program.input("x", Form::Many, domain, true))
        .collect();
    for parameter in parameters {
        nodes.push(program.number(*parameter));
    }
    let result = program.apply(function, &nodes, None);
    let weights = program.input("weights", Form::Many, DOMAINS[function as usize % DOMAINS.len()], false);
    let product = program.apply(Function::Mul, &[result, weights], None);
    program.apply(Function::Sum, &[product], None);
    program
}

/// What the rules attach to findings in all fixtures, and the repairs of that.
pub fn fixtures() -> Vec<(String, Program)> {
    let mut programs = Vec::new();
    for (rule, replay) in attached() {
        if let Replay::Program(mut program) = replay {
            let repaired = program.repaired.take();
            programs.push((format!("{rule} in a fixture"), program));
            programs.extend(repaired.map(|one| (format!("{rule} repaired"), *one)));
        }
    }
    programs
}

/// The trainings among them.
pub fn steps() -> Vec<(String, Step)> {
    let step = |(rule, replay)| match replay {
        Replay::Step(step) => Some((rule, *step)),
        _ => None,
    };
    attached().into_iter().filter_map(step).collect()
}

fn attached() -> Vec<(String, Replay)> {
    let request = Request {
        cwd: root().join("fixtures"),
        paths: vec![PathBuf::from(".")],
        origin: Origin::Isolated,
        ..Request::default()
    };
    let findings = check(&request, &Silent).unwrap().findings.into_iter();
    findings.filter_map(|finding| Some((finding.rule.to_string(), *finding.replay?))).collect()
}

/// Functions of functions, of inputs of all kinds of domains.
pub fn random(count: u32) -> Vec<(String, Program)> {
    (0..count).map(|number| (format!("random {number}"), drawn(number))).collect()
}

fn drawn(number: u32) -> Program {
    let mut next = 0;
    let mut word = |below: usize| {
        next += 1;
        philox([7, 7], [number, next, 0, 0])[0] as usize % below
    };
    let mut program =
        Program { dtype: Float::ALL[word(4)], framework: Framework::ALL[word(3)], ..Program::default() };
    for index in 0..1 + word(3) {
        let form = Form::ALL[word(2)];
        program.input(format!("x{index}"), form, DOMAINS[word(DOMAINS.len())], word(4) > 0);
    }
    program.number([0.5, 2.0, 1e-8, -1.5][word(4)]);
    for _ in 0..4 + word(12) {
        let function = Function::ALL[word(Function::ALL.len())];
        let parameters = parameters(function);
        let mut nodes: Vec<u32> =
            (0..function.arity() - parameters.len()).map(|_| word(program.nodes.len()) as u32).collect();
        nodes.extend(parameters.iter().map(|parameter| program.number(*parameter)));
        program.apply(function, &nodes, None);
    }
    program
}
