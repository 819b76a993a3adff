//! One run: which files, under which settings, rehearsed in parallel, and what of the findings
//! is shown. Knows neither how findings are found nor how they are printed.

pub mod analysis;
mod around;
pub mod baseline;
pub mod cache;
mod causes;
pub mod config;
pub mod configs;
pub mod discovery;
mod disk;
pub mod doctor;
pub mod fingerprint;
pub mod fix;
mod ignored;
mod memory;
mod merge;
mod offers;
mod pins;
pub mod reveal;
mod roots;
mod run;
mod seen;
pub mod selection;
pub mod settings;
pub mod silence;
pub mod suggest;
mod unmatched;
pub mod versions;

pub use memory::Memory;
pub use roots::Roots;
pub use run::{Panicked, check, check_with, files, guarded, settings_for};
pub use unmatched::Unmatched;

use crate::report::{Diagnostic, FileId, TrainingStep};
use crate::source::{Patience, Stopped};
use analysis::SourceFile;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// What a run is asked to do.
#[derive(Clone, Default)]
pub struct Request {
    /// Where relative paths start, absolute.
    pub cwd: PathBuf,
    pub paths: Vec<PathBuf>,
    /// A script that came through a pipe, under the name it goes by.
    pub stdin: Option<(PathBuf, Vec<u8>)>,
    /// A script that an editor holds, in the memory's library; it need not be on the disk.
    pub buffer: Option<PathBuf>,
    /// What files hold in place of what the disk says, by absolute path.
    pub contents: FxHashMap<PathBuf, Arc<[u8]>>,
    pub origin: configs::Origin,
    /// What the command line says, over every configuration file.
    pub overrides: config::Config,
    /// Zero for as many as the machine has.
    pub threads: usize,
    /// So many scripts that import what is asked for are rehearsed with it, the nearest first.
    pub importers: usize,
    /// Comments that suppress findings are passed over.
    pub ignore_suppressions: bool,
    /// Where results are kept from run to run; nowhere without.
    pub cache: Option<cache::Place>,
    /// What checks before this one found, in its place.
    pub recall: Option<Arc<cache::Recall>>,
    /// How long it may take.
    pub patience: Patience,
    /// What outlives the run, in a process that makes many.
    pub memory: Option<Arc<Memory>>,
}

/// Told how far a run is; called from many threads.
pub trait Progress: Sync {
    fn start(&self, files: usize);
    fn step(&self);
    fn finish(&self);
}

/// A run that nobody watches.
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _files: usize) {}
    fn step(&self) {}
    fn finish(&self) {}
}

/// Why there was no run.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Discovery(#[from] discovery::DiscoveryError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error(transparent)]
    Tables(#[from] settings::TableError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error("the threads could not be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// What a run found, in the order in which it is shown.
#[derive(Debug, Default)]
pub struct Outcome {
    pub findings: Vec<Diagnostic>,
    /// Findings below the severity or the confidence that is asked for.
    pub hidden: usize,
    /// How many of those would be shown if nothing were asked for.
    pub excluded: usize,
    /// Findings that a comment silenced.
    pub suppressed: usize,
    /// Findings that a baseline, or the revision before a change, has as well.
    pub known: usize,
    pub files: FileCounts,
    pub problems: Vec<Problem>,
    pub sources: Sources,
    /// Backward passes, and those of which no rule knows what they are about, in the order of the findings.
    pub coverage: Coverage,
    /// How often a file has a finding of a rule, selected or not, by path.
    pub tally: BTreeMap<(PathBuf, &'static str), usize>,
    pub roots: Roots,
    /// What `--set` names and no script has.
    pub unmatched: Vec<Unmatched>,
    /// Every file that was reached, of a run with a memory.
    pub reached: Vec<PathBuf>,
}

/// What of the training in the files asked for was judged.
#[derive(Debug, Default)]
pub struct Coverage {
    pub training_steps: usize,
    /// Steps of which the calls of the optimizer are judged, and the graph is not known.
    pub by_contract: Vec<TrainingStep>,
    pub unjudged: Vec<TrainingStep>,
}

impl Outcome {
    /// Whether trainlint could not do what it was asked to.
    pub fn failed(&self) -> bool {
        let nothing_read = self.files.checked + self.files.skipped == 0 && !self.problems.is_empty();
        nothing_read || self.problems.iter().any(|problem| problem.fatal)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    pub checked: usize,
    /// Import no framework.
    pub skipped: usize,
    /// Rehearsed only in part.
    pub incomplete: usize,
    /// Given up, with those that only import what was asked for.
    pub stopped: usize,
}

/// A file that was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    pub message: String,
    /// The run as a whole counts as failed: the file was named by the user, or trainlint is at fault.
    pub fatal: bool,
}

/// The files that findings lie in, as they are shown.
#[derive(Clone, Debug, Default)]
pub struct Sources(FxHashMap<FileId, Shown>);

#[derive(Clone, Debug)]
pub struct Shown {
    /// Relative to the working folder where it lies below it, with `/` everywhere.
    pub path: String,
    pub source: Arc<SourceFile>,
}

impl Sources {
    pub fn get(&self, file: FileId) -> Option<&Shown> {
        self.0.get(&file)
    }

    fn insert(&mut self, cwd: &Path, file: FileId, source: Arc<SourceFile>) {
        self.0.entry(file).or_insert_with(|| Shown { path: shown_path(cwd, &source.path), source });
    }
}

/// How a path is written in messages.
pub fn shown_path(cwd: &Path, path: &Path) -> String {
    let text = path.strip_prefix(cwd).unwrap_or(path).to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace('\\', "/") }
}
