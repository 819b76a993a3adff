//! One binary for all integration tests.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read, write and print")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::too_many_lines,
    clippy::unreachable,
    clippy::unwrap_used,
    reason = "a test stops where it is wrong"
)]
#![allow(unreachable_pub, reason = "a test has no outside")]

mod adoption;
mod apis;
#[cfg(unix)]
mod bounds;
mod cache;
mod catalogue;
mod cli;
mod config;
mod coverage;
#[cfg(all(target_os = "linux", target_env = "gnu", feature = "gpu"))]
mod cuda;
mod doctor;
mod findings;
mod fixes;
mod fixtures;
mod flags;
mod formats;
mod growth;
mod harness;
mod hostile;
mod inside;
mod installed;
mod integrations;
mod layers;
mod lsp;
mod marks;
mod messages;
mod pages;
mod pieces;
mod plans;
#[cfg(target_os = "linux")]
mod promises;
mod render;
mod replay;
mod reveal;
mod right;
mod services;
mod shape_faults;
mod shapes;
mod staleness;
mod truth;
mod versions;
mod whole;
mod words;
