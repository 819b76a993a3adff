//! Which files of a project import which, read off the lines of their texts: who may call what a file defines,
//! and whether a script that names no framework leads to a file that trains with one.

use super::lookup::{Found, Lookup};
use super::{Library, Project};
use crate::source::{ImportLine, SourceFile, Stamp, import_lines, speaks_of_gpus};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Imports of imports are followed so far; packages that hand on what their modules define do not count.
const DEPTH: usize = 3;

/// What is asked of the texts that others import; the same for all questions.
pub trait Worth: Sync {
    fn names_framework(&self, text: &str) -> bool;

    /// Whether a text does what some rule is about.
    fn tells(&self, text: &str) -> bool;
}

/// The imports of the files that were asked about.
#[derive(Default)]
pub struct Imports {
    lookup: Arc<Lookup>,
    known: Mutex<FxHashMap<PathBuf, Arc<Known>>>,
}

struct Known {
    stamp: Option<Stamp>,
    /// Files of the project.
    targets: Vec<PathBuf>,
    /// Those that hand all of their names on to it.
    stars: Vec<PathBuf>,
    names_framework: bool,
    tells: bool,
    speaks_of_gpus: bool,
}

impl Imports {
    pub fn of_project(project: &Project) -> Imports {
        Imports { lookup: project.lookup(), known: Mutex::default() }
    }

    /// Whether they were looked up where modules lie now.
    pub fn is_of(&self, library: &Library) -> bool {
        Arc::ptr_eq(&self.lookup, &library.lookup())
    }

    /// The nearest folder around a file that says that it is a project's root.
    pub fn root_of(&self, file: &Path) -> Option<PathBuf> {
        self.lookup.marked_root(file.parent()?)
    }

    /// Whether a text imports a file of the project that is worth it, itself or through others.
    pub fn lead_to_worth(&self, path: &Path, text: &str, worth: &dyn Worth) -> bool {
        let mut open = self.targets(path, text);
        let mut seen: FxHashSet<PathBuf> = open.iter().cloned().collect();
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for file in open {
                let known = self.known(&file, worth);
                if known.tells && (known.names_framework || self.receive_framework(&known.stars, worth)) {
                    return true;
                }
                next.extend(known.targets.iter().filter(|target| seen.insert((*target).clone())).cloned());
            }
            open = next;
        }
        false
    }

    /// Whether `from utils import *` makes a framework's names a text's own.
    pub fn hand_on_framework(&self, path: &Path, text: &str, worth: &dyn Worth) -> bool {
        self.receive_framework(&self.stars(path, text), worth)
    }

    fn receive_framework(&self, stars: &[PathBuf], worth: &dyn Worth) -> bool {
        let mut open = stars.to_vec();
        for _ in 0..DEPTH {
            let known: Vec<Arc<Known>> = open.iter().map(|file| self.known(file, worth)).collect();
            if known.iter().any(|known| known.names_framework) {
                return true;
            }
            open = known.iter().flat_map(|known| known.stars.iter().cloned()).collect();
            open.sort_unstable();
            open.dedup();
        }
        false
    }

    /// Those of `files` that import one of `of`, themselves or through others, nearest first.
    pub fn importers(&self, files: &[PathBuf], of: &[PathBuf], worth: &dyn Worth) -> Vec<PathBuf> {
        let known: Vec<Arc<Known>> = files.par_iter().map(|file| self.known(file, worth)).collect();
        let mut importers: FxHashMap<&Path, Vec<&Path>> = FxHashMap::default();
        for (file, known) in files.iter().zip(&known) {
            for target in &known.targets {
                importers.entry(target).or_default().push(file);
            }
        }
        let mut seen: FxHashSet<&Path> = of.iter().map(PathBuf::as_path).collect();
        let mut found = Vec::new();
        let mut open: Vec<&Path> = of.iter().map(PathBuf::as_path).collect();
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            while let Some(file) = open.pop() {
                for importer in importers.get(file).into_iter().flatten().filter(|one| seen.insert(one)) {
                    let hands_on = importer.ends_with("__init__.py");
                    if hands_on { open.push(importer) } else { next.push(*importer) }
                }
            }
            next.sort_unstable();
            found.extend(next.iter().map(|path| path.to_path_buf()));
            open = next;
        }
        found
    }

    /// Whether any of `files` speaks of GPUs.
    pub fn speak_of_gpus(&self, files: &[PathBuf], worth: &dyn Worth) -> bool {
        files.par_iter().any(|file| self.known(file, worth).speaks_of_gpus)
    }

    /// What a file on the disk imports, asked once for each version of it.
    fn known(&self, path: &Path, worth: &dyn Worth) -> Arc<Known> {
        let all = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(path);
        if let Some(known) = all().get(path).filter(|known| known.stamp == stamp) {
            return known.clone();
        }
        let source = SourceFile::read(path).ok();
        let text = source.as_ref().map_or("", |source| &source.text);
        let (targets, stars) = (self.targets(path, text), self.stars(path, text));
        let names_framework = worth.names_framework(text);
        // Most files of a project name none and receive none: what they do is not asked.
        let tells = (names_framework || !stars.is_empty()) && worth.tells(text);
        let speaks_of_gpus = speaks_of_gpus(text);
        let known = Arc::new(Known { stamp, targets, stars, names_framework, tells, speaks_of_gpus });
        all().insert(path.to_owned(), known.clone());
        known
    }

    fn targets(&self, path: &Path, text: &str) -> Vec<PathBuf> {
        let mut targets: Vec<PathBuf> =
            import_lines(text).iter().flat_map(|line| self.leads(path, line)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    fn stars(&self, path: &Path, text: &str) -> Vec<PathBuf> {
        let lines = import_lines(text);
        let all = lines.iter().filter(|line| line.names.contains(&"*"));
        all.flat_map(|line| self.leads(path, line)).collect()
    }

    /// The files that a line imports: the module, and those of the names that are modules in it.
    fn leads(&self, path: &Path, line: &ImportLine) -> Vec<PathBuf> {
        let module = (!line.module.is_empty()).then_some(line.module);
        let Some(module) = self.lookup.import(path, line.level, module) else { return Vec::new() };
        let parts = line.names.iter().filter_map(|name| self.lookup.step(&module, name));
        let parts: Vec<PathBuf> = parts.filter_map(file_of).collect();
        parts.into_iter().chain(file_of(module)).collect()
    }
}

fn file_of(found: Found) -> Option<PathBuf> {
    match found {
        Found::File(path) => Some(path),
        Found::Folder(_) => None,
    }
}
