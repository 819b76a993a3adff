//! `model.forward(x)`, which skips what a call of the model does beside.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, ForwardCall, Interp};
use crate::report::{Fix, Place, Severity, Span};
use crate::syntax::ExprKind;

pub(super) static RULE: Rule = Rule {
    id: "forward-called-directly",
    summary: "`model.forward(x)` runs no hooks, and no `DistributedDataParallel` around the model",
    group: Group::Gradients,
    severity: Severity::Note,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("forward-called-directly"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_forward: Some(called), ..Checker::SILENT };

/// A model's forward was called by its name.
struct Direct {
    /// From the dot to the end of the name.
    name: Span,
}

fn called(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let place = forward.call.place;
    let Some(name) = named_forward(cx, place) else { return };
    let here = cx.heap.get(forward.module);
    if here.module().is_some_and(|module| !module.managed) {
        cx.observe(place, Direct { name }, here.confidence);
    }
}

fn named_forward(cx: &Interp<'_>, place: Place) -> Option<Span> {
    let module = cx.module(place.file);
    let tree = &module.tree;
    let ExprKind::Call { callee, .. } = tree.expr(module.expr_at(place.span)?).kind else { return None };
    match tree.expr(callee).kind {
        ExprKind::Attribute { base, name, name_span } if name == "forward" => {
            Some(Span::new(tree.expr(base).span.end, name_span.end))
        }
        _ => None,
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, direct) in script.observed_once::<Direct>() {
        let draft = script.draft(at.place.file);
        let edits = vec![draft.replace(direct.name, "")];
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                "`forward` is called directly: hooks of the model do not run",
            )
            .note("inside `DistributedDataParallel`, gradients are not synchronized either")
            .help("call the model itself: `model(x)`")
            .fix(Some(Fix::safe("call the model", edits)));
        out.push(finding, at);
    }
}
