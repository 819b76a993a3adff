//! What a file is called while it is written, and what becomes of those whose run was killed. A run holds the lock of
//! each of them, and the system takes the lock away with the run: what can be locked is nobody's.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;
use tempfile::NamedTempFile;

const PREFIX: &str = ".trainlint-tmp-";
/// The letters after it.
const LETTERS: usize = 6;
/// Where nothing can be locked, as on some file systems of other machines: a file is written in less.
const LEFT_BEHIND: Duration = Duration::from_secs(60 * 60);
/// So often another run may sweep a file away before it is locked.
const MOST_TRIES: usize = 8;

/// A file to be put in the place of another one of the folder. Where several people use that, it is readable for
/// whoever may read the folder.
pub fn temporary(folder: &Path, is_shared: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(LETTERS);
    #[cfg(unix)]
    if is_shared {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    for _ in 1..MOST_TRIES {
        let file = builder.tempfile_in(folder)?;
        let is_swept = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !is_swept && file.path().exists() {
            return Ok(file);
        }
    }
    builder.tempfile_in(folder)
}

/// Whether a file is called as one that is being written.
pub fn is_temporary(name: &str) -> bool {
    let letters = name.strip_prefix(PREFIX);
    letters
        .is_some_and(|letters| letters.len() == LETTERS && letters.bytes().all(|c| c.is_ascii_alphanumeric()))
}

/// Takes away what runs that were killed left in a folder.
pub fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_temporary)) {
        // No links: what they lead to is somebody else's.
        let found = entry.metadata().ok().filter(fs::Metadata::is_file);
        if found.is_some_and(|found| is_left_behind(&entry.path(), &found)) {
            // Somebody else's is left alone by the system.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left_behind(path: &Path, found: &fs::Metadata) -> bool {
    match File::open(path).map(|file| file.try_lock()) {
        Ok(Ok(())) => true,
        Ok(Err(TryLockError::WouldBlock)) => false,
        Ok(Err(TryLockError::Error(_))) | Err(_) => {
            let age = found.modified().ok().and_then(|written| written.elapsed().ok());
            age.is_some_and(|age| age > LEFT_BEHIND)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_written_is_told_from_what_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = temporary(folder.path(), false).unwrap();
        assert!(is_temporary(file.path().file_name().unwrap().to_str().unwrap()));
        sweep(folder.path());
        assert!(file.path().exists(), "a run is at work on it");
        let (_, left) = file.keep().unwrap();
        sweep(folder.path());
        assert!(!left.exists());
        assert!(!is_temporary(".trainlint-tmp-notes.md") && !is_temporary(".trainlint-tmp-a.b-cd"));
    }
}
