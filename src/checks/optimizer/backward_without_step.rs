//! Gradients that no optimizer applies.

use super::optimizers_in_use::{in_use, is_made, listens, optimizers_of_script};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{
    Automaton, Certainty, Kind, LoopHead, Moment, OptimizerEvent, Parts, Timeline, Touched, reached, run,
    whose,
};
use crate::facts::{Findings, Script};
use crate::report::{FileId, Fix, Place, Severity};
use crate::syntax::{ArgKind, ClassId};
use crate::trace::{At, FnKey, LoopId, Over};
use crate::values::{ObjId, ObjSet, State, Value};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "backward-without-step",
    summary: "gradients are computed but `optimizer.step()` never applies them",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("backward-without-step"),
    check,
};

/// A backward of a training loop whose gradients no step applies.
struct Unapplied {
    at: At,
    optimizer: String,
    /// Where the optimizer was made.
    made: Place,
    backward: Place,
    why: Unstepped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unstepped {
    /// The optimizer is there and nobody calls its step.
    Never,
    /// The step is named, without the parentheses that would call it.
    Named,
    /// The step lies behind the loop that clears the gradients of each iteration.
    Behind { step: Place, clear: Place },
    /// The step is on another path only, and the next iteration clears.
    Aside { step: Place, clear: Place },
}

type Events = [Rc<OptimizerEvent>];

fn check(script: &Script, out: &mut Findings) {
    for lost in unapplied_gradients(script) {
        let name = &lost.optimizer;
        let message = match lost.why {
            Unstepped::Never => format!("`{name}.step()` is never called, so the model does not learn"),
            Unstepped::Named => {
                format!("`{name}.step` is referenced but not called, so the model does not learn")
            }
            Unstepped::Behind { .. } => {
                "only the last batch's gradients are applied; all others are discarded".to_owned()
            }
            Unstepped::Aside { .. } => {
                format!("the gradients of this backward pass are discarded: no `{name}.step()` follows it")
            }
        };
        let mut finding = script.finding(RULE.id, RULE.severity, &lost.at, message);
        let help = match lost.why {
            Unstepped::Never => {
                finding = finding.because(lost.made, "the optimizer that should apply the gradients");
                format!("call `{name}.step()` after the backward pass")
            }
            Unstepped::Named => {
                finding =
                    finding.because(lost.backward, "the gradients of this backward pass are never applied");
                format!("add the parentheses: `{name}.step()`")
            }
            Unstepped::Behind { step, clear } => {
                finding = finding
                    .because(clear, "the next iteration zeroes them")
                    .because(step, "steps only after the loop has finished");
                format!("move `{name}.step()` into the loop")
            }
            Unstepped::Aside { step, clear } => {
                finding = finding
                    .because(step, "steps only on another path")
                    .because(clear, "the next iteration zeroes them");
                format!("call `{name}.step()` after this backward pass, too")
            }
        };
        let fix = script.called(lost.at.place).filter(|_| lost.why == Unstepped::Named);
        let fix = fix.map(|edits| Fix::safe(format!("call `{name}.step()`"), edits));
        let replay = script.replay_of_unapplied(lost.backward, lost.made);
        out.push(finding.fix(fix).help(help).replay(replay), &lost.at);
    }
}

fn unapplied_gradients(script: &Script) -> Vec<Unapplied> {
    let mut found: Vec<Unapplied> = Vec::new();
    let heap = &script.rehearsal.heap;
    let stepped = script.stepping_optimizers();
    for (index, entry) in script.rehearsal.entries.iter().enumerate() {
        let mut used = in_use(script, entry);
        if stepped.is_empty() && entry.function.is_none() && !script.rehearsal.out_of_fuel {
            used = used.union(&optimizers_of_script(script));
        }
        for timeline in script.timelines_in(index, &used, Parts::Together) {
            let applies = |other| whose(heap, timeline.optimizer, &timeline.state, other).is_some();
            let events = events_of_steps(&timeline);
            let one = if stepped.iter().any(applies) {
                applied_after(script, &timeline, &events)
                    .or_else(|| applied_aside(script, &timeline, &events))
                    .or_else(|| applied_by_option(script, &timeline, &events))
                    .or_else(|| applied_to_others(script, &timeline, &events))
            } else {
                never_applied(script, &timeline, &events)
            };
            let known = |one: &Unapplied| found.iter().any(|other| other.backward == one.backward);
            found.extend(one.filter(|one| !known(one)));
        }
        found.extend(left_by_option(script, index, &used).filter(|_| found.is_empty()));
    }
    found
}

/// What happens to an optimizer that says whether gradients are applied.
fn events_of_steps(timeline: &Timeline) -> Vec<Rc<OptimizerEvent>> {
    let mut events = reached(timeline);
    events.retain(|event| says_of_steps(event));
    events
}

/// The same of an optimizer that steps, where nothing is cleared but its model: an option decides whether it does.
fn left_by_option(script: &Script, entry: usize, used: &ObjSet) -> Option<Unapplied> {
    let stepping = script.stepping_in(entry);
    if stepping.iter().all(|optimizer| used.contains(optimizer)) {
        return None;
    }
    let mut timelines = script.timelines_in(entry, stepping, Parts::Together).into_iter();
    timelines.find_map(|timeline| applied_by_option(script, &timeline, &events_of_steps(&timeline)))
}

fn never_applied(script: &Script, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
    if may_step_elsewhere(script, timeline, events) || events.iter().any(|event| may_be_used(event)) {
        return None;
    }
    let named = events.iter().find(|event| event.kind == Kind::NamedStep);
    let cleared = |id: &LoopId| events.iter().any(|event| is_zeroed(event) && event.is_in(*id));
    // Where no optimizer steps at all, it may be the clearing that is forgotten, too.
    // What was not rehearsed may step, but not for iterations that were, and that clear.
    let nobody_steps = script.stepping_optimizers().is_empty() && !script.rehearsal.out_of_fuel;
    let trains =
        |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(_) | Over::Counter);
    let nothing_steps = nobody_steps && timeline.seeded.is_none();
    let forgotten = |event: &OptimizerEvent| nothing_steps && event.loops.iter().any(trains);
    // One update, by whoever calls it again and again: the optimizer is there, is cleared, and steps nowhere.
    let is_update = |event: &OptimizerEvent| {
        let alone = event.loops.is_empty() && is_cleared_beside(events, event);
        alone && !script.rehearsal.out_of_fuel && is_of_its_own(script, timeline, event)
    };
    // Of several optimizers that are made here, nothing tells whose gradients these are: none of them steps.
    let is_of_several = |event: &OptimizerEvent| {
        let clears = |other: &Rc<OptimizerEvent>| {
            matches!(other.kind, Kind::Clear { .. }) && other.loops == event.loops
        };
        nothing_steps && is_made(script, timeline.optimizer) && reached(timeline).iter().any(clears)
    };
    let in_loop = |event: &OptimizerEvent| {
        let told = named.is_some() || event.loops.iter().any(cleared) || forgotten(event);
        told && !event.loops.is_empty()
    };
    // A loss of which nothing is known belongs to the optimizer that is cleared beside it, where none steps.
    let is_its_own = |event: &OptimizerEvent| {
        let is_likely = || is_cleared_beside(events, event) || is_of_several(event);
        must_accumulate(event) || nobody_steps && event.is_backward() && is_likely()
    };
    let backward = events.iter().find(|event| is_its_own(event) && (in_loop(event) || is_update(event)))?;
    let primary = named.unwrap_or(backward);
    let why = if named.is_some() { Unstepped::Named } else { Unstepped::Never };
    Some(unapplied(script, timeline, primary, backward, why))
}

