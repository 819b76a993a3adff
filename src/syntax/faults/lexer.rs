//! Tokens of a text, with the lines that brackets join and the blocks that indentation makes. What is broken
//! here (strings, brackets, indentation) is written down, and the scan goes on at the next line.

use super::indentation::Column;
use super::tokens::{KEYWORDS, OPERATORS, STATEMENTS, Token, TokenKind};
use super::{Fault, FaultKind};
use crate::report::Span;

/// What a text consists of.
pub(super) struct Scanned {
    pub tokens: Vec<Token>,
    pub faults: Vec<Fault>,
    /// Something else makes Python of it.
    pub is_template: bool,
    /// Formatted strings are of Python 3.
    pub is_newer: bool,
}

pub(super) fn scan(text: &str) -> Scanned {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::with_capacity(text.len() / 4),
        faults: Vec::new(),
        indents: vec![Column::default()],
        open: Vec::new(),
        in_conflict: false,
        outside: 0,
        is_template: false,
        is_newer: false,
    };
    lexer.run();
    let Lexer { tokens, faults, is_template, is_newer, .. } = lexer;
    Scanned { tokens, faults, is_template, is_newer }
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    pub at: usize,
    tokens: Vec<Token>,
    faults: Vec<Fault>,
    /// Columns of the blocks that are open.
    pub indents: Vec<Column>,
    /// Brackets that are open.
    open: Vec<Span>,
    in_conflict: bool,
    /// How many brackets were open where the conflict began.
    outside: usize,
    is_template: bool,
    is_newer: bool,
}

