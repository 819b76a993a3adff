//! Calls and their arguments.

use super::Draft;
use crate::report::{Edit, Span};
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind};

/// A call as it is written.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub callee: ExprId,
    pub args: &'a [Arg],
    pub span: Span,
}

impl<'a> Draft<'a> {
    /// The call that covers exactly this span.
    pub fn call_at(&self, span: Span) -> Option<Call<'a>> {
        self.call(self.expr_at(span)?)
    }

    pub fn call(&self, expr: ExprId) -> Option<Call<'a>> {
        match &self.expr(expr).kind {
            ExprKind::Call { callee, args } => {
                Some(Call { callee: *callee, args, span: self.expr(expr).span })
            }
            _ => None,
        }
    }

    /// The call that gets exactly this as an argument.
    pub fn call_with(&self, argument: Span) -> Option<(Call<'a>, &'a Arg)> {
        let exprs = self.module.tree.exprs.iter();
        exprs.enumerate().find_map(|(at, _)| {
            let call = self.call(ExprId(at as u32))?;
            Some((call, call.args.iter().find(|arg| arg.span == argument)?))
        })
    }

    /// Whose method is called, and its name.
    pub fn receiver(&self, call: Call<'a>) -> Option<(ExprId, &'a str)> {
        match &self.expr(call.callee).kind {
            ExprKind::Attribute { base, name, .. } => Some((*base, name.as_str())),
            _ => None,
        }
    }

    pub fn keyword(&self, call: Call<'a>, name: &str) -> Option<&'a Arg> {
        call.args.iter().find(|arg| matches!(arg.kind, ArgKind::Keyword(other) if other == name))
    }

    /// The argument in so manyth place, when no other way to pass it is used.
    pub fn positional(&self, call: Call<'a>, at: usize) -> Option<&'a Arg> {
        let plain = call.args.iter().take(at + 1).all(|arg| arg.kind == ArgKind::Positional);
        call.args.get(at).filter(|_| plain)
    }

    /// Adds `name=value` behind the other arguments, on a line of its own where these have theirs.
    pub fn add_argument(&self, call: Call<'a>, argument: &str) -> Option<Edit> {
        if call.args.iter().any(|arg| arg.kind == ArgKind::DoubleStar) {
            return None;
        }
        let Some(last) = call.args.last() else {
            let open = self.expr(call.callee).span.end;
            let inside = self.text(Span::new(open, call.span.end)).strip_prefix('(')?.strip_suffix(')')?;
            return inside.trim().is_empty().then(|| self.insert(open + 1, argument));
        };
        // The generator of `sum(x for x in y)` can't be followed by anything.
        if self.text(call.span).len() as u32 + call.span.start <= last.span.end {
            return None;
        }
        let before = &self.module.source.text[..last.span.start as usize];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let own_line = line.trim().is_empty() && call.span.start < (before.len() - line.len()) as u32;
        let gap = if own_line { format!(",\n{line}") } else { ", ".to_owned() };
        Some(self.insert(last.span.end, format!("{gap}{argument}")))
    }

    /// Removes an argument with the comma beside it.
    pub fn remove_argument(&self, call: Call<'a>, argument: &Arg) -> Option<Edit> {
        let at = call.args.iter().position(|arg| arg.span == argument.span)?;
        let span = match (at.checked_sub(1).map(|before| &call.args[before]), call.args.get(at + 1)) {
            (Some(before), _) => Span::new(before.span.end, argument.span.end),
            (None, Some(next)) => Span::new(argument.span.start, next.span.start),
            (None, None) => {
                let open = self.expr(call.callee).span.end + 1;
                let inside = Span::new(open, call.span.end - 1);
                let has_comment = self.text(inside).contains('#');
                return (!has_comment).then(|| self.replace(inside, ""));
            }
        };
        (!self.text(span).contains('#')).then(|| self.replace(span, ""))
    }
}
