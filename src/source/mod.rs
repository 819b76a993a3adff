//! Inputs: scripts, stubs, notebooks and standard input, decoded to one text with a
//! way back to what the user sees (line, column, cell). Everything that reads or
//! classifies a file is here; nothing here knows Python's grammar beyond its lines.
#![allow(clippy::disallowed_methods, reason = "this module is the edge to the file system")]

mod attributes;
mod buffer;
mod chunks;
mod encoding;
mod error;
mod imports;
mod lines;
mod listing;
mod logical;
mod magics;
mod notebook;
mod patch;
mod patience;
mod prefilter;
mod reads;
mod regular;
mod stamp;
mod suppress;
mod temporary;
mod text;
mod write;

use crate::report::Span;
use lines::LineIndex;
use notebook::CellMap;
use std::ffi::OsStr;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::Xxh3;

pub use buffer::Before;
pub use chunks::{Chunk, chunks};
pub use error::ReadError;
pub use imports::{ImportLine, import_lines};
pub use listing::{absolute, absolute_from, holds_project, lies_within, list_dir};
pub use logical::{after_token, bare_code, logical_lines};
pub use patch::PatchError;
pub use patience::{Patience, Stopped, counted, looked_through, rationed, still_wanted, work_done};
pub use prefilter::mentions_framework;
pub use reads::{Reads, note_file, note_folder, recorded};
pub use stamp::Stamp;
pub use suppress::{Malformed, NamedRule, Seat, Suppressions, Unused, mentions_suppression};
pub use temporary::{is_temporary, sweep, temporary};
pub use text::{read_text, speaks_of_gpus, words};
pub use write::{WriteError, rewrite};

/// The most bytes of Python that are read, in a script or in all cells of a notebook.
pub const SCRIPT_LIMIT: u64 = 16 << 20;
/// The most bytes of Python that are parsed: of each, tree and rehearsal take about a hundred. Files of strangers that
/// are larger are tables that a program wrote.
pub const PARSED_LIMIT: u64 = 4 << 20;
/// The most bytes of a notebook file; its outputs (pictures) may be far larger than its code.
pub const NOTEBOOK_LIMIT: u64 = 64 << 20;

/// One input, decoded.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// As it is shown to the user; [`SourceFile::shown_path`] writes it with forward slashes.
    pub path: PathBuf,
    pub kind: Kind,
    /// What is parsed: UTF-8 without a byte order mark, lone carriage returns turned into line feeds
    /// as Python does. Of a notebook, the code cells joined.
    pub text: Arc<str>,
    lines: OnceLock<LineIndex>,
    cells: Option<Box<CellMap>>,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Script,
    /// `.pyi`: signatures only.
    Stub,
    Notebook,
}

impl Kind {
    /// By the extension; `None` when it is not one of Python's.
    pub fn of(path: &Path) -> Option<Kind> {
        let extension = path.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        match extension.as_str() {
            "py" | "pyw" => Some(Kind::Script),
            "pyi" => Some(Kind::Stub),
            "ipynb" => Some(Kind::Notebook),
            _ => None,
        }
    }

    /// The most bytes of a file of this kind.
    fn limit(self) -> u64 {
        match self {
            Kind::Script | Kind::Stub => SCRIPT_LIMIT,
            Kind::Notebook => NOTEBOOK_LIMIT,
        }
    }
}

/// A place as the user's editor names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// From 1. In a notebook, the line within the cell.
    pub line: u32,
    /// From 1, in Unicode code points.
    pub column: u32,
    /// From 1, counting all cells of the notebook in order, Markdown cells included
    /// (not Jupyter's `In [n]`, which counts executions).
    pub cell: Option<u32>,
    /// The line of the file. In a notebook, the line of the JSON that holds the place.
    pub file_line: u32,
}

impl SourceFile {
    /// Reads a file; its extension says what it is, and any other extension is taken for a script.
    pub fn read(path: &Path) -> Result<SourceFile, ReadError> {
        let bytes = read_bytes(path)?;
        SourceFile::from_bytes(path, &bytes)
    }

