//! What steps apply, with frozen weights and the same batches: what differs is the order of the calls.

use super::model::{Model, Task, Weights};
use super::refusal::Refusal;
use super::session::{Applied, Session, Taken, norm};
use crate::report::replay::{Carried, LAYERS, Step, Training};
use std::time::Instant;

/// At least so many rounds, and as many as steps take that are made now and then.
const ROUNDS: u32 = 12;
const MOST_ROUNDS: u32 = 400;
/// So many steps are told.
const TOLD: usize = 5;
/// What rounding may make of the same sum in another order.
const SAME: f64 = 1e-5;

/// How what the script's steps apply differs from what they should.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Probe {
    Same,
    /// The run ends in this round.
    Ends(u32, Refusal),
    /// No step is made.
    NoStep,
    /// Nothing reaches these layers, counted from the input.
    Layers(Vec<usize>),
    /// How large the gradients are, as a share of what they should be.
    Sizes(Vec<f64>),
    /// They are as large, and others.
    Others,
    /// The rates of the first steps, and what they should be.
    Rates(Vec<f64>, Vec<f64>),
    /// What the optimizer remembers is gone at each step.
    Forgets,
    /// A backward pass of the last round goes through so many graphs.
    Deeper(u64),
    /// So many graphs are alive after as many rounds.
    Held(u64),
    /// The same evaluation of the same samples comes to these two losses.
    Noisy(f64, f64),
    /// The same samples give the same numbers twice while they are learned from: nothing is dropped.
    Undropped,
}

struct Seen {
    applied: Vec<Applied>,
    ended: Option<(u32, Refusal)>,
    depth: u64,
}

/// The same batch each time tells best what adds up; what clipping hides of it shows with different ones.
/// What is cut at the deadline is to be left aside.
pub(crate) fn probe(step: &Step, task: &Task, deadline: Instant) -> Probe {
    if step.script.modes != step.repaired.modes {
        return of_modes(step, task);
    }
    match probe_with(step, task, Taken::First, deadline) {
        Probe::Same => probe_with(step, task, Taken::Each, deadline),
        found => found,
    }
}

/// What is drawn at random shows where the same is computed twice: in training it should, in evaluation it should not.
fn of_modes(step: &Step, task: &Task) -> Probe {
    let twice = |training: &Training| {
        let (model, batch) = (Model::new(task, training), task.batch(0, &training.loss));
        let of = |in_training| {
            [&batch, &batch.again()].map(|batch| model.walk(&task.start, batch, in_training).loss)
        };
        (of(training.modes.learns_in_training), of(training.modes.evaluated_in_training))
    };
    let ((learned, evaluated), (should_learn, should_evaluate)) =
        (twice(&step.script), twice(&step.repaired));
    let differ = |[one, other]: [f64; 2]| one != other;
    if differ(evaluated) && !differ(should_evaluate) {
        return Probe::Noisy(evaluated[0], evaluated[1]);
    }
    if !differ(learned) && differ(should_learn) {
        return Probe::Undropped;
    }
    Probe::Same
}

fn probe_with(step: &Step, task: &Task, batch: Taken, deadline: Instant) -> Probe {
    let script = seen(step, &step.script, task, batch, deadline);
    let repaired = seen(step, &step.repaired, task, batch, deadline);
    match script.ended {
        Some((round, why)) if repaired.ended.is_none() => return Probe::Ends(round, why),
        _ => {}
    }
    if step.script.carries == Some(Carried::Held) && step.repaired.carries.is_none() {
        return Probe::Held(script.depth);
    }
    if step.script.carries == Some(Carried::Kept) && step.repaired.carries.is_none() {
        return Probe::Deeper(script.depth);
    }
    if script.applied.is_empty() && !repaired.applied.is_empty() {
        return Probe::NoStep;
    }
    let forgets =
        |training: &Training| training.round.iter().any(|act| act.call == crate::report::replay::Call::Build);
    if forgets(&step.script) && !forgets(&step.repaired) {
        return Probe::Forgets;
    }
    compared(&script.applied, &repaired.applied)
}

fn seen(step: &Step, training: &Training, task: &Task, batch: Taken, deadline: Instant) -> Seen {
    let mut session = Session::probe(step, training, task, batch);
    let mut ended = None;
    let acts = step.script.round.iter().chain(&step.repaired.round);
    let rarest = acts.map(|act| act.every).max().unwrap_or(1);
    for number in 0..rarest.saturating_mul(3).clamp(ROUNDS, MOST_ROUNDS) {
        if Instant::now() >= deadline {
            break;
        }
        if let Err(why) = session.round(number) {
            ended = Some((number + 1, why));
            break;
        }
    }
    Seen { applied: session.applied().to_vec(), ended, depth: session.depth() }
}

fn compared(script: &[Applied], repaired: &[Applied]) -> Probe {
    let pairs = || script.iter().zip(repaired);
    let empty: Vec<usize> = (0..LAYERS)
        .filter(|layer| {
            pairs().all(|(one, _)| is_empty(&one.gradient[*layer]))
                && pairs().any(|(_, other)| !is_empty(&other.gradient[*layer]))
        })
        .collect();
    if !empty.is_empty() {
        return Probe::Layers(empty);
    }
    if pairs().any(|(one, other)| distance(&one.gradient, &other.gradient) > SAME) {
        let ratios: Vec<f64> = pairs()
            .map(|(one, other)| norm(&one.gradient) / norm(&other.gradient).max(f64::MIN_POSITIVE))
            .take(TOLD)
            .collect();
        let alike = ratios.iter().all(|ratio| (ratio - 1.0).abs() < SAME);
        return if alike { Probe::Others } else { Probe::Sizes(ratios) };
    }
    if pairs().any(|(one, other)| one.rate != other.rate) {
        let rates = |applied: &[Applied]| applied.iter().take(TOLD).map(|one| one.rate).collect();
        return Probe::Rates(rates(script), rates(repaired));
    }
    Probe::Same
}

fn is_empty(layer: &[f64]) -> bool {
    layer.iter().all(|value| *value == 0.0)
}

/// As a share of the second; NaN and infinity are far from everything.
fn distance(one: &Weights, other: &Weights) -> f64 {
    let difference: f64 =
        one.iter().flatten().zip(other.iter().flatten()).map(|(a, b)| (a - b) * (a - b)).sum();
    let share = difference.sqrt() / norm(other).max(f64::MIN_POSITIVE);
    if share.is_nan() { f64::INFINITY } else { share }
}
