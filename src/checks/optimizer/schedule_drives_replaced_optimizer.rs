//! A schedule whose optimizer was replaced: it changes learning rates that nobody uses.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Whose, each_effect, whose};
use crate::facts::{Findings, Places, Script};
use crate::report::{Place, Severity};
use crate::trace::{At, Effect, EntryPoint, Visit, visits};
use crate::values::{ClassRef, ObjId};

pub(super) static RULE: Rule = Rule {
    id: "schedule-drives-replaced-optimizer",
    summary: "a learning rate schedule belongs to an optimizer that another one has replaced",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("schedule-drives-replaced-optimizer"),
    check,
};

/// A schedule that steps beside another optimizer than its own.
struct Idle {
    at: At,
    scheduler: String,
    made: Place,
    optimizer: String,
    /// Where the optimizer was made that steps instead, and where it steps.
    other: Place,
    step: Place,
}

fn check(script: &Script, out: &mut Findings) {
    if script.steps_unseen() {
        return;
    }
    let mut seen = Places::default();
    for entry in &script.rehearsal.entries {
        for idle in idle_schedules(script, entry) {
            if !seen.insert(idle.at.place) {
                continue;
            }
            let name = &idle.scheduler;
            let finding = script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &idle.at,
                    "the learning rate stays constant: this schedule drives an optimizer that was replaced",
                )
                .because(idle.made, "the schedule is given the first optimizer here")
                .because(idle.other, "another optimizer takes over its parameters here")
                .because(idle.step, "steps with a learning rate that no schedule changes")
                .note("a scheduler writes to the `param_groups` of the optimizer that it was created with")
                .help(format!("create `{name}` after `{}`, the optimizer that steps", idle.optimizer));
            out.push(finding, &idle.at);
        }
    }
}

fn idle_schedules(script: &Script, entry: &EntryPoint) -> Vec<Idle> {
    let all = visits(&entry.nodes, |effect| matches!(effect, Effect::Schedule { .. } | Effect::Step { .. }));
    let mut found = Vec::new();
    for schedule in &all {
        let Effect::Schedule { scheduler, optimizer: Some(optimizer) } = schedule.event.effect else {
            continue;
        };
        if !is_built_plainly(script, optimizer) || is_touched(script, optimizer) {
            continue;
        }
        let Some((other, step)) = steps_instead(script, optimizer, schedule, &all) else { continue };
        found.push(Idle {
            at: schedule.at(entry.function),
            scheduler: script.name_or(scheduler, "scheduler"),
            made: script.rehearsal.heap.get(scheduler).site,
            optimizer: script.optimizer_name(other),
            other: script.rehearsal.heap.get(other).site,
            step,
        });
    }
    found
}

/// Whether an optimizer is one of a framework, that the script itself built of parameters that are known, and not
/// one of several: who wraps an optimizer passes its learning rate on.
fn is_built_plainly(script: &Script, optimizer: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let object = heap.get(optimizer);
    let owns =
        object.optimizer().is_some_and(|state| !state.owns.is_empty() && !state.others && !state.managed);
    owns && matches!(object.class, ClassRef::Api(_)) && heap.stands_for(optimizer).len() == 1
}

/// Whether code that is not seen got hold of an optimizer.
fn is_touched(script: &Script, optimizer: ObjId) -> bool {
    let mut touched = false;
    for entry in &script.rehearsal.entries {
        each_effect(&entry.nodes, &mut |_, effect| {
            touched |= matches!(effect, Effect::Touch { objects, .. } if objects.contains(optimizer));
        });
    }
    touched
}

/// The optimizer that steps where a schedule does, and owns all that the schedule's own does, which does not step
/// there.
fn steps_instead(
    script: &Script,
    optimizer: ObjId,
    schedule: &Visit,
    all: &[Visit],
) -> Option<(ObjId, Place)> {
    let heap = &script.rehearsal.heap;
    let (training, iteration) = (*schedule.loops.first()?, schedule.innermost()?);
    let state = heap.get(optimizer).optimizer()?;
    let mut instead = None;
    for visit in all {
        let Effect::Step { optimizer: other, .. } = visit.event.effect else { continue };
        if !visit.loops.contains(&training) {
            continue;
        }
        if heap.stands_for(other).contains(optimizer) {
            return None;
        }
        let shares = whose(heap, optimizer, state, other) == Some(Whose::Shared);
        if shares && is_built_plainly(script, other) && visit.loops.contains(&iteration) {
            instead = instead.or(Some((other, visit.event.place)));
        }
    }
    instead
}
