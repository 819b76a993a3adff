//! A schedule that is made for epochs and steps in each batch, or the other way round.

use crate::apis::{Literal, Operand};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Kind, OptimizerEvent, Parts, Whose, reached};
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, Place, Severity};
use crate::trace::{At, Effect, EntryPoint, LoopId, Over, Sight, Visit, visits};
use crate::values::{ClassRef, Int, ObjId, State, Value};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "scheduler-granularity",
    summary: "a learning rate schedule made for epochs steps once per batch, or the reverse",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("scheduler-granularity"),
    check,
};

/// Batches that an epoch has at least, where nobody knows.
const BATCHES: f64 = 100.0;

/// A learning rate is spent when less than this share of it is left.
const SPENT: f64 = 0.05;

/// A schedule that steps too often, or too rarely.
struct Mismatch {
    at: At,
    scheduler: String,
    made: Place,
    step: Place,
    unit: Unit,
}

/// What a schedule counts, against where it steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Epochs, and it steps in each batch.
    Epochs,
    /// The same, and the rate falls each time.
    Decays,
    /// Batches, and it steps in each epoch.
    Batches,
    /// Samples, and it steps in each batch.
    Samples,
    /// Steps of its optimizer, and it steps in each of so many micro-batches.
    OptimizerSteps(i64),
}

/// The loops in which a schedule and its optimizer step.
struct Loops<'t> {
    schedule: &'t Visit<'t>,
    step: &'t Visit<'t>,
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    let entries = script.rehearsal.entries.iter();
    let all = entries.flat_map(|entry| mismatches(script, entry)).chain(in_micro_batches(script));
    for found in all {
        if seen.insert(found.at.place) {
            report(script, &found, out);
        }
    }
}

fn report(script: &Script, found: &Mismatch, out: &mut Findings) {
    let name = &found.scheduler;
    let mut steps = "the optimizer steps once per batch here".to_owned();
    let (message, made, help) = match found.unit {
        Unit::OptimizerSteps(every) => {
            steps = format!("the optimizer steps once per {every} micro-batches here");
            (
                &*format!("the learning rate changes {every} times per optimizer step: once per micro-batch"),
                "its length is not that of the micro-batches",
                format!("call `{name}.step()` right after the optimizer step"),
            )
        }
        Unit::Batches => (
            "the learning rate barely changes: this schedule counts batches but steps once per epoch",
            "its length is computed from the number of batches here",
            format!("call `{name}.step()` after each optimizer step, or set its length in epochs"),
        ),
        Unit::Samples => (
            "the learning rate barely changes: this schedule counts samples but steps once per batch",
            "its length is computed from the number of samples here",
            "set its length in batches: `len(loader)` instead of `len(dataset)`".to_owned(),
        ),
        Unit::Epochs => (
            "the schedule ends too early: it is as long as the epochs are many but steps once per batch",
            "its length is set in epochs here",
            format!("call `{name}.step()` once per epoch, or set its length in batches"),
        ),
        Unit::Decays => (
            "the learning rate vanishes within an epoch: this schedule steps once per batch",
            "its decay is set per epoch here",
            format!("call `{name}.step()` once per epoch, after the loop over the batches"),
        ),
    };
    let finding = script
        .finding(RULE.id, RULE.severity, &found.at, message)
        .because(found.made, made)
        .because(found.step, steps)
        .help(help);
    out.push(finding, &found.at);
}

fn mismatches(script: &Script, entry: &EntryPoint) -> Vec<Mismatch> {
    let all = visits(&entry.nodes, |effect| matches!(effect, Effect::Schedule { .. } | Effect::Step { .. }));
    let mut found = Vec::new();
    for schedule in &all {
        let Effect::Schedule { scheduler, optimizer: Some(optimizer) } = schedule.event.effect else {
            continue;
        };
        let steps = |visit: &&Visit| matches!(visit.event.effect, Effect::Step { optimizer: other, .. } if other == optimizer);
        let Some(step) = all.iter().find(steps) else { continue };
        let is_like_it = |visit: &Visit| visit.loops == step.loops;
        if !all.iter().filter(steps).all(is_like_it) || !steps_only_here(&all, schedule, scheduler) {
            continue;
        }
        let Some(unit) = mistaken(script, scheduler, &Loops { schedule, step }) else { continue };
        found.push(Mismatch {
            at: schedule.at(entry.function),
            scheduler: script.name_or(scheduler, "scheduler"),
            made: script.rehearsal.heap.get(scheduler).site,
            step: step.event.place,
            unit,
        });
    }
    found
}

