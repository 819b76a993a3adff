//! Which forwards evaluate a model, by what becomes of their graphs and of what they give.

use super::gathered::is_gathered;
use super::held_out::is_held_out;
use super::inference::infers;
use super::scores::{Decided, Judged, Scored, WithinModel};
use crate::facts::Script;
use crate::facts::edits::Draft;
use crate::interp::BUILT;
use crate::report::{Confidence, Place, replay};
use crate::syntax::{ArgKind, ExprId, ExprKind, StmtKind};
use crate::trace::{At, Effect, Event, Forward, LoopId, Over, Protocol, Sight, Way, walk};
use crate::values::{ClassRef, Graph, Learned, Mode, ModuleState, ObjId, ObjSet, Tensor};
use std::cell::LazyCell;
use ustr::Ustr;

/// How sure it is that a forward evaluates, in a mode that nobody chose for it.
pub(super) fn evaluation(script: &Script, at: &At, forward: &Forward) -> Option<Confidence> {
    match is_trained(script, forward.module) {
        true => evaluates(script, at, forward).filter(|_| !was_put_there(script, at, forward)),
        false => infers(script, at, forward),
    }
}

/// The modes in which the script evaluates models with layers that mind, for replays.
pub fn modes_of_evaluations(script: &Script) -> Vec<replay::Modes> {
    let heap = &script.rehearsal.heap;
    let is_mode_dependent = |part: ObjId| heap.get(part).module().is_some_and(ModuleState::is_mode_dependent);
    let mode = |(at, sight): (&At, &Sight)| {
        let Sight::Forward(forward) = sight else { return None };
        let minds = heap.descendants(forward.module).iter().any(is_mode_dependent);
        let known = matches!(forward.mode, Mode::Train | Mode::Eval);
        (minds && known).then(|| evaluation(script, at, forward)).flatten()?;
        Some(replay::Modes {
            evaluated_in_training: forward.in_training.is_some() && forward.ran_in_training,
            ..script.dropping()
        })
    };
    script.sightings().filter_map(mode).collect()
}

/// What was last done before an evaluation.
pub(super) struct Since<'s, 'a> {
    script: &'s Script<'a>,
    at: &'s At,
    model: ObjId,
    parts: ObjSet,
    pub(super) on_purpose: bool,
    /// Where it was put into training mode last.
    pub(super) put: Option<Place>,
    /// The weights of an earlier training were loaded before.
    pub(super) restored: bool,
    /// Somebody chose the mode of what may be a part of it.
    pub(super) in_parts: bool,
    /// Some of its parts were put into evaluation mode by themselves: the others were left out.
    pub(super) parted: bool,
    /// A method that is not seen may have chosen its mode.
    may_be_chosen: bool,
}

/// The model was put into training mode.
const PUT: u8 = 1;
/// Something was trained, or nothing was done yet.
const TRAINED: u8 = 2;
/// Its weights were loaded, whatever else was done.
const RESTORED: u8 = 4;

impl Since<'_, '_> {
    /// The evaluation itself, and not another call of the function that trains.
    fn is_it(&self, event: &Event, way: &Way) -> bool {
        way.settled && event.place == self.at.place && *way.calls == *self.at.calls
    }

    /// Whether something is done on the way to the evaluation, or by a helper that runs no model: what another function
    /// does when it has evaluated is not done for this evaluation.
    fn is_on_the_way(&self, way: &Way) -> bool {
        let shared = way.calls.iter().zip(&*self.at.calls).take_while(|(one, other)| one == other).count();
        let (around, inner) = way.calls.split_at(shared);
        inner.first().is_none_or(|(site, _)| !self.script.runs_models_at(around, *site))
    }

    /// Whether the forward of the evaluation runs.
    fn is_inside(&self, way: &Way) -> bool {
        let inner = way.calls.strip_prefix(&*self.at.calls).and_then(<[_]>::first);
        inner.is_some_and(|(site, _)| *site == self.at.place)
    }
}

impl Protocol for Since<'_, '_> {
    type State = u8;
    type Event = Event;

    fn join(&self, a: &u8, b: &u8) -> u8 {
        a | b
    }

