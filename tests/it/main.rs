//! One binary for all integration tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read, write and print")]

mod adoption;
mod apis;
mod cache;
mod catalogue;
mod cli;
mod config;
#[cfg(all(target_os = "linux", target_env = "gnu", feature = "gpu"))]
mod cuda;
mod findings;
mod fixes;
mod fixtures;
mod formats;
mod harness;
mod hostile;
mod integrations;
mod layers;
mod lsp;
mod marks;
mod messages;
mod pages;
mod pieces;
mod plans;
mod render;
mod replay;
mod reveal;
mod right;
mod services;
mod staleness;
