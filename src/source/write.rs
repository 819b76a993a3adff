//! Files are replaced as a whole or not at all: a run that is broken off leaves the old file or the new one.

use super::read_bytes;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use tempfile::NamedTempFile;
use thiserror::Error;

/// Why a file was not written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("can't be written: it is read-only")]
    ReadOnly,
    #[error("was not written: it has changed since it was read")]
    Changed,
    #[error("can't be written: {0}")]
    Io(#[from] io::Error),
}

/// Replaces a file that still holds `before` by `after`. The permissions stay, and where the path is a symbolic
/// link, what it leads to is replaced.
pub fn rewrite(path: &Path, before: &[u8], after: &[u8]) -> Result<(), WriteError> {
    let path = fs::canonicalize(path)?;
    let permissions = fs::metadata(&path)?.permissions();
    if permissions.readonly() {
        return Err(WriteError::ReadOnly);
    }
    if read_bytes(&path).map_err(|error| io::Error::other(error.to_string()))? != before {
        return Err(WriteError::Changed);
    }
    // Beside the file, since a rename can't leave the file system.
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(after)?;
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}
