//! Steps of an optimizer that has no gradients, because no backward pass leads to what it owns.

use super::optimizers_in_use::is_made;
use crate::checks::{Group, Replayed, Rule, graphs, page};
use crate::facts::timeline::{Kind, OptimizerEvent, Parts, Timeline, each_effect, reached, with_submodules};
use crate::facts::{Findings, Places, Script};
use crate::report::{Place, Severity};
use crate::trace::{At, Effect, EntryPoint, Sight, Visit, visits};
use crate::values::ObjSet;

pub(super) static RULE: Rule = Rule {
    id: "step-without-backward",
    summary: "the optimizer steps, but no backward pass computes the gradients of its parameters",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("step-without-backward"),
    check,
};

/// A step that changes nothing.
struct IdleStep {
    at: At,
    optimizer: String,
    forward: Place,
    /// A backward pass that leads elsewhere.
    other: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    let rehearsal = script.rehearsal;
    // A loss that goes where nobody sees may have its backward pass there.
    let is_unseen = rehearsal.parts.iter().any(|part| part.escaped || part.told);
    if is_unseen
        || detaches(script)
        || rehearsal.out_of_fuel
        || rehearsal.blind_backward
        || !rehearsal.unknown_backwards.is_empty()
    {
        return;
    }
    let mut seen = Places::default();
    for timeline in script.timelines(Parts::Together) {
        let Some(idle) = idle_step(script, &timeline) else { continue };
        if !seen.insert(idle.at.place) {
            continue;
        }
        let name = &idle.optimizer;
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &idle.at,
                format!("`{name}` has no gradients to apply, so its parameters never change"),
            )
            .because(idle.forward, "the model runs here");
        finding = match idle.other {
            Some(other) => finding
                .because(other, "the loss of this backward pass does not depend on its parameters")
                .help(format!("call `backward()` on a loss that depends on the parameters of `{name}`")),
            None => finding.help("call `loss.backward()` before the step"),
        };
        out.push(finding.note("parameters whose `.grad` is None are skipped, without an error"), &idle.at);
    }
}

fn idle_step(script: &Script, timeline: &Timeline) -> Option<IdleStep> {
    let state = &timeline.state;
    // Whose caller hands over an optimizer may have gone back for it.
    let is_handed = timeline.seeded.is_some() && !is_made(script, timeline.optimizer);
    if state.managed || state.others || state.owns.is_empty() || is_handed {
        return None;
    }
    let is_cleared = timeline.any(|kind| matches!(kind, Kind::Clear { own: true, .. }));
    if !is_cleared || timeline.any(may_give_gradients) {
        return None;
    }
    let events = reached(timeline);
    let step = events.iter().find(|event| event.is_own_step() && !event.loops.is_empty())?;
    let entry = &script.rehearsal.entries[timeline.entry];
    let forward = forward_beside(script, entry, step, &state.owns)?;
    Some(IdleStep {
        at: timeline.at(step, step.confidence),
        optimizer: script.optimizer_name(timeline.optimizer),
        forward,
        other: backward_pass(script),
    })
}

/// Whether the loss of a backward pass is detached from some model, or leads to none: that is the matter of other
/// rules.
fn detaches(script: &Script) -> bool {
    let heap = &script.rehearsal.heap;
    let mut leads_nowhere = false;
    for entry in &script.rehearsal.entries {
        each_effect(&entry.nodes, &mut |_, effect| {
            if let Effect::Backward { leaves, .. } = effect {
                leads_nowhere |= !leaves.iter().any(|leaf| heap.get(leaf).module().is_some());
            }
        });
    }
    let is_detached = |sight: &Sight| match sight {
        Sight::Backward { loss, .. } => loss.detach_points.is_some(),
        _ => false,
    };
    let is_said = || !graphs::detached_losses(script).is_empty() || !graphs::broken_graphs(script).is_empty();
    leads_nowhere || script.sightings().any(|(_, sight)| is_detached(sight)) && is_said()
}

/// Whether the gradients of an optimizer may come of an event.
fn may_give_gradients(kind: &Kind) -> bool {
    match kind {
        Kind::Backward { .. } | Kind::UnseenStep | Kind::Changed | Kind::Read(_) => true,
        Kind::Touched(touched) => touched.gradients,
        _ => false,
    }
}

/// A forward pass through what an optimizer owns, in the loop in which it steps: who shows a schedule needs none.
fn forward_beside(
    script: &Script,
    entry: &EntryPoint,
    step: &OptimizerEvent,
    owns: &ObjSet,
) -> Option<Place> {
    let heap = &script.rehearsal.heap;
    let owned = with_submodules(heap, owns);
    let unrecorded = unrecorded(script);
    let iteration = *step.loops.last()?;
    let trains = |visit: &Visit| match visit.event.effect {
        Effect::Forward { module, grad } => {
            let inside = with_submodules(heap, &ObjSet::one(module));
            inside
                .iter()
                .any(|object| owned.contains(object) && (grad != Some(false) || unrecorded.contains(object)))
        }
        _ => false,
    };
    let all = visits(&entry.nodes, |effect| matches!(effect, Effect::Forward { .. }));
    let mut beside = all.iter().filter(|visit| visit.loops.contains(&iteration) && trains(visit));
    beside.next().map(|visit| visit.event.place)
}

/// What has computed a part of a loss where no gradients are recorded.
fn unrecorded(script: &Script) -> ObjSet {
    let lost = |sight: &Sight| match sight {
        Sight::Backward { loss, .. } => {
            let points = loss.detach_points.iter().flat_map(|points| points.iter());
            points
                .filter(|point| point.by.is_none())
                .fold(ObjSet::default(), |all, point| all.union(&point.lost))
        }
        _ => ObjSet::default(),
    };
    script.sightings().fold(ObjSet::default(), |all, (_, sight)| all.union(&lost(sight)))
}

/// Any backward pass of the script.
fn backward_pass(script: &Script) -> Option<Place> {
    let mut found = None;
    for entry in &script.rehearsal.entries {
        each_effect(&entry.nodes, &mut |place, effect| {
            if matches!(effect, Effect::Backward { .. }) {
                found = found.or(Some(place));
            }
        });
    }
    found
}
