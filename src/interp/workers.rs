//! The worker processes of loaders: what a dataset and its helpers do there, while a loader's first batch is
//! made. They have a copy of everything that the process which trains had made before.

use super::{Call, Interp, Invocation};
use crate::apis::Role;
use crate::report::{Confidence, Place};
use crate::trace::{OnGpu, Sight, Work};
use crate::values::*;
use std::rc::Rc;

/// A worker whose work is being rehearsed.
pub(super) struct Worker {
    /// Objects under this were made before it started.
    from: u32,
    /// It asks which worker it is.
    knows: bool,
    work: Work,
}

impl<'p> Interp<'p> {
    /// Makes a loader's batch, and writes down what its workers do for it.
    pub(super) fn at_work<R>(
        &mut self,
        call: &Invocation,
        feeding: Feeding,
        run: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let Some(workers) = feeding.workers.filter(|workers| *workers > 0) else {
            return run(self);
        };
        let own_method = !matches!(call.get("multiprocessing_context"), Value::None);
        let init = call.get("worker_init_fn");
        let work = Work {
            workers,
            workers_place: call.place_of("num_workers"),
            forked: self.forks && !own_method,
            initialised: !matches!(init, Value::None),
            ..Work::default()
        };
        let worker = Worker { from: self.heap.len() as u32, knows: false, work };
        let outer = self.worker.replace(worker);
        let result = run(self);
        if let Some(worker) = &mut self.worker {
            // What is seeded for each sample is another matter.
            worker.work.seeded.clear();
        }
        if matches!(init.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
            let call = Call::with(call.place, [Value::of_int(Int::Unknown)]);
            self.quietly(|interp| interp.call_value(&init, &call));
        }
        if let Some(mut worker) = std::mem::replace(&mut self.worker, outer) {
            if worker.knows {
                worker.work.drawn.clear();
            }
            self.see(call.place, Sight::Work(Rc::new(worker.work)), Confidence::High);
        }
        result
    }

    pub(super) fn know_worker(&mut self) {
        if let Some(worker) = &mut self.worker {
            worker.knows = true;
        }
    }

    /// A tensor that was not on the GPU is there now.
    pub(super) fn note_moved_by_worker(&mut self, before: Option<&Tensor>, place: Place) {
        let Some(worker) = &mut self.worker else { return };
        if !before.is_some_and(|before| before.device.is_gpu()) {
            worker.work.on_gpu.push((place, OnGpu::Moved));
        }
    }

    /// Samples that come from tensors on the GPU.
    pub(super) fn note_held_by_worker(&mut self, sample: &Value) {
        let Some(worker) = &mut self.worker else { return };
        let tensors = match sample.bare() {
            Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor()).cloned().collect(),
            other => Vec::from_iter(other.as_tensor().cloned()),
        };
        let held =
            tensors.into_iter().find(|tensor| matches!(tensor.device, Device::Cuda(_) | Device::Accelerator));
        if worker.work.on_gpu.is_empty()
            && let Some(made) = held.and_then(|tensor| tensor.made)
        {
            worker.work.on_gpu.push((made, OnGpu::Held));
        }
    }

    /// Numbers from a generator that was made before the workers started.
    pub(super) fn note_draw(&mut self, call: &Invocation) {
        let Some(from) = self.worker.as_ref().map(|worker| worker.from) else { return };
        for name in ["self", "generator"] {
            let Some(object) = call.get(name).as_obj().filter(|object| object.0 < from) else { continue };
            if self.role_of(self.heap.get(object).class) == Some(Role::Generator) {
                let made = self.heap.get(object).site;
                if let Some(worker) = &mut self.worker {
                    worker.work.drawn.push((call.place, made));
                }
            }
        }
    }

    /// Random numbers begin anew: with the same number in each worker?
    pub(super) fn note_seed(&mut self, seed: &Value, place: Place) {
        let constant = seed.as_known_int().is_some();
        if let Some(worker) = self.worker.as_mut().filter(|_| constant) {
            worker.work.seeded.push(place);
        }
    }
}
