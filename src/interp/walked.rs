//! What a backward pass says of the value that it starts from: a tensor that has a graph, whoever made it. Knows no
//! framework.

use super::Interp;
use crate::syntax::{Arg, ArgKind, ExprId, ExprKind, Tree};
use crate::values::{Graph, Tensor, Value};
use ustr::Ustr;

/// `loss.backward()`, `scaler.scale(loss).backward()`, `engine.backward(loss)`, where nobody knows who made the loss:
/// from here on it is known to hold a graph.
pub(super) fn shows_graph(interp: &mut Interp, call: ExprId, receiver: &Value, method: Ustr) {
    if !interp.walks_back(method) {
        return;
    }
    let Some(loss) = start(interp, call, receiver) else { return };
    let Value::Tensor(tensor) = interp.eval(loss) else { return };
    if matches!(tensor.graph, Graph::Unknown) && !tensor.is_array {
        let graph = Graph::of_others(interp.epoch);
        interp.assign(loss, Value::tensor(Tensor { graph, ..(*tensor).clone() }));
    }
}

/// The variable or attribute that a backward pass starts from: its receiver, what the call that gave the receiver
/// got, or what an engine is told.
fn start(interp: &Interp, call: ExprId, receiver: &Value) -> Option<ExprId> {
    let tree = interp.tree(interp.file());
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else { return None };
    let ExprKind::Attribute { base, .. } = tree.expr(*callee).kind else { return None };
    // What is told to retain the graph is walked again.
    if args.iter().any(|arg| matches!(arg.kind, ArgKind::Keyword(_))) {
        return None;
    }
    let first = |args: &[Arg]| args.iter().find(|arg| arg.kind == ArgKind::Positional).map(|arg| arg.value);
    let from = match &tree.expr(base).kind {
        ExprKind::Call { args, .. } => first(args)?,
        _ if receiver.as_tensor().is_some() => base,
        _ => first(args)?,
    };
    is_named(tree, from).then_some(from)
}

fn is_named(tree: &Tree, expr: ExprId) -> bool {
    match tree.expr(expr).kind {
        ExprKind::Name(_) => true,
        ExprKind::Attribute { base, .. } => matches!(tree.expr(base).kind, ExprKind::Name(_)),
        _ => false,
    }
}
