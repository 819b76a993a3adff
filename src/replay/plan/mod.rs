//! What is to be replayed, as a file that can be carried to another machine: programs, steps and demands, with
//! where they come from in the script. Gradients are not in it: whoever runs it derives them.

mod make;
mod read;
#[cfg(test)]
pub mod tests;
mod wire;
mod write;

pub use make::{Settings, hash, make, placed};
pub use read::{MOST_BYTES, PlanError, read};
pub use write::write;

use crate::report::replay::{Demand, Program, Step};

/// The version of the format; a reader refuses what it does not know.
pub const SCHEMA: &str = "trainlint-replay/1";
/// Numbers in a row, where the script does not say.
pub const WIDTH: usize = 4;
pub const SAMPLES: u64 = 1 << 20;
pub const SEED: u64 = 7;

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub seed: u64,
    pub sources: Vec<SourceHash>,
    pub limits: Limits,
    pub items: Vec<Item>,
}

/// A file that findings lie in, and the SHA-256 of its text, by which a change since then shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHash {
    pub path: String,
    pub sha256: String,
}

/// How long a replay may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub item_seconds: f64,
    pub total_seconds: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { item_seconds: 10.0, total_seconds: 120.0 }
    }
}

/// What is replayed of one finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub rule: String,
    pub at: Spot,
    pub message: String,
    pub work: Work,
}

/// A place in a script, as people count, and what is written there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    Expr(Expr),
    Step(Box<Step>),
    Memory(Memory),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its nodes have no places; those are in `spots`.
    pub program: Program,
    pub spots: Vec<Option<Spot>>,
    pub width: usize,
    pub samples: u64,
}

/// A demand for memory, and the card that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    pub demand: Demand,
    pub capacity: u64,
    pub card: String,
}
