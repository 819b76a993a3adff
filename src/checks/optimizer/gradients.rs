//! The states of an optimizer's gradients: cleared, accumulated, applied. What the rules on `zero_grad` ask.

use crate::facts::timeline::{
    Automaton, Certainty, Kind, LoopHead, Moment, OptimizerEvent, Powerset, states,
};
use crate::report::{Confidence, Place};
use crate::trace::{LoopId, When};

states! {
    /// What the gradients of one optimizer are.
    pub(super) enum Gradients {
        Clean,
        /// Accumulated since the last clearing.
        Fresh,
        /// Applied, and still in place.
        Applied,
        /// New ones on top of applied ones.
        Mixed,
        /// Somebody we cannot see may have done anything.
        Foreign,
        /// Cleared before anything used them.
        Lost,
        /// Accumulated, and past the branch that steps every so often.
        Skipped,
    }
}
use Gradients::*;

/// Two iterations of accumulating, applying and clearing gradients.
pub(super) struct GradientCycle;

pub(super) type GradientMoment = Moment<Powerset<Gradients>>;

impl Automaton for GradientCycle {
    type State = Powerset<Gradients>;

    const LOOP_HEAD: LoopHead = LoopHead::BackEdge;

    fn start() -> Powerset<Gradients> {
        Powerset::one(Clean)
    }

    fn next(before: Powerset<Gradients>, event: &OptimizerEvent) -> Powerset<Gradients> {
        match &event.kind {
            Kind::Backward { certainty: Certainty::Must, .. } => before.map(accumulated),
            Kind::Backward { certainty: Certainty::May, .. } => before.union(before.map(accumulated)),
            Kind::Step { .. } => before.map(applied),
            // Parameters that are cleared one by one, in a loop of their own, are lost once.
            Kind::Clear { certainty: Certainty::Must, .. } if is_unused(before) => Powerset::one(Lost),
            Kind::Clear { certainty: Certainty::Must, .. } | Kind::Made(Certainty::Must) => {
                Powerset::one(Clean)
            }
            Kind::Clear { certainty: Certainty::May, .. } | Kind::Made(Certainty::May) => before.with(Clean),
            Kind::Touched(touched) if touched.clears => Powerset::one(Foreign),
            _ => before,
        }
    }

    fn join(a: &Powerset<Gradients>, b: &Powerset<Gradients>) -> Powerset<Gradients> {
        a.union(*b)
    }

    /// Where one arm applies every so often, the other passes its gradients on. Where code that is not seen gets hold
    /// of the gradients every so often, as an evaluation of the model, the iterations between are what counts.
    fn arms(
        when: When,
        before: &Powerset<Gradients>,
        arms: Vec<Powerset<Gradients>>,
    ) -> Vec<Powerset<Gradients>> {
        let arms = if matches!(when, When::Phase | When::Counter) { between(arms) } else { arms };
        let steps = when == When::Phase
            && before.may_be(&[Fresh])
            && arms.iter().any(|arm| !arm.may_be(&[Fresh, Mixed]));
        let passed_on = |arm: Powerset<Gradients>| {
            if steps && arm.must_be(&[Fresh]) { Powerset::one(Skipped) } else { arm }
        };
        arms.into_iter().map(passed_on).collect()
    }
}

/// The arms in which all is seen, if there are any, in place of those that may have done anything.
fn between(arms: Vec<Powerset<Gradients>>) -> Vec<Powerset<Gradients>> {
    let seen = arms.iter().filter(|arm| !arm.may_be(&[Foreign]));
    let Some(seen) = seen.copied().reduce(Powerset::union) else { return arms };
    arms.into_iter().map(|arm| if arm.must_be(&[Foreign]) { seen } else { arm }).collect()
}

fn accumulated(before: Gradients) -> Gradients {
    match before {
        Clean | Lost | Skipped => Fresh,
        Applied => Mixed,
        Fresh | Mixed | Foreign => before,
    }
}

/// A step: what was cleared stays clear, for nothing is applied.
fn applied(before: Gradients) -> Gradients {
    match before {
        Clean | Lost => Clean,
        Fresh | Applied | Mixed | Foreign | Skipped => Applied,
    }
}

/// Accumulated on every path since the last step, if there was one.
pub(super) fn is_unused(states: Powerset<Gradients>) -> bool {
    states.must_be(&[Fresh, Lost, Mixed])
}

/// Where gradients are added in an iteration.
pub(super) fn backwards_in(iteration: LoopId, moments: &[GradientMoment]) -> Vec<Place> {
    let backwards = moments.iter().map(|moment| &moment.event);
    backwards.filter(|event| event.is_backward() && event.is_in(iteration)).map(|event| event.place).collect()
}

/// How sure it is whose gradients a backward adds to.
pub(super) fn confidence(backward: &OptimizerEvent) -> Confidence {
    match backward.kind {
        Kind::Backward { certainty: Certainty::May, .. } => Confidence::Medium,
        _ => Confidence::High,
    }
}
