//! The stand-in: a perceptron of three layers, a function for it to learn, and gradients by hand.

use super::super::ir::eval::Machine;
use super::super::ir::{Graph, lower};
use super::super::sample::philox;
use crate::report::replay::{LAYERS, Layer, Loss, Training};

pub const FEATURES: usize = 8;
pub const HIDDEN: usize = 16;
pub const BATCH: usize = 16;

/// Streams of random numbers.
const TEACHER: u32 = 0;
const WEIGHTS: u32 = 1;
const DATA: u32 = 4;
const DROPS: u32 = 5;

/// The numbers of all layers, from the input on.
pub type Weights = [Vec<f64>; LAYERS];

/// A function to learn, and the weights to begin with.
pub struct Task {
    pub key: [u32; 2],
    pub teacher: Vec<f64>,
    pub start: Weights,
    pub outputs: usize,
}

pub struct Batch {
    x: Vec<f64>,
    /// One row for each sample: a number, or one number for each class.
    y: Vec<f64>,
    number: u32,
}

impl Batch {
    /// The same samples, with other numbers drawn for what is drawn at random.
    pub fn again(&self) -> Batch {
        Batch { x: self.x.clone(), y: self.y.clone(), number: self.number ^ 0x8000_0000 }
    }
}

impl Task {
    /// `outputs` numbers a sample; of classes, as many as there are.
    pub fn new(seed: u64, run: u32, outputs: usize) -> Task {
        let key = [seed as u32 ^ run, (seed >> 32) as u32];
        let scaled = |stream: u32, count: usize, fan: usize| {
            (0..count).map(|index| normal(key, stream, index as u32) / (fan as f64).sqrt()).collect()
        };
        let start = [
            scaled(WEIGHTS, FEATURES * HIDDEN, FEATURES),
            scaled(WEIGHTS + 1, HIDDEN * HIDDEN, HIDDEN),
            scaled(WEIGHTS + 2, HIDDEN * outputs, HIDDEN),
        ];
        Task { key, teacher: scaled(TEACHER, FEATURES * outputs, 1), start, outputs }
    }

    pub fn batch(&self, number: u32, loss: &Loss) -> Batch {
        let from = number * (BATCH * FEATURES) as u32;
        let x: Vec<f64> =
            (0..BATCH * FEATURES).map(|index| normal(self.key, DATA, from + index as u32)).collect();
        let scores = |row: &[f64]| self.teacher.chunks(FEATURES).map(|one| dot(row, one)).collect::<Vec<_>>();
        let y = x.chunks(FEATURES).flat_map(|row| target(&scores(row), loss)).collect();
        Batch { x, y, number }
    }
}

/// What the teacher says: a number, or which class is right.
fn target(scores: &[f64], loss: &Loss) -> Vec<f64> {
    match (loss, scores) {
        (Loss::Squares | Loss::AllPairs, _) => scores.iter().map(|score| libm::tanh(*score)).collect(),
        (Loss::Classes(_), [one]) => vec![f64::from(*one > 0.0)],
        (Loss::Classes(_), _) => {
            let right = place_of_most(scores);
            (0..scores.len()).map(|place| f64::from(place == right)).collect()
        }
    }
}

fn place_of_most(scores: &[f64]) -> usize {
    (1..scores.len()).fold(0, |best, place| if scores[place] > scores[best] { place } else { best })
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A number of a normal distribution, by Box and Muller.
fn normal(key: [u32; 2], stream: u32, index: u32) -> f64 {
    let random = philox(key, [index, stream, 0, 0x57E9]);
    (-2.0 * libm::log(unit(random[0]))).sqrt() * libm::cos(std::f64::consts::TAU * unit(random[1]))
}

fn unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// What a training computes of a batch.
pub(crate) struct Model<'a> {
    task: &'a Task,
    training: &'a Training,
    head: Option<Graph>,
}

/// What came of one batch.
pub(crate) struct Walked {
    pub loss: f64,
    /// The share of samples of which the class was right; of numbers there is none.
    pub right: f64,
    pub gradient: Weights,
}

