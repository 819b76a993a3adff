//! Statements and the blocks that hold them, also those inside error nodes.

use super::{Kind, Lowering, MAX_DEPTH, span_of};
use crate::report::Span;
use crate::syntax::ast::*;
use tree_sitter::Node;
use ustr::{Ustr, ustr};

impl<'t> Lowering<'t> {
    /// The statements of the block or module that the cursor is on.
    pub(super) fn block(&mut self) -> Block {
        let mark = self.stmts.len();
        self.each(Self::statement);
        self.take_stmts(mark)
    }

    /// Adds the statement under the cursor; of an error node the statements in it.
    pub(super) fn statement(&mut self, kind: Kind, node: Node<'t>) {
        if self.depth >= MAX_DEPTH {
            self.scan();
            return;
        }
        self.depth += 1;
        let span = span_of(node);
        let lowered = if kind.is_stmt() { self.stmt_kind(kind, span) } else { self.recovered(kind, span) };
        self.depth -= 1;
        if let Some(kind) = lowered {
            let id = StmtId(self.tree.stmts.len() as u32);
            self.tree.stmts.push(Stmt { kind, span });
            self.stmts.push(id);
        }
    }

    /// What is no statement but stands where one should: the parser gave up around here.
    fn recovered(&mut self, kind: Kind, span: Span) -> Option<StmtKind> {
        match kind {
            Kind::Assignment => Some(self.assignment(span)),
            Kind::Augmented => Some(self.augmented(span)),
            Kind::Error
            | Kind::Block
            | Kind::ElifClause
            | Kind::ElseClause
            | Kind::ExceptClause
            | Kind::FinallyClause
            | Kind::CaseClause => {
                self.each(Self::statement);
                None
            }
            _ => {
                self.scan();
                None
            }
        }
    }

    fn stmt_kind(&mut self, kind: Kind, span: Span) -> Option<StmtKind> {
        let compound = match kind {
            Kind::If => self.if_statement(span),
            Kind::For => self.for_statement(span),
            Kind::While => self.while_statement(span),
            Kind::Try => self.try_statement(span),
            Kind::With => self.with_statement(span),
            Kind::Match => self.match_statement(span),
            Kind::Function | Kind::Class => self.definition(kind, span, Box::default()),
            Kind::Decorated => return self.decorated(),
            _ => {
                self.tree.lines.push(span);
                return self.simple_kind(kind, span);
            }
        };
        Some(compound)
    }

    fn simple_kind(&mut self, kind: Kind, span: Span) -> Option<StmtKind> {
        Some(match kind {
            Kind::ExpressionStatement => return self.expression_statement(span),
            Kind::Import => StmtKind::Import(self.import()),
            Kind::ImportFrom => self.import_from(),
            Kind::FutureImport => {
                let items = ImportNames::Items(self.import());
                StmtKind::ImportFrom { level: 0, module: Some(ustr("__future__")), names: items }
            }
            Kind::Print => self.python2_call("print", span),
            Kind::Exec => self.python2_call("exec", span),
            Kind::Assert => StmtKind::Assert { test: self.only(span) },
            Kind::Return => StmtKind::Return(self.first()),
            Kind::Raise => StmtKind::Raise(self.first()),
            Kind::Delete => self.delete(),
            Kind::Pass => StmtKind::Pass,
            Kind::Break => StmtKind::Break,
            Kind::Continue => StmtKind::Continue,
            Kind::Global => StmtKind::Global(self.identifiers()),
            Kind::Nonlocal => StmtKind::Nonlocal(self.identifiers()),
            _ => {
                self.scan();
                return None;
            }
        })
    }

    fn expression_statement(&mut self, span: Span) -> Option<StmtKind> {
        let mark = self.exprs.len();
        let mut found = None;
        let mut commas = false;
        self.each(|lowering, kind, node| match kind {
            Kind::Assignment => found = Some(lowering.assignment(span_of(node))),
            Kind::Augmented => found = Some(lowering.augmented(span_of(node))),
            Kind::Comma => commas = true,
            _ if kind.is_expr() => {
                let id = lowering.expr(kind, node);
                lowering.exprs.push(id);
            }
            _ => {}
        });
        let values = self.take_exprs(mark);
        found.or_else(|| match values.as_ref() {
            [] => None,
            [value] if !commas => Some(StmtKind::Expr(*value)),
            _ => Some(StmtKind::Expr(self.push(ExprKind::Tuple(values), span))),
        })
    }

