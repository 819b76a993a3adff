//! Compound statements but definitions.

use super::{Kind, Lowering, span_of};
use crate::report::Span;
use crate::syntax::ast::*;
use tree_sitter::Node;

impl<'t> Lowering<'t> {
    /// Notes the logical line from the start of `whole` to the colon of its header.
    pub(super) fn header(&mut self, whole: Span, colon: Node<'t>) {
        self.tree.lines.push(Span::new(whole.start, colon.end_byte() as u32));
    }

    /// The block of an `else` or `finally` clause.
    fn clause_block(&mut self, span: Span) -> Block {
        let mut body = Block::default();
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            _ => {}
        });
        body
    }

    pub(super) fn if_statement(&mut self, span: Span) -> StmtKind {
        let mut arms = Vec::with_capacity(1);
        let mut otherwise = Block::default();
        let (mut test, mut body) = (None, Block::default());
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::ElifClause => arms.push(lowering.elif(span_of(node))),
            Kind::ElseClause => otherwise = lowering.clause_block(span_of(node)),
            _ if kind.is_expr() => test = Some(lowering.expr(kind, node)),
            _ => {}
        });
        arms.insert(0, (self.or_missing(test, span), body));
        StmtKind::If { arms: arms.into_boxed_slice(), otherwise }
    }

    fn elif(&mut self, span: Span) -> (ExprId, Block) {
        let (mut test, mut body) = (None, Block::default());
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            _ if kind.is_expr() => test = Some(lowering.expr(kind, node)),
            _ => {}
        });
        (self.or_missing(test, span), body)
    }

    pub(super) fn while_statement(&mut self, span: Span) -> StmtKind {
        let (mut test, mut body, mut otherwise) = (None, Block::default(), Block::default());
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::ElseClause => otherwise = lowering.clause_block(span_of(node)),
            _ if kind.is_expr() => test = Some(lowering.expr(kind, node)),
            _ => {}
        });
        StmtKind::While { test: self.or_missing(test, span), body, otherwise }
    }

    pub(super) fn for_statement(&mut self, span: Span) -> StmtKind {
        let (mut target, mut iter, mut after_in) = (None, None, false);
        let (mut body, mut otherwise) = (Block::default(), Block::default());
        self.each(|lowering, kind, node| match kind {
            Kind::InToken => after_in = true,
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::ElseClause => otherwise = lowering.clause_block(span_of(node)),
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                if after_in { iter = Some(id) } else { target = Some(id) }
            }
            _ => {}
        });
        let target = self.or_missing(target, span);
        StmtKind::For { target, iter: self.or_missing(iter, span), body, otherwise }
    }

    pub(super) fn try_statement(&mut self, span: Span) -> StmtKind {
        let mut handlers = Vec::with_capacity(1);
        let [mut body, mut otherwise, mut finally] = [Block::default(), Block::default(), Block::default()];
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::ExceptClause => handlers.push(lowering.handler(span_of(node))),
            Kind::ElseClause => otherwise = lowering.clause_block(span_of(node)),
            Kind::FinallyClause => finally = lowering.clause_block(span_of(node)),
            _ => {}
        });
        StmtKind::Try { body, handlers: handlers.into_boxed_slice(), otherwise, finally }
    }

    fn handler(&mut self, span: Span) -> Handler {
        let (mut exception, mut alias, mut body) = (None, None, Block::default());
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::AsPattern => (exception, alias) = lowering.as_pattern(),
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                // `except E, e` of Python 2 names the exception as `as` does.
                if exception.is_none() { exception = Some(id) } else { alias = Some(id) }
            }
            _ => {}
        });
        let name = alias.and_then(|id| match self.tree.expr(id).kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        });
        Handler { exception, name, body, span }
    }

    /// `value as target`
    pub(super) fn as_pattern(&mut self) -> (Option<ExprId>, Option<ExprId>) {
        let (mut value, mut target) = (None, None);
        self.each(|lowering, kind, node| {
            if kind == Kind::AsPatternTarget {
                target = Some(lowering.expr(kind, node));
            } else if kind.is_expr() {
                value = Some(lowering.expr(kind, node));
            }
        });
        (value, target)
    }

    pub(super) fn with_statement(&mut self, span: Span) -> StmtKind {
        let mut items = Vec::with_capacity(1);
        let mut body = Block::default();
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            Kind::WithClause => lowering.each(|lowering, kind, _| {
                if kind == Kind::WithItem {
                    lowering.each(|lowering, kind, node| lowering.with_item(kind, node, &mut items));
                }
            }),
            _ => {}
        });
        StmtKind::With { items: items.into_boxed_slice(), body }
    }

    fn with_item(&mut self, kind: Kind, node: Node<'t>, items: &mut Vec<WithItem>) {
        let mut bracketed = false;
        if matches!(kind, Kind::Tuple | Kind::Parenthesized) {
            // `with (a as b, c as d):` is read as a tuple of patterns.
            self.each(|_, kind, _| bracketed |= kind == Kind::AsPattern);
        }
        if bracketed {
            self.each(|lowering, kind, node| lowering.plain_with_item(kind, node, items));
        } else {
            self.plain_with_item(kind, node, items);
        }
    }

    fn plain_with_item(&mut self, kind: Kind, node: Node<'t>, items: &mut Vec<WithItem>) {
        if kind == Kind::AsPattern {
            let (value, target) = self.as_pattern();
            let context = self.or_missing(value, span_of(node));
            items.push(WithItem { context, target });
        } else if kind.is_expr() {
            self.bound = None;
            let context = self.expr(kind, node);
            items.push(WithItem { context, target: self.bound.take() });
        }
    }

    pub(super) fn match_statement(&mut self, span: Span) -> StmtKind {
        let mark = self.exprs.len();
        let mut cases = Vec::new();
        self.each(|lowering, kind, node| match kind {
            Kind::Colon => lowering.header(span, node),
            Kind::Block => lowering.each(|lowering, kind, node| {
                if kind == Kind::CaseClause {
                    cases.push(lowering.case(span_of(node)));
                }
            }),
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                lowering.exprs.push(id);
            }
            _ => {}
        });
        let subject = self.one_or_tuple(mark, span);
        StmtKind::Match { subject, cases: cases.into_boxed_slice() }
    }

    fn case(&mut self, span: Span) -> Case {
        let mut binds = Vec::new();
        let (mut guard, mut body) = (None, Block::default());
        let (mut patterns, mut anything) = (0, false);
        self.each(|lowering, kind, node| match kind {
            Kind::CasePattern => {
                patterns += 1;
                anything = lowering.pattern(kind, node, &mut binds);
            }
            Kind::Comma => patterns += 1,
            Kind::IfClause => guard = Some(lowering.only(span_of(node))),
            Kind::Colon => lowering.header(span, node),
            Kind::Block => body = lowering.block(),
            _ => {}
        });
        let irrefutable = anything && patterns == 1 && guard.is_none();
        Case { binds: binds.into_boxed_slice(), guard, irrefutable, body }
    }
}
