//! Blocks, as lines that stand further in make them.

use super::FaultKind;
use super::lexer::{Lexer, word_of};
use super::tokens::TokenKind;

/// How far in a line stands, where a tab goes to the next eighth column, and where it is as wide as a blank: lines
/// that only one of the two puts in order are a `TabError`.
#[derive(Clone, Copy, Default)]
pub(super) struct Column {
    pub wide: usize,
    pub narrow: usize,
}

impl Lexer<'_> {
    /// The blanks that a line begins with.
    pub(super) fn blanks(&mut self) -> Column {
        let mut column = Column::default();
        for byte in self.rest().bytes() {
            column = match byte {
                b' ' => Column { wide: column.wide + 1, narrow: column.narrow + 1 },
                b'\t' => Column { wide: (column.wide / 8 + 1) * 8, narrow: column.narrow + 1 },
                b'\x0c' => Column::default(),
                _ => break,
            };
            self.at += 1;
        }
        column
    }

    pub(super) fn indentation(&mut self, start: usize, column: Column) {
        let inner = self.innermost();
        if column.wide > inner.wide {
            if column.narrow <= inner.narrow {
                self.fault(FaultKind::Tabs, start, self.at);
            }
            self.indents.push(column);
            self.push(TokenKind::Indent, start);
            return;
        }
        while self.innermost().wide > column.wide {
            let left = self.indents.pop().unwrap_or_default();
            if self.innermost().wide < column.wide {
                // Taken for a line of the block that it nearly reaches.
                self.indents.push(column);
                if left.wide > column.wide {
                    let first = self.rest().chars().next().map_or(0, char::len_utf8);
                    self.fault(FaultKind::Unindent, self.at, self.at + word_of(self.rest()).len().max(first));
                }
                return;
            }
            self.push(TokenKind::Dedent, self.at);
        }
        if self.innermost().narrow != column.narrow {
            self.fault(FaultKind::Tabs, start, self.at);
        }
    }

    fn innermost(&self) -> Column {
        self.indents.last().copied().unwrap_or_default()
    }
}
