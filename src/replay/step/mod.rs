//! Training as the script does it and as it should be, on a small model of ours, with the script's own optimizer
//! and rate.
//!
//! Each fault is looked for where it is: with frozen weights and the same batches, does each step apply what it
//! should, to all layers; are the same samples the same numbers, in training and in evaluation; what do the best and
//! the worst answers cost? Whole runs tell what comes of it, and decide only between losses that differ in none of
//! that.

mod losses;
mod model;
mod optimizer;
mod probe;
mod refusal;
mod runs;
mod session;
#[cfg(test)]
mod tests;
mod words;

use super::outcome::{Evidence, Line, Picture, Verdict};
use super::run::{Backend, CPU, Judged, Trouble};
use crate::report::replay::{Loss, Step};
use losses::Losses;
pub use model::{BATCH, FEATURES, HIDDEN, Task, Weights};
pub use optimizer::{kind, learning_rate, momentum, weight_decay};
use probe::{Probe, probe};
use rayon::prelude::*;
pub use refusal::Refusal;
pub use runs::{FEW, MANY, POINTS, ROUNDS, Run, TrainingJob};
use std::time::Instant;

/// Different data and weights each time; where runs decide, all of them have to be worse.
const RUNS: u32 = 3;
/// Losses closer than this are the same.
const WORSE: f64 = 1.2;
/// How many classes there are where classes are learned.
pub const CLASSES: usize = 4;

/// The same run as the script does it, and repaired.
struct Pair {
    script: Run,
    repaired: Run,
}

impl Pair {
    /// How much worse the script's is; infinite where it has left all numbers behind.
    fn ratio(&self) -> f64 {
        match (self.script.loss, self.repaired.loss) {
            (script, repaired) if script == repaired => 1.0,
            (script, _) if !script.is_finite() => f64::INFINITY,
            (script, repaired) => script / repaired.max(f64::MIN_POSITIVE),
        }
    }
}

pub fn judge(
    step: &Step,
    seed: u64,
    deadline: Instant,
    backend: &mut dyn Backend,
) -> Result<Judged, Trouble> {
    let tasks = tasks(step, seed);
    let training_jobs = training_jobs(step, &tasks);
    let there = backend.train(&training_jobs, deadline)?;
    let trained_by = if there.is_some() { backend.kind() } else { CPU };
    let here = || training_jobs.par_iter().map(|job| job.run(deadline)).collect();
    let Some(runs) = there.or_else(here) else {
        return Ok(Judged::inconclusive("out of time in a training"));
    };
    let pairs = pairs(runs);
    let probe = probe(step, &tasks[0], deadline);
    if Instant::now() >= deadline {
        return Ok(Judged::inconclusive("out of time in a training"));
    }
    // Losses that are not the same never have the same gradients.
    let is_other = step.script.loss != step.repaired.loss;
    let losses = is_other.then(|| Losses::of(step, &tasks[0]));
    let verdict = verdict(step, &probe, losses.as_ref(), &pairs);
    let mut facts = words::facts(step, &probe, losses.as_ref(), &pairs, verdict);
    facts.extend(trained_on(backend, trained_by));
    // Curves that cross would speak against what is wrong for another reason.
    let is_drawn = verdict != Verdict::Confirmed || words::consequence(&pairs).is_some();
    Ok(Judged {
        verdict,
        evidence: Some(Evidence::StandIn),
        backend: Some(trained_by),
        reason: None,
        expr: None,
        facts,
        picture: pairs
            .into_iter()
            .next()
            .filter(|_| is_drawn && step.script.carries == step.repaired.carries)
            .map(picture),
    })
}

/// What is learned, with other data and weights each time.
pub fn tasks(step: &Step, seed: u64) -> Vec<Task> {
    (0..RUNS).map(|number| Task::new(seed, number, outputs(step))).collect()
}

/// The runs of all tasks, each as the script makes it and repaired.
pub fn training_jobs<'a>(step: &'a Step, tasks: &'a [Task]) -> Vec<TrainingJob<'a>> {
    let both = |(number, task)| {
        [&step.script, &step.repaired].map(|training| TrainingJob {
            step,
            training,
            task,
            is_drawn: number == 0,
        })
    };
    tasks.iter().enumerate().flat_map(both).collect()
}

fn pairs(runs: Vec<Run>) -> Vec<Pair> {
    let mut runs = runs.into_iter();
    std::iter::from_fn(|| Some(Pair { script: runs.next()?, repaired: runs.next()? })).collect()
}

/// Where the runs were made, of a backend that is no CPU.
fn trained_on(backend: &dyn Backend, trained_by: &str) -> Option<String> {
    match (backend.kind(), trained_by) {
        (CPU, _) => None,
        (_, CPU) => {
            Some("the runs were made on the CPU, as no kernel of ours makes this training".to_owned())
        }
        _ => {
            Some(format!("the runs were made on {}; frozen weights were compared on the CPU", backend.name()))
        }
    }
}

fn verdict(step: &Step, probe: &Probe, losses: Option<&Losses>, pairs: &[Pair]) -> Verdict {
    let (script, repaired) = (&step.script, &step.repaired);
    if script == repaired {
        return Verdict::NotReproduced;
    }
    // What the framework does then is known beforehand.
    if script.carries != repaired.carries || script.elements != repaired.elements {
        return Verdict::Measured;
    }
    let Some(losses) = losses else {
        return if *probe == Probe::Same { Verdict::NotReproduced } else { Verdict::Confirmed };
    };
    match losses.is_worse() {
        Some(true) => Verdict::Confirmed,
        Some(false) => Verdict::NotReproduced,
        None if pairs.iter().all(|pair| pair.ratio() > WORSE) => Verdict::Confirmed,
        // How much weaker gradients are is a number all the same.
        None => Verdict::Measured,
    }
}

/// Numbers that the stand-in gives for a sample.
fn outputs(step: &Step) -> usize {
    match &step.script.loss {
        Loss::Squares | Loss::AllPairs => 1,
        // One class stays one; of others a few stand for all.
        Loss::Classes(program) if program.inputs.iter().all(is_lone) => 1,
        Loss::Classes(_) => CLASSES,
    }
}

fn is_lone(input: &crate::report::replay::Input) -> bool {
    input.form == crate::report::replay::Form::One
}

fn picture(pair: Pair) -> Picture {
    let line = |name: &str, run: Run| Line { name: name.to_owned(), points: run.curve };
    Picture::Lines {
        x: "round".to_owned(),
        y: "loss of the stand-in".to_owned(),
        lines: vec![line("as the script does it", pair.script), line("repaired", pair.repaired)],
        limit: None,
    }
}
