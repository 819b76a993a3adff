//! Jupyter notebooks (nbformat 2 to 4): the Python of all code cells as one text, and the
//! way back to the cell and to the line of the JSON file.

mod patch;

pub(super) use patch::patched;

use super::{ReadError, magics};
use crate::report::Span;
use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// From offsets of the joined text back to the notebook.
#[derive(Clone, Debug, Default)]
pub(super) struct CellMap {
    /// In order of the text; cells that hold no Python are not here.
    cells: Vec<Cell>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Where it begins in the text.
    pub start: u32,
    /// From 1, among all cells of the notebook.
    pub index: u32,
}

/// Text that comes from one line of the file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u32,
    file_line: u32,
    /// How many characters of indentation were cut before it, as IPython does.
    dedent: u32,
}

impl CellMap {
    pub(super) fn cell_at(&self, offset: u32) -> Option<Cell> {
        let after = self.cells.partition_point(|cell| cell.start <= offset);
        self.cells[..after].last().copied()
    }

    /// The texts of all cells, given the length of the whole.
    pub(super) fn spans(&self, length: u32) -> Vec<Span> {
        let ends = self.cells.iter().skip(1).map(|next| next.start).chain([length]);
        self.cells.iter().zip(ends).map(|(cell, end)| Span::new(cell.start, end)).collect()
    }

    /// The text of a cell, given its length as a whole.
    pub(super) fn range(&self, index: u32, length: usize) -> Option<Range<usize>> {
        let at = self.cells.iter().position(|cell| cell.index == index)?;
        let end = self.cells.get(at + 1).map_or(length, |next| next.start as usize);
        Some(self.cells[at].start as usize..end)
    }

    pub(super) fn file_line(&self, offset: u32) -> u32 {
        self.piece_at(offset).map_or(1, |piece| piece.file_line)
    }

    /// What was cut from the line that begins at the offset.
    pub(super) fn dedent(&self, line_start: u32) -> u32 {
        self.piece_at(line_start).map_or(0, |piece| piece.dedent)
    }

    fn piece_at(&self, offset: u32) -> Option<Piece> {
        let after = self.pieces.partition_point(|piece| piece.start <= offset);
        self.pieces[..after].last().copied()
    }
}

/// The code of a notebook, and the way back.
pub(super) fn read(json: &str) -> Result<(String, CellMap), ReadError> {
    let document: Document = serde_json::from_str(json).map_err(|error| refused(json, &error))?;
    if let Some(language) = document.foreign_language() {
        return Err(ReadError::NotPython { language });
    }
    let mut joined = Joined { json, code: Vec::new(), map: CellMap::default(), counted: (0, 1) };
    for (index, cell) in document.into_cells()?.iter().enumerate() {
        if cell.is_python() {
            joined.add(index as u32 + 1, cell);
        }
    }
    Ok((joined.text(), joined.map))
}

/// [`read`] of cells whose code is known; their lines are not those of a file.
pub(super) fn join(cells: &[(u32, &str)]) -> (String, CellMap) {
    let mut joined = Joined { json: "", code: Vec::new(), map: CellMap::default(), counted: (0, 1) };
    for (index, code) in cells {
        joined.add_code(*index, code.as_bytes().to_vec(), &[Mark { start: 0, file_line: 1 }]);
    }
    (joined.text(), joined.map)
}

/// What serde_json says, by whether the text is JSON at all.
fn refused(json: &str, error: &serde_json::Error) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let said = error.to_string();
    let reason = said.split(" at line ").next().unwrap_or_default().to_lowercase();
    if error.classify() == Category::Data {
        return ReadError::NotANotebook { reason: format!("{reason} (line {line})") };
    }
    let found = json.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let is_conflict = ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|marker| found.starts_with(marker));
    let reason = if is_conflict { "an unresolved conflict of git".to_owned() } else { reason };
    ReadError::MalformedNotebook { line, column, reason }
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    cells: Option<Vec<RawCell<'a>>>,
    /// nbformat 2 and 3.
    #[serde(borrow)]
    worksheets: Option<Vec<Worksheet<'a>>>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Worksheet<'a> {
    #[serde(borrow, default)]
    cells: Vec<RawCell<'a>>,
}

