//! One binary for all integration tests.

mod catalogue;
mod findings;
mod fixtures;
mod layers;
mod marks;
mod messages;
mod pages;
