//! The language server, talked to over a connection in memory.

mod confirming;
mod editing;
mod fixing;
mod protocol;
mod random;
mod storms;
mod talk;
