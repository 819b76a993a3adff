//! What an optimizer owns, and which effects of a trace reach it: the ground that the protocols of
//! training stand on.

use super::Script;
use crate::interp::modules::descendants;
use crate::trace::{Effect, Entry, Event, Node};
use crate::values::{ObjId, ObjSet, OptimizerState, State};

/// What one optimizer owns, or a part of it.
pub struct Share<'s, 'a> {
    pub script: &'s Script<'a>,
    pub optimizer: ObjId,
    pub state: OptimizerState,
    /// The modules and parameters it owns, with what is inside them.
    pub owned: ObjSet,
    /// No other optimizer could be meant.
    alone: bool,
}

/// Whether the parts of an optimizer are looked at one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parts {
    Together,
    Apart,
}

/// How an effect reaches what an optimizer owns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    No,
    Maybe,
    Surely,
}

impl Share<'_, '_> {
    pub fn spread(&self, objects: &ObjSet) -> ObjSet {
        let heap = &self.script.rehearsal.heap;
        objects.iter().fold(objects.clone(), |all, object| all.union(&descendants(heap, object)))
    }

    pub fn overlap(&self, objects: &ObjSet) -> bool {
        let inside = self.spread(objects);
        inside.iter().any(|object| self.owned.contains(object))
            || self.state.owns.iter().any(|owner| inside.contains(owner))
    }

    pub fn reached(&self, leaves: &ObjSet, others: bool) -> Reach {
        if self.overlap(leaves) {
            Reach::Surely
        } else if others || self.state.others {
            if self.alone && (others || self.state.owns.is_empty()) { Reach::Surely } else { Reach::Maybe }
        } else {
            Reach::No
        }
    }

    /// Whether parameters that a call names are this optimizer's: some are, or no other could be meant.
    pub fn is_named_by(&self, targets: &ObjSet, whole: bool) -> bool {
        self.overlap(targets) || (self.alone && (self.state.others || !whole))
    }

    pub fn clears(&self, targets: &ObjSet, whole: bool) -> Reach {
        if targets.contains(self.optimizer) {
            return Reach::Surely;
        }
        if targets.is_empty() {
            return Reach::Maybe;
        }
        let inside = self.spread(targets);
        let covers =
            !self.state.owns.is_empty() && self.state.owns.iter().all(|owner| inside.contains(owner));
        if covers && !self.state.others {
            return if whole { Reach::Surely } else { Reach::Maybe };
        }
        if self.state.others || self.overlap(targets) { Reach::Maybe } else { Reach::No }
    }

    /// Whether a call that got hold of these may have touched the optimizer's gradients. Parameters that we
    /// did not see may be in any module.
    pub fn may_reach(&self, objects: &ObjSet) -> bool {
        let heap = &self.script.rehearsal.heap;
        let is_module = |object: ObjId| heap.get(object).module().is_some();
        objects.contains(self.optimizer)
            || self.overlap(objects)
            || (self.state.others && objects.iter().any(is_module))
    }

    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Whether another optimizer may be this one: of one of them not all is seen that it owns.
    pub fn may_be(&self, other: ObjId) -> bool {
        let other = self.script.rehearsal.heap.get(other).optimizer();
        other.is_some_and(|other| other.others || self.state.others)
    }

    /// Whether another optimizer applies the same gradients.
    pub fn is_of(&self, other: ObjId) -> bool {
        let State::Optimizer(other) = &self.script.rehearsal.heap.get(other).state else { return false };
        !self.state.owns.is_empty()
            && !self.state.others
            && self.state.owns.iter().all(|owner| other.owns.contains(owner))
    }
}

impl<'a> Script<'a> {
    /// What the optimizers own that step in an entry.
    pub fn shares<'s>(&'s self, entry: &Entry, parts: Parts) -> Vec<Share<'s, 'a>> {
        let mut stepping = ObjSet::default();
        optimizers(&entry.nodes, &mut stepping);
        self.shares_of(&stepping, parts)
    }

    /// What each of several optimizers owns.
    pub fn shares_of<'s>(&'s self, stepping: &ObjSet, parts: Parts) -> Vec<Share<'s, 'a>> {
        let mut all = Vec::new();
        for optimizer in stepping.iter() {
            let State::Optimizer(state) = &self.rehearsal.heap.get(optimizer).state else { continue };
            for owns in owned_parts(state, parts) {
                let state = OptimizerState { owns, ..state.clone() };
                let mut share =
                    Share { script: self, optimizer, owned: ObjSet::default(), state, alone: false };
                // Another that owns the same takes part in all that is done to this one.
                share.alone = stepping.iter().all(|other| other == optimizer || share.is_of(other));
                share.owned = share.spread(&share.state.owns);
                all.push(share);
            }
        }
        all
    }
}

/// What an optimizer owns, part by part: each may be cleared by itself.
fn owned_parts(state: &OptimizerState, parts: Parts) -> Vec<ObjSet> {
    /// Of more parts only the whole is followed.
    const MOST: usize = 8;
    if parts == Parts::Together || state.others || !(2..=MOST).contains(&state.owns.len()) {
        return vec![state.owns.clone()];
    }
    state.owns.iter().map(ObjSet::one).collect()
}

/// The optimizers that step in a sequence.
pub(crate) fn optimizers(nodes: &[Node], found: &mut ObjSet) {
    for node in nodes {
        match node {
            Node::Event(Event { effect: Effect::Step { optimizer, .. }, .. }) => found.insert(*optimizer),
            Node::Loop { body, .. } | Node::Call { body, .. } => optimizers(body, found),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| optimizers(arm, found)),
            _ => {}
        }
    }
}
