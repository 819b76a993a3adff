//! Backward passes whose gradients no optimizer applies. Knows nothing of what gradients hold; `gradients` does.

use super::automaton::reached;
use super::timeline::{Kind, OptimizerEvent, Timeline, Touched, each_effect};
use super::view::{Certainty, Parts, whose};
use crate::facts::Script;
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Entry, LoopId, Over};
use crate::values::{ObjId, ObjSet};
use std::rc::Rc;

/// A backward of a training loop whose gradients no step applies.
pub struct Unapplied {
    pub at: At,
    pub optimizer: String,
    /// Where the optimizer was made.
    pub made: Place,
    pub backward: Place,
    pub why: Unstepped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstepped {
    /// The optimizer is there and nobody calls its step.
    Never,
    /// The step is named, without the parentheses that would call it.
    Named,
    /// The step lies behind the loop that clears the gradients of each iteration.
    Behind { step: Place, clear: Place },
}

type Events = [Rc<OptimizerEvent>];

impl Script<'_> {
    pub fn unapplied_gradients(&self) -> Vec<Unapplied> {
        let mut found: Vec<Unapplied> = Vec::new();
        if self.rehearsal.out_of_fuel {
            return found;
        }
        let heap = &self.rehearsal.heap;
        let stepped = self.stepping_optimizers();
        for (index, entry) in self.rehearsal.entries.iter().enumerate() {
            let mut used = self.in_use(entry);
            if stepped.is_empty() && entry.function.is_none() {
                used = used.union(&self.optimizers_of_script());
            }
            for timeline in self.timelines_in(index, &used, Parts::Together) {
                let applies = |other| whose(heap, timeline.optimizer, &timeline.state, other).is_some();
                let mut events = reached(&timeline);
                events.retain(|event| says_of_steps(event));
                let one = if stepped.iter().any(applies) {
                    self.applied_after(&timeline, &events)
                } else {
                    self.never_applied(&timeline, &events)
                };
                let known = |one: &Unapplied| found.iter().any(|other| other.backward == one.backward);
                found.extend(one.filter(|one| !known(one)));
            }
        }
        found
    }

    /// The optimizers that an entry clears or names, but for those that a framework steps by itself. One that
    /// is not even cleared may be there for its settings only.
    fn in_use(&self, entry: &Entry) -> ObjSet {
        let heap = &self.rehearsal.heap;
        let mut used = ObjSet::default();
        each_effect(&entry.nodes, &mut |_, effect| match effect {
            Effect::Clear { targets, .. } => targets.iter().for_each(|object| used.insert(object)),
            Effect::NamedStep { optimizer } => used.insert(*optimizer),
            _ => {}
        });
        let own = |object: &ObjId| heap.get(*object).optimizer().is_some_and(|state| !state.managed);
        used.iter().filter(own).collect()
    }

    /// All optimizers that a script makes for parameters that we see.
    fn optimizers_of_script(&self) -> ObjSet {
        let heap = &self.rehearsal.heap;
        let made = |object: &ObjId| {
            let own = heap.get(*object).optimizer().is_some_and(|state| !state.managed && !state.others);
            own && heap.get(*object).confidence == Confidence::High
        };
        (0..heap.len() as u32).map(ObjId).filter(made).collect()
    }

    /// Whether anything updates parameters, or may.
    pub(crate) fn steps_anywhere(&self) -> bool {
        self.steps_unseen() || !self.stepping_optimizers().is_empty()
    }

    /// Whether something steps that is not known.
    fn steps_unseen(&self) -> bool {
        let mut unseen = false;
        for entry in &self.rehearsal.entries {
            each_effect(&entry.nodes, &mut |_, effect| unseen |= matches!(effect, Effect::UnseenStep));
        }
        unseen
    }

    fn never_applied(&self, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
        if self.may_step_elsewhere(timeline) || events.iter().any(|event| may_be_used(event)) {
            return None;
        }
        let named = events.iter().find(|event| event.kind == Kind::NamedStep);
        let cleared = |id: &LoopId| events.iter().any(|event| is_cleared(event) && event.is_in(*id));
        // Where no optimizer steps at all, it may be the clearing that is forgotten, too.
        let trains =
            |id: &LoopId| matches!(self.rehearsal.loop_info(*id).over, Over::Loader(_) | Over::Counter);
        let nothing_steps = self.stepping_optimizers().is_empty() && timeline.seeded.is_none();
        let forgotten = |event: &OptimizerEvent| nothing_steps && event.loops.iter().any(trains);
        let backward = events.iter().find(|event| {
            must_accumulate(event) && (named.is_some() || event.loops.iter().any(cleared) || forgotten(event))
        })?;
        backward.loops.first()?;
        let primary = named.unwrap_or(backward);
        let why = if named.is_some() { Unstepped::Named } else { Unstepped::Never };
        Some(self.unapplied(timeline, primary, backward, why))
    }

    /// Whether an optimizer of which we do not know what it owns may be this one.
    fn may_step_elsewhere(&self, timeline: &Timeline) -> bool {
        let heap = &self.rehearsal.heap;
        let unclear = |object: ObjId| heap.get(object).optimizer().is_some_and(|state| state.others);
        let stepping = self.stepping_optimizers();
        self.steps_unseen() || stepping.iter().any(|object| unclear(object) || timeline.state.others)
    }

    /// Each iteration clears what the one before has left, and the step comes after all of them.
    fn applied_after(&self, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
        let backward = events.iter().find(|event| must_accumulate(event))?;
        let innermost = *backward.loops.last()?;
        let within = || events.iter().filter(|event| event.is_in(innermost));
        let clear = within().find(|event| is_cleared(event))?;
        let used = |event: &OptimizerEvent| !event.is_backward() && !is_cleared(event);
        if clear.loops != backward.loops
            || within().any(|event| used(event))
            || events.iter().any(|event| may_be_used(event))
        {
            return None;
        }
        let around = backward.loops.iter().rev().nth(1);
        let is_step = |event: &OptimizerEvent| matches!(event.kind, Kind::Step { .. });
        let step =
            events.iter().find(|event| is_step(event) && around.is_none_or(|around| event.is_in(*around)))?;
        let position = |place: Place| events.iter().position(|event| event.place == place);
        let why = Unstepped::Behind { step: step.place, clear: clear.place };
        let after = position(backward.place) < position(step.place);
        after.then(|| self.unapplied(timeline, backward, backward, why))
    }

    fn unapplied(
        &self,
        timeline: &Timeline,
        primary: &OptimizerEvent,
        backward: &OptimizerEvent,
        why: Unstepped,
    ) -> Unapplied {
        let optimizer = self.rehearsal.heap.get(timeline.optimizer);
        Unapplied {
            at: timeline.at(primary, backward.confidence.min(optimizer.confidence)),
            optimizer: self.optimizer_name(timeline.optimizer),
            made: optimizer.site,
            backward: backward.place,
            why,
        }
    }
}

/// Whether an event says whether gradients are applied. Those that are cleared through a module are the user's
/// business.
fn says_of_steps(event: &OptimizerEvent) -> bool {
    event.is_backward()
        || is_cleared(event)
        || may_be_used(event)
        || matches!(event.kind, Kind::Step { .. } | Kind::NamedStep)
}

fn must_accumulate(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. })
}

fn is_cleared(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Clear { own: true, .. })
}

/// Looked at, gradients may be of any use: an attack, a penalty, an update by hand. And something that we do not
/// see may apply them.
fn may_be_used(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Read(_) | Kind::UnseenStep | Kind::Touched(Touched { optimizer: true, .. }))
}
