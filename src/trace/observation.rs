//! Things seen on the way that do not depend on their order: each with its place and what led there, its type
//! declared by whoever looks for it.

use super::At;
use std::any::Any;

/// Something seen during the rehearsal.
pub struct Observation {
    pub at: At,
    /// It is so in the first iteration of the loops around, whatever later ones find.
    pub lasting: bool,
    what: Box<dyn Any>,
}

impl Observation {
    pub fn new(at: At, what: impl Any) -> Observation {
        Observation { at, lasting: false, what: Box::new(what) }
    }

    pub fn is<T: Any>(&self) -> bool {
        self.what.is::<T>()
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        self.what.downcast_ref()
    }
}
