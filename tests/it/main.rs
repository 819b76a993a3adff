//! One binary for all integration tests.
<<<<<<< HEAD
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "tests read, write and print")]

mod cli;
mod config;
mod harness;
mod render;
=======

mod catalogue;
mod findings;
mod fixtures;
mod layers;
mod marks;
mod messages;
mod pages;
>>>>>>> pages
