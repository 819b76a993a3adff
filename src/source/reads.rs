//! What a piece of work asked for besides what it was given: files of the project, folders and small
//! texts. Recorded for each thread, so that what was once found can be told to be still true.

use crate::report::FileId;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Files whose code may have been read, or whose imports were followed.
    pub files: BTreeSet<FileId>,
    /// Folders in which modules were looked for by name.
    pub folders: BTreeSet<PathBuf>,
    /// Small texts, whether they were there or not.
    pub texts: BTreeSet<PathBuf>,
}

thread_local! {
    static READS: RefCell<Option<Reads>> = const { RefCell::new(None) };
}

/// What the work gives, and what it asked for. The work stays on this thread.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, Reads) {
    READS.set(Some(Reads::default()));
    let result = work();
    (result, READS.take().unwrap_or_default())
}

pub fn note_file(file: FileId) {
    note(|reads| reads.files.insert(file));
}

pub fn note_folder(folder: &Path) {
    note(|reads| reads.folders.insert(folder.to_owned()));
}

pub(super) fn note_text(path: &Path) {
    note(|reads| reads.texts.insert(path.to_owned()));
}

/// What was read before, too, is no news.
fn note(add: impl FnOnce(&mut Reads) -> bool) {
    READS.with_borrow_mut(|reads| reads.as_mut().is_some_and(add));
}
