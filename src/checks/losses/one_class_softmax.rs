//! A softmax over one class.

use super::heads::{Heads, replay_of_heads};
use super::taught::taught_losses;
use crate::apis::Mark;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{ApiResult, Checker, Interp, StackedLayer, transfer};
use crate::report::{Place, Severity};
use crate::trace::At;
use crate::values::Int;

pub(super) static RULE: Rule = Rule {
    id: "one-class-softmax",
    summary: "a softmax over a single class is always 1",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("one-class-softmax"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_api_result: Some(applied), on_stacked_layer: Some(stacked), ..Checker::SILENT };

/// A softmax of something learned ran over an axis of one.
struct OneClassSoftmax;

/// The same over an axis of more, or of nobody knows how many: attention to one key is no class.
struct OtherSoftmax;

/// A normalisation over a single class.
struct LoneClass {
    at: At,
    /// It happens inside the loss.
    in_loss: bool,
    heads: Heads,
}

fn applied(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let (call, Some(tensor)) = (result.call, result.value.as_tensor()) else { return };
    let fresh = matches!(tensor.mark, Some((Mark::Softmax | Mark::LogSoftmax, at)) if at == call.place);
    if !fresh || !tensor.learned {
        return;
    }
    match transfer::softmax_axis_size(call, tensor) {
        Some(Int::Known(1)) => cx.observe(call.place, OneClassSoftmax, tensor.confidence),
        _ => cx.observe(call.place, OtherSoftmax, tensor.confidence),
    }
}

/// A softmax in a stack is shown where it is put there.
fn stacked(cx: &mut Interp<'_>, layer: &StackedLayer) {
    for seen in cx.observed_since_mut(layer.began) {
        if seen.is::<OneClassSoftmax>() && seen.at.place == layer.called {
            seen.at.place = layer.made;
        }
    }
}

fn check(script: &Script, out: &mut Findings) {
    for lone in lone_classes(script) {
        let message = if lone.in_loss {
            "this cross-entropy has a single class, so the loss is always zero"
        } else {
            "this softmax is over a dimension of size 1: its output is always 1"
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &lone.at, message)
            .note("the output no longer depends on the model, so all gradients are zero")
            .replay(replay_of_heads(script, lone.heads))
            .help("for binary classification, use one output with a sigmoid and binary cross-entropy, or two outputs");
        out.push(finding, &lone.at);
    }
}

/// Softmaxes and cross-entropies over one class.
fn lone_classes(script: &Script) -> Vec<LoneClass> {
    let mut found = Vec::new();
    let mut seen = Places::default();
    let others: Vec<Place> = script.observed::<OtherSoftmax>().map(|(at, _)| at.place).collect();
    for (at, _) in script.observed::<OneClassSoftmax>() {
        if !others.contains(&at.place) && seen.insert(at.place) {
            found.push(LoneClass { at: at.clone(), in_loss: false, heads: Heads::lone_softmax() });
        }
    }
    for loss in taught_losses(script) {
        let softmax = loss.input.mark.filter(|(mark, _)| matches!(mark, Mark::Softmax | Mark::LogSoftmax));
        match softmax {
            Some((_, place)) if loss.compiled && loss.is_lone() && seen.insert(place) => {
                let heads = loss.heads().unwrap_or(Heads::lone_softmax());
                found.push(LoneClass { at: At { place, ..loss.at }, in_loss: false, heads });
            }
            None if loss.excludes() && loss.is_lone() && seen.insert(loss.at.place) => {
                let heads = loss.heads().unwrap_or(Heads::lone_softmax());
                found.push(LoneClass { at: loss.at, in_loss: true, heads });
            }
            _ => {}
        }
    }
    found
}
