//! Functions, lambdas, their parameters, and classes.

use super::{Kind, Lowering, span_of};
use crate::report::Span;
use crate::syntax::ast::*;
use tree_sitter::Node;
use ustr::ustr;

impl<'t> Lowering<'t> {
    /// `@a @b def …`, as a statement.
    pub(super) fn decorated(&mut self) -> Option<StmtKind> {
        let mark = self.exprs.len();
        let mut definition = None;
        self.each(|lowering, kind, node| match kind {
            Kind::Decorator => {
                let span = span_of(node);
                let end = lowering.text_of(span).trim_end().len() as u32;
                lowering.tree.lines.push(Span::new(span.start, span.start + end));
                if let Some(id) = lowering.first() {
                    lowering.exprs.push(id);
                }
            }
            Kind::Function | Kind::Class => {
                let decorators = lowering.take_exprs(mark);
                definition = Some(lowering.definition(kind, span_of(node), decorators));
            }
            _ => {}
        });
        self.exprs.truncate(mark);
        definition
    }

    pub(super) fn definition(&mut self, kind: Kind, span: Span, decorators: Exprs) -> StmtKind {
        if kind == Kind::Class {
            StmtKind::Class(self.class(span, decorators))
        } else {
            StmtKind::Function(self.function(span, decorators))
        }
    }

    fn function(&mut self, span: Span, decorators: Exprs) -> FnId {
        let mut function = self.new_function(span);
        function.decorators = decorators;
        let mut function = Some(function);
        let mut id = None;
        self.each(|lowering, kind, node| {
            if let Some(function) = &mut function {
                match kind {
                    Kind::AsyncToken => function.is_async = true,
                    Kind::Identifier => {
                        function.name_span = span_of(node);
                        function.name = lowering.name(function.name_span);
                    }
                    Kind::Parameters => function.params = lowering.params(),
                    Kind::Type => function.returns = Some(lowering.expr(kind, node)),
                    Kind::Colon => lowering.header(span, node),
                    _ => {}
                }
            }
            if kind == Kind::Block
                && let Some(function) = function.take()
            {
                id = Some(lowering.enter(function, |lowering| FunctionBody::Block(lowering.block())));
            }
        });
        match (id, function) {
            (Some(id), _) => id,
            (None, function) => {
                let function = function.unwrap_or_else(|| self.new_function(span));
                self.enter(function, |_| FunctionBody::Block(Box::default()))
            }
        }
    }

    pub(super) fn lambda(&mut self, span: Span) -> FnId {
        let mut function = Some(self.new_function(span));
        let mut id = None;
        self.each(|lowering, kind, node| {
            if kind == Kind::LambdaParameters {
                let params = lowering.params();
                if let Some(function) = &mut function {
                    function.params = params;
                }
            } else if kind.is_expr()
                && let Some(function) = function.take()
            {
                id = Some(lowering.enter(function, |l| FunctionBody::Expr(l.expr(kind, node))));
            }
        });
        match (id, function) {
            (Some(id), _) => id,
            (None, function) => {
                let function = function.unwrap_or_else(|| self.new_function(span));
                self.enter(function, |l| FunctionBody::Expr(l.or_missing(None, span)))
            }
        }
    }

    fn new_function(&mut self, span: Span) -> Function {
        Function {
            name: ustr("<lambda>"),
            name_span: Span::new(span.start, span.start),
            params: Box::default(),
            body: FunctionBody::Block(Box::default()),
            decorators: Box::default(),
            returns: None,
            is_async: false,
            is_generator: false,
            class: self.class,
            parent: self.function,
            span,
        }
    }

    /// Stores `function` and lowers its body as the innermost one.
    fn enter(&mut self, function: Function, body: impl FnOnce(&mut Self) -> FunctionBody) -> FnId {
        let id = FnId(self.tree.functions.len() as u32);
        self.tree.functions.push(function);
        let outer = (self.function.replace(id), self.class.take());
        let body = body(self);
        (self.function, self.class) = outer;
        self.tree.functions[id.0 as usize].body = body;
        id
    }

    fn params(&mut self) -> Box<[Param]> {
        let mut params: Vec<Param> = Vec::with_capacity(4);
        let mut rest = ParamKind::Plain;
        self.each(|lowering, kind, node| match kind {
            Kind::KeywordSeparator => rest = ParamKind::KeywordOnly,
            Kind::PositionalSeparator => {
                for param in &mut params {
                    param.kind = ParamKind::PositionalOnly;
                }
            }
            _ => {
                if let Some(param) = lowering.param(kind, node, rest) {
                    if param.kind == ParamKind::Star {
                        rest = ParamKind::KeywordOnly;
                    }
                    params.push(param);
                }
            }
        });
        params.into_boxed_slice()
    }

    fn param(&mut self, kind: Kind, node: Node<'t>, rest: ParamKind) -> Option<Param> {
        let span = span_of(node);
        let mut param = Param { name: ustr("_"), kind: rest, annotation: None, default: None, span };
        let mut named = self.param_name(kind, node, &mut param);
        if matches!(kind, Kind::TypedParameter | Kind::DefaultParameter | Kind::TypedDefaultParameter) {
            self.each(|lowering, kind, node| {
                if !named {
                    named = lowering.param_name(kind, node, &mut param);
                } else if kind == Kind::Type {
                    param.annotation = Some(lowering.expr(kind, node));
                } else if kind.is_expr() {
                    param.default = Some(lowering.expr(kind, node));
                }
            });
        }
        named.then_some(param)
    }

    fn param_name(&mut self, kind: Kind, node: Node<'t>, param: &mut Param) -> bool {
        let name = match kind {
            Kind::Identifier => Some(span_of(node)),
            Kind::ListSplatPattern | Kind::DictionarySplatPattern => {
                let star = kind == Kind::ListSplatPattern;
                param.kind = if star { ParamKind::Star } else { ParamKind::DoubleStar };
                let mut name = None;
                self.each(|_, kind, node| {
                    if kind == Kind::Identifier {
                        name = Some(span_of(node));
                    }
                });
                name
            }
            // Python 2 unpacked in the signature; the parts are not modelled.
            Kind::TuplePattern => {
                self.scan();
                return true;
            }
            _ => None,
        };
        if let Some(name) = name {
            param.name = self.name(name);
        }
        name.is_some()
    }

    fn class(&mut self, span: Span, decorators: Exprs) -> ClassId {
        let id = ClassId(self.tree.classes.len() as u32);
        self.tree.classes.push(Class {
            name: ustr("_"),
            name_span: Span::new(span.start, span.start),
            bases: Box::default(),
            body: Box::default(),
            decorators,
            parent: self.function,
            span,
        });
        let at = id.0 as usize;
        self.each(|lowering, kind, node| match kind {
            Kind::Identifier => {
                let name_span = span_of(node);
                let name = lowering.name(name_span);
                let class = &mut lowering.tree.classes[at];
                (class.name, class.name_span) = (name, name_span);
            }
            Kind::Arguments => {
                let bases = lowering.arguments();
                lowering.tree.classes[at].bases = bases;
            }
            Kind::Colon => lowering.header(span, node),
            Kind::Block => {
                let outer = lowering.class.replace(id);
                let body = lowering.block();
                lowering.class = outer;
                lowering.tree.classes[at].body = body;
            }
            _ => {}
        });
        id
    }
}
