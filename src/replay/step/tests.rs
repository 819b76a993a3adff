//! Known faults of training come out as such, the repaired training does not, and gradients are those of
//! differences.

use super::model::Model;
use super::*;
use crate::replay::run::Cpu;
use crate::report::replay::{
    Act, Call, Domain, Form, Function, LAYERS, Layer, Modes, Number, Optimizer, Program, Training,
};
use std::time::Duration;

const SEED: u64 = 7;

fn judge(step: &Step, seed: u64) -> Judged {
    let later = Instant::now() + Duration::from_secs(600);
    super::judge(step, seed, later, &mut Cpu).unwrap()
}

fn step(optimizer: Optimizer, rate: f64, script: Training, repaired: Training) -> Step {
    let learning_rate = Some(Number::new(rate));
    Step { optimizer: Some(optimizer), learning_rate, momentum: None, weight_decay: None, script, repaired }
}

fn round(calls: &[Call]) -> Training {
    Training { round: calls.iter().copied().map(Act::always).collect(), ..Training::default() }
}

fn head(through: Option<Function>, loss: Function) -> Training {
    let mut program = Program::default();
    let output = program.input("output", Form::Many, Domain::REAL, true);
    let target = program.input("target", Form::Many, Domain::LABEL, false);
    let reached = through.map_or(output, |function| program.apply(function, &[output], None));
    program.apply(loss, &[reached, target], None);
    Training { loss: Loss::Classes(Box::new(program)), ..Training::default() }
}

fn says(judged: &Judged, part: &str) {
    assert!(judged.facts.iter().any(|fact| fact.contains(part)), "{part} is not in {:#?}", judged.facts);
}

#[test]
fn gradients_that_nobody_clears_add_up() {
    let script = round(&[Call::Backward, Call::Step]);
    let judged = judge(&step(Optimizer::Sgd, 0.1, script, Training::default()), SEED);
    assert_eq!((judged.verdict, judged.evidence), (Verdict::Confirmed, Some(Evidence::StandIn)));
    says(&judged, "steps apply 1.00, 2.00, 3.00, 4.00, 5.00 … times the correct gradient");
}

/// The order decides, and not the words: what clears at the end of the round is as good.
#[test]
fn another_right_order_is_not_reproduced() {
    let script = round(&[Call::Backward, Call::Step, Call::Clear]);
    let judged = judge(&step(Optimizer::Adam, 1e-3, script, Training::default()), SEED);
    assert_eq!(judged.verdict, Verdict::NotReproduced, "{:?}", judged.facts);
    let same = judge(&step(Optimizer::Adam, 1e-3, Training::default(), Training::default()), SEED);
    assert_eq!(same.verdict, Verdict::NotReproduced);
}

