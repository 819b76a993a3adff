//! Trainings as the kernel in `step.cu` reads them: words and numbers, laid out as the structs of `stand_in.cuh`. What
//! it cannot do has no encoding, and is left to the CPU.

use super::encode::{Encoded, Instruction, Output};
use crate::replay::ir::lower;
use crate::replay::step::{
    BATCH, FEATURES, FEW, HIDDEN, MANY, POINTS, ROUNDS, Refusal, Run, TrainingJob, Weights, kind,
    learning_rate, momentum, weight_decay,
};
use crate::report::replay::{Act, Call, Carried, LAYERS, Layer, Loss, Modes, Optimizer, Training};

/// As many numbers as a sample may have of the model.
const OUTPUTS: usize = 4;
const SECOND: usize = FEATURES * HIDDEN;
const LAST: usize = SECOND + HIDDEN * HIDDEN;
const WEIGHTS: usize = LAST + HIDDEN * OUTPUTS;
/// The numbers of a run, and where those lie that the host writes and reads.
pub const STATE: usize = 3956;
const START: usize = FEATURES * OUTPUTS;
const SETTINGS: usize = START + WEIGHTS;
const TOLD: usize = SETTINGS + 5;
const CURVE: usize = TOLD + 4;

/// What the text of the kernel defines, as it is here.
pub const DEFINED: [(&str, usize); 9] = [
    ("FEATURES", FEATURES),
    ("HIDDEN", HIDDEN),
    ("BATCH", BATCH),
    ("OUTPUTS", OUTPUTS),
    ("ROUNDS", ROUNDS as usize),
    ("POINTS", POINTS as usize),
    ("FEW", FEW as usize),
    ("MANY_BATCHES", MANY as usize),
    ("STATE", STATE),
];

pub type RunWords = [u32; 31];
type HeadWords = [u32; 8];
pub type ActWords = [u32; 2];

/// TrainingJobs that are ready to run, a block each.
#[derive(Debug, Default)]
pub struct TrainingJobs {
    pub runs: Vec<RunWords>,
    pub acts: Vec<ActWords>,
    pub code: Vec<Instruction>,
    pub numbers: Vec<f64>,
    pub states: Vec<f64>,
    /// How many values a program holds for a sample.
    pub slots: u32,
}

impl TrainingJobs {
    /// Nothing, where one of them is none that the kernel makes.
    pub fn of(training_jobs: &[TrainingJob]) -> Option<TrainingJobs> {
        let mut encoded = TrainingJobs::default();
        for job in training_jobs {
            encoded.add(job)?;
        }
        Some(encoded)
    }

    fn add(&mut self, job: &TrainingJob) -> Option<()> {
        let task = job.task;
        // Named one by one, so that what trainings get anew has to be thought of here.
        let Training { round, divisor, loss, layers, modes, carries, elements } = job.training;
        let Modes { learns_in_training, evaluated_in_training, .. } = *modes;
        if task.outputs > OUTPUTS
            || task.teacher.len() > START
            || task.start.iter().flatten().count() > WEIGHTS
        {
            return None;
        }
        let act = self.acts.len() as u32;
        self.acts.extend(round.iter().map(|Act { call, every }| [number_of_call(*call), *every]));
        let head = self.head(loss, task.outputs);
        let yardstick = self.head(&job.step.repaired.loss, task.outputs);
        let mut words = [0; 31];
        words[..12].copy_from_slice(&[
            task.key[0],
            task.key[1],
            task.outputs as u32,
            act,
            round.len() as u32,
            number_of_optimizer(kind(job.step)),
            *divisor,
            u32::from(*elements > 1),
            u32::from(*carries == Some(Carried::Freed)),
            u32::from(learns_in_training),
            u32::from(evaluated_in_training),
            u32::from(job.is_drawn),
        ]);
        words[12..15].copy_from_slice(&layers.map(number_of_layer));
        words[15..23].copy_from_slice(&head);
        words[23..].copy_from_slice(&yardstick);
        self.runs.push(words);
        self.states.extend(state(job));
        Some(())
    }

