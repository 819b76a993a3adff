//! The one place of the engine that touches the disk: configuration files and the names
//! beside a path that does not exist. Scripts are read by `source`.
#![allow(clippy::disallowed_methods, reason = "this module is the engine's edge to the file system")]

use crate::source::{ReadError, is_temporary, read_regular, sweep, temporary};
use std::io::Write;
use std::path::Path;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

/// Why the text of a configuration file can't be had.
#[derive(Debug, Error)]
pub(crate) enum TextError {
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    #[error("is not UTF-8")]
    Encoding(#[from] std::string::FromUtf8Error),
}

/// The lock file of a monorepo has some megabytes.
const LARGEST_TEXT: u64 = 16 << 20;

/// The store of a hundred thousand scripts has less.
const LARGEST_STORE: u64 = 1 << 30;

/// The text of a configuration file.
pub(crate) fn read_text(path: &Path) -> Result<String, TextError> {
    let text = String::from_utf8(read_regular(path, LARGEST_TEXT)?)?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

/// What tools that back up and search folders take for a cache (<https://bford.info/cachedir/>).
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the cache of trainlint.\n";

/// The file that says that a folder is a cache, and whose.
const TAG_NAME: &str = "CACHEDIR.TAG";

/// What a cache holds beside the tag.
const IGNORE_NAME: &str = ".gitignore";

/// A file of a cache, with the seal of the folder.
pub(crate) fn read_cache(folder: &Path, name: &str, is_named: bool) -> Option<(Vec<u8>, u64)> {
    let seal = seal(folder, is_named)?;
    Some((read_regular(&folder.join(name), LARGEST_STORE).ok()?, seal))
}

/// Puts a file into the folder of a cache as a whole or not at all. A disk that is full or can't be
/// written to is no reason to complain: the next run just takes longer.
pub(crate) fn write_cache(
    folder: &Path,
    store: &str,
    is_named: bool,
    bytes: impl Fn(u64) -> Option<Vec<u8>>,
) {
    let write = || -> Option<()> {
        // A link leads out of the project, and who follows it writes elsewhere.
        if !is_named && folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            return None;
        }
        std::fs::create_dir_all(folder).ok()?;
        sweep(folder);
        for (name, text) in [(TAG_NAME, TAG), (IGNORE_NAME, "*\n")] {
            // What is there already stays, be it a link to nowhere. Whole, since the seal is of when it was written.
            if folder.join(name).symlink_metadata().is_err() {
                let mut file = temporary(folder, true).ok()?;
                file.write_all(text.as_bytes()).ok()?;
                let _ = file.persist_noclobber(folder.join(name));
            }
        }
        let bytes = bytes(seal(folder, is_named)?)?;
        let mut file = temporary(folder, true).ok()?;
        file.write_all(&bytes).ok()?;
        file.persist(folder.join(store)).ok()?;
        Some(())
    };
    let _ = write();
}

/// What nobody knows who did not make the folder's tag here: when, and as which file. A cache that came with a
/// repository was sealed elsewhere. None where links lead out of the folder.
fn seal(folder: &Path, is_named: bool) -> Option<u64> {
    if is_named {
        return Some(0);
    }
    let tag = std::fs::symlink_metadata(folder.join(TAG_NAME)).ok().filter(std::fs::Metadata::is_file)?;
    std::fs::symlink_metadata(folder).ok().filter(std::fs::Metadata::is_dir)?;
    Some(xxh3_64(made(&tag)?.as_bytes()))
}

#[cfg(unix)]
fn made(tag: &std::fs::Metadata) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    Some(format!("{} {} {} {}", tag.dev(), tag.ino(), tag.ctime(), tag.ctime_nsec()))
}

#[cfg(not(unix))]
fn made(tag: &std::fs::Metadata) -> Option<String> {
    Some(format!("{:?}", tag.created().ok()?))
}

/// Removes what trainlint wrote into a cache, and the folder where nothing else is in it; whether it is gone.
pub(crate) fn remove_cache(folder: &Path, name: &str) -> std::io::Result<bool> {
    for found in names_in(folder) {
        if [TAG_NAME, IGNORE_NAME, name].contains(&&*found) || is_temporary(&found) {
            std::fs::remove_file(folder.join(found))?;
        }
    }
    Ok(names_in(folder).is_empty() && std::fs::remove_dir(folder).is_ok())
}

/// Whether a folder says that it is a cache of trainlint.
pub(crate) fn is_cache(folder: &Path) -> bool {
    let tag = read_regular(&folder.join(TAG_NAME), LARGEST_TEXT).unwrap_or_default();
    String::from_utf8_lossy(&tag).contains("trainlint")
}

/// The names in a folder, sorted; none where it can't be read.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// Where a path leads to, past links.
pub(crate) fn resolved(path: &Path) -> std::path::PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The closest folder from `folder` up that holds a repository; a worktree and a submodule have a
/// file where others have a folder.
pub(crate) fn repository(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|ancestor| ancestor.join(".git").exists())
}
