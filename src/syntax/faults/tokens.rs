//! The words of Python's grammar.

use crate::report::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name,
    Keyword,
    Number,
    Str,
    Operator,
    Newline,
    Indent,
    Dedent,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Words that are no names in any release of Python 3, but for `async` and `await`, which are since 3.7.
pub(super) const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Words that only a statement begins with: no expression goes on with one, whatever bracket is open.
pub(super) const STATEMENTS: [&str; 17] = [
    "assert", "break", "class", "continue", "def", "del", "elif", "except", "finally", "global", "import",
    "nonlocal", "pass", "raise", "return", "try", "while",
];

/// Operators and delimiters, longer ones first.
pub(super) const OPERATORS: [&str; 49] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "%=", "&=", "**", "*=", "+=", "-=", "->", "//", "/=", ":=",
    "<<", "<=", "<>", "==", ">=", ">>", "@=", "^=", "|=", "%", "&", "(", ")", "*", "+", ",", "-", ".", "/",
    ":", ";", "<", "=", ">", "@", "[", "]", "^", "{", "|", "}", "~", "`",
];
