//! Numbers of a training that are asked for under another name than the model was compiled with.

use crate::apis::{Slot, Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Declared, EntryRead, Interp};
use crate::report::{Confidence, Severity};
use crate::syntax::{CompareOp, ExprKind, Tree};
use crate::values::{Note, State, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-history-key",
    summary: "the history of a training is read under another name than the metric was compiled with",
    group: Group::Tensorflow,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-history-key"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_effect: Some(compiled),
    on_api_result: Some(trained),
    on_entry_read: Some(read),
    ..Checker::SILENT
};

/// Of a model, and of the numbers of its training: the metrics that it was compiled with, by their names.
pub(super) const METRICS: Note = Note::new("metrics by name");

/// Two names of one metric.
const ALIASES: [(&str, &str); 4] = [
    ("acc", "accuracy"),
    ("mae", "mean_absolute_error"),
    ("mape", "mean_absolute_percentage_error"),
    ("mse", "mean_squared_error"),
];

/// What the numbers of a validation begin with.
pub(super) const OF_VALIDATION: &str = "val_";

/// Until this release of Keras, and of TensorFlow, the names were those of Keras.
const AS_COMPILED: [(&str, (u64, u64)); 2] = [("keras", (2, 3)), ("tensorflow", (2, 0))];

/// A key is read that the history does not have, and this is the one that it has.
struct MissingKey {
    asked: Ustr,
    there: Rc<str>,
}

fn compiled(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Compile {
        return;
    }
    let Some(model) = declared.arg(0).as_obj() else { return };
    let names = names_of(cx, &declared.call.get("metrics"));
    cx.heap.note(model, METRICS, names.map_or(Value::Unknown, Value::tuple));
}

/// The metrics, if each is given by its name.
fn names_of(cx: &Interp<'_>, metrics: &Value) -> Option<Vec<Value>> {
    let all = match metrics.bare() {
        Value::Tuple(items) => items.to_vec(),
        Value::Obj(list) => match &cx.heap.get(*list).state {
            State::List(items) => items.exact.clone()?,
            _ => return None,
        },
        _ => return None,
    };
    all.iter().all(|name| name.as_str().is_some()).then_some(all)
}

fn trained(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    if result.call.api.transfer() != Some(Transfer::History) {
        return;
    }
    let (model, history) = (result.call.operand(Slot::Model).as_obj(), result.value.as_obj());
    let (Some(model), Some(history)) = (model, history) else { return };
    let numbers = cx.heap.attr(history, Ustr::from("history")).and_then(Value::as_obj);
    if let (Some(numbers), Some(metrics)) = (numbers, cx.heap.noted(model, METRICS).cloned()) {
        cx.heap.note(numbers, METRICS, metrics);
    }
}

fn read(cx: &mut Interp<'_>, read: &EntryRead<'_>) {
    let Some(numbers) = read.container.as_obj() else { return };
    let Some(Value::Tuple(metrics)) = cx.heap.noted(numbers, METRICS) else { return };
    let asked = read.key.strip_prefix(OF_VALIDATION).unwrap_or(&read.key);
    let names: Vec<&str> = metrics.iter().filter_map(Value::as_str).collect();
    if names.contains(&asked) {
        return;
    }
    let Some(other) = other_name(asked).filter(|other| names.contains(other)) else { return };
    if cx.is_provided_for() || is_asked_for(cx.tree(read.place.file), &read.key) {
        return;
    }
    let there = Rc::from(format!("{}{other}", &read.key[..read.key.len() - asked.len()]));
    cx.observe(read.place, MissingKey { asked: read.key, there }, Confidence::High);
}

/// The other name of a metric that has two.
pub(super) fn other_name(asked: &str) -> Option<&'static str> {
    ALIASES.iter().find_map(|(short, long)| match asked {
        _ if asked == *short => Some(*long),
        _ if asked == *long => Some(*short),
        _ => None,
    })
}

/// Whether the releases that a project allows call the numbers of a training as its metrics were compiled.
pub(super) fn are_as_compiled(script: &Script) -> bool {
    AS_COMPILED.iter().all(|(package, since)| script.pins.allow_since(package, *since))
}

/// `"acc" in history.history`
fn is_asked_for(tree: &Tree, key: &str) -> bool {
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Compare { first, rest } => {
            matches!(&tree.expr(*first).kind, ExprKind::Str(text) if **text == *key)
                && rest.iter().any(|(op, _)| matches!(op, CompareOp::In | CompareOp::NotIn))
        }
        _ => false,
    })
}

fn check(script: &Script, out: &mut Findings) {
    if !are_as_compiled(script) {
        return;
    }
    for (at, MissingKey { asked, there }) in script.observed_once::<MissingKey>() {
        if script.is_tried(at.place) {
            continue;
        }
        let message = format!("this raises a KeyError: the history has `{there}`, and no `{asked}`");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("since Keras 2.3 and TensorFlow 2.0 the keys are the names that `compile()` was given")
            .help(format!("read `history[\"{there}\"]`"));
        out.push(finding, at);
    }
}
