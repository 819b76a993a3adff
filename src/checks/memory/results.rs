//! Buffers that a function fills with results and lets go when it returns.

use crate::apis::{Api, Role, Transfer};
use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::report::FileId;
use crate::syntax::{ExprId, ExprKind, FnId, StmtKind};
use crate::trace::{At, Sight};
use ustr::Ustr;

/// Whether a tensor is a buffer of the function that makes it: a loop fills it there, nothing goes back while it is
/// there, and nobody is given it.
pub(super) fn is_local_buffer(script: &Script, at: &At) -> bool {
    let draft = script.draft(at.place.file);
    let Some(function) = draft.function_around(at.place.span) else { return false };
    let Some(name) = bound_at(draft, at) else { return false };
    let buffer = Buffer { script, file: at.place.file, draft, function, name };
    buffer.is_filled() && !buffer.is_handed_out() && !trains_meanwhile(script, at)
}

/// The variable that a value is assigned to.
fn bound_at(draft: Draft<'_>, at: &At) -> Option<Ustr> {
    match &draft.statement(draft.statement_at(at.place.span)?).kind {
        StmtKind::Assign { targets, .. } => match **targets {
            [target] => variable(draft, target),
            _ => None,
        },
        _ => None,
    }
}

fn variable(draft: Draft<'_>, expr: ExprId) -> Option<Ustr> {
    if let ExprKind::Name(name) = draft.expr(expr).kind { Some(name) } else { None }
}

/// Whether a backward pass runs before the call returns in which something is made.
fn trains_meanwhile(script: &Script, at: &At) -> bool {
    let goes_back = |sight: &Sight| matches!(sight, Sight::Backward { .. });
    let within = |other: &At| other.seeded == at.seeded && other.calls.starts_with(&at.calls);
    script.passes().any(|(other, sight)| goes_back(sight) && within(other))
}

struct Buffer<'s, 'a> {
    script: &'s Script<'a>,
    file: FileId,
    draft: Draft<'a>,
    function: FnId,
    name: Ustr,
}

impl Buffer<'_, '_> {
    fn statements(&self) -> impl Iterator<Item = &StmtKind> {
        self.draft.statements_within(self.draft.function_span(self.function))
    }

    /// A loop of the function writes its entries.
    fn is_filled(&self) -> bool {
        let relations = self.script.project.module(self.file).relations();
        let writes = |target: &ExprId| {
            let entry = self.draft.expr(*target);
            let of_it = match entry.kind {
                ExprKind::Subscript { base, .. } => variable(self.draft, base) == Some(self.name),
                _ => false,
            };
            of_it && relations.innermost_loop(entry.span).is_some()
        };
        self.statements().any(|stmt| match stmt {
            StmtKind::Assign { targets, .. } => targets.iter().any(writes),
            _ => false,
        })
    }

    /// The function returns it, or keeps it in what is there longer.
    fn is_handed_out(&self) -> bool {
        self.statements().any(|stmt| match stmt {
            StmtKind::Return(Some(value)) | StmtKind::Expr(value) => match self.draft.expr(*value).kind {
                ExprKind::Yield(Some(value)) => self.holds(value),
                _ => matches!(stmt, StmtKind::Return(_)) && self.holds(*value),
            },
            StmtKind::Assign { targets, value } => {
                let is_kept = |target: &ExprId| match variable(self.draft, *target) {
                    Some(name) => name != self.name && self.is_it(*value),
                    None => self.holds(*value),
                };
                targets.iter().any(is_kept)
            }
            StmtKind::Global(names) | StmtKind::Nonlocal(names) => names.contains(&self.name),
            _ => false,
        })
    }

    /// The buffer or a part of it under another name.
    fn is_it(&self, value: ExprId) -> bool {
        match self.draft.expr(value).kind {
            ExprKind::Subscript { base, .. } => self.is_it(base),
            _ => variable(self.draft, value) == Some(self.name),
        }
    }

    /// Whether a value may be the buffer, a part of it, or something that has it.
    fn holds(&self, value: ExprId) -> bool {
        match &self.draft.expr(value).kind {
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().any(|item| self.holds(*item)),
            ExprKind::Dict(entries) => entries.iter().any(|(_, value)| self.holds(*value)),
            ExprKind::Conditional { then, otherwise, .. } => self.holds(*then) || self.holds(*otherwise),
            ExprKind::Subscript { base, .. } | ExprKind::Attribute { base, .. } => self.holds(*base),
            ExprKind::Call { callee, args } => {
                let is_reduced = match self.draft.expr(*callee).kind {
                    ExprKind::Attribute { base, name, .. } => !self.holds(base) || self.reduces(name),
                    _ => true,
                };
                !is_reduced || args.iter().any(|arg| self.holds(arg.value))
            }
            _ => variable(self.draft, value) == Some(self.name),
        }
    }

    fn reduces(&self, method: Ustr) -> bool {
        let api = self.script.apis.method_of(Role::Tensor, method);
        api.and_then(Api::transfer) == Some(Transfer::Reduce)
    }
}
