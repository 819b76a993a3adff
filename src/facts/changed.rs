//! Calls of frameworks that mean something else in some of the releases that a project may run with.

use super::Script;
use super::apis::Asked;
use crate::apis::changed::{self, Row};
use crate::apis::index::{self, Known};
use crate::names::Mention;
use crate::syntax::{Arg, ArgKind, BinaryOp, ExprId, ExprKind, StmtKind};
use crate::trace::At;
use std::rc::Rc;
use ustr::Ustr;

/// A call that depends on a release.
pub struct Changed {
    pub at: At,
    pub row: &'static Row,
    pub package: &'static str,
    /// The name that the table has.
    pub name: String,
    /// Where the project says which releases, if it does.
    pub pin: Option<String>,
    /// All of them are on the side of the new meaning.
    pub is_over: bool,
    /// What is done with the result does not work with the new meaning.
    pub breaks: Option<At>,
}

impl Script<'_> {
    /// Calls in this file that mean something else in some of the releases that the project requires.
    pub fn changed_calls(&self) -> &[Changed] {
        &self.names_found().changed
    }

    pub(super) fn changed_call(&self, mention: &Mention, known: Option<&Known>) -> Option<Changed> {
        let names = std::iter::once(&*mention.path).chain(known.map(|known| &*known.path));
        let mut rows = names.flat_map(|name| changed::of(name).map(move |row| (name, row))).peekable();
        rows.peek()?;
        let call = self.project.module(self.file).tree.call_of(mention.expr?)?;
        rows.find_map(|(name, row)| self.changed_by(name, row, call))
    }

    /// The same of a method that the rehearsal called.
    pub fn changed_method(&self, method: &str, at: &At) -> Option<Changed> {
        if at.place.file != self.file {
            return None;
        }
        let name = self.own_name(method);
        let call = self.project.module(self.file).expr_at(at.place.span)?;
        changed::of(&name).find_map(|row| self.changed_by(&name, row, call))
    }

    pub(super) fn changed_by(&self, name: &str, row: &'static Row, call: ExprId) -> Option<Changed> {
        let tree = &self.project.module(self.file).tree;
        let args = self.arguments(call)?;
        let (package, index) = index::of(name)?;
        let since = index.releases.from(&row.since)?;
        let is_unpacked = row.unpacked.is_none_or(|count| self.unpacked_into(call) == Some(count));
        if !is_unpacked || !self.leaves_it_open(row, args) || self.is_same_for(row, call) {
            return None;
        }
        let breaks = self.broken_use(row, call);
        let (span, pin) = match &*self.asked(package, index) {
            Asked::Pinned { span, pin, .. } => (*span, Some(pin.clone())),
            // Without a requirement only what ends the run of a new installation counts.
            _ if (breaks.is_some() || row.raises.is_some()) && self.is_newest_gone(package, index, since) => {
                (self.bounds(package, index.releases.all(), |other| other.starts_with(name)).0, None)
            }
            _ => return None,
        };
        let is_over = span.first >= since;
        let is_error = breaks.is_some() || row.raises.is_some();
        (span.last >= since && (!is_over || is_error)).then(|| Changed {
            at: self.at(tree.expr(call).span),
            row,
            package,
            name: name.to_owned(),
            pin,
            is_over,
            breaks,
        })
    }

    /// Whether what the call gives is handed to what takes it for the same in both meanings.
    fn is_same_for(&self, row: &Row, call: ExprId) -> bool {
        let tree = &self.project.module(self.file).tree;
        tree.exprs.iter().any(|expr| {
            let ExprKind::Call { callee, args } = &expr.kind else { return false };
            let ExprKind::Attribute { name, .. } = &tree.expr(*callee).kind else { return false };
            row.same_for.iter().any(|method| name == method) && args.iter().any(|arg| arg.value == call)
        })
    }

    /// Into how many names a statement unpacks what a call gives.
    fn unpacked_into(&self, call: ExprId) -> Option<usize> {
        let tree = &self.project.module(self.file).tree;
        tree.stmts.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { targets, value } if *value == call => match &tree.expr(*targets.first()?).kind
            {
                ExprKind::Tuple(items) | ExprKind::List(items) => {
                    let is_plain = |item: &ExprId| !matches!(tree.expr(*item).kind, ExprKind::Starred(_));
                    items.iter().all(is_plain).then_some(items.len())
                }
                _ => None,
            },
            _ => None,
        })
    }

    fn arguments(&self, call: ExprId) -> Option<&[Arg]> {
        match self.kind(call) {
            ExprKind::Call { args, .. } => Some(args),
            _ => None,
        }
    }

    /// Whether the arguments of a call do not say which meaning is meant, and it makes a difference.
    fn leaves_it_open(&self, row: &Row, args: &[Arg]) -> bool {
        if args.iter().any(|arg| matches!(arg.kind, ArgKind::Star | ArgKind::DoubleStar)) {
            return false;
        }
        let positional = args.iter().filter(|arg| arg.kind == ArgKind::Positional).count();
        let value = |name: &str| {
            let keyword = args.iter().find(|arg| arg.kind == ArgKind::Keyword(Ustr::from(name)));
            let at = row.params.iter().position(|param| param == name).filter(|at| *at < positional);
            keyword.or(at.map(|at| &args[at])).map(|arg| arg.value)
        };
        let has = |name: &Option<String>, is_it: &dyn Fn(ExprId) -> bool| {
            name.as_ref().is_none_or(|name| value(name).is_some_and(is_it))
        };
        let is_given = |given: &String| {
            let Some((name, wanted)) = given.split_once('=') else { return value(given).is_some() };
            value(name).is_some_and(|value| wanted.split('|').any(|one| self.written(value) == one))
        };
        let ends = row.ends.as_ref();
        row.without.iter().all(|name| value(name).is_none())
            && row.given.iter().all(is_given)
            && row.positional.is_none_or(|most| positional > most)
            && has(&row.fraction, &|value| self.has_fraction(value))
            && has(&row.whole, &|value| matches!(self.kind(value), ExprKind::Int(_)))
            && ends.is_none_or(|ends| {
                value(&ends.argument).is_some_and(|value| self.ends_otherwise(value, &ends.with))
            })
    }

    fn kind(&self, value: ExprId) -> &ExprKind {
        &self.project.module(self.file).tree.expr(value).kind
    }

    fn written(&self, value: ExprId) -> &str {
        let module = self.project.module(self.file);
        &module.source.text[module.tree.expr(value).span.range()]
    }

    fn ends_otherwise(&self, value: ExprId, with: &[String]) -> bool {
        let Some((tail, is_whole)) = self.tail_of(value) else { return false };
        let may_end = |end: &String| tail.ends_with(end.as_str()) || !is_whole && end.ends_with(&*tail);
        !with.iter().any(may_end)
    }

    /// The end of a text as it is written, and whether that is all of it: of `f"{name}.h5"`, of `name + ".h5"`, of
    /// `os.path.join(folder, "model.h5")`.
    fn tail_of(&self, value: ExprId) -> Option<(Rc<str>, bool)> {
        match self.kind(value) {
            ExprKind::Str(text) => Some((Rc::from(&**text), true)),
            ExprKind::FString(_) => {
                let written = self.written(value).trim_end_matches(['"', '\'']);
                Some((Rc::from(&written[written.rfind('}')? + 1..]), false))
            }
            ExprKind::Binary { op: BinaryOp::Add, right, .. } => {
                self.tail_of(*right).map(|(tail, _)| (tail, false))
            }
            ExprKind::Call { callee, args } => {
                let ExprKind::Attribute { name, .. } = self.kind(*callee) else { return None };
                let last = args.last().filter(|_| *name == "join")?;
                self.tail_of(last.value).map(|(tail, _)| (tail, false))
            }
            _ => None,
        }
    }

    fn has_fraction(&self, value: ExprId) -> bool {
        match self.kind(value) {
            ExprKind::Float(number) => number.fract() != 0.0 && (1.0 / number).fract() != 0.0,
            ExprKind::Tuple(items) | ExprKind::List(items) => {
                items.iter().any(|item| self.has_fraction(*item))
            }
            _ => false,
        }
    }

    /// A method that is called on what the call gives, and that what it gives from then on does not have; or that it is
    /// called itself.
    fn broken_use(&self, row: &Row, call: ExprId) -> Option<At> {
        let module = self.project.module(self.file);
        let breaks = row.breaks.as_ref()?;
        let relations = module.relations();
        let found = relations.acts().iter().filter(|act| {
            let ExprKind::Call { callee, .. } = &module.tree.expr(act.call).kind else { return false };
            let used = match &module.tree.expr(*callee).kind {
                ExprKind::Attribute { base, name, .. } if breaks.methods.iter().any(|one| name == one) => {
                    base
                }
                ExprKind::Name(_) => callee,
                _ => return false,
            };
            // What a function does with a name before it is bound is about another value.
            let is_before = relations.act(call).is_some_and(|own| own.function == act.function)
                && module.tree.expr(act.call).span.start < module.tree.expr(call).span.start;
            if is_before {
                return false;
            }
            // Of several values nobody knows which one it is.
            let origins = module.origins(*used, act.function);
            let mut calls = origins.iter().map(|origin| origin.call);
            calls.next() == Some(call) && calls.next().is_none()
        });
        let first = found.min_by_key(|act| module.tree.expr(act.call).span.start)?;
        Some(self.at(module.tree.expr(first.call).span))
    }
}
