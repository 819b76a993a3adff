//! Python's logical lines, found without a grammar: strings, comments, brackets and
//! backslashes decide where a statement ends. Serves suppressions and notebook magics.

use crate::report::Span;
use std::ops::Range;

/// The logical lines of a text in order, without indentation and trailing comments. Of a
/// compound statement that is its header, with the body when it stands on the same line.
pub fn logical_lines(text: &str) -> Vec<Span> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = skip_indent(bytes, at);
        if is_blank(bytes, start) {
            at = line_end(bytes, start) + 1;
            continue;
        }
        let line = scan(bytes, start);
        spans.push(Span::new(start as u32, line.code_end as u32));
        at = line.end + 1;
    }
    spans
}

/// The code in a part of a logical line: without comments, and with one space for any run of them.
pub fn bare_code(text: &str, logical: Span, part: Range<usize>) -> String {
    let bytes = text.as_bytes();
    let mut code = String::new();
    let (mut at, mut from) = (logical.start as usize, logical.start as usize);
    let end = (logical.end as usize).min(bytes.len());
    let mut keep = |from: usize, to: usize| {
        let kept = from.max(part.start)..to.min(part.end);
        code.push_str(text.get(kept).unwrap_or_default());
    };
    while at < end {
        match bytes[at] {
            b'#' => {
                keep(from, at);
                at = line_end(bytes, at);
                from = at;
            }
            b'"' | b'\'' => at = after_string(bytes, at),
            _ => at += 1,
        }
    }
    keep(from, end);
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One logical line, from a scan.
pub(super) struct LogicalLine {
    /// Offset of the line feed that ends it, or the length of the text.
    pub end: usize,
    /// After the last byte that is neither space nor comment.
    pub code_end: usize,
    /// The `%` or `!` after a plain `=`: IPython's assignment of a magic, which Python has no use for.
    pub assigned: Option<usize>,
}

/// Scans a logical line from its first byte of code.
pub(super) fn scan(bytes: &[u8], start: usize) -> LogicalLine {
    let (mut at, mut code_end, mut depth) = (start, start, 0_u32);
    let mut assigned = None;
    while at < bytes.len() {
        let byte = bytes[at];
        at = match byte {
            b'\n' if depth == 0 => break,
            b' ' | b'\t' | b'\r' | b'\n' | b'\x0c' => {
                at += 1;
                continue;
            }
            b'#' => {
                at = line_end(bytes, at);
                continue;
            }
            b'"' | b'\'' => after_string(bytes, at),
            b'\\' => after_continuation(bytes, at).unwrap_or(at + 1),
            _ => at + 1,
        };
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => {
                assigned = assigned_magic(bytes, at - 1);
                if assigned.is_some() {
                    break;
                }
            }
            _ => {}
        }
        code_end = at;
    }
    LogicalLine { end: at.min(bytes.len()), code_end: code_end.min(bytes.len()), assigned }
}

/// The offset of the line feed that ends the physical line, or the length.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length)
}

/// Like [`line_end`], but a backslash before the line feed goes on to the next line.
pub(super) fn continued_end(bytes: &[u8], at: usize) -> usize {
    let (mut from, mut end) = (at, line_end(bytes, at));
    while end < bytes.len() && bytes[from..end].trim_ascii_end().ends_with(b"\\") {
        from = end + 1;
        end = line_end(bytes, from);
    }
    end
}

pub(super) fn skip_indent(bytes: &[u8], at: usize) -> usize {
    let indent = bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\x0c'));
    at + indent.count()
}

/// True when nothing but a comment or the line's end is there.
pub(super) fn is_blank(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at), None | Some(b'\n' | b'\r' | b'#'))
}

/// After `\` and a line end.
fn after_continuation(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    }
}

/// After the closing quote; an unclosed string ends at its line's end, an unclosed triple one with the text.
pub(super) fn after_string(bytes: &[u8], at: usize) -> usize {
    let quote = bytes[at];
    let triple = bytes[at..].starts_with(&[quote; 3]);
    let mut at = if triple { at + 3 } else { at + 1 };
    while at < bytes.len() {
        match bytes[at] {
            // Also in raw strings a backslash keeps the quote after it from closing.
            b'\\' => at = after_continuation(bytes, at).unwrap_or(at + 2),
            b'\n' if !triple => return at,
            byte if byte == quote && !triple => return at + 1,
            byte if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// After a comment or a string that begins here, or after the byte.
pub fn after_token(bytes: &[u8], at: usize) -> usize {
    match bytes[at] {
        b'#' => line_end(bytes, at),
        b'"' | b'\'' => after_string(bytes, at),
        _ => at + 1,
    }
}

fn assigned_magic(bytes: &[u8], equals: usize) -> Option<usize> {
    let before = equals.checked_sub(1).map(|at| bytes[at])?;
    if b"=!<>:+-*/%&|^@~".contains(&before) {
        return None;
    }
    let value = skip_indent(bytes, equals + 1);
    matches!(bytes.get(value), Some(b'%' | b'!')).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<&str> {
        logical_lines(text).into_iter().map(|span| &text[span.range()]).collect()
    }

    #[test]
    fn brackets_strings_and_backslashes_join_physical_lines() {
        let text = "a = f(1,  # one )\n      2)  # two\nb = '''x\n# no comment\n'''\n\nif a and \\\n   b:\n    c = 1; d = 2\n";
        assert_eq!(
            lines(text),
            [
                "a = f(1,  # one )\n      2)",
                "b = '''x\n# no comment\n'''",
                "if a and \\\n   b:",
                "c = 1; d = 2"
            ]
        );
    }

    #[test]
    fn quotes_and_escapes_do_not_confuse() {
        assert_eq!(
            lines("a = 'it\\'s ('\nb = r'\\'\nc = \"\\\\\"\n"),
            ["a = 'it\\'s ('", "b = r'\\'", "c = \"\\\\\""]
        );
        assert_eq!(lines("a = 'unclosed (\nb = 1"), ["a = 'unclosed (", "b = 1"]);
        assert_eq!(lines("a = ''\r\nb = \"\"\"\"x\"\"\"\r\n"), ["a = ''", "b = \"\"\"\"x\"\"\""]);
        assert_eq!(lines("a = 'x\\\ny'\nb"), ["a = 'x\\\ny'", "b"]);
    }

    #[test]
    fn broken_text_ends() {
        assert_eq!(lines("f(((\nx\n"), ["f(((\nx"]);
        assert_eq!(lines(")))\nx"), [")))", "x"]);
        assert_eq!(lines("'''\nx"), ["'''\nx"]);
        assert_eq!(lines("x\\"), ["x\\"]);
        assert_eq!(lines("'\\"), ["'\\"]);
        assert!(lines("").is_empty());
        assert!(lines("\n \x0c\n# c\n").is_empty());
    }
}
