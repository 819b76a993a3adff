//! Positions as clients count them, in bytes, UTF-16 units or code points, to and from offsets.

use crate::report::Span;
use crate::source::SourceFile;
use gen_lsp_types::{Position, PositionEncodingKind, Range};
use serde_json::Value;

/// What a column counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// What the client can count that costs least here; UTF-16 where it says nothing.
    pub(crate) fn of_client(offered: Option<&Value>) -> Encoding {
        let offered = offered.and_then(Value::as_array);
        let has = |name: &str| offered.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
        match () {
            () if has("utf-8") => Encoding::Utf8,
            () if has("utf-32") => Encoding::Utf32,
            () => Encoding::Utf16,
        }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    /// How long a text is.
    pub(crate) fn width(self, text: &str) -> u32 {
        let width = match self {
            Encoding::Utf8 => text.len(),
            _ if text.is_ascii() => text.len(),
            Encoding::Utf16 => text.encode_utf16().count(),
            Encoding::Utf32 => text.chars().count(),
        };
        u32::try_from(width).unwrap_or(u32::MAX)
    }

    /// The byte of a line at a column; past its end, the end. Within a character, its start.
    pub(crate) fn byte(self, line: &str, column: u32) -> usize {
        let column = column as usize;
        if self == Encoding::Utf8 {
            let end = column.min(line.len());
            return (0..=end).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        }
        let mut passed = 0;
        for (at, letter) in line.char_indices() {
            passed += if self == Encoding::Utf16 { letter.len_utf16() } else { 1 };
            if passed > column {
                return at;
            }
        }
        line.len()
    }

    /// The cell, if it is a notebook, and the position in it.
    pub(crate) fn position(self, source: &SourceFile, offset: u32) -> (Option<u32>, Position) {
        let before = source.before(offset);
        (before.cell, Position::new(before.line, before.dedent + self.width(before.text)))
    }

    /// The cell, and the range in it. What ends in another cell ends where its line does.
    pub(crate) fn range(self, source: &SourceFile, span: Span) -> (Option<u32>, Range) {
        let (cell, start) = self.position(source, span.start);
        let (other, end) = self.position(source, span.end);
        if other == cell {
            return (cell, Range { start, end });
        }
        let line = source.line_index(span.start);
        let kept = source.text[source.line_range(line)].trim_end().len() + source.line_range(line).start;
        let (_, end) = self.position(source, u32::try_from(kept).unwrap_or(span.start).max(span.start));
        (cell, Range { start, end })
    }

    /// The offset of a position; none in a cell that holds no Python.
    pub(crate) fn offset(self, source: &SourceFile, cell: Option<u32>, position: Position) -> Option<u32> {
        let (line, dedent) = source.line_in(cell, position.line)?;
        let column = position.character.saturating_sub(dedent);
        u32::try_from(line.start + self.byte(&source.text[line], column)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn columns_are_counted_as_the_client_counts() {
        let source = SourceFile::from_text(Path::new("a.py"), "x = 1\r\ny = 'naïve 😀', z\r\n").unwrap();
        let at = source.text.find('z').unwrap() as u32;
        for (encoding, column) in [(Encoding::Utf8, 19), (Encoding::Utf16, 16), (Encoding::Utf32, 15)] {
            let (cell, position) = encoding.position(&source, at);
            assert_eq!((cell, position), (None, Position::new(1, column)), "{encoding:?}");
            assert_eq!(encoding.offset(&source, None, position), Some(at), "{encoding:?}");
            assert_eq!(encoding.offset(&source, None, Position::new(9, 9)), Some(source.text.len() as u32));
        }
        let inside = source.text.find('😀').unwrap();
        assert_eq!(Encoding::Utf16.byte(&source.text, inside as u32), inside);
        assert_eq!(Encoding::Utf8.byte("é", 1), 0);
    }

    #[test]
    fn lines_of_notebooks_are_those_of_cells() {
        let cells = [(1, "import torch"), (3, "  x = 1\n  y = 'é', z\n")];
        let source = SourceFile::from_cells(Path::new("a.ipynb"), &cells).unwrap();
        let at = source.text.find('z').unwrap() as u32;
        let (cell, position) = Encoding::Utf16.position(&source, at);
        assert_eq!((cell, position), (Some(3), Position::new(1, 11)));
        assert_eq!(Encoding::Utf16.offset(&source, cell, position), Some(at));
        assert_eq!(Encoding::Utf16.offset(&source, Some(2), position), None);
    }
}
