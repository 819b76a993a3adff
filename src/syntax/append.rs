//! The tree of a piece put behind what stands before it: its ids and places count on from there.

use super::ast::*;
use crate::report::Span;
use ustr::Ustr;

impl Tree {
    /// Adds everything of a piece that begins at a byte of the text, but for its body, which is given back.
    pub(super) fn append(&mut self, piece: &Tree, start: u32) -> Block {
        let by = Shift {
            bytes: start,
            exprs: self.exprs.len() as u32,
            stmts: self.stmts.len() as u32,
            functions: self.functions.len() as u32,
            classes: self.classes.len() as u32,
        };
        let Tree { exprs, stmts, functions, classes, body, comments, errors, lines } = piece;
        extend(&mut self.exprs, exprs, &by);
        extend(&mut self.stmts, stmts, &by);
        extend(&mut self.functions, functions, &by);
        extend(&mut self.classes, classes, &by);
        extend(&mut self.comments, comments, &by);
        extend(&mut self.errors, errors, &by);
        extend(&mut self.lines, lines, &by);
        shifted(body, &by)
    }
}

fn extend<T: Shifts + Clone>(all: &mut Vec<T>, new: &[T], by: &Shift) {
    all.extend(new.iter().map(|one| shifted(one, by)));
}

fn shifted<T: Shifts + Clone>(one: &T, by: &Shift) -> T {
    let mut one = one.clone();
    one.shift(by);
    one
}

/// How much there is before.
struct Shift {
    bytes: u32,
    exprs: u32,
    stmts: u32,
    functions: u32,
    classes: u32,
}

trait Shifts {
    fn shift(&mut self, by: &Shift);
}

/// What says nothing of a place.
macro_rules! stays {
    ($($name:ty),*) => { $(impl Shifts for $name {
        fn shift(&mut self, _by: &Shift) {}
    })* };
}

/// Structs by all of their fields, so that a new one is not forgotten.
macro_rules! by_fields {
    ($($name:ident { $($field:ident),* })*) => { $(impl Shifts for $name {
        fn shift(&mut self, by: &Shift) {
            let $name { $($field),* } = self;
            $($field.shift(by);)*
        }
    })* };
}

macro_rules! ids {
    ($($name:ident: $count:ident),*) => { $(impl Shifts for $name {
        fn shift(&mut self, by: &Shift) {
            self.0 += by.$count;
        }
    })* };
}

stays!(Ustr, bool, ArgKind, BinaryOp, CompareOp, ComprehensionKind, ParamKind, UnaryOp);
ids!(ExprId: exprs, StmtId: stmts, FnId: functions, ClassId: classes);
by_fields! {
    Expr { kind, span }
    Stmt { kind, span }
    Arg { kind, value, span }
    Comprehension { kind, element, value, clauses }
    Clause { target, iter, conditions }
    ImportItem { name, alias, span }
    WithItem { context, target }
    Handler { exception, name, body, span }
    Case { binds, guard, irrefutable, body }
    Function {
        name, name_span, params, body, decorators, returns, is_async, is_generator, class, parent, span
    }
    Param { name, kind, annotation, default, span }
    Class { name, name_span, bases, body, decorators, parent, span }
}

impl Shifts for Span {
    fn shift(&mut self, by: &Shift) {
        self.start += by.bytes;
        self.end += by.bytes;
    }
}

impl<T: Shifts> Shifts for Option<T> {
    fn shift(&mut self, by: &Shift) {
        self.iter_mut().for_each(|one| one.shift(by));
    }
}

impl<T: Shifts> Shifts for [T] {
    fn shift(&mut self, by: &Shift) {
        self.iter_mut().for_each(|one| one.shift(by));
    }
}

impl<T: Shifts + ?Sized> Shifts for Box<T> {
    fn shift(&mut self, by: &Shift) {
        (**self).shift(by);
    }
}

impl<A: Shifts, B: Shifts> Shifts for (A, B) {
    fn shift(&mut self, by: &Shift) {
        self.0.shift(by);
        self.1.shift(by);
    }
}

