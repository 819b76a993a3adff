//! Graphs that outlive their iteration, and graphs that nobody walks.

use super::{Places, Script};
use crate::report::{Confidence, Place};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{Mode, Value};
use std::rc::Rc;

pub struct IdleGraph {
    pub at: At,
    pub module: Rc<str>,
    /// Forwards of the same pass that are left alone, too.
    pub others: Vec<Place>,
    /// Bytes that its layers keep, at least.
    pub kept: u64,
}

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
        self.sightings().any(|(at, sight)| matches!(sight, Sight::Backward { .. }) && at.loops.contains(&id))
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

    /// Whether the innermost loop around a place holds a backward of something that we do not see.
    fn may_walk_in(&self, forward: &At) -> bool {
        let Some(own) = forward.loops.last() else { return false };
        self.sightings().any(|(at, sight)| matches!(sight, Sight::BlindBackward) && at.loops.contains(own))
    }

    pub fn idle_graphs(&self) -> Vec<IdleGraph> {
        let mut found: Vec<IdleGraph> = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::Forward(forward) = sight else { continue };
            let records = forward.grad == Some(true) && forward.learns && is_live(&forward.output);
            let graph = &forward.graph;
            let unused = !self.rehearsal.consumed.contains(graph) && !self.rehearsal.returned.contains(graph);
            let idle = forward.mode == Mode::Eval && records && unused && !at.loops.is_empty();
            if !idle || self.may_walk_in(at) || !seen.insert(at.place) {
                continue;
            }
            // One context around them helps all forwards of a function.
            match found.iter_mut().find(|known| known.at.calls == at.calls && same_loop(&known.at, at)) {
                Some(known) => known.others.push(at.place),
                None => {
                    let module = forward.name.clone();
                    let at = doubted_in_tests(at);
                    found.push(IdleGraph { at, module, others: Vec::new(), kept: forward.kept });
                }
            }
        }
        found
    }
}

/// A test that nothing calls runs a few small batches: what it wastes is worth a word to few.
pub(crate) fn doubted_in_tests(at: &At) -> At {
    let by_a_runner = at.seeded.is_some()
        && at.calls.first().is_some_and(|(_, name)| name.trim_start_matches('_').starts_with("test_"));
    At { confidence: if by_a_runner { Confidence::Low } else { at.confidence }, ..at.clone() }
}

/// Whether one of two places lies in all loops of the other.
fn same_loop(a: &At, b: &At) -> bool {
    let shared = a.loops.len().min(b.loops.len());
    a.loops[..shared] == b.loops[..shared]
}

fn is_live(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.graph.is_live(),
        Value::Tuple(items) => items.iter().any(is_live),
        _ => false,
    }
}
