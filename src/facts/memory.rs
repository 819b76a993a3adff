//! What loops do with models: what forwards keep, whether they train, load or evaluate.

use super::Script;
use crate::report::Confidence;
use crate::trace::{At, Effect, EntryPoint, LoopId, Over, Sight, visits};
use crate::values::Mode;

impl Script<'_> {
    /// What a forward in the same round keeps for the way back, at least.
    pub fn kept_around(&self, place: &At) -> u64 {
        let kept = self.sightings().filter_map(|(at, sight)| match sight {
            Sight::Forward(forward) if at.loops == place.loops && forward.grad != Some(false) => {
                Some(forward.kept)
            }
            _ => None,
        });
        kept.max().unwrap_or(0)
    }

    /// Whether a backward runs in a loop.
    pub(crate) fn trains_in(&self, id: LoopId) -> bool {
        self.passes().any(|(at, sight)| matches!(sight, Sight::Backward { .. }) && at.loops.contains(&id))
    }

    /// Whether a loop goes over parts of what one optimizer step is made of: it has backward passes, and nothing in
    /// it steps.
    pub(crate) fn accumulates_in(&self, id: LoopId) -> bool {
        let may_step = |effect: &Effect| {
            matches!(
                effect,
                Effect::Step { .. } | Effect::NamedStep { .. } | Effect::UnseenStep | Effect::Touch { .. }
            )
        };
        let steps =
            |entry: &EntryPoint| visits(&entry.nodes, may_step).iter().any(|visit| visit.loops.contains(&id));
        self.trains_in(id) && !self.rehearsal.entries.iter().any(steps)
    }

    /// Whether a loop calls models on the batches of a loader.
    pub(crate) fn loads_in(&self, id: LoopId) -> bool {
        matches!(self.rehearsal.loop_info(id).over, Over::Loader(_)) && self.calls_models_in(id, |_| true)
    }

    /// Whether a loop calls models in evaluation mode. A model that goes along a sequence calls its parts, and
    /// what it collects is its output.
    pub(crate) fn evaluates_in(&self, id: LoopId) -> bool {
        !self.rehearsal.loop_info(id).of_model && self.calls_models_in(id, |mode| mode == Mode::Eval)
    }

    fn calls_models_in(&self, id: LoopId, fits: impl Fn(Mode) -> bool) -> bool {
        self.sightings().any(|(at, sight)| match sight {
            Sight::Forward(forward) => at.loops.contains(&id) && fits(forward.mode),
            _ => false,
        })
    }
}

/// A test that nothing calls runs a few small batches: what it wastes is worth a word to few.
pub(crate) fn doubted_in_tests(at: &At) -> At {
    let by_a_runner = at.seeded.is_some()
        && at.calls.first().is_some_and(|(_, name)| name.trim_start_matches('_').starts_with("test_"));
    At { confidence: if by_a_runner { Confidence::Low } else { at.confidence }, ..at.clone() }
}
