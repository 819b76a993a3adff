//! Expressions, arguments, comprehensions and the type expressions of annotations.

use super::{Kind, Lowering, MAX_DEPTH, span_of};
use crate::report::Span;
use crate::syntax::ast::*;
use tree_sitter::Node;

impl<'t> Lowering<'t> {
    /// Lowers the expression that the cursor is on.
    pub(super) fn expr(&mut self, mut kind: Kind, mut node: Node<'t>) -> ExprId {
        let mut levels = 0;
        while matches!(kind, Kind::Parenthesized | Kind::Type | Kind::AsPatternTarget)
            || kind == Kind::TuplePattern && is_in_parentheses(node)
        {
            let Some(child) = self.down() else { break };
            levels += 1;
            (kind, node) = child;
            while !kind.is_expr() {
                let Some(child) = self.next() else { break };
                (kind, node) = child;
            }
        }
        let span = span_of(node);
        let lowered = if self.depth >= MAX_DEPTH {
            self.scan();
            ExprKind::Missing
        } else {
            self.depth += 1;
            let lowered = self.expr_kind(kind, span);
            self.depth -= 1;
            lowered
        };
        self.rise(levels);
        self.push(lowered, span)
    }

    fn expr_kind(&mut self, kind: Kind, span: Span) -> ExprKind {
        match kind {
            Kind::Identifier => ExprKind::Name(self.name(span)),
            Kind::Attribute | Kind::MemberType => self.attribute(),
            Kind::Call => self.call(),
            Kind::Subscript | Kind::GenericType => self.subscript(span),
            Kind::Str => self.string(span),
            Kind::Strings => self.strings(),
            Kind::Integer => self.integer(span),
            Kind::Float => self.float(span),
            Kind::True => ExprKind::True,
            Kind::False => ExprKind::False,
            Kind::None => ExprKind::None,
            Kind::Ellipsis => ExprKind::Ellipsis,
            Kind::Tuple | Kind::ExpressionList | Kind::PatternList | Kind::TuplePattern => {
                ExprKind::Tuple(self.children())
            }
            Kind::List | Kind::ListPattern => ExprKind::List(self.children()),
            Kind::Set => ExprKind::Set(self.children()),
            Kind::Dictionary => self.dictionary(),
            Kind::ListComprehension => self.comprehension(ComprehensionKind::List, span),
            Kind::SetComprehension => self.comprehension(ComprehensionKind::Set, span),
            Kind::DictionaryComprehension => self.comprehension(ComprehensionKind::Dict, span),
            Kind::Generator => self.comprehension(ComprehensionKind::Generator, span),
            _ => self.operator_kind(kind, span),
        }
    }

    fn operator_kind(&mut self, kind: Kind, span: Span) -> ExprKind {
        match kind {
            Kind::Binary | Kind::UnionType => self.binary(span),
            Kind::Boolean => self.boolean(),
            Kind::Comparison => self.comparison(span),
            Kind::NotOperator => ExprKind::Unary { op: UnaryOp::Not, operand: self.only(span) },
            Kind::Unary => self.unary(span),
            Kind::Conditional => self.conditional(span),
            Kind::Lambda => ExprKind::Lambda(self.lambda(span)),
            Kind::Named => self.walrus(span),
            Kind::Await => ExprKind::Await(self.only(span)),
            Kind::Yield => self.yields(span),
            Kind::ListSplat | Kind::ListSplatPattern => ExprKind::Starred(self.only(span)),
            Kind::Slice => self.slice(),
            Kind::AsPattern => self.as_pattern_value(),
            _ => {
                self.scan();
                ExprKind::Missing
            }
        }
    }

    /// The expressions among the children.
    pub(super) fn children(&mut self) -> Exprs {
        let mark = self.exprs.len();
        self.each(|lowering, kind, node| {
            if kind.is_expr() {
                let id = lowering.expr(kind, node);
                lowering.exprs.push(id);
            }
        });
        self.take_exprs(mark)
    }

    /// The first expression among the children.
    pub(super) fn first(&mut self) -> Option<ExprId> {
        let mut found = None;
        self.each(|lowering, kind, node| {
            if kind.is_expr() {
                match found {
                    None => found = Some(lowering.expr(kind, node)),
                    Some(_) => lowering.scan(),
                }
            }
        });
        found
    }

    pub(super) fn only(&mut self, span: Span) -> ExprId {
        let found = self.first();
        self.or_missing(found, span)
    }

    pub(super) fn or_missing(&mut self, found: Option<ExprId>, span: Span) -> ExprId {
        found.unwrap_or_else(|| self.missing(Span::new(span.end, span.end)))
    }

