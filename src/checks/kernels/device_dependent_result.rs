//! A branch on the device whose paths compute different things.

use super::device_branches::DivergentResult;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "device-dependent-result",
    summary: "the GPU code path computes something different from the CPU code path",
    group: Group::Kernels,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("device-dependent-result"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, diverging) in script.observed::<DivergentResult>() {
        if !seen.insert(at.place) {
            continue;
        }
        let what = diverging.name.map_or_else(|| "the result".to_owned(), |name| format!("`{name}`"));
        let message =
            format!("{what} is `{}` on one device but `{}` on the other", diverging.one, diverging.other);
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("a model trained on one device gives different results on the other")
            .help("compute the same on both devices, or make it an explicit option of the model");
        out.push(finding, at);
    }
}