#[derive(Deserialize)]
struct RawCell<'a> {
    #[serde(borrow)]
    cell_type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    /// The source in nbformat 2 and 3.
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    /// nbformat 2 and 3.
    #[serde(borrow)]
    language: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    kernelspec: Option<Kernel>,
    language_info: Option<Kernel>,
}

#[derive(Deserialize, Default)]
struct Kernel {
    name: Option<String>,
    language: Option<String>,
}

#[derive(Deserialize, Default)]
struct CellMetadata {
    vscode: Option<VsCode>,
}

#[derive(Deserialize)]
struct VsCode {
    #[serde(rename = "languageId")]
    language_id: Option<String>,
}

/// Kernels that often come without the name of their language.
const FOREIGN_KERNELS: [&str; 10] =
    ["bash", "deno", "ir", "javascript", "julia", "matlab", "octave", "scala", "xcpp", ".net"];

impl<'a> Document<'a> {
    /// The notebook's language when it says one and it is not Python. Metadata that make no sense say none.
    fn foreign_language(&self) -> Option<String> {
        let metadata: Metadata = parsed(self.metadata).unwrap_or_default();
        let kernel = metadata.kernelspec.unwrap_or_default();
        let info = metadata.language_info.unwrap_or_default();
        if let Some(language) = info.name.or(kernel.language).filter(|name| !name.is_empty()) {
            return (!is_python_name(&language)).then_some(language);
        }
        let name = kernel.name?.to_ascii_lowercase();
        let base =
            name.split('-').next().unwrap_or_default().trim_end_matches(|end: char| end.is_ascii_digit());
        FOREIGN_KERNELS.contains(&base).then_some(name)
    }

    fn into_cells(self) -> Result<Vec<RawCell<'a>>, ReadError> {
        match (self.cells, self.worksheets) {
            (Some(cells), _) => Ok(cells),
            (None, Some(sheets)) => Ok(sheets.into_iter().flat_map(|sheet| sheet.cells).collect()),
            (None, None) => {
                Err(ReadError::NotANotebook { reason: "it has neither `cells` nor `worksheets`".to_owned() })
            }
        }
    }
}

impl RawCell<'_> {
    fn is_python(&self) -> bool {
        let language =
            parsed::<CellMetadata>(self.metadata).and_then(|metadata| metadata.vscode?.language_id);
        let language = language.or_else(|| parsed(self.language));
        self.cell_type.as_deref() == Some("code") && language.is_none_or(|name| is_python_name(&name))
    }

    fn code(&self) -> Option<&RawValue> {
        self.source.or(self.input)
    }

    /// The strings that the source consists of, as they stand in the file.
    fn strings(&self) -> Vec<&RawValue> {
        let Some(source) = self.code() else {
            return Vec::new();
        };
        if source.get().starts_with('"') {
            return vec![source];
        }
        let parts: Vec<&RawValue> = parsed(Some(source)).unwrap_or_default();
        parts.into_iter().filter(|part| part.get().starts_with('"')).collect()
    }
}

fn is_python_name(language: &str) -> bool {
    language.to_ascii_lowercase().contains("python")
}

fn parsed<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

/// The text that grows cell by cell.
struct Joined<'a> {
    json: &'a str,
    code: Vec<u8>,
    map: CellMap,
    /// An offset of the JSON and its line, from where counting goes on.
    counted: (usize, u32),
}

