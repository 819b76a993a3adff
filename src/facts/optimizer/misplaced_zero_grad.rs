//! Clearings that throw away gradients nobody used.

use super::automaton::run;
use super::gradients::{GradientCycle, GradientMoment, Gradients, backwards_in, is_unused};
use super::missing_zero_grad::{confidence, is_own_step};
use super::timeline::{Kind, OptimizerEvent};
use super::view::{Certainty, Parts};
use crate::facts::Script;
use crate::report::Place;
use crate::trace::At;

/// A clearing that throws away gradients nobody used.
pub struct ClearedEarly {
    pub at: At,
    pub kind: Misplaced,
    pub backward: Place,
    /// All that add to the gradients in the same iteration.
    pub backwards: Vec<Place>,
    pub step: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Between the backward and the step.
    BeforeStep,
    /// In every micro-batch of an accumulation.
    EveryMicroBatch,
}

impl Script<'_> {
    pub fn misplaced_clears(&self) -> Vec<ClearedEarly> {
        let mut found: Vec<ClearedEarly> = Vec::new();
        for timeline in self.timelines(Parts::Apart) {
            let moments = run::<GradientCycle>(&timeline);
            let Some(backward) = moments.iter().map(|moment| &moment.event).find(|event| event.is_backward())
            else {
                continue;
            };
            for (index, clear) in moments.iter().enumerate() {
                let Some((kind, step)) = lost(clear, index, &moments) else { continue };
                // Cleared twice is lost once.
                if found.iter().any(|other| other.step == step) {
                    continue;
                }
                let iteration = clear.event.loops.last();
                found.push(ClearedEarly {
                    at: timeline.at(&clear.event, confidence(backward)),
                    kind,
                    backward: backward.place,
                    backwards: iteration.map_or(Vec::new(), |own| backwards_in(*own, &moments)),
                    step,
                });
            }
        }
        found
    }
}

/// How a clearing loses gradients, and the step that goes without them.
fn lost(clear: &GradientMoment, index: usize, moments: &[GradientMoment]) -> Option<(Misplaced, Place)> {
    let innermost = *clear.event.loops.last()?;
    if !matches!(clear.event.kind, Kind::Clear { certainty: Certainty::Must, .. })
        || may_be_used(index, moments)
        || moments.iter().any(|other| is_touch(&other.event) && other.event.is_in(innermost))
    {
        return None;
    }
    let step = |moment: &&GradientMoment| is_own_step(&moment.event);
    if is_unused(clear.before) {
        let step = moments[index..].iter().find(step)?;
        let without = step.before.must_be(&[Gradients::Lost]);
        return without.then_some((Misplaced::BeforeStep, step.event.place));
    }
    let step = moments.iter().filter(|moment| moment.event.is_in(innermost)).find(step)?;
    // What is cleared around the loop of the micro-batches is only what was left over.
    let each = |event: &OptimizerEvent| event.is_backward() && event.loops.last() == Some(&innermost);
    if !moments.iter().any(|moment| each(&moment.event)) {
        return None;
    }
    let skips = clear.before.may_be(&[Gradients::Skipped])
        && !clear.before.may_be(&[Gradients::Foreign, Gradients::Fresh, Gradients::Mixed]);
    skips.then_some((Misplaced::EveryMicroBatch, step.event.place))
}

/// Whether anything looked at the gradients between the last backward and a clearing.
fn may_be_used(clear: usize, moments: &[GradientMoment]) -> bool {
    let since = moments[..clear].iter().rposition(|moment| moment.event.is_backward()).unwrap_or(0);
    let reads = |event: &OptimizerEvent| event.kind == Kind::Read(Certainty::Must) || is_touch(event);
    moments[since..clear].iter().any(|moment| reads(&moment.event))
}

/// A call that is not understood may use gradients anywhere in the loop.
fn is_touch(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Touched(touched) if touched.gradients)
}
