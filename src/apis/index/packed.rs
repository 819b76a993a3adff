//! The packed form of the indexes: for each package a finite-state map from its names to numbers, each a
//! kind, a span of releases, and the place of what more is to be said. It is searched as it lies.

use super::text::{Kind, Span};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Packed<'b> {
    pub name: &'b str,
    #[serde(borrow)]
    pub versions: Vec<&'b str>,
    /// Of `fst::Map`.
    pub map: &'b [u8],
    /// What more is to be said, one after the other.
    pub more: &'b [u8],
}

/// What a number of the map says, and where there is more.
pub(crate) fn read(number: u64) -> (Kind, bool, Span, usize) {
    let kind = match number & 3 {
        0 => Kind::Module,
        1 => Kind::Class,
        2 => Kind::Function,
        _ => Kind::Value,
    };
    let [_, first, last, ..] = number.to_le_bytes();
    (kind, number & 4 != 0, Span { first, last }, (number >> 24) as usize)
}
