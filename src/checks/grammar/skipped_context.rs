//! `with a and b:`, which enters the last of them only.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::syntax::{ExprId, ExprKind, StmtKind};
use crate::trace::At;

pub(super) static RULE: Rule = Rule {
    id: "skipped-context",
    summary: "`with a and b:` enters only the last context: autocast or `no_grad` before it is skipped",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("skipped-context"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let draft = script.draft(script.file);
    for stmt in draft.statements() {
        let StmtKind::With { items, .. } = stmt else { continue };
        for item in items {
            let Some((skipped, entered)) = skipped(draft, item.context) else { continue };
            let place = Place::new(script.file, draft.expr(item.context).span);
            let at = At::of_text(place, Confidence::High);
            let message = "only the last of these contexts is entered: `and` evaluates to its last operand";
            let finding = script
                .finding(RULE.id, RULE.severity, &at, message)
                .note(format!("`{}` is created and never entered", draft.written(skipped)))
                .help(format!(
                    "separate them by a comma: `with {}, {}:`",
                    draft.written(skipped),
                    draft.written(entered)
                ))
                .fix(Some(Fix::guess("enter each of them", separated(draft, item.context))));
            out.push(finding, &at);
        }
    }
}

/// The first of the contexts that are not entered, and the one that is; a last operand that is no call is a
/// condition's.
fn skipped(draft: Draft<'_>, context: ExprId) -> Option<(ExprId, ExprId)> {
    let ExprKind::Bool { and: true, items } = &draft.expr(context).kind else { return None };
    let [skipped, .., entered] = &items[..] else { return None };
    let is_call = |id: &ExprId| matches!(draft.expr(*id).kind, ExprKind::Call { .. });
    let is_plain = |id: &ExprId| is_call(id) || draft.root(*id).is_some();
    (items.iter().all(is_plain) && is_call(entered)).then_some((*skipped, *entered))
}

/// A comma in place of each `and`.
fn separated(draft: Draft<'_>, context: ExprId) -> Vec<Edit> {
    let ExprKind::Bool { items, .. } = &draft.expr(context).kind else { return Vec::new() };
    let between = |pair: &[ExprId]| Span::new(draft.expr(pair[0]).span.end, draft.expr(pair[1]).span.start);
    items.windows(2).map(|pair| draft.replace(between(pair), ", ")).collect()
}