    fn event(&mut self, state: &mut u8, event: &Event, way: &Way) {
        let loaded = *state & RESTORED;
        let heap = &self.script.rehearsal.heap;
        let is_own = |part: ObjId| self.parts.contains(part);
        match &event.effect {
            Effect::Mode { module: Some(module), mode: Mode::Train }
                if heap.descendants(*module).iter().any(is_own) && !self.is_inside(way) =>
            {
                *state = if self.is_on_the_way(way) { loaded | PUT } else { loaded | TRAINED };
                self.put = Some(event.place);
            }
            Effect::Mode { module: Some(module), mode: Mode::Unknown }
                if heap.descendants(*module).iter().any(is_own) =>
            {
                self.may_be_chosen = true;
            }
            Effect::Mode { module: Some(module), mode: Mode::Eval }
                if *module != self.model && is_own(*module) =>
            {
                self.parted = true;
            }
            Effect::Mode { module, .. } => {
                let is_other =
                    |module: &ObjId| heap.noted(*module, BUILT).is_some() || !is_opaque(self.script, *module);
                self.in_parts |= !module.as_ref().is_some_and(is_other);
            }
            Effect::Restore { objects }
                if objects.iter().any(is_own) && !is_copy(self.script, event.place) =>
            {
                *state |= RESTORED;
            }
            Effect::Backward { .. } | Effect::Step { .. } => *state = loaded | TRAINED,
            Effect::Forward { .. } if self.is_it(event, way) => {
                self.on_purpose |= *state & !RESTORED == PUT;
                self.restored |= loaded != 0;
            }
            _ => {}
        }
    }
}

/// `target.load_state_dict(net.state_dict())` loads nothing that was trained before.
pub(super) fn is_copy(script: &Script, place: Place) -> bool {
    let module = script.project.module(place.file);
    let draft = script.draft(place.file);
    let Some(given) = draft.call_at(place.span).and_then(|call| call.args.first()) else { return false };
    let origins = module.origins(given.value, draft.function_around(place.span));
    gives_state(draft, given.value) || origins.iter().any(|origin| gives_state(draft, origin.call))
}

/// `net.state_dict()`, and what a call makes of it.
fn gives_state(draft: Draft<'_>, expr: ExprId) -> bool {
    let ExprKind::Call { callee, args } = &draft.expr(expr).kind else { return false };
    matches!(draft.expr(*callee).kind, ExprKind::Attribute { name, .. } if name == "state_dict")
        || args.iter().any(|arg| gives_state(draft, arg.value))
}

/// What was done to a model before an evaluation; `None` where that does not settle.
pub(super) fn since<'s, 'a>(script: &'s Script<'a>, at: &'s At, model: ObjId) -> Option<Since<'s, 'a>> {
    let parts = script.rehearsal.heap.descendants(model);
    let mut since = Since {
        script,
        at,
        model,
        parts,
        on_purpose: false,
        put: None,
        restored: false,
        in_parts: false,
        parted: false,
        may_be_chosen: false,
    };
    let mut entries = script.rehearsal.entries.iter().filter(|entry| entry.function == at.seeded);
    entries.all(|entry| walk(&mut since, &entry.nodes, TRAINED)).then_some(since)
}

/// Whether the model was put into training mode for the evaluation itself, and nothing trained since, or a method
/// that is not seen may have put it into either.
fn was_put_there(script: &Script, at: &At, forward: &Forward) -> bool {
    let may_be_chosen = |since: &Since| since.may_be_chosen && forward.mode == Mode::Unknown;
    let is_copied =
        |since: &Since| since.put.is_some_and(|put| is_said_here(script, at, put)) && is_one_pass(script, at);
    let is_chosen = |since: Since| since.on_purpose && !is_copied(&since) || may_be_chosen(&since);
    since(script, at, forward.module).is_none_or(is_chosen)
}

/// Whether something is said in the function that evaluates, whatever the case.
fn is_said_here(script: &Script, at: &At, said: Place) -> bool {
    let draft = script.draft(at.place.file);
    let Some(function) = draft.function_around(at.place.span) else { return false };
    if said.file != at.place.file || draft.function_around(said.span) != Some(function) {
        return false;
    }
    let within = draft.function_span(function);
    let around = draft.statements_around(said.span);
    let mut inner =
        around.iter().map(|stmt| draft.statement(*stmt)).filter(|stmt| within.contains(stmt.span));
    inner.all(|stmt| !matches!(stmt.kind, StmtKind::If { .. }))
}

