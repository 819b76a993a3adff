//! `trainlint doctor`: whether drivers, cards, CUDA, cuDNN and builds of the frameworks work together, on a machine
//! and in what a project's files set up. Reads files, and is told what a driver says.

mod installed;
mod judge;
mod look;
mod machine;
mod written;

pub use look::{Places, VARIABLES, look};
pub use machine::{Card, Distribution, Driver, Environment, Framework, Library, Machine};

use crate::engine::config::Config;
use crate::engine::configs::{Configs, Origin};
use crate::engine::discovery::{self, DiscoveryError};
use crate::engine::pins::Pinned;
use crate::engine::{RunError, disk, shown_path};
use crate::source::absolute_from;
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
    let mut checks = Vec::new();
    if let Some(machine) = &machine {
        judge::machine(machine, &mut checks);
    }
    let here = [PathBuf::from(".")];
    for path in if paths.is_empty() { &here } else { paths } {
        let folder = absolute_from(cwd, path);
        if !folder.is_dir() {
            return Err(DiscoveryError::NoFolder { path: path.display().to_string() }.into());
        }
        judge::setups(&set_up(cwd, &folder)?, machine.as_ref(), &mut checks);
        if let Some(machine) = &machine {
            judge::pins(cwd, &Pinned::default().of_folder(&folder), machine, &mut checks);
        }
    }
    Ok(Report { version: 1, checks, machine })
}

/// What the files below a folder set up.
fn set_up(cwd: &Path, folder: &Path) -> Result<Vec<written::Setup>, RunError> {
    let configs = Configs::new(cwd, &Origin::Closest, Config::default()).map_err(DiscoveryError::from)?;
    let files = discovery::texts(folder, &configs, written::is_of_interest).map_err(DiscoveryError::from)?;
    let mut setups = Vec::new();
    for file in files {
        let Ok(text) = disk::read_text(&file) else { continue };
        let root = |name: &str| disk::read_text(&folder.join(name)).ok();
        // Files are named from the root of the project, or from beside the one that names them.
        let beside = |name: &str| disk::read_text(&file.parent()?.join(name)).ok();
        let find = |name: &str| root(name).or_else(|| beside(name));
        let has_kernels = find("setup.py").is_some_and(|text| text.contains("CUDAExtension("));
        let mut read = written::read(&shown_path(cwd, &file), &text, &find);
        read.iter_mut().for_each(|setup| setup.has_kernels = has_kernels);
        setups.extend(read);
    }
    Ok(setups)
}

/// A path of a machine below what counts as its root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
