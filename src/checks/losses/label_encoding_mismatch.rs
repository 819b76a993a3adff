//! Labels that say which class is right in another way than their loss reads them.

use super::taught::several_losses;
use crate::apis::{Labels, LossSpec};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::ExprKind;
use crate::trace::{At, CompiledLoss, Sight};
use crate::values::{Int, Interval, Tensor, Value};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "label-encoding-mismatch",
    summary: "the loss expects class indices but receives one-hot labels, or the reverse",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("label-encoding-mismatch"),
    check,
};

/// Labels that their loss reads in another way.
struct Misread<'a> {
    at: At,
    spec: LossSpec,
    labels: &'a Tensor,
    /// Where the framework's loop is given them.
    given: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for misread in misread_labels(script) {
        if !seen.insert(misread.at.place) {
            continue;
        }
        let (message, given) = match misread.spec.labels {
            Some(Labels::Indices) => {
                ("this loss expects class indices but receives one-hot labels", "one-hot labels")
            }
            _ => ("this loss expects one-hot labels but receives class indices", "class indices"),
        };
        let mut finding = script
            .finding(RULE.id, RULE.severity, &misread.at, message)
            .note("the shape of the labels does not fit the output of the model, which raises an error");
        if let Some(made) = misread.at.beside(misread.labels.made) {
            finding = finding.because(made, format!("the {given} come from here"));
        }
        if let Some(fit) = misread.at.beside(misread.given) {
            finding = finding.because(fit, "training raises the error here");
        }
        if let Some(sibling) = misread.spec.sibling {
            let sibling = sibling.rsplit('.').next().unwrap_or_default().to_owned();
            let fix = renamed(script, misread.at.place, &sibling);
            finding = finding
                .help(format!("use `{sibling}`, which expects {given}, or change the labels"))
                .fix(fix.map(|edits| Fix::guess(format!("use `{sibling}`"), edits)));
        }
        out.push(finding, &misread.at);
    }
}

fn misread_labels<'a>(script: &Script<'a>) -> Vec<Misread<'a>> {
    let several = several_losses(script);
    let judged = script.sightings().flat_map(|(at, sight)| match sight {
        Sight::Fit { losses, .. } => {
            let of_output = |(loss, labels): &'a (Rc<CompiledLoss>, Value)| {
                misread(at, loss.place, loss.spec, (&loss.output, labels), Some(at.place))
            };
            losses.iter().filter_map(of_output).collect()
        }
        Sight::Loss(loss) if !several.contains_key(&at.place) => {
            misread(at, at.place, loss.spec, (&loss.input, &loss.target), None).into_iter().collect()
        }
        _ => Vec::new(),
    });
    judged.collect()
}

fn misread<'a>(
    at: &At,
    place: Place,
    spec: LossSpec,
    (output, labels): (&'a Value, &'a Value),
    given: Option<Place>,
) -> Option<Misread<'a>> {
    let (output, labels): (&Tensor, &Tensor) = (output.as_tensor()?, tensor_of(labels)?);
    let confidence = at.confidence.min(output.confidence).min(labels.confidence);
    let misread = Misread { at: At { place, confidence, ..at.clone() }, spec, labels, given };
    is_misread(&spec, output, labels, given.is_some()).then_some(misread)
}

fn tensor_of(value: &Value) -> Option<&Tensor> {
    value.as_tensor().map(|tensor| &**tensor)
}

/// Whether the labels are surely of the other kind. In batches the output has an axis of samples and one of classes.
fn is_misread(spec: &LossSpec, output: &Tensor, labels: &Tensor, in_batches: bool) -> bool {
    let classes = last_of(output).and_then(|last| last.known());
    let last = last_of(labels);
    let several = classes.is_some_and(|classes| classes > 1);
    let fits = several && last.as_ref().and_then(Int::known) == classes;
    let is_alike = output.rank().is_some() && output.rank() == labels.rank();
    match (spec.labels, labels.rank()) {
        // What has a number between zero and one for each class is one-hot, whatever is around it.
        (Some(Labels::Indices), rank) if fits && rank != Some(1) => is_alike || is_share(labels),
        (Some(Labels::Indices), _) => {
            several && is_alike && is_share(labels) && last.is_some_and(|last| last.is_unknown())
        }
        (Some(Labels::OneHot), Some(rank)) => {
            let shorter = output.rank() == Some(rank + 1) || rank == 1 && in_batches;
            let is_column =
                last == Some(Int::Known(1)) && (is_alike || in_batches && output.rank().is_none());
            several && (shorter || is_column) || classes.is_none() && rank == 1 && in_batches
        }
        _ => false,
    }
}

fn last_of(tensor: &Tensor) -> Option<Int> {
    match &tensor.shape {
        Some(shape) => shape.last().cloned(),
        None => tensor.last.clone(),
    }
}

fn is_share(labels: &Tensor) -> bool {
    // What is surely between zero and one is no index, as of labels that are smoothed.
    let is_share =
        |range: Interval| range.low == 0.0 && range.high == 1.0 || range.low > 0.0 && range.high < 1.0;
    labels.range.is_some_and(is_share)
}

/// The other loss in the place of the name of this one, as a text or as a call.
fn renamed(script: &Script, place: Place, sibling: &str) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let written = draft.text(place.span);
    let expr = draft.expr(draft.expr_at(place.span)?);
    match (&expr.kind, written.chars().next()?) {
        (ExprKind::Str(_), quote @ ('"' | '\'')) => {
            Some(vec![draft.replace(place.span, format!("{quote}{sibling}{quote}"))])
        }
        _ => None,
    }
}