/// The optimizer of an object steps in other methods only, where it is cleared as well: each of these goes round by itself,
/// and leaves nothing of what is cleared in the iterations here.
fn applied_to_others(script: &Script, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
    let used = |event: &Rc<OptimizerEvent>| may_be_used(event) || matches!(event.kind, Kind::Step { .. });
    let applies = |other| whose(&script.rehearsal.heap, timeline.optimizer, &timeline.state, other).is_some();
    // Who iterates over what is yielded may step in between.
    let is_method = |key: FnKey| {
        let function = script.project.module(key.file).tree.function(key.function);
        function.class.is_some() && !function.is_generator
    };
    if !timeline.seeded.is_some_and(is_method)
        || may_step_elsewhere(script, timeline, events)
        || events.iter().any(used)
        || !script.steps_only_elsewhere(timeline.entry, &applies)
    {
        return None;
    }
    let backward = events.iter().find(|event| must_accumulate(event) && !event.loops.is_empty())?;
    events.iter().find(|event| is_cleared(event) && event.loops == backward.loops)?;
    let named = events.iter().find(|event| event.kind == Kind::NamedStep);
    let why = if named.is_some() { Unstepped::Named } else { Unstepped::Never };
    Some(unapplied(script, timeline, named.unwrap_or(backward), backward, why))
}

