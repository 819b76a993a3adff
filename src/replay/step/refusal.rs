//! Why a framework ends a run.

use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// `backward` on a loss of so many numbers.
    #[error("a loss of {0} numbers has no gradient unless one is given")]
    Elements(u64),
    #[error("the graph of the round before is part of this one, and is freed")]
    Freed,
    #[error("gradients are unscaled twice since the last update")]
    UnscaledTwice,
    #[error("`step()` has been called since the last `update()`")]
    SteppedTwice,
    #[error("no overflow was looked for before the update")]
    NotLooked,
}