    fn head(&mut self, loss: &Loss, outputs: usize) -> HeadWords {
        let program = match loss {
            Loss::Squares => return [0; 8],
            Loss::AllPairs => return [1, 0, 0, 0, 0, 0, 0, 0],
            Loss::Classes(program) => program,
        };
        let graph = lower(program, outputs);
        let slope = graph.gradients.iter().find(|(input, _)| *input == 0);
        let told: Vec<_> =
            std::iter::once((graph.output, false)).chain(slope.map(|(_, id)| (*id, true))).collect();
        let encoded = Encoded::telling(&graph, &told);
        let (code, numbers) = (self.code.len() as u32, self.numbers.len() as u32);
        let at = |index: usize| -> Output { encoded.outputs.get(index).copied().unwrap_or_default() };
        let ([loss, loss_lanes, _], [slope, slope_lanes, _]) = (at(0), at(1));
        let steps = encoded.code.len() as u32;
        self.slots = self.slots.max(encoded.slots);
        self.code.extend(encoded.code);
        self.numbers.extend(encoded.numbers);
        [2, code, steps, numbers, loss, loss_lanes, slope, slope_lanes]
    }
}

fn state(job: &TrainingJob) -> Vec<f64> {
    let mut state = vec![0.0; STATE];
    state[..job.task.teacher.len()].copy_from_slice(&job.task.teacher);
    let weights: Vec<f64> = flat(&job.task.start);
    state[START..START + weights.len()].copy_from_slice(&weights);
    let step = job.step;
    let dropped =
        |training: &Training| training.modes.dropout.map_or(0.0, crate::report::replay::Number::value);
    state[SETTINGS..TOLD].copy_from_slice(&[
        learning_rate(step),
        momentum(step),
        weight_decay(step),
        dropped(job.training),
        dropped(&step.repaired),
    ]);
    state
}

fn flat(weights: &Weights) -> Vec<f64> {
    const { assert!(LAYERS == 3, "the kernel has three layers") };
    weights.iter().flatten().copied().collect()
}

/// What came of a job, from the numbers of its run.
pub fn run_of(job: &TrainingJob, state: &[f64]) -> Run {
    let [loss, right, round, why] = [TOLD, TOLD + 1, TOLD + 2, TOLD + 3].map(|at| state[at]);
    let points = (0_u32..).zip(&state[CURVE..CURVE + POINTS as usize]);
    let drawn = points.filter(|(_, loss)| job.is_drawn && loss.is_finite());
    Run {
        loss,
        right,
        curve: drawn.map(|(point, loss)| [f64::from(point * (ROUNDS / POINTS)), *loss]).collect(),
        ended: refusal(why as u32, job.training).map(|why| (round as u32, why)),
    }
}

fn refusal(why: u32, training: &Training) -> Option<Refusal> {
    match why {
        0 => None,
        1 => Some(Refusal::Elements(training.elements)),
        2 => Some(Refusal::Freed),
        3 => Some(Refusal::UnscaledTwice),
        4 => Some(Refusal::SteppedTwice),
        _ => Some(Refusal::NotLooked),
    }
}

fn number_of_call(call: Call) -> u32 {
    match call {
        Call::Clear => 0,
        Call::Backward => 1,
        Call::ScaledBackward => 2,
        Call::Unscale => 3,
        Call::Clip => 4,
        Call::Step => 5,
        Call::ScaledStep => 6,
        Call::Update => 7,
        Call::Schedule => 8,
        Call::Build => 9,
    }
}

fn number_of_layer(layer: Layer) -> u32 {
    match layer {
        Layer::Learns => 0,
        Layer::Cut => 1,
        Layer::Unowned => 2,
    }
}

fn number_of_optimizer(optimizer: Optimizer) -> u32 {
    match optimizer {
        Optimizer::Sgd => 0,
        Optimizer::Adam => 1,
        Optimizer::AdamW => 2,
        Optimizer::RmsProp => 3,
    }
}
