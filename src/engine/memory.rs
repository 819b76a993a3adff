//! What outlives a run, in a process that makes many: files that were read and parsed, configurations, the thread.
//! A run with it finds what one without it finds; it only saves work.

use crate::engine::analysis::{Imports, Library, Project};
use crate::engine::config::{Config, ConfigError};
use crate::engine::configs::{Configs, Origin};
use crate::engine::discovery::Below;
use crate::engine::{Request, run};
use rayon::{ThreadPool, ThreadPoolBuildError};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

#[derive(Default)]
pub struct Memory {
    pub library: Arc<Library>,
    /// By the folder that requests start from.
    configs: Mutex<FxHashMap<PathBuf, KnownConfig>>,
    thread: OnceLock<Arc<ThreadPool>>,
    imports: Mutex<Option<Arc<Imports>>>,
    /// The scripts of projects, by their roots.
    below: Mutex<FxHashMap<PathBuf, KnownScripts>>,
}

struct KnownScripts {
    configs: Arc<Configs>,
    below: Arc<Below>,
}

struct KnownConfig {
    origin: Origin,
    overrides: Config,
    configs: Arc<Configs>,
}

impl Memory {
    /// Forgets what was read from the disk.
    pub fn forget(&self) {
        self.library.forget();
        self.configs.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.below.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Who imports whom, as it was read before where modules lie as they did.
    pub(super) fn imports(&self, project: &Project) -> Arc<Imports> {
        let mut known = self.imports.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(imports) if imports.is_of(&self.library) => imports.clone(),
            _ => known.insert(Arc::new(Imports::of_project(project))).clone(),
        }
    }

    /// The scripts below a root, as they were found before if nothing came or went since.
    pub(super) fn below(&self, root: &Path, configs: &Arc<Configs>) -> Result<Arc<Below>, ConfigError> {
        let mut all = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(root)
            && Arc::ptr_eq(&known.configs, configs)
            && known.below.is_current()
        {
            return Ok(known.below.clone());
        }
        let below = Arc::new(Below::of(root, configs)?);
        all.insert(root.to_owned(), KnownScripts { configs: configs.clone(), below: below.clone() });
        Ok(below)
    }

    /// As they were read before, if no file says anything else since.
    pub(super) fn configs(&self, request: &Request) -> Result<Arc<Configs>, ConfigError> {
        let Request { cwd, origin, overrides, .. } = request;
        let mut all = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(cwd)
            && (&known.origin, &known.overrides) == (origin, overrides)
            && known.configs.is_current()
        {
            return Ok(known.configs.clone());
        }
        let configs = Arc::new(Configs::new(cwd, origin, overrides.clone())?);
        let known =
            KnownConfig { origin: origin.clone(), overrides: overrides.clone(), configs: configs.clone() };
        all.insert(cwd.clone(), known);
        Ok(configs)
    }

    /// The one thread of runs that need no more.
    pub(super) fn thread(&self) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
        if let Some(thread) = self.thread.get() {
            return Ok(thread.clone());
        }
        let thread = Arc::new(run::threads(1)?);
        Ok(self.thread.get_or_init(|| thread).clone())
    }
}