impl Joined<'_> {
    fn add(&mut self, index: u32, cell: &RawCell<'_>) {
        let mut code = Vec::new();
        let mut marks = Vec::new();
        for string in cell.strings() {
            marks.push(Mark { start: code.len(), file_line: self.file_line(string.get()) });
            unescape(string.get(), &mut code);
        }
        self.add_code(index, code, &marks);
    }

    fn add_code(&mut self, index: u32, mut code: Vec<u8>, marks: &[Mark]) {
        end_lines_as_python(&mut code);
        let (mut code, pieces) = dedented(code, marks);
        if !magics::blank(&mut code) {
            return;
        }
        let start = self.code.len() as u32;
        self.map.cells.push(Cell { start, index });
        self.map.pieces.extend(pieces.into_iter().map(|piece| Piece { start: piece.start + start, ..piece }));
        self.code.append(&mut code);
    }

    fn text(&mut self) -> String {
        // Blanking writes ASCII over whole lines, so nothing is lost here.
        String::from_utf8(std::mem::take(&mut self.code))
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The line of a slice of the JSON.
    fn file_line(&mut self, part: &str) -> u32 {
        let offset = part.as_ptr().addr().saturating_sub(self.json.as_ptr().addr()).min(self.json.len());
        if offset < self.counted.0 {
            self.counted = (0, 1);
        }
        let between = &self.json.as_bytes()[self.counted.0..offset];
        self.counted = (offset, self.counted.1 + memchr::memchr_iter(b'\n', between).count() as u32);
        self.counted.1
    }
}

/// Where a string of the source begins in the cell. A JSON string is on one line of the file.
struct Mark {
    start: usize,
    file_line: u32,
}

/// Lone carriage returns end lines in Python; NUL is no Python. A cell ends with a line of its
/// own, and a backslash there must not join it with the next cell.
fn end_lines_as_python(code: &mut Vec<u8>) {
    for at in 0..code.len() {
        match code[at] {
            b'\r' if code.get(at + 1) != Some(&b'\n') => code[at] = b'\n',
            0 => code[at] = b' ',
            _ => {}
        }
    }
    if !code.ends_with(b"\n") {
        code.push(b'\n');
    }
    if code.trim_ascii_end().ends_with(b"\\") {
        code.push(b'\n');
    }
}

/// Cuts the indentation of the first line from all lines that have it, as IPython does.
fn dedented(code: Vec<u8>, marks: &[Mark]) -> (Vec<u8>, Vec<Piece>) {
    let first =
        code.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let width = first.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if width == 0 {
        let piece = |mark: &Mark| Piece { start: mark.start as u32, file_line: mark.file_line, dedent: 0 };
        let pieces = marks.iter().map(piece).collect();
        return (code, pieces);
    }
    let indent = first[..width].to_vec();
    let (mut cut, mut pieces, mut at) = (Vec::with_capacity(code.len()), Vec::new(), 0);
    for line in code.split_inclusive(|byte| *byte == b'\n') {
        let kept = line.strip_prefix(&*indent).unwrap_or(line);
        let dedent = line.len() - kept.len();
        let mut push = |at: usize, file_line| {
            let start = (cut.len() + at) as u32;
            pieces.push(Piece { start, file_line, dedent: dedent as u32 });
        };
        let before = marks.partition_point(|mark| mark.start <= at);
        push(0, marks[..before].last().map_or(1, |mark| mark.file_line));
        for mark in marks[before..].iter().take_while(|mark| mark.start < at + line.len()) {
            push((mark.start - at).saturating_sub(dedent), mark.file_line);
        }
        cut.extend_from_slice(kept);
        at += line.len();
    }
    (cut, pieces)
}

/// Appends what a JSON string means; it is known to be well formed. Half a surrogate pair becomes U+FFFD.
fn unescape(quoted: &str, out: &mut Vec<u8>) {
    let mut rest = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = rest.as_bytes().get(at + 1).copied().unwrap_or(b'\\');
        rest = rest.get(at + 2..).unwrap_or_default();
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(b'\x08'),
            b'f' => out.push(b'\x0c'),
            b'u' => rest = unescape_unicode(rest, out),
            plain => out.push(plain),
        }
    }
    out.extend_from_slice(rest.as_bytes());
}

/// After `\u`: one unit, or a pair of surrogates. Returns what follows.
fn unescape_unicode<'a>(rest: &'a str, out: &mut Vec<u8>) -> &'a str {
    let unit = |text: &str| text.get(..4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let Some(first) = unit(rest) else { return rest };
    let mut rest = &rest[4..];
    let mut units = vec![first];
    if let Some(second) = rest.strip_prefix("\\u").and_then(unit)
        && (0xD800..0xDC00).contains(&first)
        && (0xDC00..0xE000).contains(&second)
    {
        units.push(second);
        rest = &rest[6..];
    }
    out.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
    rest
}

#[cfg(test)]
mod tests;
