//! The files of a project, read and parsed when they are first needed, shared by threads.
//! Ids are given in the order of arrival, which threads may change: nothing shown may depend
//! on it.

use super::library::{Library, Parsed, Volume};
use super::lookup::{Found, Lookup};
use super::{Names, Origin, Relations};
use crate::report::{FileId, Span};
use crate::source::{SourceFile, absolute, note_file, note_folder};
use crate::syntax::{ExprId, FnId, Tree};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use ustr::{Ustr, ustr};

/// One parsed file.
#[derive(Debug)]
pub struct Module {
    pub file: FileId,
    pub source: Arc<SourceFile>,
    pub tree: Arc<Tree>,
    pub names: Arc<Names>,
    relations: OnceLock<Relations>,
}

impl Module {
    /// The outermost expression that is written at a span.
    pub fn expr_at(&self, span: Span) -> Option<ExprId> {
        let key = |id: &ExprId| (self.tree.expr(*id).span.start, self.tree.expr(*id).span.end);
        let sorted = self.names.by_place.get_or_init(|| {
            let mut all: Vec<ExprId> = (0..self.tree.exprs.len() as u32).map(ExprId).collect();
            all.sort_unstable_by_key(|id| (key(id), id.0));
            all.into_boxed_slice()
        });
        let after = sorted.partition_point(|id| key(id) <= (span.start, span.end));
        sorted[..after].last().copied().filter(|id| self.tree.expr(*id).span == span)
    }

    /// How its variables stand to each other, found out when it is first asked for.
    pub fn relations(&self) -> &Relations {
        self.relations.get_or_init(|| Relations::of(&self.tree, &self.names))
    }

    /// The calls that a value, written in a function or in the module, may come from.
    pub(crate) fn origins(&self, value: ExprId, function: Option<FnId>) -> Vec<Origin> {
        self.relations().origins(&self.tree, &self.names, value, function, false)
    }

    /// The same, and those from which functions of the file have what they return.
    pub(crate) fn origins_inside(&self, value: ExprId, function: Option<FnId>) -> Vec<Origin> {
        self.relations().origins(&self.tree, &self.names, value, function, true)
    }
}

/// What an import leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A module, or the `__init__.py` of a package.
    File(FileId),
    /// A folder without `__init__.py`. A name that is no submodule of it may as well belong to
    /// an installed package of the same name.
    Namespace(PathBuf),
    /// Not in this project.
    Outside,
}

struct Entry {
    volume: Volume,
    /// Absolute.
    path: PathBuf,
    module: OnceLock<Module>,
}

#[derive(Default)]
pub struct Project {
    entries: boxcar::Vec<Entry>,
    /// By absolute path; `None` could not be read.
    ids: Mutex<FxHashMap<PathBuf, Option<FileId>>>,
    /// Where imports lead: each script that reaches a file asks anew for what the file imports.
    resolved: Mutex<FxHashMap<Import, Target>>,
    /// What packages and folders hold, by name.
    members: Mutex<FxHashMap<Member, Option<Target>>>,
    lookup: Arc<Lookup>,
    /// Where files come from, if not from the disk alone.
    library: Option<Arc<Library>>,
}

/// The importing file, the level, and the module.
pub(crate) type Import = (FileId, u32, Option<Ustr>);

/// A package or a folder, and the name of a module in it.
pub(crate) type Member = (Target, Ustr);

impl Project {
    pub fn new() -> Project {
        Project::default()
    }

    /// A project whose files may have been read before.
    pub fn from_library(library: Arc<Library>) -> Project {
        Project { lookup: library.lookup(), library: Some(library), ..Project::default() }
    }

    /// A file that is already read; the id of an earlier one with the same path if there is one.
    pub fn add(&self, source: impl Into<Arc<SourceFile>>) -> FileId {
        let source = source.into();
        let path = absolute(&source.path);
        let known = self.library.as_ref().and_then(|library| library.volume_of(&path, &source));
        let volume = known.unwrap_or_else(|| Volume::new(source));
        let mut ids = self.ids();
        if let Some(Some(id)) = ids.get(&path) {
            return *id;
        }
        self.insert(&mut ids, path, volume)
    }

    /// The file at `path`, read when it is first asked for; `None` if that failed, then or before.
    pub fn open(&self, path: &Path) -> Option<FileId> {
        let path = absolute(path);
        if let Some(known) = self.ids().get(&path) {
            return *known;
        }
        // Read without the lock; of two threads that read the same file the first one wins.
        let volume = match &self.library {
            Some(library) => library.open(&path),
            None => Volume::read(&path),
        };
        let mut ids = self.ids();
        if let Some(known) = ids.get(&path) {
            return *known;
        }
        match volume {
            Some(volume) => Some(self.insert(&mut ids, path, volume)),
            None => {
                ids.insert(path, None);
                None
            }
        }
    }

