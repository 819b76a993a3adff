//! What one optimizer owns, and which effects of a trace concern it. Whether an effect must reach it or only may
//! is decided here and nowhere else.

use crate::values::{Heap, Learned, ObjId, ObjSet, OptimizerState, State, Value};

/// Whether something happens to what an optimizer owns on every run, or on some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Certainty {
    May,
    Must,
}

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    Own,
    /// Another optimizer's, which applies the same gradients.
    Shared,
}

/// Whether the parts of an optimizer are followed one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    Together,
    Apart,
}

/// One optimizer with all that it owns, or with a part of it.
pub(super) struct OptimizerView<'h> {
    heap: &'h Heap,
    pub optimizer: ObjId,
    pub state: OptimizerState,
    /// The modules and parameters that it owns, with what is inside them.
    owned: ObjSet,
    /// No other optimizer could be meant.
    alone: bool,
    /// Optimizers that step and clear by themselves.
    apart: &'h ObjSet,
}

impl<'h> OptimizerView<'h> {
    pub(crate) fn new(
        heap: &'h Heap,
        optimizer: ObjId,
        state: OptimizerState,
        alone: bool,
        apart: &'h ObjSet,
    ) -> OptimizerView<'h> {
        let owned = with_submodules(heap, &state.owns);
        OptimizerView { heap, optimizer, state, owned, alone, apart }
    }

    fn overlaps(&self, objects: &ObjSet) -> bool {
        let inside = with_submodules(self.heap, objects);
        inside.iter().any(|object| self.owned.contains(object))
            || self.state.owns.iter().any(|owner| inside.contains(owner))
    }

    /// Whether a backward pass adds to the gradients.
    pub(crate) fn accumulates(&self, leaves: &ObjSet, others: bool) -> Option<Certainty> {
        if self.overlaps(leaves) {
            return Some(Certainty::Must);
        }
        (others || self.state.others).then_some(if self.alone { Certainty::Must } else { Certainty::May })
    }

    /// Whether gradients of these are the optimizer's; they may be where no other optimizer could be meant.
    pub(crate) fn clips(&self, targets: &ObjSet, whole: bool) -> Option<Certainty> {
        if self.overlaps(targets) {
            return Some(Certainty::Must);
        }
        (self.alone && (self.state.others || !whole)).then_some(Certainty::May)
    }

    pub(crate) fn clears(&self, targets: &ObjSet, whole: bool) -> Option<Certainty> {
        if targets.contains(self.optimizer) {
            return Some(Certainty::Must);
        }
        if targets.is_empty() {
            return Some(Certainty::May);
        }
        let inside = with_submodules(self.heap, targets);
        let covers =
            !self.state.owns.is_empty() && self.state.owns.iter().all(|owner| inside.contains(owner));
        if covers && !self.state.others {
            return Some(if whole { Certainty::Must } else { Certainty::May });
        }
        // Of two optimizers of unknown parameters, each with steps and clears of its own, neither is the other's.
        let is_apart = targets.iter().any(|object| self.apart.contains(object));
        let is_unseen = |object: ObjId| self.heap.get(object).optimizer().is_some_and(|other| other.others);
        let unclear = !is_apart && (self.state.others || targets.iter().any(is_unseen));
        (unclear || self.overlaps(targets)).then_some(Certainty::May)
    }

    /// Whether a new module or parameter takes the place of what the optimizer owns. Of parameters that we did
    /// not see it may be all.
    pub(crate) fn is_renewed_by(&self, object: ObjId) -> Option<Certainty> {
        if self.state.owns.contains(object) {
            return Some(Certainty::Must);
        }
        let may_be_owned = self.state.others && self.learns(object);
        (may_be_owned || self.owned.contains(object)).then_some(Certainty::May)
    }

    /// Whether there is anything in an object that an optimizer could own: not in a loss that is made for each batch.
    fn learns(&self, object: ObjId) -> bool {
        with_submodules(self.heap, &ObjSet::one(object)).iter().any(|part| {
            self.heap
                .get(part)
                .module()
                .is_none_or(|module| module.weights != Learned::Nothing || module.open)
        })
    }

    /// Whether the gradients of these are the optimizer's, or may be.
    pub(crate) fn reads(&self, objects: &ObjSet) -> Certainty {
        if self.overlaps(objects) { Certainty::Must } else { Certainty::May }
    }

    /// Whether a call that got hold of these may have touched the optimizer's gradients. Parameters that we
    /// did not see may be in any module.
    pub(crate) fn may_be_touched_by(&self, objects: &ObjSet) -> bool {
        let is_module = |object: ObjId| self.heap.get(object).module().is_some();
        objects.iter().any(|object| self.is_it(object))
            || self.overlaps(objects)
            || (self.state.others && objects.iter().any(is_module))
    }

    /// Whether who holds these holds the optimizer itself: as it is, or as an attribute of a module.
    pub(crate) fn is_held_by(&self, objects: &ObjSet) -> bool {
        let own = |value: &Value| value.as_obj().is_some_and(|object| self.is_it(object));
        let holds = |object: ObjId| self.heap.get(object).attrs.iter().any(|(_, value)| own(value));
        objects.iter().any(|object| self.is_it(object) || holds(object))
    }

    /// Whether an object is this optimizer, or one of those that it stands for, or stands for it.
    fn is_it(&self, object: ObjId) -> bool {
        let is_merged = |one: ObjId| self.heap.is_merged(one);
        object == self.optimizer
            || is_merged(object) && self.heap.stands_for(object).contains(self.optimizer)
            || is_merged(self.optimizer) && self.heap.stands_for(self.optimizer).contains(object)
    }

    /// Whose call one on an optimizer is, where it concerns this one.
    pub(crate) fn whose(&self, optimizer: ObjId) -> Option<Whose> {
        whose(self.heap, self.optimizer, &self.state, optimizer)
    }

    /// Whose call one is that may name no optimizer.
    pub(crate) fn whose_or_alone(&self, optimizer: Option<ObjId>) -> Option<Whose> {
        optimizer.map_or(self.alone.then_some(Whose::Own), |optimizer| self.whose(optimizer))
    }

    /// Whether another optimizer may be this one: of one of them not all is seen that it owns.
    pub(crate) fn may_be(&self, other: ObjId) -> bool {
        let other = self.heap.get(other).optimizer();
        other.is_some_and(|other| other.others || self.state.others)
    }

    /// Whether another optimizer may own some of the same parameters.
    pub(crate) fn may_share(&self, other: ObjId) -> bool {
        let state = self.heap.get(other).optimizer();
        self.may_be(other) || state.is_some_and(|state| self.overlaps(&state.owns))
    }

    pub(crate) fn is_scaler(&self, object: ObjId) -> bool {
        self.heap.get(object).state.is_scaler()
    }
}

