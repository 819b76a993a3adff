//! Whether a loss gets what it expects: logits, probabilities, or their logarithms.

use super::heads::Heads;
use crate::apis::{Expects, LossSpec, Mark};
use crate::facts::{Places, Script};
use crate::report::{Confidence, Diagnostic, Place};
use crate::trace::{At, CompiledLoss, Effect, Loss, Sight, Visit, visits};
use crate::values::{Graph, Int, ObjSet, Tensor, Value};
use rustc_hash::FxHashMap;
use std::cell::LazyCell;
use ustr::Ustr;

/// A loss that teaches a model something.
pub(super) struct TaughtLoss<'a> {
    /// Where it is called; of a model that a framework trains, where it is given.
    pub at: At,
    pub name: Ustr,
    pub spec: LossSpec,
    pub expects: Expects,
    pub input: &'a Tensor,
    /// `None` where a framework trains.
    pub target: Option<&'a Value>,
    pub compiled: bool,
    /// Nothing is recorded: it only says how good the model is.
    pub measured: bool,
    /// Where it was created, of one that is chosen of several.
    pub chosen: Option<Place>,
}

/// A loss that gets something else than it expects.
pub(super) struct MisfitLoss {
    pub at: At,
    pub misfit: Misfit,
    /// What made its input what it is.
    pub made: Place,
    /// The parameter of the loss that decides what it expects.
    pub flag: Option<Ustr>,
    pub heads: Option<Heads>,
    /// It teaches nothing, and is only reported.
    pub measured: bool,
    /// Where it was created, of one that is chosen of several.
    pub chosen: Option<Place>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The loss applies a sigmoid to the result of one.
    TwoSigmoids,
    /// The loss applies a sigmoid to the result of a softmax.
    SigmoidOfSoftmax,
    /// The loss applies a softmax to the result of a sigmoid.
    SoftmaxOfSigmoid,
    /// The loss takes a distribution over classes, and gets a probability of each for itself.
    SigmoidOfClasses,
    /// The loss takes a probability of each class for itself, and gets a distribution over them.
    SoftmaxOfBinary,
    /// The loss takes probabilities, and gets any numbers.
    NoProbabilities,
    /// The loss takes logarithms of probabilities, and gets probabilities.
    NoLogarithm,
    /// The loss takes logarithms of probabilities, and gets any numbers.
    NoLogProbabilities,
}

/// Losses of values that a model makes, with a graph behind them.
pub(super) fn taught_losses<'a>(script: &Script<'a>) -> impl Iterator<Item = TaughtLoss<'a>> {
    losses(script).filter(|loss| !loss.measured)
}

/// The same, and losses of what it makes in an evaluation.
fn losses<'a>(script: &Script<'a>) -> impl Iterator<Item = TaughtLoss<'a>> {
    let several = several_losses(script);
    let only_parts = LazyCell::new(|| only_parts(script));
    let single = move |(at, sight): (&'a At, &'a Sight)| match sight {
        Sight::Fit { losses, .. } => losses.iter().map(|(loss, _)| (at, Taught::Compiled(loss))).collect(),
        // What is compiled for form is trained as a part of another model.
        Sight::Compiled(loss) if only_parts.contains(loss.model) => Vec::new(),
        Sight::Compiled(loss) => vec![(at, Taught::Compiled(loss))],
        Sight::Loss(loss) => vec![(at, Taught::Called(loss))],
        _ => Vec::new(),
    };
    script.sightings().flat_map(single).filter_map(move |(at, taught)| {
        let one_of_several = several.contains_key(&at.place);
        let (name, spec, expects, output, target, place) = match taught {
            Taught::Called(loss) => {
                (loss.loss, loss.spec, loss.expects, &loss.input, Some(&loss.target), at.place)
            }
            Taught::Compiled(loss) => (loss.loss, loss.spec, loss.expects, &loss.output, None, loss.place),
        };
        let input: &Tensor = output.as_tensor()?;
        // What surely went through a softmax fits no choice of a loss that takes logits, and what is the same
        // whichever loss is chosen was not made for one of them.
        let misfits = expects == Expects::Logits && matches!(input.mark, Some((Mark::Softmax, _)));
        if several.get(&at.place).is_some_and(|inputs| !misfits && !inputs.are_one) {
            return None;
        }
        let compiled = target.is_none();
        let doubt = if one_of_several { Confidence::Medium } else { Confidence::High };
        let at = At { place, confidence: at.confidence.min(input.sure_of_mark()).min(doubt), ..at.clone() };
        let measured = !compiled && matches!(input.graph, Graph::None);
        let chosen = match taught {
            Taught::Called(loss) if one_of_several => loss.made,
            _ => None,
        };
        let is_made = !measured || input.learned;
        is_made.then_some(TaughtLoss { at, name, spec, expects, input, target, compiled, measured, chosen })
    })
}

