//! The GPU in forked workers.

use super::workers::{OnGpu, Work, in_words};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Place, Severity};
use crate::trace::At;
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "cuda-in-worker",
    summary: "DataLoader worker processes use the GPU",
    group: Group::Data,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cuda-in-worker"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = FxHashSet::default();
    for (at, work) in script.observed::<Work>().filter(|(_, work)| work.forked) {
        for (place, how) in work.on_gpu.iter().filter(|(place, _)| seen.insert(*place)) {
            report(script, at, work, (*place, *how), out);
        }
    }
}

fn report(script: &Script, at: &At, work: &Work, (place, how): (Place, OnGpu), out: &mut Findings) {
    let at = At { place, calls: Rc::from([]), ..at.clone() };
    let message = match how {
        OnGpu::Moved => "this runs in DataLoader workers, which cannot use the GPU",
        OnGpu::Held => "this tensor is on the GPU, but DataLoader workers read it",
    };
    let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
    if let Some(place) = work.workers_place {
        finding = finding.because(place, format!("{} forked", in_words(work.workers)));
    }
    out.push(
        finding
            .note("a forked process cannot use CUDA: the first batch raises an error such as `Cannot re-initialize CUDA in forked subprocess`")
            .help("keep samples on the CPU, and move each batch in the training loop"),
        &at,
    );
}
