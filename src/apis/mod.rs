//! What calls of the frameworks do: typed entries read from `rules/apis/*.toml`.
//! Knows the format, not one framework; `rules/apis/README.md` explains it to authors.
//! The build script packs the project's own tables, with the same parser that reads a user's.

pub mod builds;
pub mod changed;
pub mod deprecated;
mod effects;
mod error;
mod hints;
pub mod index;
mod lookup;
mod memo;
mod model;
mod needs;
mod numbers;
mod pack;
mod parse;
mod shared;
mod slots;
mod terms;
mod transfers;
mod vocabulary;
mod words;

pub use effects::Verb;
pub use error::ApiError;
pub use lookup::Apis;
pub use model::*;
pub use needs::Need;
pub use numbers::{Computed, PoleKind, RangeFunction};
pub use slots::Slot;
pub use transfers::Transfer;
pub use words::{Vocabulary, Word};
