//! A graph that is kept though nobody walks it again.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::replay::{Demand, Replay};
use crate::report::{FileId, Fix, Place, Severity};
use crate::trace::{At, BackwardPass, Effect, GraphRetained, Visit, visits};
use crate::values::Kept;

pub(super) static RULE: Rule = Rule {
    id: "needless-retain-graph",
    summary: "`retain_graph=True` keeps a graph that no second backward uses",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Memory,
    page: page!("needless-retain-graph"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for at in graphs_kept_in_vain(script) {
        let held = Some(script.kept_around(at)).filter(|kept| *kept > 0).map(|kept| {
            Replay::Memory(Demand {
                wasted: true,
                ..Demand::of("the graph kept until the next one is built", kept)
            })
        });
        let fix = script.without_argument(at.place, "retain_graph");
        out.push(
            script
                .finding(RULE.id, RULE.severity, at, "`retain_graph=True` keeps the graph in memory, but no second backward uses it")
                .note("activations stay allocated until the next forward finishes, so two iterations are in memory at once")
                .replay(held)
                .fix(fix.map(|edits| Fix::safe("remove `retain_graph=True`", edits)))
                .help("call `backward()` without `retain_graph=True`"),
            at,
        );
    }
}

/// Backward passes that keep a graph which no other goes through: in a loop, or in an update that is called again and again.
fn graphs_kept_in_vain<'a>(script: &Script<'a>) -> Vec<&'a At> {
    // A graph of which we know nothing may be any of those that its file makes.
    let mut unknown: Vec<FileId> =
        script.rehearsal.unknown_backwards.iter().map(|place| place.file).collect();
    unknown.dedup();
    let retained = script.observed_once_where(|at, _: &GraphRetained| {
        (!at.loops.is_empty() || is_of_update(script, at)) && !unknown.contains(&at.place.file)
    });
    retained.map(|(at, _)| at).filter(|at| !is_walked_later(script, at.place)).collect()
}

/// Whether a method that nothing here calls goes back and steps, in no loop: its callers do for each batch.
fn is_of_update(script: &Script, at: &At) -> bool {
    let Some(key) = at.seeded else { return false };
    let function = script.project.module(key.file).tree.function(key.function);
    if function.class.is_none() || function.is_generator {
        return false;
    }
    let acts = |effect: &Effect| matches!(effect, Effect::Step { .. } | Effect::Backward { .. });
    script.rehearsal.entries.iter().filter(|entry| entry.function == Some(key)).any(|entry| {
        let all = visits(&entry.nodes, acts);
        let (steps, passes): (Vec<&Visit>, Vec<&Visit>) =
            all.iter().partition(|visit| matches!(visit.event.effect, Effect::Step { .. }));
        let own = passes.into_iter().find(|pass| pass.event.place == at.place);
        own.is_some_and(|own| steps.iter().any(|step| step.loops == own.loops))
    })
}

/// Whether anything goes through what a backward has walked, after it.
fn is_walked_later(script: &Script, backward: Place) -> bool {
    let backward_passes = &script.rehearsal.backward_passes;
    let here = |walk: &u32| backward_passes[*walk as usize].place == backward;
    let unknown = |walk: &&BackwardPass| walk.others;
    let (own, other): (Vec<&BackwardPass>, Vec<&BackwardPass>) =
        backward_passes.iter().filter(unknown).partition(|walk| walk.place == backward);
    // What we do not know of two graphs may be the same, but for those of two loops: each goes back through its own.
    let may_share =
        |a: &BackwardPass, b: &BackwardPass| a.loops.starts_with(&b.loops) || b.loops.starts_with(&a.loops);
    if own.iter().any(|own| other.iter().any(|other| may_share(own, other))) {
        return true;
    }
    let kept = script.rehearsal.heap.state::<Kept>();
    // Somebody had it before, and ran again before a step put an end to it.
    let is_open =
        |walk: &u32| backward_passes[*walk as usize].open || kept.is_some_and(|kept| kept.contains(*walk));
    script.rehearsal.parts.iter().any(|part| {
        let Some(first) = part.walks.iter().position(here) else { return false };
        part.escaped || part.told && part.walks.iter().any(is_open) || first + 1 < part.walks.len()
    })
}