/// Whether a forward goes once through data and is scored: then its training mode has no use, and the call of `train`
/// before it was copied. Who wants the uncertainty repeats the pass, who wants the losses of a detector gets them from
/// the model itself, and who renews statistics scores nothing.
fn is_one_pass(script: &Script, at: &At) -> bool {
    let repeats = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Counter);
    let draft = script.draft(at.place.file);
    let function = draft.function_around(at.place.span).map(|function| draft.function_span(function));
    let is_own = |id: &&LoopId| {
        let place = script.rehearsal.loop_info(**id).place;
        place.file == at.place.file && function.is_some_and(|span| span.contains(place.span))
    };
    let mut loops = at.loops.iter().filter(is_own).peekable();
    loops.peek().is_some() && !loops.any(repeats) && is_scored(script, at, |_| true)
}

/// Whether gradients of the script's optimizers reach a model.
fn is_trained(script: &Script, module: ObjId) -> bool {
    script.is_stepped() && script.gradients_reach(module)
}

/// How sure it is that a forward evaluates: nothing is learned from it, and its output is scored, or it
/// goes through data that no training goes through.
fn evaluates(script: &Script, at: &At, forward: &Forward) -> Option<Confidence> {
    let innermost = at.loops.last();
    let apart = innermost.is_some_and(|id| {
        !script.trains_in(*id)
            || is_beside_training(script, at, forward, *id)
            || is_held_out(script, at, forward, *id)
    });
    let confidence = match forward.grad {
        Some(false) => Confidence::High,
        Some(true) if is_unused(script, forward) => Confidence::Medium,
        // Where the loop goes back through other graphs, what is logged is not gone back through as well.
        Some(true) if !apart && is_left_to_others(script, forward) => Confidence::Medium,
        _ => return None,
    };
    let of_data = !forward.input.as_ref().is_some_and(|input| input.learned || input.is_leaf);
    let own_data = innermost.is_some_and(|id| match script.rehearsal.loop_info(*id).over {
        Over::Loader(loader) => !script.feeds_training(loader),
        Over::Other | Over::Counter => false,
    });
    // What nobody goes back through is scored, whatever it records. What a method of a model computes goes on.
    let is_own = |input: &Tensor| input.graph.carried().contains(&forward.graph);
    let stays = LazyCell::new(|| apart && within_model(script, at).is_none());
    let is_idle = |input: &Tensor| !matches!(input.graph, Graph::Live(_)) || is_own(input) && *stays;
    let scored = LazyCell::new(|| is_told_labels(script, at) || is_scored(script, at, is_idle));
    // What an evaluation of several models computes with one of them goes into the next.
    let of_evaluation = || own_data || is_beside_evaluated(script, at);
    let goes_on = || confidence == Confidence::High && *scored && of_evaluation();
    let in_loop = apart && (of_data && (own_data || *scored) || goes_on());
    // A function that validates within a training loop: the loop goes back through other graphs.
    let in_function = confidence == Confidence::High || !at.calls.is_empty();
    let by_itself = || {
        in_function
            && of_data
            && *scored
            && is_by_itself(script, at)
            && !is_beside_trained(script, at, forward)
    };
    let decides = || {
        let steps = innermost.is_some_and(|id| matches!(script.rehearsal.loop_info(*id).over, Over::Counter));
        // Whoever calls a function may do so in a loop that trains.
        let apart = at.loops.is_empty() && at.seeded.is_none() || apart && !steps;
        confidence == Confidence::High && apart && of_data && is_decided(script, at)
    };
    (in_loop || by_itself() || decides()).then_some(confidence)
}

/// Whether the likeliest of what a forward gives is chosen beside it: who trains on what it chose does so in the same
/// loop.
fn is_decided(script: &Script, at: &At) -> bool {
    script.observed::<Decided>().any(|(other, _)| is_around(other, at))
}

/// Whether something is in the same iteration as a forward, in the call that runs it or in that of a method around it:
/// `model.predict(x)`.
fn is_around(other: &At, at: &At) -> bool {
    let by_one_call = at.calls.strip_prefix(&*other.calls).is_some_and(|extra| extra.len() <= 1);
    other.seeded == at.seeded && other.loops == at.loops && by_one_call
}

/// Whether a loop of epochs trains in a loop of its own, and runs the model on data from before both. What a loop of
/// tasks adapts to is new in each iteration, and so is what it is scored on.
fn is_beside_training(script: &Script, at: &At, forward: &Forward, id: LoopId) -> bool {
    let is_here = |sight: &Sight, other: &At| {
        matches!(sight, Sight::Backward { .. }) && other.loops.last() == Some(&id)
    };
    if script.passes().any(|(other, sight)| is_here(sight, other)) {
        return false;
    }
    match &forward.input {
        Some(input) => input.created < script.rehearsal.loop_info(id).first,
        None => is_of_parameter(script, at, id).unwrap_or(false),
    }
}

