//! Gradients that are cleared before anything was done with them.

use super::gradients::{GradientCycle, GradientMoment, Gradients, backwards_in, confidence, is_unused};
use super::repairs::{in_one_function, leading_backward};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Parts, run};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Edit, Fix, Place, Severity, Span};
use crate::syntax::{StmtId, StmtKind};
use crate::trace::{At, Effect, LoopId};

pub(super) static RULE: Rule = Rule {
    id: "misplaced-zero-grad",
    summary: "gradients are zeroed before the step that should apply them",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("misplaced-zero-grad"),
    check,
};

/// A clearing that throws away gradients nobody used.
struct ClearedEarly {
    at: At,
    kind: Misplaced,
    backward: Place,
    /// All that add to the gradients in the same iteration.
    backwards: Vec<Place>,
    step: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misplaced {
    /// Between the backward and the step.
    BeforeStep,
    /// In every micro-batch of an accumulation.
    EveryMicroBatch,
}

fn check(script: &Script, out: &mut Findings) {
    for clear in misplaced_clears(script) {
        let (message, help) = match clear.kind {
            Misplaced::BeforeStep => (
                "gradients are zeroed before the optimizer step applies them",
                "move `zero_grad()` after the step, or before the backward pass",
            ),
            Misplaced::EveryMicroBatch => (
                "gradients are zeroed every micro-batch, so nothing accumulates",
                "call `zero_grad()` in the branch that steps",
            ),
        };
        let fix = clear_moved(script, &clear).map(|edits| Fix::safe("move `zero_grad()`", edits));
        let finding = script
            .finding(RULE.id, RULE.severity, &clear.at, message)
            .because(clear.backward, "the gradients computed here are lost")
            .because(clear.step, "so this step uses zeroed gradients")
            .replay(script.replay_of_order(clear.step, Repair::Clear));
        out.push(finding.fix(fix).help(help), &clear.at);
    }
}

fn misplaced_clears(script: &Script) -> Vec<ClearedEarly> {
    let mut found: Vec<ClearedEarly> = Vec::new();
    for timeline in script.timelines_by_options(Parts::Apart) {
        let moments = run::<GradientCycle>(&timeline);
        let Some(backward) = moments.iter().map(|moment| &moment.event).find(|event| event.is_backward())
        else {
            continue;
        };
        for (index, clear) in moments.iter().enumerate() {
            let Some((kind, step)) = lost(clear, index, &moments) else { continue };
            // Cleared twice is lost once.
            if found.iter().any(|other| other.step == step) {
                continue;
            }
            found.push(ClearedEarly {
                at: timeline.at(&clear.event, confidence(backward)),
                kind,
                backward: backward.place,
                backwards: backwards_beside(&clear.event, &moments),
                step,
            });
        }
    }
    found
}

/// What adds to the gradients in the iteration of an event, or, outside of loops, in its call.
fn backwards_beside(event: &OptimizerEvent, moments: &[GradientMoment]) -> Vec<Place> {
    match event.loops.last() {
        Some(iteration) => backwards_in(*iteration, moments),
        None => {
            let beside = |other: &&OptimizerEvent| other.is_backward() && other.calls == event.calls;
            moments.iter().map(|moment| &*moment.event).filter(beside).map(|other| other.place).collect()
        }
    }
}

/// How a clearing loses gradients, and the step that goes without them.
fn lost(clear: &GradientMoment, index: usize, moments: &[GradientMoment]) -> Option<(Misplaced, Place)> {
    let innermost = clear.event.loops.last().copied();
    let around = |event: &OptimizerEvent| innermost.is_some_and(|iteration| event.is_in(iteration));
    if !matches!(clear.event.kind, Kind::Clear { certainty: Certainty::Must, .. })
        || may_be_used(index, moments)
        || moments.iter().any(|other| is_touch(&other.event) && around(&other.event))
    {
        return None;
    }
    if is_unused(clear.before) {
        let step = step_without(clear, &moments[index..])?;
        return Some((Misplaced::BeforeStep, step.place));
    }
    if let Some(step) = never_with_gradients(clear, index, moments) {
        return Some((Misplaced::BeforeStep, step.place));
    }
    every_micro_batch(clear, innermost?, moments).map(|step| (Misplaced::EveryMicroBatch, step))
}

/// The next step, where it has nothing to apply.
fn step_without<'m>(clear: &GradientMoment, after: &'m [GradientMoment]) -> Option<&'m OptimizerEvent> {
    let step = after.iter().find(|moment| moment.event.is_own_step())?;
    // Outside of loops, a step elsewhere may be one that is meant to do nothing.
    let beside = step.event.calls == clear.event.calls && step.event.loops == clear.event.loops;
    let without = step.before.must_be(&[Gradients::Lost]);
    (without && (beside || !clear.event.loops.is_empty())).then_some(&*step.event)
}