/// Whether the optimizer is cleared beside a backward, in the same call: in front of it, or behind.
fn is_cleared_beside(events: &Events, backward: &OptimizerEvent) -> bool {
    events.iter().any(|event| is_zeroed(event) && event.calls == backward.calls)
}

/// Whether no class that is not seen has the method that goes back, and no line is broken: they may step for it.
fn is_of_its_own(script: &Script, timeline: &Timeline, backward: &OptimizerEvent) -> bool {
    let is_whole = script.project.module(backward.place.file).tree.errors.is_empty();
    let inherits = |key: FnKey| {
        let tree = &script.project.module(key.file).tree;
        tree.function(key.function).class.is_some_and(|class| !has_seen_bases(script, key.file, class))
    };
    is_whole && is_made(script, timeline.optimizer) && !timeline.seeded.is_some_and(inherits)
}

/// Whether all that a class inherits from is seen, or known not to step.
fn has_seen_bases(script: &Script, file: FileId, class: ClassId) -> bool {
    let tree = &script.project.module(file).tree;
    if tree.class(class).bases.iter().all(|base| matches!(base.kind, ArgKind::Keyword(_))) {
        return true;
    }
    let heap = &script.rehearsal.heap;
    let classes = (0..heap.len() as u32).map(|object| &heap.get(ObjId(object)).state);
    let mut made = classes.filter_map(|state| match state {
        State::Class(state) if (state.file, state.class) == (file, class) => Some(state),
        _ => None,
    });
    let is_seen = |base: &Value| match (base, base.as_obj().map(|base| &heap.get(base).state)) {
        (_, Some(State::Class(base))) => has_seen_bases(script, base.file, base.class),
        (Value::Builtin(_), None) => true,
        // A framework's own class is known, and whether it steps.
        (Value::Api(name), None) => {
            script.apis.class(*name).is_some() && !script.apis.owns(*name).iter().any(|part| part == "step")
        }
        _ => false,
    };
    made.next().is_some_and(|state| state.bases.iter().all(is_seen))
}

/// Whether a step that we do not see may be this optimizer's, or one of which we do not know what it owns.
fn may_step_elsewhere(script: &Script, timeline: &Timeline, events: &Events) -> bool {
    let heap = &script.rehearsal.heap;
    // One that only its model's `zero_grad` clears may go by the name of the other here.
    let is_used = events.iter().any(|event| matches!(event.kind, Kind::Clear { own: true, .. }));
    let may_be_it = |object: ObjId| {
        let unclear = heap.get(object).optimizer().is_some_and(|state| state.others) || timeline.state.others;
        let is_another = is_used && script.goes_round_alone(object, timeline.entry);
        unclear && !is_another && !made_apart(script, object, timeline)
    };
    script.steps_unseen() || script.stepping_optimizers().iter().any(may_be_it)
}

