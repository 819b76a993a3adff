//! Metrics that compare the numbers of classes, and are compiled into a model that gives probabilities.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Severity};
use crate::values::{ClassRef, Heap, ObjId, State, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "probabilities-as-classes",
    summary: "a metric that compares class ids, such as `MeanIoU`, gets the probabilities of a model",
    group: Group::Losses,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("probabilities-as-classes"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(compiled), ..Checker::SILENT };

/// The option of a metric that says whether predictions are class ids; it is on where nobody says otherwise.
const TAKES_IDS: &str = "sparse_y_pred";

/// Metrics in containers are looked for so deep.
const DEEPEST: usize = 3;

/// A model is compiled with a metric of this name, which takes predictions for class ids.
struct TakesIds(Ustr);

/// What is trained gives something that can be differentiated, which is no class.
fn compiled(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Compile {
        return;
    }
    let mut metrics = Vec::new();
    gather(&cx.heap, &declared.call.get("metrics"), DEEPEST, &mut metrics);
    for metric in metrics {
        let here = cx.heap.get(metric);
        let ClassRef::Api(class) = here.class else { continue };
        if here.attr(Ustr::from(TAKES_IDS)).and_then(Value::as_bool) == Some(true) {
            cx.observe(here.site, TakesIds(class), Confidence::High);
        }
    }
}

/// The objects in a value, and in the lists and dictionaries that it holds.
fn gather(heap: &Heap, value: &Value, depth: usize, out: &mut Vec<ObjId>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut each = |value: &Value| gather(heap, value, depth, out);
    match value.bare() {
        Value::Tuple(items) => items.iter().for_each(each),
        Value::Obj(object) => match &heap.get(*object).state {
            State::List(items) => items.exact.iter().flatten().for_each(each),
            State::Dict(entries) => entries.known.iter().for_each(|(_, value)| each(value)),
            _ => out.push(*object),
        },
        _ => {}
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, TakesIds(class)) in script.observed_once::<TakesIds>() {
        let name = class.rsplit('.').next().unwrap_or_default();
        let message = format!("`{name}` compares class ids, but gets probabilities: this score says nothing");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("probabilities are truncated to integers, so that nearly every prediction counts as class 0")
            .help("of a softmax use `OneHotMeanIoU`, or pass `sparse_y_pred=False` where the labels are class ids")
            .help("of a sigmoid use `BinaryIoU(target_class_ids=[0, 1], threshold=0.5)`");
        out.push(finding, at);
    }
}
