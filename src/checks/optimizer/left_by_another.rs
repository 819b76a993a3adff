//! Gradients that the loss of another optimizer leaves behind, cleared too early: right after the step, and before that
//! loss goes back through the same parameters. The generator of a GAN does so to its discriminator.

use super::gradients::{GradientCycle, GradientMoment, Gradients, backwards_in, confidence};
use crate::facts::Script;
use crate::facts::timeline::{Certainty, Kind, Parts, Timeline, run};
use crate::report::{Confidence, Place};
use crate::trace::{At, LoopId};

/// A step that applies the gradients of another optimizer's loss as well as those of its own.
pub(super) struct LeftGradients {
    pub at: At,
    pub optimizer: String,
    /// The other, which applies none of these.
    pub other: String,
    /// The first of the backward passes that the step is for.
    pub backward: Place,
    /// All of these.
    pub backwards: Vec<Place>,
    /// The clearing that comes too early.
    pub clear: Place,
    /// The backward of the other loss.
    pub left: Place,
}

/// A cycle that clears too early.
struct Early<'m> {
    step: &'m GradientMoment,
    clear: &'m GradientMoment,
    backward: &'m GradientMoment,
    left: &'m GradientMoment,
    iteration: LoopId,
}

pub(super) fn left_gradients(script: &Script) -> Vec<LeftGradients> {
    let timelines = script.timelines_by_options(Parts::Together);
    let mut found: Vec<LeftGradients> = Vec::new();
    for timeline in &timelines {
        let moments = run::<GradientCycle>(timeline);
        let Some(early) = cleared_early(&moments) else { continue };
        let is_other =
            |other: &&_| is_another(timeline, other) && steps_for(other, early.left, early.iteration);
        let Some(other) = timelines.iter().map(|other| &**other).find(is_other) else { continue };
        let place = early.step.event.place;
        if found.iter().any(|other| other.at.place == place) {
            continue;
        }
        let sure = if early.left.event.conditional { Confidence::Medium } else { Confidence::High };
        let sure = sure.min(confidence(&early.left.event)).min(early.left.event.confidence);
        let mut backwards = backwards_in(early.iteration, &moments);
        backwards.retain(|backward| *backward != early.left.event.place);
        found.push(LeftGradients {
            at: timeline.at(&early.step.event, sure),
            optimizer: script.optimizer_name(timeline.optimizer),
            other: script.optimizer_name(other.optimizer),
            backward: early.backward.event.place,
            backwards,
            clear: early.clear.event.place,
            left: early.left.event.place,
        });
    }
    found
}

/// The only step of an iteration, with a clearing behind it, and a backward behind that whose gradients the next
/// iteration finds at its own first backward.
fn cleared_early(moments: &[GradientMoment]) -> Option<Early<'_>> {
    let left = moments.iter().rposition(is_sure_backward)?;
    let clear = moments[..left].iter().rposition(|moment| matches!(moment.event.kind, Kind::Clear { .. }))?;
    let step = moments[..clear].iter().rposition(|moment| moment.event.is_own_step())?;
    let iteration = *moments[step].event.loops.last()?;
    let within = |moment: &&GradientMoment| moment.event.is_in(iteration);
    let is_together = [left, clear].iter().all(|at| within(&&moments[*at]));
    let steps = moments.iter().filter(within).filter(|moment| moment.event.is_own_step()).count();
    let backward = moments[..step].iter().filter(within).find(|moment| moment.event.is_backward())?;
    // Where a counter decides about the other loss, what matters is the iteration behind it.
    let finds = match moments[left].event.conditional {
        true => {
            backward.before.may_be(&[Gradients::Fresh])
                && backward.before.must_be(&[Gradients::Fresh, Gradients::Clean])
        }
        false => backward.before.must_be(&[Gradients::Fresh]),
    };
    let is_left = moments[left].before.must_be(&[Gradients::Clean]);
    let early =
        Early { step: &moments[step], clear: &moments[clear], backward, left: &moments[left], iteration };
    (is_together && steps == 1 && finds && is_left && is_sure_backward(backward)).then_some(early)
}

fn is_sure_backward(moment: &GradientMoment) -> bool {
    matches!(moment.event.kind, Kind::Backward { certainty: Certainty::Must, .. })
}

fn is_another(timeline: &Timeline, other: &Timeline) -> bool {
    other.entry == timeline.entry && other.optimizer != timeline.optimizer
}

/// Whether an optimizer steps behind a backward that is for it.
fn steps_for(other: &Timeline, left: &GradientMoment, iteration: LoopId) -> bool {
    let moments = run::<GradientCycle>(other);
    let its = |moment: &GradientMoment| moment.event.place == left.event.place && is_sure_backward(moment);
    let behind = moments.iter().skip_while(|moment| !its(moment));
    behind.skip(1).any(|moment| moment.event.is_own_step() && moment.event.is_in(iteration))
}
