//! A training step that goes past the strategy its variables were made for.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Declared, Instance, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::values::{ContextKind, Note, ObjId, Value};

pub(super) static RULE: Rule = Rule {
    id: "bypassed-strategy",
    summary: "the training step is not run with `strategy.run`",
    group: Group::Distributed,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("bypassed-strategy"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_instance: Some(put_in_scope), on_effect: Some(updates), ..Checker::SILENT };

/// The strategy in whose scope an object was made.
const STRATEGY: Note = Note::new("strategy of");

/// Gradients are applied to what has a copy on each device of a strategy.
struct Replicated {
    /// The optimizer, or what it updates.
    object: ObjId,
    /// Where it came into the strategy's scope.
    scope: Place,
    /// A replica of the strategy does it.
    by_replica: bool,
}

/// What is made in the scope of a strategy has a copy on each of its devices.
fn put_in_scope(cx: &mut Interp<'_>, made: &Instance) {
    let scope = cx.contexts().iter().rev().find_map(|context| match context {
        ContextKind::Strategy(strategy) => Some(*strategy),
        _ => None,
    });
    if let Some(strategy) = scope {
        cx.heap.note(made.object, STRATEGY, Value::Obj(strategy));
    }
}

/// An optimizer applies gradients: it, or what it updates, may have been made in a strategy's scope.
fn updates(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Update {
        return;
    }
    let Some(optimizer) = declared.arg(0).as_obj() else { return };
    let in_scope = |cx: &Interp<'_>, object: ObjId| cx.heap.noted(object, STRATEGY).is_some();
    let made = if in_scope(cx, optimizer) {
        Some(optimizer)
    } else {
        let owners = cx.collect_params(&declared.arg(1), 3).owners;
        owners.iter().find(|owner| in_scope(cx, *owner))
    };
    let Some(object) = made else { return };
    // Who calls a function that nobody here calls may do it in a replica.
    if cx.supposed.seeded.is_some() && object.0 < cx.supposed.since {
        return;
    }
    let scope = cx.heap.get(object).site;
    let by_replica = cx.contexts().contains(&ContextKind::Replica);
    cx.observe(declared.call.place, Replicated { object, scope, by_replica }, Confidence::High);
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, step) in script.observed::<Replicated>() {
        let same = |other: &Replicated| other.by_replica && other.object == step.object;
        let in_replica = step.by_replica || script.observed().any(|(_, other)| same(other));
        if in_replica || !seen.insert(at.place) {
            continue;
        }
        let message = "this training step is not run on the strategy's replicas";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(step.scope, "created in the strategy's scope, mirrored on every device")
            .note("TensorFlow raises an error here or trains on a single device only")
            .help("call the step with `strategy.run(train_step, args=(batch,))`, or train with `model.fit`");
        out.push(finding, at);
    }
}
