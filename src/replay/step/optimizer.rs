//! Optimizers with the defaults of `torch.optim`, and a scaler of gradients as `torch.amp` has it.

use super::super::ir::Real;
use super::model::Weights;
use super::refusal::Refusal;
use crate::report::replay::{Float, LAYERS, Layer, Optimizer, Step};

/// Where a scaler begins, and what an overflow makes of it (`torch/amp/grad_scaler.py`).
const FIRST_SCALE: f64 = 65_536.0;
const BACKOFF: f64 = 0.5;

/// What the frameworks take where the script says nothing.
pub fn learning_rate(step: &Step) -> f64 {
    let default = match kind(step) {
        Optimizer::Sgd | Optimizer::Adam | Optimizer::AdamW => 1e-3,
        Optimizer::RmsProp => 1e-2,
    };
    step.learning_rate.map_or(default, crate::report::replay::Number::value)
}

/// The script's optimizer, or the usual one.
pub fn kind(step: &Step) -> Optimizer {
    step.optimizer.unwrap_or(Optimizer::Adam)
}

pub fn momentum(step: &Step) -> f64 {
    step.momentum.map_or(0.0, crate::report::replay::Number::value)
}

pub fn weight_decay(step: &Step) -> f64 {
    let default = if kind(step) == Optimizer::AdamW { 1e-2 } else { 0.0 };
    step.weight_decay.map_or(default, crate::report::replay::Number::value)
}

/// By squaring: `powi` promises no bits.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// What an optimizer remembers.
pub(crate) struct State<'a> {
    step: &'a Step,
    optimizer: Optimizer,
    pub rate: f64,
    momentum: f64,
    decay: f64,
    steps: u32,
    mean: Weights,
    square: Weights,
}

impl<'a> State<'a> {
    pub(crate) fn new(step: &'a Step, weights: &Weights) -> State<'a> {
        let empty = || weights.clone().map(|layer| vec![0.0; layer.len()]);
        State {
            step,
            optimizer: kind(step),
            rate: learning_rate(step),
            momentum: momentum(step),
            decay: weight_decay(step),
            steps: 0,
            mean: empty(),
            square: empty(),
        }
    }

    /// The same, as it is built.
    pub(crate) fn anew(&self, weights: &Weights) -> State<'a> {
        State { rate: self.rate, ..State::new(self.step, weights) }
    }

    pub(crate) fn step(&mut self, weights: &mut Weights, gradient: &Weights, layers: &[Layer; LAYERS]) {
        self.steps += 1;
        for layer in (0..LAYERS).filter(|layer| layers[*layer] != Layer::Unowned) {
            for index in 0..weights[layer].len() {
                let weight = weights[layer][index];
                weights[layer][index] = self.moved(layer, index, weight, gradient[layer][index]);
            }
        }
    }

    fn moved(&mut self, layer: usize, index: usize, weight: f64, gradient: f64) -> f64 {
        let apart = self.optimizer == Optimizer::AdamW;
        let gradient = if apart { gradient } else { gradient + self.decay * weight };
        let weight = if apart { weight * (1.0 - self.rate * self.decay) } else { weight };
        let (mean, square) = (&mut self.mean[layer][index], &mut self.square[layer][index]);
        let slope = match self.optimizer {
            Optimizer::Sgd => {
                *mean = self.momentum * *mean + gradient;
                *mean
            }
            Optimizer::RmsProp => {
                *square = 0.99 * *square + 0.01 * gradient * gradient;
                gradient / (square.sqrt() + 1e-8)
            }
            Optimizer::Adam | Optimizer::AdamW => {
                *mean = 0.9 * *mean + 0.1 * gradient;
                *square = 0.999 * *square + 0.001 * gradient * gradient;
                let (first, second) = (1.0 - power(0.9, self.steps), 1.0 - power(0.999, self.steps));
                *mean / first / ((*square / second).sqrt() + 1e-8)
            }
        };
        weight - self.rate * slope
    }
}

/// A scaler of gradients, and how far it is since its last update.
pub(crate) struct Scaler {
    pub scale: f64,
    unscaled: bool,
    stepped: bool,
    overflowed: bool,
}

impl Scaler {
    pub(crate) fn new() -> Scaler {
        Scaler { scale: FIRST_SCALE, unscaled: false, stepped: false, overflowed: false }
    }

    /// What half precision holds of a gradient that was multiplied.
    pub(crate) fn multiplied(&self, gradient: f64) -> f64 {
        (gradient * self.scale).rounded(Float::F16)
    }

    pub(crate) fn unscale(&mut self, held: &mut Weights) -> Result<(), Refusal> {
        if self.unscaled || self.stepped {
            return Err(Refusal::UnscaledTwice);
        }
        self.unscaled = true;
        let numbers = || held.iter().flatten();
        self.overflowed = numbers().any(|value| !value.is_finite());
        let scale = self.scale;
        held.iter_mut().flatten().for_each(|value| *value /= scale);
        Ok(())
    }

    /// Whether the step is made: after an overflow it is not.
    pub(crate) fn step(&mut self, held: &mut Weights) -> Result<bool, Refusal> {
        if self.stepped {
            return Err(Refusal::SteppedTwice);
        }
        if !self.unscaled {
            self.unscale(held)?;
        }
        self.stepped = true;
        Ok(!self.overflowed)
    }

    pub(crate) fn update(&mut self) -> Result<(), Refusal> {
        if !self.unscaled {
            return Err(Refusal::NotLooked);
        }
        let scale = if self.overflowed { self.scale * BACKOFF } else { self.scale };
        *self = Scaler { scale, ..Scaler::new() };
        Ok(())
    }
}