/// Whether a forward is given a parameter of the function that holds the loop.
fn is_of_parameter(script: &Script, at: &At, id: LoopId) -> Option<bool> {
    let draft = script.draft(at.place.file);
    let around = draft.function_around(at.place.span)?;
    let function = script.project.module(at.place.file).tree.function(around);
    let repeated = script.rehearsal.loop_info(id).place;
    let ExprKind::Name(name) = draft.expr(draft.call_at(at.place.span)?.args.first()?.value).kind else {
        return None;
    };
    let given = function.params.iter().any(|param| param.name == name);
    Some(given && repeated.file == at.place.file && function.span.contains(repeated.span))
}

/// Whether the call that runs a forward computes a loss with the same model, and with gradients: what it computes
/// without is what the loss is held against, as the target of an agent, and no evaluation.
fn is_beside_trained(script: &Script, at: &At, forward: &Forward) -> bool {
    let parts = script.rehearsal.heap.descendants(forward.module);
    let is_it = |module: ObjId| module == forward.module || parts.contains(module);
    script.sightings().any(|(other, sight)| match sight {
        Sight::Forward(trained) if trained.grad == Some(true) && is_it(trained.module) => {
            let in_call = other.loops == at.loops && other.calls.starts_with(&at.calls);
            in_call && other.seeded == at.seeded && script.rehearsal.backpropagated.contains(&trained.graph)
        }
        _ => false,
    })
}

/// Whether another model runs beside a forward that was put into evaluation mode.
pub(super) fn is_beside_evaluated(script: &Script, at: &At) -> bool {
    script.sightings().any(|(other, sight)| {
        let evaluated = matches!(sight, Sight::Forward(forward) if forward.mode == Mode::Eval);
        evaluated && other.calls == at.calls && other.loops == at.loops && other.seeded == at.seeded
    })
}

/// Whether nobody here goes back through the graph of a forward, or gives it to others.
pub(super) fn is_unused(script: &Script, forward: &Forward) -> bool {
    is_left_to_others(script, forward) && !script.rehearsal.handed_over.contains(&forward.graph)
}

/// Whether nobody but functions that are not seen could go back through the graph of a forward.
fn is_left_to_others(script: &Script, forward: &Forward) -> bool {
    let (graph, rehearsal) = (&forward.graph, &script.rehearsal);
    !rehearsal.consumed.contains(graph) && !rehearsal.returned.contains(graph)
}

/// Whether a model of which nobody here sets the mode is in training mode: new models are, so what a call made that
/// nobody sees into, and so is what is trained as it was given.
pub(super) fn is_as_built(script: &Script, forward: &Forward) -> bool {
    let is_built = script.rehearsal.heap.noted(forward.module, BUILT).is_some();
    // Gradients go through what computes features for a loss, too, and no optimizer has it.
    let is_new = || match is_trained(script, forward.module) {
        true => is_owned(script, forward.module) || is_all_that_learns(script, forward.module),
        false => is_built,
    };
    let state = script.rehearsal.heap.get(forward.module).module();
    let is_unset = state.is_some_and(|module| module.weights == Learned::Opaque && !module.mode_may_be_set);
    forward.mode == Mode::Unknown && is_unset && is_new() && !is_all_in_sight(script, forward.module)
}

/// Whether a model of the project computes by a forward of its own, and has no part that minds its mode: what its base
/// class is, which is not there, makes no difference.
fn is_all_in_sight(script: &Script, model: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let ClassRef::Project(class) = heap.get(model).class else { return false };
    let minds = |part: ObjId| heap.get(part).module().is_some_and(ModuleState::is_mode_dependent);
    let computes = heap.get(class).attr(Ustr::from("forward")).is_some();
    computes && heap.descendants(model).iter().all(|part| part == model || !minds(part))
}

/// Whether an optimizer was given the parameters of a model.
fn is_owned(script: &Script, model: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let owns = |id: ObjId| heap.get(id).optimizer().is_some_and(|state| state.owns.contains(model));
    heap.optimizers().any(owns)
}

