//! A scale that is not chosen anew after a step, or at the wrong time.

use super::scaled_gradients::{Gradients, ScalerUse, ScalingRun, ask_scaling};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Parts, Whose, reached};
use crate::facts::{Findings, Repair, Script, WrittenStep};
use crate::report::{Edit, Fix, Place, Severity};
use crate::trace::{At, Effect, ScalerAct};
use crate::values::ObjId;

pub(super) static RULE: Rule = Rule {
    id: "scaler-not-updated",
    summary: "`GradScaler.update()` is not called exactly once per step",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("scaler-not-updated"),
    check,
};

/// A scale that is not chosen again when it should be.
struct StaleScale {
    at: At,
    optimizer: String,
    scaler: String,
    /// The step through a scaler, if there is one.
    step: Option<Place>,
    kind: Stale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stale {
    /// Nothing on the way round updates it.
    Never,
    /// It is updated in micro-batches that do not step.
    EveryMicroBatch,
    /// It is updated between the backward and the step, which is here.
    BeforeStep(Place),
}

fn check(script: &Script, out: &mut Findings) {
    for stale in stale_scales(script) {
        let (scaler, optimizer) = (&stale.scaler, &stale.optimizer);
        let (message, help) = match stale.kind {
            Stale::Never => (
                "the second `step()` raises an error: nothing updates the scaler after the first".to_owned(),
                format!("call `{scaler}.update()` after the step"),
            ),
            Stale::EveryMicroBatch => (
                "the scaler is updated in micro-batches without a step, which raises an error".to_owned(),
                format!("call `{scaler}.update()` right after `{scaler}.step({optimizer})`"),
            ),
            Stale::BeforeStep(_) => (
                format!("the loss scale changes between the backward pass and the step of `{optimizer}`"),
                format!("call `{scaler}.update()` once, after the last step"),
            ),
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &stale.at, message).help(help);
        finding = finding.replay(stale.step.and_then(|step| script.replay_of_order(step, Repair::Update)));
        if let Stale::BeforeStep(step) = stale.kind {
            finding = finding.because(step, "unscales by a different factor than the loss was scaled with");
        }
        let fix = match stale.kind {
            Stale::Never => updated_after_step(script, &stale, "update"),
            Stale::EveryMicroBatch | Stale::BeforeStep(_) => update_moved(script, &stale),
        };
        let fix = fix.map(|edits| Fix::safe(title(stale.kind, scaler), edits));
        out.push(finding.fix(fix), &stale.at);
    }
}

fn title(kind: Stale, scaler: &str) -> String {
    match kind {
        Stale::Never => format!("insert `{scaler}.update()` after the step"),
        Stale::EveryMicroBatch | Stale::BeforeStep(_) => format!("move `{scaler}.update()` after the step"),
    }
}

fn stale_scales(script: &Script) -> Vec<StaleScale> {
    ask_scaling(script, |run, index| {
        let (kind, scaler) = stale(run, index)?;
        if kind == Stale::EveryMicroBatch && steps_for_another(script, run, scaler, index) {
            return None;
        }
        let at = run.at(&run.moments[index].event);
        let (optimizer, scaler) = (script.optimizer_name(run.timeline.optimizer), script.scaler_name(scaler));
        let step = run.scaled_step(index);
        Some((at.place, StaleScale { at, optimizer, scaler, step, kind }))
    })
}

/// Whether each iteration of an update steps another optimizer through the same scaler: what it asks for is there.
fn steps_for_another(script: &Script, run: &ScalingRun, scaler: ObjId, update: usize) -> bool {
    let update = &run.moments[update].event;
    let steps = |event: &OptimizerEvent| {
        let kind = Kind::Step { whose: Whose::Own, scaler: Some(scaler) };
        event.kind == kind && event.loops == update.loops && event.pace.is_none() && !event.conditional
    };
    let timelines = script.timelines(Parts::Together);
    let mut others = timelines.iter().filter(|other| other.entry == run.timeline.entry);
    others.any(|other| reached(other).iter().any(|event| steps(event)))
}

/// How the scale of a step, or an update, is not what it should be.
fn stale(run: &ScalingRun, index: usize) -> Option<(Stale, ObjId)> {
    let moment = &run.moments[index];
    let gradients = moment.before.gradients;
    match moment.event.kind {
        Kind::Step { whose: Whose::Own, scaler: Some(scaler) } => {
            let updated = run.events().any(|event| matches!(event.kind, Kind::Update { .. }));
            let uses = moment.before.scaler;
            let again = uses.may_be(&[ScalerUse::Stepped]) && !uses.may_be(&[ScalerUse::Foreign]);
            (again && !updated).then_some((Stale::Never, scaler))
        }
        Kind::Update { scaler } if gradients.may_be(&[Gradients::Held]) => {
            // What the last batches of an earlier training left waits for no step.
            let adds = |event: &OptimizerEvent| {
                matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. })
            };
            let within = |event: &OptimizerEvent| event.loops.starts_with(&moment.event.loops);
            let goes_on = run.events().any(|event| adds(event) && within(event));
            goes_on.then_some((Stale::EveryMicroBatch, scaler))
        }
        Kind::Update { scaler } if gradients.must_be(&[Gradients::Scaled]) => {
            let through = Kind::Step { whose: Whose::Own, scaler: Some(scaler) };
            let step = run.moments[index..].iter().find(|later| later.event.kind == through)?;
            let stale = step.before.gradients.must_be(&[Gradients::Stale]);
            stale.then_some((Stale::BeforeStep(step.event.place), scaler))
        }
        _ => None,
    }
}

/// A call of the scaler's `method` behind the last of the steps that stand beside each other.
fn updated_after_step(script: &Script, stale: &StaleScale, method: &str) -> Option<Vec<Edit>> {
    let step = script.written_step(stale.at.place)?;
    let draft = script.draft(stale.at.place.file);
    let last = last_scaled_step(script, stale.at.place, draft)?;
    Some(vec![draft.insert_after(last.line, &format!("{}.{method}()", step.scaler?))])
}

/// The update of a scale moved behind the last of the steps, or removed where one is there already.
fn update_moved(script: &Script, stale: &StaleScale) -> Option<Vec<Edit>> {
    let (update, step) = (stale.at.place, stale.step?);
    let draft = script.draft(update.file);
    script.step_in(update, step)?;
    let (line, last) = (draft.line_at(update.span)?, last_scaled_step(script, step, draft)?.line);
    let (block, at) = draft.beside(last.stmt)?;
    let updates = script.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Update, .. }));
    let is_there = updates.iter().filter(|other| other.file == update.file).any(|other| {
        draft.statement_at(other.span).is_some_and(|stmt| block[at..].contains(&stmt) && stmt != line.stmt)
    });
    if is_there { Some(vec![draft.remove(line)?]) } else { draft.move_after(line, last) }
}

fn last_scaled_step<'a>(script: &Script<'a>, place: Place, draft: Draft<'a>) -> Option<WrittenStep<'a>> {
    let (block, _) = draft.beside(draft.statement_at(place.span)?)?;
    let steps = script.steps_of_all().into_iter().filter(|step| step.file == place.file);
    let beside = |step: &WrittenStep| step.scaler.is_some() && block.contains(&step.line.stmt);
    let steps = steps.filter_map(|step| script.written_step(step)).filter(beside);
    steps.max_by_key(|step| step.line.code.start)
}
