//! One binary for all integration tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read, write and print")]

mod cli;
mod config;
mod harness;
mod render;
