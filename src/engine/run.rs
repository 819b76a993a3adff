//! Files in, outcome out: reads and rehearses in parallel, catches what breaks, and keeps the
//! order of the files whatever the threads do.

use crate::engine::analysis::{self, Analyse, FileReport, Imports, Loaded, Project};
use crate::engine::around::{self, Around};
use crate::engine::cache::Cache;
use crate::engine::config::ConfigError;
use crate::engine::configs::Configs;
use crate::engine::discovery::{self, Asked, DiscoveryError};
use crate::engine::settings::{Ready, Settings, TableError};
use crate::engine::unmatched::unmatched;
use crate::engine::{FileCounts, Outcome, Problem, Progress, Request, RunError, merge, shown_path};
use crate::report::FileId;
use crate::source::{Stopped, absolute_from, recorded};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Once};
use thiserror::Error;

/// A rehearsal follows calls into calls, each a few frames deep.
const STACK: usize = 64 << 20;

/// Runs trainlint.
pub fn check(request: &Request, progress: &dyn Progress) -> Result<Outcome, RunError> {
    check_with(request, progress, &analysis::analyse)
}

/// The files that a run would look at (`--show-files`).
pub fn files(request: &Request) -> Result<Vec<Asked>, RunError> {
    asked(request, &*configs(request)?)
}

fn asked(request: &Request, configs: &Configs) -> Result<Vec<Asked>, RunError> {
    let mut files = discovery::discover(&request.cwd, &request.paths, configs)?;
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
pub(crate) fn threads(count: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    rayon::ThreadPoolBuilder::new().num_threads(count).stack_size(STACK).build()
}

/// Runs the engine on a rehearsal of the caller's choice.
pub fn check_with(
    request: &Request,
    progress: &dyn Progress,
    analyse: Analyse<'_>,
) -> Result<Outcome, RunError> {
    let configs = configs(request)?;
    let asked = asked(request, &configs)?;
    let library = request.memory.as_ref().map(|memory| memory.library.clone());
    let project = library.map_or_else(Project::new, Project::from_library);
    let imports = imports(request, &project);
    let around = around(request, &configs, &imports, &asked)?;
    let mut jobs = jobs(&asked, true)?;
    jobs.extend(self::jobs(&around.importers, false)?);
    let pool = pool(request, jobs.len())?;
    let mut run = Run { request, project, counts: FileCounts::default(), problems: Vec::new() };
    let loaded = pool.install(|| jobs.par_iter().map(|job| load(request, &imports, job)).collect());
    let entries = run.admit(&jobs, loaded);
    let cache = open_cache(request);
    progress.start(entries.len());
    let mut reports = Vec::with_capacity(entries.len());
    let mut left = &entries[..];
    while !left.is_empty() {
        let (batch, rest) = left.split_at(first_batch(&run.project, left));
        let one = |(id, job): &(FileId, &Job)| {
            let report = rehearse(request, cache.as_ref(), &run.project, *id, job, analyse);
            progress.step();
            report
        };
        reports.extend(pool.install(|| batch.par_iter().map(one).collect::<Vec<_>>()));
        left = rest;
        if !left.is_empty() {
            run.project.set_aside();
        }
    }
    progress.finish();
    if let Some(cache) = cache {
        cache.save(&run.project);
    }
    let done = run.collect(&entries, reports);
    Ok(run.outcome(&asked, done, around.on_gpus))
}

/// After so many bytes of scripts what they were parsed into is forgotten: a tree takes many times what its text does,
/// and most of a large run's scripts have nothing to do with each other.
const BATCH: usize = 16 << 20;

/// How many files come first. They end with a folder, since the scripts of one import the same files.
fn first_batch(project: &Project, entries: &[(FileId, &Job)]) -> usize {
    let mut bytes = 0;
    for (at, (id, job)) in entries.iter().enumerate() {
        let is_new_folder = at > 0 && entries[at - 1].1.file.path.parent() != job.file.path.parent();
        if bytes > 2 * BATCH || bytes > BATCH && is_new_folder {
            return at;
        }
        bytes += project.source(*id).text.len();
    }
    entries.len()
}

/// Who imports whom, as it was read before where there is a memory.
fn imports(request: &Request, project: &Project) -> Arc<Imports> {
    match &request.memory {
        Some(memory) => memory.imports(project),
        None => Arc::new(Imports::of_project(project)),
    }
}

/// Scripts that call what was asked for, and what the project says beside.
fn around(
    request: &Request,
    configs: &Arc<Configs>,
    imports: &Imports,
    asked: &[Asked],
) -> Result<Around, TableError> {
    let Some(first) = asked.first() else { return Ok(Around::default()) };
    let settings = first.settings.ready()?;
    Ok(around::around(request, configs, imports, asked, settings.gate()))
}

/// Why a rehearsal did not come to its end.
#[derive(Debug, Error)]
enum Broken {
    #[error(transparent)]
    Panicked(#[from] Panicked),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A file to rehearse, with what that needs of its settings.
struct Job<'a> {
    file: &'a Asked,
    settings: Ready,
    /// It counts for itself, and not only for what it says of others.
    is_asked: bool,
}

fn jobs(files: &[Asked], is_asked: bool) -> Result<Vec<Job<'_>>, TableError> {
    files.iter().map(|file| Ok(Job { file, settings: file.settings.ready()?, is_asked })).collect()
}

/// What has become of the files so far.
struct Run<'a> {
    request: &'a Request,
    project: Project,
    counts: FileCounts,
    problems: Vec<Problem>,
}

