//! The CPU's numbers against those of the kernels: bit for bit where functions are the same, and within two units
//! of the last place where each side has its own.

use super::host::{Came, Kernels, build, compiler};
use super::programs;
use tempfile::TempDir;
use trainlint::replay::cuda::encode::Encoded;
use trainlint::replay::cuda::{INTERPRETER, fused};
use trainlint::replay::ir::eval::Machine;
use trainlint::replay::ir::{Graph, Id, Op, Real, lower};
use trainlint::replay::sample::Sampler;
use trainlint::replay::search::search;
use trainlint::report::replay::{Float, Program};

use std::time::{Duration, Instant};

const WIDTH: usize = 4;
const SEED: u64 = 7;
const SAMPLES: u32 = 600;

struct Case {
    name: String,
    graph: Graph,
    sampler: Sampler,
}

fn cases() -> Vec<Case> {
    let mut all = programs::functions();
    let found = programs::fixtures();
    assert!(found.len() >= 60, "the fixtures have only {} programs", found.len());
    all.extend(found);
    all.extend(programs::random(120));
    let case = |(name, program): (String, Program)| Case {
        name,
        graph: lower(&program, WIDTH),
        sampler: Sampler::new(SEED, &program.inputs),
    };
    all.into_iter().map(case).collect()
}

/// The numbers that the CPU gives for these nodes, sample by sample.
fn reference(case: &Case, nodes: &[Id]) -> Vec<f64> {
    if case.graph.is_wide() { reference_as::<f64>(case, nodes) } else { reference_as::<f32>(case, nodes) }
}

fn reference_as<R: Real>(case: &Case, nodes: &[Id]) -> Vec<f64> {
    let mut machine = Machine::<R>::new(&case.graph, 1);
    let mut numbers = Vec::new();
    for sample in 0..u64::from(SAMPLES) {
        let drawn = case.sampler.sample(sample, WIDTH);
        machine.run(|input, lane, out| out.fill(R::of(f64::from(drawn[input as usize][lane]))));
        numbers.extend(nodes.iter().flat_map(|id| machine.of(*id, 0)).map(R::wide));
    }
    numbers
}

fn handed_in(graph: &Graph) -> Vec<Id> {
    std::iter::once(graph.output).chain(graph.gradients.iter().map(|(_, id)| *id)).collect()
}

/// Any two that are not a number are the same.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn assert_same(case: &Case, side: &str, came: &Came, numbers: &[f64]) {
    let differs = came.told.iter().zip(numbers).position(|(came, wanted)| !same(*came, *wanted));
    if let Some(at) = differs {
        let sample = at / (numbers.len() / SAMPLES as usize);
        panic!(
            "{}: {side} gives {:e}, and the CPU {:e}, in sample {sample}: {:?}\n{:#?}",
            case.name,
            came.told[at],
            numbers[at],
            case.sampler.sample(sample as u64, WIDTH),
            case.graph
        );
    }
    assert_eq!(came.told.len(), numbers.len(), "{}", case.name);
}

#[test]
fn kernels_give_the_bits_of_the_cpu() {
    let Some(compiler) = compiler() else { return };
    let folder = TempDir::new().unwrap();
    let cases = cases();
    let mut text = INTERPRETER.to_owned();
    let mut kernels = vec!["interpret_f32".to_owned(), "interpret_f64".to_owned()];
    for (number, case) in cases.iter().enumerate() {
        let name = format!("fused_{number}");
        text.push_str(&format!("namespace of_{name} {{\n{}}}\n", fused::kernel(&case.graph, &name)));
        text.push_str(&format!("using of_{name}::{name};\n"));
        kernels.push(name);
    }
    let library = build(compiler, folder.path(), "given", &text, &["-O1", "-DGIVEN"], &kernels);
    let kernels = Kernels::open(&library);
    kernels.give_functions();
    for (number, case) in cases.iter().enumerate() {
        let later = Instant::now() + Duration::from_secs(600);
        let wanted = search(&case.graph, &case.sampler, u64::from(SAMPLES), later);
        let numbers = reference(case, &handed_in(&case.graph));
        let interpreted = kernels.interpret(&Encoded::of(&case.graph), &case.sampler, WIDTH, SAMPLES);
        let fused = kernels.fused(&format!("fused_{number}"), &case.graph, &case.sampler, SAMPLES);
        for (side, came) in [("the interpreter kernel", interpreted), ("the fused kernel", fused)] {
            assert_same(case, side, &came, &numbers);
            assert_eq!(came.search, wanted, "{}: {side}", case.name);
        }
    }
}

