//! What was looked at on the disk, and how it was then: tells whether what was made of it still holds.

use crate::source::Stamp;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<FxHashMap<PathBuf, Option<Stamp>>>);

impl Seen {
    /// Before a file is read or a folder listed: what changes in between counts as changed.
    pub(crate) fn note(&self, path: &Path) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains_key(path) {
            seen.insert(path.to_owned(), Stamp::of(path));
        }
    }

    pub(crate) fn is_current(&self) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }
}
