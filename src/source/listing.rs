//! The names in a directory, and paths made absolute: what resolving imports needs of the disk.

use std::fs;
use std::path::{Path, PathBuf};

/// The entries of a directory as (name, is a directory), links followed; `None` when it can't
/// be listed. Names that are no UTF-8 are left out: no import can say them.
pub fn list_dir(path: &Path) -> Option<Vec<(String, bool)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).ok()?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_dir = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|at| at.is_dir()),
            Ok(kind) => kind.is_dir(),
            Err(_) => continue,
        };
        entries.push((name, is_dir));
    }
    Some(entries)
}

/// `path` from the root of the file system, without `.` and `..`; links are kept.
pub fn absolute(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut plain = PathBuf::new();
    for part in full.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
