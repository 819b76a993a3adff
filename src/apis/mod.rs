//! What calls of the frameworks do: typed entries read from `rules/apis/*.toml`.
//! Knows the format, not one framework; `rules/apis/README.md` explains it to authors.
//! The build script packs the project's own tables, with the same parser that reads a user's.

mod error;
pub mod index;
mod lookup;
mod memo;
mod model;
mod pack;
mod parse;
mod terms;
mod transfers;
pub mod vocabulary;

pub use error::ApiError;
pub use lookup::Apis;
pub use model::*;