/// Numbers of one sample on their way, kept for the way back.
struct Sample {
    first: Vec<f64>,
    second: Vec<f64>,
    kept: Vec<f64>,
    output: Vec<f64>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(task: &'a Task, training: &'a Training) -> Model<'a> {
        let head = match &training.loss {
            Loss::Classes(program) => Some(lower(program, task.outputs)),
            Loss::Squares | Loss::AllPairs => None,
        };
        Model { task, training, head }
    }

    /// The loss of a batch, and its gradient in all layers that it reaches.
    pub(crate) fn walk(&self, weights: &Weights, batch: &Batch, in_training: bool) -> Walked {
        let samples: Vec<Sample> = (0..BATCH)
            .map(|index| {
                let row = &batch.x[index * FEATURES..(index + 1) * FEATURES];
                self.forward(weights, row, in_training.then_some((batch.number, index as u32)))
            })
            .collect();
        let outputs: Vec<f64> = samples.iter().flat_map(|sample| sample.output.iter().copied()).collect();
        let (loss, slopes) = self.slopes(&outputs, batch);
        let mut gradient = weights.clone().map(|layer| vec![0.0; layer.len()]);
        for (index, sample) in samples.iter().enumerate() {
            let row = &batch.x[index * FEATURES..(index + 1) * FEATURES];
            let slope = &slopes[index * self.task.outputs..(index + 1) * self.task.outputs];
            self.backward(weights, row, sample, slope, &mut gradient);
        }
        Walked { loss, right: self.right(&samples, batch), gradient }
    }

    fn forward(&self, weights: &Weights, row: &[f64], drops: Option<(u32, u32)>) -> Sample {
        let through = |layer: &[f64], row: &[f64]| -> Vec<f64> {
            layer.chunks(row.len()).map(|unit| dot(unit, row)).collect()
        };
        let bent = |values: Vec<f64>| values.into_iter().map(libm::tanh).collect::<Vec<_>>();
        let first = bent(through(&weights[0], row));
        let second = bent(through(&weights[1], &first));
        let kept = self.kept(drops);
        let shown: Vec<f64> = second.iter().zip(&kept).map(|(value, kept)| value * kept).collect();
        Sample { first, second, kept, output: through(&weights[2], &shown) }
    }

    /// What dropout multiplies the last hidden numbers with.
    fn kept(&self, drops: Option<(u32, u32)>) -> Vec<f64> {
        let share = self.training.modes.dropout.map_or(0.0, crate::report::replay::Number::value);
        let Some((batch, sample)) = drops.filter(|_| share > 0.0) else { return vec![1.0; HIDDEN] };
        let keeps = |place: usize| {
            let random = philox(self.task.key, [place as u32, DROPS, batch, sample]);
            if unit(random[0]) < share { 0.0 } else { 1.0 / (1.0 - share) }
        };
        (0..HIDDEN).map(keeps).collect()
    }

    /// What answers cost, and how large the gradient of that is: of classes right and as sure as that, or wrong where
    /// it is below zero; of numbers right, or so far off.
    pub(crate) fn answered(&self, batch: &Batch, by: f64) -> (f64, f64) {
        let answer = |y: &f64| match self.head {
            Some(_) => by * (2.0 * y - 1.0),
            None => y + by.min(0.0),
        };
        let (loss, slopes) = self.slopes(&batch.y.iter().map(answer).collect::<Vec<_>>(), batch);
        (loss, slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt())
    }

    /// The mean loss, and its slope in each output.
    fn slopes(&self, outputs: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        if let Some(head) = &self.head {
            return through_head(head, outputs, &batch.y, self.task.outputs);
        }
        let count = batch.y.len() as f64;
        let mean = batch.y.iter().sum::<f64>() / count;
        let spread = batch.y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / count;
        let pairs = self.training.loss == Loss::AllPairs;
        let errors: Vec<f64> =
            outputs.iter().zip(&batch.y).map(|(output, y)| output - if pairs { mean } else { *y }).collect();
        let loss = errors.iter().map(|error| error * error).sum::<f64>() / count;
        let loss = if pairs { loss + spread } else { loss };
        (loss, errors.into_iter().map(|error| 2.0 * error / count).collect())
    }

    fn backward(&self, weights: &Weights, row: &[f64], sample: &Sample, slope: &[f64], into: &mut Weights) {
        let reaches = |layer: usize| self.training.layers[layer..].iter().all(|one| *one != Layer::Cut);
        if !reaches(2) {
            return;
        }
        let mut inner = vec![0.0; HIDDEN];
        for (unit, slope) in slope.iter().enumerate() {
            for (place, inner) in inner.iter_mut().enumerate() {
                let at = unit * HIDDEN + place;
                into[2][at] += slope * sample.second[place] * sample.kept[place];
                *inner += slope * weights[2][at] * sample.kept[place];
            }
        }
        for (layer, before, output) in [(1, sample.first.as_slice(), &sample.second), (0, row, &sample.first)]
        {
            if !reaches(layer) {
                return;
            }
            let mut further = vec![0.0; before.len()];
            for (unit, value) in output.iter().enumerate() {
                let slope = inner[unit] * (1.0 - value * value);
                for (place, input) in before.iter().enumerate() {
                    let at = unit * before.len() + place;
                    into[layer][at] += slope * input;
                    further[place] += slope * weights[layer][at];
                }
            }
            inner = further;
        }
    }

    fn right(&self, samples: &[Sample], batch: &Batch) -> f64 {
        let right = samples.iter().zip(batch.y.chunks(self.task.outputs)).filter(|(sample, y)| match y {
            [y] => (sample.output[0] > 0.0) == (*y > 0.5),
            y => place_of_most(&sample.output) == place_of_most(y),
        });
        right.count() as f64 / samples.len() as f64
    }
}

/// The mean of a program over samples, and its slope in what the model gives.
fn through_head(head: &Graph, outputs: &[f64], targets: &[f64], width: usize) -> (f64, Vec<f64>) {
    let count = outputs.len() / width;
    let mut machine = Machine::<f64>::new(head, count);
    machine.run(|input, lane, out| {
        let from = if input == 0 { outputs } else { targets };
        for (sample, out) in out.iter_mut().enumerate() {
            *out = from[sample * width + lane];
        }
    });
    let loss = (0..count).map(|sample| machine.of(head.output, sample).iter().sum::<f64>()).sum::<f64>();
    let slope = head.gradients.iter().find(|(input, _)| *input == 0).map(|(_, id)| *id);
    let slopes = (0..count).flat_map(|sample| match slope {
        Some(id) => {
            let row = machine.of(id, sample);
            (0..width).map(|place| row[place.min(row.len() - 1)] / count as f64).collect()
        }
        None => vec![0.0; width],
    });
    (loss / count as f64, slopes.collect())
}