impl Shifts for FunctionBody {
    fn shift(&mut self, by: &Shift) {
        match self {
            FunctionBody::Block(body) => body.shift(by),
            FunctionBody::Expr(value) => value.shift(by),
        }
    }
}

impl Shifts for ImportNames {
    fn shift(&mut self, by: &Shift) {
        match self {
            ImportNames::Star => {}
            ImportNames::Items(items) => items.shift(by),
        }
    }
}

impl Shifts for ExprKind {
    fn shift(&mut self, by: &Shift) {
        match self {
            ExprKind::Name(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Str(_)
            | ExprKind::Bytes
            | ExprKind::True
            | ExprKind::False
            | ExprKind::None
            | ExprKind::Ellipsis
            | ExprKind::Missing => {}
            ExprKind::Attribute { base, name: _, name_span } => both(base, name_span, by),
            ExprKind::Call { callee, args } => both(callee, args, by),
            ExprKind::Subscript { base, index } => both(base, index, by),
            ExprKind::Slice { lower, upper, step } => {
                [lower, upper, step].into_iter().for_each(|part| part.shift(by));
            }
            ExprKind::FString(items)
            | ExprKind::Tuple(items)
            | ExprKind::List(items)
            | ExprKind::Set(items)
            | ExprKind::Bool { and: _, items } => items.shift(by),
            ExprKind::Dict(items) => items.shift(by),
            ExprKind::Unary { op: _, operand } => operand.shift(by),
            ExprKind::Binary { op: _, left, right } => both(left, right, by),
            ExprKind::Compare { first, rest } => both(first, rest, by),
            ExprKind::Conditional { test, then, otherwise } => {
                [test, then, otherwise].into_iter().for_each(|part| part.shift(by));
            }
            ExprKind::Lambda(function) => function.shift(by),
            ExprKind::Comprehension(inner) => inner.shift(by),
            ExprKind::Await(inner) | ExprKind::YieldFrom(inner) | ExprKind::Starred(inner) => inner.shift(by),
            ExprKind::Yield(inner) => inner.shift(by),
            ExprKind::Walrus { name: _, name_span, value } => both(name_span, value, by),
        }
    }
}

impl Shifts for StmtKind {
    fn shift(&mut self, by: &Shift) {
        match self {
            StmtKind::Pass
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Global(_)
            | StmtKind::Nonlocal(_) => {}
            StmtKind::Expr(value) => value.shift(by),
            StmtKind::Assign { targets, value } => both(targets, value, by),
            StmtKind::AugAssign { target, op: _, value } => both(target, value, by),
            StmtKind::AnnAssign { target, annotation, value } => {
                both(target, annotation, by);
                value.shift(by);
            }
            StmtKind::Return(value) | StmtKind::Raise(value) => value.shift(by),
            StmtKind::Assert { test } => test.shift(by),
            StmtKind::Del(targets) => targets.shift(by),
            StmtKind::Import(items) => items.shift(by),
            StmtKind::ImportFrom { level: _, module: _, names } => names.shift(by),
            StmtKind::If { arms, otherwise } => both(arms, otherwise, by),
            StmtKind::While { test, body, otherwise } => {
                test.shift(by);
                both(body, otherwise, by);
            }
            StmtKind::For { target, iter, body, otherwise } => {
                both(target, iter, by);
                both(body, otherwise, by);
            }
            StmtKind::With { items, body } => both(items, body, by),
            StmtKind::Try { body, handlers, otherwise, finally } => {
                both(body, handlers, by);
                both(otherwise, finally, by);
            }
            StmtKind::Function(function) => function.shift(by),
            StmtKind::Class(class) => class.shift(by),
            StmtKind::Match { subject, cases } => both(subject, cases, by),
        }
    }
}

fn both<A: Shifts, B: Shifts>(one: &mut A, other: &mut B, by: &Shift) {
    one.shift(by);
    other.shift(by);
}
