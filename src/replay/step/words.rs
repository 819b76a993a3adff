//! What was measured of a training, in sentences.

use super::losses::Losses;
use super::optimizer::{kind, learning_rate};
use super::probe::Probe;
use super::{FEATURES, HIDDEN, Pair, ROUNDS, RUNS, outputs};
use crate::report::replay::{LAYERS, Loss, Step};
use crate::report::units::ordinal;

/// What a loss that is this much higher is called worse for, if not by much.
const LITTLE: f64 = 1.02;

pub(crate) fn facts(step: &Step, probe: &Probe, losses: Option<&Losses>, pairs: &[Pair]) -> Vec<String> {
    let mut facts = vec![stand_in(step)];
    match losses {
        Some(losses) => facts.extend(losses.facts()),
        None if step.script.modes != step.repaired.modes && *probe == Probe::Same => {
            facts.push(
                "the same samples give the same numbers where they should, and others where they should"
                    .to_owned(),
            );
        }
        None => facts.extend(probed(probe)),
    }
    if let Some((round, why)) = pairs.iter().find_map(|pair| pair.script.ended.as_ref()) {
        facts.push(format!("the run ends in round {round}: {why}"));
    } else if step.script.carries == step.repaired.carries {
        facts.push(consequence(pairs));
        facts.extend(answers(step, pairs));
    }
    facts
}

fn stand_in(step: &Step) -> String {
    let given = match (step.optimizer, step.learning_rate) {
        (None, _) => "the script's optimizer is not known, or none of ours",
        (_, Some(_)) => "the script's rate",
        (_, None) => "its default rate",
    };
    let (name, rate, outputs) = (kind(step).name(), learning_rate(step), outputs(step));
    let drops = step.script.modes.dropout.map_or_else(String::new, |share| {
        format!(" that drops {} of its hidden numbers in training", share.value())
    });
    format!(
        "an {FEATURES}-{HIDDEN}-{HIDDEN}-{outputs} perceptron{drops}, {ROUNDS} rounds with {name} at {rate} ({given}), \
         {RUNS} runs"
    )
}

fn probed(probe: &Probe) -> Option<String> {
    let listed = |numbers: &[f64]| numbers.iter().map(|one| short(*one)).collect::<Vec<_>>().join(", ");
    Some(match probe {
        Probe::Same => "with frozen weights, each step applies what it should".to_owned(),
        // Said of the whole run.
        Probe::Ends(..) => return None,
        Probe::NoStep => "no step is made".to_owned(),
        Probe::Layers(layers) if layers.len() == LAYERS => {
            "no step applies anything: all layers stay as they are".to_owned()
        }
        Probe::Layers(layers) => {
            let names: Vec<&str> =
                layers.iter().map(|layer| ["first", "second", "last"][(*layer).min(2)]).collect();
            format!("nothing ever reaches the {} of three layers", names.join(" and the "))
        }
        Probe::Sizes(ratios) if ratios.iter().all(|ratio| !ratio.is_finite()) => {
            "with frozen weights, steps apply gradients that have overflowed".to_owned()
        }
        Probe::Sizes(ratios) => format!(
            "with frozen weights and the same batches, steps apply {} … times the gradient that they should",
            listed(ratios)
        ),
        Probe::Others => {
            "with frozen weights and the same batches, steps apply other gradients than they should"
                .to_owned()
        }
        Probe::Rates(script, repaired) => {
            format!(
                "the first steps are made at rates of {} …, and should be at {} …",
                listed(script),
                listed(repaired)
            )
        }
        Probe::Forgets => "each step is made by an optimizer that remembers nothing".to_owned(),
        Probe::Noisy(one, other) => {
            let (one, other) = (short(*one), short(*other));
            format!("with frozen weights, two evaluations of the same samples come to {one} and to {other}")
        }
        Probe::Undropped => {
            "while it learns, the same samples give the same numbers twice: nothing is dropped".to_owned()
        }
        Probe::Held(graphs) => {
            format!("after {graphs} rounds the graphs of {graphs} rounds are alive, and one more each round")
        }
        Probe::Deeper(graphs) => {
            let round = ordinal(*graphs);
            format!(
                "the backward pass of the {round} round goes through {graphs} graphs, and one more each round"
            )
        }
    })
}

fn consequence(pairs: &[Pair]) -> String {
    let mut ratios: Vec<f64> = pairs.iter().map(Pair::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let (least, median) = (ratios[0], ratios[ratios.len() / 2]);
    let middle = |of: fn(&Pair) -> f64| {
        let mut losses: Vec<f64> = pairs.iter().map(of).collect();
        losses.sort_by(f64::total_cmp);
        losses[losses.len() / 2]
    };
    let (script, repaired) = (middle(|pair| pair.script.loss), middle(|pair| pair.repaired.loss));
    if !script.is_finite() {
        return format!(
            "it ends with numbers that are not finite, and at a loss of {} repaired",
            short(repaired)
        );
    }
    let ends = format!("it ends at a loss of {}, and at {} repaired", short(script), short(repaired));
    if least > super::WORSE {
        format!("{ends}: {} times as much, and {} times at least", short(median), short(least))
    } else if median > LITTLE {
        format!("{ends}, which is little worse")
    } else {
        format!("{ends}, which is no worse")
    }
}

fn answers(step: &Step, pairs: &[Pair]) -> Option<String> {
    matches!(step.script.loss, Loss::Classes(_)).then(|| {
        let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64 * 100.0;
        let (script, repaired) = (mean(|pair| pair.script.right), mean(|pair| pair.repaired.right));
        format!("{script:.1} % of its answers are right, and {repaired:.1} % repaired")
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