/// Schedules that step in every micro-batch of an accumulation, and are not as long as the micro-batches are many.
fn in_micro_batches(script: &Script) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for timeline in script.timelines(Parts::Together) {
        let events = reached(&timeline);
        for schedule in &events {
            let Kind::Schedule { scheduler, whose: Whose::Own } = schedule.kind else { continue };
            if schedule.pace.is_some() || schedule.conditional || scheduler_is_elsewhere(&events, schedule) {
                continue;
            }
            let Some((step, every)) = paced_step(&events, schedule) else { continue };
            if !counts_steps(script, scheduler, schedule, every) {
                continue;
            }
            found.push(Mismatch {
                at: timeline.at(schedule, Confidence::Medium),
                scheduler: script.name_or(scheduler, "scheduler"),
                made: script.rehearsal.heap.get(scheduler).site,
                step,
                unit: Unit::OptimizerSteps(every),
            });
        }
    }
    found
}

/// Whether any schedule steps at another place, or another one at the same place.
fn scheduler_is_elsewhere(events: &[Rc<OptimizerEvent>], here: &OptimizerEvent) -> bool {
    let other = |event: &OptimizerEvent| event.kind != here.kind || event.place != here.place;
    events.iter().any(|event| matches!(event.kind, Kind::Schedule { .. }) && other(event))
}

/// The only step beside a schedule, taken every so often, and how often: a backward pass comes each time.
fn paced_step(events: &[Rc<OptimizerEvent>], schedule: &OptimizerEvent) -> Option<(Place, i64)> {
    let beside = |event: &&Rc<OptimizerEvent>| event.loops == schedule.loops;
    let mut steps = events.iter().filter(|event| matches!(event.kind, Kind::Step { .. }));
    let step = steps.next().filter(beside)?;
    let every = step.pace.as_ref()?.every.known().filter(|every| *every > 1)?;
    let accumulates = events.iter().filter(beside).any(|event| event.is_backward() && event.pace.is_none());
    (accumulates && steps.next().is_none()).then_some((step.place, every))
}

/// Whether the length of a schedule is given as a number, or counts the steps of an optimizer, and not micro-batches.
fn counts_steps(script: &Script, scheduler: ObjId, schedule: &OptimizerEvent, every: i64) -> bool {
    let Some(length) = script.length_of(scheduler) else { return false };
    let count = |id: &LoopId| &script.rehearsal.loop_info(*id).count;
    let [.., epochs, batches] = &*schedule.loops else { return length.known().is_some() };
    let micro_batches = count(batches).mul(count(epochs));
    if length.known().is_some() {
        return !is_same(&length, count(batches)) && !is_same(&length, &micro_batches);
    }
    is_same(&length.mul(&Int::Known(every)), &micro_batches)
}

/// Whether a schedule steps in this loop only, and no other at the same place: one of several is chosen to fit.
fn steps_only_here(all: &[Visit], here: &Visit, scheduler: ObjId) -> bool {
    all.iter().all(|visit| match visit.event.effect {
        Effect::Schedule { scheduler: other, .. } if other == scheduler => visit.loops == here.loops,
        Effect::Schedule { .. } => visit.event.place != here.event.place,
        _ => true,
    })
}

/// What a schedule counts, if it steps where something else is counted.
fn mistaken(script: &Script, scheduler: ObjId, loops: &Loops) -> Option<Unit> {
    let length = script.length_of(scheduler)?;
    let count = |id: LoopId| &script.rehearsal.loop_info(id).count;
    let (inner, outer) = (&loops.step.loops, &loops.schedule.loops);
    let (epochs, batches) = match inner.strip_prefix(&**outer) {
        // It steps beside its optimizer.
        Some([]) => {
            let [.., epochs, batches] = **inner else { return None };
            let over = |id: LoopId| &script.rehearsal.loop_info(id).over;
            // What is gone through in each of so many epochs, and is not counted, are batches.
            let is_loader = match over(batches) {
                Over::Loader(_) => true,
                Over::Other => matches!(over(epochs), Over::Counter),
                Over::Counter => false,
            };
            (is_loader && loops.schedule.always).then_some(())?;
            if let Over::Loader(loader) = over(batches)
                && script.counts_samples(*loader, &length, count(epochs), count(batches))
            {
                return Some(Unit::Samples);
            }
            return script.counts_epochs(scheduler, &length, count(epochs), count(batches));
        }
        Some([batches, ..]) => (*outer.last()?, *batches),
        None => return None,
    };
    counts_batches(&length, count(epochs), count(batches)).then_some(Unit::Batches)
}

/// Whether a length is that of so many epochs in batches.
fn counts_batches(length: &Int, epochs: &Int, batches: &Int) -> bool {
    if batches.known().is_some_and(|batches| batches <= 1) || batches.is_unknown() {
        return false;
    }
    // Two numbers are equal by chance; the same unknown number is not.
    let is_symbolic = batches.known().is_none();
    let is_epoch = is_symbolic && (is_same(length, batches) || !length.div_floor(batches).is_unknown());
    is_epoch || is_same(length, &batches.mul(epochs)) && differs(length, epochs)
}

fn is_same(a: &Int, b: &Int) -> bool {
    a.sub(b).known() == Some(0)
}

fn differs(a: &Int, b: &Int) -> bool {
    a.sub(b).known().is_some_and(|difference| difference != 0)
}

