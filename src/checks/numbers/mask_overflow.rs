//! A number that is written into masked places, and that half precision cannot hold.

use crate::apis::{RangeFunction, RangeSpec};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::values::{DType, Tensor};

pub(super) static RULE: Rule = Rule {
    id: "mask-overflow",
    summary: "a masked value is too large for float16, which raises an error",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("mask-overflow"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_call: Some(filled), ..Checker::SILENT };

/// The largest number of half precision.
const LARGEST: f64 = 65504.0;

/// A number past those of half precision is written into a tensor of it.
struct Overflow {
    number: f64,
    made: Option<Place>,
    /// Autocast computes the tensor in half precision.
    cast: bool,
    value: Option<Place>,
}

fn filled(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(RangeSpec::Of(apply)) = &call.api.range else { return };
    let [input, _, value] = &apply.args[..] else { return };
    if apply.verb != RangeFunction::Filled || cx.is_provided_for() || cx.is_off_gpu() {
        return;
    }
    let (input, number) = (call.value_of(input), call.value_of(value).as_num());
    let (Some(tensor), Some(number)) = (input.as_tensor(), number) else { return };
    if number.is_finite() && number.abs() > LARGEST && is_half(tensor) {
        let cast = tensor.dtype != Some(DType::Float16);
        let place = call.named().find(|(name, _)| *name == "value").map(|(_, passed)| passed.place);
        let overflow = Overflow { number, made: tensor.made, cast, value: place };
        let sure = if cast { Confidence::Medium } else { Confidence::High };
        cx.observe(call.place, overflow, tensor.confidence.min(sure));
    }
}

fn is_half(tensor: &Tensor) -> bool {
    !tensor.is_array && tensor.dtype.or(tensor.cast) == Some(DType::Float16)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Overflow>() {
        let number = seen.number;
        let message = format!("this raises an error: float16 cannot hold the masked value {number:e}");
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(made) = at.beside(seen.made) {
            let how = if seen.cast { "autocast computes this in float16" } else { "float16 comes from here" };
            finding = finding.because(made, how);
        }
        let infinity = if number < 0.0 { "float(\"-inf\")" } else { "float(\"inf\")" };
        let edit = seen
            .value
            .filter(|value| value.file == at.place.file)
            .map(|value| vec![script.draft(value.file).replace(value.span, infinity)]);
        let finding = finding
            .note("PyTorch raises `value cannot be converted to type c10::Half without overflow`")
            .help(format!("write `{infinity}`, or `torch.finfo(scores.dtype).min`"))
            .fix(edit.map(|edits| Fix::guess(format!("write `{infinity}`"), edits)));
        out.push(finding, at);
    }
}