/// Whose call one on `called` is for an optimizer: what a second one owns as well, both apply.
pub(crate) fn whose(heap: &Heap, optimizer: ObjId, state: &OptimizerState, called: ObjId) -> Option<Whose> {
    if called == optimizer {
        return Some(Whose::Own);
    }
    let State::Optimizer(other) = &heap.get(called).state else { return None };
    let within = |part: ObjId| {
        other.owns.contains(part) || other.owns.iter().any(|owner| heap.descendants(owner).contains(part))
    };
    let same = !state.owns.is_empty() && !state.others && state.owns.iter().all(within);
    same.then_some(Whose::Shared)
}

/// What an optimizer owns, part by part: each may be cleared by itself.
pub(super) fn owned_parts(state: &OptimizerState, parts: Parts) -> Vec<ObjSet> {
    /// Of more parts only the whole is followed.
    const MOST: usize = 8;
    if parts == Parts::Together || state.others || !(2..=MOST).contains(&state.owns.len()) {
        return vec![state.owns.clone()];
    }
    state.owns.iter().map(ObjSet::one).collect()
}

/// These with the modules and parameters below them.
pub(crate) fn with_submodules(heap: &Heap, objects: &ObjSet) -> ObjSet {
    let modules = objects.iter().fold(objects.clone(), |all, object| all.union(&heap.descendants(object)));
    let is_module = |object: &ObjId| heap.get(*object).module().is_some();
    let attributes = modules.iter().filter(is_module).flat_map(|module| heap.get(module).attrs.iter());
    let tensors = attributes.filter_map(|(_, value)| value.as_tensor());
    let parameters = tensors.filter(|tensor| tensor.is_parameter());
    parameters.fold(modules.clone(), |all, parameter| all.union(&parameter.graph.leaves()))
}
