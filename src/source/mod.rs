//! (to be written)

mod text;

pub use text::read_text;
