//! A distributed sampler that is never told its epoch.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "missing-set-epoch",
    summary: "a distributed sampler gives the same order in each epoch",
    group: Group::Distributed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-set-epoch"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for sampler in script.same_epochs() {
        let fix = script.told_epoch(&sampler, "set_epoch");
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &sampler.at,
                    "this sampler gives the same order in every epoch",
                )
                .because(sampler.epochs, "no round of this loop tells it its epoch")
                .note("it is seeded by its epoch, which stays 0")
                .fix(fix.map(|edits| Fix::safe("tell the sampler its epoch", edits)))
                .help("call `sampler.set_epoch(epoch)` at the head of each epoch"),
            &sampler.at,
        );
    }
}