/// Whether the script is seen to make both of them, of a framework's classes: neither stands for the other.
fn made_apart(script: &Script, other: ObjId, timeline: &Timeline) -> bool {
    is_made(script, other) && is_made(script, timeline.optimizer)
}

/// Each iteration clears what the one before has left, and the step comes after all of them.
fn applied_after(script: &Script, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
    let backward = events.iter().find(|event| must_accumulate(event))?;
    let innermost = *backward.loops.last()?;
    let within = || events.iter().filter(|event| event.is_in(innermost));
    let clear = within().find(|event| is_cleared(event))?;
    let used = |event: &OptimizerEvent| !event.is_backward() && !is_zeroed(event);
    // Of the first iteration alone, or every so often, gradients are left in place for those after it.
    let is_each_time = !clear.conditional || backward.conditional;
    if clear.loops != backward.loops
        || !is_each_time
        || within().any(|event| used(event))
        || events.iter().any(|event| may_be_used(event))
    {
        return None;
    }
    let around = backward.loops.iter().rev().nth(1);
    let is_step = |event: &OptimizerEvent| matches!(event.kind, Kind::Step { .. });
    let step =
        events.iter().find(|event| is_step(event) && around.is_none_or(|around| event.is_in(*around)))?;
    let position = |place: Place| events.iter().position(|event| event.place == place);
    let why = Unstepped::Behind { step: step.place, clear: clear.place };
    let after = position(backward.place) < position(step.place);
    after.then(|| unapplied(script, timeline, backward, backward, why))
}

/// Backward passes whose gradients no path has applied yet, and that no step came before since the last clear.
#[derive(Clone, PartialEq, Default)]
struct Pending {
    backwards: Vec<Place>,
    stepped: bool,
}

impl Automaton for Pending {
    type State = Pending;

    const LOOP_HEAD: LoopHead = LoopHead::EntryOrBackEdge;

    fn start() -> Pending {
        Pending::default()
    }

    fn next(mut before: Pending, event: &OptimizerEvent) -> Pending {
        if is_zeroed(event) {
            return Pending::default();
        }
        if matches!(event.kind, Kind::Step { .. }) {
            return Pending { stepped: true, ..Pending::default() };
        }
        if must_accumulate(event) && !before.stepped && !before.backwards.contains(&event.place) {
            before.backwards.push(event.place);
        }
        before
    }

    fn join(a: &Pending, b: &Pending) -> Pending {
        let mut both = a.clone();
        both.backwards.extend(b.backwards.iter().filter(|place| !a.backwards.contains(place)));
        both.stepped |= b.stepped;
        both
    }
}

/// One branch steps and another, which has a backward pass of its own, does not: on no path from there anything uses
/// its gradients before they are cleared. Where several optimizers take turns, another may have used them.
fn applied_aside(script: &Script, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
    let backwards = events.iter().filter(|event| must_accumulate(event)).count();
    if backwards < 2
        || script.steps_unseen()
        || !script.steps_alone(timeline.optimizer, timeline.entry)
        || listens(script, timeline.optimizer)
    {
        return None;
    }
    let moments: Vec<Moment<Pending>> = run::<Pending>(timeline);
    let uses = |event: &OptimizerEvent| {
        may_be_used(event) || matches!(event.kind, Kind::Step { .. } | Kind::Changed | Kind::Made(_))
    };
    let pends = |at: &Moment<Pending>, place: &Place| at.before.backwards.contains(place);
    let used = |place: &Place| moments.iter().any(|at| uses(&at.event) && pends(at, place));
    moments.iter().filter(|moment| is_cleared(&moment.event)).find_map(|cleared| {
        let place = cleared.before.backwards.iter().find(|place| !used(place))?;
        let backward = events.iter().find(|event| must_accumulate(event) && event.place == *place)?;
        let innermost = *backward.loops.last().filter(|_| cleared.event.loops == backward.loops)?;
        let step = events.iter().find(|event| event.is_own_step() && event.is_in(innermost))?;
        let named = moments.iter().find(|at| at.event.kind == Kind::NamedStep && pends(at, place));
        let primary = named.map_or(&**backward, |named| &named.event);
        let why = match named {
            Some(_) => Unstepped::Named,
            None => Unstepped::Aside { step: step.place, clear: cleared.event.place },
        };
        Some(unapplied(script, timeline, primary, backward, why))
    })
}

