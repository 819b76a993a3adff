//! What the last runs found. A script's findings are taken over when everything that its rehearsal
//! read is as it was: the script, the files of the project that it reached, where their imports lead,
//! configuration files, pinned releases, settings and trainlint itself. Contents are compared, never
//! times. Nothing here fails: without a cache, or with a broken one, the rehearsal runs.

mod report;
mod store;
mod writing;

use crate::engine::analysis::{FileReport, Project, Target};
use crate::engine::disk;
use crate::engine::settings::{Ready, Settings};
use crate::report::FileId;
use crate::source::{Reads, read_text};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use store::{File, Goal, Script, Store};
use ustr::ustr;
use xxhash_rust::xxh3::xxh3_64;

/// Where a cache lies, and for which trainlint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    /// The user named the folder, and trusts what is in it. Any other lies in the project, which may be a stranger's:
    /// there only what was written on this machine counts.
    pub is_named: bool,
    /// Anything that differs between two builds.
    pub build: String,
}

/// Whether a folder says that it is a cache of trainlint.
pub fn is_cache(folder: &Path) -> bool {
    disk::is_cache(folder)
}

/// Removes what trainlint wrote into a cache, and nothing else; whether the folder is gone.
pub fn remove(folder: &Path) -> std::io::Result<bool> {
    disk::remove_cache(folder, writing::NAME)
}

/// What the checks of one process hand on to each other, such as the attempts of a fix.
#[derive(Default)]
pub struct Recall(Mutex<Store>);

impl Recall {
    /// What the last run left.
    pub fn of(place: &Place) -> Recall {
        Recall(Mutex::new(stored(place)))
    }
}

/// Where what a run found is kept.
enum Keep {
    Disk { folder: PathBuf, is_named: bool, build: u64 },
    Memory(Arc<Recall>),
}

pub struct Cache {
    keep: Keep,
    store: Store,
    /// What a file of the store is in this run, if it is as the store says; asked once.
    checked: Vec<OnceLock<Option<Target>>>,
    /// By path and settings.
    scripts: FxHashMap<(String, u128), usize>,
    /// By path.
    texts: Mutex<FxHashMap<PathBuf, Option<u64>>>,
    /// What this run rehearsed, for the next store.
    kept: Mutex<Vec<Kept>>,
}

/// A script of this run, with what its rehearsal read.
struct Kept {
    path: String,
    settings: u128,
    pins: u64,
    reads: Reads,
    /// The files among the reads, the script itself first.
    files: Vec<FileId>,
    report: Vec<u8>,
}

impl Cache {
    pub fn open(place: &Place) -> Cache {
        let (folder, is_named) = (place.folder.clone(), place.is_named);
        Cache::on(stored(place), Keep::Disk { folder, is_named, build: digest(place) })
    }

    pub fn recalled(recall: &Arc<Recall>) -> Cache {
        let store = std::mem::take(&mut *recall.0.lock().unwrap_or_else(PoisonError::into_inner));
        Cache::on(store, Keep::Memory(recall.clone()))
    }

    fn on(store: Store, keep: Keep) -> Cache {
        let path = |script: &Script| store.paths.get(script.path as usize).cloned().unwrap_or_default();
        let scripts = store.scripts.iter().enumerate();
        let scripts = scripts.map(|(at, script)| ((path(script), script.settings), at)).collect();
        let checked = store.files.iter().map(|_| OnceLock::new()).collect();
        let (texts, kept) = (Mutex::default(), Mutex::default());
        Cache { keep, store, checked, scripts, texts, kept }
    }

