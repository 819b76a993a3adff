//! An array that becomes a constant as a whole.

use super::size_on_gpu::{TensorOnGpu, bytes_of};
use super::whole_dataset_on_gpu::resident_data;
use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Place, Severity};
use crate::trace::At;
use crate::values::{ContextKind, Tensor, Value};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "whole-array-constant",
    summary: "a large array is embedded in the graph as a constant",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("whole-array-constant"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(copied), ..Checker::SILENT };

/// Arrays below this are tables, not data.
const SMALL_COPY: u64 = 1 << 20;
/// Constants of a graph from this size on are worth a warning.
const LARGE_CONSTANT: u64 = 1 << 25;

/// An array becomes a tensor of the framework as a whole.
struct CopiedArray {
    array: Rc<Tensor>,
    /// In a function that is recorded as a graph.
    traced: bool,
}

/// An array becomes a tensor as a whole; some calls of it matter in a traced function only.
fn copied(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Copy {
        return;
    }
    let traced = cx.contexts().contains(&ContextKind::Traced);
    if !traced && matches!(declared.arg(1), Value::Str(_)) {
        return;
    }
    let data = declared.arg(0);
    let arrays: Vec<Rc<Tensor>> = match data.bare() {
        Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor().cloned()).collect(),
        other => other.as_tensor().cloned().into_iter().collect(),
    };
    let largest = arrays.into_iter().filter(|array| array.is_array).max_by_key(|array| array.bytes());
    if let Some(array) = largest.filter(|array| array.bytes().is_some()) {
        let confidence = array.confidence;
        cx.observe(declared.call.place, CopiedArray { array, traced }, confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    let resident = resident_data(script);
    let spoken_of =
        |place: Place| resident.iter().any(|data| data.at.place == place && data.severity > Severity::Note);
    let mut seen = Places::default();
    for (at, copied) in script.observed::<CopiedArray>() {
        if !spoken_of(at.place)
            && let Some(whole) = whole_array(script, at, copied)
            && seen.insert(at.place)
        {
            report(script, &whole, copied.traced, out);
        }
    }
}

fn whole_array(script: &Script, at: &At, copied: &CopiedArray) -> Option<TensorOnGpu> {
    let bytes = bytes_of(&copied.array).filter(|bytes| *bytes >= SMALL_COPY)?;
    let is_large_constant = copied.traced && bytes >= LARGE_CONSTANT;
    let small = if is_large_constant { Severity::Warning } else { Severity::Note };
    let severity = script.severity_of_size(bytes, small).min(Severity::Warning);
    Some(TensorOnGpu::new(script, at, &copied.array, bytes, severity))
}

fn report(script: &Script, whole: &TensorOnGpu, traced: bool, out: &mut Findings) {
    let size = whole.size();
    let message = match traced {
        true => format!("{size} of data are embedded in the graph as a constant"),
        false => format!("{size} of data are copied to the device at once"),
    };
    let mut finding = script.finding(RULE.id, whole.severity, &whole.at, message);
    if let Some(made) = whole.made {
        finding = finding.because(made, whole.shape_and_size());
    }
    let (note, help) = if traced {
        (
            "every trace of the function stores the array again, and a graph is limited to 2 GB",
            "pass the array to the function as an argument",
        )
    } else {
        ("the copy stays in memory as long as the tensor", "feed it in batches, with `tf.data`")
    };
    out.push(finding.note(note).help(help), &whole.at);
}
