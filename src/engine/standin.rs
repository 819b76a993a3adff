//! The least of `source` and `names` that a run needs, until those modules stand; `analysis`
//! is the only user, and drops this file when they do.

use crate::report::{FileId, Span};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Script,
    Stub,
    Notebook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub line: u32,
    pub column: u32,
    pub cell: Option<u32>,
    pub file_line: u32,
}

#[derive(Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub kind: Kind,
    pub text: Arc<str>,
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

impl SourceFile {
    #[allow(clippy::disallowed_methods, reason = "stands in for `source`")]
    pub fn read(path: &Path) -> Result<SourceFile, ReadError> {
        SourceFile::from_bytes(path, &std::fs::read(path).map_err(|error| ReadError(error.to_string()))?)
    }

    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<SourceFile, ReadError> {
        let text = std::str::from_utf8(bytes).map_err(|error| ReadError(format!("is not UTF-8: {error}")))?;
        let kind = match path.extension().and_then(|extension| extension.to_str()) {
            Some("ipynb") => Kind::Notebook,
            Some("pyi") => Kind::Stub,
            _ => Kind::Script,
        };
        Ok(SourceFile { path: path.to_owned(), kind, text: text.into() })
    }

    /// A notebook is stood in for by a text whose cells are parted by lines `# %%`.
    pub fn locate(&self, offset: u32) -> Location {
        let before = &self.text[..(offset as usize).min(self.text.len())];
        let file_line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() as u32 + 1;
        if self.kind != Kind::Notebook {
            return Location { line: file_line, column, cell: None, file_line };
        }
        let marks: Vec<u32> =
            (1..).zip(before.lines()).filter(|(_, line)| *line == "# %%").map(|(at, _)| at).collect();
        let line = file_line - marks.last().copied().unwrap_or(0);
        Location { line: line.max(1), column, cell: Some(marks.len() as u32 + 1), file_line }
    }
}

pub fn mentions_framework(bytes: &[u8], packages: &[&str]) -> bool {
    packages.iter().any(|package| memchr::memmem::find(bytes, package.as_bytes()).is_some())
}

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

/// `# trainlint: ignore[id]` at the end of a line, and nothing else.
#[derive(Default)]
pub struct Suppressions(Vec<(Span, Span, String, bool)>);

impl Suppressions {
    pub fn collect(text: &str) -> Suppressions {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if let Some(at) = line.find("# trainlint: ignore[") {
                let ids = &line[at + 20..];
                let id = ids.split(']').next().unwrap_or(ids);
                let comment = Span::new((start + at) as u32, (start + line.trim_end().len()) as u32);
                found.push((
                    Span::new(start as u32, (start + line.len()) as u32),
                    comment,
                    id.to_owned(),
                    false,
                ));
            }
            start += line.len();
        }
        Suppressions(found)
    }

    pub fn covers(&mut self, rule: &str, span: Span) -> bool {
        let hit = self.0.iter_mut().find(|(line, _, id, _)| id == rule && line.contains(span));
        hit.map(|entry| entry.3 = true).is_some()
    }

    pub fn unused(&self) -> impl Iterator<Item = (Span, &str)> {
        self.0.iter().filter(|entry| !entry.3).map(|entry| (entry.1, entry.2.as_str()))
    }
}
