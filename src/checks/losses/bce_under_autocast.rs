//! Binary cross entropy of probabilities where autocast is on.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "bce-under-autocast",
    summary: "binary cross entropy of probabilities is computed under autocast",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("bce-under-autocast"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loss in script.refused_by_autocast() {
        let mut finding = script.finding(
            RULE.id,
            RULE.severity,
            &loss.at,
            "autocast refuses this loss, which ends the run with an error",
        );
        if let Some(autocast) = loss.autocast {
            finding = finding.because(autocast, "autocast is switched on here");
        }
        out.push(
            finding
                .note("half precision can not hold the logarithms of probabilities near zero and one")
                .help("pass logits, without the sigmoid, to the loss that takes logits"),
            &loss.at,
        );
    }
}
