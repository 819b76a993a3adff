//! What a replay runs: graphs of primitive operations over single numbers and short rows of numbers, forward
//! and gradient alike. Knows how the frameworks compute, and no backend.

mod build;
mod composed;
mod elementwise;
pub mod eval;
mod float;
mod graph;
mod lower;
mod reductions;
#[cfg(test)]
mod tests;

pub use float::Real;
pub use graph::{Binary, Graph, Id, Node, Op, Origin, Reduce, Unary};
pub use lower::lower;
