//! Files are replaced as a whole or not at all: a run that is broken off leaves the old file or the new one.

use super::{attributes, lies_within, read_bytes, temporary};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file was not written.
#[derive(Debug, Error)]
pub enum WriteError {
    #[error("can't be written: it is read-only")]
    ReadOnly,
    #[error("was not written: it has changed since it was read")]
    Changed,
    #[error("was not written: it has {0} names (hard links), and would be another file under the others")]
    Linked(u64),
    #[error("was not written: it belongs to another user, and would belong to you")]
    Foreign,
    #[error("was not written: it is a link that leads out of the checked folders")]
    Outside,
    #[error("was not written: its attribute `{0}` would be lost")]
    Attribute(String),
    #[error("can't be written: {0}")]
    Io(#[from] io::Error),
}

/// Replaces a file that still holds `before` by `after`. The owner, the permissions and the
/// attributes stay, and where the path is a symbolic
/// link, what it leads to is replaced, if that lies in one of the folders or is named among them.
pub fn rewrite(path: &Path, within: &[PathBuf], before: &[u8], after: &[u8]) -> Result<(), WriteError> {
    let path = fs::canonicalize(path)?;
    if !within.iter().any(|place| lies_within(&path, place)) {
        return Err(WriteError::Outside);
    }
    let found = fs::metadata(&path)?;
    let permissions = found.permissions();
    if permissions.readonly() {
        return Err(WriteError::ReadOnly);
    }
    let links = links(&found);
    if links > 1 {
        return Err(WriteError::Linked(links));
    }
    if read_bytes(&path).map_err(|error| io::Error::other(error.to_string()))? != before {
        return Err(WriteError::Changed);
    }
    // Beside the file, since a rename can't leave the file system.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = temporary(folder, false)?;
    file.write_all(after)?;
    keep_owner(&found, file.as_file())?;
    attributes::keep(&path, file.as_file())?;
    // After the owner: giving a file away takes some permissions from it.
    file.as_file().set_permissions(permissions)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(unix)]
fn links(found: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn links(_found: &fs::Metadata) -> u64 {
    1
}

/// Gives a file to the owner and the group of another, where that may be done.
#[cfg(unix)]
fn keep_owner(found: &fs::Metadata, file: &fs::File) -> Result<(), WriteError> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (found.uid(), found.gid()) {
        return Ok(());
    }
    fchown(file, Some(found.uid()), Some(found.gid())).map_err(|_| WriteError::Foreign)
}

#[cfg(not(unix))]
fn keep_owner(_found: &fs::Metadata, _file: &fs::File) -> Result<(), WriteError> {
    Ok(())
}
