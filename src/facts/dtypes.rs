//! Dtypes that end a run: numbers that meet weights of another kind, and losses that autocast does not allow.

use super::{Places, Script};
use crate::report::{Confidence, Place};
use crate::trace::{At, Sight};
use crate::values::DType;

/// Numbers that a layer, or a product, does not take.
pub struct Mistyped<'a> {
    pub at: At,
    pub what: &'a str,
    pub gets: DType,
    pub wants: DType,
    /// Looked up in a table, which takes whole numbers.
    pub lookup: bool,
    pub made: Option<Place>,
}

/// A call that autocast does not allow.
pub struct RefusedByAutocast {
    pub at: At,
    pub autocast: Option<Place>,
}

impl<'a> Script<'a> {
    pub fn mistyped(&self) -> Vec<Mistyped<'a>> {
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Mistyped { what, made, gets, wants, lookup } = sight else { continue };
            if seen.insert(at.place) {
                let made = made.filter(|made| *made != at.place);
                let (gets, wants, lookup) = (*gets, *wants, *lookup);
                found.push(Mistyped { at: at.clone(), what, gets, wants, lookup, made });
            }
        }
        found
    }

    pub fn refused_by_autocast(&self) -> Vec<RefusedByAutocast> {
        let mut seen = Places::default();
        let mut found = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Refused { autocast, sure } = sight else { continue };
            if seen.insert(at.place) {
                let confidence = if *sure { at.confidence } else { at.confidence.min(Confidence::Medium) };
                found.push(RefusedByAutocast { at: At { confidence, ..at.clone() }, autocast: *autocast });
            }
        }
        found
    }
}
