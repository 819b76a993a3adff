//! Models that one way through a loop's body leaves on the CPU: the iteration after it meets them there.

use super::{Interp, stmt::Flow};
use crate::trace::When;
use crate::values::*;

impl Interp<'_> {
    /// Models that one way left on the CPU, and that nothing moves back on the ways on from there.
    pub(super) fn still_behind(&self, mut models: Vec<ObjId>, left: &heap::Writes) -> Vec<ObjId> {
        let is_open =
            |object: &Object| object.module().is_some_and(|module| module.device == Device::Unknown);
        models.retain(|model| left.get(*model).is_some_and(is_open));
        models
    }

    /// How many models the ways through this pass left on the CPU so far.
    pub(super) fn left_behind(&self) -> usize {
        self.active.last().map_or(0, |active| active.left_behind.len())
    }

    /// What a way leaves behind says nothing of a next iteration that it does not lead to.
    pub(super) fn ends_behind(&mut self, known: usize, when: When, flow: Flow) {
        if let Some(active) = self.active.last_mut()
            && (flow != Flow::Next || !comes_again(when))
        {
            active.left_behind.truncate(known);
        }
    }

    /// `if best: torch.save(model.cpu().state_dict(), path)`: the iteration after such a way finds the model there.
    pub(super) fn note_left_behind(&mut self, when: When, ends: &[(Flow, heap::Writes)]) {
        let Some(active) = self.active.last_mut().filter(|_| comes_again(when)) else { return };
        let device = |object: &Object| object.module().map(|module| module.device);
        for (_, writes) in ends.iter().filter(|(flow, _)| *flow == Flow::Next) {
            let moved = writes.objects().filter(|object| {
                writes.get(*object).and_then(device) == Some(Device::Cpu)
                    && device(self.heap.get(*object)).is_some_and(Device::is_chosen_gpu)
            });
            active.left_behind.extend(moved);
        }
    }
}

/// Whether an iteration comes after the one in which a way is taken: a count may say that it is the last.
fn comes_again(when: When) -> bool {
    matches!(when, When::Unknown | When::Phase | When::First(_))
}
