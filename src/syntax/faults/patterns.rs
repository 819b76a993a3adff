//! `match` and its cases. A pattern looks like an expression, with `as` inside.

use super::FaultKind;
use super::statements::{Parser, Read};
use super::tokens::TokenKind;

impl Parser<'_> {
    /// Whether `match` begins a statement here, and is no name.
    pub(crate) fn is_match(&mut self) -> bool {
        let (at, told) = (self.at, self.found.len());
        self.at += 1;
        let is_subject =
            !matches!(self.kind(), TokenKind::Newline | TokenKind::End) && self.expression_list().is_ok();
        let follows = is_subject
            && self.eat(":")
            && self.take(TokenKind::Newline)
            && self.take(TokenKind::Indent)
            && self.is("case");
        self.at = at;
        self.found.truncate(told);
        follows
    }

    pub(crate) fn match_statement(&mut self) -> Read {
        self.is_newer = true;
        self.at += 1;
        self.expression_list()?;
        self.expect(":")?;
        self.take(TokenKind::Newline);
        self.take(TokenKind::Indent);
        while self.is("case") {
            self.case()?;
        }
        match self.kind() {
            TokenKind::Dedent => {
                self.at += 1;
                Ok(())
            }
            TokenKind::End => Ok(()),
            _ => Err(self.broken(FaultKind::Expected("`case`"))),
        }
    }

    fn case(&mut self) -> Read {
        let head = self.token();
        self.at += 1;
        self.in_pattern = true;
        let read = self.expression_list();
        self.in_pattern = false;
        read?;
        if self.eat("if") {
            self.named_expression()?;
        }
        self.block(head)
    }
}
