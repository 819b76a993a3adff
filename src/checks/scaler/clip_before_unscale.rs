//! Clipping of gradients that are still multiplied by the scale of a scaler.

use super::scaled_gradients::{Gradients, ask_scaling, reads_scale};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::Kind;
use crate::facts::{Findings, Repair, Script};
use crate::report::{Edit, Fix, Place, Severity, Span};
use crate::trace::{At, Effect, ScalerAct};

pub(super) static RULE: Rule = Rule {
    id: "clip-before-unscale",
    summary: "gradients are clipped before they are unscaled",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("clip-before-unscale"),
    check,
};

/// Gradients that are clipped while they are still multiplied by the scale.
struct ScaledClipping {
    at: At,
    optimizer: String,
    scaler: String,
    backward: Place,
    /// The step through a scaler, if there is one.
    step: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    for clip in scaled_clippings(script) {
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &clip.at,
                "gradients are clipped while still multiplied by the loss scale",
            )
            .because(clip.backward, "the loss is scaled here")
            .note("unscaling afterwards shrinks them far below the clipping threshold")
            .help(format!("call `{}.unscale_({})` before clipping", clip.scaler, clip.optimizer))
            .replay(clip.step.and_then(|step| script.replay_of_order(step, Repair::Unscale)));
        let fix = unscaled_first(script, &clip, "unscale_")
            .map(|edits| Fix::safe("unscale the gradients first", edits));
        out.push(finding.fix(fix), &clip.at);
    }
}

fn scaled_clippings(script: &Script) -> Vec<ScaledClipping> {
    ask_scaling(script, |run, index| {
        let clip = &run.moments[index].event;
        let unscales = |kind: &Kind| matches!(kind, Kind::Unscale(_));
        // A script that reads the scale may account for it.
        if !matches!(clip.kind, Kind::Clip(_))
            || run.split(index).0.any(reads_scale)
            || !run.is_multiplied(index, &[Gradients::Plain, Gradients::Clean], unscales)
        {
            return None;
        }
        let (backward, scaler) = run.scaled_backward(index)?;
        let (at, backward) = (run.at(clip), backward.place);
        let (optimizer, scaler) = (script.optimizer_name(run.timeline.optimizer), script.scaler_name(scaler));
        let step = run.scaled_step(index);
        Some((at.place, ScaledClipping { at, optimizer, scaler, backward, step }))
    })
}

/// Divides the gradients by the scale before they are clipped, where every clipping leads to a step.
fn unscaled_first(script: &Script, clip: &ScaledClipping, method: &str) -> Option<Vec<Edit>> {
    // Gradients are divided once, before the first of several clippings.
    let before_step =
        |other: &ScaledClipping| other.step == clip.step && other.at.place.file == clip.at.place.file;
    let all = scaled_clippings(script).into_iter().filter(before_step).map(|other| other.at.place);
    let place = all.min_by_key(|place| place.span.start)?;
    let step = script.step_in(place, clip.step?)?;
    let draft = script.draft(place.file);
    let line = draft.line_at(place.span)?;
    let (block, at) = draft.beside(step.line.stmt)?;
    let leads_there = draft.statements_around(place.span).iter().any(|stmt| block[..at].contains(stmt));
    if !leads_there {
        return None;
    }
    let unscales =
        script.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Unscale(_), .. }));
    let late =
        unscales.iter().filter(|other| other.file == place.file && other.span.start > place.span.start);
    if let Some(late) =
        late.filter_map(|late| draft.line_at(late.span)).find(|late| block.contains(&late.stmt))
    {
        return draft.move_before(late, line);
    }
    let between = Span::new(line.code.start, step.line.code.start);
    let is_known =
        |name: &str| draft.root_of(name, step.call).is_some_and(|root| !draft.binds(between, root));
    let scaler = step.scaler.filter(|scaler| is_known(scaler) && is_known(step.optimizer))?;
    Some(vec![draft.insert_before(line, &format!("{scaler}.{method}({})", step.optimizer))])
}
