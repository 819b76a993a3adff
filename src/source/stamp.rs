//! What tells a changed file from an unchanged one without reading it.

use std::path::Path;
use std::time::SystemTime;

/// When a file or folder was last written, and how long it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: SystemTime,
    length: u64,
}

impl Stamp {
    /// None for what is not there, or may not be looked at.
    pub fn of(path: &Path) -> Option<Stamp> {
        let found = std::fs::metadata(path).ok()?;
        Some(Stamp { modified: found.modified().ok()?, length: found.len() })
    }
}
