//! A buffer that is smaller than what is computed for it.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "undersized-output",
    summary: "a buffer is smaller than what is computed for it",
    group: Group::Kernels,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("undersized-output"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for short in script.short_buffers() {
        let message = match (short.sizes, short.guarded) {
            (Some((reach, size)), true) => {
                format!("only {} of {} numbers are ever written", units::count(size), units::count(reach))
            }
            (None, true) => "the last numbers are never written".to_owned(),
            (Some((reach, size)), false) => format!(
                "index {} is out of bounds: there is room for {}",
                units::count(reach - 1),
                units::count(size)
            ),
            (None, false) => "the last index is out of bounds".to_owned(),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &short.at, message);
        if let Some(made) = short.made {
            finding = finding.because(made, "the buffer is made here, with this size");
        }
        if let Some(counted) = short.counted {
            finding = finding.because(counted, "the loop goes on beyond it");
        }
        let why = if short.guarded {
            "the test keeps the index in bounds, and leaves the rest of the result out"
        } else {
            "the run ends here with an error"
        };
        out.push(finding.note(why).help("make the buffer as large as the result"), &short.at);
    }
}