/// Whether gradients reach nothing but a model and its parts: whatever an optimizer of the caller owns, it is that.
fn is_all_that_learns(script: &Script, model: ObjId) -> bool {
    script.rehearsal.walked.iter().all(within(script, model))
}

/// Whether something is a part of a model, or holds it.
fn within<'s>(script: &'s Script, model: ObjId) -> impl Fn(ObjId) -> bool + 's {
    let heap = &script.rehearsal.heap;
    let parts = heap.descendants(model);
    move |leaf| parts.contains(leaf) || heap.descendants(leaf).contains(model)
}

pub(super) fn is_opaque(script: &Script, model: ObjId) -> bool {
    script.rehearsal.heap.get(model).module().is_some_and(|module| module.weights == Learned::Opaque)
}

/// Whether a forward gives what a model that the script trains is scored by.
pub(super) fn is_scoring(script: &Script, at: &At, forward: &Forward) -> bool {
    is_trained(script, forward.module) && is_scored(script, at, |_| true)
}

/// What is known of the method of a model that a forward runs in.
pub(super) fn within_model<'s>(script: &Script<'s>, at: &At) -> Option<&'s WithinModel> {
    let is_it = |other: &At| (other.place, &other.calls, other.seeded) == (at.place, &at.calls, at.seeded);
    script.observed::<WithinModel>().find_map(|(other, within)| is_it(other).then_some(within))
}

/// Whether a model computes its loss itself, of labels that it is given.
fn is_told_labels(script: &Script, at: &At) -> bool {
    let draft = script.draft(at.place.file);
    let call = draft.call_at(at.place.span);
    call.is_some_and(|call| {
        call.args.iter().any(|arg| match arg.kind {
            ArgKind::Keyword(name) => script.apis.takes_labels(name),
            _ => false,
        })
    })
}

/// Whether a prediction goes into a loss, or is compared with labels, beside a forward: in a loop of its own, too,
/// and in the forward itself where it computes the loss. `of` tells which predictions count.
fn is_scored(script: &Script, at: &At, of: impl Fn(&Tensor) -> bool) -> bool {
    // What is scored in a loop that runs a model itself, or by a helper that does, is that model's.
    let beside = |other: &At| {
        let extra = other.loops.strip_prefix(&*at.loops);
        let follows = extra.is_some_and(|loops| loops.first().is_none_or(|id| !script.runs_models_in(*id)));
        let helper = || other.calls.strip_prefix(&*at.calls).map(<[_]>::first);
        let runs_models = |call: &(Place, _)| script.runs_models_at(&at.calls, call.0);
        let by_helper = || helper().is_some_and(|call| call.is_none_or(|call| !runs_models(call)));
        other.seeded == at.seeded && follows && by_helper()
    };
    let inside = |other: &At| {
        let extra = other.calls.strip_prefix(&*at.calls);
        extra.is_some_and(|calls| calls.first().is_some_and(|(site, _)| *site == at.place))
            && other.loops.starts_with(&at.loops)
    };
    let is_loss = |sight: &Sight| match sight {
        Sight::Loss(loss) => {
            // What is held against what a model computes with gradients teaches that model.
            let teaches =
                loss.target.as_tensor().is_some_and(|target| target.learned && target.graph.is_live());
            let input = loss.input.as_tensor().filter(|_| !teaches);
            input.is_some_and(|input| input.learned && of(input))
        }
        _ => false,
    };
    let scores = |other: &At| beside(other) || is_around(other, at);
    script.observed::<Scored>().any(|(other, _)| scores(other))
        || script.observed::<Judged>().any(|(other, Judged(input))| scores(other) && of(input))
        || script.losses().any(|(other, sight)| is_loss(sight) && (scores(other) || inside(other)))
        || is_gathered(script, at)
}

/// Whether no backward runs in the same iteration of the same function, nor goes back through what it computes.
fn is_by_itself(script: &Script, at: &At) -> bool {
    let is_beside = |other: &At| {
        other.calls == at.calls
            && other.seeded == at.seeded
            && at.loops.last().is_some_and(|id| other.loops.contains(id))
    };
    let consumed = &script.rehearsal.consumed;
    let trains = |sight: &Sight| matches!(sight, Sight::Forward(other) if consumed.contains(&other.graph));
    let goes_back = |sight: &Sight| matches!(sight, Sight::Backward { .. });
    !script.passes().any(|(other, sight)| goes_back(sight) && is_beside(other))
        && !script.sightings().any(|(other, sight)| trains(sight) && is_beside(other))
}