/// The step behind a clearing that stands between it and the only backward, whoever made that loss: in no iteration has
/// it anything to apply.
fn never_with_gradients<'m>(
    clear: &GradientMoment,
    index: usize,
    moments: &'m [GradientMoment],
) -> Option<&'m OptimizerEvent> {
    let beside = |other: &OptimizerEvent| {
        other.calls == clear.event.calls && other.loops == clear.event.loops && !other.conditional
    };
    // Backward passes and steps alone, also those of another optimizer: the first on either side of the clearing.
    let is_told = |moment: &&GradientMoment| {
        moment.event.is_backward() || matches!(moment.event.kind, Kind::Step { .. })
    };
    let backward = moments[..index].iter().rfind(is_told).filter(|moment| moment.event.is_backward())?;
    let step = moments[index..].iter().find(is_told).filter(|moment| moment.event.is_own_step())?;
    let without = step.before.must_be(&[Gradients::Clean, Gradients::Lost]);
    let in_row = beside(&clear.event) && beside(&backward.event) && beside(&step.event);
    (without && in_row && !clear.event.loops.is_empty()).then_some(&*step.event)
}

/// The step of an accumulation that clears in each iteration of this loop.
fn every_micro_batch(clear: &GradientMoment, innermost: LoopId, moments: &[GradientMoment]) -> Option<Place> {
    let within = || moments.iter().filter(|moment| moment.event.is_in(innermost));
    let step = within().find(|moment| moment.event.is_own_step())?;
    // What is cleared at the first batch alone was left by an earlier epoch.
    if clear.event.conditional {
        return None;
    }
    // A branch that computes its own gradients before it steps does not wait for those of other iterations.
    let is_beside = |event: &OptimizerEvent| event.pace.is_some() && event.pace == step.event.pace;
    if within().any(|moment| moment.event.is_backward() && is_beside(&moment.event)) {
        return None;
    }
    // What is cleared around the loop of the micro-batches is only what was left over.
    let each = |event: &OptimizerEvent| event.is_backward() && event.loops.last() == Some(&innermost);
    if !within().any(|moment| each(&moment.event)) {
        return None;
    }
    let skips = clear.before.may_be(&[Gradients::Skipped])
        && !clear.before.may_be(&[Gradients::Foreign, Gradients::Fresh, Gradients::Mixed]);
    skips.then_some(step.event.place)
}

/// Whether anything looked at the gradients between the last backward and a clearing.
fn may_be_used(clear: usize, moments: &[GradientMoment]) -> bool {
    let since = moments[..clear].iter().rposition(|moment| moment.event.is_backward()).unwrap_or(0);
    let reads = |event: &OptimizerEvent| event.kind == Kind::Read(Certainty::Must) || is_touch(event);
    moments[since..clear].iter().any(|moment| reads(&moment.event))
}

/// A call that is not understood may use gradients anywhere in the loop.
fn is_touch(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Touched(touched) if touched.gradients)
}

/// A clearing moved to where gradients have been used: before the backward passes beside it, else behind the
/// step.
fn clear_moved(script: &Script, clear: &ClearedEarly) -> Option<Vec<Edit>> {
    let (draft, [clearing, _]) = in_one_function(script, [clear.at.place, clear.step])?;
    let line = draft.line_at(clearing)?;
    // What clears parameter by parameter, in a loop of its own, is more than one statement.
    let is_for = |stmt: &&StmtId| matches!(draft.statement(**stmt).kind, StmtKind::For { .. });
    let around = draft.statements_around(clearing);
    let loop_around = around.iter().rfind(is_for).map(|stmt| draft.statement(*stmt).span);
    if loop_around.is_some_and(|around| !around.contains(clear.step.span)) {
        return None;
    }
    if clear.kind == Misplaced::EveryMicroBatch {
        return draft.move_after(line, draft.line_at(clear.step.span)?);
    }
    let step = script.written_step(clear.step)?;
    let (block, _) = draft.beside(line.stmt)?;
    let backward = leading_backward(script, &clear.backwards, &step, draft)
        .filter(|it| block.contains(&it.stmt) && it.code.start < line.code.start);
    // What else is cleared there would have to move as well.
    let stretch = Span::new(backward.unwrap_or(line).code.start, step.line.code.start);
    let clears = script.places_of(|effect| matches!(effect, Effect::Clear { .. }));
    let moves_alone = clears.iter().all(|other| {
        other.file != clear.at.place.file || !stretch.contains(other.span) || *other == clear.at.place
    });
    match backward.filter(|_| moves_alone) {
        Some(backward) => draft.move_before(line, backward),
        None if moves_alone => draft.move_after(line, step.line),
        None => None,
    }
}
