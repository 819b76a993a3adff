//! A step that applies the gradients of earlier steps as well.

use super::forgotten_arm::forgets_in_an_arm;
use super::gradients::{GradientCycle, GradientMoment, Gradients, backwards_in, confidence};
use super::left_by_another::{LeftGradients, left_gradients};
use super::repairs::leading_backward;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::{Draft, Line};
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Pace, Parts, run};
use crate::facts::{Findings, Repair, Script, WrittenStep};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::trace::{At, LoopId};

pub(super) static RULE: Rule = Rule {
    id: "missing-zero-grad",
    summary: "gradients are never zeroed between optimizer steps",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("missing-zero-grad"),
    check,
};

/// A step that applies gradients of earlier steps.
struct UnclearedStep {
    at: At,
    optimizer: String,
    backward: Place,
    /// All that add to the gradients in the same iteration.
    backwards: Vec<Place>,
    /// Some branches clear, and one does not.
    in_an_arm: bool,
    /// A clearing in the same loop that does not reach this optimizer's parameters.
    other_clear: Option<Place>,
    /// A clearing that only the first iteration comes to.
    first_clear: Option<Place>,
    /// The clearings come every so many iterations, and the step in each.
    paced_clear: Option<Place>,
}

fn check(script: &Script, out: &mut Findings) {
    check_steps(script, out);
    for left in left_gradients(script) {
        check_left(script, &left, out);
    }
}

/// What the loss of another optimizer left behind a clearing.
fn check_left(script: &Script, left: &LeftGradients, out: &mut Findings) {
    let LeftGradients { at, optimizer, other, .. } = left;
    let message =
        format!("gradients accumulate across losses: this step also applies gradients of `{other}`'s loss");
    let clearing = clearing(script, at, &left.backwards).filter(|clearing| clearing.before_backward);
    let finding = script
        .finding(RULE.id, RULE.severity, at, message)
        .because(left.clear, "zeroes the gradients too early")
        .because(left.left, format!("adds to the gradients of `{optimizer}`, too"))
        .because(left.backward, "adds to them in the next iteration")
        .fix(clearing.map(Clearing::fix))
        .replay(script.replay_of_order(at.place, Repair::Clear))
        .note(format!(
            "`{other}` does not apply these, and nothing zeroes them before the next backward pass"
        ))
        .help(format!("call `{optimizer}.zero_grad()` right before the backward pass of its own loss"));
    out.push(finding, at);
}

fn check_steps(script: &Script, out: &mut Findings) {
    for step in uncleared_steps(script) {
        let (message, path) = match repeats_closure(script, &step.at) {
            true => {
                ("gradients accumulate within this step: it runs its closure more than once", "the closure")
            }
            false => (
                "gradients accumulate across steps: this step re-applies those of earlier batches",
                "the loop",
            ),
        };
        let mut finding = script
            .finding(RULE.id, RULE.severity, &step.at, message)
            .because(step.backward, "adds to gradients that were never zeroed");
        if let Some(clear) = step.other_clear {
            finding = finding.because(
                clear,
                format!("zeroes the gradients of other parameters than those in `{}`", step.optimizer),
            );
        }
        let nothing_clears = match (step.first_clear, step.paced_clear) {
            (Some(clear), _) => {
                finding = finding.because(clear, "zeroes the gradients in the first iteration only");
                format!("no later iteration zeroes the gradients of `{}`", step.optimizer)
            }
            (None, Some(clear)) => {
                finding = finding.because(clear, "zeroes the gradients every so many iterations only");
                format!("the iterations between do not zero the gradients of `{}`", step.optimizer)
            }
            (None, None) if step.in_an_arm => {
                format!(
                    "one branch of the loop zeroes the gradients of `{}`, another does not",
                    step.optimizer
                )
            }
            (None, None) => format!("no path through {path} zeroes the gradients of `{}`", step.optimizer),
        };
        // Whether the step comes too often, or the clearing too rarely, is for the author to say.
        let is_paced = step.paced_clear.is_some();
        let clearing = clearing(script, &step.at, &step.backwards).filter(|_| !is_paced);
        let fix = clearing.map(Clearing::fix);
        out.push(
            finding
                .fix(fix)
                .replay(script.replay_of_order(step.at.place, Repair::Clear))
                .note(nothing_clears)
                .help(match is_paced {
                    true => format!(
                        "call `{0}.zero_grad()` in each iteration, or `{0}.step()` as rarely",
                        step.optimizer
                    ),
                    false => format!("call `{}.zero_grad()` before the backward pass", step.optimizer),
                }),
            &step.at,
        );
    }
}

