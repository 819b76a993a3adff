//! On a true GPU, for whoever has one: the same plan on it and on the CPU. Without one the reason is printed, and
//! nothing is tested. `cargo test --test it gpu -- --nocapture` shows device, driver and times.

use super::programs;
use crate::harness::Project;
use serde_json::Value;
use std::time::{Duration, Instant};
use trainlint::replay::cuda::Device;
use trainlint::replay::ir::lower;
use trainlint::replay::run::Backend;
use trainlint::replay::sample::Sampler;
use trainlint::replay::search::search;
use trainlint::replay::step::{tasks, training_jobs};
use trainlint::report::replay::{Number, Optimizer, Step, Training};

const SAMPLES: u64 = 1 << 16;

/// Graphs of what IEEE 754 leaves no choice in are counted alike; others may differ by samples at a threshold.
const EXACT: [&str; 7] = ["add ", "sub ", "mul ", "div ", "sqrt ", "square ", "relu "];

#[test]
fn a_gpu_counts_as_the_cpu_does() {
    let mut device = match Device::open(&[]) {
        Ok(device) => device,
        Err(none) => {
            eprintln!("left out: {} ({})", none.reason, none.help);
            return;
        }
    };
    println!("{}", device.about().described());
    println!("{:?}", device.memory());
    let later = Instant::now() + Duration::from_secs(600);
    let (mut here, mut there) = (Duration::ZERO, Duration::ZERO);
    let all: Vec<_> = programs::functions().into_iter().chain(programs::fixtures()).collect();
    let samples = SAMPLES * all.len() as u64;
    for (name, program) in all {
        let graph = lower(&program, 4);
        let sampler = Sampler::new(7, &program.inputs);
        let start = Instant::now();
        let wanted = search(&graph, &sampler, SAMPLES, later);
        here += start.elapsed();
        let start = Instant::now();
        let found = device.search(&graph, &sampler, SAMPLES, later).unwrap();
        there += start.elapsed();
        let off =
            wanted.all.forward.abs_diff(found.all.forward) + wanted.all.gradient.abs_diff(found.all.gradient);
        let allowed = if EXACT.iter().any(|one| name.starts_with(one)) { 0 } else { SAMPLES / 1000 };
        assert!(off <= allowed, "{name}: {found:?}, and the CPU {wanted:?}");
        assert_eq!(wanted.ordinary.samples, found.ordinary.samples, "{name}");
    }
    let rate = |time: Duration| samples as f64 / time.as_secs_f64() / 1e6;
    println!(
        "{samples} samples: {:.1} million a second on the CPU, {:.1} on the GPU",
        rate(here),
        rate(there)
    );
}

/// In a short run that goes well differences of functions in the last place stay small.
#[test]
fn a_gpu_trains_as_the_cpu_does() {
    let Ok(mut device) = Device::open(&[]) else { return };
    let later = Instant::now() + Duration::from_secs(600);
    for optimizer in Optimizer::ALL {
        let step = Step {
            optimizer: Some(*optimizer),
            learning_rate: Some(Number::new(1e-3)),
            momentum: None,
            weight_decay: None,
            script: Training::default(),
            repaired: Training::default(),
        };
        let tasks = tasks(&step, 7);
        let training_jobs = training_jobs(&step, &tasks);
        let start = Instant::now();
        let there = device.train(&training_jobs, later).unwrap().unwrap();
        println!("{}: {} runs in {:?}", optimizer.name(), there.len(), start.elapsed());
        for (job, there) in training_jobs.iter().zip(there) {
            let here = job.run(later).unwrap();
            let off = (here.loss - there.loss).abs() / here.loss;
            assert!(off < 1e-6, "{}: {here:?}, and the GPU {there:?}", optimizer.name());
        }
    }
}

#[test]
fn a_gpu_runs_a_plan() {
    let project = Project::new().file("plan.json", super::faked::PLAN);
    let mut command = project.command(&["replay", "plan.json", "--backend", "cuda"]);
    // The driver's library may lie where only the environment says.
    command.envs(std::env::vars_os());
    let ran = crate::harness::Ran::of(command.output().unwrap());
    if ran.code == 3 {
        eprintln!("left out: {}", ran.stderr.trim());
        return;
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let results: Value = serde_json::from_str(&ran.stdout).unwrap();
    let verdicts: Vec<&str> =
        results["items"].as_array().unwrap().iter().map(|item| item["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, super::faked::VERDICTS);
    println!("{} took {} s", results["device"]["name"], results["seconds"]);
}
