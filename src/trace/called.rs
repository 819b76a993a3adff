//! The functions that ran, in the order of their first calls.

use super::FnKey;
use rustc_hash::FxHashSet;

#[derive(Clone, Debug, Default)]
pub struct Called {
    all: FxHashSet<FnKey>,
    order: Vec<FnKey>,
}

impl Called {
    pub fn insert(&mut self, function: FnKey) {
        if self.all.insert(function) {
            self.order.push(function);
        }
    }

    pub fn contains(&self, function: &FnKey) -> bool {
        self.all.contains(function)
    }

    pub fn iter(&self) -> impl Iterator<Item = &FnKey> {
        self.order.iter()
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Without a function, and those that ran for the first time since: no call of them has come to its end.
    pub fn forget(&mut self, function: FnKey, since: usize) {
        for key in self.order.drain(since.min(self.order.len())..) {
            self.all.remove(&key);
        }
        // An earlier pass of a loop may have come to its end, and counts no more than the last one.
        if self.all.remove(&function) {
            self.order.retain(|key| *key != function);
        }
    }
}