/// Whether the loop around a step is the step's own: a search that asks a closure again and again.
fn repeats_closure(script: &Script, at: &At) -> bool {
    at.loops.last().is_some_and(|id| script.rehearsal.loop_info(*id).place == at.place)
}

fn uncleared_steps(script: &Script) -> Vec<UnclearedStep> {
    let mut found: Vec<UnclearedStep> = Vec::new();
    for timeline in script.timelines_by_options(Parts::Apart) {
        let moments = run::<GradientCycle>(&timeline);
        for (index, step) in moments.iter().enumerate().filter(|(_, moment)| moment.event.is_own_step()) {
            let arms =
                |iteration| forgets_in_an_arm(script, &timeline, iteration, &moments, step.event.place);
            let Some((backward, iteration)) = uncleared(step, index, &moments, &arms) else { continue };
            // One report for a step, however many of its parameters are not cleared.
            if found.iter().any(|other| other.at.place == step.event.place) {
                continue;
            }
            // The step is surely not behind it: what is left are clearings on the way to the first one.
            let first_clear = moments.iter().find(|moment| {
                let must = matches!(moment.event.kind, Kind::Clear { certainty: Certainty::Must, .. });
                must && moment.event.conditional && moment.event.is_in(iteration)
            });
            let paced_clear = paced_clear(&step.event, iteration, &moments);
            let other_clear = moments.iter().find(|moment| moment.event.kind == Kind::ClearOther);
            let in_an_arm = !step.before.must_be(&[Gradients::Mixed]) && arms(iteration);
            let sure = if in_an_arm { Confidence::Medium } else { Confidence::High };
            found.push(UnclearedStep {
                at: timeline.at(&step.event, confidence(backward).min(sure)),
                in_an_arm,
                optimizer: script.optimizer_name(timeline.optimizer),
                backward: backward.place,
                backwards: backwards_in(iteration, &moments),
                other_clear: other_clear.map(|moment| moment.event.place),
                first_clear: first_clear.filter(|_| paced_clear.is_none()).map(|moment| moment.event.place),
                paced_clear,
            });
        }
    }
    found
}

/// The backward whose gradients a step applies on top of old ones, and their loop; `None` when it may be all
/// right.
fn uncleared<'m>(
    step: &GradientMoment,
    index: usize,
    moments: &'m [GradientMoment],
    in_an_arm: &dyn Fn(LoopId) -> bool,
) -> Option<(&'m OptimizerEvent, LoopId)> {
    let events = || moments.iter().map(|moment| &*moment.event);
    let accumulates = |id: &LoopId| events().any(|event| event.is_backward() && event.is_in(*id));
    let innermost = *step.event.loops.iter().rev().find(|id| accumulates(id))?;
    let own = |event: &&OptimizerEvent| event.is_backward() && event.is_in(innermost);
    // The one just before the step says most; a step at the head of the loop has only those after it.
    let backward = events().take(index).rfind(own).or_else(|| events().find(own))?;
    let cleared = events().any(|event| may_clear(event) && event.is_in(innermost));
    let surely = step.before.must_be(&[Gradients::Mixed]);
    // Where nothing clears, a backward that may be another optimizer's leaves the same to say.
    let may_be_mixed = step.before.may_be(&[Gradients::Mixed]);
    // Whoever had hold of them before the loop clears nothing between its iterations.
    let within = || events().filter(|event| event.is_in(innermost));
    let is_touched = || within().any(|event| matches!(event.kind, Kind::Touched(touched) if touched.clears));
    let may_be_foreign = || step.before.may_be(&[Gradients::Foreign]) && is_touched();
    let never_cleared = !cleared && may_be_mixed && !may_be_foreign();
    let too_rarely = || paced_clear(&step.event, innermost, moments).is_some();
    (surely || never_cleared || cleared && may_be_mixed && (in_an_arm(innermost) || too_rarely()))
        .then_some((backward, innermost))
}

