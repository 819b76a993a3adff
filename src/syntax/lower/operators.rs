//! Operators.

use super::{Kind, Lowering, span_of};
use crate::report::Span;
use crate::syntax::ast::*;

impl Lowering<'_> {
    pub(super) fn binary(&mut self, span: Span) -> ExprKind {
        let (mut left, mut right, mut op) = (None, None, None);
        self.each(|lowering, kind, node| {
            if kind.is_expr() {
                let id = lowering.expr(kind, node);
                if left.is_none() { left = Some(id) } else { right = Some(id) }
            } else if op.is_none() {
                op = binary_op(kind);
            }
        });
        let (Some(left), Some(op)) = (left, op) else {
            return ExprKind::Missing;
        };
        ExprKind::Binary { op, left, right: self.or_missing(right, span) }
    }

    /// `a and b and c` nests to the left: goes down that side first and flattens on the way up.
    pub(super) fn boolean(&mut self) -> ExprKind {
        let mark = self.exprs.len();
        let mut levels = 0;
        let mut start = 0;
        while let Some((kind, node)) = self.down() {
            levels += 1;
            if kind == Kind::Boolean {
                continue;
            }
            if kind.is_expr() {
                start = node.start_byte() as u32;
                let id = self.expr(kind, node);
                self.exprs.push(id);
            }
            break;
        }
        let mut and = None;
        for _ in 0..levels {
            while let Some((kind, node)) = self.next() {
                match kind {
                    Kind::AndToken | Kind::OrToken => {
                        let is_and = kind == Kind::AndToken;
                        if and.is_some_and(|and| and != is_and) {
                            self.close_boolean(mark, !is_and, start);
                        }
                        and = Some(is_and);
                    }
                    _ if kind.is_expr() => {
                        let id = self.expr(kind, node);
                        self.exprs.push(id);
                    }
                    _ => {}
                }
            }
            self.cursor.goto_parent();
        }
        ExprKind::Bool { and: and.unwrap_or(true), items: self.take_exprs(mark) }
    }

    fn close_boolean(&mut self, mark: usize, and: bool, start: u32) {
        let items = self.take_exprs(mark);
        let end = items.last().map_or(start, |last| self.tree.expr(*last).span.end);
        let id = self.push(ExprKind::Bool { and, items }, Span::new(start, end));
        self.exprs.push(id);
    }

    pub(super) fn comparison(&mut self, span: Span) -> ExprKind {
        let mut first = None;
        let mut op = None;
        let mut rest = Vec::with_capacity(1);
        self.each(|lowering, kind, node| {
            if kind.is_expr() {
                let id = lowering.expr(kind, node);
                match op.take() {
                    Some(op) => rest.push((op, id)),
                    None if first.is_none() => first = Some(id),
                    None => {}
                }
            } else if let Some(found) = compare_op(kind) {
                op = Some(found);
            }
        });
        if let Some(op) = op {
            rest.push((op, self.or_missing(None, span)));
        }
        match first {
            Some(first) => ExprKind::Compare { first, rest: rest.into_boxed_slice() },
            None => ExprKind::Missing,
        }
    }

    pub(super) fn unary(&mut self, span: Span) -> ExprKind {
        let mut op = UnaryOp::Plus;
        let mut operand = None;
        self.each(|lowering, kind, node| match kind {
            Kind::Minus => op = UnaryOp::Minus,
            Kind::Tilde => op = UnaryOp::Invert,
            _ if kind.is_expr() => operand = Some(lowering.expr(kind, node)),
            _ => {}
        });
        ExprKind::Unary { op, operand: self.or_missing(operand, span) }
    }

    pub(super) fn conditional(&mut self, span: Span) -> ExprKind {
        let mut parts = [None; 3];
        let mut place = 0;
        self.each(|lowering, kind, node| {
            if kind.is_expr() && place < 3 {
                parts[place] = Some(lowering.expr(kind, node));
                place += 1;
            }
        });
        let [then, test, otherwise] = parts.map(|part| self.or_missing(part, span));
        ExprKind::Conditional { test, then, otherwise }
    }

    /// The operator of an augmented assignment that the cursor is on a child of.
    pub(super) fn augmented(&mut self, span: Span) -> StmtKind {
        let (mut target, mut value, mut op) = (None, None, None);
        self.each(|lowering, kind, node| {
            if let Some(found) = augmented_op(kind) {
                op = Some(found);
            } else if kind.is_expr() {
                let id = lowering.expr(kind, node);
                if op.is_none() { target = Some(id) } else { value = Some(id) }
            } else if kind != Kind::Error {
                // `a += b = c` is no Python.
                value = Some(lowering.missing(span_of(node)));
                lowering.scan();
            }
        });
        let target = self.or_missing(target, span);
        let value = self.or_missing(value, span);
        StmtKind::AugAssign { target, op: op.unwrap_or(BinaryOp::Add), value }
    }
}

fn binary_op(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::Plus => BinaryOp::Add,
        Kind::Minus => BinaryOp::Sub,
        Kind::Star => BinaryOp::Mul,
        Kind::Slash => BinaryOp::Div,
        Kind::SlashSlash => BinaryOp::FloorDiv,
        Kind::Percent => BinaryOp::Mod,
        Kind::StarStar => BinaryOp::Pow,
        Kind::At => BinaryOp::MatMul,
        Kind::Ampersand => BinaryOp::And,
        Kind::Bar => BinaryOp::Or,
        Kind::Caret => BinaryOp::Xor,
        Kind::ShiftLeft => BinaryOp::Shl,
        Kind::ShiftRight => BinaryOp::Shr,
        _ => return None,
    })
}

fn augmented_op(kind: Kind) -> Option<BinaryOp> {
    Some(match kind {
        Kind::PlusEquals => BinaryOp::Add,
        Kind::MinusEquals => BinaryOp::Sub,
        Kind::StarEquals => BinaryOp::Mul,
        Kind::SlashEquals => BinaryOp::Div,
        Kind::SlashSlashEquals => BinaryOp::FloorDiv,
        Kind::PercentEquals => BinaryOp::Mod,
        Kind::StarStarEquals => BinaryOp::Pow,
        Kind::AtEquals => BinaryOp::MatMul,
        Kind::AmpersandEquals => BinaryOp::And,
        Kind::BarEquals => BinaryOp::Or,
        Kind::CaretEquals => BinaryOp::Xor,
        Kind::ShiftLeftEquals => BinaryOp::Shl,
        Kind::ShiftRightEquals => BinaryOp::Shr,
        _ => return None,
    })
}

fn compare_op(kind: Kind) -> Option<CompareOp> {
    Some(match kind {
        Kind::EqualsEquals => CompareOp::Eq,
        Kind::NotEquals | Kind::LessGreater => CompareOp::NotEq,
        Kind::Less => CompareOp::Less,
        Kind::LessEquals => CompareOp::LessEq,
        Kind::Greater => CompareOp::Greater,
        Kind::GreaterEquals => CompareOp::GreaterEq,
        Kind::IsToken => CompareOp::Is,
        Kind::IsNot => CompareOp::IsNot,
        Kind::InToken => CompareOp::In,
        Kind::NotIn => CompareOp::NotIn,
        _ => return None,
    })
}
