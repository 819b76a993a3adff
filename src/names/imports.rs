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

/// Whether what a text does is worth following by those who import it; the same for all questions.
pub type Worth<'a> = &'a (dyn Fn(&str) -> bool + Sync);

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
    is_worth: bool,
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
    pub fn lead_to_worth(&self, path: &Path, text: &str, worth: Worth<'_>) -> bool {
        let mut open = self.targets(path, text);
        let mut seen: FxHashSet<PathBuf> = open.iter().cloned().collect();
        for _ in 0..DEPTH {
            let mut next = Vec::new();
            for file in open {
                let known = self.known(&file, worth);
                if known.is_worth {
                    return true;
                }
                next.extend(known.targets.iter().filter(|target| seen.insert((*target).clone())).cloned());
            }
            open = next;
        }
        false
    }

    /// Those of `files` that import one of `of`, themselves or through others, nearest first.
    pub fn importers(&self, files: &[PathBuf], of: &[PathBuf], worth: Worth<'_>) -> Vec<PathBuf> {
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
    pub fn speak_of_gpus(&self, files: &[PathBuf], worth: Worth<'_>) -> bool {
        files.par_iter().any(|file| self.known(file, worth).speaks_of_gpus)
    }

    /// What a file on the disk imports, asked once for each version of it.
    fn known(&self, path: &Path, worth: Worth<'_>) -> Arc<Known> {
        let all = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = Stamp::of(path);
        if let Some(known) = all().get(path).filter(|known| known.stamp == stamp) {
            return known.clone();
        }
        let source = SourceFile::read(path).ok();
        let text = source.as_ref().map_or("", |source| &source.text);
        let targets = self.targets(path, text);
        let known = Known { stamp, targets, is_worth: worth(text), speaks_of_gpus: speaks_of_gpus(text) };
        let known = Arc::new(known);
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
