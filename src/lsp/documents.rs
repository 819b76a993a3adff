//! What the client has open: scripts, and notebooks with the documents of their cells. Texts are as the client
//! last said; what is analysed is made of them when it is asked for.

use super::position::Encoding;
use super::uri;
use crate::source::{ReadError, SourceFile};
use gen_lsp_types::{
    NotebookCell, NotebookCellKind, NotebookDocument, Range, TextDocumentContentChangeEvent, TextDocumentItem,
};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text, as it stands in one document of the client.
#[derive(Debug)]
pub(crate) struct Text {
    pub text: String,
    pub version: i32,
    is_python: bool,
}

#[derive(Debug)]
pub(crate) struct Cell {
    pub uri: String,
    pub is_code: bool,
}

#[derive(Debug)]
pub(crate) enum Body {
    Script(Text),
    Notebook { cells: Vec<Cell>, texts: FxHashMap<String, Text> },
}

/// A script or a notebook.
#[derive(Debug)]
pub(crate) struct Document {
    pub uri: String,
    /// Where it lies, or would lie. What is neither a file nor to become one is not analysed.
    pub path: Option<PathBuf>,
    pub version: i32,
    pub body: Body,
    /// Counts every change.
    pub edits: u64,
}

/// The place of a document of the client: the document that is analysed, and the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat<'a> {
    pub document: &'a Document,
    pub cell: Option<u32>,
}

impl PartialEq for Document {
    fn eq(&self, other: &Document) -> bool {
        self.uri == other.uri
    }
}

impl Eq for Document {}

#[derive(Default)]
pub(crate) struct Documents {
    open: FxHashMap<String, Document>,
    /// The notebook of a cell.
    notebooks: FxHashMap<String, String>,
}

impl Text {
    /// A line, without its end.
    pub(crate) fn line(&self, number: u32) -> &str {
        line_of(&self.text[line_start(&self.text, 0, number)..])
    }

    fn new(item: TextDocumentItem) -> Text {
        let is_python = String::from(item.language_id) == "python";
        Text { text: item.text, version: item.version, is_python }
    }

    /// Whether the change could be made: a place that is not there is one of another text.
    fn change(&mut self, change: TextDocumentContentChangeEvent, encoding: Encoding) -> bool {
        match change {
            TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                self.text = whole.text;
                true
            }
            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(partial) => {
                let Some(range) = bytes_of(&self.text, partial.range, encoding) else { return false };
                self.text.replace_range(range, &partial.text);
                true
            }
        }
    }
}

/// The bytes of a range of a text as the client counts lines: a lone carriage return ends one, too.
fn bytes_of(text: &str, range: Range, encoding: Encoding) -> Option<std::ops::Range<usize>> {
    let start_line = line_start(text, 0, range.start.line);
    let end_line = line_start(text, start_line, range.end.line.checked_sub(range.start.line)?);
    let at = |start: usize, column: u32| start + encoding.byte(line_of(&text[start..]), column);
    let (start, end) = (at(start_line, range.start.character), at(end_line, range.end.character));
    (start <= end).then_some(start..end)
}

/// Where the line begins that is so many below the one at `from`; past the last, the end.
fn line_start(text: &str, from: usize, lines: u32) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    for _ in 0..lines {
        let Some(end) = memchr::memchr2(b'\n', b'\r', &bytes[at..]) else { return bytes.len() };
        let end = at + end;
        at = end + if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    at
}

fn line_of(text: &str) -> &str {
    memchr::memchr2(b'\n', b'\r', text.as_bytes()).map_or(text, |end| &text[..end])
}

impl Document {
    /// What is analysed; none where there is no Python in it, or where it lies nowhere.
    pub(crate) fn source(&self) -> Option<Result<Arc<SourceFile>, ReadError>> {
        let path = self.path.as_deref()?;
        let source = match &self.body {
            Body::Script(text) if !is_script(path, text) => return None,
            Body::Script(text) => SourceFile::from_text(path, &text.text),
            Body::Notebook { cells, texts } => SourceFile::from_cells(path, &code_of(cells, texts)),
        };
        Some(source.map(Arc::new))
    }

