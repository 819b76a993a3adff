//! Gradients that are applied while they are still multiplied by the scale of a scaler.

use super::scaled_gradients::{Gradients, ask_scaling};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::timeline::{Kind, Whose};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::trace::{At, Effect, ScalerAct};

pub(super) static RULE: Rule = Rule {
    id: "step-bypasses-scaler",
    summary: "`optimizer.step()` is called directly on gradients scaled by `GradScaler`",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("step-bypasses-scaler"),
    check,
};

/// A step that applies gradients that are still multiplied by the scale.
struct BypassedScaler {
    at: At,
    optimizer: String,
    scaler: String,
    backward: Place,
}

fn check(script: &Script, out: &mut Findings) {
    for step in bypassed_scalers(script) {
        let message =
            format!("`{}` applies gradients that are still multiplied by the loss scale", step.optimizer);
        let finding = script
            .finding(RULE.id, RULE.severity, &step.at, message)
            .because(step.backward, "the loss is scaled here")
            .note("the loss scale starts at 65536, and steps with inf/NaN gradients are no longer skipped")
            .help(format!("call `{0}.step({1})`, then `{0}.update()`", step.scaler, step.optimizer))
            .replay(script.replay_of_order(step.at.place, Repair::StepByScaler));
        let fix = stepped_by_scaler(script, &step).map(|edits| Fix::safe("step through the scaler", edits));
        out.push(finding.fix(fix), &step.at);
    }
}

fn bypassed_scalers(script: &Script) -> Vec<BypassedScaler> {
    ask_scaling(script, |run, index| {
        let step = &run.moments[index].event;
        let through = |kind: &Kind| {
            matches!(kind, Kind::Step { whose: Whose::Own, scaler: Some(_) } | Kind::Unscale(_))
        };
        if step.kind != (Kind::Step { whose: Whose::Own, scaler: None })
            || !run.is_multiplied(index, &[Gradients::Plain], through)
        {
            return None;
        }
        let (backward, scaler) = run.scaled_backward(index)?;
        let (at, backward) = (run.at(step), backward.place);
        let (optimizer, scaler) = (script.optimizer_name(run.timeline.optimizer), script.scaler_name(scaler));
        Some((at.place, BypassedScaler { at, optimizer, scaler, backward }))
    })
}

/// A step through the scaler that the backward pass goes through.
fn stepped_by_scaler(script: &Script, step: &BypassedScaler) -> Option<Vec<Edit>> {
    let place = step.at.place;
    let draft = script.draft(place.file);
    let scaler = scaler_of_backward(step.backward, draft)?;
    let written = script.step_in(step.backward, place)?;
    let call = draft.call_at(place.span).filter(|call| call.args.is_empty())?;
    // A backward pass in one arm of a branch says nothing of the other.
    let (block, _) = draft.beside(draft.statement_at(step.backward.span)?)?;
    draft.statements_around(place.span).iter().find(|stmt| block.contains(stmt))?;
    let mut edits = vec![draft.replace(call.span, format!("{scaler}.step({})", written.optimizer))];
    if !updates_scale(script) {
        edits.push(draft.insert_after(written.line, &format!("{scaler}.update()")));
    }
    Some(edits)
}

/// What the script calls the scaler in `scaler.scale(loss).backward()`.
fn scaler_of_backward<'a>(backward: Place, draft: Draft<'a>) -> Option<&'a str> {
    let (scaled, _) = draft.receiver(draft.call_at(backward.span)?)?;
    let (scaler, _) = draft.receiver(draft.call(scaled)?)?;
    draft.plain(scaler)
}

fn updates_scale(script: &Script) -> bool {
    !script.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Update, .. })).is_empty()
}