impl Script<'_> {
    /// Whether a length is that of so many epochs in samples, of a loader that puts several into a batch.
    fn counts_samples(&self, loader: ObjId, length: &Int, epochs: &Int, batches: &Int) -> bool {
        let State::Loader(state) = &self.rehearsal.heap.get(loader).state else { return false };
        let size = state.batch_size.bare();
        if size.as_int().is_none_or(|size| size.known() == Some(1)) || is_same(length, &batches.mul(epochs)) {
            return false;
        }
        self.sightings().any(|(_, sight)| match sight {
            Sight::Loader { loader: seen, length: samples, .. } if *seen == loader => {
                is_same(length, &samples.mul(epochs))
            }
            _ => false,
        })
    }

    /// Whether a schedule that steps in each batch counts epochs: no longer than these are many.
    fn counts_epochs(&self, scheduler: ObjId, length: &Int, epochs: &Int, batches: &Int) -> Option<Unit> {
        // Each epoch is one, however many there are.
        let is_shorter =
            length.known() == Some(1) || length.known().zip(epochs.known()).is_some_and(|(a, b)| a <= b);
        if !is_shorter && !is_same(length, epochs) || batches.known().is_some_and(|batches| batches <= 1) {
            return None;
        }
        let Some(factor) = self.factor_of(scheduler)? else { return Some(Unit::Epochs) };
        let batches = batches.known().map_or(BATCHES, |batches| batches as f64);
        // Who decays a few times for good, and the last time late in the run, counts in epochs.
        let is_late = length.known().zip(epochs.known()).is_some_and(|(last, epochs)| 2 * last >= epochs);
        if is_late && self.ends_at_a_milestone(scheduler) {
            return Some(Unit::Epochs);
        }
        let left = factor.powf(batches / length.known()? as f64);
        (left < SPENT).then_some(Unit::Decays)
    }

    /// How many steps a schedule is made for, or its rate is kept, as its constructor says.
    fn length_of(&self, scheduler: ObjId) -> Option<Int> {
        let ClassRef::Api(class) = self.rehearsal.heap.get(scheduler).class else { return None };
        let terms = &self.apis.get(class)?.class.as_ref()?.lasts;
        let product = |factors: &[Operand]| {
            factors.iter().fold(Int::Known(1), |all, factor| all.mul(&self.quantity(scheduler, factor)))
        };
        let length = terms.iter().fold(Int::Known(0), |sum, term| sum.add(&product(term)));
        let is_some = length.known().is_none_or(|length| length > 0);
        (!terms.is_empty() && is_some && !length.is_unknown()).then_some(length)
    }

    /// Whether the length of a schedule is the last of several steps that it is told.
    fn ends_at_a_milestone(&self, scheduler: ObjId) -> bool {
        let ClassRef::Api(class) = self.rehearsal.heap.get(scheduler).class else { return false };
        let Some(class) = self.apis.get(class).and_then(|api| api.class.as_ref()) else { return false };
        let is_several = |operand: &Operand| match operand {
            Operand::Param(name) => match self.rehearsal.heap.attr(scheduler, *name).map(Value::bare) {
                Some(Value::Tuple(_)) => true,
                Some(Value::Obj(list)) => matches!(self.rehearsal.heap.get(*list).state, State::List(_)),
                _ => false,
            },
            Operand::Literal(_) => false,
        };
        class.lasts.iter().flatten().any(is_several)
    }

    /// What a schedule multiplies the rate by, each time; `None` inside if it goes another way.
    fn factor_of(&self, scheduler: ObjId) -> Option<Option<f64>> {
        let ClassRef::Api(class) = self.rehearsal.heap.get(scheduler).class else { return None };
        let Some(Operand::Param(name)) = &self.apis.get(class)?.class.as_ref()?.decays else {
            return Some(None);
        };
        let factor = self.rehearsal.heap.attr(scheduler, *name)?.as_num()?;
        (factor > 0.0).then_some(Some(factor))
    }

    /// An argument of a constructor as a number of steps; the last of several, and none where there is none.
    fn quantity(&self, scheduler: ObjId, operand: &Operand) -> Int {
        let name = match operand {
            Operand::Param(name) => *name,
            Operand::Literal(Literal::Int(number)) => return Int::Known(*number),
            Operand::Literal(_) => return Int::Unknown,
        };
        match self.rehearsal.heap.attr(scheduler, name).map(Value::bare) {
            Some(Value::None) => Int::Known(0),
            Some(Value::Tuple(items)) => steps(items.last()),
            Some(Value::Obj(list)) => match &self.rehearsal.heap.get(*list).state {
                State::List(items) => steps(items.exact.as_ref().and_then(|items| items.last())),
                _ => Int::Unknown,
            },
            value => steps(value),
        }
    }
}

fn steps(value: Option<&Value>) -> Int {
    value.and_then(Value::as_int).cloned().unwrap_or_default()
}
