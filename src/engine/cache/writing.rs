//! The next store: what this run rehearsed, and of other scripts that are still there what the last
//! store says, whether they were asked for or not.

use super::store::{File, Goal, Script, Store};
use super::{Cache, Keep, Kept};
use crate::engine::analysis::{Project, Target};
use crate::engine::disk;
use crate::report::FileId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::PoisonError;

/// The file of the store.
pub(crate) const NAME: &str = "findings";

impl Cache {
    /// Writes the store where this run has news; where it can't be written, nothing happens.
    pub fn save(self, project: &Project) {
        let kept = std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner));
        let has_news = !kept.is_empty();
        let store = if has_news { self.next(project, kept) } else { self.store };
        match &self.keep {
            Keep::Disk { folder, is_named, build } if has_news => {
                let bytes = |seal: u64| store.to_bytes(*build ^ seal);
                disk::write_cache(folder, NAME, *is_named, bytes);
            }
            Keep::Disk { .. } => {}
            Keep::Memory(recall) => *recall.0.lock().unwrap_or_else(PoisonError::into_inner) = store,
        }
    }

    fn next(&self, project: &Project, mut kept: Vec<Kept>) -> Store {
        // The same bytes whatever the threads did.
        kept.sort_by(|a, b| (&a.path, a.settings).cmp(&(&b.path, b.settings)));
        let mut draft = Draft::new(project);
        for kept in &kept {
            draft.add(kept, |path| self.text(path));
        }
        let rehearsed: FxHashSet<(&str, u128)> =
            kept.iter().map(|kept| (kept.path.as_str(), kept.settings)).collect();
        for script in &self.store.scripts {
            let path = self.path(script.path).filter(|path| !rehearsed.contains(&(path, script.settings)));
            if path.is_some_and(|path| Path::new(path).exists()) {
                draft.take_over(&self.store, script);
            }
        }
        draft.finish()
    }
}

/// A store while it grows.
struct Draft<'a> {
    project: &'a Project,
    store: Store,
    paths: FxHashMap<String, u32>,
    /// Files by path and state: a script of the last store may have seen another state.
    files: FxHashMap<(u32, u64), u32>,
    imports: FxHashMap<FileId, Vec<(u32, Option<String>, Target)>>,
    members: FxHashMap<Target, Vec<(String, Option<Target>)>>,
    /// What is said of a file in this run, by its place among the files.
    of_run: FxHashMap<Target, Option<u32>>,
}

