//! Binary cross entropy of probabilities where autocast is on.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::trace::At;
use crate::values::Device;

pub(super) static RULE: Rule = Rule {
    id: "bce-under-autocast",
    summary: "`binary_cross_entropy` is called under autocast, which raises an error",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("bce-under-autocast"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(refused), ..Checker::SILENT };

/// A loss that autocast does not allow.
struct RefusedByAutocast {
    /// Where autocast was switched on.
    autocast: Option<Place>,
    /// It is on for sure.
    sure: bool,
}

fn refused(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::RefuseAutocast {
        return;
    }
    let Some(autocast) = cx.autocast().filter(|autocast| autocast.device.is_gpu()) else { return };
    let input = declared.arg(0);
    let Some(input) = input.as_tensor().filter(|input| input.device != Device::Cpu) else { return };
    let confidence = match input.device {
        Device::Unknown => input.confidence.min(Confidence::Medium),
        _ => input.confidence,
    };
    let loss = RefusedByAutocast { autocast: autocast.place, sure: autocast.on == Some(true) };
    cx.observe(declared.call.place, loss, confidence);
}

fn check(script: &Script, out: &mut Findings) {
    for (at, loss) in script.observed_once::<RefusedByAutocast>() {
        let confidence = if loss.sure { at.confidence } else { at.confidence.min(Confidence::Medium) };
        let at = At { confidence, ..at.clone() };
        let message = "this loss is unsafe to autocast and raises an error";
        let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
        if let Some(autocast) = loss.autocast {
            finding = finding.because(autocast, "autocast is enabled here");
        }
        out.push(
            finding
                .note("half precision rounds probabilities near 0 or 1, and the log of 0 is infinite")
                .help("remove the sigmoid and use `BCEWithLogitsLoss`, which is numerically stable and safe to autocast"),
            &at,
        );
    }
}
