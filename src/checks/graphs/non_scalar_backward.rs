//! `backward()` on something that is not one number.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "non-scalar-backward",
    summary: "backward is called on a loss that is not a scalar",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("non-scalar-backward"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for backward in script.non_scalar_backwards() {
        let mut finding = script.finding(
            RULE.id,
            RULE.severity,
            &backward.at,
            format!("this loss has shape {}, not one number", backward.shape),
        );
        if let Some(made) = backward.made {
            finding = finding.because(made, "made here");
        }
        let fix = script.behind_receiver(backward.at.place, ".mean()");
        out.push(
            finding
                .fix(fix.map(|edits| Fix::guess("take the mean first", edits)))
                .replay(script.replay_of_elements(backward.elements))
                .note("`backward()` without `gradient=` takes scalars only, and ends the run here")
                .help("reduce it first: `loss.mean().backward()`"),
            &backward.at,
        );
    }
}
