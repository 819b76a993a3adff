//! Gradient accumulation: whether anything makes a mean of the gradients that a step sums over several batches.

use super::automaton::reached;
use super::missing_zero_grad::is_own_step;
use super::timeline::{Kind, OptimizerEvent, Timeline};
use super::view::{Certainty, Parts, Whose};
use crate::facts::Script;
use crate::report::{Place, Severity};
use crate::trace::{At, Sight};
use std::rc::Rc;

/// A backward whose gradients are added to those of other batches at full size.
pub struct FullSize {
    pub at: At,
    pub severity: Severity,
    pub optimizer: String,
    pub step: Place,
    /// How many batches one step sums, where that is known.
    pub batches: Option<i64>,
    /// The steps of the optimizer grow with the gradients.
    pub is_proportional: bool,
}

impl Script<'_> {
    pub fn full_size_gradients(&self) -> Vec<FullSize> {
        let mut found: Vec<FullSize> = Vec::new();
        for timeline in self.timelines(Parts::Together) {
            if timeline.state.managed {
                continue;
            }
            let events = reached(&timeline);
            for step in events.iter().filter(|event| is_own_step(event)) {
                let one = self.full_size(&timeline, &events, step);
                found.extend(one.filter(|one| found.iter().all(|other| other.at.place != one.at.place)));
            }
        }
        found
    }

    /// The backward of each iteration, where a step is taken every so often and nothing makes a mean.
    fn full_size(
        &self,
        timeline: &Timeline,
        events: &[Rc<OptimizerEvent>],
        step: &OptimizerEvent,
    ) -> Option<FullSize> {
        let (pace, iteration) = (step.pace.as_ref()?, *step.loops.last()?);
        let within = || events.iter().filter(|event| event.is_in(iteration));
        let batches = pace.every.known();
        if batches.is_some_and(|every| every <= 1) || within().any(|event| ends_accumulation(event)) {
            return None;
        }
        let is_micro_batch = |event: &OptimizerEvent| {
            event.is_backward() && event.pace.is_none() && event.loops.last() == Some(&iteration)
        };
        let backward = within().find(|event| is_micro_batch(event))?;
        if !self.is_averaged_at(backward.place) {
            return None;
        }
        let is_proportional = timeline.state.proportional;
        // Clipped, or divided by their own size, the gradients lose the factor again; and where only the user
        // knows how many, it may be one.
        let clips = within().any(|event| event.kind == Kind::Clip(Certainty::Must));
        let shows = is_proportional && !clips && (batches.is_some() || !pace.given);
        Some(FullSize {
            at: timeline.at(backward, step.confidence),
            severity: if shows { Severity::Warning } else { Severity::Note },
            optimizer: self.optimizer_name(timeline.optimizer),
            step: step.place,
            batches,
            is_proportional,
        })
    }

    /// Whether the loss of a backward is the mean of its batch, on every path that leads there.
    fn is_averaged_at(&self, place: Place) -> bool {
        let averaged: Vec<bool> = self
            .sightings()
            .filter_map(|(at, sight)| match sight {
                Sight::Backward { loss, .. } if at.place == place => Some(loss.averaged),
                _ => None,
            })
            .collect();
        !averaged.is_empty() && averaged.into_iter().all(|averaged| averaged)
    }
}

/// Whether gradients do not accumulate past an event, or may be divided there.
fn ends_accumulation(event: &OptimizerEvent) -> bool {
    match &event.kind {
        // Stepped or cleared outside of the branch, nothing accumulates.
        Kind::Step { whose: Whose::Own, .. } | Kind::Clear { .. } => event.pace.is_none(),
        Kind::Backward { certainty: Certainty::May, .. }
        | Kind::Step { whose: Whose::Shared, .. }
        | Kind::UnseenStep
        | Kind::Read(_) => true,
        Kind::Touched(touched) => touched.gradients,
        _ => false,
    }
}