#[test]
fn what_is_cleared_before_the_step_teaches_nothing() {
    let script = round(&[Call::Backward, Call::Clear, Call::Step]);
    let judged = judge(&step(Optimizer::Sgd, 0.1, script, Training::default()), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    says(&judged, "no step updates anything");
}

#[test]
fn sums_of_several_batches_are_that_much_larger() {
    let every = |call| Act { call, every: 4 };
    let round = vec![Act::always(Call::Backward), every(Call::Step), every(Call::Clear)];
    let script = Training { round, ..Training::default() };
    let repaired = Training { divisor: 4, ..script.clone() };
    let judged = judge(&step(Optimizer::Adam, 1e-3, script, repaired), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    says(&judged, "4.00, 4.00, 4.00 … times");
    // Adam divides by the size of the gradient.
    assert!(!judged.facts.iter().any(|fact| fact.contains("training ends")), "{:?}", judged.facts);
}

#[test]
fn clipping_needs_gradients() {
    let right = round(&[Call::Clear, Call::Backward, Call::Clip, Call::Step]);
    let behind = round(&[Call::Clear, Call::Backward, Call::Step, Call::Clip]);
    let judged = judge(&step(Optimizer::Sgd, 0.1, behind, right), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    says(&judged, "2.00, 2.00");
}

#[test]
fn scaled_gradients_are_divided_before_anything_else() {
    use Call::{Clear, Clip, ScaledBackward, ScaledStep, Step, Unscale, Update};
    let right = round(&[Clear, ScaledBackward, Unscale, Clip, ScaledStep, Update]);
    let clipped = round(&[Clear, ScaledBackward, Clip, ScaledStep, Update]);
    assert_eq!(judge(&step(Optimizer::Sgd, 0.1, clipped, right), SEED).verdict, Verdict::Confirmed);
    let right = round(&[Clear, ScaledBackward, ScaledStep, Update]);
    let bypassed =
        judge(&step(Optimizer::Sgd, 0.1, round(&[Clear, ScaledBackward, Step]), right.clone()), SEED);
    assert_eq!(bypassed.verdict, Verdict::Confirmed);
    says(&bypassed, "gradients that have overflowed");
    says(&bypassed, "training ends with NaN or inf");
    let stale = judge(&step(Optimizer::Sgd, 0.1, round(&[Clear, ScaledBackward, ScaledStep]), right), SEED);
    assert_eq!(stale.verdict, Verdict::Confirmed);
    says(
        &stale,
        "the run crashes in iteration 2: `step()` has already been called since the last `update()`",
    );
}

#[test]
fn a_schedule_that_runs_ahead_skips_its_first_rate() {
    let ahead = round(&[Call::Schedule, Call::Clear, Call::Backward, Call::Step]);
    let right = round(&[Call::Clear, Call::Backward, Call::Step, Call::Schedule]);
    let judged = judge(&step(Optimizer::Sgd, 0.1, ahead, right), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed);
    says(&judged, "learning rates 0.0900");
}

#[test]
fn layers_that_nothing_reaches_cost_what_they_cost() {
    for layers in [[Layer::Cut; LAYERS], [Layer::Unowned; LAYERS]] {
        let script = Training { layers, ..Training::default() };
        let judged = judge(&step(Optimizer::Sgd, 0.1, script, Training::default()), SEED);
        assert_eq!(judged.verdict, Verdict::Confirmed, "{:?}", judged.facts);
        says(&judged, "no step updates anything");
    }
}

#[test]
fn two_softmaxes_are_slower_than_one() {
    let (script, repaired) =
        (head(Some(Function::Softmax), Function::CrossEntropy), head(None, Function::CrossEntropy));
    let plain = judge(&step(Optimizer::Sgd, 0.1, script.clone(), repaired.clone()), SEED);
    assert_eq!(plain.verdict, Verdict::Confirmed, "{:?}", plain.facts);
    // Adam divides by the size of the gradient, and a stand-in is no worse for it: but no answer can cost nothing.
    let judged = judge(&step(Optimizer::Adam, 1e-3, script, repaired.clone()), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed, "{:?}", judged.facts);
    says(&judged, "times smaller than it should be");
    says(&judged, "confident correct predictions have a loss of 0.74 instead of 0");
    let same = judge(&step(Optimizer::Adam, 1e-3, repaired.clone(), repaired), SEED);
    assert_eq!(same.verdict, Verdict::NotReproduced);
}

#[test]
fn an_evaluation_in_training_mode_is_worse() {
    let of = |evaluated_in_training| Training {
        modes: Modes { dropout: Some(Number::new(0.5)), evaluated_in_training, ..Modes::default() },
        ..Training::default()
    };
    let judged = judge(&step(Optimizer::Adam, 1e-2, of(true), of(false)), SEED);
    assert_eq!(judged.verdict, Verdict::Confirmed, "{:?}", judged.facts);
}

#[test]
fn what_a_framework_refuses_is_no_proof() {
    let script = Training { elements: 10, ..Training::default() };
    let judged = judge(&step(Optimizer::Sgd, 0.1, script, Training::default()), SEED);
    assert_eq!(judged.verdict, Verdict::Measured);
    says(
        &judged,
        "the run crashes in iteration 1: grad can be implicitly created only for scalar outputs, not for 10 elements",
    );
}

#[test]
fn gradients_are_central_differences() {
    let of_dropout = Training {
        modes: Modes { dropout: Some(Number::new(0.5)), ..Modes::default() },
        ..Training::default()
    };
    let pairs = Training { loss: Loss::AllPairs, ..Training::default() };
    let trainings = [Training::default(), pairs, of_dropout, head(None, Function::BceWithLogits)];
    for training in trainings {
        let outputs = if matches!(training.loss, Loss::Classes(_)) { CLASSES } else { 1 };
        let task = Task::new(3, 0, outputs);
        let batch = task.batch(0, &training.loss);
        let model = Model::new(&task, &training);
        let mut weights = task.start.clone();
        let gradient = model.walk(&weights, &batch, true).gradient;
        for (layer, index) in [(0, 0), (0, 77), (1, 5), (1, 200), (2, 3)] {
            let at = weights[layer][index];
            let mut loss = |value: f64| {
                weights[layer][index] = value;
                model.walk(&weights, &batch, true).loss
            };
            let step = 1e-4;
            let slope = (loss(at + step) - loss(at - step)) / (2.0 * step);
            loss(at);
            let found = gradient[layer][index];
            // A head computes in single precision.
            assert!(
                (slope - found).abs() < 2e-3 * (1.0 + found.abs()),
                "{slope} {found} {:?}",
                training.loss
            );
        }
    }
}
