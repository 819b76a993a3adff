//! A softmax over the samples of a batch, where a loss picks among classes.

use super::attention::{MayBeRight, WrongWeights};
use super::taught::taught_losses;
use crate::apis::{Expects, Mark, Slot, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{ApiResult, Checker, Interp, Invocation, StackedLayer, transfer};
use crate::report::{Diagnostic, Fix, Place, Severity};
use crate::trace::At;
use crate::values::{Int, Shape};

pub(super) static RULE: Rule = Rule {
    id: "wrong-softmax-axis",
    summary: "a softmax normalizes over the batch dimension instead of the classes",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("wrong-softmax-axis"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_api_result: Some(applied),
    on_stacked_layer: Some(stacked),
    on_call: Some(picked),
    ..Checker::SILENT
};

/// A softmax of what a layer gives ran over the first axis of several.
struct OverFirstAxis {
    shape: Shape,
}

fn applied(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let (call, Some(tensor)) = (result.call, result.value.as_tensor()) else { return };
    let is_fresh = matches!(tensor.mark, Some((Mark::Softmax | Mark::LogSoftmax, at)) if at == call.place);
    // Of products of two batches either axis may be normalized.
    let is_of_layer = call.tensors().first().is_some_and(|input| input.raw_at().is_some());
    if let Some(shape) = tensor.shape.clone()
        && is_fresh
        && is_of_layer
        && shape.len() > 1
        && transfer::softmax_axis(call, tensor) == Some(0)
    {
        cx.observe(call.place, OverFirstAxis { shape }, tensor.confidence);
    }
}

/// One of the classes was picked along another axis than the softmax ran over: where that ran, and by what.
struct PickedAlong {
    softmax: Place,
}

/// `probs.gather(1, actions)`, `probs.argmax(1)`
fn picked(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let picks = matches!(
        call.api.transfer(),
        Some(
            Transfer::Argmax
                | Transfer::Gather
                | Transfer::OptionalReduce
                | Transfer::ReducePair
                | Transfer::Topk
        )
    );
    if !picks {
        return;
    }
    let Some(input) = call.nth_tensor(0) else { return };
    let Some((Mark::Softmax | Mark::LogSoftmax, softmax)) = input.mark else { return };
    let (Some(shape), Some(dim)) = (&input.shape, call.operand(Slot::Dim).as_known_int()) else { return };
    // Of a single class there is nothing to pick.
    let is_last = matches!(dim, -1) || usize::try_from(dim).is_ok_and(|dim| dim + 1 == shape.len());
    if shape.len() == 2 && is_last && shape[1] != Int::Known(1) {
        cx.observe(call.place, PickedAlong { softmax }, input.confidence);
    }
}

/// A softmax in a stack is shown where it is put there.
fn stacked(cx: &mut Interp<'_>, layer: &StackedLayer) {
    for seen in cx.observed_since_mut(layer.began) {
        if seen.is::<OverFirstAxis>() && seen.at.place == layer.called {
            seen.at.place = layer.made;
        }
    }
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for loss in taught_losses(script) {
        let picks = loss.expects == Expects::LogProbabilities && loss.spec.classes == Some(1);
        let Some((_, place)) = loss.input.mark.filter(|_| picks) else { continue };
        let is_it = |(at, over): &(&At, &OverFirstAxis)| {
            at.place == place && loss.input.shape.as_ref() == Some(&over.shape)
        };
        let Some((at, _)) = script.observed::<OverFirstAxis>().find(is_it) else { continue };
        if !seen.insert(place) {
            continue;
        }
        let at = At { confidence: at.confidence.min(loss.at.confidence), ..at.clone() };
        out.push(
            reported(script, &at, (loss.at.place, "the loss expects the classes along dimension 1")),
            &at,
        );
    }
    for (by, picked) in script.observed::<PickedAlong>() {
        let is_it = |(at, _): &(&At, &OverFirstAxis)| at.place == picked.softmax;
        let Some((at, _)) = script.observed::<OverFirstAxis>().find(is_it) else { continue };
        if seen.insert(picked.softmax) {
            let at = At { confidence: at.confidence.min(by.confidence), ..at.clone() };
            out.push(
                reported(script, &at, (by.place, "one of the classes is picked along dimension 1")),
                &at,
            );
        }
    }
    weights_of_attention(script, &mut seen, out);
}

/// `softmax(q @ k.transpose(1, 2), dim=1) @ v`
fn weights_of_attention(script: &Script, seen: &mut Places, out: &mut Findings) {
    for (at, weights) in script.observed::<WrongWeights>() {
        let may_be_right = script.observed::<MayBeRight>().any(|(at, _)| at.place == weights.softmax);
        if may_be_right || !seen.insert(weights.softmax) {
            continue;
        }
        let used = at.place;
        let message = "this softmax does not normalize over the dimension that its weights are summed over";
        let at = At { place: weights.softmax, ..at.clone() };
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .note(
                "the weights of a position do not sum to 1, and each depends on the other positions that ask",
            )
            .because(used, "each row weights the values here")
            .help("normalize over the keys, which come last: `dim=-1`");
        out.push(finding, &at);
    }
}

fn reported(script: &Script, at: &At, (place, because): (Place, &'static str)) -> Diagnostic {
    let fix = script.replaced_argument(at.place, "dim", "0", "1");
    script
        .finding(
            RULE.id,
            RULE.severity,
            at,
            "this softmax normalizes over the samples of the batch, not over the classes",
        )
        .because(place, because)
        .note("each prediction then depends on the other samples of its batch, and changes with its size")
        .help("apply it along the classes: `dim=1`, or `dim=-1` where they come last")
        .fix(fix.map(|edits| Fix::safe("normalize over the classes", edits)))
}
