//! Changes of the analysed text, made in the bytes that it was read from: encoding, byte order mark,
//! line ends and the JSON around the cells of a notebook stay as they were.

use super::{Kind, SourceFile, encoding, notebook};
use crate::report::Span;
use thiserror::Error;

/// Why a file can't be changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PatchError {
    #[error("the file has changed since it was read")]
    Changed,
    #[error("the change can't be written in the encoding of the file")]
    Encoding,
    #[error("the change touches lines of a notebook that are not Python")]
    NotPython,
    #[error("the cell is indented as a whole")]
    Indented,
    #[error("the changes overlap")]
    Overlap,
}

/// Text to be put in the place of a span of the analysed text.
pub(crate) type Replacement<'a> = (Span, &'a str);

impl SourceFile {
    /// The bytes of the file with these changes, which are in order and do not overlap. `bytes` are what the
    /// file was read from.
    pub fn patched(&self, bytes: &[u8], changes: &[Replacement<'_>]) -> Result<Vec<u8>, PatchError> {
        let is_ordered = changes.windows(2).all(|pair| pair[0].0.end <= pair[1].0.start);
        if !is_ordered {
            return Err(PatchError::Overlap);
        }
        let before = SourceFile::from_bytes(&self.path, bytes).map_err(|_| PatchError::Changed)?;
        if before.text != self.text {
            return Err(PatchError::Changed);
        }
        let raw = match self.kind {
            Kind::Notebook => encoding::raw_plain(bytes),
            Kind::Script | Kind::Stub => encoding::raw_script(bytes),
        };
        let (raw, coding) = raw.map_err(|_| PatchError::Changed)?;
        // What does not come back as it was can't be trusted with a change.
        if coding.encode(&raw, bytes).as_deref() != Some(bytes) {
            return Err(PatchError::Encoding);
        }
        let text = match self.kind {
            Kind::Notebook => notebook::patched(&raw, &self.text, changes)?,
            Kind::Script | Kind::Stub => script(&raw, changes),
        };
        let patched = coding.encode(&text, bytes).ok_or(PatchError::Encoding)?;
        self.verify(&patched, changes)?;
        Ok(patched)
    }

    /// Reads what was written: it has to be the text with the changes, but for the kind of its line ends.
    fn verify(&self, patched: &[u8], changes: &[Replacement<'_>]) -> Result<(), PatchError> {
        let after = SourceFile::from_bytes(&self.path, patched).map_err(|_| PatchError::Encoding)?;
        let plain = |text: &str| text.replace("\r\n", "\n");
        let same = plain(&after.text) == plain(&changed(&self.text, changes, str::to_owned));
        if same { Ok(()) } else { Err(PatchError::NotPython) }
    }
}

/// Lone carriage returns were read as line feeds, so offsets of the text are those of the file.
fn script(raw: &str, changes: &[Replacement<'_>]) -> String {
    let ending = line_end(raw);
    changed(raw, changes, |text| text.replace('\n', ending))
}

/// How a text ends its lines: as it ends the first one.
pub(super) fn line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) if text[at..].starts_with("\r\n") => "\r\n",
        Some(at) if text[at..].starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// A text with replacements put in.
fn changed(text: &str, changes: &[Replacement<'_>], written: impl Fn(&str) -> String) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len() + 64), 0);
    for (span, replacement) in changes {
        out.push_str(text.get(at..span.start as usize).unwrap_or_default());
        out.push_str(&written(replacement));
        at = span.end as usize;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The file with `word` replaced, in the analysed text.
    fn patched(path: &str, bytes: &[u8], word: &str, by: &str) -> Result<Vec<u8>, PatchError> {
        let source = SourceFile::from_bytes(Path::new(path), bytes).unwrap();
        let at = source.text.find(word).unwrap() as u32;
        source.patched(bytes, &[(Span::new(at, at + word.len() as u32), by)])
    }

    #[test]
    fn marks_encodings_and_line_ends_stay() {
        let of = |bytes: &[u8], by: &str| patched("a.py", bytes, "x()", by);
        assert_eq!(of(b"\xEF\xBB\xBFa\r\nx()\r\n", "y()\nz()").unwrap(), b"\xEF\xBB\xBFa\r\ny()\r\nz()\r\n");
        assert_eq!(of(b"a\rx()\r", "y\nz").unwrap(), b"a\ry\rz\r");
        let latin = b"# coding: latin-1\n# \xe9\nx()\n";
        assert_eq!(of(latin, "y").unwrap(), b"# coding: latin-1\n# \xe9\ny\n");
        assert_eq!(of(latin, "'\u{20ac}'"), Err(PatchError::Encoding));
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(of(&wide("\u{feff}'é'\nx()\n"), "y").unwrap(), wide("\u{feff}'é'\ny\n"));
        let gbk = b"# coding: gbk\n# \xc4\xe3\xba\xc3\nx()";
        assert_eq!(of(gbk, "y").unwrap(), b"# coding: gbk\n# \xc4\xe3\xba\xc3\ny");
    }

    #[test]
    fn another_file_is_left_alone() {
        let source = SourceFile::from_bytes(Path::new("a.py"), b"x()\n").unwrap();
        let change = [(Span::new(0, 1), "y")];
        assert_eq!(source.patched(b"z()\n", &change), Err(PatchError::Changed));
        let twice = [(Span::new(0, 2), "y"), (Span::new(1, 3), "y")];
        assert_eq!(source.patched(b"x()\n", &twice), Err(PatchError::Overlap));
    }
}