/// Each node is computed anew of the operands that the kernel had, so that differences do not add up.
#[test]
fn functions_of_both_sides_are_within_two_units_of_the_last_place() {
    let Some(compiler) = compiler() else { return };
    let folder = TempDir::new().unwrap();
    let kernels = ["interpret_f32".to_owned(), "interpret_f64".to_owned()];
    let library = build(compiler, folder.path(), "own", INTERPRETER, &["-O2"], &kernels);
    let kernels = Kernels::open(&library);
    let mut compared = 0;
    for case in cases() {
        let all: Vec<(Id, bool)> =
            (0..case.graph.nodes.len()).map(|index| (Id(index as u32), false)).collect();
        let encoded = Encoded::telling(&case.graph, &all);
        let came = kernels.interpret(&encoded, &case.sampler, WIDTH, SAMPLES);
        let chunks = came.told.chunks(encoded.told as usize);
        compared += chunks.map(|told| check_nodes(&case, told)).sum::<u64>();
    }
    assert!(compared > 1_000_000, "{compared}");
}

fn check_nodes(case: &Case, told: &[f64]) -> u64 {
    let graph = &case.graph;
    let lanes = |id: Id| if graph.node(id).form == trainlint::report::replay::Form::Many { WIDTH } else { 1 };
    let mut starts = Vec::new();
    let mut end = 0;
    for index in 0..graph.nodes.len() {
        starts.push(end);
        end += lanes(Id(index as u32));
    }
    let at = |id: Id, lane: usize| told[starts[id.index()] + if lanes(id) == 1 { 0 } else { lane }];
    let mut compared = 0;
    for index in 0..graph.nodes.len() {
        let id = Id(index as u32);
        let dtype = graph.node(id).dtype;
        for lane in 0..lanes(id) {
            let wanted = match graph.node(id).op {
                Op::Unary(op, x) => {
                    computed(graph, |x| f64::unary(op, x), |x| f32::unary(op, x), at(x, lane))
                }
                Op::Binary(op, x, y) => {
                    let (x, y) = (at(x, lane), at(y, lane));
                    computed(graph, |x| f64::binary(op, x, y), |x| f32::binary(op, x, y as f32), x)
                }
                _ => continue,
            };
            compared += 1;
            let got = at(id, lane);
            assert!(
                is_near(graph, dtype, wanted, got),
                "{}: node {index} {:?} gives {got:e}, and the CPU {wanted:e}",
                case.name,
                graph.node(id)
            );
        }
    }
    compared
}

fn computed(graph: &Graph, wide: impl Fn(f64) -> f64, narrow: impl Fn(f32) -> f32, x: f64) -> f64 {
    if graph.is_wide() { wide(x) } else { f64::from(narrow(x as f32)) }
}

/// Whether a number is what rounding gives of one that is at most two steps away.
fn is_near(graph: &Graph, dtype: Float, wanted: f64, got: f64) -> bool {
    let around = |steps: i32| {
        if graph.is_wide() {
            let step = if steps < 0 { f64::next_down } else { f64::next_up };
            (0..steps.abs()).fold(wanted, |value, _| step(value)).rounded(dtype)
        } else {
            let step = if steps < 0 { f32::next_down } else { f32::next_up };
            let moved = (0..steps.abs()).fold(wanted as f32, |value, _| step(value));
            f64::from(moved.rounded(dtype))
        }
    };
    (-2..=2).any(|steps| same(around(steps), got) || around(steps) == got)
}