impl Run<'_> {
    /// The files that are to be rehearsed.
    fn admit<'a>(&mut self, jobs: &'a [Job<'a>], loaded: Vec<Loaded>) -> Vec<(FileId, &'a Job<'a>)> {
        let mut entries = Vec::new();
        for (job, loaded) in jobs.iter().zip(loaded) {
            match loaded {
                Loaded::Source(source) => entries.push((self.project.add(source), job)),
                _ if !job.is_asked => {}
                Loaded::Skipped => self.counts.skipped += 1,
                Loaded::Unreadable(error) => self.complain(job.file, error.to_string(), job.file.explicit),
            }
        }
        entries
    }

    /// The reports of the rehearsals that came to an end.
    fn collect(
        &mut self,
        entries: &[(FileId, &Job)],
        reports: Vec<Result<FileReport, Broken>>,
    ) -> Vec<(FileId, FileReport)> {
        let mut done = Vec::new();
        for ((id, job), report) in entries.iter().zip(reports) {
            match report {
                Ok(report) => {
                    self.counts.checked += usize::from(job.is_asked);
                    self.counts.incomplete += usize::from(job.is_asked && report.out_of_fuel);
                    done.push((*id, report));
                }
                Err(broken) => {
                    let is_stopped = matches!(broken, Broken::Stopped(_));
                    self.counts.stopped += usize::from(is_stopped);
                    if job.is_asked {
                        self.complain(job.file, broken.to_string(), !is_stopped || job.file.explicit);
                    }
                }
            }
        }
        done
    }

    fn complain(&mut self, file: &Asked, message: String, fatal: bool) {
        self.problems.push(Problem { path: shown_path(&self.request.cwd, &file.path), message, fatal });
    }

    fn outcome(self, asked: &[Asked], done: Vec<(FileId, FileReport)>, on_gpus: bool) -> Outcome {
        let mut outcome = merge::merge(self.request, &self.project, asked, done, on_gpus);
        (outcome.files, outcome.problems) = (self.counts, self.problems);
        outcome.unmatched = unmatched(&self.project, &self.request.overrides.values);
        if self.request.memory.is_some() {
            outcome.reached = self.project.paths();
        }
        outcome
    }
}

impl Request {
    /// A script that need not be a file.
    fn not_on_disk(&self) -> Option<&PathBuf> {
        self.stdin.as_ref().map(|(name, _)| name).or(self.buffer.as_ref())
    }
}

/// Contents that no disk holds are not worth remembering.
fn open_cache(request: &Request) -> Option<Cache> {
    if let Some(recall) = &request.recall {
        return Some(Cache::recalled(recall));
    }
    let is_on_disk = request.stdin.is_none() && request.memory.is_none() && request.contents.is_empty();
    request.cache.as_ref().filter(|_| is_on_disk).map(Cache::open)
}

/// What an earlier run found in a file, or what its rehearsal finds now.
fn rehearse(
    request: &Request,
    cache: Option<&Cache>,
    project: &Project,
    id: FileId,
    job: &Job,
    analyse: Analyse<'_>,
) -> Result<FileReport, Broken> {
    let analysed = || -> Result<FileReport, Broken> {
        Ok(guarded(|| request.patience.spend(|| analyse(project, id, &job.settings)))??)
    };
    let Some(cache) = cache else { return analysed() };
    if let Some(report) = cache.find(project, id, &job.settings) {
        return Ok(report);
    }
    let (report, reads) = recorded(analysed);
    let report = report?;
    cache.keep(project, id, &job.settings, &report, reads);
    Ok(report)
}

fn load(request: &Request, imports: &Imports, job: &Job) -> Loaded {
    let (path, gate) = (&job.file.path, job.settings.gate());
    if !job.is_asked
        && let Some(memory) = &request.memory
    {
        return memory.library.source(path).map_or(Loaded::Skipped, |source| gate.pass(source, imports));
    }
    if let Some(bytes) = request.contents.get(path) {
        return analysis::load_changed(path, bytes);
    }
    let held = || request.memory.as_ref()?.library.held(path);
    if request.buffer.is_some()
        && let Some(source) = held()
    {
        return gate.pass(source, imports);
    }
    let piped = request.stdin.as_ref().filter(|(name, _)| absolute_from(&request.cwd, name) == *path);
    analysis::load(path, piped.map(|(_, bytes)| bytes.as_slice()), gate, imports)
}

thread_local! {
    /// What the panic of a rehearsal said; set only while one runs on this thread.
    static LAST_WORDS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A piece of work that has panicked: its message and place, for whoever is to repair it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("internal error, please report it: {what}")]
pub struct Panicked {
    pub what: String,
}

/// Runs a piece of work; a panic becomes an error, and nothing is printed.
pub fn guarded<T>(rehearse: impl FnOnce() -> T) -> Result<T, Panicked> {
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
    result.map_err(|_| Panicked { what: words.unwrap_or_default() })
}
