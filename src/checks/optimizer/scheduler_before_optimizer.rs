//! A schedule that goes on before its optimizer has stepped.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::timeline::{
    Automaton, Kind, LoopHead, Moment, OptimizerEvent, Parts, Powerset, Timeline, Touched, any, run, states,
};
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::{StmtId, StmtKind};
use crate::trace::{At, Node};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "scheduler-before-optimizer",
    summary: "`lr_scheduler.step()` is called before `optimizer.step()`",
    group: Group::Gradients,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("scheduler-before-optimizer"),
    check,
};

/// Before this release of torch the schedule came first.
const ORDER_CHANGED: (u64, u64) = (1, 1);

type Projected = Node<Rc<OptimizerEvent>>;

/// A schedule that goes on before its optimizer has stepped once.
struct EarlySchedule {
    at: At,
    scheduler: String,
    step: Place,
    /// The calls that led to the step.
    calls: Vec<Place>,
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
            Kind::Touched(touched) if touched.optimizer => Powerset::one(Progress::Foreign),
            _ => before,
        }
    }

    fn join(a: &Powerset<Progress>, b: &Powerset<Progress>) -> Powerset<Progress> {
        a.union(*b)
    }
}

fn check(script: &Script, out: &mut Findings) {
    let found = early_schedules(script);
    if found.is_empty() || !script.pins.allow_since("torch", ORDER_CHANGED) {
        return;
    }
    for early in found {
        let name = &early.scheduler;
        let fix = schedule_moved(script, &early);
        let title = format!("move `{name}.step()` after the optimizer step");
        out.push(
            script
                .finding(
                    RULE.id,
                    RULE.severity,
                    &early.at,
                    "the schedule runs one step ahead: the scheduler steps before the optimizer",
                )
                .because(early.step, "the optimizer takes its first step only here")
                .note("since PyTorch 1.1, `lr_scheduler.step()` sets the learning rate for the optimizer steps after it")
                .replay(script.replay_of_schedule(early.step, early.at.place))
                .fix(fix.map(|edits| Fix::safe(title, edits)))
                .help(format!(
                    "call `{name}.step()` after the optimizer step, at the end of the iteration or epoch"
                )),
            &early.at,
        );
    }
}

fn early_schedules(script: &Script) -> Vec<EarlySchedule> {
    let mut found: Vec<EarlySchedule> = Vec::new();
    for timeline in script.timelines(Parts::Together) {
        let moments = run::<FirstIteration>(&timeline);
        for moment in &moments {
            let Kind::Schedule { scheduler, .. } = moment.event.kind else { continue };
            let early = &moment.event;
            let misses_steps = early.conditional && !steps_in_one_arm(&timeline.nodes, early);
            if misses_steps || !moment.before.must_be(&[Progress::Waiting]) {
                continue;
            }
            let Some(step) = step_after(&timeline, &moments, early) else { continue };
            if found.iter().any(|other| other.at.place == early.place) {
                continue;
            }
            found.push(EarlySchedule {
                at: timeline.at(early, step.confidence),
                scheduler: script.name_or(scheduler, "scheduler"),
                step: step.place,
                calls: step.calls.iter().map(|(site, _)| *site).collect(),
            });
        }
    }
    found
}

/// Whether the optimizer steps nowhere but in the arm that a schedule is in: whichever iteration comes there first,
/// none has stepped before.
fn steps_in_one_arm(nodes: &[Projected], early: &OptimizerEvent) -> bool {
    arm_around(nodes, early).is_some_and(|arm| steps(arm) == steps(nodes))
}

/// The innermost arm that an event is in.
fn arm_around<'t>(nodes: &'t [Projected], early: &OptimizerEvent) -> Option<&'t [Projected]> {
    let is_early = |event: &OptimizerEvent| std::ptr::eq(event, early);
    nodes.iter().find_map(|node| match node {
        Node::Loop { body, .. } | Node::Call { body, .. } => arm_around(body, early),
        Node::Branch { arms, .. } => {
            arms.iter().find(|arm| any(arm, &is_early)).map(|arm| arm_around(arm, early).unwrap_or(arm))
        }
        Node::Event(_) | Node::Exit(_) => None,
    })
}

/// How many steps a part of a timeline has, or may have.
fn steps(nodes: &[Projected]) -> usize {
    let one = |node: &Projected| match node {
        Node::Event(event) => usize::from(matches!(
            event.kind,
            Kind::Step { .. } | Kind::UnseenStep | Kind::Touched(Touched { optimizer: true, .. })
        )),
        Node::Loop { body, .. } | Node::Call { body, .. } => steps(body),
        Node::Branch { arms, .. } => arms.iter().map(|arm| steps(arm)).sum(),
        Node::Exit(_) => 0,
    };
    nodes.iter().map(one).sum()
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
        // A loop over a few known values, which was run value by value.
        None => step_until_again(moments, early),
    }
}

/// The step between a step of a schedule and the next at the same place.
fn step_until_again<'m>(
    moments: &'m [Moment<Powerset<Progress>>],
    early: &OptimizerEvent,
) -> Option<&'m OptimizerEvent> {
    let events = || moments.iter().map(|moment| &*moment.event);
    let first = events().position(|event| std::ptr::eq(event, early))?;
    let is_schedule = |event: &OptimizerEvent| matches!(event.kind, Kind::Schedule { .. });
    let again =
        events().skip(first + 1).position(|event| is_schedule(event) && event.place == early.place)?;
    events().skip(first + 1).take(again).find(|event| matches!(event.kind, Kind::Step { .. }))
}

/// A step of a schedule moved behind the statement in which its optimizer first steps.
fn schedule_moved(script: &Script, early: &EarlySchedule) -> Option<Vec<Edit>> {
    let draft = script.draft(early.at.place.file);
    let line = draft.line_at(early.at.place.span)?;
    // With an argument it would say the epoch to come.
    draft.call_at(line.code).filter(|call| call.args.is_empty())?;
    let (block, at) = draft.beside(line.stmt)?;
    let ways = early.calls.iter().chain([&early.step]);
    let inside = ways.filter(|place| place.file == early.at.place.file).find_map(|place| {
        draft.statements_around(place.span).into_iter().find(|stmt| block.contains(stmt))
    })?;
    let target = draft.line(inside)?;
    let passed = block.iter().position(|stmt| *stmt == inside).filter(|other| *other > at)?;
    let may_leave = block[at..=passed].iter().any(|stmt| leaves_iteration(draft, *stmt));
    if may_leave { None } else { draft.move_after(line, target) }
}

/// Whether a statement may end the iteration that it stands in: `continue`, `break` or `return` of its own.
fn leaves_iteration(draft: Draft<'_>, stmt: StmtId) -> bool {
    let span = draft.statement(stmt).span;
    let is_loop = matches!(draft.statement(stmt).kind, StmtKind::For { .. } | StmtKind::While { .. });
    draft.statements_within(span).any(|kind| match kind {
        StmtKind::Return(_) => true,
        StmtKind::Continue | StmtKind::Break => !is_loop,
        _ => false,
    })
}
