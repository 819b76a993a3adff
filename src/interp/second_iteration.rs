//! Tensors and models that are elsewhere from the second iteration of a loop on: what holds for all of them says no
//! device. The second is run by itself, for what is certain in it.

use super::device::moves_along;
use super::{Interp, branch::Arm, stmt::Flow};
use crate::trace::When;
use crate::values::*;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// Runs a body on what its first pass left, where that is elsewhere than at the start.
    pub(super) fn second_iteration(&mut self, first: heap::Writes, body: Arm<'_, 'p>) {
        let behind = self.active.last_mut().map(|active| std::mem::take(&mut active.left_behind));
        let behind = self.still_behind(behind.unwrap_or_default(), &first);
        if behind.is_empty() && !self.heap.moves(&first) {
            return;
        }
        self.begin_pass();
        self.heap.begin();
        self.heap.apply(first);
        behind.into_iter().for_each(|model| self.leave_on_cpu(model));
        self.trace.push(Vec::new());
        body(self);
        self.trace.pop();
        self.heap.rollback();
    }

    /// Models that one way left on the CPU, and that nothing moves back on the ways on from there.
    fn still_behind(&self, mut models: Vec<ObjId>, left: &heap::Writes) -> Vec<ObjId> {
        let is_open =
            |object: &Object| object.module().is_some_and(|module| module.device == Device::Unknown);
        models.retain(|model| left.get(*model).is_some_and(is_open));
        models
    }

    fn leave_on_cpu(&mut self, model: ObjId) {
        let here = self.heap.get_mut(model);
        if let State::Module(module) = &mut here.state {
            module.device = Device::Cpu;
        }
        let is_open =
            |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.device == Device::Unknown);
        let along: Vec<(Ustr, Value)> = here
            .attrs
            .iter()
            .filter(|(name, value)| is_open(value) && moves_along(here, *name, value))
            .cloned()
            .collect();
        for (name, value) in along {
            let value = self.on_device(&value, Device::Cpu);
            self.heap.get_mut(model).set_attr(name, value);
        }
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
