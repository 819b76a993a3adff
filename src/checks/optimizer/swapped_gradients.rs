//! Pairs of variables and gradients, in the wrong order.

use crate::apis::{Api, Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::values::{State, Value};

pub(super) static RULE: Rule = Rule {
    id: "swapped-gradients",
    summary: "`apply_gradients` receives pairs of (variable, gradient) instead of (gradient, variable)",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("swapped-gradients"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(updated), ..Checker::SILENT };

/// A gradient is where its variable belongs.
struct Swapped;

fn updated(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Update {
        return;
    }
    let place = declared.call.place;
    let pairs = declared.arg(1).as_obj().map(|pairs| &cx.heap.get(pairs).state);
    let Some(State::List(pairs)) = pairs else { return };
    let first = pairs.exact.as_ref().and_then(|pairs| pairs.first()).unwrap_or(&pairs.any);
    let Value::Tuple(pair) = first else { return };
    let [gradient, variable] = &pair[..] else { return };
    if is_gradient(cx, variable) && !is_gradient(cx, gradient) {
        cx.observe(place, Swapped, Confidence::High);
    }
}

/// What a tape gives for a variable.
fn is_gradient(cx: &Interp<'_>, value: &Value) -> bool {
    let by = value.as_tensor().and_then(|tensor| tensor.what).and_then(|by| cx.apis.get(by));
    by.and_then(Api::transfer) == Some(Transfer::Gradients)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, _) in script.observed_once::<Swapped>() {
        let finding = script
            .finding(RULE.id, RULE.severity, at, "raises an error: these pairs have the variable first")
            .note("the optimizer takes the first of each pair for the gradient and updates the second")
            .help("pass the gradients first: `apply_gradients(zip(gradients, variables))`")
            .fix(exchanged(script, at.place).map(|edits| Fix::safe("swap the arguments of `zip`", edits)));
        out.push(finding, at);
    }
}

/// `zip(a, b)` as `zip(b, a)`, where it stands in the call.
fn exchanged(script: &Script, place: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let pairs = draft.call(draft.positional(draft.call_at(place.span)?, 0)?.value)?;
    let (first, second) = (draft.positional(pairs, 0)?.span, draft.positional(pairs, 1)?.span);
    Some(vec![draft.replace(first, draft.text(second)), draft.replace(second, draft.text(first))])
}
