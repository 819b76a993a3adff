//! Why an input could not be read, in words that say what was found and what to do.
//! The path is not part of the words: whoever reports them has it.

use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

/// Why an input could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("no such file; check the path")]
    NotFound,
    #[error("is a link to `{}`, which does not exist; repair the link or exclude it", target.display())]
    BrokenLink { target: PathBuf },
    #[error("may not be read by this user; change its permissions or exclude it")]
    Permission,
    #[error("is a directory and not a file; rename it, or name the files in it")]
    Directory,
    #[error("is {what} and not a regular file; pipe its contents in and name it `-`")]
    NotAFile { what: &'static str },
    #[error("has {} MiB, and at most {} MiB are analyzed; exclude it", size.div_ceil(1 << 20), limit >> 20)]
    TooLarge { size: u64, limit: u64 },
    #[error(
        "line {line} declares the encoding `{name}`, which is unknown{}; save the file as UTF-8",
        meant(suggestion)
    )]
    UnknownEncoding { name: String, line: u32, suggestion: Option<&'static str> },
    #[error(
        "is not valid {encoding} at byte {offset} (line {line}); save it as UTF-8, or declare its encoding in \
         the first line (`# -*- coding: latin-1 -*-`)"
    )]
    Undecodable { encoding: &'static str, offset: usize, line: u32 },
    #[error(
        "has a NUL byte at byte {offset} (line {line}), so it is not Python text; exclude it or save it as UTF-8"
    )]
    Nul { offset: usize, line: u32 },
    #[error(
        "is not valid JSON at line {line}, column {column}: {reason}; save the notebook again in Jupyter"
    )]
    MalformedNotebook { line: usize, column: usize, reason: String },
    #[error("is JSON but not a notebook: {reason}; save it as nbformat 4")]
    NotANotebook { reason: String },
    #[error("is a notebook in {language} and not in Python; exclude it")]
    NotPython { language: String },
    #[error("could not be read: {reason}")]
    Io { reason: String },
}

impl ReadError {
    /// True when there is nothing wrong with the file: it is just not for us.
    pub fn is_quiet(&self) -> bool {
        matches!(self, ReadError::NotPython { .. })
    }

    /// From an attempt to look at or open the path.
    pub(super) fn opening(path: &Path, error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::NotFound => match fs::read_link(path) {
                Ok(target) => ReadError::BrokenLink { target },
                Err(_) => ReadError::NotFound,
            },
            io::ErrorKind::PermissionDenied => ReadError::Permission,
            io::ErrorKind::NotADirectory => ReadError::NotFound,
            _ => ReadError::io(error),
        }
    }

    /// From an attempt to read what is open.
    pub(super) fn io(error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::IsADirectory => ReadError::Directory,
            _ => ReadError::Io { reason: error.to_string().to_lowercase() },
        }
    }

    /// From what the path is instead of a regular file.
    pub(super) fn irregular(file_type: FileType) -> ReadError {
        if file_type.is_dir() {
            return ReadError::Directory;
        }
        ReadError::NotAFile { what: name_of(file_type) }
    }
}

#[cfg(unix)]
fn name_of(file_type: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name_of(_: FileType) -> &'static str {
    "a device"
}

fn meant(suggestion: &Option<&'static str>) -> String {
    suggestion.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
