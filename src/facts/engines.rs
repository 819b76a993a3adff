//! What an engine does by itself, and a script does past it.

use super::memory::doubted_in_tests;
use super::{Places, Script};
use crate::trace::{At, Sight};
use ustr::Ustr;

/// A backward pass that leaves an engine out.
pub struct RawBackward {
    pub at: At,
    pub engine: String,
    pub method: Ustr,
}

impl Script<'_> {
    pub fn raw_backwards(&self) -> Vec<RawBackward> {
        let (mut found, mut seen) = (Vec::new(), Places::default());
        for (at, sight) in self.sightings() {
            let Sight::Raw { engine, own, method } = sight else { continue };
            if seen.insert(at.place) {
                let engine = if *own { "self".to_owned() } else { self.name_or(*engine, "engine") };
                found.push(RawBackward { at: doubted_in_tests(at), engine, method: *method });
            }
        }
        found
    }
}
