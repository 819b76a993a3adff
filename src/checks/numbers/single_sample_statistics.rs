//! Statistics of a single number: a normalisation that fails, a deviation that is NaN.

use super::operations::{Fault, unsafe_operations};
use crate::apis::PoleKind;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{AppliedLayer, Checker, Interp};
use crate::report::{Confidence, Severity};
use crate::values::{Int, Mode, Tensor, int};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "single-sample-statistics",
    summary: "standard deviation or batch norm of a single sample",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("single-sample-statistics"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_layer_applied: Some(normalised), ..Checker::SILENT };

/// A layer in training took the statistics of one number a channel.
struct SingleSample {
    input: Rc<Tensor>,
}

/// A layer that normalises by the statistics of a batch, in training: with one number a channel it fails.
fn normalised(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    let call = applied.call;
    let normalises = call.api.pole.as_ref().is_some_and(|pole| pole.verb == PoleKind::Moments);
    let mode = cx.heap.get(applied.layer).module().map(|module| module.mode);
    if !normalises || mode != Some(Mode::Train) {
        return;
    }
    let Some(input) = call.nth_tensor(0) else { return };
    let Some(shape) = input.shape.as_deref().filter(|shape| shape.len() >= 2) else { return };
    let others = shape.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, size)| size);
    if int::product(others) == Int::Known(1) {
        let confidence = input.confidence.min(Confidence::Medium);
        cx.observe(call.place, SingleSample { input }, confidence);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, SingleSample { input }) in script.observed_once() {
        let shape = script.shape(input);
        let finding = script
            .finding(RULE.id, Severity::Error, at, format!("batch norm in training mode gets one value per channel for input {shape}"))
            .note("the layer raises `Expected more than 1 value per channel when training`")
            .help("train on batches of more than one sample, call `model.eval()` for single samples, or use `GroupNorm` or `LayerNorm`");
        out.push(finding, at);
    }
    for number in unsafe_operations(script, Fault::SingleSample) {
        let finding = number
            .finding(script, RULE.id, Severity::Error, "the standard deviation of a single value is NaN")
            .note("the sum of squares is divided by N - 1, which is zero for a single element")
            .help("compute it over a dimension with more than one element, or pass `correction=0`");
        out.push(finding, &number.at);
    }
}
