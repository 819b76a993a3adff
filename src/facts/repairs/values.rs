//! One expression changed where it stands: something behind it, around it, or beside it in a call.

use crate::apis::index::{self, Answer};
use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::report::{Edit, Place, Span};
use crate::syntax::{ExprId, ExprKind, StmtKind};

use ustr::Ustr;

impl<'a> Script<'a> {
    /// A call with `name=value` among its arguments, in place of another value or behind all others.
    pub fn with_argument(&self, place: Place, name: &str, value: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let call = draft.call_at(place.span)?;
        let edit = match draft.keyword(call, name) {
            Some(given) => draft.replace(draft.expr(given.value).span, value),
            None => draft.add_argument(call, &format!("{name}={value}"))?,
        };
        Some(vec![edit])
    }

    /// A call with another value for an argument that is passed by this name, where a certain one stands there.
    pub fn replaced_argument(&self, place: Place, name: &str, value: &str, other: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let given = draft.keyword(draft.call_at(place.span)?, name)?.value;
        (draft.written(given) == value).then(|| vec![draft.replace(draft.expr(given).span, other)])
    }

    /// A number that stands there itself, or the length of something, as another number.
    pub fn another_number(&self, place: Place, number: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let expr = draft.expr_at(place.span)?;
        let is_plain = match &draft.expr(expr).kind {
            ExprKind::Int(_) => true,
            ExprKind::Call { callee, .. } => draft.written(*callee) == "len",
            _ => false,
        };
        is_plain.then(|| vec![draft.replace(place.span, number)])
    }

    /// A name as another one, where it is written alone.
    pub fn renamed(&self, place: Place, name: &str, other: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let is_it = draft.text(place.span).strip_prefix(name)?;
        let ends = !is_it.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let end = place.span.start + name.len() as u32;
        ends.then(|| vec![draft.replace(Span::new(place.span.start, end), other)])
    }

    /// A number with something added to it.
    pub fn with_summand(&self, place: Place, summand: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        draft.expr_at(place.span)?;
        Some(match draft.stands_apart(place.span) {
            true => vec![draft.insert(place.span.end, format!(" + {summand}"))],
            false => draft.wrap(place.span, "(", &format!(" + {summand})")),
        })
    }

    /// A call in a method with an attribute of `self` under its own name: `training=self.training`.
    pub fn with_own_argument(&self, place: Place, name: &str) -> Option<Vec<Edit>> {
        let receiver = self.draft(place.file).receiver_of_method(place.span)?;
        self.with_argument(place, name, &format!("{receiver}.{name}"))
    }

    /// A call without an argument that is passed by this name.
    pub fn without_argument(&self, place: Place, name: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let call = draft.call_at(place.span)?;
        Some(vec![draft.remove_argument(call, draft.keyword(call, name)?)?])
    }

    /// Whether a function of a framework is known to take a parameter.
    pub fn takes(&self, function: &str, parameter: &str) -> bool {
        match index::ask(function) {
            Answer::Known(known) => {
                known.keywords.is_some_and(|all| all.listed.iter().any(|(name, _)| *name == parameter))
            }
            _ => false,
        }
    }

    /// A method called on something else than before: `loss.mean().backward()`.
    pub fn behind_receiver(&self, place: Place, suffix: &str) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let (receiver, _) = draft.receiver(draft.call_at(place.span)?)?;
        draft.append(draft.expr(receiver).span, suffix)
    }

    /// An expression with something behind it.
    pub fn behind(&self, place: Place, suffix: &str) -> Option<Vec<Edit>> {
        self.draft(place.file).append(place.span, suffix)
    }

    /// What a call gets in some place, or by a name, with something behind it.
    pub fn behind_argument(
        &self,
        place: Place,
        at: usize,
        names: &[&str],
        suffix: &str,
    ) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let call = draft.call_at(place.span)?;
        let named = names.iter().find_map(|name| draft.keyword(call, name));
        let argument = named.or_else(|| draft.positional(call, at))?;
        draft.append(draft.expr(argument.value).span, suffix)
    }

    /// A method that is only named is called.
    pub fn called(&self, place: Place) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let named = draft.expr(draft.expr_at(place.span)?);
        matches!(named.kind, ExprKind::Attribute { .. }).then(|| vec![draft.insert(place.span.end, "()")])
    }

    /// `x.to(device)` as a statement becomes `x = x.to(device)`, where that binds the same `x`.
    pub fn assigned_back(&self, place: Place) -> Option<Vec<Edit>> {
        let draft = self.draft(place.file);
        let line = draft.line_at(place.span).filter(|line| line.code == place.span)?;
        let (receiver, _) = draft.receiver(draft.call_at(place.span)?)?;
        // `x.at[i].set(v)` is a whole array.
        let receiver = self.project.module(place.file).tree.updated_at(receiver).unwrap_or(receiver);
        let receiver = match &draft.expr(receiver).kind {
            ExprKind::Name(name) => draft.is_own(place.span, *name).then_some(receiver)?,
            _ => receiver,
        };
        Some(vec![draft.insert(line.code.start, format!("{} = ", draft.plain(receiver)?))])
    }
}

impl<'a> Draft<'a> {
    /// What the statement of a place assigns to one target.
    pub(crate) fn assigned_value(&self, span: Span) -> Option<ExprId> {
        match &self.statement(self.statement_at(span)?).kind {
            StmtKind::Assign { targets, value } if targets.len() == 1 => Some(*value),
            StmtKind::AnnAssign { value, .. } => *value,
            _ => None,
        }
    }

    /// Whether an assignment at a place binds the name that is read there, too.
    fn is_own(&self, span: Span, name: Ustr) -> bool {
        let here = self.function_around(span);
        self.owner(here, name) == here
    }
}
