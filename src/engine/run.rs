//! Files in, outcome out: reads and rehearses in parallel, catches what breaks, and keeps the
//! order of the files whatever the threads do.

use crate::engine::analysis::{self, Analyse, FileReport, Loaded, Project};
use crate::engine::cache::Cache;
use crate::engine::config::ConfigError;
use crate::engine::configs::Configs;
use crate::engine::discovery::{self, Asked, DiscoveryError};
use crate::engine::settings::Settings;
use crate::engine::{FileCounts, Outcome, Problem, Progress, Request, RunError, merge, shown_path};
use crate::report::FileId;
use crate::source::{absolute_from, recorded};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Once};

/// A rehearsal follows calls into calls, each a few frames deep.
const STACK: usize = 64 << 20;

/// Runs trainlint.
pub fn check(request: &Request, progress: &dyn Progress) -> Result<Outcome, RunError> {
    check_with(request, progress, &analysis::analyse)
}

/// The files that a run would look at (`--show-files`).
pub fn files(request: &Request) -> Result<Vec<Asked>, RunError> {
    let configs = configs(request)?;
    let mut files = discovery::discover(&request.cwd, &request.paths, &configs)?;
    if let Some(name) = request.not_on_disk() {
        let path = absolute_from(&request.cwd, name);
        let settings = configs.of_folder(path.parent().unwrap_or(&request.cwd))?;
        if !(settings.force_exclude && settings.exclude.matches_below(&request.cwd, &path)) {
            files.retain(|file| file.path != path);
            files.push(Asked { path, explicit: true, settings });
        }
    }
    Ok(files)
}

/// What is in force for the first of the paths (`--show-settings`).
pub fn settings_for(request: &Request) -> Result<Arc<Settings>, RunError> {
    let configs = configs(request)?;
    let given = request.not_on_disk().or(request.paths.first());
    let path = given.map_or_else(|| request.cwd.clone(), |path| absolute_from(&request.cwd, path));
    let folder = if path.is_dir() { path.as_path() } else { path.parent().unwrap_or(&request.cwd) };
    Ok(configs.of_folder(folder).map_err(DiscoveryError::from)?)
}

/// What applies where, as it was read before where there is a memory.
fn configs(request: &Request) -> Result<Arc<Configs>, ConfigError> {
    match &request.memory {
        Some(memory) => memory.configs(request),
        None => Configs::new(&request.cwd, &request.origin, request.overrides.clone()).map(Arc::new),
    }
}

/// A single script should not pay for threads that it can't use.
fn pool(request: &Request, files: usize) -> Result<Arc<ThreadPool>, ThreadPoolBuildError> {
    let most = if files < 2 { 1 } else { request.threads };
    match &request.memory {
        Some(memory) if most == 1 => memory.thread(),
        _ => threads(most).map(Arc::new),
    }
}

/// Zero for as many as the machine has.
pub fn threads(count: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(count).stack_size(STACK).build()
}

/// Runs the engine on a rehearsal of the caller's choice.
pub fn check_with(
    request: &Request,
    progress: &dyn Progress,
    analyse: Analyse<'_>,
) -> Result<Outcome, RunError> {
    let asked = files(request)?;
    for file in &asked {
        file.settings.read_tables().map_err(RunError::Tables)?;
    }
    let pool = pool(request, asked.len())?;
    let library = request.memory.as_ref().map(|memory| memory.library.clone());
    let project = library.map_or_else(Project::new, Project::from_library);
    let (mut counts, mut problems) = (FileCounts::default(), Vec::new());
    let load = |file: &Asked| load(request, file);
    let loaded = pool.install(|| asked.par_iter().map(load).collect::<Vec<_>>());
    let mut entries = Vec::new();
    for (file, loaded) in asked.iter().zip(loaded) {
        match loaded {
            Loaded::Source(source) => entries.push((project.add(source), file)),
            Loaded::Skipped => counts.skipped += 1,
            Loaded::Quiet => counts.checked += 1,
            Loaded::Unreadable(error) => problems.push(Problem {
                path: shown_path(&request.cwd, &file.path),
                message: error.to_string(),
                fatal: file.explicit,
            }),
        }
    }
    let cache = open_cache(request);
    progress.start(entries.len());
    let reports: Vec<Result<FileReport, String>> = pool.install(|| {
        let one = |(id, file): &(FileId, &Asked)| {
            let report = rehearse(cache.as_ref(), &project, *id, file, analyse);
            progress.step();
            report
        };
        entries.par_iter().map(one).collect()
    });
    progress.finish();
    if let Some(cache) = cache {
        cache.save(&project);
    }
    let mut done = Vec::new();
    for ((id, file), report) in entries.iter().zip(reports) {
        match report {
            Ok(report) => {
                counts.checked += 1;
                counts.incomplete += usize::from(report.out_of_fuel);
                done.push((*id, report));
            }
            Err(message) => problems.push(Problem {
                path: shown_path(&request.cwd, &file.path),
                message: format!("internal error, please report it: {message}"),
                fatal: true,
            }),
        }
    }
    let mut outcome = merge::merge(&request.cwd, &project, &asked, done);
    (outcome.files, outcome.problems) = (counts, problems);
    if request.memory.is_some() {
        outcome.reached = project.paths();
    }
    Ok(outcome)
}

impl Request {
    /// A script that need not be a file.
    fn not_on_disk(&self) -> Option<&PathBuf> {
        self.stdin.as_ref().map(|(name, _)| name).or(self.buffer.as_ref())
    }
}

/// Contents that no disk holds are not worth remembering.
fn open_cache(request: &Request) -> Option<Cache> {
    let is_on_disk = request.stdin.is_none() && request.memory.is_none() && request.contents.is_empty();
    request.cache.as_ref().filter(|_| is_on_disk).map(Cache::open)
}

/// What an earlier run found in a file, or what its rehearsal finds now.
fn rehearse(
    cache: Option<&Cache>,
    project: &Project,
    id: FileId,
    file: &Asked,
    analyse: Analyse<'_>,
) -> Result<FileReport, String> {
    let Some(cache) = cache else { return guarded(|| analyse(project, id, &file.settings)) };
    if let Some(report) = cache.find(project, id, &file.settings) {
        return Ok(report);
    }
    let (report, reads) = recorded(|| guarded(|| analyse(project, id, &file.settings)));
    let report = report?;
    cache.keep(project, id, &file.settings, &report, reads);
    Ok(report)
}

fn load(request: &Request, file: &Asked) -> Loaded {
    let gate = file.settings.gate();
    if let Some(bytes) = request.contents.get(&file.path) {
        return analysis::load_changed(&file.path, bytes);
    }
    let held = || request.memory.as_ref()?.library.held(&file.path);
    if request.buffer.is_some()
        && let Some(source) = held()
    {
        return gate.pass(source);
    }
    let piped = request.stdin.as_ref().filter(|(name, _)| absolute_from(&request.cwd, name) == file.path);
    analysis::load(&file.path, piped.map(|(_, bytes)| bytes.as_slice()), gate)
}

thread_local! {
    /// What the panic of a rehearsal said; set only while one runs on this thread.
    static LAST_WORDS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a piece of work; a panic becomes its message and place, and nothing is printed.
pub fn guarded<T>(rehearse: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let caught = LAST_WORDS.with_borrow_mut(|words| {
                words.as_mut().map(|words| *words = info.to_string().replace('\n', " ")).is_some()
            });
            if !caught {
                usual(info);
            }
        }));
    });
    LAST_WORDS.set(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(rehearse));
    let words = LAST_WORDS.take();
    result.map_err(|_| words.unwrap_or_default())
}
