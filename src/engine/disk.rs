//! The one place of the engine that touches the disk: configuration files and the names
//! beside a path that does not exist. Scripts are read by `source`.
#![allow(clippy::disallowed_methods, reason = "this module is the engine's edge to the file system")]

use std::io::Write;
use std::path::Path;
use thiserror::Error;

/// Why the text of a configuration file can't be had.
#[derive(Debug, Error)]
pub(crate) enum TextError {
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    #[error("is not UTF-8")]
    Encoding(#[from] std::string::FromUtf8Error),
}

/// The text of a configuration file.
pub(crate) fn read_text(path: &Path) -> Result<String, TextError> {
    let text = String::from_utf8(std::fs::read(path)?)?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

/// All of a file, if it can be had.
pub(crate) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    std::fs::read(path).ok()
}

/// What tools that back up and search folders take for a cache (<https://bford.info/cachedir/>).
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is the cache of trainlint.\n";

/// Puts a file into the folder of a cache as a whole or not at all. A disk that is full or can't be
/// written to is no reason to complain: the next run just takes longer.
pub(crate) fn write_cache(folder: &Path, name: &str, bytes: &[u8]) {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for (name, text) in [("CACHEDIR.TAG", TAG), (".gitignore", "*\n")] {
            if !folder.join(name).exists() {
                std::fs::write(folder.join(name), text)?;
            }
        }
        let mut file = temporary().tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    };
    let _ = write();
}

/// Readable for whoever may read the folder: several people may share a cache.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// The names in a folder, sorted; none where it can't be read.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The closest folder from `folder` up that holds a repository; a worktree and a submodule have a
/// file where others have a folder.
pub(crate) fn repository(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|ancestor| ancestor.join(".git").exists())
}
