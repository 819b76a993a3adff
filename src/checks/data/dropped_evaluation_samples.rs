//! Scores that leave out the samples of a last batch that is not full.

use super::loaders::{sample_order, scored_on};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Arithmetic, Checker, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use crate::trace::{At, Sight};
use crate::values::{ObjId, State, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "dropped-evaluation-samples",
    summary: "a model is scored on a loader that drops its last batch",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("dropped-evaluation-samples"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_arithmetic: Some(operated), ..Checker::SILENT };

/// Something is divided by the number of samples of a dataset.
struct OverSamples {
    dataset: ObjId,
}

fn operated(cx: &mut Interp<'_>, operation: &Arithmetic) {
    if operation.operator == BinaryOp::Div
        && let Some(dataset) = counted(cx, operation.right)
    {
        cx.observe(cx.expr_place(operation.right), OverSamples { dataset }, Confidence::High);
    }
}

/// The dataset of `len(dataset)`, or of `len(loader.dataset)`.
fn counted(cx: &mut Interp<'_>, divisor: ExprId) -> Option<ObjId> {
    let tree = cx.tree(cx.file());
    let ExprKind::Call { callee, args } = &tree.expr(divisor).kind else { return None };
    let ([only], ExprKind::Name(function)) = (&**args, &tree.expr(*callee).kind) else { return None };
    match function.as_str() {
        "len" => {}
        "float" => return counted(cx, only.value),
        _ => return None,
    }
    if !cx.is_reading(only.value) {
        return None;
    }
    let object = cx.eval(only.value).as_obj()?;
    match &cx.heap.get(object).state {
        State::Loader(_) => None,
        _ => Some(object),
    }
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for (at, sight) in script.sightings() {
        let Sight::Loader { loader, dataset, batch_size, .. } = sight else { continue };
        // Of single samples none is left over.
        if !drops(script, *loader) || batch_size.as_known_int() == Some(1) {
            continue;
        }
        let Some(scored) = scored_on(script, *loader) else { continue };
        if seen.insert(at.place) {
            report(script, at, scored, (*loader, dataset), out);
        }
    }
}

fn drops(script: &Script, loader: ObjId) -> bool {
    let given = script.rehearsal.heap.attr(loader, Ustr::from("drop_last"));
    given.is_some_and(|given| given.as_bool() == Some(true))
}

fn report(script: &Script, at: &At, scored: &At, (loader, dataset): (ObjId, &Value), out: &mut Findings) {
    let counts = |(here, over): &(&At, &OverSamples)| {
        Some(over.dataset) == dataset.as_obj()
            && here.place.file == scored.place.file
            && *here.calls == *scored.calls
    };
    let over = script.observed::<OverSamples>().find(counts).map(|(here, _)| here.place);
    // What is shuffled is for training, and this may be a pass over it.
    let in_order = sample_order(script, loader).is_some_and(|order| order.in_order == Some(true));
    let is_hook =
        |sight: &Sight| matches!(sight, Sight::GoneThrough { loader: given, .. } if *given == loader);
    if over.is_none() && !in_order && !script.sightings().any(|(_, sight)| is_hook(sight)) {
        return;
    }
    let severity = if over.is_some() { Severity::Warning } else { Severity::Note };
    let message = match over {
        Some(_) => "the score is too low: samples of the last batch are dropped, but counted by `len`",
        None => "the score leaves out samples: the evaluation drops its last batch",
    };
    let at = At { confidence: at.confidence.min(scored.confidence).min(Confidence::Medium), ..at.clone() };
    let mut finding = script.finding(RULE.id, severity, &at, message);
    let told =
        [(Some(scored.place), "the model is evaluated here"), (over, "divided by the number of all samples")];
    for (place, words) in told {
        if let Some(place) = at.beside(place) {
            finding = finding.because(place, words);
        }
    }
    out.push(finding.help("remove `drop_last=True` for evaluation: a smaller last batch does no harm"), &at);
}