/// What a framework trains as a part of other models, and never by itself.
fn only_parts(script: &Script) -> ObjSet {
    let fits = |effect: &Effect| matches!(effect, Effect::Fitted { .. });
    let visits = script.rehearsal.entries.iter().flat_map(|entry| visits(&entry.nodes, fits));
    let model = |visit: Visit<'_>| match visit.event.effect {
        Effect::Fitted { model, .. } => Some(model),
        _ => None,
    };
    let fitted: ObjSet = visits.filter_map(model).collect();
    let heap = &script.rehearsal.heap;
    let parts = fitted.iter().fold(ObjSet::default(), |all, model| all.union(&heap.descendants(model)));
    parts.iter().filter(|part| !fitted.contains(*part)).collect()
}

/// A loss as the script calls it, or as it was given to who trains.
enum Taught<'a> {
    Called(&'a Loss),
    Compiled(&'a CompiledLoss),
}

/// What the losses get of which one is called at a place.
pub(super) struct ChosenLosses {
    /// It is the same thing for all of them, made at one place, and no test on the way there tells which it is.
    are_one: bool,
}

/// Places where one of several losses is called: the choice may fit what they are called on.
pub(super) fn several_losses(script: &Script) -> FxHashMap<Place, ChosenLosses> {
    let mut known: FxHashMap<Place, (Ustr, Option<(Mark, Place)>)> = FxHashMap::default();
    let mut several = FxHashMap::default();
    let mut differ = Places::default();
    for (at, sight) in script.sightings() {
        let Sight::Loss(loss) = sight else { continue };
        let mark = loss.input.as_tensor().and_then(|input| input.mark);
        let first = *known.entry(at.place).or_insert((loss.loss, mark));
        if mark.is_none() || first.1 != mark || loss.in_arm {
            differ.insert(at.place);
        }
        if first.0 != loss.loss {
            several.insert(at.place, ChosenLosses { are_one: true });
        }
    }
    for (place, inputs) in &mut several {
        inputs.are_one = !differ.contains(place);
    }
    several
}

/// Losses on two classes that get a sigmoid too many or none.
pub(super) fn sigmoid_misfits(script: &Script) -> Vec<MisfitLoss> {
    misfits(taught_losses(script), |loss| {
        let mark = loss.input.mark?.0;
        match (loss.expects, mark) {
            (Expects::BinaryLogits, Mark::Sigmoid) => Some(Misfit::TwoSigmoids),
            (Expects::BinaryLogits, Mark::Softmax) if !loss.is_lone() => Some(Misfit::SigmoidOfSoftmax),
            (Expects::Logits, Mark::Sigmoid) => Some(Misfit::SoftmaxOfSigmoid),
            (Expects::Probabilities, Mark::Sigmoid) if loss.spec.labels.is_some() && loss.is_several() => {
                Some(Misfit::SigmoidOfClasses)
            }
            (Expects::BinaryProbabilities, Mark::Softmax) => {
                loss.is_of_many().then_some(Misfit::SoftmaxOfBinary)
            }
            (Expects::BinaryProbabilities, _) if loss.spec.expects.flag().is_none() => {
                loss.leaves_unit().then_some(Misfit::NoProbabilities)
            }
            _ => None,
        }
    })
}

/// Losses that take probabilities unless a flag says otherwise, and get any numbers.
pub(super) fn unflagged_logits(script: &Script) -> Vec<MisfitLoss> {
    misfits(taught_losses(script), |loss| {
        loss.spec.expects.flag()?;
        let takes = matches!(loss.expects, Expects::Probabilities | Expects::BinaryProbabilities);
        let lone = loss.expects == Expects::Probabilities && loss.is_lone();
        (takes && !lone && loss.leaves_unit()).then_some(Misfit::NoProbabilities)
    })
}

/// Likelihoods of something that is no logarithm of probabilities; also those that an evaluation reports.
pub(super) fn unlogged_likelihoods(script: &Script) -> Vec<MisfitLoss> {
    misfits(losses(script), |loss| match (loss.expects, loss.input.mark?.0) {
        (Expects::LogProbabilities, Mark::Softmax | Mark::Sigmoid) => Some(Misfit::NoLogarithm),
        (Expects::LogProbabilities, Mark::Raw) => Some(Misfit::NoLogProbabilities),
        _ => None,
    })
}

fn misfits<'a>(
    losses: impl Iterator<Item = TaughtLoss<'a>>,
    judge: impl Fn(&TaughtLoss) -> Option<Misfit>,
) -> Vec<MisfitLoss> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    for loss in losses {
        let (Some(misfit), Some((_, made))) = (judge(&loss), loss.input.mark) else { continue };
        if seen.insert(loss.at.place) {
            let (heads, flag) = (loss.heads(), loss.spec.expects.flag());
            let (measured, chosen) = (loss.measured, loss.chosen);
            found.push(MisfitLoss { at: loss.at, misfit, made, flag, heads, measured, chosen });
        }
    }
    found
}

