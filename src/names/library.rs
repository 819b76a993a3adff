//! Files that outlive a project: what an editor holds open, and what was read and parsed before and is
//! still the same on the disk. A process that answers many questions keeps one for all its projects.

use super::Names;
use super::lookup::Lookup;
use crate::source::{SourceFile, Stamp};
use crate::syntax::{Pieces, Tree, parse, parse_again};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A file with what was made of it, shared by the projects that need it.
#[derive(Clone)]
pub(super) struct Volume {
    pub source: Arc<SourceFile>,
    parsed: Arc<OnceLock<Parsed>>,
    /// Of a text that is being edited, what was parsed of it before.
    pieces: Option<Arc<Mutex<Pieces>>>,
}

#[derive(Clone)]
pub(super) struct Parsed {
    pub tree: Arc<Tree>,
    pub names: Arc<Names>,
}

impl Volume {
    pub(crate) fn new(source: Arc<SourceFile>) -> Volume {
        Volume { source, parsed: Arc::default(), pieces: None }
    }

    /// A file of the disk; one that is too large to be parsed is as one that is not there.
    pub(crate) fn read(path: &Path) -> Option<Volume> {
        let source = SourceFile::read(path).ok().filter(|source| source.check_parsed().is_ok())?;
        Some(Volume::new(Arc::new(source)))
    }

    /// Parses it the first time.
    pub(crate) fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let text = &self.source.text;
            let tree = self
                .pieces
                .as_ref()
                .map_or_else(|| parse(text), |pieces| parse_again(&mut lock(pieces), text));
            let names = Arc::new(Names::of(&tree));
            Parsed { tree: Arc::new(tree), names }
        })
    }
}

/// What the disk said, and when.
struct Read {
    stamp: Option<Stamp>,
    /// None for what could not be read.
    volume: Option<Volume>,
}

#[derive(Default)]
pub struct Library {
    open: Mutex<FxHashMap<PathBuf, Volume>>,
    read: Mutex<FxHashMap<PathBuf, Read>>,
    lookup: Mutex<Arc<Lookup>>,
}

impl Library {
    /// An editor holds this text, whatever the disk says.
    pub fn hold(&self, path: PathBuf, source: Arc<SourceFile>) {
        let mut open = lock(&self.open);
        let pieces = open.get(&path).and_then(|volume| volume.pieces.clone()).unwrap_or_default();
        open.insert(path, Volume { pieces: Some(pieces), ..Volume::new(source) });
    }

    /// The disk counts again.
    pub fn release(&self, path: &Path) {
        lock(&self.open).remove(path);
    }

    /// What an editor holds.
    pub fn held(&self, path: &Path) -> Option<Arc<SourceFile>> {
        lock(&self.open).get(path).map(|volume| volume.source.clone())
    }

    /// Forgets what was read from the disk.
    pub fn forget(&self) {
        lock(&self.read).clear();
        *lock(&self.lookup) = Arc::default();
    }

    /// The volume of a text that is held, or was read before.
    pub(super) fn volume_of(&self, path: &Path, source: &Arc<SourceFile>) -> Option<Volume> {
        let is_it = |volume: &&Volume| Arc::ptr_eq(&volume.source, source);
        let open = lock(&self.open).get(path).filter(is_it).cloned();
        open.or_else(|| lock(&self.read).get(path)?.volume.as_ref().filter(is_it).cloned())
    }

    /// A file as an editor holds it, or as it is on the disk.
    pub fn source(&self, path: &Path) -> Option<Arc<SourceFile>> {
        self.open(path).map(|volume| volume.source)
    }

    /// As an editor holds it, as it was read before if the disk says nothing else since, or read now.
    pub(super) fn open(&self, path: &Path) -> Option<Volume> {
        if let Some(volume) = lock(&self.open).get(path) {
            return Some(volume.clone());
        }
        // Before the file is read: what changes in between is read again the next time.
        let stamp = Stamp::of(path);
        if let Some(read) = lock(&self.read).get(path).filter(|read| read.stamp == stamp) {
            return read.volume.clone();
        }
        let volume = Volume::read(path);
        lock(&self.read).insert(path.to_owned(), Read { stamp, volume: volume.clone() });
        volume
    }

    /// Where modules lie, asked anew when one of the folders has changed.
    pub(super) fn lookup(&self) -> Arc<Lookup> {
        let mut lookup = lock(&self.lookup);
        if !lookup.is_current() {
            *lookup = Arc::default();
        }
        lookup.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
