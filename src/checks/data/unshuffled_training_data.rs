//! Training that goes through the data in the order in which they are stored.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unshuffled-training-data",
    summary: "training goes through the data in the order in which they are stored",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unshuffled-training-data"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for fed in script.unshuffled() {
        let message = match fed.by_class {
            true => "this trains on one class after the other: the samples come as they are stored",
            false => "this trains on the samples in the order in which they are stored, in every epoch",
        };
        let help = match fed.is_stream {
            true => "shuffle before batching: `.shuffle(buffer_size)`",
            false => "pass `shuffle=True`",
        };
        let fix = script.with_argument(fed.at.place, "shuffle", "True").filter(|_| !fed.is_stream);
        out.push(
            script
                .finding(RULE.id, RULE.severity, &fed.at, message)
                .note("batches of neighbours are alike, and the last ones of an epoch weigh most")
                .fix(fix.map(|edits| Fix::guess("pass `shuffle=True`", edits)))
                .help(help),
            &fed.at,
        );
    }
}
