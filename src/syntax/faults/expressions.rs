//! Expressions. How tightly operators bind does not matter to whether a text is one, so operands and operators
//! take turns.

use super::statements::{Broken, Parser, Read};
use super::tokens::TokenKind;
use super::{Fault, FaultKind};

/// Operators between two operands; those of two words are dealt with apart.
const BINARY: [&str; 22] = [
    "or", "and", "in", "<", ">", "==", ">=", "<=", "!=", "|", "^", "&", "<<", ">>", "+", "-", "*", "/", "//",
    "%", "@", "**",
];

impl Parser<'_> {
    /// Expressions with commas between them, each perhaps with a star; or a `yield`.
    pub(crate) fn expression_list(&mut self) -> Read {
        if self.is("yield") {
            return self.yielded();
        }
        self.starred()?;
        while self.eat(",") {
            if self.ends_list() {
                break;
            }
            self.starred()?;
        }
        Ok(())
    }

    /// Whether the comma before was the last thing of a list.
    fn ends_list(&self) -> bool {
        let token = self.token();
        match token.kind {
            TokenKind::Newline | TokenKind::End => true,
            TokenKind::Operator => {
                let text = self.text_of(token);
                matches!(text, ")" | "]" | "}" | ":" | ";") || (text.ends_with('=') && text != "==")
            }
            TokenKind::Keyword => self.is("in") || self.is("if"),
            _ => false,
        }
    }

    fn yielded(&mut self) -> Read {
        self.at += 1;
        if self.eat("from") {
            self.is_newer = true;
            return self.expression();
        }
        let token = self.token();
        let is_empty = matches!(token.kind, TokenKind::Newline | TokenKind::End)
            || (token.kind == TokenKind::Operator
                && matches!(self.text_of(token), ")" | "=" | ";" | "]" | "}"));
        if is_empty { Ok(()) } else { self.expression_list() }
    }

    pub(crate) fn starred(&mut self) -> Read {
        if self.eat("*") {
            return self.operation();
        }
        self.named_expression()
    }

    /// `name := expression`, or an expression.
    pub(crate) fn named_expression(&mut self) -> Read {
        if self.kind() == TokenKind::Name && self.is_word(self.peek(1), ":=") {
            self.is_newer = true;
            self.at += 2;
        }
        self.expression()?;
        if self.in_pattern && self.eat("as") { self.name() } else { Ok(()) }
    }

    pub(crate) fn expression(&mut self) -> Read {
        self.within(|parser| {
            if parser.is("lambda") {
                return parser.lambda();
            }
            parser.operation()?;
            // In a `case` an `if` is the guard of the whole pattern.
            if parser.in_pattern || !parser.eat("if") {
                return Ok(());
            }
            parser.operation()?;
            parser.expect("else")?;
            parser.expression()
        })
    }

    fn lambda(&mut self) -> Read {
        self.at += 1;
        self.parameters(":", false)?;
        self.expect(":")?;
        self.expression()
    }

    /// Operands and operators in turn, without a condition.
    pub(crate) fn operation(&mut self) -> Read {
        loop {
            self.operand()?;
            if !self.operator() {
                return Ok(());
            }
        }
    }

    /// What stands between two operands.
    fn operator(&mut self) -> bool {
        let token = self.token();
        if !matches!(token.kind, TokenKind::Operator | TokenKind::Keyword) {
            return false;
        }
        match self.text_of(token) {
            "is" => {
                self.at += 1;
                self.eat("not");
                true
            }
            "not" if self.is_word(self.peek(1), "in") => {
                self.at += 2;
                true
            }
            "<>" => {
                self.old(token.span, "unequal is `!=`");
                self.at += 1;
                true
            }
            text if BINARY.contains(&text) => {
                self.at += 1;
                true
            }
            _ => false,
        }
    }

    fn operand(&mut self) -> Read {
        while self.is("not") || self.is("-") || self.is("+") || self.is("~") || self.is("await") {
            self.is_newer |= self.is("await");
            self.at += 1;
        }
        if self.is("lambda") {
            return self.lambda();
        }
        self.primary()
    }

    pub(crate) fn primary(&mut self) -> Read {
        self.atom()?;
        loop {
            let is_operator = self.kind() == TokenKind::Operator;
            match self.text_of(self.token()) {
                "." if is_operator => {
                    self.at += 1;
                    self.name()?;
                }
                "(" if is_operator => {
                    self.at += 1;
                    self.within(Self::arguments)?;
                    self.closing(")")?;
                }
                "[" if is_operator => {
                    self.at += 1;
                    self.within(Self::subscripts)?;
                    self.closing("]")?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// The bracket that ends a list; where another item stands instead, a comma is missing.
    fn closing(&mut self, bracket: &'static str) -> Read {
        if self.eat(bracket) {
            return Ok(());
        }
        let is_item = matches!(self.kind(), TokenKind::Name | TokenKind::Number | TokenKind::Str);
        if is_item { Err(self.missing_comma()) } else { Err(self.expected(bracket_words(bracket))) }
    }

    /// Behind the item that the next one follows.
    fn missing_comma(&self) -> Broken {
        let before = self.before().map_or(0, |token| token.span.end);
        Broken::at(FaultKind::MissingComma, super::last_char(self.text, before))
    }

    fn atom(&mut self) -> Read {
        let token = self.token();
        match token.kind {
            TokenKind::Name | TokenKind::Number => self.at += 1,
            TokenKind::Str => while self.take(TokenKind::Str) {},
            TokenKind::Keyword => match self.text_of(token) {
                "None" | "True" | "False" => self.at += 1,
                _ => return Err(self.expected("an expression")),
            },
            TokenKind::Operator => return self.bracketed(),
            _ => return Err(self.expected("an expression")),
        }
        Ok(())
    }

    fn bracketed(&mut self) -> Read {
        let token = self.token();
        match self.text_of(token) {
            "..." => {
                self.at += 1;
                Ok(())
            }
            "(" => {
                self.at += 1;
                self.within(|parser| parser.items(")"))?;
                self.closing(")")
            }
            "[" => {
                self.at += 1;
                self.within(|parser| parser.items("]"))?;
                self.closing("]")
            }
            "{" => {
                self.at += 1;
                self.within(Self::entries)?;
                self.closing("}")
            }
            "`" => {
                self.at += 1;
                self.expression_list()?;
                self.expect("`")?;
                self.old(token.span, "backquotes are `repr()`");
                Ok(())
            }
            _ => Err(self.expected("an expression")),
        }
    }

    /// What stands in parentheses or square brackets.
    fn items(&mut self, end: &str) -> Read {
        if self.is(end) {
            return Ok(());
        }
        if self.is("yield") {
            return self.yielded();
        }
        self.starred()?;
        if self.comprehension()? {
            return Ok(());
        }
        while self.eat(",") {
            if self.is(end) {
                break;
            }
            self.starred()?;
        }
        Ok(())
    }

    /// The clauses of a comprehension, if there are any.
    fn comprehension(&mut self) -> Read<bool> {
        let mut any = false;
        while self.is("for") || (self.is("async") && self.is_word(self.peek(1), "for")) {
            any = true;
            self.eat("async");
            self.at += 1;
            self.targets()?;
            self.expect("in")?;
            // Python 2 took several here, `for x in 1, 2`, in lists.
            self.iterated()?;
            while self.eat("if") {
                self.condition()?;
            }
        }
        Ok(any)
    }

    fn iterated(&mut self) -> Read {
        if self.is("lambda") { self.expression() } else { self.operation() }
    }

    fn condition(&mut self) -> Read {
        if self.kind() == TokenKind::Name && self.is_word(self.peek(1), ":=") {
            self.at += 2;
        }
        self.iterated()
    }

    /// What a dictionary or a set holds.
    fn entries(&mut self) -> Read {
        while !self.is("}") {
            if self.eat("**") {
                self.operation()?;
            } else {
                self.starred()?;
                if self.eat(":") {
                    self.named_expression()?;
                }
            }
            if self.comprehension()? || !self.eat(",") {
                break;
            }
        }
        Ok(())
    }

    /// What a call is given, up to its bracket.
    pub(crate) fn arguments(&mut self) -> Read {
        let mut named = None;
        while !self.is(")") {
            let token = self.token();
            if self.eat("**") || self.eat("*") {
                self.expression()?;
            } else if self.is_word(self.peek(1), "=") {
                self.name()?;
                self.at += 1;
                self.named_expression()?;
                named = Some(token.span);
            } else {
                self.named_expression()?;
                let is_generator = self.comprehension()?;
                if let Some(since) = named
                    && !is_generator
                {
                    let fault =
                        Fault { span: token.span, kind: FaultKind::LatePositional, since: Some(since) };
                    self.found.push(fault);
                    named = None;
                }
            }
            if !self.eat(",") {
                break;
            }
        }
        Ok(())
    }

    fn subscripts(&mut self) -> Read {
        loop {
            if self.is("]") {
                return Ok(());
            }
            if !self.is(":") {
                self.starred()?;
            }
            for _ in 0..2 {
                if self.eat(":") && !self.is("]") && !self.is(",") && !self.is(":") {
                    self.named_expression()?;
                }
            }
            if !self.eat(",") {
                return Ok(());
            }
        }
    }

    /// Names and places that a loop binds.
    pub(crate) fn targets(&mut self) -> Read {
        loop {
            self.eat("*");
            self.target()?;
            if !self.eat(",") || self.is("in") {
                return Ok(());
            }
        }
    }

    pub(crate) fn target(&mut self) -> Read {
        self.primary()
    }

    /// Of a function or, up to its colon, of a lambda.
    pub(crate) fn parameters(&mut self, end: &str, annotated: bool) -> Read {
        while !self.is(end) {
            if self.eat("/") {
                self.is_newer = true;
            } else if self.eat("**") {
                self.parameter(annotated)?;
            } else if self.eat("*") {
                if !self.is(",") {
                    self.parameter(annotated)?;
                }
            } else if self.is("(") {
                let start = self.token().span;
                self.target()?;
                self.old(start, "a parameter is a name and no tuple");
                self.default()?;
            } else {
                self.parameter(annotated)?;
                self.default()?;
            }
            if !self.eat(",") {
                break;
            }
        }
        Ok(())
    }

    fn default(&mut self) -> Read {
        if self.eat("=") { self.expression() } else { Ok(()) }
    }

    fn parameter(&mut self, annotated: bool) -> Read {
        self.name()?;
        if annotated && self.eat(":") {
            self.is_newer = true;
            return self.starred();
        }
        Ok(())
    }
}

fn bracket_words(bracket: &str) -> &'static str {
    match bracket {
        ")" => "`)` or `,`",
        "]" => "`]` or `,`",
        _ => "`}` or `,`",
    }
}
