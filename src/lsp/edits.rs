//! Changes of the analysed text as edits of the client's documents. A change of a line that is not in the
//! document as it is in the analysed text (magics of a notebook) is none.

use super::client::Abilities;
use super::documents::Document;
use super::position::Encoding;
use crate::report::Span;
use crate::source::SourceFile;
use gen_lsp_types::{
    OptionalVersionedTextDocumentIdentifier, Range, TextDocumentEdit, TextDocumentIdentifier, TextEdit, Uri,
    WorkspaceEdit,
};
use similar::{DiffOp, TextDiff};
use std::collections::BTreeMap;

pub(crate) struct Changes<'a> {
    pub document: &'a Document,
    /// The text that the changes are of.
    pub source: &'a SourceFile,
    pub can: &'a Abilities,
}

impl Changes<'_> {
    /// All of them, or none.
    pub(crate) fn edit(&self, changes: &[(Span, &str)]) -> Option<WorkspaceEdit> {
        let mut by_cell: BTreeMap<Option<u32>, Vec<TextEdit>> = BTreeMap::new();
        for (span, text) in changes {
            let (cell, range) = self.range(*span)?;
            let (_, part) = self.document.part(cell)?;
            let new_text = text.replace('\n', line_end(&part.text));
            by_cell.entry(cell).or_default().push(TextEdit { range, new_text });
        }
        let parts = by_cell.into_iter().map(|(cell, edits)| {
            let (uri, part) = self.document.part(cell)?;
            Some((uri.to_owned(), part.version, edits))
        });
        Some(self.workspace_edit(parts.collect::<Option<_>>()?))
    }

    fn encoding(&self) -> Encoding {
        self.can.encoding
    }

    fn range(&self, span: Span) -> Option<(Option<u32>, Range)> {
        let (cell, start) = self.encoding().position(self.source, span.start);
        let (last, end) = self.encoding().position(self.source, span.end);
        // What ends where the next cell begins ends this one.
        if last != cell && end.line == 0 && end.character == 0 {
            let (line, _) = self.source.line_in(cell, u32::MAX)?;
            let (_, end) =
                self.encoding().position(self.source, u32::try_from(line.end).ok()?.min(span.end - 1));
            return self.is_plain(cell, start.line, end.line).then_some((cell, Range { start, end }));
        }
        (last == cell && self.is_plain(cell, start.line, end.line)).then_some((cell, Range { start, end }))
    }

    /// Whether lines are in the document as they are in the analysed text.
    fn is_plain(&self, cell: Option<u32>, first: u32, last: u32) -> bool {
        if cell.is_none() {
            return true;
        }
        let Some((_, part)) = self.document.part(cell) else { return false };
        let mut lines = part.text.lines().skip(first as usize);
        (first..=last).all(|line| {
            let Some((range, dedent)) = self.source.line_in(cell, line) else { return false };
            dedent == 0 && self.source.text[range] == *lines.next().unwrap_or_default().trim_end_matches('\r')
        })
    }

    /// What leads to another text of the same document: the lines that differ.
    pub(crate) fn rewrite(&self, after: &SourceFile) -> Option<WorkspaceEdit> {
        let (before, after) = (&*self.source.text, &*after.text);
        let diff = TextDiff::from_lines(before, after);
        let ends = |text: &str| -> Vec<usize> {
            std::iter::once(0)
                .chain(text.split_inclusive('\n').scan(0, |at, line| {
                    *at += line.len();
                    Some(*at)
                }))
                .collect()
        };
        let (old, new) = (ends(before), ends(after));
        let mut changes: Vec<(Span, &str)> = Vec::new();
        for op in diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            let (from, to) = (op.old_range(), op.new_range());
            let span = Span::new(u32::try_from(old[from.start]).ok()?, u32::try_from(old[from.end]).ok()?);
            changes.push((span, &after[new[to.start]..new[to.end]]));
        }
        (!changes.is_empty()).then(|| self.edit(&changes))?
    }

    fn workspace_edit(&self, parts: Vec<(String, i32, Vec<TextEdit>)>) -> WorkspaceEdit {
        if !self.can.versioned_edits {
            let changes = parts.into_iter().map(|(uri, _, edits)| (Uri(uri), edits)).collect();
            return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
        }
        let changes = parts.into_iter().map(|(uri, version, edits)| {
            let text_document = OptionalVersionedTextDocumentIdentifier {
                version: Some(version),
                text_document_identifier: TextDocumentIdentifier { uri: Uri(uri) },
            };
            TextDocumentEdit { text_document, edits: edits.into_iter().map(Into::into).collect() }.into()
        });
        WorkspaceEdit { document_changes: Some(changes.collect()), ..WorkspaceEdit::default() }
    }
}

/// How a text ends its lines: as it ends the first one.
fn line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}
