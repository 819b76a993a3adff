//! Why a framework ends a run.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `backward` on a loss of so many numbers.
    Elements(u64),
    Freed,
    UnscaledTwice,
    SteppedTwice,
    NotLooked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, text: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Elements(count) => {
                write!(text, "a loss of {count} numbers has no gradient unless one is given")
            }
            Refusal::Freed => {
                text.write_str("the graph of the round before is part of this one, and is freed")
            }
            Refusal::UnscaledTwice => text.write_str("gradients are unscaled twice since the last update"),
            Refusal::SteppedTwice => text.write_str("`step()` has been called since the last `update()`"),
            Refusal::NotLooked => text.write_str("no overflow was looked for before the update"),
        }
    }
}
