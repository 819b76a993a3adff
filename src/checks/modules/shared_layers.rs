//! A list that repeats one layer: its entries share their weights.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::is_parameter;
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use crate::trace::At;
use crate::values::{ClassRef, Learned, ObjId, State};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "shared-layers",
    summary: "`[layer] * n` repeats one layer: all entries share the same weights",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("shared-layers"),
    check,
};

/// A layer that is made in a list, and the list repeated.
struct Repeated {
    whole: Span,
    layer: ExprId,
    list: ExprId,
    count: ExprId,
}

fn check(script: &Script, out: &mut Findings) {
    for repeated in repeated_calls(script) {
        let Some((class, confidence)) = shared_layer(script, &repeated) else { continue };
        if is_made_apart_elsewhere(script, &repeated) {
            continue;
        }
        let at = At::of_text(Place::new(script.file, repeated.whole), confidence);
        let name = class.rsplit('.').next().unwrap_or_default();
        let message = format!("all entries of this list are the same `{name}`: they share their weights");
        let help = format!("create one for each entry: `[{name}(...) for _ in range(n)]`");
        let fix = made_apart(script, &repeated)
            .map(|edits| Fix::guess(format!("create one `{name}` for each entry"), edits));
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .note("`[layer] * n` repeats a reference to one object, and does not copy it")
            .help(help);
        out.push(finding.fix(fix), &at);
    }
}

/// `[Block(64)] * 5`
fn repeated_calls(script: &Script) -> Vec<Repeated> {
    let tree = &script.project.module(script.file).tree;
    let mut found = Vec::new();
    for expr in &tree.exprs {
        let ExprKind::Binary { op: BinaryOp::Mul, left, right } = expr.kind else { continue };
        for (list, count) in [(left, right), (right, left)] {
            let ExprKind::List(items) = &tree.expr(list).kind else { continue };
            let is_call = |item: &&ExprId| matches!(tree.expr(**item).kind, ExprKind::Call { .. });
            let is_repeated = !matches!(tree.expr(count).kind, ExprKind::Int(0 | 1));
            let calls = items.iter().filter(is_call).filter(|_| is_repeated);
            found.extend(calls.map(|layer| Repeated { whole: expr.span, layer: *layer, list, count }));
        }
    }
    found
}

/// The layer that such a list repeats, by its class, where it learns something and is a part of a model.
fn shared_layer(script: &Script, repeated: &Repeated) -> Option<(Rc<str>, Confidence)> {
    let heap = &script.rehearsal.heap;
    let tree = &script.project.module(script.file).tree;
    let made = Place::new(script.file, tree.expr(repeated.layer).span);
    let learns = |layer: ObjId| {
        let has_own = |part: ObjId| {
            let here = heap.get(part);
            here.module().is_some_and(|it| matches!(it.weights, Learned::Own(n) if n != Some(0)))
                || here.attrs.iter().any(|(_, value)| is_parameter(value))
        };
        heap.descendants(layer).iter().any(has_own)
    };
    let is_part =
        |layer: ObjId| heap.modules().any(|other| other != layer && heap.descendants(other).contains(layer));
    let layer = heap.modules().find(|id| heap.get(*id).site == made && learns(*id) && is_part(*id))?;
    let class = match heap.get(layer).class {
        ClassRef::Api(name) => Rc::from(name.as_str()),
        ClassRef::Project(class) => match &heap.get(class).state {
            State::Class(state) => {
                let tree = &script.project.module(state.file).tree;
                Rc::from(tree.class(state.class).name.as_str())
            }
            _ => return None,
        },
        ClassRef::Builtin => return None,
    };
    Some((class, heap.get(layer).confidence))
}

/// Whether the same function makes such layers one by one as well: whoever writes both means to share them here.
fn is_made_apart_elsewhere(script: &Script, repeated: &Repeated) -> bool {
    let draft = script.draft(script.file);
    let tree = &script.project.module(script.file).tree;
    let Some(around) = draft.function_around(repeated.whole).map(|it| draft.function_span(it)) else {
        return false;
    };
    let callee = |call: ExprId| match tree.expr(call).kind {
        ExprKind::Call { callee, .. } => Some(draft.written(callee)),
        _ => None,
    };
    let wanted = callee(repeated.layer);
    tree.exprs.iter().filter(|expr| around.contains(expr.span)).any(|expr| match &expr.kind {
        ExprKind::Comprehension(made) => callee(made.element) == wanted,
        _ => false,
    })
}

/// `[Block(64) for _ in range(5)]`
fn made_apart(script: &Script, repeated: &Repeated) -> Option<Vec<Edit>> {
    let draft = script.draft(script.file);
    let ExprKind::List(items) = &draft.expr(repeated.list).kind else { return None };
    let [only] = items[..] else { return None };
    let text = format!("[{} for _ in range({})]", draft.written(only), draft.written(repeated.count));
    Some(vec![draft.replace(repeated.whole, text)])
}