/// Says which of several losses it is that a finding is about.
pub(super) fn with_choice(finding: Diagnostic, chosen: Option<Place>) -> Diagnostic {
    match chosen {
        Some(place) => finding.because(place, "with this loss, one of several that the script chooses from"),
        None => finding,
    }
}

impl TaughtLoss<'_> {
    /// The input can be outside of `[0, 1]`, because nothing has made it probabilities.
    pub(super) fn leaves_unit(&self) -> bool {
        match self.input.mark {
            Some((Mark::Raw, _)) => self.input.range.is_none_or(|range| range.low < 0.0 || range.high > 1.0),
            Some((Mark::LogSoftmax | Mark::LogSigmoid, _)) => true,
            _ => false,
        }
    }

    /// It is a loss over classes of which one is right.
    pub(super) fn excludes(&self) -> bool {
        match self.expects {
            Expects::Logits => true,
            Expects::Probabilities => self.spec.expects.flag().is_some(),
            _ => false,
        }
    }

    /// There is one class only.
    pub(super) fn is_lone(&self) -> bool {
        self.classes() == Some(Int::Known(1))
    }

    /// There is more than one class.
    fn is_several(&self) -> bool {
        self.classes().and_then(|classes| classes.known()).is_some_and(|classes| classes > 1)
    }

    /// There are more classes than two, in the last dimension: of two, a softmax says of each what a sigmoid would.
    fn is_of_many(&self) -> bool {
        let is_last = self.compiled || self.input.rank() == Some(2);
        is_last && self.classes().and_then(|classes| classes.known()).is_some_and(|classes| classes > 2)
    }

    pub(super) fn classes(&self) -> Option<Int> {
        match (&self.input.shape, self.spec.classes) {
            (Some(shape), Some(axis)) if shape.len() > 1 => shape.get(usize::try_from(axis).ok()?).cloned(),
            (Some(shape), None) if shape.len() > 1 => shape.last().cloned(),
            (Some(_), _) => None,
            (None, _) => self.input.last.clone(),
        }
    }
}
