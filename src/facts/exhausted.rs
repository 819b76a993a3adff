//! Iterators over parameters that were used up when an optimizer asked for them.

use super::{Script, once};
use crate::report::Place;
use crate::trace::{At, Sight};

/// An iterator over parameters with nothing left in it.
pub struct SpentIterator {
    pub at: At,
    /// Where it was gone through.
    pub first: Place,
    /// Where it comes from.
    pub made: Place,
}

impl Script<'_> {
    pub fn spent_iterators(&self) -> Vec<SpentIterator> {
        let mut seen = Vec::new();
        let late = self.sightings().filter_map(|(at, sight)| match sight {
            Sight::Exhausted { first, made } => {
                Some(SpentIterator { at: at.clone(), first: *first, made: *made })
            }
            _ => None,
        });
        late.filter(|late| once(&mut seen, late.at.place)).collect()
    }
}
