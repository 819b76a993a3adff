//! The least of `names` that a run needs, until that module stands; `analysis` is the only
//! user, and drops this file when it does.

use crate::report::{FileId, Span};
use crate::source::SourceFile;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
pub struct Project(Mutex<Vec<Arc<SourceFile>>>);

impl Project {
    pub fn new() -> Project {
        Project::default()
    }

    pub fn add(&self, source: SourceFile) -> FileId {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push(Arc::new(source));
        FileId(files.len() as u32 - 1)
    }

    pub fn source(&self, file: FileId) -> Arc<SourceFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[file.0 as usize].clone()
    }
}

/// What begins with `#`, also within strings.
pub fn comments(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(at) = line.find('#') {
            found.push(Span::new((start + at) as u32, (start + line.trim_end().len()) as u32));
        }
        start += line.len();
    }
    found
}
