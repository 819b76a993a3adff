//! Why a framework ends a run.

use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// `backward` on a loss of so many numbers.
    #[error("grad can be implicitly created only for scalar outputs, not for {0} elements")]
    Elements(u64),
    #[error("trying to backward through the graph of the previous iteration, which is freed")]
    Freed,
    #[error("`unscale_()` has already been called since the last `update()`")]
    UnscaledTwice,
    #[error("`step()` has already been called since the last `update()`")]
    SteppedTwice,
    #[error("no inf checks were recorded prior to `update()`")]
    NotLooked,
}