/// The first of the clearings in an iteration, where a counter lets it come to any of them every so often, and to the
/// step each time.
fn paced_clear(step: &OptimizerEvent, iteration: LoopId, moments: &[GradientMoment]) -> Option<Place> {
    let is_rare = |pace: &Pace| pace.every.known() != Some(1);
    let clears = |event: &&OptimizerEvent| may_clear(event) && event.is_in(iteration);
    let mut clears = moments.iter().map(|moment| &*moment.event).filter(clears).peekable();
    let first = clears.peek()?.place;
    let backward =
        moments.iter().find(|moment| moment.event.is_backward() && moment.event.is_in(iteration))?;
    let each_time = |event: &OptimizerEvent| event.pace.is_none() && !event.conditional;
    // A function that steps may be told when.
    let is_beside = |event: &OptimizerEvent| event.calls == step.calls;
    let is_paced = is_beside(&backward.event)
        && clears.all(|event| event.pace.as_ref().is_some_and(is_rare) && is_beside(event));
    (is_paced && each_time(step) && each_time(&backward.event)).then_some(first)
}

/// Whether gradients may be cleared, or be of use otherwise.
fn may_clear(event: &OptimizerEvent) -> bool {
    match &event.kind {
        Kind::Clear { .. } | Kind::Made(Certainty::May) => true,
        // What a counter decides leaves the iterations between as they are.
        Kind::Touched(touched) => touched.clears && !event.conditional,
        _ => false,
    }
}

/// Where gradients are to be cleared.
struct Clearing {
    optimizer: String,
    /// Else behind the step.
    before_backward: bool,
    edits: Vec<Edit>,
}

impl Clearing {
    fn fix(self) -> Fix {
        let place = if self.before_backward { "before the backward pass" } else { "after the step" };
        Fix::safe(format!("insert `{}.zero_grad()` {place}", self.optimizer), self.edits)
    }
}

/// A call on the optimizer of a step: before the backward passes where these are beside the step, else right behind it,
/// which is as good wherever the step is.
fn clearing(script: &Script, at: &At, backwards: &[Place]) -> Option<Clearing> {
    let place = at.place;
    let draft = script.draft(place.file);
    let step = script.written_step(place)?;
    let code = format!("{}.zero_grad()", step.optimizer);
    let first = match (step.scaler, step.call.args) {
        (None, [_, ..]) => Some(backward_in_closure(place, backwards, &step, draft)?),
        _ => leading_backward(script, backwards, &step, draft),
    };
    let edit = match first {
        Some(line) => draft.insert_before(line, &code),
        None => draft.insert_after(step.line, &code),
    };
    let optimizer = step.optimizer.to_owned();
    Some(Clearing { optimizer, before_backward: first.is_some(), edits: vec![edit] })
}

/// The backward pass of the function that a step is given, and may call as often as it likes.
fn backward_in_closure<'a>(
    at: Place,
    backwards: &[Place],
    step: &WrittenStep<'a>,
    draft: Draft<'a>,
) -> Option<Line<'a>> {
    let closure = draft.positional(step.call, 0)?;
    let [backward] = backwards[..] else { return None };
    let around = draft.function_around(backward.span).filter(|_| backward.file == at.file)?;
    let is_it = draft.written(closure.value) == draft.name_of_function(around);
    draft.line_at(backward.span).filter(|_| is_it)
}
