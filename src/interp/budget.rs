//! Fuel: each piece of work takes some, so that every rehearsal comes to an end.

use super::Interp;
use crate::trace::FnKey;
use rustc_hash::FxHashSet;

/// So many items are looked through for one step.
const ITEMS_A_STEP: u32 = 1024;
/// After so many steps the rehearsal asks whether its time is over.
const STEPS_A_LOOK: u32 = 256;

/// How much work the rehearsal may still be.
#[derive(Default)]
pub(super) struct Budget {
    pub(super) fuel: u32,
    /// What the running call must leave of it.
    pub(super) floor: u32,
    /// Items that were looked through since a step was last taken for them.
    looked: u32,
    /// What is evaluated takes nothing: a name is read again, for a checker.
    pub(super) free: bool,
    /// Functions that once did not come to their end with the fuel they got.
    pub(super) exhausted: FxHashSet<FnKey>,
    /// Forwards compute as those that nobody sees into: the training around them was too much with them.
    pub(super) shallow: bool,
    /// Calls that are open.
    pub(super) depth: u32,
    /// Modules whose calls are open.
    pub(super) nested: usize,
}

impl Budget {
    pub(super) fn of(fuel: u32) -> Budget {
        Budget { fuel, ..Budget::default() }
    }
}

impl Interp<'_> {
    /// Whether the running call, or the script itself, has no fuel left: what it did so far proves nothing.
    pub(crate) fn is_out_of_fuel(&self) -> bool {
        self.budget.fuel <= self.budget.floor
    }

    /// Takes some fuel; false when none is left.
    pub(super) fn burn(&mut self, amount: u32) -> bool {
        if self.budget.fuel < self.budget.floor + amount {
            self.budget.fuel = self.budget.fuel.min(self.budget.floor);
            return false;
        }
        if self.budget.free {
            return true;
        }
        self.budget.fuel -= amount;
        if self.budget.fuel % STEPS_A_LOOK < amount {
            crate::source::still_wanted(STEPS_A_LOOK as usize);
        }
        true
    }

    /// Looking through many items is work, too.
    pub(super) fn burn_over(&mut self, items: usize) {
        let looked = self.budget.looked.saturating_add(u32::try_from(items).unwrap_or(u32::MAX));
        self.budget.looked = looked % ITEMS_A_STEP;
        self.burn(looked / ITEMS_A_STEP);
    }
}
