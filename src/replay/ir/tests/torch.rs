//! What PyTorch computed at ordinary points and at the edges (1.13.1, on a CPU), written by
//! `scripts/replay_golden.py`.

use super::run;
use crate::report::replay::{Domain, Float, Form, Function, Program};
use std::collections::BTreeSet;

const GOLDEN: &str = include_str!("torch.tsv");
const WEIGHTS: [f64; 4] = [1.0, 2.0, 3.0, -4.0];

/// Kernels may add up in another order, and their functions differ in the last places.
fn tolerance(dtype: Float, largest: f64) -> f64 {
    let unit = if dtype == Float::F64 { 1e-12 } else { 4e-6 };
    unit * largest.max(1e-3)
}

struct Case<'a> {
    line: &'a str,
    function: Function,
    dtype: Float,
    operands: Vec<(&'a str, Vec<f64>)>,
    output: Vec<f64>,
    gradients: Vec<Option<Vec<f64>>>,
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

fn case(line: &str) -> Case<'_> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, dtype, operands, output, gradients] = fields[..] else { panic!("{line}") };
    Case {
        line,
        function: Function::named(name).unwrap(),
        dtype: if dtype == "float64" { Float::F64 } else { Float::F32 },
        operands: operands
            .split('|')
            .map(|operand| operand.split_once(':').map(|(kind, text)| (kind, numbers(text))).unwrap())
            .collect(),
        output: numbers(output),
        gradients: gradients.split('|').map(|text| (text != "-").then(|| numbers(text))).collect(),
    }
}

impl Case<'_> {
    /// The program, the numbers of its inputs, and the operand of each input.
    fn program(&self) -> (Program, Vec<Vec<f64>>, Vec<usize>) {
        let mut program = Program { dtype: self.dtype, ..Program::default() };
        let (mut values, mut of_input, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (kind, numbers)) in self.operands.iter().enumerate() {
            nodes.push(if *kind == "number" {
                program.number(numbers[0])
            } else {
                values.push(numbers.clone());
                of_input.push(index);
                program.input("x", Form::Many, Domain::REAL, *kind == "learned")
            });
        }
        if self.function == Function::CosineSimilarity {
            nodes.push(program.number(1e-8));
        }
        let result = program.apply(self.function, &nodes, None);
        if self.output.len() > 1 {
            let weights = program.input("weights", Form::Many, Domain::REAL, false);
            values.push(WEIGHTS.to_vec());
            program.apply(Function::Mul, &[result, weights], None);
        }
        (program, values, of_input)
    }

    fn agree(&self, ours: &[f64], theirs: &[f64], what: &str, wrong: &mut Vec<String>) {
        let finite = theirs.iter().filter(|value| value.is_finite()).fold(0.0_f64, |a, b| a.max(b.abs()));
        let near = |a: f64, b: f64| {
            (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= tolerance(self.dtype, finite)
        };
        if ours.len() != theirs.len() || ours.iter().zip(theirs).any(|(a, b)| !near(*a, *b)) {
            wrong.push(format!("{what}: {ours:?} in place of {theirs:?}\n  {}", self.line));
        }
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    let mut wrong = Vec::new();
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let case = case(line);
        let (program, values, of_input) = case.program();
        let ran = run(&program, &values);
        let weighed: Vec<f64> = match case.output.as_slice() {
            [one] => vec![*one],
            row => row.iter().zip(WEIGHTS).map(|(value, weight)| value * weight).collect(),
        };
        case.agree(&ran.output, &weighed, "output", &mut wrong);
        for (input, gradient) in &ran.gradients {
            let theirs = case.gradients[of_input[*input as usize]].as_ref();
            case.agree(gradient, theirs.unwrap_or(&vec![0.0; 4]), "gradient", &mut wrong);
        }
        let asked = case.gradients.iter().flatten().filter(|row| row.iter().any(|one| *one != 0.0)).count();
        if ran.gradients.len() < asked {
            wrong.push(format!("a gradient is missing\n  {line}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn all_that_has_a_slope_is_compared() {
    let compared: BTreeSet<&str> = GOLDEN.lines().filter_map(|line| line.split('\t').next()).collect();
    let missing: Vec<&str> =
        Function::ALL.iter().map(|one| one.name()).filter(|name| !compared.contains(name)).collect();
    let without = ["detach", "to-f16", "to-bf16", "to-f32", "lt", "le", "gt", "ge", "eq", "ne", "isnan"];
    assert_eq!(missing, without);
}
