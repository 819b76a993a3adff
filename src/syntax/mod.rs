//! tree-sitter's concrete tree lowered into a typed arena. Never fails: broken code
//! gives fewer nodes.

pub mod ast;
pub use ast::*;
