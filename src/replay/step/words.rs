//! What was measured of a training, in sentences.

use super::losses::Losses;
use super::optimizer::{kind, learning_rate};
use super::probe::Probe;
use super::{FEATURES, HIDDEN, Pair, ROUNDS, RUNS, outputs};
use crate::replay::outcome::Verdict;
use crate::report::replay::{LAYERS, Loss, Step};
use crate::report::units::ordinal;

/// What a loss that is this much higher is called worse for, if not by much.
const LITTLE: f64 = 1.02;

/// What happened first, then what it was tried on. How a training ends is left out where it says the opposite of the
/// verdict: what is wrong need not show in a small model.
pub(crate) fn facts(
    step: &Step,
    probe: &Probe,
    losses: Option<&Losses>,
    pairs: &[Pair],
    verdict: Verdict,
) -> Vec<String> {
    let mut facts = Vec::new();
    match losses {
        Some(losses) => facts.extend(losses.facts()),
        None if step.script.modes != step.repaired.modes && *probe == Probe::Same => {
            facts.push(
                "outputs are deterministic in evaluation mode and random in training mode, as they should be"
                    .to_owned(),
            );
        }
        None => facts.extend(probed(probe)),
    }
    if let Some((round, why)) = pairs.iter().find_map(|pair| pair.script.ended.as_ref()) {
        facts.push(format!("the run crashes in iteration {round}: {why}"));
    } else if step.script.carries == step.repaired.carries {
        let told = consequence(pairs).filter(|_| verdict != Verdict::NotReproduced);
        let is_worse = told.is_some();
        facts.extend(told);
        facts.extend(answers(step, pairs).filter(|_| is_worse));
    }
    facts.push(stand_in(step));
    facts
}

fn stand_in(step: &Step) -> String {
    let given = match (step.optimizer, step.learning_rate) {
        (None, _) => "the script's optimizer is unknown or not supported",
        (_, Some(_)) => "the script's learning rate",
        (_, None) => "its default learning rate",
    };
    let (name, rate, outputs) = (kind(step).name(), learning_rate(step), outputs(step));
    let drops = step
        .script
        .modes
        .dropout
        .map_or_else(String::new, |share| format!(" with dropout {}", share.value()));
    format!(
        "an {FEATURES}-{HIDDEN}-{HIDDEN}-{outputs} MLP{drops}, {ROUNDS} iterations of {name} with learning rate {rate} ({given}), \
         {RUNS} runs"
    )
}

fn probed(probe: &Probe) -> Option<String> {
    let listed = |numbers: &[f64]| numbers.iter().map(|one| short(*one)).collect::<Vec<_>>().join(", ");
    Some(match probe {
        Probe::Same => "with frozen weights, each step applies the correct gradient".to_owned(),
        // Said of the whole run.
        Probe::Ends(..) => return None,
        Probe::NoStep => "no optimizer step is taken".to_owned(),
        Probe::Layers(layers) if layers.len() == LAYERS => {
            "no step updates anything: all layers keep their weights".to_owned()
        }
        Probe::Layers(layers) => {
            let names: Vec<&str> =
                layers.iter().map(|layer| ["first", "second", "last"][(*layer).min(2)]).collect();
            format!("the {} of three layers never gets an update", names.join(" and the "))
        }
        Probe::Sizes(ratios) if ratios.iter().all(|ratio| !ratio.is_finite()) => {
            "with frozen weights, steps apply gradients that have overflowed".to_owned()
        }
        Probe::Sizes(ratios) => format!(
            "with frozen weights and the same batches, steps apply {} … times the correct gradient",
            listed(ratios)
        ),
        Probe::Others => "with frozen weights and the same batches, steps apply wrong gradients".to_owned(),
        Probe::Rates(script, repaired) => {
            format!(
                "the first steps use learning rates {} …, but should use {} …",
                listed(script),
                listed(repaired)
            )
        }
        Probe::Forgets => "each step uses a new optimizer without any state".to_owned(),
        Probe::Noisy(one, other) => {
            let (one, other) = (short(*one), short(*other));
            format!("with frozen weights, two evaluations of the same samples return {one} and {other}")
        }
        Probe::Undropped => {
            "in training, the same samples give identical outputs twice: dropout is not active".to_owned()
        }
        Probe::Held(graphs) => {
            format!(
                "after {graphs} iterations, {graphs} computation graphs are alive, one more per iteration"
            )
        }
        Probe::Deeper(graphs) => {
            let round = ordinal(*graphs);
            format!(
                "the {round} backward pass goes through {graphs} computation graphs, one more per iteration"
            )
        }
    })
}

/// How the training ends, if it ends worse.
pub(crate) fn consequence(pairs: &[Pair]) -> Option<String> {
    let mut sorted: Vec<&Pair> = pairs.iter().collect();
    sorted.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    // Both losses are of the run in the middle, so that they are what the ratio is of.
    let middle = sorted[sorted.len() / 2];
    let (least, median) = (sorted[0].ratio(), middle.ratio());
    let (script, repaired) = (middle.script.loss, middle.repaired.loss);
    if !script.is_finite() {
        return Some(format!(
            "training ends with NaN or inf, but at a loss of {} with the repair",
            short(repaired)
        ));
    }
    let ends =
        format!("training ends at a loss of {}, and at {} with the repair", short(script), short(repaired));
    if least > super::WORSE {
        Some(format!("{ends}: {} times as high, at least {} times", short(median), short(least)))
    } else if median > LITTLE {
        Some(format!("{ends}, which is slightly worse"))
    } else {
        None
    }
}

fn answers(step: &Step, pairs: &[Pair]) -> Option<String> {
    matches!(step.script.loss, Loss::Classes(_)).then(|| {
        let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64 * 100.0;
        let (script, repaired) = (mean(|pair| pair.script.right), mean(|pair| pair.repaired.right));
        format!("accuracy is {script:.1} %, and {repaired:.1} % with the repair")
    })
}

pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        size if !size.is_finite() => if number.is_nan() { "NaN" } else { "infinitely many" }.to_owned(),
        0.0 => "0".to_owned(),
        size if !(1e-3..1e4).contains(&size) => format!("{number:.1e}"),
        size if size < 0.1 => format!("{number:.4}"),
        _ => format!("{number:.2}"),
    }
}
