//! The names in a directory, and paths made absolute: what resolving imports needs of the disk.

use std::fs;
use std::path::{Component, Path, PathBuf};

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

/// Whether a path leads into a folder, links followed.
pub fn lies_within(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(path).zip(real(folder)).is_some_and(|(path, folder)| path.starts_with(folder))
}

/// Whether a folder is the root of a repository or package.
pub fn holds_project(folder: &Path) -> bool {
    [".git", "pyproject.toml", "setup.py"].iter().any(|name| folder.join(name).exists())
}

/// `path` from the root of the file system, as [`absolute_from`] the working folder.
pub fn absolute(path: &Path) -> PathBuf {
    plain(&std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()))
}

/// `path` from the root on, as seen from the folder `base`, without `.` and `..`, and without asking the disk:
/// what a symbolic link is called stays what the user called it.
pub fn absolute_from(base: &Path, path: &Path) -> PathBuf {
    plain(&base.join(path))
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_plain() {
        assert_eq!(absolute_from(Path::new("/a/b"), Path::new("../c/./d.py")), Path::new("/a/c/d.py"));
        assert_eq!(absolute_from(Path::new("/a"), Path::new("/x/y")), Path::new("/x/y"));
        assert_eq!(absolute_from(Path::new("/a"), Path::new("../../..")), Path::new("/"));
    }
}
