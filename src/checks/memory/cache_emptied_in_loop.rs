//! Caches that are emptied in each step.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Line;
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::trace::{At, Effect, Emptied, LoopId, Over, Visit, visits};

pub(super) static RULE: Rule = Rule {
    id: "cache-emptied-in-loop",
    summary: "`torch.cuda.empty_cache()` or `gc.collect()` is called every training step",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cache-emptied-in-loop"),
    check,
};

/// Memory is handed back in each step.
struct EmptiedCache {
    at: At,
    what: Emptied,
    /// The step, or the backward pass, of the same iteration.
    step: Option<Place>,
    /// Where the same iteration does it once more.
    others: Vec<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    for emptied in emptied_caches(script) {
        let (message, note) = match emptied.what {
            Emptied::Cache => (
                "emptying the cache every step slows training: memory is freed and allocated again",
                "PyTorch reuses cached memory in the next step; emptying the cache does not leave more memory for this process",
            ),
            Emptied::Garbage => (
                "every step waits for a full garbage collection",
                "tensors are freed as soon as their last reference is gone; only reference cycles need the garbage collector",
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &emptied.at, message);
        if let Some(step) = emptied.step {
            finding = finding.because(step, "called in the same iteration as this");
        }
        for other in &emptied.others {
            finding = finding.because(*other, "and again here");
        }
        let fix = calls_removed(script, &emptied).map(|edits| Fix::guess("remove the call", edits));
        out.push(
            finding
                .fix(fix)
                .note(note)
                .help("remove it, or move it after the loop, between training and validation"),
            &emptied.at,
        );
    }
}

fn emptied_caches(script: &Script) -> Vec<EmptiedCache> {
    let mut found: Vec<EmptiedCache> = Vec::new();
    let mut loops: Vec<LoopId> = Vec::new();
    for entry in &script.rehearsal.entries {
        let all = visits(&entry.nodes, |effect| {
            matches!(
                effect,
                Effect::Empty { .. }
                    | Effect::Step { .. }
                    | Effect::UnseenStep
                    | Effect::Backward { .. }
                    | Effect::Forward { .. }
            )
        });
        for visit in &all {
            let Effect::Empty { what } = visit.event.effect else { continue };
            let Some(innermost) = visit.innermost().filter(|_| visit.always) else { continue };
            if trains_within(innermost, &all) {
                continue;
            }
            let step = step_of_iteration(script, innermost, &all);
            let loaded = matches!(script.rehearsal.loop_info(innermost).over, Over::Loader(_));
            if step.is_none() && !loaded {
                continue;
            }
            match loops.iter().position(|known| *known == innermost) {
                Some(at) => found[at].others.push(visit.event.place),
                None => {
                    loops.push(innermost);
                    let at = visit.at(entry.function);
                    let step = step.filter(|step| step.file == at.place.file);
                    found.push(EmptiedCache { at, what, step, others: Vec::new() });
                }
            }
        }
    }
    found
}

/// Whether an iteration has a loop of training steps in it: it is an epoch, or an episode.
fn trains_within(id: LoopId, all: &[Visit]) -> bool {
    let deeper = |visit: &&Visit| visit.loops.contains(&id) && visit.innermost() != Some(id);
    let goes_back = |step: &Visit| {
        let same = |visit: &&Visit| visit.innermost() == step.innermost();
        all.iter().filter(same).any(|visit| matches!(visit.event.effect, Effect::Backward { .. }))
    };
    let mut steps =
        all.iter().filter(deeper).filter(|visit| matches!(visit.event.effect, Effect::Step { .. }));
    steps.any(goes_back)
}

/// Where each iteration of a loop takes a step of training, or runs a model on a batch.
fn step_of_iteration(script: &Script, id: LoopId, all: &[Visit]) -> Option<Place> {
    let here = |visit: &&Visit| visit.innermost() == Some(id);
    let first = |wanted: fn(&Effect) -> bool| {
        all.iter().filter(here).find(|visit| wanted(&visit.event.effect)).map(|visit| visit.event.place)
    };
    let step = first(|effect| matches!(effect, Effect::Step { .. }));
    let backward = || first(|effect| matches!(effect, Effect::Backward { .. }));
    // What steps and is not known may be an optimizer only where there are gradients.
    let unseen = || first(|effect| matches!(effect, Effect::UnseenStep)).filter(|_| backward().is_some());
    let step = step.or_else(unseen);
    let forward = || first(|effect| matches!(effect, Effect::Forward { .. }));
    match script.rehearsal.loop_info(id).over {
        Over::Loader(_) => step.or_else(backward).or_else(forward),
        // Without a step it measures something, or looks at gradients.
        Over::Counter | Over::Other => step,
    }
}

/// The statements that hand memory back removed, all of one iteration.
fn calls_removed(script: &Script, emptied: &EmptiedCache) -> Option<Vec<Edit>> {
    let place = emptied.at.place;
    let draft = script.draft(place.file);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for other in [place].iter().chain(&emptied.others) {
        let line =
            draft.line_at(other.span).filter(|line| other.file == place.file && line.code == other.span)?;
        if !lines.iter().any(|known| known.stmt == line.stmt) {
            lines.push(line);
        }
    }
    let stays = |line: &Line<'_>| {
        let block = draft.beside(line.stmt).map_or(&[][..], |(block, _)| block);
        block.iter().any(|stmt| !lines.iter().any(|line| line.stmt == *stmt))
    };
    lines.iter().all(stays).then(|| lines.iter().map(|line| draft.remove(*line)).collect())?
}
