//! Changes of the code of a notebook, made in the strings of its JSON: what they do not touch stays byte for
//! byte, and a source of one string a line keeps that form.

use super::{Document, RawCell, dedented, end_lines_as_python, magics, unescape, unescape_unicode};
use crate::source::PatchError;
use crate::source::patch::{Replacement, line_end};
use std::fmt::Write;
use std::ops::Range;

/// The JSON with changes of the text of its cells, which are in order.
pub(in crate::source) fn patched(
    json: &str,
    text: &str,
    changes: &[Replacement<'_>],
) -> Result<String, PatchError> {
    let document: Document = serde_json::from_str(json).map_err(|_| PatchError::Changed)?;
    let cells = document.into_cells().map_err(|_| PatchError::Changed)?;
    let mut changes = changes.iter().peekable();
    let mut splices = Vec::new();
    let mut start = 0;
    for cell in cells.iter().filter(|cell| cell.is_python()) {
        let code = Code::new(json, cell);
        let Some(length) = code.read_length() else { continue };
        let end = start + length;
        while let Some((span, by)) = changes.next_if(|(span, _)| (span.start as usize) < end) {
            let range = span.start as usize - start..span.end as usize - start;
            let said = text.get(span.range()).ok_or(PatchError::Changed)?;
            splices.push(code.splice(range, said, by)?);
        }
        start = end;
    }
    if changes.next().is_some() {
        return Err(PatchError::NotPython);
    }
    let mut out = json.to_owned();
    // From behind, so that offsets stay what they are.
    for (range, by) in splices.into_iter().rev() {
        out.replace_range(range, &by);
    }
    Ok(out)
}

/// The source of a cell, with the strings of the JSON that it is made of.
struct Code<'a> {
    strings: Vec<Literal<'a>>,
    /// What the strings say.
    said: Vec<u8>,
    /// What stands between two of the strings of a list; `None` for a source in one string.
    between: Option<String>,
    /// The file has no character past ASCII, and is to get none.
    is_ascii: bool,
}

/// A string of the JSON, without its quotes.
struct Literal<'a> {
    /// Where it begins in the JSON.
    at: usize,
    inner: &'a str,
    /// Where it begins, and ends, in what the strings say.
    says: Range<usize>,
}

