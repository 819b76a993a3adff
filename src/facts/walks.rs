//! Graphs and the backward passes that walk them: what an earlier iteration walked already, and what is kept
//! though nobody walks it again.

use super::{Places, Script};
use crate::report::Place;
use crate::trace::{At, Sight, Walk};

/// A backward that comes to what the backward of an earlier iteration has walked.
pub struct WalkedAgain {
    pub at: At,
    /// Where that was recorded.
    pub recorded: Place,
    /// Each backward keeps its graph, so that the next can walk it.
    pub is_kept: bool,
}

impl Script<'_> {
    pub fn graphs_walked_again(&self) -> Vec<WalkedAgain> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        for (at, sight) in self.sightings() {
            let Sight::WalkedAgain { recorded, kept } = sight else { continue };
            // Kept on purpose where nothing is trained, it is the gradients that are looked at.
            if *kept && !self.steps_anywhere() {
                continue;
            }
            if seen.insert(at.place) {
                found.push(WalkedAgain { at: at.clone(), recorded: *recorded, is_kept: *kept });
            }
        }
        found
    }

    /// Backward passes in a loop that keep a graph which no other walks.
    pub fn graphs_kept_in_vain(&self) -> Vec<At> {
        let mut found = Vec::new();
        let mut seen = Places::default();
        // A graph of which we know nothing may be any of these.
        if self.rehearsal.walks_unknown || self.rehearsal.out_of_fuel {
            return found;
        }
        for (at, sight) in self.sightings() {
            let retains = matches!(sight, Sight::Retaining) && !at.loops.is_empty();
            if retains && seen.insert(at.place) && !self.is_walked_later(at.place) {
                found.push(at.clone());
            }
        }
        found
    }

    /// Whether anything walks what a backward has walked, after it.
    fn is_walked_later(&self, backward: Place) -> bool {
        let walks = &self.rehearsal.walks;
        let here = |walk: &u32| walks[*walk as usize].place == backward;
        let unknown = |walk: &&Walk| walk.others;
        let (own, other): (Vec<&Walk>, Vec<&Walk>) =
            walks.iter().filter(unknown).partition(|walk| walk.place == backward);
        // What we do not know of two graphs may be the same.
        if !own.is_empty() && !other.is_empty() {
            return true;
        }
        self.rehearsal.parts.iter().any(|part| {
            let first = part.walks.iter().position(here);
            first.is_some_and(|first| part.escaped || first + 1 < part.walks.len())
        })
    }
}
