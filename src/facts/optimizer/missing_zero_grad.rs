//! Steps that apply the gradients of earlier iterations again.

use super::automaton::run;
use super::gradients::{GradientCycle, GradientMoment, Gradients, backwards_in};
use super::timeline::{Kind, OptimizerEvent};
use super::view::{Certainty, Parts, Whose};
use crate::facts::Script;
use crate::report::{Confidence, Place};
use crate::trace::{At, LoopId};

/// A step that applies gradients of earlier steps.
pub struct UnclearedStep {
    pub at: At,
    pub optimizer: String,
    pub backward: Place,
    /// All that add to the gradients in the same iteration.
    pub backwards: Vec<Place>,
    /// A clearing in the same loop that does not reach this optimizer's parameters.
    pub other_clear: Option<Place>,
}

impl Script<'_> {
    pub fn uncleared_steps(&self) -> Vec<UnclearedStep> {
        let mut found: Vec<UnclearedStep> = Vec::new();
        for timeline in self.timelines(Parts::Apart) {
            let moments = run::<GradientCycle>(&timeline);
            for (index, step) in moments.iter().enumerate().filter(|(_, moment)| is_own_step(&moment.event)) {
                let Some((backward, iteration)) = uncleared(step, index, &moments) else { continue };
                // One report for a step, however many of its parameters are not cleared.
                if found.iter().any(|other| other.at.place == step.event.place) {
                    continue;
                }
                let other_clear = moments.iter().find(|moment| moment.event.kind == Kind::ClearOther);
                found.push(UnclearedStep {
                    at: timeline.at(&step.event, confidence(backward)),
                    optimizer: self.optimizer_name(timeline.optimizer),
                    backward: backward.place,
                    backwards: backwards_in(iteration, &moments),
                    other_clear: other_clear.map(|moment| moment.event.place),
                });
            }
        }
        found
    }
}

/// The backward whose gradients a step applies on top of old ones, and their loop; `None` when it may be all
/// right.
fn uncleared<'m>(
    step: &GradientMoment,
    index: usize,
    moments: &'m [GradientMoment],
) -> Option<(&'m OptimizerEvent, LoopId)> {
    let events = || moments.iter().map(|moment| &*moment.event);
    let accumulates = |id: &LoopId| events().any(|event| event.is_backward() && event.is_in(*id));
    let innermost = *step.event.loops.iter().rev().find(|id| accumulates(id))?;
    let own = |event: &&OptimizerEvent| event.is_backward() && event.is_in(innermost);
    // The one just before the step says most; a step at the head of the loop has only those after it.
    let backward = events().take(index).filter(own).last().or_else(|| events().find(own))?;
    let cleared = events().any(|event| may_clear(event) && event.is_in(innermost));
    let surely = step.before.must_be(&[Gradients::Mixed]);
    // Where nothing clears, a backward that may be another optimizer's leaves the same to say.
    let never_cleared =
        !cleared && step.before.may_be(&[Gradients::Mixed]) && !step.before.may_be(&[Gradients::Foreign]);
    (surely || never_cleared).then_some((backward, innermost))
}

pub(super) fn is_own_step(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Step { whose: Whose::Own, .. })
}

/// Whether gradients may be cleared, or be of use otherwise.
fn may_clear(event: &OptimizerEvent) -> bool {
    match &event.kind {
        Kind::Clear { .. } | Kind::Made(Certainty::May) | Kind::Read(Certainty::Must) => true,
        Kind::Touched(touched) => touched.gradients,
        _ => false,
    }
}

/// How sure it is whose gradients a backward adds to.
pub(super) fn confidence(backward: &OptimizerEvent) -> Confidence {
    match backward.kind {
        Kind::Backward { certainty: Certainty::May, .. } => Confidence::Medium,
        _ => Confidence::High,
    }
}
