//! Training on the first batch of a new iterator in each step.

use super::loaders::{at_loader, sample_order};
use super::order::held_by;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Drawn, Interp};
use crate::report::{Confidence, Place, Severity, units};
use crate::trace::{At, LoopId, Sight};
use crate::values::{ObjId, Value, Workers};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "loader-restarted-every-step",
    summary: "each training step creates an iterator over the DataLoader and takes its first batch",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("loader-restarted-every-step"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_drawn: Some(drawn), ..Checker::SILENT };

/// `next(iter(loader))`, in each iteration of a loop.
struct FirstBatch {
    loader: ObjId,
}

fn drawn(cx: &mut Interp<'_>, drawn: &Drawn) {
    let made = cx.heap.get(drawn.iterator).site;
    let is_new = made.file == drawn.place.file && drawn.place.span.contains(made.span) && made != drawn.place;
    if is_new && cx.in_each_iteration() {
        cx.observe(drawn.place, FirstBatch { loader: drawn.loader }, Confidence::High);
    }
}

/// What is wrong with it.
enum Fault {
    /// The order of the samples is always the same, and so is the first batch.
    SameBatch,
    /// So many workers start for one batch.
    Workers(Workers),
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for (at, first) in script.observed_once::<FirstBatch>() {
        let Some(step) = at.loops.last().copied() else { continue };
        if trains_by(script, step) && is_older(script, first.loader, step) && !is_looked_at(script, at) {
            let Some(fault) = fault(script, first.loader) else { continue };
            if seen.insert(at.place) {
                report(script, at, step, first.loader, &fault, out);
            }
        }
    }
}

/// Whether an iteration of a loop is a step: it goes back itself, and no loop in it does so for it.
fn trains_by(script: &Script, step: LoopId) -> bool {
    let goes_back = |sight: &Sight| matches!(sight, Sight::Backward { .. });
    script.sightings().any(|(at, sight)| goes_back(sight) && at.loops.last() == Some(&step))
}

/// Whether the function that draws the batch only evaluates on it: a picture of the same samples, now and then.
fn is_looked_at(script: &Script, at: &At) -> bool {
    let forwards = script.sightings().filter_map(|(other, sight)| match sight {
        Sight::Forward(forward) if other.calls.starts_with(&at.calls) => Some(forward.grad),
        _ => None,
    });
    let grads: Vec<Option<bool>> = forwards.collect();
    !grads.is_empty() && grads.iter().all(|grad| *grad == Some(false))
}

fn is_older(script: &Script, loader: ObjId, step: LoopId) -> bool {
    script.rehearsal.heap.get(loader).epoch < script.rehearsal.loop_info(step).first
}

fn fault(script: &Script, loader: ObjId) -> Option<Fault> {
    let order = sample_order(script, loader)?;
    let heap = &script.rehearsal.heap;
    if order.in_order == Some(true) && held_by(heap, loader).is_some() {
        return Some(Fault::SameBatch);
    }
    let stays = heap.attr(loader, Ustr::from("persistent_workers")).and_then(Value::as_bool);
    order.workers.filter(|workers| workers.any() && stays == Some(false)).map(Fault::Workers)
}

fn report(script: &Script, at: &At, step: LoopId, loader: ObjId, fault: &Fault, out: &mut Findings) {
    let (message, note) = match fault {
        Fault::SameBatch => (
            "every step trains on the same batch: a new iterator begins with the first samples again"
                .to_owned(),
            "the loader does not shuffle, so that all other samples are never seen".to_owned(),
        ),
        Fault::Workers(workers) => {
            let workers = match workers {
                Workers::Known(1) => "1 worker process".to_owned(),
                Workers::Known(count) => format!("{} worker processes", units::count(*count)),
                Workers::PerProcessor => "one worker process per CPU core".to_owned(),
            };
            (
                format!("every step starts {workers} and throws away all but the first batch"),
                "no sample is seen once per epoch: each step draws its batch from the whole dataset"
                    .to_owned(),
            )
        }
    };
    let mut finding = script.finding(RULE.id, RULE.severity, at, message);
    let made = at_loader(script, loader, step).map(|made| made.place);
    if let Some(place) = at.beside(made) {
        finding = finding.because(place, "the DataLoader is created here");
    }
    let help = "loop over the loader, or create the iterator before the loop and again at `StopIteration`";
    out.push(finding.note(note).help(help), at);
}