impl<'a> Draft<'a> {
    fn new(project: &'a Project) -> Draft<'a> {
        let mut imports: FxHashMap<FileId, Vec<_>> = FxHashMap::default();
        for ((from, level, module), target) in project.imports() {
            let module = module.map(|module| module.to_string());
            imports.entry(from).or_default().push((level, module, target));
        }
        let mut members: FxHashMap<Target, Vec<_>> = FxHashMap::default();
        for ((of, name), target) in project.members() {
            members.entry(of).or_default().push((name.to_string(), target));
        }
        let (store, paths, files, of_run) = Default::default();
        Draft { project, store, paths, files, imports, members, of_run }
    }

    fn add(&mut self, kept: &Kept, text: impl Fn(&Path) -> Option<u64>) {
        let files = kept.files.iter().map(|file| Target::File(*file));
        let folders = kept.reads.folders.iter().map(|folder| Target::Namespace(folder.clone()));
        let reads: Option<Vec<u32>> = files.chain(folders).map(|read| self.file(read)).collect();
        // What has a name that is no text can't be asked for again.
        let Some(reads) = reads else { return };
        let mut texts = Vec::new();
        for path in &kept.reads.texts {
            let Some(name) = path.to_str() else { return };
            texts.push((self.path(name), text(path)));
        }
        let (path, report) = (self.path(&kept.path), kept.report.clone());
        self.store.scripts.push(Script {
            path,
            settings: kept.settings,
            pins: kept.pins,
            reads,
            texts,
            report,
        });
    }

    /// A file or a folder as this run saw it, by its place among the files.
    fn file(&mut self, read: Target) -> Option<u32> {
        if let Some(known) = self.of_run.get(&read) {
            return *known;
        }
        let at = self.describe(&read).map(|file| self.insert(file));
        self.of_run.insert(read, at);
        at
    }

    fn describe(&mut self, read: &Target) -> Option<File> {
        let project = self.project;
        let (path, digest, name) = match read {
            Target::File(id) => {
                let name = project.module_name(*id).map(|name| name.to_string());
                (project.path(*id), Some(project.source(*id).digest()), name)
            }
            Target::Namespace(folder) => (folder.as_path(), None, None),
            Target::Outside => return None,
        };
        let path = self.path(path.to_str()?);
        let mut imports = Vec::new();
        if let Target::File(id) = read {
            for (level, module, target) in self.imports.remove(id).unwrap_or_default() {
                imports.push((level, module, self.goal(&target)?));
            }
        }
        let mut members = Vec::new();
        for (name, target) in self.members.remove(read).unwrap_or_default() {
            let goal = match target {
                Some(target) => Some(self.goal(&target)?),
                None => None,
            };
            members.push((name, goal));
        }
        // By name, since places in the table of paths say nothing.
        imports.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        members.sort();
        Some(File { path, digest, name, imports, members })
    }

    fn goal(&mut self, target: &Target) -> Option<Goal> {
        Some(match target {
            Target::File(id) => Goal::File(self.path(self.project.path(*id).to_str()?)),
            Target::Namespace(folder) => Goal::Folder(self.path(folder.to_str()?)),
            Target::Outside => Goal::Outside,
        })
    }

    fn insert(&mut self, file: File) -> u32 {
        let next = self.store.files.len() as u32;
        let at = *self.files.entry((file.path, file.state())).or_insert(next);
        if at == next {
            self.store.files.push(file);
        }
        at
    }

    fn path(&mut self, path: &str) -> u32 {
        if let Some(known) = self.paths.get(path) {
            return *known;
        }
        let next = self.store.paths.len() as u32;
        self.store.paths.push(path.to_owned());
        self.paths.insert(path.to_owned(), next);
        next
    }

    /// A script of the last store, with what is said there of its files.
    fn take_over(&mut self, last: &Store, script: &Script) -> Option<()> {
        let mut reads = Vec::new();
        for read in &script.reads {
            let file = self.translated(last, last.files.get(*read as usize)?)?;
            reads.push(self.insert(file));
        }
        let mut texts = Vec::new();
        for (path, digest) in &script.texts {
            texts.push((self.path(last.paths.get(*path as usize)?), *digest));
        }
        let path = self.path(last.paths.get(script.path as usize)?);
        let (settings, pins, report) = (script.settings, script.pins, script.report.clone());
        self.store.scripts.push(Script { path, settings, pins, reads, texts, report });
        Some(())
    }

    /// The same file with the paths of this store.
    fn translated(&mut self, last: &Store, file: &File) -> Option<File> {
        let mut moved = |at: u32| last.paths.get(at as usize).map(|path| self.path(path));
        let mut goal = |goal: Goal| {
            Some(match goal {
                Goal::File(at) => Goal::File(moved(at)?),
                Goal::Folder(at) => Goal::Folder(moved(at)?),
                Goal::Outside => Goal::Outside,
            })
        };
        let mut imports = Vec::new();
        for (level, module, to) in &file.imports {
            imports.push((*level, module.clone(), goal(*to)?));
        }
        let mut members = Vec::new();
        for (name, to) in &file.members {
            let to = match to {
                Some(to) => Some(goal(*to)?),
                None => None,
            };
            members.push((name.clone(), to));
        }
        let path = moved(file.path)?;
        Some(File { path, digest: file.digest, name: file.name.clone(), imports, members })
    }

    fn finish(self) -> Store {
        self.store
    }
}