    /// `a = b = value` nests to the right: goes down that side in a loop.
    fn assignment(&mut self, span: Span) -> StmtKind {
        let mark = self.exprs.len();
        let mut levels = 0;
        let mut annotation = None;
        let mut value = None;
        let mut child = self.down();
        let (mut after_equals, mut is_broken) = (false, false);
        if child.is_some() {
            levels += 1;
        }
        while let Some((kind, node)) = child {
            match kind {
                Kind::Equals => after_equals = true,
                Kind::Type => annotation = Some(self.expr(kind, node)),
                Kind::Assignment => {
                    if let Some(inner) = self.down() {
                        levels += 1;
                        after_equals = false;
                        child = Some(inner);
                        continue;
                    }
                }
                _ if kind.is_expr() => {
                    let id = self.expr(kind, node);
                    if after_equals { value = Some(id) } else { self.exprs.push(id) }
                }
                Kind::Augmented => self.scan(),
                Kind::Error => is_broken |= after_equals,
                _ => {}
            }
            child = self.next();
        }
        self.rise(levels);
        // What was to be assigned is lost, and what follows was taken for it: it is run, and gives something else.
        let value = if is_broken { value.map(|follows| self.lost(follows, span)) } else { value };
        let targets = self.take_exprs(mark);
        match (annotation, targets.as_ref()) {
            (Some(annotation), [target]) => StmtKind::AnnAssign { target: *target, annotation, value },
            _ => StmtKind::Assign { value: self.or_missing(value, span), targets },
        }
    }

    /// Something unknown, which an expression is run for.
    fn lost(&mut self, follows: ExprId, span: Span) -> ExprId {
        let callee = self.missing(Span::new(span.end, span.end));
        let args = Box::from([Arg { kind: ArgKind::Positional, value: follows, span }]);
        self.push(ExprKind::Call { callee, args }, span)
    }

    fn delete(&mut self) -> StmtKind {
        let mut targets = Exprs::default();
        self.each(|lowering, kind, node| match kind {
            Kind::ExpressionList => targets = lowering.children(),
            _ if kind.is_expr() => targets = Box::new([lowering.expr(kind, node)]),
            _ => {}
        });
        StmtKind::Del(targets)
    }

    fn identifiers(&mut self) -> Box<[Ustr]> {
        let mut names = Vec::new();
        self.each(|lowering, kind, node| {
            if kind == Kind::Identifier {
                names.push(lowering.name(span_of(node)));
            }
        });
        names.into_boxed_slice()
    }

    /// `print a, b` and `exec a in b` as the calls that they became.
    fn python2_call(&mut self, name: &str, span: Span) -> StmtKind {
        let mark = self.args.len();
        let callee_span = Span::new(span.start, span.start + name.len() as u32);
        let callee = self.push(ExprKind::Name(ustr(name)), callee_span);
        self.each(|lowering, kind, node| {
            let span = span_of(node);
            let (kind, value) = match kind {
                Kind::Chevron => (ArgKind::Keyword(ustr("file")), lowering.only(span)),
                _ if kind.is_expr() => (ArgKind::Positional, lowering.expr(kind, node)),
                _ => return,
            };
            lowering.args.push(Arg { kind, value, span });
        });
        let args = self.args.drain(mark..).collect();
        StmtKind::Expr(self.push(ExprKind::Call { callee, args }, span))
    }

    /// The items of `import a.b as c, d`.
    fn import(&mut self) -> Box<[ImportItem]> {
        let mut items = Vec::with_capacity(1);
        self.each(|lowering, kind, node| items.extend(lowering.import_item(kind, span_of(node))));
        items.into_boxed_slice()
    }

    fn import_item(&mut self, kind: Kind, span: Span) -> Option<ImportItem> {
        match kind {
            Kind::DottedName => Some(ImportItem { name: self.dotted(span), alias: None, span }),
            Kind::AliasedImport => {
                let mut name = None;
                let mut alias = None;
                self.each(|lowering, kind, node| match kind {
                    Kind::DottedName => name = Some(lowering.dotted(span_of(node))),
                    Kind::Identifier => alias = Some(lowering.name(span_of(node))),
                    _ => {}
                });
                name.map(|name| ImportItem { name, alias, span })
            }
            _ => None,
        }
    }

    fn import_from(&mut self) -> StmtKind {
        let mut items = Vec::new();
        let (mut level, mut module, mut star, mut after_import) = (0, None, false, false);
        self.each(|lowering, kind, node| match kind {
            Kind::ImportToken => after_import = true,
            Kind::Wildcard => star = true,
            Kind::RelativeImport => lowering.each(|lowering, kind, node| {
                let span = span_of(node);
                if kind == Kind::ImportPrefix {
                    level = lowering.text_of(span).bytes().filter(|byte| *byte == b'.').count() as u32;
                } else if kind == Kind::DottedName {
                    module = Some(lowering.dotted(span));
                }
            }),
            Kind::DottedName if !after_import => module = Some(lowering.dotted(span_of(node))),
            _ => items.extend(lowering.import_item(kind, span_of(node))),
        });
        let names = if star { ImportNames::Star } else { ImportNames::Items(items.into_boxed_slice()) };
        StmtKind::ImportFrom { level, module, names }
    }

    /// A dotted name may hold blanks and line continuations.
    fn dotted(&mut self, span: Span) -> Ustr {
        let text = self.text_of(span);
        let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if text.chars().all(in_name) {
            return self.name(span);
        }
        super::identifier(&text.chars().filter(|c| in_name(*c)).collect::<String>())
    }
}
