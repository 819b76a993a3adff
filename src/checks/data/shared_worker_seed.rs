//! Workers that draw the same random numbers.

use super::workers::{Work, in_words};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Place, Severity};
use crate::trace::At;
use crate::values::Workers;
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "shared-worker-seed",
    summary: "all DataLoader workers draw the same random numbers",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("shared-worker-seed"),
    check,
};

/// The same random numbers in each worker.
struct SharedSeed<'s> {
    place: Place,
    /// The generator that all workers have a copy of.
    generator: Option<Place>,
    /// Where the workers seed other generators so.
    others: &'s [Place],
}

/// Since this release of the package each worker seeds the generator of arrays itself.
const SEEDS_ARRAYS: (&str, (u64, u64)) = ("torch", (1, 9));

fn check(script: &Script, out: &mut Findings) {
    let mut seen = FxHashSet::default();
    for (at, work) in
        script.observed::<Work>().filter(|(_, work)| work.workers.is_some_and(Workers::are_several))
    {
        for seed in shared_seeds(work) {
            if seen.insert(seed.generator.unwrap_or(seed.place)) {
                report(script, at, work, &seed, out);
            }
        }
        if let Some(drawn) = work.drawn_of_arrays.filter(|_| work.forked)
            && let Some(release) = release_that_leaves_arrays_unseeded(script)
            && seen.insert(drawn)
        {
            report_arrays(script, at, work, drawn, &release, out);
        }
    }
}

/// What the project asks for, if workers of all releases that it may get begin with NumPy's state of the process that
/// trains.
fn release_that_leaves_arrays_unseeded(script: &Script) -> Option<String> {
    let (package, since) = SEEDS_ARRAYS;
    let pinned = script.pins.all(package).into_iter().next().filter(|pin| !pin.origin.is_weak)?;
    (!script.pins.allow_since(package, since)).then(|| pinned.cited())
}

fn report_arrays(script: &Script, at: &At, work: &Work, drawn: Place, release: &str, out: &mut Findings) {
    let at = At { place: drawn, calls: Rc::from([]), ..at.clone() };
    let message = "all DataLoader workers start with the same NumPy random state, so augmentations repeat";
    let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
    if let Some(place) = work.workers_place {
        finding = finding.because(place, in_words(work.workers));
    }
    out.push(
        finding
            .note(format!(
                "PyTorch seeds NumPy in each worker since 1.9, and this project requires {release}"
            ))
            .help("call `np.random.seed(torch.initial_seed() % 2**32)` in `worker_init_fn`"),
        &at,
    );
}

/// One function that seeds is one mistake, and so is one generator, however often numbers are drawn.
fn shared_seeds(work: &Work) -> impl Iterator<Item = SharedSeed<'_>> {
    let seeded = work.seeded.split_first();
    let seeded = seeded.map(|(place, others)| SharedSeed { place: *place, generator: None, others });
    let drawn = work.drawn.iter().filter(|_| !work.initialised);
    let drawn = drawn.map(|(place, made)| SharedSeed { place: *place, generator: Some(*made), others: &[] });
    seeded.into_iter().chain(drawn)
}

fn report(script: &Script, at: &At, work: &Work, seed: &SharedSeed<'_>, out: &mut Findings) {
    let at = At { place: seed.place, calls: Rc::from([]), ..at.clone() };
    let (message, help) = match seed.generator {
        Some(_) => (
            "all DataLoader workers share this RNG state, so augmentations repeat",
            "create the generator inside the worker, seeded with `torch.initial_seed()`",
        ),
        None => (
            "all DataLoader workers use the same seed, so augmentations repeat",
            "seed with `torch.initial_seed() % 2**32`, or add the worker id",
        ),
    };
    let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
    if let Some(made) = seed.generator {
        finding = finding.because(made, "created once and copied into each worker");
    }
    for other in seed.others {
        finding = finding.because(*other, "and so is this generator");
    }
    if let Some(place) = work.workers_place {
        finding = finding.because(place, in_words(work.workers));
    }
    out.push(
        finding.note("samples from different workers get identical random augmentations").help(help),
        &at,
    );
}