/// An option decides which backward runs, and then whether a step does: with one of its answers there is a backward of
/// its own and no step, and each iteration clears.
fn applied_by_option(script: &Script, timeline: &Timeline, events: &Events) -> Option<Unapplied> {
    if script.steps_unseen()
        || !script.steps_alone(timeline.optimizer, timeline.entry)
        || listens(script, timeline.optimizer)
    {
        return None;
    }
    script.supposing(timeline).into_iter().find_map(|answers| {
        let [one, other] = answers.each_ref().map(|answer| reached(answer));
        unstepped(script, timeline, events, &one, &other)
            .or_else(|| unstepped(script, timeline, events, &other, &one))
    })
}

/// The same, of one of the answers.
fn unstepped(
    script: &Script,
    timeline: &Timeline,
    events: &Events,
    here: &Events,
    otherwise: &Events,
) -> Option<Unapplied> {
    let uses = |event: &Rc<OptimizerEvent>| {
        may_be_used(event) || matches!(event.kind, Kind::Step { .. } | Kind::Changed | Kind::Made(_))
    };
    if here.iter().any(uses) {
        return None;
    }
    let is_own = |event: &&Rc<OptimizerEvent>| {
        must_accumulate(event) && otherwise.iter().all(|other| other.place != event.place)
    };
    let backward = here.iter().find(is_own)?;
    let innermost = *backward.loops.last()?;
    let clear = here.iter().find(|event| is_zeroed(event) && event.loops == backward.loops)?;
    let step = events.iter().find(|event| event.is_own_step() && event.is_in(innermost))?;
    let named = here.iter().find(|event| event.kind == Kind::NamedStep);
    let why = match named {
        Some(_) => Unstepped::Named,
        None => Unstepped::Aside { step: step.place, clear: clear.place },
    };
    Some(unapplied(script, timeline, named.unwrap_or(backward), backward, why))
}

fn unapplied(
    script: &Script,
    timeline: &Timeline,
    primary: &OptimizerEvent,
    backward: &OptimizerEvent,
    why: Unstepped,
) -> Unapplied {
    let optimizer = script.rehearsal.heap.get(timeline.optimizer);
    Unapplied {
        at: timeline.at(primary, backward.confidence.min(optimizer.confidence)),
        optimizer: script.optimizer_name(timeline.optimizer),
        made: optimizer.site,
        backward: backward.place,
        why,
    }
}

/// Whether an event says whether gradients are applied.
fn says_of_steps(event: &OptimizerEvent) -> bool {
    event.is_backward()
        || is_zeroed(event)
        || may_be_used(event)
        || matches!(event.kind, Kind::Step { .. } | Kind::NamedStep)
}

fn must_accumulate(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. })
}

fn is_cleared(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Clear { own: true, .. })
}

/// The same, or cleared through all modules that it owns.
fn is_zeroed(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Clear { certainty: Certainty::Must, .. })
}

/// Looked at, gradients may be of any use: an attack, a penalty, an update by hand. And something that we do not
/// see may apply them.
fn may_be_used(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::Read(_) | Kind::UnseenStep | Kind::Touched(Touched { optimizer: true, .. }))
}
