//! Errors that a script expects.

use crate::interp::Interp;
use crate::report::Place;
use crate::syntax::{ExprKind, Handler, StmtId, StmtKind, Tree, WithItem};

/// Contexts that an error ends without harm: those of tests, and of `contextlib`.
const EXPECTING: [&str; 4] = ["assertRaises", "assertRaisesRegex", "raises", "suppress"];

/// Whether a `try` or a context goes on with something else where an error is raised at a place.
pub(super) fn is_tried(cx: &Interp<'_>, place: Place, error: &str) -> bool {
    let tree = cx.tree(place.file);
    let within = |block: &[StmtId]| block.iter().any(|stmt| tree.stmt(*stmt).span.contains(place.span));
    let goes_on = |handler: &Handler| {
        let name = handler.exception.map(|exception| &tree.expr(exception).kind);
        match name {
            None => !raises(tree, &handler.body),
            Some(ExprKind::Name(name)) if matches!(name.as_str(), "BaseException" | "Exception") => {
                !raises(tree, &handler.body)
            }
            Some(ExprKind::Name(name)) => *name == error,
            // Of several one may be it.
            Some(_) => true,
        }
    };
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Try { body, handlers, .. } => within(body) && handlers.iter().any(goes_on),
        StmtKind::With { items, body, .. } => within(body) && items.iter().any(|item| expects(tree, item)),
        _ => false,
    })
}

fn expects(tree: &Tree, item: &WithItem) -> bool {
    let ExprKind::Call { callee, .. } = tree.expr(item.context).kind else { return false };
    match tree.expr(callee).kind {
        ExprKind::Name(name) | ExprKind::Attribute { name, .. } => EXPECTING.contains(&name.as_str()),
        _ => false,
    }
}

fn raises(tree: &Tree, block: &[StmtId]) -> bool {
    block.iter().map(|stmt| tree.stmt(*stmt)).any(|stmt| {
        matches!(stmt.kind, StmtKind::Raise(_))
            || stmt.kind.blocks().into_iter().any(|inner| raises(tree, inner))
    })
}
