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
mod session;
#[cfg(test)]
mod tests;
mod words;

use super::outcome::{Evidence, Line, Picture, Verdict};
use super::run::Judged;
use crate::report::replay::{Loss, Step, Training};
use losses::Losses;
use model::{FEATURES, HIDDEN, Model, Task};
use probe::{Probe, probe};
use rayon::prelude::*;
use session::Session;

const ROUNDS: u32 = 300;
/// Different data and weights each time; where runs decide, all of them have to be worse.
const RUNS: u32 = 3;
/// Losses closer than this are the same.
const WORSE: f64 = 1.2;
/// How many classes there are where classes are learned.
pub const CLASSES: usize = 4;
/// Points of a curve.
const POINTS: u32 = 50;
/// Batches that a point, and the end, of a run are judged by.
const FEW: u32 = 2;
const MANY: u32 = 24;

/// Where a run came to.
struct Run {
    /// On batches that it has not learned from, by the loss as it should be.
    loss: f64,
    right: f64,
    curve: Vec<[f64; 2]>,
    ended: Option<(u32, String)>,
}

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

pub fn judge(step: &Step, seed: u64) -> Judged {
    let task = Task::new(seed, 0, outputs(step));
    let probe = probe(step, &task);
    let pairs: Vec<Pair> = (0..RUNS)
        .into_par_iter()
        .map(|number| {
            let task = Task::new(seed, number, outputs(step));
            let run = |training| run(step, training, &task, number == 0);
            Pair { script: run(&step.script), repaired: run(&step.repaired) }
        })
        .collect();
    // Losses that are not the same never have the same gradients.
    let is_other = step.script.loss != step.repaired.loss;
    let losses = is_other.then(|| Losses::of(step, &task));
    let verdict = verdict(step, &probe, losses.as_ref(), &pairs);
    Judged {
        verdict,
        evidence: Some(Evidence::StandIn),
        reason: None,
        expr: None,
        facts: words::facts(step, &probe, losses.as_ref(), &pairs),
        picture: pairs
            .into_iter()
            .next()
            .filter(|_| step.script.carries == step.repaired.carries)
            .map(picture),
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

fn run(step: &Step, training: &Training, task: &Task, is_drawn: bool) -> Run {
    let mut session = Session::new(step, training, task);
    // One yardstick for both.
    let yardstick = Model::new(task, &step.repaired);
    let in_training = training.modes.evaluated_in_training;
    let mut run = Run { loss: f64::NAN, right: 0.0, curve: Vec::new(), ended: None };
    for number in 0..ROUNDS {
        if is_drawn && number.is_multiple_of(ROUNDS / POINTS) {
            let (loss, _) = session.evaluated(&yardstick, in_training, FEW);
            run.curve.extend(loss.is_finite().then_some([f64::from(number), loss]));
        }
        if let Err(why) = session.round(number) {
            run.ended = Some((number + 1, why));
            break;
        }
    }
    (run.loss, run.right) = session.evaluated(&yardstick, in_training, MANY);
    run
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
