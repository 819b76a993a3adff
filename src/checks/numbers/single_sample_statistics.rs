//! Statistics of a single number: a normalisation that fails, a deviation that is NaN.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Ailment, Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "single-sample-statistics",
    summary: "the spread of a single number is asked for",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("single-sample-statistics"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for (at, shape) in script.lone_samples() {
        let finding = script
            .finding(RULE.id, Severity::Error, &at, format!("this normalises {shape} in training: one number a channel"))
            .note("the layer raises `Expected more than 1 value per channel when training`")
            .help("train on batches of more than one sample, put the model into evaluation for single ones, or use a norm without a batch: `GroupNorm`, `LayerNorm`");
        out.push(finding, &at);
    }
    for number in script.unsafe_numbers(Ailment::Lone) {
        let finding = script
            .unsafe_finding(RULE.id, Severity::Error, &number, "the deviation of one number is NaN")
            .note("the sum of squares is divided by the number of elements less one, which is zero")
            .help("take it over an axis of more than one number, or with `correction=0`");
        out.push(finding, &number.at);
    }
}