    fn attribute(&mut self) -> ExprKind {
        let mut base = None;
        let mut last = Span::default();
        self.each(|lowering, kind, node| {
            if base.is_none() && kind.is_expr() {
                base = Some(lowering.expr(kind, node));
            } else if kind == Kind::Identifier {
                last = span_of(node);
            }
        });
        match base {
            Some(base) => ExprKind::Attribute { base, name: self.name(last), name_span: last },
            None => ExprKind::Missing,
        }
    }

    fn call(&mut self) -> ExprKind {
        let mut callee = None;
        let mut args: Box<[Arg]> = Box::default();
        self.each(|lowering, kind, node| match kind {
            _ if callee.is_none() && kind.is_expr() => callee = Some(lowering.expr(kind, node)),
            Kind::Arguments => args = lowering.arguments(),
            Kind::Generator => {
                let value = lowering.expr(kind, node);
                args = Box::new([Arg { kind: ArgKind::Positional, value, span: span_of(node) }]);
            }
            _ => {}
        });
        callee.map_or(ExprKind::Missing, |callee| ExprKind::Call { callee, args })
    }

    pub(super) fn arguments(&mut self) -> Box<[Arg]> {
        let mark = self.args.len();
        self.each(|lowering, kind, node| {
            let span = span_of(node);
            let (kind, value) = match kind {
                Kind::KeywordArgument => match lowering.keyword(span) {
                    Some((name, value)) => (ArgKind::Keyword(name), value),
                    None => return,
                },
                Kind::ListSplat => (ArgKind::Star, lowering.only(span)),
                Kind::DictionarySplat => (ArgKind::DoubleStar, lowering.only(span)),
                _ if kind.is_expr() => (ArgKind::Positional, lowering.expr(kind, node)),
                _ => return,
            };
            lowering.args.push(Arg { kind, value, span });
        });
        self.args.drain(mark..).collect()
    }

    fn keyword(&mut self, span: Span) -> Option<(ustr::Ustr, ExprId)> {
        let mut name = None;
        let mut value = None;
        self.each(|lowering, kind, node| {
            if name.is_none() && kind == Kind::Identifier {
                name = Some(lowering.name(span_of(node)));
            } else if kind.is_expr() {
                value = Some(lowering.expr(kind, node));
            }
        });
        name.map(|name| (name, self.or_missing(value, span)))
    }

