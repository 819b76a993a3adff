//! The block behind a header, and why there is none.

use super::{Parser, Read};
use crate::report::Span;
use crate::syntax::faults::tokens::{Token, TokenKind};
use crate::syntax::faults::{Fault, FaultKind};

impl Parser<'_> {
    /// The block behind a header.
    pub(crate) fn block(&mut self, head: Token) -> Read {
        if !self.eat(":") {
            let kind = match self.kind() {
                TokenKind::Newline | TokenKind::End => FaultKind::MissingColon,
                _ => FaultKind::Expected("`:`"),
            };
            return Err(self.broken(kind));
        }
        if !self.take(TokenKind::Newline) {
            return self.simple_line();
        }
        if self.take(TokenKind::Indent) {
            self.excused = false;
            self.rest_of_block();
            // Clauses of this statement belong to it, whatever its block ended with.
            self.excused = false;
            return Ok(());
        }
        if self.lexical.iter().any(|fault| fault.kind == FaultKind::Conflict) {
            return Ok(());
        }
        let span = if self.kind() == TokenKind::End { head.span } else { self.next_word().span };
        let fault = match self.magic_ahead() {
            Some(span) => Fault { span, kind: FaultKind::Magic, since: None },
            None => Fault { span, kind: FaultKind::MissingBlock, since: Some(head.span) },
        };
        // An exported notebook has many such lines, for one reason.
        if fault.kind != FaultKind::Magic || self.found.iter().all(|other| other.kind != FaultKind::Magic) {
            self.found.push(fault);
        }
        self.broken_until = Some(self.at);
        Ok(())
    }

    /// A line of IPython between the line that has just ended and the next that is Python.
    fn magic_ahead(&self) -> Option<Span> {
        let begins = self.tokens.get(self.at.checked_sub(1)?)?.span.end as usize;
        let ends = match self.next_word() {
            Token { kind: TokenKind::End, .. } => self.text.len(),
            next => next.span.start as usize,
        };
        let mut at = begins;
        self.text.get(begins..ends)?.split_inclusive('\n').find_map(|line| {
            let start = at + line.len() - line.trim_start().len();
            let end = at + line.trim_end().len();
            at += line.len();
            let is_magic = line.trim_start().starts_with(['!', '%', '?']);
            is_magic.then(|| Span::new(start as u32, end as u32))
        })
    }

    /// The next token that has a text.
    fn next_word(&self) -> Token {
        let rest = self.tokens[self.at..].iter();
        rest.copied().find(|token| token.kind != TokenKind::Dedent).unwrap_or_else(|| self.token())
    }
}
