//! Processes that train on the same data.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "missing-distributed-sampler",
    summary: "each process trains on all of the data",
    group: Group::Distributed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-distributed-sampler"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for loader in script.undivided() {
        let note = match loader.shuffled {
            true => {
                "an epoch costs as many steps on many GPUs as on one, and samples repeat across processes"
            }
            false => "all processes compute the same batches: more GPUs change nothing",
        };
        out.push(
            script
                .finding(RULE.id, RULE.severity, &loader.at, "every process trains on all of the data")
                .because(loader.replicated, "the model is trained by several processes")
                .note(note)
                .help("pass `sampler=DistributedSampler(dataset)` instead of `shuffle`, and call its `set_epoch`"),
            &loader.at,
        );
    }
}