    /// Forgets what was parsed, of which there is far more than of text: for whoever goes on to other files. What is
    /// asked for again is parsed again. Files that a library lends are its own.
    pub fn set_aside(&mut self) {
        if self.library.is_none() {
            for id in 0..self.entries.count() {
                if let Some(entry) = self.entries.get_mut(id) {
                    entry.module = OnceLock::new();
                    entry.volume = Volume::new(entry.volume.source.clone());
                }
            }
        }
    }

    fn insert(&self, ids: &mut FxHashMap<PathBuf, Option<FileId>>, path: PathBuf, volume: Volume) -> FileId {
        let entry = Entry { volume, path: path.clone(), module: OnceLock::new() };
        let id = FileId(self.entries.push(entry) as u32);
        ids.insert(path, Some(id));
        id
    }

    fn ids(&self) -> MutexGuard<'_, FxHashMap<PathBuf, Option<FileId>>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id comes from this project only, and entries are never removed.
    fn entry(&self, id: FileId) -> &Entry {
        &self.entries[id.0 as usize]
    }

    /// The parsed file; parses it the first time.
    pub fn module(&self, id: FileId) -> &Module {
        let entry = self.entry(id);
        entry.module.get_or_init(|| {
            let Parsed { tree, names } = entry.volume.parsed().clone();
            Module { file: id, source: entry.volume.source.clone(), tree, names, relations: OnceLock::new() }
        })
    }

    /// The text of a file, without parsing it.
    pub fn source(&self, id: FileId) -> &Arc<SourceFile> {
        &self.entry(id).volume.source
    }

    /// Where a file lies, absolute.
    pub fn path(&self, id: FileId) -> &Path {
        &self.entry(id).path
    }

    /// Where all its files lie.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.entries.iter().map(|(_, entry)| entry.path.clone()).collect()
    }

    /// Every import that was asked for so far, with what it leads to.
    pub fn imports(&self) -> Vec<(Import, Target)> {
        let resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        resolved.iter().map(|(import, target)| (*import, target.clone())).collect()
    }

    /// Every member that was asked for so far.
    pub fn members(&self) -> Vec<(Member, Option<Target>)> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.iter().map(|(member, target)| (member.clone(), target.clone())).collect()
    }

    pub fn len(&self) -> usize {
        self.entries.count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The dotted name by which the project imports the file: `package.module`, or `package` for
    /// its `__init__.py`.
    pub fn module_name(&self, id: FileId) -> Option<Ustr> {
        note_file(id);
        let path = &self.entry(id).path;
        let roots = self.lookup.roots(path.parent()?);
        let inside = path.strip_prefix(&roots.top).ok()?.with_extension("");
        let mut parts: Vec<&str> = inside.iter().map(|part| part.to_str()).collect::<Option<_>>()?;
        if parts.len() > 1 && parts.last() == Some(&"__init__") {
            parts.pop();
        }
        Some(ustr(&parts.join(".")))
    }

    /// `import module` with level 0, `from ...module import …` with one level a dot.
    pub fn resolve(&self, from: FileId, level: u32, module: Option<Ustr>) -> Target {
        let target = self.resolve_once(from, level, module);
        note_file(from);
        note(&target);
        target
    }

    fn resolve_once(&self, from: FileId, level: u32, module: Option<Ustr>) -> Target {
        let import = (from, level, module);
        let resolved = || self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = resolved().get(&import) {
            return known.clone();
        }
        let target = self.look_up(from, level, module);
        resolved().insert(import, target.clone());
        target
    }

    fn look_up(&self, from: FileId, level: u32, module: Option<Ustr>) -> Target {
        let module = module.as_ref().map(Ustr::as_str);
        self.target(self.lookup.import(&self.entry(from).path, level, module))
    }

    pub(super) fn lookup(&self) -> Arc<Lookup> {
        self.lookup.clone()
    }

    /// The module `name` of a package or namespace; `None` for anything else.
    pub fn submodule(&self, of: &Target, name: Ustr) -> Option<Target> {
        note(of);
        let members = || self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let member = (of.clone(), name);
        let known = members().get(&member).cloned();
        let target = known.unwrap_or_else(|| {
            let target = self.look_into(of, name);
            members().insert(member, target.clone());
            target
        });
        target.iter().for_each(note);
        target
    }

    fn look_into(&self, of: &Target, name: Ustr) -> Option<Target> {
        let of = match of {
            Target::File(id) => Found::File(self.entry(*id).path.clone()),
            Target::Namespace(folder) => Found::Folder(folder.clone()),
            Target::Outside => return None,
        };
        match self.target(self.lookup.step(&of, &name)) {
            Target::Outside => None,
            target => Some(target),
        }
    }

    fn target(&self, found: Option<Found>) -> Target {
        match found {
            Some(Found::File(path)) => self.open(&path).map_or(Target::Outside, Target::File),
            Some(Found::Folder(folder)) => Target::Namespace(folder),
            None => Target::Outside,
        }
    }
}

/// Remembers that a rehearsal came by.
fn note(target: &Target) {
    match target {
        Target::File(file) => note_file(*file),
        Target::Namespace(folder) => note_folder(folder),
        Target::Outside => {}
    }
}
