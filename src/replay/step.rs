//! Training steps with a fault and without, on a small model of ours, with the script's own optimizer and rate.
//!
//! That gradients add up when nobody clears them follows from what `.grad` means, and needs no run. What a run
//! can say, one way or the other, is whether this optimizer at this rate trains worse for it.

use super::outcome::{Evidence, Verdict};
use super::run::Judged;
use super::sample::philox;
use crate::report::replay::{Fault, Optimizer, Step};

const FEATURES: usize = 8;
const HIDDEN: usize = 16;
const BATCH: usize = 16;
const STEPS: u32 = 800;
/// The loss is the mean of the last steps.
const LAST: u32 = 20;
/// Different data and weights each time; the fault has to show in all of them.
const RUNS: u32 = 3;
/// Losses closer than this are the same.
const WORSE: f64 = 1.2;

pub fn judge(step: &Step, seed: u64) -> Judged {
    let runs: Vec<(Run, Run)> = (0..RUNS)
        .map(|run| {
            let task = Task::new(seed, run);
            (task.train(step, None), task.train(step, Some(step.fault)))
        })
        .collect();
    let mut ratios: Vec<f64> = runs.iter().map(|(right, wrong)| ratio(wrong.loss, right.loss)).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, median) = (ratios[0], ratios[ratios.len() / 2]);
    // A stand-in that bears it does not speak for the script's model, nor for more steps.
    let (verdict, evidence, reason) = match least > WORSE {
        true => (Verdict::Confirmed, Some(Evidence::StandIn), None),
        false => (Verdict::Inconclusive, None, Some("the stand-in trains no worse for it".to_owned())),
    };
    Judged { verdict, evidence, reason, expr: None, facts: facts(step, &runs, least, median) }
}

/// Infinite where the faulty run has left all numbers behind.
fn ratio(wrong: f64, right: f64) -> f64 {
    if wrong.is_finite() { wrong / right } else { f64::INFINITY }
}

fn facts(step: &Step, runs: &[(Run, Run)], least: f64, median: f64) -> Vec<String> {
    let rate = learning_rate(step);
    let given = if step.learning_rate.is_some() { "the script's rate" } else { "its default rate" };
    let model = format!(
        "{FEATURES}-{HIDDEN}-1 perceptron, {STEPS} steps of {}, {rate} ({given}), {RUNS} runs",
        step.optimizer.name()
    );
    let loss =
        format!("the loss after them is {} that of the repaired run (least {})", times(median), times(least));
    let mut growth: Vec<f64> = runs.iter().map(|(_, wrong)| wrong.growth).collect();
    growth.sort_by(f64::total_cmp);
    let largest = times(growth[growth.len() / 2]);
    let mut facts = vec![model, loss];
    if step.fault != Fault::ClearedBeforeStep {
        facts.push(format!("the gradient that steps see is up to {largest} the one of the batch"));
    }
    facts
}

fn times(ratio: f64) -> String {
    match ratio {
        ratio if !ratio.is_finite() => "infinitely many times".to_owned(),
        ratio if ratio >= 1e4 => format!("{ratio:.1e} times"),
        ratio => format!("{ratio:.2} times"),
    }
}

/// What the frameworks take where the script says nothing (`torch.optim`).
fn learning_rate(step: &Step) -> f64 {
    let default = match step.optimizer {
        Optimizer::Sgd | Optimizer::Adam | Optimizer::AdamW => 1e-3,
        Optimizer::RmsProp => 1e-2,
    };
    step.learning_rate.map_or(default, |rate| rate.value())
}

/// Where a run ended.
struct Run {
    loss: f64,
    /// How much larger than the gradient of the batch the one was that a step saw.
    growth: f64,
}

