//! Numbers that are cut to integers on their way into a result.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "lossy-cast-in-kernel",
    summary: "computed numbers lose their fractions on the way into the result",
    group: Group::Kernels,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("lossy-cast-in-kernel"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for cast in script.lossy_casts() {
        let (message, help) = match cast.buffer {
            Some(dtype) => (
                format!("floats are written into a buffer of {}, and lose their fractions", dtype.name()),
                "make the buffer with the dtype of what is written into it",
            ),
            None => (
                "each number is cut to an integer on its way into a buffer of floats".to_owned(),
                "leave the cast out; where whole numbers are meant, `round` says so",
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &cast.at, message);
        if let Some(made) = cast.made {
            finding = finding.because(made, "the buffer is made here");
        }
        let note = "nothing fails: results are off by up to one, and gradients through them are zero";
        out.push(finding.note(note).help(help), &cast.at);
    }
}
