//! Statements: what each consists of, and how reading goes on where one is broken.

mod blocks;

use super::lexer::Scanned;
use super::tokens::{Token, TokenKind};
use super::{Fault, FaultKind, last_char};
use crate::report::Span;

/// Levels of blocks and brackets that are followed; of what nests deeper nothing is said.
const MAX_DEPTH: u32 = 90;

/// A statement that cannot go on; without a fault where it is broken by what the lexer has told already.
pub(super) struct Broken(Option<Fault>);

impl Broken {
    pub(crate) fn at(kind: FaultKind, span: Span) -> Broken {
        Broken(Some(Fault { span, kind, since: None }))
    }
}

pub(super) type Read<T = ()> = Result<T, Broken>;

pub(super) struct Parser<'t> {
    pub text: &'t str,
    tokens: Vec<Token>,
    pub at: usize,
    pub found: Vec<Fault>,
    lexical: Vec<Fault>,
    pub depth: u32,
    too_deep: bool,
    /// Something was seen that Python 2 does not have.
    pub is_newer: bool,
    /// `as` names a part, as in the patterns of a `case`.
    pub in_pattern: bool,
    /// Index of the token after the last statement that was broken.
    broken_until: Option<usize>,
    /// The last compound statement at each level was broken, so that its clauses stand alone.
    excused: bool,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str, scanned: Scanned) -> Parser<'t> {
        Parser {
            text,
            tokens: scanned.tokens,
            at: 0,
            found: Vec::new(),
            lexical: scanned.faults,
            depth: 0,
            too_deep: false,
            is_newer: scanned.is_newer,
            in_pattern: false,
            broken_until: None,
            excused: false,
        }
    }

    /// All faults, in order, and whether the text is of Python 3 surely.
    pub(crate) fn run(mut self) -> (Vec<Fault>, bool) {
        while self.kind() != TokenKind::End && !self.too_deep {
            if self.take(TokenKind::Dedent) {
                continue;
            }
            self.statement();
        }
        if self.too_deep {
            return (Vec::new(), false);
        }
        let mut found = self.found;
        found.extend(self.lexical);
        found.sort_by_key(|fault| (fault.span.start, fault.span.end));
        (one_a_place(self.text, found), self.is_newer)
    }

    // Tokens.

    pub(crate) fn token(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(crate) fn peek(&self, ahead: usize) -> Token {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    pub(crate) fn kind(&self) -> TokenKind {
        self.token().kind
    }

    pub(crate) fn text_of(&self, token: Token) -> &'t str {
        &self.text[token.span.range()]
    }

    /// Whether a word of the grammar is next.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.is_word(self.token(), word)
    }

    pub(crate) fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind != TokenKind::Str && self.text_of(token) == word
    }

    pub(crate) fn eat(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, word: &'static str) -> Read {
        if self.eat(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    pub(crate) fn name(&mut self) -> Read {
        if self.take(TokenKind::Name) {
            return Ok(());
        }
        // They were names until Python 3.7, and are not any more.
        match self.kind() {
            TokenKind::Keyword => Err(self.broken(FaultKind::Keyword)),
            _ => Err(self.expected("a name")),
        }
    }

    /// What is wrong at the next token.
    pub(crate) fn broken(&self, kind: FaultKind) -> Broken {
        Broken::at(kind, self.span())
    }

    pub(crate) fn expected(&self, what: &'static str) -> Broken {
        self.broken(FaultKind::Expected(what))
    }

    /// Where the next token is, or the last one of the line where there is none.
    fn span(&self) -> Span {
        let token = self.token();
        let is_blank =
            matches!(token.kind, TokenKind::Newline | TokenKind::End | TokenKind::Dedent | TokenKind::Indent);
        self.before().filter(|_| is_blank).map_or(token.span, |last| {
            Span::new(last_char(self.text, last.span.end).start.max(last.span.start), last.span.end)
        })
    }

    pub(crate) fn before(&self) -> Option<Token> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    /// One level further in.
    pub(crate) fn within<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.depth += 1;
        self.too_deep |= self.depth > MAX_DEPTH;
        let result = if self.too_deep { Err(Broken(None)) } else { read(self) };
        self.depth -= 1;
        result
    }

    /// What only Python 2 has; reading goes on.
    pub(crate) fn old(&mut self, span: Span, now: &'static str) {
        self.found.push(Fault { span, kind: FaultKind::Python2(now), since: None });
    }

    // Broken statements.

    /// A statement with its block; says what is wrong with it, and goes on behind.
    pub(crate) fn statement(&mut self) {
        let start = self.at;
        if self.take(TokenKind::Indent) {
            self.unexpected_block(start);
            return;
        }
        let (told, is_newer) = (self.found.len(), self.is_newer);
        let excused = std::mem::take(&mut self.excused);
        match self.read_statement(excused) {
            Ok(()) => {}
            Err(Broken(fault)) => {
                (self.is_newer, self.in_pattern) = (is_newer, false);
                self.report(start, told, fault);
                self.skip_line();
                self.broken_until = Some(self.at);
                if self.take(TokenKind::Indent) {
                    self.rest_of_block();
                }
                self.excused = true;
            }
        }
    }

    /// A statement has one fault, and a run of broken lines is one place.
    fn report(&mut self, start: usize, told: usize, fault: Option<Fault>) {
        let line = self.line_of(start);
        self.found.truncate(told);
        let is_told =
            self.lexical.iter().any(|fault| line.start <= fault.span.start && fault.span.start <= line.end);
        let goes_on = self.broken_until.is_some_and(|end| end >= start);
        if !is_told && !goes_on {
            self.found.extend(fault);
        }
    }

    /// The logical line that begins with a token.
    fn line_of(&self, start: usize) -> Span {
        let rest = &self.tokens[start.max(self.at_line_start(start))..];
        let end = rest.iter().find(|token| matches!(token.kind, TokenKind::Newline | TokenKind::End));
        Span::new(self.tokens[start].span.start, end.map_or(0, |end| end.span.end))
    }

    /// The first token of the line that reading has come to.
    fn at_line_start(&self, start: usize) -> usize {
        let before = &self.tokens[start..self.at.min(self.tokens.len())];
        let last = before.iter().rposition(|token| token.kind == TokenKind::Newline);
        last.map_or(start, |last| start + last + 1)
    }

    fn skip_line(&mut self) {
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
            self.at += 1;
        }
        self.take(TokenKind::Newline);
    }

    /// A line that stands further in than it may, and what stands there with it.
    fn unexpected_block(&mut self, start: usize) {
        let follows_broken = self.broken_until.is_some_and(|end| end >= start);
        if !follows_broken {
            let span = self.token().span;
            self.found.push(Fault { span, kind: FaultKind::Indent, since: None });
        }
        self.rest_of_block();
    }

    fn rest_of_block(&mut self) {
        let deeper = self.within(|parser| {
            while !matches!(parser.kind(), TokenKind::Dedent | TokenKind::End) && !parser.too_deep {
                parser.statement();
            }
            parser.take(TokenKind::Dedent);
            Ok(())
        });
        if deeper.is_err() {
            self.at = self.tokens.len() - 1;
        }
    }

    // Statements.

    fn read_statement(&mut self, excused: bool) -> Read {
        let token = self.token();
        match self.text_of(token) {
            _ if matches!(token.kind, TokenKind::Str | TokenKind::Number) => self.simple_line(),
            "if" => self.if_statement(),
            "for" => self.for_statement(),
            "while" => {
                self.at += 1;
                self.test()?;
                self.block(token)?;
                self.otherwise()
            }
            "try" => self.try_statement(),
            "with" => self.with_statement(),
            "def" => self.function(),
            "class" => self.class(),
            "async" if ["def", "for", "with"].iter().any(|word| self.is_word(self.peek(1), word)) => {
                self.is_newer = true;
                self.at += 1;
                self.read_statement(false)
            }
            "@" => self.decorated(),
            "else" | "elif" | "except" | "finally" | "case" if token.kind == TokenKind::Keyword => {
                self.lone_clause(token, excused)
            }
            "match" if self.is_match() => self.match_statement(),
            _ => self.simple_line(),
        }
    }

    /// A clause without the statement that it goes on with, which may be broken itself.
    fn lone_clause(&mut self, token: Token, excused: bool) -> Read {
        if !excused {
            return Err(self.broken(FaultKind::LoneClause));
        }
        self.excused = true;
        self.at += 1;
        if !self.is(":") {
            self.expression_list()?;
            if self.eat("as") {
                self.name()?;
            }
        }
        self.block(token)
    }

    fn if_statement(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.test()?;
        self.block(head)?;
        while self.is("elif") {
            let head = self.token();
            self.at += 1;
            self.test()?;
            self.block(head)?;
        }
        self.otherwise()
    }

    /// What an `if` or `while` asks.
    fn test(&mut self) -> Read {
        self.named_expression()?;
        if self.is("=") { Err(self.broken(FaultKind::AssignedInTest)) } else { Ok(()) }
    }

    fn otherwise(&mut self) -> Read {
        let head = self.token();
        if self.eat("else") { self.block(head) } else { Ok(()) }
    }

    fn for_statement(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.targets()?;
        self.expect("in")?;
        self.expression_list()?;
        self.block(head)?;
        self.otherwise()
    }

    fn try_statement(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.block(head)?;
        let (mut handles, mut told) = (false, false);
        while self.is("except") {
            let head = self.token();
            self.at += 1;
            self.is_newer |= self.eat("*");
            if !self.is(":") {
                self.expression_list()?;
                if self.eat("as") {
                    self.name()?;
                }
            }
            let broken = self.found.len();
            self.block(head)?;
            (handles, told) = (true, told || self.found.len() > broken);
        }
        if handles {
            self.otherwise()?;
        }
        let head = self.token();
        if self.eat("finally") {
            return self.block(head);
        }
        let follows_broken = self.excused || self.broken_until.is_some_and(|end| end + 1 >= self.at);
        if handles || told || follows_broken {
            Ok(())
        } else {
            Err(self.broken_at_token(FaultKind::LoneTry, head))
        }
    }

    fn broken_at_token(&self, kind: FaultKind, token: Token) -> Broken {
        let span = if token.span.start == token.span.end { self.span() } else { token.span };
        Broken::at(kind, span)
    }

    fn with_statement(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        if !self.attempt(Self::parenthesised_items) {
            self.with_item()?;
            while self.eat(",") {
                self.with_item()?;
            }
        }
        self.block(head)
    }

    /// Reads what may be there; goes back where it is not.
    pub(crate) fn attempt(&mut self, read: fn(&mut Self) -> Read) -> bool {
        let (at, told, is_newer) = (self.at, self.found.len(), self.is_newer);
        if read(self).is_ok() {
            return true;
        }
        self.at = at;
        self.found.truncate(told);
        self.is_newer = is_newer;
        false
    }

    fn parenthesised_items(&mut self) -> Read {
        self.expect("(")?;
        while !self.is(")") {
            self.with_item()?;
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        if self.is(":") { Ok(()) } else { Err(self.expected(":")) }
    }

    fn with_item(&mut self) -> Read {
        self.expression()?;
        if self.eat("as") { self.target() } else { Ok(()) }
    }

    fn function(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.name()?;
        self.type_parameters()?;
        self.expect("(")?;
        self.parameters(")", true)?;
        self.expect(")")?;
        if self.eat("->") {
            self.is_newer = true;
            self.expression_list()?;
        }
        self.block(head)
    }

    fn class(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.name()?;
        self.type_parameters()?;
        if self.eat("(") {
            self.arguments()?;
            self.expect(")")?;
        }
        self.block(head)
    }

    /// `[T: int = bool, *Ts, **P]`
    fn type_parameters(&mut self) -> Read {
        if !self.eat("[") {
            return Ok(());
        }
        while !self.is("]") {
            let _ = self.eat("*") || self.eat("**");
            self.name()?;
            if self.eat(":") {
                self.expression()?;
            }
            if self.eat("=") {
                self.starred()?;
            }
            if !self.eat(",") {
                break;
            }
        }
        self.expect("]")
    }

    fn decorated(&mut self) -> Read {
        while self.eat("@") {
            self.named_expression()?;
            self.line_end()?;
        }
        match self.text_of(self.token()) {
            "def" | "class" | "async" => self.read_statement(false),
            _ => Err(self.expected("`def` or `class`")),
        }
    }

    fn simple_line(&mut self) -> Read {
        loop {
            self.simple()?;
            if !self.eat(";") {
                break;
            }
            if matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
                break;
            }
        }
        self.line_end()
    }

    fn line_end(&mut self) -> Read {
        match self.kind() {
            TokenKind::Newline => {
                self.at += 1;
                Ok(())
            }
            TokenKind::End => Ok(()),
            _ => Err(self.expected("the end of the line")),
        }
    }

    fn ends_statement(&self) -> bool {
        matches!(self.kind(), TokenKind::Newline | TokenKind::End) || self.is(";")
    }

    fn simple(&mut self) -> Read {
        let token = self.token();
        match self.text_of(token) {
            _ if matches!(token.kind, TokenKind::Str | TokenKind::Number) => self.expression_statement(),
            "pass" | "break" | "continue" => {
                self.at += 1;
                Ok(())
            }
            "return" => {
                self.at += 1;
                if self.ends_statement() { Ok(()) } else { self.expression_list() }
            }
            "raise" => self.raise(),
            "global" | "nonlocal" => {
                self.is_newer |= self.is("nonlocal");
                self.at += 1;
                self.name()?;
                while self.eat(",") {
                    self.name()?;
                }
                Ok(())
            }
            "del" => {
                self.at += 1;
                self.expression_list()
            }
            "assert" => {
                self.at += 1;
                self.expression()?;
                if self.eat(",") { self.expression() } else { Ok(()) }
            }
            "import" => self.import(),
            "from" => self.import_from(),
            "type" if self.peek(1).kind == TokenKind::Name => {
                self.at += 2;
                self.type_parameters()?;
                self.expect("=")?;
                self.expression()
            }
            "print" | "exec" if self.is_old_statement() => self.old_statement(token),
            _ => self.expression_statement(),
        }
    }

    fn raise(&mut self) -> Read {
        let start = self.token().span;
        self.at += 1;
        if self.ends_statement() {
            return Ok(());
        }
        self.expression()?;
        if self.eat("from") {
            self.is_newer = true;
            return self.expression();
        }
        if self.is(",") {
            self.old(start, "`raise` takes the message as an argument of the exception");
            while self.eat(",") {
                self.expression()?;
            }
        }
        Ok(())
    }

    fn import(&mut self) -> Read {
        self.at += 1;
        loop {
            self.dotted()?;
            self.alias()?;
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    fn dotted(&mut self) -> Read {
        self.name()?;
        while self.eat(".") {
            self.name()?;
        }
        Ok(())
    }

    fn alias(&mut self) -> Read {
        if self.eat("as") { self.name() } else { Ok(()) }
    }

    fn import_from(&mut self) -> Read {
        self.at += 1;
        let mut level = false;
        while self.eat(".") || self.eat("...") {
            level = true;
        }
        if !(level && self.is("import")) {
            self.dotted()?;
        }
        self.expect("import")?;
        if self.eat("*") {
            return Ok(());
        }
        let is_wrapped = self.eat("(");
        loop {
            self.name()?;
            self.alias()?;
            if !self.eat(",") || (is_wrapped && self.is(")")) {
                break;
            }
        }
        if is_wrapped { self.expect(")") } else { Ok(()) }
    }

    fn expression_statement(&mut self) -> Read {
        let is_name = self.kind() == TokenKind::Name;
        self.expression_list()?;
        let token = self.token();
        let text = self.text_of(token);
        if token.kind == TokenKind::Operator
            && text.len() > 1
            && text.ends_with('=')
            && !matches!(text, "==" | "!=" | "<=" | ">=" | ":=")
        {
            self.at += 1;
            return self.expression_list();
        }
        if self.eat(":") {
            self.is_newer |= is_name;
            self.expression()?;
            if !self.eat("=") {
                return Ok(());
            }
            return self.expression_list();
        }
        while self.eat("=") {
            self.expression_list()?;
        }
        Ok(())
    }

    /// `print x` and `exec code`: a name that is followed by what cannot follow one.
    fn is_old_statement(&self) -> bool {
        let next = self.peek(1);
        match next.kind {
            TokenKind::Name | TokenKind::Number | TokenKind::Str => true,
            TokenKind::Keyword => matches!(self.text_of(next), "not" | "lambda" | "None" | "True" | "False"),
            _ => self.is_word(next, "`"),
        }
    }

    fn old_statement(&mut self, word: Token) -> Read {
        let is_print = self.is("print");
        self.at += 1;
        while !self.ends_statement() {
            self.expression()?;
            if self.eat("in") || self.eat(",") {
                continue;
            }
            break;
        }
        self.old(word.span, if is_print { "`print` is a function" } else { "`exec` is a function" });
        Ok(())
    }
}

/// Faults on one line, or on lines that follow each other, are one place: prose, or what a stray quote brought
/// about.
fn one_a_place(text: &str, found: Vec<Fault>) -> Vec<Fault> {
    let is_old = |fault: &Fault| matches!(fault.kind, FaultKind::Python2(_));
    let mut kept: Vec<Fault> = Vec::with_capacity(found.len());
    let mut last: Option<(usize, usize)> = None;
    for fault in found {
        let start = fault.span.start as usize;
        let line = last.map_or(0, |(at, line)| line + text[at..start].matches('\n').count());
        let is_near = last.is_some_and(|(_, before)| line <= before + 1);
        last = Some((start, line));
        if !is_near || is_old(&fault) {
            kept.push(fault);
        }
    }
    kept
}
