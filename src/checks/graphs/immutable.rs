//! Updates of what JAX never changes in place: arrays by `x.at[i].set(v)`, states and parameters by what gives new ones.

use super::dropped::{DroppedResult, Kind};
use crate::interp::{Checker, ExpressionStatement, Interp};
use crate::report::Confidence;
use crate::syntax::*;
use crate::values::Value;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker { on_expression_statement: Some(evaluated), ..Checker::SILENT };

/// The methods of `x.at[i]`, each of which gives a new array.
const UPDATES: [&str; 10] =
    ["add", "apply", "divide", "max", "min", "mul", "multiply", "power", "set", "subtract"];

/// The function that gives new parameters.
const APPLY: (&str, &str) = ("optax.apply_updates", "apply_updates");

fn evaluated(cx: &mut Interp<'_>, statement: &ExpressionStatement<'_>) {
    let tree = cx.tree(cx.file());
    let ExprKind::Call { callee, ref args } = tree.expr(statement.expr).kind else { return };
    let (base, method, function) = match tree.expr(callee).kind {
        ExprKind::Attribute { base, name, .. } => match updated(cx, base, name, args) {
            Some(of) => (of, name, None),
            None => {
                let Some(first) = args.first().filter(|_| is_applying(cx, callee, name)) else { return };
                (first.value, name, Some(cx.written(callee)))
            }
        },
        _ => return,
    };
    let place = cx.expr_place(statement.expr);
    let receiver = cx.written(base);
    cx.observe(place, DroppedResult { method, function, receiver, kind: Kind::Immutable }, Confidence::High);
}

/// What would be updated, `x` of `x.at[i].set(v)` and `state` of `state.apply_gradients(grads=grads)`.
fn updated(cx: &Interp<'_>, base: ExprId, method: Ustr, args: &[Arg]) -> Option<ExprId> {
    let tree = cx.tree(cx.file());
    let gives_grads = |arg: &Arg| arg.kind == ArgKind::Keyword(Ustr::from("grads"));
    if method == "apply_gradients" && args.iter().any(gives_grads) {
        return Some(base);
    }
    let of = tree.updated_at(base).filter(|_| UPDATES.contains(&method.as_str()))?;
    // A cell of a table, `frame.at[row, column]`, may be a set.
    let text = &cx.module(cx.file()).source.text;
    let is_jax = ["import jax", "from jax"].iter().any(|import| text.contains(import));
    is_jax.then_some(of)
}

/// Nothing but the function itself is evaluated once more: to read `param.grad` is an event.
fn is_applying(cx: &mut Interp<'_>, callee: ExprId, name: Ustr) -> bool {
    name == APPLY.1 && matches!(cx.eval(callee), Value::Api(api) if api == APPLY.0)
}
