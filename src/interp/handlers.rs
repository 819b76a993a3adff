//! Handlers of exceptions: those that hear of a failure of work on a device and go on as if nothing had been.

use super::{Interp, python};
use crate::report::{Confidence, Place};
use crate::syntax::*;
use crate::trace::{Effect, Node, Sight, When};
use crate::values::*;

/// Methods of loggers, and of streams: they only tell.
const TELLING: [&str; 10] =
    ["critical", "debug", "error", "exception", "info", "log", "print", "warn", "warning", "write"];

impl<'p> Interp<'p> {
    /// Looks at the branch that a `try` has just left in the trace, and at its handlers.
    pub(super) fn note_swallowed(&mut self, handlers: &'p [Handler], seen: usize, before: usize) {
        let Some(open) = self.trace.last() else { return };
        let main = match open.get(before..).unwrap_or_default() {
            [Node::Branch { when: When::Exception, arms }, ..] => arms.first().map(Vec::as_slice),
            _ => None,
        };
        let step = main.and_then(first_step);
        let work = step.or_else(|| self.work_since(seen));
        let Some(work) = work else { return };
        for handler in handlers {
            if self.catches_failures(handler.exception) && self.only_tells(&handler.body) {
                let place = self.place(handler.span);
                let sight = Sight::Swallowed { work, trains: step.is_some() };
                self.see(place, sight, Confidence::High);
                // An exception goes to the first that takes it.
                return;
            }
        }
    }

    /// The first work on a device that was seen from here on.
    fn work_since(&self, seen: usize) -> Option<Place> {
        self.out.observations.get(seen..)?.iter().find_map(|seen| match seen.get()? {
            Sight::Resident { .. } | Sight::Forward(_) | Sight::Fit { .. } => Some(seen.at.place),
            _ => None,
        })
    }

    fn catches_failures(&mut self, exception: Option<ExprId>) -> bool {
        let Some(exception) = exception else { return true };
        match self.eval(exception) {
            Value::Builtin(name) | Value::Api(name) => self.apis.is_failure(name),
            Value::Tuple(items) => items.iter().any(|item| match item {
                Value::Builtin(name) | Value::Api(name) => self.apis.is_failure(*name),
                _ => false,
            }),
            _ => false,
        }
    }

    /// Whether statements do nothing but tell what happened.
    fn only_tells(&mut self, body: &'p [StmtId]) -> bool {
        let tree = self.tree(self.file());
        body.iter().all(|stmt| match &tree.stmt(*stmt).kind {
            StmtKind::Pass | StmtKind::Continue => true,
            StmtKind::Expr(expr) => match &tree.expr(*expr).kind {
                ExprKind::Call { callee, .. } => self.tells(*callee),
                // A docstring, or `...`.
                ExprKind::Str(_) | ExprKind::Ellipsis => true,
                _ => false,
            },
            _ => false,
        })
    }

    fn tells(&mut self, callee: ExprId) -> bool {
        let tree = self.tree(self.file());
        let value = self.eval(callee);
        match (&tree.expr(callee).kind, value) {
            (_, Value::Builtin(name)) if name == "print" || name.starts_with("traceback.print") => true,
            (_, Value::Api(name)) if name.starts_with("traceback.print") => true,
            (ExprKind::Attribute { name, .. }, value) => {
                let own = matches!(value, Value::Function(_))
                    || matches!(&value, Value::Bound(bound) if matches!(bound.method, Method::Closure(_)));
                TELLING.contains(&name.as_str()) && !own
            }
            (ExprKind::Name(_), Value::Builtin(name)) => python::is_known_name(name) && name == "pprint",
            _ => false,
        }
    }
}

/// The first step of training in a trace.
fn first_step(nodes: &[Node]) -> Option<Place> {
    nodes.iter().find_map(|node| match node {
        Node::Event(event) => match event.effect {
            Effect::Backward { .. } | Effect::Step { .. } | Effect::Fitted { one_step: true, .. } => {
                Some(event.place)
            }
            _ => None,
        },
        Node::Loop { body, .. } | Node::Call { body, .. } => first_step(body),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| first_step(arm)),
        Node::Exit(_) => None,
    })
}
