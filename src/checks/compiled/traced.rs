//! Functions that their own decorator has recorded as a graph.

use crate::apis::Context;
use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::syntax::{ExprId, ExprKind, FnId};
use ustr::Ustr;

/// Whether a function is one: other decorators may run it once, or later.
pub(super) fn is_traced(script: &Script, draft: Draft<'_>, function: FnId) -> bool {
    let records = |expr: ExprId| {
        let api = draft.qualified(expr).and_then(|name| script.apis.get(Ustr::from(&name)));
        api.is_some_and(|api| matches!(api.context, Some(Context::Traced)))
    };
    draft.function(function).decorators.iter().any(|decorator| match &draft.expr(*decorator).kind {
        // `@tf.function(...)`, `@partial(jax.jit, ...)`
        ExprKind::Call { callee, args } => {
            records(*callee) || args.first().is_some_and(|first| records(first.value))
        }
        _ => records(*decorator),
    })
}
