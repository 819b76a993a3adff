//! Processes that train on the same data.

use super::loaders::{at_loader, is_shared_by_script, sample_order, training_loops};
use super::order::is_undivided;
use super::processes::Replicated;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Place, Severity};
use crate::trace::{At, LoopId, Sight};
use crate::values::{ObjId, ObjSet};
use rustc_hash::FxHashSet;

pub(super) static RULE: Rule = Rule {
    id: "missing-distributed-sampler",
    summary: "without a `DistributedSampler`, every process trains on the full dataset",
    group: Group::Distributed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-distributed-sampler"),
    check,
};

/// A loader that gives each process all of the data.
struct Undivided {
    at: At,
    /// Where the model was given to each process.
    replicated: Place,
    shuffled: bool,
}

fn check(script: &Script, out: &mut Findings) {
    let undivided = |(id, loader)| undivided(script, id, loader);
    let mut seen = FxHashSet::default();
    for loader in training_loops(script).into_iter().filter_map(undivided) {
        if !seen.insert(loader.at.place) {
            continue;
        }
        let note = match loader.shuffled {
            true => "an epoch takes as many steps as on one GPU, and samples repeat across processes",
            false => "all processes compute the same batches, so more GPUs bring no speedup",
        };
        out.push(
            script
                .finding(RULE.id, RULE.severity, &loader.at, "every process trains on the full dataset instead of its own shard")
                .because(loader.replicated, "the model is trained by several processes")
                .note(note)
                .help("pass `sampler=DistributedSampler(dataset)` instead of `shuffle`, and call `set_epoch()` every epoch"),
            &loader.at,
        );
    }
}

fn undivided(script: &Script, id: LoopId, loader: ObjId) -> Option<Undivided> {
    let whole = is_shared_by_script(script, loader) && is_undivided(&script.rehearsal.heap, loader);
    let sample_order = sample_order(script, loader).filter(|_| whole)?;
    let replicated = replicated_in(script, id)?;
    let at = at_loader(script, loader, id)?;
    let at = At { confidence: at.confidence.min(Confidence::Medium), ..at };
    Some(Undivided { at, replicated, shuffled: sample_order.in_order == Some(false) })
}

/// Where a model that is trained in a loop was given to each process.
fn replicated_in(script: &Script, id: LoopId) -> Option<Place> {
    let mut models = ObjSet::default();
    for (at, sight) in script.sightings() {
        if let Sight::Forward(forward) = sight
            && at.loops.contains(&id)
        {
            models = models.union(&script.rehearsal.heap.descendants(forward.module));
        }
    }
    let mut replicated = script.observed::<Replicated>();
    replicated.find(|(_, copied)| models.contains(copied.0)).map(|(at, _)| at.place)
}