impl<'t> Lexer<'t> {
    fn run(&mut self) {
        while self.at < self.text.len() {
            self.line();
        }
        self.never_closed();
        self.newline();
        while self.indents.pop().is_some_and(|column| column.wide > 0) {
            self.push(TokenKind::Dedent, self.at);
        }
        self.push(TokenKind::End, self.at);
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn push(&mut self, kind: TokenKind, start: usize) {
        let span = Span::new(start as u32, self.at as u32);
        self.tokens.push(Token { kind, span });
    }

    pub(super) fn fault(&mut self, kind: FaultKind, start: usize, end: usize) {
        self.faults.push(Fault { span: Span::new(start as u32, end as u32), kind, since: None });
    }

    /// From the beginning of a physical line, to its end or to that of a string that goes on beyond it.
    fn line(&mut self) {
        if self.marker() {
            return;
        }
        let start = self.at;
        let column = self.blanks();
        if matches!(self.rest().as_bytes().first(), None | Some(b'\n' | b'\r' | b'#')) || self.magic() {
            self.skip_line();
            return;
        }
        let word = word_of(self.rest());
        if !self.open.is_empty() && STATEMENTS.contains(&word) && !self.is_argument(word) {
            self.never_closed();
            self.newline();
        }
        if self.open.is_empty() && self.is_at_start() {
            self.indentation(start, column);
        }
        self.words();
    }

    /// Whether the last token ended a logical line.
    fn is_at_start(&self) -> bool {
        let ends =
            |token: &Token| matches!(token.kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Dedent);
        self.tokens.last().is_none_or(ends)
    }

    /// `f(class=1)`, `print(a, del)`: a word of the language that is used as a name.
    fn is_argument(&self, word: &str) -> bool {
        let after = self.rest()[word.len()..].trim_start_matches([' ', '\t']);
        after.starts_with(['=', ',', ')', ']', '}', ':']) && !matches!(word, "try" | "finally")
    }

    /// A line of a conflict that nobody resolved; what stands between its markers is left as it is.
    fn marker(&mut self) -> bool {
        let line = self.rest().lines().next().unwrap_or_default();
        // A repository may say that its markers are longer.
        let label = line.trim_start_matches('<');
        let is_begin = line.len() - label.len() >= 7 && (label.is_empty() || label.starts_with(' '));
        let goes_on = line.starts_with("|||||||") || line.starts_with("=======");
        let ends = line.starts_with(">>>>>>>");
        if !(is_begin || (self.in_conflict && (goes_on || ends))) {
            return false;
        }
        if is_begin {
            self.fault(FaultKind::Conflict, self.at, self.at + line.len());
            self.outside = self.open.len();
        }
        // A side may leave a bracket open that only the other one closes.
        self.open.truncate(self.outside);
        if self.open.is_empty() {
            self.newline();
        }
        self.in_conflict = !ends;
        self.skip_line();
        true
    }

    /// A line that IPython takes for itself; none of Python's begins so.
    fn magic(&mut self) -> bool {
        let is_magic = self.open.is_empty()
            && self.is_at_start()
            && self.rest().starts_with(['!', '%', '?'])
            && !self.rest().starts_with("%}");
        // A backslash goes on to the next line.
        while is_magic && self.rest().lines().next().is_some_and(|line| line.trim_end().ends_with('\\')) {
            self.skip_line();
        }
        is_magic
    }

    fn skip_line(&mut self) {
        self.at =
            memchr::memchr(b'\n', self.rest().as_bytes()).map_or(self.text.len(), |end| self.at + end + 1);
    }

    fn newline(&mut self) {
        if !self.is_at_start() {
            self.push(TokenKind::Newline, self.at);
        }
    }

    fn never_closed(&mut self) {
        // Whoever closes the outermost will be told of the others.
        if let Some(open) = self.open.first().copied()
            && !self.in_conflict
        {
            self.fault(FaultKind::Unclosed, open.start as usize, open.end as usize);
        }
        self.open.clear();
    }

    fn words(&mut self) {
        loop {
            let Some(first) = self.rest().chars().next() else { return };
            match first {
                '\n' => {
                    if self.open.is_empty() {
                        self.newline();
                    }
                    self.at += 1;
                    return;
                }
                ' ' | '\t' | '\r' | '\x0c' => self.at += 1,
                '#' => {
                    self.at = memchr::memchr(b'\n', self.rest().as_bytes())
                        .map_or(self.text.len(), |end| self.at + end);
                }
                '\\' => {
                    if self.continuation() {
                        return;
                    }
                }
                '"' | '\'' => self.string(self.at),
                _ if first.is_ascii_digit() => self.number(),
                '.' if self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
                _ if is_name_start(first) => self.name(),
                _ => self.operator(first),
            }
        }
    }

    /// Whether the rest of the line is done with.
    fn continuation(&mut self) -> bool {
        let after = &self.rest()[1..];
        let start = self.at;
        if after.starts_with('\n') || after.starts_with("\r\n") {
            self.at += if after.starts_with('\n') { 2 } else { 3 };
            return false;
        }
        self.at += 1;
        if !after.is_empty() {
            self.fault(FaultKind::Continuation, start, self.at);
        }
        false
    }

    fn name(&mut self) {
        let start = self.at;
        let word = word_of(self.rest());
        self.at += word.len();
        if self.rest().starts_with(['"', '\'']) && is_prefix(word) {
            return self.string(start);
        }
        let kind = if KEYWORDS.contains(&word) { TokenKind::Keyword } else { TokenKind::Name };
        self.push(kind, start);
    }

    fn number(&mut self) {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let is_based = matches!(bytes[start..], [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]);
        let is_part = |at: usize| match bytes.get(at) {
            Some(b'.') => !is_based,
            Some(b'+' | b'-') => !is_based && matches!(bytes[at - 1], b'e' | b'E'),
            Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80,
            None => false,
        };
        while is_part(self.at) {
            self.at += 1;
        }
        self.at = (self.at..=bytes.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(bytes.len());
        self.at = start + number_length(&self.text[start..self.at]);
        // `1if x else 2` and `0or x` are Python; a name after a number is not.
        let after = word_of(self.rest());
        let is_keyword = after.is_empty() || KEYWORDS.contains(&after);
        let starts_keyword =
            ["and", "else", "for", "if", "in", "is", "not", "or"].iter().any(|word| after.starts_with(word));
        if !is_keyword && !starts_keyword {
            let digits = &self.text[start..self.at];
            let is_long =
                matches!(after, "L" | "l") && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let kind =
                if is_long { FaultKind::Python2("integers have no suffix `L`") } else { FaultKind::Number };
            self.at += after.len();
            self.fault(kind, start, self.at);
        } else if is_old_octal(&self.text[start..self.at]) {
            self.fault(FaultKind::Python2("octal numbers begin with `0o`"), start, self.at);
        }
        self.push(TokenKind::Number, start);
    }

    /// From the prefix or the quote; `at` is on the quote.
    fn string(&mut self, start: usize) {
        let prefix = &self.text[start..self.at];
        let is_formatted = prefix.contains(['f', 'F', 't', 'T']);
        self.is_newer |= is_formatted;
        let quote = self.text.as_bytes()[self.at];
        let is_triple = self.rest().as_bytes().starts_with(&[quote; 3]);
        let from = self.at;
        let end = end_of_string(self.text.as_bytes(), from, is_formatted);
        let Some(end) = end else { return self.open_string(start, from, is_triple) };
        self.at = end;
        self.push(TokenKind::Str, start);
    }

    /// A string that does not end: what follows it on its line is not known to be code.
    fn open_string(&mut self, start: usize, from: usize, is_triple: bool) {
        let line =
            memchr::memchr(b'\n', &self.text.as_bytes()[from..]).map_or(self.text.len(), |end| from + end);
        if !self.in_conflict {
            self.fault(FaultKind::OpenString, start, from + if is_triple { 3 } else { 1 });
        }
        self.at = if is_triple { self.text.len() } else { line };
        self.push(TokenKind::Str, start);
        // The bracket that would close them may be in the string.
        self.open.clear();
    }

    fn operator(&mut self, first: char) {
        let start = self.at;
        let rest = self.rest();
        self.is_template |= rest.starts_with("{%")
            || rest.starts_with("%}")
            || (rest.starts_with("{{") && is_placeholder(rest));
        let Some(operator) = OPERATORS.iter().find(|operator| rest.starts_with(**operator)) else {
            self.at += first.len_utf8();
            // `!r` and `?` are dealt with where they mean something.
            self.fault(FaultKind::Character, start, self.at);
            return;
        };
        self.at += operator.len();
        match first {
            '(' | '[' | '{' => self.open.push(Span::new(start as u32, self.at as u32)),
            ')' | ']' | '}' => self.close(first, start),
            _ => {}
        }
        self.push(TokenKind::Operator, start);
    }

    fn close(&mut self, closing: char, start: usize) {
        let Some(open) = self.open.pop() else {
            if !self.in_conflict {
                self.fault(FaultKind::Unmatched, start, self.at);
            }
            return;
        };
        let fits = matches!((&self.text[open.range()], closing), ("(", ')') | ("[", ']') | ("{", '}'));
        if !fits && !self.in_conflict {
            self.fault(FaultKind::Mismatched, start, self.at);
            if let Some(fault) = self.faults.last_mut() {
                fault.since = Some(open);
            }
        }
    }
}

/// `{{ name }}` or `{{name.part|filter}}`, as templates have it. Python's sets hold no sets, so that no script has
/// one, though its grammar does.
fn is_placeholder(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default();
    let Some(end) = line.find("}}") else { return false };
    !line[2..end].contains([',', ':', '{']) && !line[2..end].trim().is_empty()
}

fn is_name_start(first: char) -> bool {
    first == '_' || first.is_alphabetic() || is_lenient(first)
}

/// Python's own table of identifiers is not at hand: what is no letter of some script is refused only where it is
/// punctuation.
fn is_lenient(c: char) -> bool {
    !c.is_ascii() && c.is_alphanumeric()
}

pub(super) fn word_of(text: &str) -> &str {
    let is_part = |c: char| c == '_' || c.is_alphanumeric() || (!c.is_ascii() && is_mark(c));
    let length = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    &text[..length]
}

/// Combining marks and connectors belong to identifiers.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}' | '\u{b7}' | '\u{200c}' | '\u{200d}')
}

fn is_prefix(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "r" | "u" | "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt" | "ur"
    )
}

