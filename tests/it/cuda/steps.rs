//! Whole trainings: the kernel built by a C++ compiler gives the bits of the CPU.

use super::host::{Kernels, build, compiler};
use super::programs;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trainlint::replay::cuda::STEP;
use trainlint::replay::cuda::encode::Instruction;
use trainlint::replay::cuda::training_jobs::{ActWords, DEFINED, RunWords, STATE, TrainingJobs, run_of};
use trainlint::replay::step::{BATCH, ROUNDS, Run, TrainingJob, tasks, training_jobs};
use trainlint::report::replay::{Act, Call, Layer, Loss, Modes, Number, Optimizer, Step, Training};

const SEED: u64 = 7;
/// Rounds of what is many.
const SOME: u32 = 40;
/// No part of what there is to do, so that threads have different shares of it.
const THREADS: u32 = 5;

/// The text of the kernel for [`build`], which threads of a block can wait in.
pub fn text() -> String {
    let barriers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cuda/barriers.hpp");
    // The text may stand beside that of the interpreter, which has the same functions.
    let barriers = barriers.display().to_string();
    format!("#include {barriers:?}\nnamespace steps {{\n{STEP}\nHOST_WITH_BARRIERS(train)\n}}\n")
}

fn built(compiler: &str, folder: &TempDir) -> PathBuf {
    build(compiler, folder.path(), "step", &text(), &["-O2", "-DGIVEN"], &[])
}

/// All runs, in launches of these rounds.
fn there(kernels: &Kernels, training_jobs: &[TrainingJob], launches: &[[u32; 2]]) -> Vec<Run> {
    let mut encoded = TrainingJobs::of(training_jobs).expect("the kernel knows this training");
    let mut work = vec![f64::NAN; encoded.slots as usize * BATCH * encoded.runs.len()];
    for [first, end] in launches {
        let mut words = [
            encoded.runs.as_ptr() as u64,
            encoded.acts.as_ptr() as u64,
            encoded.code.as_ptr() as u64,
            encoded.numbers.as_ptr() as u64,
            encoded.states.as_mut_ptr() as u64,
            work.as_mut_ptr() as u64,
            u64::from(encoded.slots),
            u64::from(*first),
            u64::from(*end),
        ];
        let mut arguments: Vec<*mut c_void> =
            words.iter_mut().map(|word| std::ptr::from_mut(word).cast()).collect();
        kernels.launch("train", &mut arguments, encoded.runs.len() as u32, THREADS);
    }
    training_jobs.iter().zip(encoded.states.chunks(STATE)).map(|(job, state)| run_of(job, state)).collect()
}

/// Any two numbers that are none are the same.
fn is_same(a: &Run, b: &Run) -> bool {
    let bits = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    bits(a.loss, b.loss) && bits(a.right, b.right) && a.curve == b.curve && a.ended == b.ended
}

fn check(kernels: &Kernels, name: &str, training_jobs: &[TrainingJob], rounds: u32) {
    let later = Instant::now() + Duration::from_secs(600);
    // What is evaluated lies behind the last round of all.
    let there = there(kernels, training_jobs, &[[0, 1], [1, 17], [17, rounds], [ROUNDS, ROUNDS + 1]]);
    for (job, there) in training_jobs.iter().zip(there) {
        let here = job.run_for(rounds, later).unwrap();
        assert!(is_same(&here, &there), "{name}: {here:?}, and the kernel {there:?}");
    }
}

/// All that the kernel is told of a job.
fn words(job: &TrainingJob) -> (Vec<RunWords>, Vec<ActWords>, Vec<Instruction>, Vec<u64>) {
    let encoded = TrainingJobs::of(&[*job]).expect("the kernel knows this training");
    let numbers = encoded.numbers.iter().chain(&encoded.states).map(|number| number.to_bits()).collect();
    (encoded.runs, encoded.acts, encoded.code, numbers)
}

