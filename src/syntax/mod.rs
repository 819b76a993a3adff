//! tree-sitter's concrete tree lowered into a typed arena. Never fails: broken code
//! gives fewer nodes.

mod append;
pub mod ast;
mod comments;
#[cfg(test)]
mod dump;
mod faults;
mod kinds;
mod lower;
mod pieces;
mod targets;
#[cfg(test)]
mod tests;

pub use ast::*;
pub use faults::{Fault, FaultKind, Faults, faults};
pub use lower::{MAX_DEPTH, lower, parse, parse_again, parse_with};
pub use pieces::Pieces;

use crate::report::Span;

/// Extents of the logical lines in order: simple statements, decorators, and the headers of
/// compound statements and their clauses.
pub fn logical_lines(tree: &Tree) -> impl ExactSizeIterator<Item = Span> + '_ {
    tree.lines.iter().copied()
}
