//! Workers that draw the same random numbers.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "shared-worker-seed",
    summary: "all workers of a loader draw the same random numbers",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("shared-worker-seed"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for seed in script.shared_seeds() {
        let (message, help) = match seed.generator {
            Some(_) => (
                "every worker draws the same numbers from its copy of this generator",
                "make the generator in the worker, from `torch.initial_seed()`",
            ),
            None => (
                "every worker begins with the same seed, and draws the same numbers",
                "seed with `torch.initial_seed() % 2**32`, or add the worker's id",
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &seed.at, message);
        if let Some(made) = seed.generator {
            finding = finding.because(made, "made once, and copied into each worker");
        }
        for other in seed.others {
            finding = finding.because(other, "and this generator, too");
        }
        if let Some(place) = seed.workers_place {
            finding = finding.because(place, workers(seed.workers));
        }
        out.push(finding.note("samples of different workers get the same augmentation").help(help), &seed.at);
    }
}

fn workers(count: i64) -> String {
    if count == 1 { "1 worker".to_owned() } else { format!("{count} workers") }
}