    /// `base[index]`, also as the grammar sees it in annotations.
    fn subscript(&mut self, span: Span) -> ExprKind {
        let mark = self.exprs.len();
        let mut base = None;
        let mut commas = false;
        self.each(|lowering, kind, node| match kind {
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                if base.is_none() {
                    base = Some(id);
                } else {
                    lowering.exprs.push(id);
                }
            }
            Kind::TypeParameter => lowering.each(|lowering, kind, node| {
                commas |= kind == Kind::Comma;
                if kind.is_expr() {
                    let id = lowering.expr(kind, node);
                    lowering.exprs.push(id);
                }
            }),
            Kind::Comma => commas = true,
            _ => {}
        });
        let items = self.take_exprs(mark);
        let Some(base) = base else {
            return ExprKind::Missing;
        };
        let index = match items.as_ref() {
            [index] if !commas => *index,
            [] => self.missing(Span::new(span.end, span.end)),
            [first, .., last] | [first @ last] => {
                let start = self.tree.expr(*first).span.start;
                let end = self.tree.expr(*last).span.end;
                self.push(ExprKind::Tuple(items), Span::new(start, end))
            }
        };
        ExprKind::Subscript { base, index }
    }

    fn slice(&mut self) -> ExprKind {
        let mut parts = [None; 3];
        let mut place = 0;
        self.each(|lowering, kind, node| {
            if kind == Kind::Colon {
                place += 1;
            } else if kind.is_expr() {
                let id = lowering.expr(kind, node);
                if let Some(part) = parts.get_mut(place) {
                    *part = Some(id);
                }
            }
        });
        let [lower, upper, step] = parts;
        ExprKind::Slice { lower, upper, step }
    }

    fn dictionary(&mut self) -> ExprKind {
        let mark = self.pairs.len();
        self.each(|lowering, kind, node| match kind {
            Kind::Pair => {
                let (key, value) = lowering.pair(span_of(node));
                lowering.pairs.push((Some(key), value));
            }
            Kind::DictionarySplat => {
                let value = lowering.only(span_of(node));
                lowering.pairs.push((None, value));
            }
            _ => {}
        });
        ExprKind::Dict(self.pairs.drain(mark..).collect())
    }

    fn pair(&mut self, span: Span) -> (ExprId, ExprId) {
        let mut key = None;
        let mut value = None;
        self.each(|lowering, kind, node| {
            if kind.is_expr() {
                let id = lowering.expr(kind, node);
                if key.is_none() { key = Some(id) } else { value = Some(id) }
            }
        });
        (self.or_missing(key, span), self.or_missing(value, span))
    }

    fn comprehension(&mut self, kind: ComprehensionKind, span: Span) -> ExprKind {
        let mut element = None;
        let mut value = None;
        let mut clauses: Vec<Clause> = Vec::with_capacity(1);
        let mark = self.exprs.len();
        self.each(|lowering, kind, node| match kind {
            Kind::Pair => {
                let (k, v) = lowering.pair(span_of(node));
                (element, value) = (Some(k), Some(v));
            }
            Kind::ForInClause => {
                if let Some(last) = clauses.last_mut() {
                    last.conditions = lowering.take_exprs(mark);
                }
                clauses.push(lowering.clause(span_of(node)));
            }
            Kind::IfClause => {
                let id = lowering.only(span_of(node));
                lowering.exprs.push(id);
            }
            _ if kind.is_expr() && element.is_none() => element = Some(lowering.expr(kind, node)),
            _ => {}
        });
        let conditions = self.take_exprs(mark);
        if let Some(last) = clauses.last_mut() {
            last.conditions = conditions;
        }
        let element = self.or_missing(element, span);
        let clauses = clauses.into_boxed_slice();
        ExprKind::Comprehension(Box::new(Comprehension { kind, element, value, clauses }))
    }

    fn clause(&mut self, span: Span) -> Clause {
        let mark = self.exprs.len();
        let mut target = None;
        let mut after_in = false;
        self.each(|lowering, kind, node| match kind {
            Kind::InToken => after_in = true,
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                if after_in {
                    lowering.exprs.push(id);
                } else {
                    target = Some(id);
                }
            }
            _ => {}
        });
        let iter = self.one_or_tuple(mark, span);
        let target = self.or_missing(target, span);
        Clause { target, iter, conditions: Box::default() }
    }

    /// What was put on the stack since `mark`: itself if single, or a tuple.
    pub(super) fn one_or_tuple(&mut self, mark: usize, span: Span) -> ExprId {
        let items = self.take_exprs(mark);
        match items.as_ref() {
            [] => self.missing(Span::new(span.end, span.end)),
            [one] => *one,
            [first, .., last] => {
                let start = self.tree.expr(*first).span.start;
                let end = self.tree.expr(*last).span.end;
                self.push(ExprKind::Tuple(items), Span::new(start, end))
            }
        }
    }

    fn walrus(&mut self, span: Span) -> ExprKind {
        let mut name = None;
        let mut value = None;
        self.each(|lowering, kind, node| {
            if name.is_none() && kind == Kind::Identifier {
                name = Some(span_of(node));
            } else if kind.is_expr() {
                value = Some(lowering.expr(kind, node));
            }
        });
        let Some(name_span) = name else {
            return ExprKind::Missing;
        };
        let value = self.or_missing(value, span);
        ExprKind::Walrus { name: self.name(name_span), name_span, value }
    }

    fn yields(&mut self, span: Span) -> ExprKind {
        if let Some(function) = self.function {
            self.tree.functions[function.0 as usize].is_generator = true;
        }
        let mut from = false;
        let mut value = None;
        self.each(|lowering, kind, node| match kind {
            Kind::FromToken => from = true,
            _ if kind.is_expr() => value = Some(lowering.expr(kind, node)),
            _ => {}
        });
        if from { ExprKind::YieldFrom(self.or_missing(value, span)) } else { ExprKind::Yield(value) }
    }

    /// `value as name` inside of an expression: its value. In the parentheses of a `with` the grammar gives the target
    /// to the last operand, `(a if test else b as name)`; elsewhere Python has no such thing.
    fn as_pattern_value(&mut self) -> ExprKind {
        let (value, target) = self.as_pattern();
        self.bound = target;
        let Some(value) = value else {
            return ExprKind::Missing;
        };
        let lowered = &mut self.tree.exprs[value.0 as usize].kind;
        std::mem::replace(lowered, ExprKind::Missing)
    }
}

/// `for i, (data) in enumerate(loader)`: to the grammar a tuple, to Python a name in parentheses.
fn is_in_parentheses(pattern: Node) -> bool {
    pattern.child_count() == 3
}
