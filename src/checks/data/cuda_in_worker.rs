//! The GPU in forked workers.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::Severity;
use crate::trace::OnGpu;

pub(super) static RULE: Rule = Rule {
    id: "cuda-in-worker",
    summary: "the workers of a loader use the GPU",
    group: Group::Data,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cuda-in-worker"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for work in script.gpu_in_workers() {
        let message = match work.how {
            OnGpu::Moved => "this runs in the workers of a loader, which cannot use the GPU",
            OnGpu::Held => "the workers of a loader read from this tensor, which is on the GPU",
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &work.at, message);
        if let Some(place) = work.workers_place {
            finding = finding.because(place, format!("{} forked", workers(work.workers)));
        }
        out.push(
            finding
                .note("CUDA cannot be initialised again in a forked process: the first batch ends the run")
                .help("keep samples on the CPU, and move each batch in the training loop"),
            &work.at,
        );
    }
}

fn workers(count: i64) -> String {
    if count == 1 { "1 worker".to_owned() } else { format!("{count} workers") }
}
