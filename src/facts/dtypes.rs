//! Dtypes that end a run: numbers that meet weights of another kind.

use super::{Places, Script};
use crate::report::Place;
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
}
