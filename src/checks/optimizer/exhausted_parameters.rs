//! Parameters from a generator with nothing left in it.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, layers};
use crate::interp::{Checker, Exhausted, Interp, is_parameter};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::values::*;

pub(super) static RULE: Rule = Rule {
    id: "exhausted-parameters",
    summary: "parameters are read from a generator that is already exhausted",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("exhausted-parameters"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_exhausted: Some(on_exhausted), ..Checker::SILENT };

/// An iterator over parameters with nothing left in it.
pub(in crate::checks) struct SpentIterator {
    /// Where it was gone through.
    first: Place,
    /// Where it comes from.
    made: Place,
}

fn on_exhausted(cx: &mut Interp<'_>, exhausted: &Exhausted<'_>) {
    if holds_parameters(cx, exhausted.iterator) {
        let Exhausted { place, first, made, .. } = *exhausted;
        cx.observe(place, SpentIterator { first, made }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, spent) in script.observed_once::<SpentIterator>() {
        let first = if spent.first == at.place {
            "the previous iteration exhausted it here"
        } else {
            "exhausted here"
        };
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                "no parameters are left: this generator is already exhausted",
            )
            .because(spent.made, "a generator can be iterated only once")
            .because(spent.first, first);
        // An optimizer without parameters steps none.
        let replay = script.makes_optimizer(at.place).then(|| script.replay_of_layers(layers::MISSED));
        let fix = as_list(script, spent.made).map(|edits| Fix::safe("store the parameters in a list", edits));
        out.push(
            finding
                .fix(fix)
                .replay(replay)
                .note(
                    "an optimizer, clipping or a count gets no parameters: it has no effect, or raises an error",
                )
                .help("store a list, `list(model.parameters())`, or call `parameters()` again"),
            at,
        );
    }
}

/// Whether parameters are among the items of an iterator.
fn holds_parameters(cx: &mut Interp<'_>, value: &Value) -> bool {
    let item = match value.bare() {
        Value::Params(_) => return true,
        Value::Obj(object) => match cx.heap.get(*object).state.clone() {
            State::List(items) => cx.heap.any_of(&items).unwrap_or_default(),
            _ => return false,
        },
        _ => return false,
    };
    let are_parameters = |value: &Value| match value.bare() {
        Value::Params(_) => true,
        other => is_parameter(other),
    };
    match &item {
        Value::Tuple(items) => items.iter().any(are_parameters),
        item => are_parameters(item),
    }
}

/// A list of what a generator gives, where it gets its name.
fn as_list(script: &Script, made: Place) -> Option<Vec<Edit>> {
    /// What gives one thing after the other, of another such thing.
    const LAZY: [&str; 5] = ["filter", "map", "chain", "zip", "enumerate"];
    let draft = script.draft(made.file);
    let value = draft.assigned_value(made.span)?;
    let span = draft.expr(value).span;
    if span != made.span {
        let callee = draft.written(draft.call(value)?.callee);
        let name = callee.rsplit('.').next().unwrap_or_default();
        LAZY.contains(&name).then_some(())?;
    }
    let has_parentheses = draft.text(span).starts_with('(');
    match has_parentheses {
        true => Some(vec![draft.insert(span.start, "list")]),
        false => Some(draft.wrap(span, "list(", ")")),
    }
}