/// A function to learn, and the weights to begin with.
struct Task {
    key: [u32; 2],
    teacher: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Task {
    fn new(seed: u64, run: u32) -> Task {
        let key = [seed as u32 ^ run, (seed >> 32) as u32];
        let scaled = |stream: u32, count: usize, fan: usize| {
            (0..count).map(|index| normal(key, stream, index as u32) / (fan as f64).sqrt()).collect()
        };
        Task {
            key,
            teacher: scaled(0, FEATURES, 1),
            first: scaled(1, FEATURES * HIDDEN, FEATURES),
            second: scaled(2, HIDDEN, HIDDEN),
        }
    }

    fn batch(&self, step: u32) -> (Vec<f64>, Vec<f64>) {
        let start = step * (BATCH * FEATURES) as u32;
        let x: Vec<f64> =
            (0..BATCH * FEATURES).map(|index| normal(self.key, 3, start + index as u32)).collect();
        let y = x.chunks(FEATURES).map(|row| dot(row, &self.teacher).tanh()).collect();
        (x, y)
    }

    fn train(&self, step: &Step, fault: Option<Fault>) -> Run {
        let mut weights = [self.first.clone(), self.second.clone()];
        let mut held = weights.clone().map(|part| vec![0.0; part.len()]);
        let mut optimizer = State::new(step, &weights);
        let mut run = Run { loss: 0.0, growth: 1.0 };
        for number in 0..STEPS {
            let (x, y) = self.batch(number);
            let (loss, fresh) = gradient(&weights, &x, &y);
            gather(&mut held, &fresh, fault, number);
            run.growth = run.growth.max(norm(&held) / norm(&fresh));
            optimizer.step(&mut weights, &held);
            if number + LAST >= STEPS {
                run.loss += loss / f64::from(LAST);
            }
        }
        run
    }
}

/// What `.grad` holds when the step is made.
fn gather(held: &mut [Vec<f64>; 2], fresh: &[Vec<f64>; 2], fault: Option<Fault>, number: u32) {
    let keeps = match fault {
        Some(Fault::MissingZeroGrad) => number > 0,
        _ => false,
    };
    let scale = match fault {
        Some(Fault::ClearedBeforeStep) => 0.0,
        // The mean over the parts is what was meant; their sum is so many times that.
        Some(Fault::UnscaledAccumulation(count)) => f64::from(count),
        _ => 1.0,
    };
    for (held, fresh) in held.iter_mut().zip(fresh) {
        for (held, fresh) in held.iter_mut().zip(fresh) {
            *held = if keeps { *held + fresh } else { scale * fresh };
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(parts: &[Vec<f64>; 2]) -> f64 {
    parts.iter().flatten().map(|value| value * value).sum::<f64>().sqrt()
}

/// A number of a normal distribution, by Box and Muller.
fn normal(key: [u32; 2], stream: u32, index: u32) -> f64 {
    let random = philox(key, [index, stream, 0, 0x57E9]);
    let unit = |word: u32| (f64::from(word) + 0.5) / 4_294_967_296.0;
    (-2.0 * libm::log(unit(random[0]))).sqrt() * libm::cos(std::f64::consts::TAU * unit(random[1]))
}

/// The loss of a batch, and its gradient in both layers.
fn gradient(weights: &[Vec<f64>; 2], x: &[f64], y: &[f64]) -> (f64, [Vec<f64>; 2]) {
    let mut slopes = [vec![0.0; weights[0].len()], vec![0.0; weights[1].len()]];
    let mut loss = 0.0;
    for (row, target) in x.chunks(FEATURES).zip(y) {
        let hidden: Vec<f64> = weights[0].chunks(FEATURES).map(|unit| libm::tanh(dot(unit, row))).collect();
        let error = dot(&hidden, &weights[1]) - target;
        loss += error * error / BATCH as f64;
        let slope = 2.0 * error / BATCH as f64;
        for (unit, value) in hidden.iter().enumerate() {
            slopes[1][unit] += slope * value;
            let inner = slope * weights[1][unit] * (1.0 - value * value);
            let own = &mut slopes[0][unit * FEATURES..(unit + 1) * FEATURES];
            own.iter_mut().zip(row).for_each(|(slope, x)| *slope += inner * x);
        }
    }
    (loss, slopes)
}

/// What an optimizer remembers, with the defaults of `torch.optim`.
struct State {
    optimizer: Optimizer,
    rate: f64,
    momentum: f64,
    decay: f64,
    steps: i32,
    mean: [Vec<f64>; 2],
    square: [Vec<f64>; 2],
}

impl State {
    fn new(step: &Step, weights: &[Vec<f64>; 2]) -> State {
        let empty = || [vec![0.0; weights[0].len()], vec![0.0; weights[1].len()]];
        let decay = if step.optimizer == Optimizer::AdamW { 1e-2 } else { 0.0 };
        State {
            optimizer: step.optimizer,
            rate: learning_rate(step),
            momentum: step.momentum.map_or(0.0, |value| value.value()),
            decay: step.weight_decay.map_or(decay, |value| value.value()),
            steps: 0,
            mean: empty(),
            square: empty(),
        }
    }

    fn step(&mut self, weights: &mut [Vec<f64>; 2], gradient: &[Vec<f64>; 2]) {
        self.steps += 1;
        for part in 0..2 {
            for index in 0..weights[part].len() {
                let weight = weights[part][index];
                weights[part][index] = self.moved(part, index, weight, gradient[part][index]);
            }
        }
    }

    fn moved(&mut self, part: usize, index: usize, weight: f64, gradient: f64) -> f64 {
        let apart = self.optimizer == Optimizer::AdamW;
        let gradient = if apart { gradient } else { gradient + self.decay * weight };
        let weight = if apart { weight * (1.0 - self.rate * self.decay) } else { weight };
        let (mean, square) = (&mut self.mean[part][index], &mut self.square[part][index]);
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
                let (first, second) = (1.0 - 0.9_f64.powi(self.steps), 1.0 - 0.999_f64.powi(self.steps));
                *mean / first / ((*square / second).sqrt() + 1e-8)
            }
        };
        weight - self.rate * slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::replay::Number;

    fn step(fault: Fault, optimizer: Optimizer, rate: f64) -> Step {
        let learning_rate = Some(Number::new(rate));
        Step { fault, optimizer, learning_rate, momentum: None, weight_decay: None }
    }

    #[test]
    fn gradients_that_nobody_clears_make_training_worse() {
        for (optimizer, rate) in [(Optimizer::Sgd, 0.1), (Optimizer::Adam, 1e-2), (Optimizer::RmsProp, 1e-2)]
        {
            let judged = judge(&step(Fault::MissingZeroGrad, optimizer, rate), 7);
            assert_eq!(judged.verdict, Verdict::Confirmed, "{optimizer:?}: {:?}", judged.facts);
            assert_eq!(judged.evidence, Some(Evidence::StandIn));
        }
    }

    #[test]
    fn where_nothing_moves_nothing_is_confirmed() {
        let judged = judge(&step(Fault::MissingZeroGrad, Optimizer::Sgd, 0.0), 7);
        assert_eq!(judged.verdict, Verdict::Inconclusive, "{:?}", judged.facts);
    }

    #[test]
    fn what_is_cleared_before_the_step_teaches_nothing() {
        let judged = judge(&step(Fault::ClearedBeforeStep, Optimizer::Sgd, 0.1), 7);
        assert_eq!(judged.verdict, Verdict::Confirmed, "{:?}", judged.facts);
    }

    /// Adam divides by the size of the gradient, and does not see that all of them are too large.
    #[test]
    fn adam_does_not_mind_a_constant_factor() {
        let judged = judge(&step(Fault::UnscaledAccumulation(8), Optimizer::Adam, 1e-3), 7);
        assert_eq!(judged.verdict, Verdict::Inconclusive, "{:?}", judged.facts);
        let judged = judge(&step(Fault::UnscaledAccumulation(64), Optimizer::Sgd, 0.1), 7);
        assert_eq!(judged.verdict, Verdict::Confirmed, "{:?}", judged.facts);
    }

    #[test]
    fn gradients_are_central_differences() {
        let task = Task::new(3, 0);
        let (x, y) = task.batch(0);
        let mut weights = [task.first.clone(), task.second.clone()];
        let (_, slopes) = gradient(&weights, &x, &y);
        for (part, index) in [(0, 0), (0, 77), (1, 5)] {
            let at = weights[part][index];
            let mut loss = |value: f64| {
                weights[part][index] = value;
                gradient(&weights, &x, &y).0
            };
            let slope = (loss(at + 1e-6) - loss(at - 1e-6)) / 2e-6;
            loss(at);
            assert!((slope - slopes[part][index]).abs() < 1e-7, "{slope} {}", slopes[part][index]);
        }
    }
}