    /// The document of the client that holds a cell of it, with its version.
    pub(crate) fn part(&self, cell: Option<u32>) -> Option<(&str, &Text)> {
        match (&self.body, cell) {
            (Body::Script(text), None) => Some((&self.uri, text)),
            (Body::Notebook { cells, texts }, Some(index)) => {
                let cell = cells.get(index as usize - 1)?;
                Some((&cell.uri, texts.get(&cell.uri)?))
            }
            _ => None,
        }
    }

    /// Every document of the client that may show findings of it.
    pub(crate) fn parts(&self) -> Vec<(Option<u32>, &str, i32)> {
        match &self.body {
            Body::Script(text) => vec![(None, self.uri.as_str(), text.version)],
            Body::Notebook { cells, .. } => (1..)
                .zip(cells)
                .filter_map(|(index, cell)| {
                    let version = self.part(Some(index))?.1.version;
                    cell.is_code.then_some((Some(index), cell.uri.as_str(), version))
                })
                .collect(),
        }
    }
}

/// What the client calls Python, and what is called so by its name.
fn is_script(path: &Path, text: &Text) -> bool {
    text.is_python || crate::source::Kind::of(path).is_some()
}

pub(crate) fn code_of<'a>(cells: &'a [Cell], texts: &'a FxHashMap<String, Text>) -> Vec<(u32, &'a str)> {
    let numbered = (1..).zip(cells).filter(|(_, cell)| cell.is_code);
    let texts = numbered.filter_map(|(index, cell)| Some((index, texts.get(&cell.uri)?)));
    texts.filter(|(_, text)| text.is_python).map(|(index, text)| (index, text.text.as_str())).collect()
}