impl<'a> Code<'a> {
    fn new(json: &'a str, cell: &'a RawCell<'_>) -> Code<'a> {
        let (mut strings, mut said) = (Vec::new(), Vec::new());
        for string in cell.strings() {
            let quoted = string.get();
            let begin = said.len();
            unescape(quoted, &mut said);
            let at = quoted.as_ptr().addr() - json.as_ptr().addr() + 1;
            let inner = &quoted[1..quoted.len() - 1];
            strings.push(Literal { at, inner, says: begin..said.len() });
        }
        let source = cell.code().map_or("", |source| source.get());
        let between = source.strip_prefix('[').map(|rest| match &strings[..] {
            [first, second, ..] => json[first.at + first.inner.len() + 1..second.at - 1].to_owned(),
            _ => format!(",{}", &rest[..rest.len() - rest.trim_start().len()]),
        });
        Code { strings, said, between, is_ascii: json.is_ascii() }
    }

    /// How much of the analysed text the cell is; `None` when it holds no Python.
    fn read_length(&self) -> Option<usize> {
        let mut code = self.said.clone();
        end_lines_as_python(&mut code);
        let (mut code, _) = dedented(code, &[]);
        magics::blank(&mut code).then_some(code.len())
    }

    fn is_indented(&self) -> bool {
        let first = self.said.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
        first.is_some_and(|line| line.starts_with(b" ") || line.starts_with(b"\t"))
    }

    /// The part of the JSON that a change replaces, and by what.
    fn splice(
        &self,
        range: Range<usize>,
        read: &str,
        by: &str,
    ) -> Result<(Range<usize>, String), PatchError> {
        if self.is_indented() {
            return Err(PatchError::Indented);
        }
        // The end of the last line is added where the source lacks it.
        let range = range.start..range.end.min(self.said.len());
        let said = self.said.get(range.clone()).ok_or(PatchError::NotPython)?;
        if said != read.as_bytes().get(..said.len()).unwrap_or_default() {
            return Err(PatchError::NotPython);
        }
        let (Some((first, start)), Some((last, end))) = (self.find(range.start), self.find(range.end)) else {
            return Err(PatchError::NotPython);
        };
        let rest = &last.inner[end..];
        let text = std::str::from_utf8(&self.said).map_or("\n", line_end);
        let written = self.written(&by.replace('\n', text), !rest.is_empty());
        Ok((first.at + start..last.at + end, written))
    }

    /// The string that holds a byte of the source, and where in it; the later one at the border of two.
    fn find(&self, offset: usize) -> Option<(&Literal<'a>, usize)> {
        let literal = self.strings.iter().rfind(|literal| literal.says.start <= offset)?;
        Some((literal, json_offset(literal.inner, offset - literal.says.start)))
    }

    /// A text as it is written between the quotes of the JSON; `goes_on` where more follows in the string.
    fn written(&self, text: &str, goes_on: bool) -> String {
        let mut out = String::new();
        for (at, letter) in text.char_indices() {
            escape(letter, self.is_ascii, &mut out);
            let ends_all = at + 1 == text.len() && !goes_on;
            if let Some(between) = self.between.as_ref().filter(|_| letter == '\n' && !ends_all) {
                out.push('"');
                out.push_str(between);
                out.push('"');
            }
        }
        out
    }
}

/// Where in a JSON string the byte stands that is the `wanted`th of what the string means.
fn json_offset(inner: &str, wanted: usize) -> usize {
    let (mut at, mut said) = (0, 0);
    let mut scratch = Vec::new();
    while said < wanted && at < inner.len() {
        let escape = inner[at..].strip_prefix('\\').and_then(|rest| rest.chars().next());
        let (length, means) = match escape {
            None => {
                inner[at..].chars().next().map_or((1, 1), |letter| (letter.len_utf8(), letter.len_utf8()))
            }
            Some('u') => {
                scratch.clear();
                let rest = unescape_unicode(&inner[at + 2..], &mut scratch);
                (inner.len() - rest.len() - at, scratch.len())
            }
            Some(_) => (2, 1),
        };
        at += length;
        said += means;
    }
    at
}

fn escape(letter: char, to_ascii: bool, out: &mut String) {
    match letter {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if letter.is_control() || (to_ascii && !letter.is_ascii()) => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        _ => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::Span;
    use crate::source::{PatchError, SourceFile};
    use std::path::Path;

    fn patched(json: &str, word: &str, by: &str) -> Result<String, PatchError> {
        let source = SourceFile::from_bytes(Path::new("a.ipynb"), json.as_bytes()).unwrap();
        let at = source.text.find(word).unwrap() as u32;
        let change = (Span::new(at, at + word.len() as u32), by);
        source.patched(json.as_bytes(), &[change]).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    fn notebook(source: &str) -> String {
        format!("{{\"cells\": [{{\"cell_type\": \"code\",\n \"source\": {source}, \"outputs\": [1.0]}}]}}")
    }

    #[test]
    fn only_the_touched_string_changes() {
        for (before, word, by, after) in [
            (r#"["a\n", "b\n", "c"]"#, "b\n", "", r#"["a\n", "c"]"#),
            (r#"["a\n", "b\n", "c"]"#, "b", "b\n  d", r#"["a\n", "b\n", "  d\n", "c"]"#),
            (r#"["a\n", "b\n", "c"]"#, "c", "d\nc", r#"["a\n", "b\n", "d\n", "c"]"#),
            (r#"["c"]"#, "c", "c\nd", r#"["c\n","d"]"#),
            ("[\n  \"c\"]", "c", "c\nd", "[\n  \"c\\n\",\n  \"d\"]"),
            (r#""a\u00e9 \"x\"\nb\nc""#, "b", "'d'\n\"e\"", r#""a\u00e9 \"x\"\n'd'\n\"e\"\nc""#),
            (r#""a\r\nb""#, "b", "c\nd", r#""a\r\nc\r\nd""#),
            (r#"["%time\n", "é = 1\n", "b"]"#, "b", "c", r#"["%time\n", "é = 1\n", "c"]"#),
        ] {
            assert_eq!(patched(&notebook(before), word, by).as_deref(), Ok(&*notebook(after)), "{before}");
        }
    }

    #[test]
    fn what_is_no_plain_python_is_refused() {
        assert_eq!(patched(&notebook(r#"["  a\n", "  b"]"#), "b", "c"), Err(PatchError::Indented));
        let timed = notebook(r#"["%time f(x)\n"]"#);
        assert_eq!(patched(&timed, "pass; f(x)", "g(x)"), Err(PatchError::NotPython));
    }
}
