//! Stand-in with the interface of the real module, which replaces it on merge; only
//! `listing` stays.

mod listing;

pub use listing::{absolute, list_dir};

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub text: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not be read")]
pub struct ReadError;

impl SourceFile {
    pub fn read(path: &Path) -> Result<SourceFile, ReadError> {
        SourceFile::from_bytes(path, &std::fs::read(path).map_err(|_| ReadError)?)
    }

    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<SourceFile, ReadError> {
        let text = std::str::from_utf8(bytes).map_err(|_| ReadError)?;
        Ok(SourceFile { path: path.to_path_buf(), text: text.into() })
    }
}