    /// Decodes what was read elsewhere: standard input, an editor's buffer, a test.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<SourceFile, ReadError> {
        let kind = kind_or_script(path);
        check_size(bytes.len() as u64, kind.limit())?;
        let (text, cells) = match kind {
            Kind::Script | Kind::Stub => (Arc::from(&*encoding::decode_script(bytes)?), None),
            Kind::Notebook => {
                let (code, cells) = notebook::read(&encoding::decode_plain(bytes)?)?;
                check_size(code.len() as u64, SCRIPT_LIMIT)?;
                (Arc::from(code), Some(Box::new(cells)))
            }
        };
        Ok(SourceFile { path: path.to_owned(), kind, text, lines: OnceLock::new(), cells })
    }

    /// Whether there is no more of it than may be parsed.
    pub fn check_parsed(&self) -> Result<(), ReadError> {
        check_size(self.text.len() as u64, PARSED_LIMIT)
    }

    /// The path with forward slashes, the same on every system.
    pub fn shown_path(&self) -> String {
        let path = self.path.to_string_lossy();
        if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
    }

    /// The parts that Python reads apart: the cells of a notebook, or the whole of a script.
    pub fn cells(&self) -> Vec<Span> {
        let whole = Span::new(0, self.text.len() as u32);
        self.cells.as_ref().map_or_else(|| vec![whole], |cells| cells.spans(whole.end))
    }

    /// Stands for what is analysed: the text, and where the cells of a notebook begin.
    pub fn digest(&self) -> u128 {
        let mut hasher = Xxh3::new();
        hasher.update(self.text.as_bytes());
        if let Some(cells) = &self.cells {
            hasher.update(format!("{cells:?}").as_bytes());
        }
        hasher.digest128()
    }

    /// Where a byte of the text is. An offset past the end is the end; one inside a character is its start.
    pub fn locate(&self, offset: u32) -> Location {
        let offset = self.char_start(offset);
        let lines = self.lines();
        let line = lines.line_of(offset);
        let start = lines.start(line);
        let column = self.text[start..offset].chars().count() as u32 + 1;
        let (line, file_line) = (line as u32 + 1, line as u32 + 1);
        let Some(cells) = &self.cells else {
            return Location { line, column, cell: None, file_line };
        };
        let file_line = cells.file_line(offset as u32);
        let Some(cell) = cells.cell_at(offset as u32) else {
            return Location { line, column, cell: None, file_line };
        };
        Location {
            line: line - lines.line_of(cell.start as usize) as u32,
            column: column + cells.dedent(start as u32),
            cell: Some(cell.index),
            file_line,
        }
    }

    /// The physical line that holds the offset, without its end.
    pub fn line_text(&self, offset: u32) -> &str {
        let line = self.lines().line_of((offset as usize).min(self.text.len()));
        self.text[self.line_range(line)].trim_end_matches(['\n', '\r'])
    }

    /// The physical line that holds the offset, from 0, in the whole text.
    pub fn line_index(&self, offset: u32) -> usize {
        self.lines().line_of((offset as usize).min(self.text.len()))
    }

    /// The bytes of a physical line (from 0, in the whole text), its end included; empty past the last.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let lines = self.lines();
        let (start, end) = (lines.start(line), lines.start(line + 1));
        start.min(self.text.len())..end.min(self.text.len())
    }

    fn char_start(&self, offset: u32) -> usize {
        let offset = (offset as usize).min(self.text.len());
        (0..=offset).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
    }

    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }
}

fn kind_or_script(path: &Path) -> Kind {
    Kind::of(path).unwrap_or(Kind::Script)
}

/// The bytes of a script or notebook.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    read_regular(path, kind_or_script(path).limit())
}

/// The bytes of a file that is no pipe, no device and none of the kernel's, at most so many.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, size) = regular::open(path)?;
    check_size(size, limit)?;
    read_limited(file, size, limit)
}

/// The size on disk is only a hint: the file may grow, and `/proc` says 0.
pub fn read_limited(reader: impl Read, expected: u64, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::with_capacity(expected.min(limit) as usize + 1);
    reader.take(limit + 1).read_to_end(&mut bytes).map_err(ReadError::io)?;
    check_size(bytes.len() as u64, limit)?;
    Ok(bytes)
}

fn check_size(size: u64, limit: u64) -> Result<(), ReadError> {
    if size > limit { Err(ReadError::TooLarge { size, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