impl Documents {
    pub(crate) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(uri)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    /// The document that a URI of the client belongs to.
    pub(crate) fn seat(&self, uri: &str) -> Option<Seat<'_>> {
        if let Some(document) = self.open.get(uri) {
            return Some(Seat { document, cell: None });
        }
        let document = self.open.get(self.notebooks.get(uri)?)?;
        let Body::Notebook { cells, .. } = &document.body else { return None };
        let index = cells.iter().position(|cell| cell.uri == uri)?;
        Some(Seat { document, cell: Some(index as u32 + 1) })
    }

    /// The document at a path.
    pub(crate) fn at(&self, path: &Path) -> Option<&Document> {
        self.open.values().find(|document| document.path.as_deref() == Some(path))
    }

    pub(crate) fn open_script(&mut self, item: TextDocumentItem, root: &Path) -> String {
        let uri = item.uri.0.clone();
        let (path, version) = (path_of(&uri, root), item.version);
        let body = Body::Script(Text::new(item));
        self.insert(Document { uri: uri.clone(), path, version, body, edits: 0 });
        uri
    }

    pub(crate) fn open_notebook(
        &mut self,
        notebook: NotebookDocument,
        texts: Vec<TextDocumentItem>,
        root: &Path,
    ) -> String {
        let uri = notebook.uri.0;
        let cells: Vec<Cell> = notebook.cells.into_iter().map(cell).collect();
        let texts = texts.into_iter().map(|item| (item.uri.0.clone(), Text::new(item))).collect();
        self.notebooks.extend(cells.iter().map(|cell| (cell.uri.clone(), uri.clone())));
        let (path, version) = (path_of(&uri, root), notebook.version);
        self.insert(Document {
            uri: uri.clone(),
            path,
            version,
            body: Body::Notebook { cells, texts },
            edits: 0,
        });
        uri
    }

    fn insert(&mut self, document: Document) {
        self.open.insert(document.uri.clone(), document);
    }

    pub(crate) fn close(&mut self, uri: &str) -> Option<Document> {
        let document = self.open.remove(uri)?;
        self.notebooks.retain(|_, notebook| notebook != uri);
        Some(document)
    }

    /// Changes a script; says what went wrong.
    pub(crate) fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Result<(), String> {
        let document =
            self.open.get_mut(uri).ok_or_else(|| format!("{uri} is changed, and was not opened"))?;
        let Body::Script(text) = &mut document.body else {
            return Err(format!("{uri} is a notebook, and is changed as a script"));
        };
        (document.version, document.edits) = (version, document.edits + 1);
        change_text(uri, text, version, changes, encoding)
    }

    /// Changes a notebook; says what went wrong.
    pub(crate) fn change_notebook(
        &mut self,
        uri: &str,
        version: i32,
        change: gen_lsp_types::NotebookDocumentChangeEvent,
        encoding: Encoding,
    ) -> Result<(), String> {
        let document =
            self.open.get_mut(uri).ok_or_else(|| format!("{uri} is changed, and was not opened"))?;
        let Body::Notebook { cells, texts } = &mut document.body else {
            return Err(format!("{uri} is a script, and is changed as a notebook"));
        };
        (document.version, document.edits) = (version, document.edits + 1);
        let Some(change) = change.cells else { return Ok(()) };
        if let Some(structure) = change.structure {
            let at = (structure.array.start as usize).min(cells.len());
            let end = at.saturating_add(structure.array.delete_count as usize).min(cells.len());
            let new = structure.array.cells.unwrap_or_default().into_iter().map(cell);
            cells.splice(at..end, new);
            for closed in structure.did_close.unwrap_or_default() {
                texts.remove(&closed.uri.0);
                self.notebooks.remove(&closed.uri.0);
            }
            for item in structure.did_open.unwrap_or_default() {
                texts.insert(item.uri.0.clone(), Text::new(item));
            }
            self.notebooks.extend(cells.iter().map(|cell| (cell.uri.clone(), uri.to_owned())));
        }
        for data in change.data.unwrap_or_default() {
            if let Some(own) = cells.iter_mut().find(|cell| cell.uri == data.document.0) {
                *own = cell(data);
            }
        }
        for content in change.text_content.unwrap_or_default() {
            let own = content.document.text_document_identifier.uri.0;
            let text = texts
                .get_mut(&own)
                .ok_or_else(|| format!("the cell {own} is changed, and was not opened"))?;
            change_text(&own, text, content.document.version, content.changes, encoding)?;
        }
        Ok(())
    }
}

fn change_text(
    uri: &str,
    text: &mut Text,
    version: i32,
    changes: Vec<TextDocumentContentChangeEvent>,
    encoding: Encoding,
) -> Result<(), String> {
    text.version = version;
    for change in changes {
        if !text.change(change, encoding) {
            return Err(format!("{uri}: a change ends before it begins"));
        }
    }
    Ok(())
}

fn cell(cell: NotebookCell) -> Cell {
    Cell { uri: cell.document.0, is_code: cell.kind == NotebookCellKind::Code }
}

/// What has no file yet is taken to lie in the root.
fn path_of(document: &str, root: &Path) -> Option<PathBuf> {
    uri::path_of(document).or_else(|| Some(root.join(uri::untitled_name(document)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gen_lsp_types::Position;

    #[test]
    fn ranges_are_found_whatever_ends_a_line() {
        let text = "a\r\nb😀c\rd\n";
        let at = |line, from, to| {
            let range = Range { start: Position::new(line, from), end: Position::new(line, to) };
            bytes_of(text, range, Encoding::Utf16).map(|range| &text[range])
        };
        assert_eq!(at(0, 0, 9), Some("a"));
        assert_eq!(at(1, 1, 3), Some("😀"));
        assert_eq!(at(2, 0, 1), Some("d"));
        assert_eq!(at(7, 0, 0), Some(""));
        assert_eq!(at(1, 3, 1), None);
        let whole = Range { start: Position::new(0, 1), end: Position::new(2, 0) };
        assert_eq!(bytes_of(text, whole, Encoding::Utf8), Some(1..10));
    }
}
