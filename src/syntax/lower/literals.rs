//! Numbers and strings.

use super::{Kind, Lowering, span_of};
use crate::report::Span;
use crate::syntax::ast::*;
use std::borrow::Cow;
use tree_sitter::Node;

/// One string token, or several joined.
enum Literal {
    Text(String),
    Bytes,
    /// The interpolated expressions wait on the stack.
    Interpolated,
}

impl<'t> Lowering<'t> {
    pub(super) fn integer(&mut self, span: Span) -> ExprKind {
        integer(self.text_of(span))
    }

    pub(super) fn float(&mut self, span: Span) -> ExprKind {
        let text = plain_digits(self.text_of(span));
        // An imaginary number ends in `j` and does not parse.
        text.parse().map_or(ExprKind::Missing, ExprKind::Float)
    }

    pub(super) fn string(&mut self, span: Span) -> ExprKind {
        let mark = self.exprs.len();
        match self.string_part(span) {
            Literal::Text(text) => ExprKind::Str(text.into_boxed_str()),
            Literal::Bytes => ExprKind::Bytes,
            Literal::Interpolated => ExprKind::FString(self.take_exprs(mark)),
        }
    }

    /// Adjacent strings.
    pub(super) fn strings(&mut self) -> ExprKind {
        let mark = self.exprs.len();
        let mut joined = String::new();
        let mut bytes = false;
        let mut interpolated = false;
        self.each(|lowering, kind, node| {
            if kind == Kind::Str {
                match lowering.string_part(span_of(node)) {
                    Literal::Text(text) => joined.push_str(&text),
                    Literal::Bytes => bytes = true,
                    Literal::Interpolated => interpolated = true,
                }
            }
        });
        let parts = self.take_exprs(mark);
        if interpolated {
            ExprKind::FString(parts)
        } else if bytes {
            ExprKind::Bytes
        } else {
            ExprKind::Str(joined.into_boxed_str())
        }
    }

    fn string_part(&mut self, span: Span) -> Literal {
        let text = self.text_of(span);
        let quote = text.find(['"', '\'']).unwrap_or(text.len());
        let (prefix, rest) = text.split_at(quote);
        let has = |letter: u8| prefix.bytes().any(|byte| byte.eq_ignore_ascii_case(&letter));
        if has(b'b') {
            return Literal::Bytes;
        }
        let formatted = has(b'f') || has(b't');
        if formatted {
            let mark = self.exprs.len();
            self.each(super::Lowering::interpolations);
            if self.exprs.len() > mark {
                return Literal::Interpolated;
            }
        }
        let body = without_quotes(rest);
        let body = if has(b'r') { Cow::Borrowed(body) } else { unescape(body) };
        let text = if formatted { body.replace("{{", "{").replace("}}", "}") } else { body.into_owned() };
        Literal::Text(text)
    }

    /// Pushes the expressions of `{…}`, those in its format specifier included.
    fn interpolations(&mut self, kind: Kind, _: Node<'t>) {
        if !matches!(kind, Kind::Interpolation | Kind::FormatExpression) {
            return;
        }
        self.each(|lowering, kind, node| match kind {
            Kind::FormatSpecifier if lowering.depth < super::MAX_DEPTH => {
                lowering.depth += 1;
                lowering.each(super::Lowering::interpolations);
                lowering.depth -= 1;
            }
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                lowering.exprs.push(id);
            }
            _ => {}
        });
    }
}

fn plain_digits(text: &str) -> Cow<'_, str> {
    if text.contains('_') { Cow::Owned(text.replace('_', "")) } else { Cow::Borrowed(text) }
}

fn integer(text: &str) -> ExprKind {
    let text = plain_digits(text);
    // Python 2 wrote long integers with an `L`.
    let text = text.trim_end_matches(['l', 'L']);
    let (radix, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &text[2..]),
        Some("0o") => (8, &text[2..]),
        Some("0b") => (2, &text[2..]),
        _ => (10, text),
    };
    if let Ok(value) = i64::from_str_radix(digits, radix) {
        return ExprKind::Int(value);
    }
    if radix == 10 {
        // An imaginary number ends in `j` and does not parse.
        return digits.parse().map_or(ExprKind::Missing, ExprKind::Float);
    }
    let value = digits
        .chars()
        .try_fold(0.0, |value, digit| Some(value * f64::from(radix) + f64::from(digit.to_digit(radix)?)));
    value.map_or(ExprKind::Missing, ExprKind::Float)
}

/// The text between the quotes; a closing quote that is missing is not asked for.
fn without_quotes(text: &str) -> &str {
    for quote in ["\"\"\"", "'''", "\"", "'"] {
        if let Some(body) = text.strip_prefix(quote) {
            return body.strip_suffix(quote).unwrap_or(body);
        }
    }
    text
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = escape(&rest[at + 1..], &mut out);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Resolves the escape after a backslash; what follows it is returned.
fn escape<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let Some(first) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[first.len_utf8()..];
    let single = match first {
        '\n' => return after,
        '\r' => return after.strip_prefix('\n').unwrap_or(after),
        '\\' | '\'' | '"' => first,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => return number(rest, 1, 2, 16, out),
        'u' => return number(rest, 1, 4, 16, out),
        'U' => return number(rest, 1, 8, 16, out),
        '0'..='7' => {
            let digits = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
            return number(rest, 0, digits, 8, out);
        }
        'N' if after.starts_with('{') && after.contains('}') => {
            // The names of characters are not modelled; one character stands for any.
            out.push(char::REPLACEMENT_CHARACTER);
            return after.split_once('}').map_or("", |(_, after)| after);
        }
        _ => {
            out.push('\\');
            first
        }
    };
    out.push(single);
    after
}

fn number<'a>(rest: &'a str, start: usize, digits: usize, radix: u32, out: &mut String) -> &'a str {
    let end = start + digits;
    match rest.get(start..end).and_then(|digits| u32::from_str_radix(digits, radix).ok()) {
        Some(code) => {
            out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            &rest[end..]
        }
        None => {
            out.push('\\');
            rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved_as_python_does() {
        assert_eq!(unescape(r"a\tb\\n\x41\u00e9\101\q"), "a\tb\\n\u{41}é\u{41}\\q");
        assert_eq!(unescape("a\\\nb\\\r\nc"), "abc");
        assert_eq!(unescape(r"\N{BULLET}x\ud800\"), "\u{fffd}x\u{fffd}\\");
        assert_eq!(unescape(r"\x4"), r"\x4");
    }

    #[test]
    fn integers_of_every_form() {
        let of = |text| match integer(text) {
            ExprKind::Int(value) => value as f64,
            ExprKind::Float(value) => value,
            _ => f64::NAN,
        };
        assert_eq!(of("1_000_000"), 1e6);
        assert_eq!(of("0xFF"), 255.0);
        assert_eq!(of("0b101"), 5.0);
        assert_eq!(of("0o17"), 15.0);
        assert_eq!(of("10L"), 10.0);
        assert_eq!(of("9223372036854775808"), 9223372036854775808.0);
        assert_eq!(of("0x10000000000000000"), 18446744073709551616.0);
        assert!(of("3j").is_nan());
        assert!(matches!(integer("9223372036854775807"), ExprKind::Int(i64::MAX)));
    }
}
