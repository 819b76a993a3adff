//! The language server, talked to over a connection in memory.

mod editing;
mod fixing;
mod protocol;
mod talk;