/// How much of letters, digits, dots and signs is a number.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let run = |from: usize, fits: fn(&u8) -> bool| {
        from + bytes[from.min(bytes.len())..].iter().take_while(|byte| fits(byte) || **byte == b'_').count()
    };
    match bytes {
        [b'0', b'x' | b'X', ..] => return run(2, u8::is_ascii_hexdigit),
        [b'0', b'o' | b'O' | b'b' | b'B', ..] => return run(2, u8::is_ascii_digit),
        _ => {}
    }
    let mut end = run(0, u8::is_ascii_digit);
    if bytes.get(end) == Some(&b'.') {
        end = run(end + 1, u8::is_ascii_digit);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = run(end + 1 + sign, u8::is_ascii_digit);
        }
    }
    end + usize::from(matches!(bytes.get(end), Some(b'j' | b'J')))
}

/// `0777`, but not `0000` or `00.5`.
fn is_old_octal(number: &str) -> bool {
    number.len() > 1
        && number.starts_with('0')
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && number.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// After the closing quote of a string that begins at `from`; none where it has none.
fn end_of_string(bytes: &[u8], from: usize, is_formatted: bool) -> Option<usize> {
    let quote = bytes[from];
    let is_triple = bytes[from..].starts_with(&[quote; 3]);
    let mut at = from + if is_triple { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            // Also in raw strings a backslash keeps the quote after it from closing.
            b'\\' => at += if bytes[at..].starts_with(b"\\\r\n") { 3 } else { 2 },
            b'\n' if !is_triple => return None,
            byte if byte == quote && !is_triple => return Some(at + 1),
            byte if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return Some(at + 3),
            b'{' if is_formatted && bytes.get(at + 1) == Some(&b'{') => at += 2,
            // An expression may use the quotes of the string around it since Python 3.12.
            b'{' if is_formatted => at = after_field(bytes, at, quote, is_triple).unwrap_or(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// After the closing brace of a field of a formatted string; none where it has none in sight.
fn after_field(bytes: &[u8], from: usize, quote: u8, is_triple: bool) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            // What a format says is no code.
            b':' if depth == 1 => return after_format(bytes, at + 1, quote, is_triple),
            b'"' | b'\'' => {
                at = end_of_string(bytes, at, false)?;
                continue;
            }
            b'#' if is_triple => at = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end),
            _ => {}
        }
        at += 1;
    }
    None
}

fn after_format(bytes: &[u8], from: usize, quote: u8, is_triple: bool) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'}' => return Some(at + 1),
            b'{' => at = after_field(bytes, at, quote, is_triple)?,
            b'\n' if !is_triple => return None,
            byte if byte == quote && (!is_triple || bytes[at..].starts_with(&[quote; 3])) => return None,
            _ => at += 1,
        }
    }
    None
}
