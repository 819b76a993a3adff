//! Whole runs of a training, and what they come to. The CPU makes them one after the other; a GPU makes all at once.

use super::model::{Model, Task};
use super::refusal::Refusal;
use super::session::Session;
use crate::report::replay::{Step, Training};
use std::time::Instant;

pub const ROUNDS: u32 = 300;
/// Points of a curve.
pub const POINTS: u32 = 50;
/// Batches that a point, and the end, of a run are judged by.
pub const FEW: u32 = 2;
pub const MANY: u32 = 24;

/// One run to make.
#[derive(Clone, Copy)]
pub struct TrainingJob<'a> {
    pub step: &'a Step,
    /// The one of the two that is made.
    pub training: &'a Training,
    pub task: &'a Task,
    /// Whether its curve is wanted.
    pub is_drawn: bool,
}

/// Where a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// On batches that it has not learned from, by the loss as it should be.
    pub loss: f64,
    pub right: f64,
    pub curve: Vec<[f64; 2]>,
    /// In which round a framework ended it, and why.
    pub ended: Option<(u32, Refusal)>,
}

impl TrainingJob<'_> {
    /// Makes the run on the CPU; `None` when there is no time left for it.
    pub fn run(&self, deadline: Instant) -> Option<Run> {
        self.run_for(ROUNDS, deadline)
    }

    /// The same with fewer rounds.
    pub fn run_for(&self, rounds: u32, deadline: Instant) -> Option<Run> {
        let mut session = Session::new(self.step, self.training, self.task);
        // One yardstick for both.
        let yardstick = Model::new(self.task, &self.step.repaired);
        let in_training = self.training.modes.evaluated_in_training;
        let mut run = Run { loss: f64::NAN, right: 0.0, curve: Vec::new(), ended: None };
        for number in 0..rounds {
            if Instant::now() >= deadline {
                return None;
            }
            if self.is_drawn && number.is_multiple_of(ROUNDS / POINTS) {
                let (loss, _) = session.evaluated(&yardstick, in_training, FEW);
                run.curve.extend(loss.is_finite().then_some([f64::from(number), loss]));
            }
            if let Err(why) = session.round(number) {
                run.ended = Some((number + 1, why));
                break;
            }
        }
        (run.loss, run.right) = session.evaluated(&yardstick, in_training, MANY);
        Some(run)
    }
}
