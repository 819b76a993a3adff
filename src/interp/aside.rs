//! What runs without counting: code that must leave nothing in the trace, and blocks that are not taken, whose
//! effects are looked at and taken back.

use super::Interp;
use crate::report::FileId;
use crate::syntax::StmtId;
use crate::trace::{Called, Observation};

/// Steps that a block may take that is not taken.
const FUEL: u32 = 2_000;

impl<'p> Interp<'p> {
    /// Runs something that must leave nothing in the trace.
    pub(crate) fn quietly<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let seen = self.out.observations.len();
        self.trace.push(Vec::new());
        let result = run(self);
        self.trace.pop();
        self.out.observations.truncate(seen);
        result
    }

    /// Runs something to see what it computes: nothing stays but what the values at hand make certain.
    pub(crate) fn in_passing<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        let seen = self.out.observations.len();
        self.trace.push(Vec::new());
        let result = run(self);
        self.trace.pop();
        self.forget_observations(seen);
        result
    }

    /// Runs something that must leave nothing in the trace, and whose calls are not those of the script.
    pub(crate) fn uncounted<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> R {
        self.counted_apart(run).0
    }

    /// The same, and what would have been counted until its end.
    pub(super) fn counted_apart<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> (R, Called) {
        let called = self.out.called.clone();
        let result = self.quietly(run);
        (result, std::mem::replace(&mut self.out.called, called))
    }

    /// Runs something as code of a module; nothing where the module has not run.
    pub(crate) fn within_module(&mut self, file: FileId, run: impl FnOnce(&mut Self)) {
        let Some(env) = self.module_names(file) else { return };
        self.push_frame(env, file, None, None);
        run(self);
        self.frames.pop();
    }

    /// Runs a block from here as if it were taken, looks at what it leaves, and takes everything back but what
    /// checkers remember. `None` where the block does not come to its end with little fuel.
    pub(crate) fn aside<R>(&mut self, block: &'p [StmtId], look: impl FnOnce(&mut Self) -> R) -> Option<R> {
        let returned = self.frames.last().map_or(0, |frame| frame.returned.len());
        let exits = self.frames.last().map_or(0, |frame| frame.exits.len());
        let left = self.active.last().map(|active| {
            let (breaks, continues) = (active.breaks.len(), active.continues.len());
            (breaks, continues, active.escapes, active.leaves)
        });
        let seen = self.taken_back(|interp| {
            interp.block(block);
            look(interp)
        });
        if let Some(frame) = self.frames.last_mut() {
            frame.returned.truncate(returned);
            frame.exits.truncate(exits);
        }
        if let (Some(active), Some((breaks, continues, escapes, leaves))) = (self.active.last_mut(), left) {
            active.breaks.truncate(breaks);
            active.continues.truncate(continues);
            active.escapes = escapes;
            active.leaves = leaves;
        }
        seen
    }

    /// Runs something and takes everything back but what checkers remember. `None` where it does not come to its end
    /// with little fuel.
    pub(crate) fn taken_back<R>(&mut self, run: impl FnOnce(&mut Self) -> R) -> Option<R> {
        let least = self.budget.floor.max(self.budget.fuel.saturating_sub(FUEL));
        let floor = std::mem::replace(&mut self.budget.floor, least);
        let (exhausted, called) = (self.budget.exhausted.clone(), self.out.called.clone());
        let (consumed, walked) = (self.out.consumed.clone(), self.out.walked.clone());
        let handed_over = self.out.handed_over.clone();
        self.heap.begin();
        let seen = self.quietly(run);
        self.heap.rollback();
        let came_to_its_end = !self.is_out_of_fuel();
        (self.budget.exhausted, self.out.called) = (exhausted, called);
        (self.out.consumed, self.out.walked) = (consumed, walked);
        self.out.handed_over = handed_over;
        self.budget.floor = floor;
        came_to_its_end.then_some(seen)
    }

    /// Runs something that is taken back but for the observations that are to stay.
    pub(crate) fn tried(&mut self, stays: fn(&Observation) -> bool, run: impl FnOnce(&mut Self)) {
        let seen = self.out.observations.len();
        let (grad, trained) = (self.ambient.grad.replace(true), self.graphs.trained);
        let kept = self.graphs.kept;
        self.trace.push(Vec::new());
        self.heap.begin();
        run(self);
        self.heap.rollback();
        self.trace.pop();
        (self.ambient.grad, self.graphs.trained, self.graphs.kept) = (grad, trained, kept);
        let later = self.out.observations.split_off(seen.min(self.out.observations.len()));
        let mut certain: Vec<Observation> = later.into_iter().filter(stays).collect();
        certain.iter_mut().for_each(|seen| (seen.lasting, seen.certain) = (true, true));
        self.out.observations.extend(certain);
    }
}
