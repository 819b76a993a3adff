//! Clipping where there is nothing to clip, or nothing any more.

use super::repairs::in_one_function;
use crate::checks::scaler::{Gradients, ScalingRun, ScalingState, ask_scaling};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Certainty, Kind, Moment, OptimizerEvent, Whose};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::StmtId;
use crate::trace::At;

pub(super) static RULE: Rule = Rule {
    id: "misplaced-clipping",
    summary: "gradients are clipped before the backward pass or after the step",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("misplaced-clipping"),
    check,
};

/// Clipping where nothing is left to clip, or nothing yet.
struct IdleClipping {
    at: At,
    optimizer: String,
    after_step: bool,
    backward: Place,
    step: Place,
}

fn check(script: &Script, out: &mut Findings) {
    for clip in idle_clippings(script) {
        let (message, help) = match clip.after_step {
            true => {
                ("gradients are clipped after `step()` has applied them", "move clipping before the step")
            }
            false => (
                "gradients are clipped before `backward()` computes them",
                "move clipping between `backward()` and the step",
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &clip.at, message)
            .because(clip.backward, "gradients are computed here")
            .because(clip.step, format!("`{}` applies them unclipped", clip.optimizer))
            .help(help)
            .replay(script.replay_of_order(clip.step, Repair::Clip));
        let fix = clipping_moved(script, &clip);
        let fix = fix.map(|edits| Fix::safe("move clipping before the step", edits));
        out.push(finding.fix(fix), &clip.at);
    }
}

fn idle_clippings(script: &Script) -> Vec<IdleClipping> {
    ask_scaling(script, |run, index| {
        let clip = &run.moments[index].event;
        let (after_step, backward, step) = idle_clipping(run, index)?;
        let (at, optimizer) = (run.at(clip), script.optimizer_name(run.timeline.optimizer));
        let (backward, step) = (backward.place, step.place);
        Some((at.place, IdleClipping { at, optimizer, after_step, backward, step }))
    })
}

fn idle_clipping(run: &ScalingRun, index: usize) -> Option<(bool, &OptimizerEvent, &OptimizerEvent)> {
    let clip = &run.moments[index];
    let idle = clip.before.gradients.must_be(&[Gradients::Clean, Gradients::Applied]);
    if !matches!(clip.event.kind, Kind::Clip(_)) || !idle {
        return None;
    }
    let iteration = clip.event.loops.last();
    let here = |event: &OptimizerEvent| iteration.is_none_or(|id| event.is_in(*id));
    let backward = |event: &OptimizerEvent| {
        matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. }) && here(event)
    };
    let step =
        |event: &&OptimizerEvent| matches!(event.kind, Kind::Step { whose: Whose::Own, .. }) && here(event);
    let first = run.events().position(backward)?;
    if is_cleared_unused(&run.moments[..index]) {
        return None;
    }
    let stepped = run.split(first).1.find(step)?;
    let before = run.split(index).0.rev().find(step).filter(|_| first < index);
    Some((before.is_some(), &run.moments[first].event, before.unwrap_or(stepped)))
}

/// Whether what the last backward added is cleared before any step: it was not clipped too early, and its clearing is
/// what is misplaced.
fn is_cleared_unused(before: &[Moment<ScalingState>]) -> bool {
    let backward = before.iter().rposition(|moment| moment.event.is_backward()).unwrap_or(before.len());
    let since = before[backward..].iter().map(|moment| &moment.event.kind);
    let cleared = since.clone().any(|kind| matches!(kind, Kind::Clear { certainty: Certainty::Must, .. }));
    cleared && !since.clone().any(|kind| matches!(kind, Kind::Step { .. }))
}

/// A clipping moved between the backward pass and the step, where all three stand beside each other.
fn clipping_moved(script: &Script, clip: &IdleClipping) -> Option<Vec<Edit>> {
    let (draft, [clipping, backward, step]) =
        in_one_function(script, [clip.at.place, clip.backward, clip.step])?;
    let (line, target) = (draft.line_at(clipping)?, draft.line_at(step)?);
    let (block, at) = draft.beside(target.stmt)?;
    let position = |stmt: StmtId| block.iter().position(|other| *other == stmt);
    let backward = position(draft.statement_at(backward)?)?;
    (position(line.stmt).is_some() && backward < at).then(|| draft.move_before(line, target))?
}
