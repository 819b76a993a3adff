//! Losses for a stand-in: as a script has them, read off what reaches them and what they expect, and as they should
//! be.

use super::taught::{TaughtLoss, taught_losses};
use crate::apis::{Expects, Mark};
use crate::facts::Script;
use crate::report::replay::{Domain, Form, Framework, Function, Loss, Program, Replay};

/// Keras keeps probabilities so far from zero and one (`keras.backend.epsilon()`).
const KERAS_EPSILON: f64 = 1e-7;

/// A loss over classes, as a program of what the last layer gives and of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What is applied before the loss.
    pub through: Option<Function>,
    pub loss: Function,
    pub framework: Framework,
    /// There is one class only.
    pub is_lone: bool,
}

impl Head {
    pub const fn new(through: Option<Function>, loss: Function) -> Head {
        Head { through, loss, framework: Framework::Torch, is_lone: false }
    }

    pub fn program(self) -> Loss {
        let mut program = Program { framework: self.framework, ..Program::default() };
        let form = if self.is_lone { Form::One } else { Form::Many };
        let given = program.input("output", form, Domain::REAL, true);
        let target = program.input("target", form, Domain::LABEL, false);
        let mut reached = self.through.map_or(given, |function| program.apply(function, &[given], None));
        // Keras takes the logarithm itself, of what it holds between zero and one.
        if self.loss == Function::Nll && self.framework == Framework::TensorFlow {
            for (function, bound) in
                [(Function::ClampMin, KERAS_EPSILON), (Function::ClampMax, 1.0 - KERAS_EPSILON)]
            {
                let bound = program.number(bound);
                reached = program.apply(function, &[reached, bound], None);
            }
            reached = program.apply(Function::Log, &[reached], None);
        }
        program.apply(self.loss, &[reached, target], None);
        Loss::Classes(Box::new(program))
    }
}

/// A loss as it is, and as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    pub script: Head,
    pub right: Head,
}

impl Heads {
    /// A softmax over one class, before whatever loss there is.
    pub fn lone_softmax() -> Heads {
        let head = |through, loss| Head { is_lone: true, ..Head::new(through, loss) };
        Heads {
            script: head(Some(Function::Softmax), Function::Bce),
            right: head(Some(Function::Sigmoid), Function::Bce),
        }
    }
}

impl TaughtLoss<'_> {
    /// What it gets, and what it should; `None` where either is not known.
    pub(crate) fn heads(&self) -> Option<Heads> {
        let is_choice_of_one = self.excludes() && self.is_lone();
        let through = match self.input.mark.map(|(mark, _)| mark) {
            Some(Mark::Softmax) => Some(Function::Softmax),
            Some(Mark::LogSoftmax) => Some(Function::LogSoftmax),
            Some(Mark::Sigmoid) => Some(Function::Sigmoid),
            Some(Mark::LogSigmoid) => Some(Function::LogSigmoid),
            Some(Mark::Raw) => None,
            // Of one class it makes no difference.
            None if is_choice_of_one => None,
            None => return None,
        };
        let framework = Framework::of(self.name.as_str());
        let (loss, right) = match self.expects {
            Expects::Logits => (Function::CrossEntropy, None),
            Expects::BinaryLogits => (Function::BceWithLogits, None),
            // Shares of a softmax are probabilities, too.
            Expects::BinaryProbabilities if through == Some(Function::Softmax) && !self.is_lone() => {
                (Function::Bce, through)
            }
            Expects::BinaryProbabilities => (Function::Bce, Some(Function::Sigmoid)),
            // The logarithm that Keras takes is written out; of others none is known that take shares.
            Expects::Probabilities if framework == Framework::TensorFlow => {
                (Function::Nll, Some(Function::Softmax))
            }
            Expects::LogProbabilities if framework == Framework::Torch => {
                (Function::Nll, Some(Function::LogSoftmax))
            }
            _ => return None,
        };
        let head = |through, loss| Head { through, loss, framework, is_lone: self.is_lone() };
        // Between classes of which there is one nothing is chosen: what is meant are two.
        let right = match is_choice_of_one {
            true => head(None, Function::BceWithLogits),
            false => head(right, loss),
        };
        Some(Heads { script: head(through, loss), right })
    }
}

/// A loss over classes as it is against what it should be.
pub fn replay_of_heads(script: &Script, heads: Heads) -> Replay {
    script.replay_of_loss(heads.script.program(), heads.right.program())
}

/// All losses over classes that teach something.
pub fn heads(script: &Script) -> Vec<Heads> {
    taught_losses(script).filter_map(|loss| loss.heads()).collect()
}
