//! Gradients of several batches that are summed where their mean is meant.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Parts, Timeline, Whose, reached};
use crate::facts::{Findings, Repair, Script};
use crate::report::{Place, Severity};
use crate::trace::{At, Sight};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "unscaled-accumulation",
    summary: "accumulated gradients are not divided by the number of micro-batches",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("unscaled-accumulation"),
    check,
};

/// A backward whose gradients are added to those of other batches at full size.
struct FullSize {
    at: At,
    severity: Severity,
    optimizer: String,
    step: Place,
    /// How many batches one step sums, where that is known.
    batches: Option<i64>,
    /// The steps of the optimizer grow with the gradients.
    is_proportional: bool,
}

fn check(script: &Script, out: &mut Findings) {
    for sum in full_size_gradients(script) {
        let message = match sum.batches {
            Some(batches) => {
                format!(
                    "each step sums the gradients of {batches} micro-batches without dividing by {batches}"
                )
            }
            None => "each step sums the gradients of several micro-batches without dividing by their number"
                .to_owned(),
        };
        let times = sum.batches.map_or("that many".to_owned(), |batches| batches.to_string());
        let cost = if sum.is_proportional {
            format!("the effective learning rate is {times} times the configured one")
        } else {
            "gradient clipping, weight decay and epsilon act on gradients that are too large".to_owned()
        };
        let divisor =
            sum.batches.map_or("the number of micro-batches".to_owned(), |batches| batches.to_string());
        out.push(
            script
                .finding(RULE.id, sum.severity, &sum.at, message)
                .because(sum.step, format!("`{}` takes one step for all of them", sum.optimizer))
                .note(cost)
                .replay(script.replay_of_order(sum.step, Repair::Divide))
                .help(format!("divide the loss by {divisor} before `backward()`")),
            &sum.at,
        );
    }
}

fn full_size_gradients(script: &Script) -> Vec<FullSize> {
    let mut found: Vec<FullSize> = Vec::new();
    for timeline in script.timelines(Parts::Together) {
        if timeline.state.managed {
            continue;
        }
        let events = reached(&timeline);
        for step in events.iter().filter(|event| event.is_own_step()) {
            let one = full_size(script, &timeline, &events, step);
            found.extend(one.filter(|one| found.iter().all(|other| other.at.place != one.at.place)));
        }
    }
    found
}

/// The backward of each iteration, where a step is taken every so often and nothing makes a mean.
fn full_size(
    script: &Script,
    timeline: &Timeline,
    events: &[Rc<OptimizerEvent>],
    step: &OptimizerEvent,
) -> Option<FullSize> {
    let (pace, iteration) = (step.pace.as_ref()?, *step.loops.last()?);
    let within = || events.iter().filter(|event| event.is_in(iteration));
    let batches = pace.every.known();
    if batches.is_some_and(|every| every <= 1) || within().any(|event| ends_accumulation(event)) {
        return None;
    }
    let is_micro_batch = |event: &OptimizerEvent| {
        event.is_backward() && event.pace.is_none() && event.loops.last() == Some(&iteration)
    };
    let backward = within().find(|event| is_micro_batch(event))?;
    if !is_averaged_at(script, backward.place) || starts_over(within().filter(|one| one.pace == step.pace)) {
        return None;
    }
    let is_proportional = timeline.state.proportional;
    // Clipped, or divided by their own size, the gradients lose the factor again; and where only the user
    // knows how many, it may be one.
    let clips = within().any(|event| event.kind == Kind::Clip(Certainty::Must));
    let shows = is_proportional && !clips && (batches.is_some() || !pace.given);
    Some(FullSize {
        at: timeline.at(backward, step.confidence),
        severity: if shows { Severity::Warning } else { Severity::Note },
        optimizer: script.optimizer_name(timeline.optimizer),
        step: step.place,
        batches,
        is_proportional,
    })
}

/// Whether what is done as often as the step clears the gradients and makes its own.
fn starts_over<'e>(mut paced: impl Iterator<Item = &'e Rc<OptimizerEvent>>) -> bool {
    let clears =
        |event: &Rc<OptimizerEvent>| matches!(event.kind, Kind::Clear { certainty: Certainty::Must, .. });
    paced.any(clears) && paced.any(|event| event.is_backward())
}

/// Whether the loss of a backward is the mean of its batch, on every path that leads there.
fn is_averaged_at(script: &Script, place: Place) -> bool {
    let averaged: Vec<bool> = script
        .sightings()
        .filter_map(|(at, sight)| match sight {
            Sight::Backward { loss, .. } if at.place == place => Some(loss.averaged),
            _ => None,
        })
        .collect();
    !averaged.is_empty() && averaged.into_iter().all(|averaged| averaged)
}

/// Whether gradients do not accumulate past an event, or may be divided there.
fn ends_accumulation(event: &OptimizerEvent) -> bool {
    match &event.kind {
        // Stepped or cleared outside of the branch, nothing accumulates.
        Kind::Step { whose: Whose::Own, .. } | Kind::Clear { .. } => event.pace.is_none(),
        Kind::Backward { certainty: Certainty::May, .. }
        | Kind::Step { whose: Whose::Shared, .. }
        | Kind::UnseenStep
        | Kind::Changed
        | Kind::Read(_) => true,
        Kind::Touched(touched) => touched.gradients,
        _ => false,
    }
}
