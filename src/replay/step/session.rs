//! The calls of a training, made one after the other as the frameworks mean them.

use super::model::{Batch, Model, Task, Walked, Weights};
use super::optimizer::{Scaler, State};
use super::refusal::Refusal;
use crate::report::replay::{Act, Call, Carried, LAYERS, Layer, Step, Training};

/// What a schedule makes of a rate each time that it goes on.
const DECAY: f64 = 0.9;

/// What a step applied: the gradients of what the optimizer has, and the rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Applied {
    pub gradient: Weights,
    pub rate: f64,
}

/// Which batches there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// One after the other.
    Each,
    /// The first, each time.
    First,
}

pub(crate) struct Session<'a> {
    training: &'a Training,
    task: &'a Task,
    model: Model<'a>,
    pub weights: Weights,
    held: Weights,
    optimizer: State<'a>,
    scaler: Scaler,
    /// Where gradients are clipped.
    bound: f64,
    /// Batches that were taken.
    batches: u32,
    /// Rounds whose graphs are part of what is carried.
    carried: u64,
    batch: Taken,
    /// What steps applied, instead of being made: weights stay as they are.
    probe: Option<Vec<Applied>>,
}

impl<'a> Session<'a> {
    /// A training with frozen weights.
    pub(crate) fn probe(step: &'a Step, training: &'a Training, task: &'a Task, batch: Taken) -> Session<'a> {
        Session { batch, probe: Some(Vec::new()), ..Session::new(step, training, task) }
    }

    pub(crate) fn new(step: &'a Step, training: &'a Training, task: &'a Task) -> Session<'a> {
        let model = Model::new(task, training);
        let first = model.walk(&task.start, &task.batch(0, &training.loss), true);
        let empty = task.start.clone().map(|layer| vec![0.0; layer.len()]);
        Session {
            training,
            task,
            model,
            weights: task.start.clone(),
            held: empty,
            optimizer: State::new(step, &task.start),
            scaler: Scaler::new(),
            // Half of what gradients are to begin with, so that there is something to clip.
            bound: norm(&first.gradient) / 2.0,
            batches: 0,
            carried: 0,
            batch: Taken::Each,
            probe: None,
        }
    }

    /// What steps applied so far, of a probe.
    pub(crate) fn applied(&self) -> &[Applied] {
        self.probe.as_deref().unwrap_or_default()
    }

    /// One round; gives the loss of its last batch, or what ended the run.
    pub(crate) fn round(&mut self, number: u32) -> Result<f64, Refusal> {
        let mut loss = f64::NAN;
        for Act { call, every } in &self.training.round {
            if (number + 1).is_multiple_of(*every) {
                loss = self.make(*call)?.unwrap_or(loss);
            }
        }
        Ok(loss)
    }

    fn make(&mut self, call: Call) -> Result<Option<f64>, Refusal> {
        match call {
            Call::Clear => self.clear(),
            Call::Backward => return self.walk(false).map(Some),
            Call::ScaledBackward => return self.walk(true).map(Some),
            Call::Unscale => self.scaler.unscale(&mut self.held)?,
            Call::Clip => self.clip(),
            Call::Step => self.step(),
            Call::ScaledStep => {
                if self.scaler.step(&mut self.held)? {
                    self.step();
                }
            }
            Call::Update => self.scaler.update()?,
            Call::Schedule => self.optimizer.rate *= DECAY,
            Call::Build => self.optimizer = self.optimizer.anew(&self.weights),
        }
        Ok(None)
    }

    fn batch(&mut self) -> Batch {
        let number = if self.batch == Taken::First { 0 } else { self.batches };
        self.batches += 1;
        self.task.batch(number, &self.training.loss)
    }

    fn walk(&mut self, scaled: bool) -> Result<f64, Refusal> {
        if self.training.elements > 1 {
            return Err(Refusal::Elements(self.training.elements));
        }
        self.carried += u64::from(self.training.carries.is_some());
        if self.training.carries == Some(Carried::Freed) && self.carried > 1 {
            return Err(Refusal::Freed);
        }
        let batch = self.batch();
        let in_training = self.training.modes.learns_in_training;
        let Walked { loss, gradient, .. } = self.model.walk(&self.weights, &batch, in_training);
        let divisor = f64::from(self.training.divisor);
        for (held, fresh) in self.held.iter_mut().flatten().zip(gradient.into_iter().flatten()) {
            let fresh = fresh / divisor;
            *held += if scaled { self.scaler.multiplied(fresh) } else { fresh };
        }
        Ok(loss)
    }

    fn clear(&mut self) {
        let owned = (0..LAYERS).filter(|layer| self.training.layers[*layer] != Layer::Unowned);
        owned.for_each(|layer| self.held[layer].fill(0.0));
    }

    fn clip(&mut self) {
        let size = norm(&self.held);
        if size > self.bound {
            let share = self.bound / size;
            self.held.iter_mut().flatten().for_each(|value| *value *= share);
        }
    }

    fn step(&mut self) {
        let Some(probe) = &mut self.probe else {
            self.optimizer.step(&mut self.weights, &self.held, &self.training.layers);
            return;
        };
        let mut gradient = self.held.clone();
        for layer in (0..LAYERS).filter(|layer| self.training.layers[*layer] == Layer::Unowned) {
            gradient[layer].fill(0.0);
        }
        probe.push(Applied { gradient, rate: self.optimizer.rate });
    }

    /// How many graphs the next backward pass goes through.
    pub(crate) fn depth(&self) -> u64 {
        self.carried
    }

    /// The loss and the share of right answers on batches that were never learned from.
    pub(crate) fn evaluated(&self, by: &Model, in_training: bool, batches: u32) -> (f64, f64) {
        let walk = |index: u32| {
            let batch = self.task.batch(u32::MAX / 1024 - index, &self.training.loss);
            by.walk(&self.weights, &batch, in_training)
        };
        let walked = (0..batches).map(walk);
        let (loss, right) =
            walked.fold((0.0, 0.0), |(loss, right), one| (loss + one.loss, right + one.right));
        (loss / f64::from(batches), right / f64::from(batches))
    }
}

pub(crate) fn norm(layers: &Weights) -> f64 {
    layers.iter().flatten().map(|value| value * value).sum::<f64>().sqrt()
}
