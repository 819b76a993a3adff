//! A loader whose workers start again in each epoch.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Severity, units};

pub(super) static RULE: Rule = Rule {
    id: "loader-built-in-loop",
    summary: "a loader with workers is built anew for each epoch",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("loader-built-in-loop"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for built in script.rebuilt_loaders() {
        let workers = match built.workers {
            Some(1) => "a worker process".to_owned(),
            Some(count) => format!("{} worker processes", units::count(count)),
            None => "as many worker processes as there are processors".to_owned(),
        };
        let mut finding = script.finding(
            RULE.id,
            RULE.severity,
            &built.at,
            "every epoch builds this loader again, over the same dataset",
        );
        if let Some(dataset) = built.dataset {
            finding = finding.because(dataset, "the dataset is made once");
        }
        out.push(
            finding
                .note(format!("each time, {workers} start and fill the queue before the first batch"))
                .help("build the loader before the loop, with `persistent_workers=True`"),
            &built.at,
        );
    }
}
