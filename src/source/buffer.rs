//! What an editor holds: text that is decoded already, and the cells of a notebook without the JSON around
//! them; and where lines are in the way that editors count.

use super::{Kind, PARSED_LIMIT, ReadError, SourceFile, check_size, encoding, kind_or_script, notebook};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A place as what stands before it on its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before<'a> {
    /// From 1, among all cells of a notebook.
    pub cell: Option<u32>,
    /// From 0; in a notebook, within the cell.
    pub line: u32,
    /// Characters of indentation that were cut from the line.
    pub dedent: u32,
    pub text: &'a str,
}

impl SourceFile {
    /// The text of a script.
    pub fn from_text(path: &Path, text: &str) -> Result<SourceFile, ReadError> {
        check_size(text.len() as u64, PARSED_LIMIT)?;
        let kind = match kind_or_script(path) {
            Kind::Notebook => Kind::Script,
            kind => kind,
        };
        let text = Arc::from(&*encoding::of_text(text)?);
        Ok(SourceFile { path: path.to_owned(), kind, text, lines: OnceLock::new(), cells: None })
    }

    /// The code cells of a notebook, each with its place among all cells, from 1.
    pub fn from_cells(path: &Path, cells: &[(u32, &str)]) -> Result<SourceFile, ReadError> {
        let (code, map) = notebook::join(cells);
        check_size(code.len() as u64, PARSED_LIMIT)?;
        let (text, cells) = (Arc::from(code), Some(Box::new(map)));
        Ok(SourceFile { path: path.to_owned(), kind: Kind::Notebook, text, lines: OnceLock::new(), cells })
    }

    /// Where a byte of the text is. An offset past the end is the end; one inside a character is its start.
    pub fn before(&self, offset: u32) -> Before<'_> {
        let offset = self.char_start(offset);
        let lines = self.lines();
        let line = lines.line_of(offset);
        let start = lines.start(line);
        let text = &self.text[start..offset];
        let cell = self.cells.as_ref().and_then(|cells| cells.cell_at(offset as u32));
        let (Some(cells), Some(cell)) = (&self.cells, cell) else {
            return Before { cell: None, line: line as u32, dedent: 0, text };
        };
        let line = (line - lines.line_of(cell.start as usize)) as u32;
        Before { cell: Some(cell.index), line, dedent: cells.dedent(start as u32), text }
    }

    /// The bytes of a line (from 0, within the cell if there is one) without its end, and how much indentation was
    /// cut from it. A line past the last is empty, at the end; none for a cell that holds no Python.
    pub fn line_in(&self, cell: Option<u32>, line: u32) -> Option<(Range<usize>, u32)> {
        let whole = match cell {
            None => 0..self.text.len(),
            Some(index) => self.cells.as_ref()?.range(index, self.text.len())?,
        };
        let line = self.lines().line_of(whole.start) + line as usize;
        let range = self.line_range(line);
        let range = range.start.min(whole.end)..range.end.min(whole.end);
        let kept = self.text[range.clone()].trim_end_matches(['\n', '\r']).len();
        let dedent = self.cells.as_ref().map_or(0, |cells| cells.dedent(range.start as u32));
        Some((range.start..range.start + kept, dedent))
    }
}
