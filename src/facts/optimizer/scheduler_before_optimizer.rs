//! Schedules of learning rates that go on before their optimizer has stepped once.

use super::automaton::{Automaton, LoopHead, Moment, run};
use super::powerset::{Powerset, states};
use super::timeline::{Kind, OptimizerEvent, Timeline};
use super::view::Parts;
use crate::facts::Script;
use crate::report::Place;
use crate::trace::At;

/// A schedule that goes on before its optimizer has stepped once.
pub struct EarlySchedule {
    pub at: At,
    pub scheduler: String,
    pub step: Place,
    /// The calls that led to the step.
    pub calls: Vec<Place>,
}

states! {
    /// How far an optimizer is.
    enum Progress {
        /// It has not stepped.
        Waiting,
        Stepped,
        /// Somebody we cannot see may have stepped.
        Foreign,
    }
}

/// The first iteration of everything: which comes first, the optimizer or its schedule.
struct FirstIteration;

impl Automaton for FirstIteration {
    type State = Powerset<Progress>;

    const LOOP_HEAD: LoopHead = LoopHead::Entry;

    fn start() -> Powerset<Progress> {
        Powerset::one(Progress::Waiting)
    }

    fn next(before: Powerset<Progress>, event: &OptimizerEvent) -> Powerset<Progress> {
        match &event.kind {
            Kind::Step { .. } => Powerset::one(Progress::Stepped),
            Kind::UnseenStep => Powerset::one(Progress::Foreign),
            Kind::Touched(touched) if touched.gradients => Powerset::one(Progress::Foreign),
            _ => before,
        }
    }

    fn join(a: &Powerset<Progress>, b: &Powerset<Progress>) -> Powerset<Progress> {
        a.union(*b)
    }
}

impl Script<'_> {
    pub fn early_schedules(&self) -> Vec<EarlySchedule> {
        let mut found: Vec<EarlySchedule> = Vec::new();
        for timeline in self.timelines(Parts::Together) {
            let moments = run::<FirstIteration>(&timeline);
            for moment in &moments {
                let Kind::Schedule { scheduler, .. } = moment.event.kind else { continue };
                let early = &moment.event;
                if early.conditional || !moment.before.must_be(&[Progress::Waiting]) {
                    continue;
                }
                let Some(step) = step_after(&timeline, &moments, early) else { continue };
                if found.iter().any(|other| other.at.place == early.place) {
                    continue;
                }
                found.push(EarlySchedule {
                    at: timeline.at(early, step.confidence),
                    scheduler: self.name_or(scheduler, "scheduler"),
                    step: step.place,
                    calls: step.calls.iter().map(|(site, _)| *site).collect(),
                });
            }
        }
        found
    }
}

/// The step that a schedule went before, in the same iteration: a schedule that is wound forward alone, to where
/// a run was broken off, is in no loop that trains.
fn step_after<'m>(
    timeline: &Timeline,
    moments: &'m [Moment<Powerset<Progress>>],
    early: &OptimizerEvent,
) -> Option<&'m OptimizerEvent> {
    let mut steps =
        moments.iter().map(|moment| &*moment.event).filter(|event| matches!(event.kind, Kind::Step { .. }));
    match early.loops.last() {
        Some(iteration) => steps.find(|step| step.is_in(*iteration)),
        // What is called for each epoch begins with its schedule.
        None if timeline.seeded.is_some() => steps.find(|step| !step.loops.is_empty()),
        None => None,
    }
}
