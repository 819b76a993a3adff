//! A normalization whose epsilon outweighs the variance, since it was meant for the argument behind it.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Severity};
use crate::values::Value;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "oversized-epsilon",
    summary: "a momentum is passed to a normalization layer in the place of `eps`",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("oversized-epsilon"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_arguments: Some(built), ..Checker::SILENT };

/// From here on an epsilon is no guard against zero: normalized activations have a variance of one.
const SMALLEST: f64 = 0.05;

/// A layer is made with such an epsilon, and without the momentum that comes next.
struct Oversized {
    layer: Ustr,
    epsilon: f64,
}

fn built(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    // By name it is meant.
    let momentum_is_next =
        call.api.params.windows(2).any(|two| two[0].name == "eps" && two[1].name == "momentum");
    if !momentum_is_next || !call.is_given_by_position("eps") || call.is_given("momentum") {
        return;
    }
    let (value, place) = (call.get("eps"), call.place_of("eps"));
    let epsilon = value
        .as_num()
        .filter(|epsilon| (SMALLEST..=1.0).contains(epsilon) && !matches!(value, Value::Given(_)));
    if let (Some(epsilon), Some(place)) = (epsilon, place) {
        cx.observe(place, Oversized { layer: call.api.name, epsilon }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Oversized>() {
        let layer = seen.layer.rsplit('.').next().unwrap_or_default();
        let message = format!(
            "`{layer}` barely normalizes: {} is its `eps`, not its momentum, and is added to the variance",
            seen.epsilon,
        );
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("activations of small variance stay small, and the momentum stays at its default")
            .help(format!(
                "pass `momentum={}` if a momentum is meant; Keras's momentum of {} is `momentum={}` in PyTorch",
                seen.epsilon,
                seen.epsilon,
                (1.0 - seen.epsilon) as f32,
            ));
        out.push(finding, at);
    }
}
