//! What two losses are like, measured on answers and not on what is learned: what the best answers cost, and
//! whether the worst are taught anything.

use super::model::{Model, Task};
use super::session::norm;
use super::words::short;
use crate::report::replay::{Step, Training};

/// Outputs of a model that is right and sure.
const SURE: f64 = 30.0;
/// And of one that is surer than any.
const SURER: f64 = 1e4;
/// Outputs of one that is wrong, and as sure as single precision tells apart.
const WRONG: f64 = 8.0;
/// Costs nearer than this are the same.
const SAME_COST: f64 = 1e-3;
/// And gradients that differ by a smaller share.
const SAME_SHARE: f64 = 0.01;
/// A gradient that is a smaller share of what it should be is none.
const NOTHING: f64 = 1e-6;

/// One loss.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    /// What answers cost that are right, and sure where there is such a thing.
    right: f64,
    /// And surer still.
    surer: f64,
    /// The gradient of the model to begin with.
    first: f64,
    /// That of answers which are wrong and sure.
    wrong: f64,
}

/// The loss of the script, and the one that it should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Losses {
    script: Measured,
    repaired: Measured,
}

impl Losses {
    pub(crate) fn of(step: &Step, task: &Task) -> Losses {
        Losses { script: measured(&step.script, task), repaired: measured(&step.repaired, task) }
    }

    /// Whether something is wrong with the script's that is right with the other; `None` where they differ in another
    /// way, which may be good or bad.
    pub(crate) fn is_worse(&self) -> Option<bool> {
        let is_worse = self.is_no_number() || self.is_silent() || self.gives_up();
        if is_worse || self.floor().is_some() || self.is_unbounded() {
            return Some(true);
        }
        let alike = |one: f64, other: f64| (one - other).abs() <= SAME_SHARE * other.abs();
        let same =
            alike(self.script.first, self.repaired.first) && alike(self.script.wrong, self.repaired.wrong);
        same.then_some(false)
    }

    /// What right answers cost, and should.
    fn floor(&self) -> Option<(f64, f64)> {
        let (script, repaired) = (self.script.right, self.repaired.right);
        (script > repaired + SAME_COST).then_some((script, repaired))
    }

    fn is_unbounded(&self) -> bool {
        let falls = |one: &Measured| one.surer < one.right - 1.0;
        falls(&self.script) && !falls(&self.repaired)
    }

    /// What the model gives to begin with has a loss, or a gradient, that is none.
    fn is_no_number(&self) -> bool {
        !self.script.first.is_finite() && self.repaired.first.is_finite()
    }

    /// No gradient reaches the model.
    fn is_silent(&self) -> bool {
        self.script.first <= NOTHING * self.repaired.first && self.repaired.first > 0.0
    }

    fn gives_up(&self) -> bool {
        self.script.wrong <= NOTHING * self.repaired.wrong && self.repaired.wrong > 0.0
    }

    pub(crate) fn facts(&self) -> Vec<String> {
        let mut facts = vec![match self.repaired.first / self.script.first {
            _ if self.is_no_number() => "the gradient of the model's output is NaN".to_owned(),
            _ if self.is_silent() => "no gradient reaches the model".to_owned(),
            ratio if (ratio - 1.0).abs() <= SAME_SHARE => "the first gradient is correct".to_owned(),
            ratio if ratio >= 1.0 => {
                format!("the first gradient is {} times smaller than it should be", short(ratio))
            }
            ratio => format!("the first gradient is {} times larger than it should be", short(1.0 / ratio)),
        }];
        if self.is_unbounded() {
            facts.push("the loss has no lower bound".to_owned());
        } else if let Some((cost, should)) = self.floor() {
            facts.push(format!(
                "confident correct predictions have a loss of {} instead of {}",
                short(cost),
                short(should)
            ));
        }
        if self.gives_up() && !self.is_silent() {
            facts.push("confident wrong predictions get less than a millionth of their gradient".to_owned());
        }
        facts
    }
}

fn measured(training: &Training, task: &Task) -> Measured {
    let batch = task.batch(0, &training.loss);
    let model = Model::new(task, training);
    let cost = |by: f64| model.answered(&batch, by).0;
    Measured {
        right: cost(SURE),
        surer: cost(SURER),
        first: norm(&model.walk(&task.start, &batch, true).gradient),
        wrong: model.answered(&batch, -WRONG).1,
    }
}
