//! The GPU in forked workers.

use super::workers::{OnGpu, ParentOnGpu, Work, in_words};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Place, Severity};
use crate::trace::At;
use crate::values::ObjId;
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

const FORKED: &str = "a process forked from one that uses CUDA cannot use it: the first batch raises an error such as `Cannot re-initialize CUDA in forked subprocess`";

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
    let (severity, message, note) = match how {
        // A child inherits nothing of CUDA from a process that has not touched it.
        OnGpu::Moved if !parent_uses_gpu(script) => (
            Severity::Warning,
            "each DataLoader worker creates its own CUDA context here, of some hundred megabytes",
            "and once the main process uses CUDA before the workers start, this raises an error: `Cannot re-initialize CUDA in forked subprocess`",
        ),
        OnGpu::Moved => (RULE.severity, "this runs in DataLoader workers, which cannot use the GPU", FORKED),
        OnGpu::Held => (RULE.severity, "this tensor is on the GPU, but DataLoader workers read it", FORKED),
    };
    let mut finding = script.finding(RULE.id, severity, &at, message);
    if let Some(place) = work.workers_place {
        finding = finding.because(place, format!("{} forked", in_words(work.workers)));
    }
    out.push(
        finding.note(note).help("keep samples on the CPU, and move each batch in the training loop"),
        &at,
    );
}

/// Whether the process that starts the workers uses the GPU as well.
fn parent_uses_gpu(script: &Script) -> bool {
    let heap = &script.rehearsal.heap;
    let on_gpu = |object: u32| heap.get(ObjId(object)).module().is_some_and(|module| module.device.is_gpu());
    script.observed::<ParentOnGpu>().next().is_some() || (0..heap.len() as u32).any(on_gpu)
}
