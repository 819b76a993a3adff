//! Caches that are emptied in each step.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};
use crate::trace::Emptied;

pub(super) static RULE: Rule = Rule {
    id: "cache-emptied-in-loop",
    summary: "free memory is handed back in every step",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cache-emptied-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for emptied in script.emptied_caches() {
        let (message, note) = match emptied.what {
            Emptied::Cache => (
                "every step gives its memory back to the driver, and asks for it again",
                "the cache is memory that the next step uses again without waiting; emptying it makes no room for the run itself",
            ),
            Emptied::Garbage => (
                "every step waits for a search through all objects of the process",
                "what a step leaves behind is freed when its last name goes; only cycles wait for the collector",
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &emptied.at, message);
        if let Some(step) = emptied.step {
            finding = finding.because(step, "in the same iteration as this");
        }
        for other in &emptied.others {
            finding = finding.because(*other, "and once more here");
        }
        let fix = script.emptied_no_more(&emptied).map(|edits| Fix::guess("remove the call", edits));
        out.push(
            finding
                .fix(fix)
                .note(note)
                .help("remove it, or move it behind the loop, between training and validation"),
            &emptied.at,
        );
    }
}