    /// What a run found in a script, if it would find the same now.
    pub fn find(&self, project: &Project, file: FileId, settings: &Ready) -> Option<FileReport> {
        let path = project.path(file).to_str()?.to_owned();
        let script = &self.store.scripts[*self.scripts.get(&(path, settings.digest()))?];
        let mut files = Vec::with_capacity(script.reads.len());
        for read in &script.reads {
            if let Target::File(id) = self.check(project, *read)? {
                files.push(*id);
            }
        }
        let text = |(path, digest): &(u32, Option<u64>)| {
            self.path(*path).is_some_and(|path| self.text(Path::new(path)) == *digest)
        };
        let same = script.pins == pins(project, file, settings) && script.texts.iter().all(text);
        same.then(|| report::from_bytes(&script.report, &files))?
    }

    /// Remembers what a rehearsal found and read.
    pub fn keep(&self, project: &Project, file: FileId, settings: &Ready, found: &FileReport, reads: Reads) {
        let mut files = vec![file];
        files.extend(reads.files.iter().copied().filter(|read| *read != file));
        let (Some(path), Some(report)) = (project.path(file).to_str(), report::to_bytes(found, &files))
        else {
            return;
        };
        let (path, pins, settings) = (path.to_owned(), pins(project, file, settings), settings.digest());
        let kept = Kept { path, settings, pins, reads, files, report };
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
    }

    fn path(&self, at: u32) -> Option<&str> {
        self.store.paths.get(at as usize).map(String::as_str)
    }

    /// A file of the store in this run; none where it is not as it was.
    fn check(&self, project: &Project, at: u32) -> Option<&Target> {
        let (file, checked) = (self.store.files.get(at as usize)?, self.checked.get(at as usize)?);
        checked.get_or_init(|| self.same(project, file)).as_ref()
    }

    fn same(&self, project: &Project, file: &File) -> Option<Target> {
        let path = Path::new(self.path(file.path)?);
        let of = match file.digest {
            None => Target::Namespace(path.to_owned()),
            Some(digest) => {
                let id = project.open(path)?;
                let name = project.module_name(id);
                let import = |(level, module, goal): &(u32, Option<String>, Goal)| {
                    self.is_goal(project, &project.resolve(id, *level, module.as_deref().map(ustr)), *goal)
                };
                let same = project.source(id).digest() == digest
                    && name.as_deref() == file.name.as_deref()
                    && file.imports.iter().all(import);
                same.then_some(Target::File(id))?
            }
        };
        let member = |(name, goal): &(String, Option<Goal>)| match (project.submodule(&of, ustr(name)), goal)
        {
            (Some(target), Some(goal)) => self.is_goal(project, &target, *goal),
            (target, goal) => target.is_none() && goal.is_none(),
        };
        file.members.iter().all(member).then_some(of)
    }

    fn is_goal(&self, project: &Project, target: &Target, goal: Goal) -> bool {
        let is = |path: &Path, at: u32| self.path(at).is_some_and(|goal| path == Path::new(goal));
        match (target, goal) {
            (Target::File(id), Goal::File(at)) => is(project.path(*id), at),
            (Target::Namespace(folder), Goal::Folder(at)) => is(folder, at),
            (Target::Outside, Goal::Outside) => true,
            _ => false,
        }
    }

    fn text(&self, path: &Path) -> Option<u64> {
        let known = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known().get(path) {
            return *digest;
        }
        let digest = read_text(path).map(|text| xxh3_64(text.as_bytes()));
        known().insert(path.to_owned(), digest);
        digest
    }
}

fn digest(place: &Place) -> u64 {
    xxh3_64(place.build.as_bytes())
}

/// The store of the last run; an empty one where it is broken.
fn stored(place: &Place) -> Store {
    let stored = disk::read_cache(&place.folder, writing::NAME, place.is_named);
    stored.and_then(|(bytes, seal)| Store::from_bytes(&bytes, digest(place) ^ seal)).unwrap_or_default()
}

/// Stands for the releases that the project around a script asks for.
fn pins(project: &Project, file: FileId, settings: &Settings) -> u64 {
    let path = project.path(file);
    let pins = settings.pinned.of_file(path);
    xxh3_64(format!("{pins:?}").as_bytes())
}