/// The first rounds of each side, of which many are the same: repaired, most are alike.
#[test]
fn the_kernel_trains_with_the_bits_of_the_cpu() {
    let Some(compiler) = compiler() else { return };
    let folder = TempDir::new().unwrap();
    let kernels = Kernels::open(built(compiler, &folder));
    kernels.give_functions();
    let steps = programs::steps();
    let all: Vec<_> = steps.iter().map(|(name, step)| (name, step, tasks(step, SEED))).collect();
    let mut known = BTreeSet::new();
    let mut chosen: Vec<(&str, TrainingJob)> = Vec::new();
    for (name, step, tasks) in &all {
        let own = training_jobs(step, &tasks[..1]).into_iter().filter(|job| known.insert(words(job)));
        chosen.extend(own.map(|job| (name.as_str(), job)));
    }
    assert!(chosen.len() >= 40, "the fixtures have only {} trainings", chosen.len());
    println!("{} trainings of {} findings in the fixtures", chosen.len(), all.len());
    chosen.par_iter().for_each(|(name, job)| check(&kernels, name, &[*job], SOME));
}

fn round(calls: &[Call]) -> Training {
    Training { round: calls.iter().copied().map(Act::always).collect(), ..Training::default() }
}

/// What fixtures may not have: every optimizer with all settings, every way in which a run ends, every layer.
#[test]
fn the_kernel_knows_all_calls_optimizers_and_layers() {
    use Call::{Backward, Build, Clear, Clip, ScaledBackward, ScaledStep, Schedule, Unscale, Update};
    let Some(compiler) = compiler() else { return };
    let folder = TempDir::new().unwrap();
    let kernels = Kernels::open(built(compiler, &folder));
    kernels.give_functions();
    let dropped = Modes { dropout: Some(Number::new(0.3)), ..Modes::default() };
    let trainings = [
        round(&[Clear, Backward, Clip, Call::Step, Schedule]),
        round(&[Clear, ScaledBackward, Unscale, Clip, ScaledStep, Update]),
        round(&[ScaledBackward, Call::Step]),
        round(&[Clear, ScaledBackward, ScaledStep]),
        round(&[Clear, ScaledBackward, Unscale, Unscale, Call::Step]),
        round(&[Clear, Backward, Call::Step, Update]),
        round(&[Build, Clear, Backward, Call::Step]),
        Training { elements: 3, ..Training::default() },
        Training { carries: Some(trainlint::report::replay::Carried::Freed), ..Training::default() },
        Training { layers: [Layer::Unowned, Layer::Cut, Layer::Learns], ..Training::default() },
        Training { layers: [Layer::Cut, Layer::Learns, Layer::Unowned], ..Training::default() },
        Training { loss: Loss::AllPairs, modes: dropped, ..Training::default() },
        Training { modes: Modes { evaluated_in_training: true, ..dropped }, ..Training::default() },
        Training {
            round: vec![
                Act::always(Backward),
                Act { call: Call::Step, every: 4 },
                Act { call: Clear, every: 3 },
            ],
            divisor: 4,
            ..Training::default()
        },
    ];
    for (index, script) in trainings.into_iter().enumerate() {
        let optimizer = Optimizer::ALL[index % Optimizer::ALL.len()];
        let number = |value: f64| Some(Number::new(value));
        let step = Step {
            optimizer: Some(optimizer),
            learning_rate: number(0.05),
            momentum: number(0.9),
            weight_decay: if index % 2 == 0 { number(0.01) } else { None },
            script,
            repaired: Training::default(),
        };
        let tasks = tasks(&step, SEED);
        check(&kernels, &format!("training {index}"), &training_jobs(&step, &tasks)[..3], ROUNDS);
    }
}

#[test]
fn the_kernel_has_the_sizes_of_the_stand_in() {
    for (name, value) in DEFINED {
        let line = format!("#define {name} {value}\n");
        assert!(STEP.contains(&line), "`stand_in.cuh` has no line `{}`", line.trim_end());
    }
}
