//! The packed form of the indexes: for each package a finite-state map from its names to numbers, each a
//! kind, a span of releases, and the place of what more is to be said. It is searched as it lies.

use super::text::{Kind, Releases, Span};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(crate) struct Packed<'b> {
    pub name: &'b str,
    #[serde(borrow)]
    pub releases: Releases<'b>,
    /// Of `fst::Map`.
    pub map: &'b [u8],
    /// What more is to be said, one after the other.
    pub more: &'b [u8],
}

/// What a number of the map says.
pub(crate) struct Entry {
    pub kind: Kind,
    pub open: Option<Span>,
    pub span: Span,
    /// Where there is more.
    pub more: usize,
}

pub(crate) fn read(number: u64) -> Entry {
    let kind = match number & 3 {
        0 => Kind::Module,
        1 => Kind::Class,
        2 => Kind::Function,
        _ => Kind::Value,
    };
    let [_, first, last, opens, closes, ..] = number.to_le_bytes();
    let open = (number & 4 != 0).then_some(Span { first: opens, last: closes });
    Entry { kind, open, span: Span { first, last }, more: (number >> 40) as usize }
}
