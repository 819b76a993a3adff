//! A loader whose workers start again in each epoch.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Place, Severity, units};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{ObjId, State, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "loader-built-in-loop",
    summary: "a DataLoader with workers is created again every epoch",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("loader-built-in-loop"),
    check,
};

/// A loader that starts the same workers in each iteration of a loop.
struct Rebuilt {
    at: At,
    /// How many it starts, where that is known.
    workers: Option<i64>,
    /// Where the dataset was made.
    dataset: Place,
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = FxHashSet::default();
    for built in script.sightings().filter_map(|(at, sight)| rebuilt(script, at, sight)) {
        if seen.insert(built.at.place) {
            report(script, &built, out);
        }
    }
}

fn report(script: &Script, built: &Rebuilt, out: &mut Findings) {
    let workers = match built.workers {
        Some(1) => "a worker process".to_owned(),
        Some(count) => format!("{} worker processes", units::count(count)),
        None => "one worker process per CPU core".to_owned(),
    };
    let message = "every epoch creates this DataLoader again over the same dataset";
    out.push(
        script
            .finding(RULE.id, RULE.severity, &built.at, message)
            .because(built.dataset, "the dataset is created once")
            .note(format!("each time, {workers} must start and fill the queue before the first batch"))
            .help("create the DataLoader before the loop, with `persistent_workers=True`"),
        &built.at,
    );
}

fn rebuilt(script: &Script, at: &At, sight: &Sight) -> Option<Rebuilt> {
    let Sight::Loader { loader, dataset, .. } = sight else { return None };
    let round = *at.loops.last()?;
    let (workers, dataset) = rebuilt_for_nothing(script, *loader, dataset, round)?;
    is_drained_in(script, *loader, round).then(|| Rebuilt { at: at.clone(), workers, dataset })
}

/// How many workers a loader starts in each iteration over a dataset that stays as it is, and where
/// that was made.
fn rebuilt_for_nothing(
    script: &Script,
    loader: ObjId,
    dataset: &Value,
    round: LoopId,
) -> Option<(Option<i64>, Place)> {
    let heap = &script.rehearsal.heap;
    let info = script.rehearsal.loop_info(round);
    let attr = |name: &str| heap.attr(loader, Ustr::from(name));
    let workers = attr("num_workers")?.as_int()?;
    // As many as there are processors are more than none.
    if workers.is_unknown() || workers.known().is_some_and(|workers| workers <= 0) {
        return None;
    }
    let stays = |object: ObjId| heap.get(object).epoch < info.first && !info.changed.contains(object);
    let data = dataset.as_obj().filter(|object| stays(*object))?;
    // Who chooses the samples may choose others each time.
    let free = |name: &str| attr(name).is_none_or(|value| matches!(value, Value::None));
    let State::Loader(state) = &heap.get(loader).state else { return None };
    let plain = free("sampler") && free("batch_sampler") && !state.managed;
    let sized = state.batch_size.as_known_int().is_some();
    (plain && sized).then(|| (workers.known(), heap.get(data).site))
}

/// Whether each iteration of a loop goes through a loader with a model from outside of the loop.
fn is_drained_in(script: &Script, loader: ObjId, round: LoopId) -> bool {
    let heap = &script.rehearsal.heap;
    let first = script.rehearsal.loop_info(round).first;
    script.sightings().any(|(at, sight)| {
        let Sight::Forward(forward) = sight else { return false };
        let over = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(over) if over == loader);
        let depth = at.loops.iter().position(over);
        let inside = depth.is_some_and(|depth| depth > 0 && at.loops[depth - 1] == round);
        inside && heap.get(forward.module).epoch < first
    })
}
