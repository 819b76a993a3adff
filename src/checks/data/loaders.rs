//! What the rules on loaders ask of a script: which loops train on which loader, and where that was made.

use crate::facts::Script;
use crate::report::Place;
use crate::trace::{At, Forward, LoopId, Over, Sight};
use crate::values::{Mode, ObjId, SampleOrder, State};
use std::rc::Rc;

/// Loops over loaders in which a model is trained.
pub(super) fn training_loops(script: &Script) -> Vec<(LoopId, ObjId)> {
    let over = |id: LoopId| match script.rehearsal.loop_info(id).over {
        Over::Loader(loader) if script.descends_in(id) => Some((id, loader)),
        _ => None,
    };
    script.loops().filter_map(over).collect()
}

/// The loop that goes through a loader's data again and again.
pub(super) fn epochs(script: &Script, id: LoopId) -> Option<Place> {
    let outer = script.rehearsal.loop_info(id).outer.iter();
    let again = outer
        .map(|outer| script.rehearsal.loop_info(*outer))
        .rev()
        .find(|outer| outer.count.known() != Some(1));
    again.map(|outer| outer.place)
}

/// How a loader takes its samples.
pub(super) fn sample_order(script: &Script, loader: ObjId) -> Option<SampleOrder> {
    match &script.rehearsal.heap.get(loader).state {
        State::Loader(state) => Some(state.sample_order),
        _ => None,
    }
}

/// Whether nobody but the script gives each process its share: an engine does it for the loaders in its care.
pub(super) fn is_shared_by_script(script: &Script, loader: ObjId) -> bool {
    matches!(&script.rehearsal.heap.get(loader).state, State::Loader(state) if !state.managed)
}

/// Where a loader was made; of one that may be several, the loop over it.
pub(super) fn at_loader(script: &Script, loader: ObjId, id: LoopId) -> Option<At> {
    let made = script
        .sightings()
        .find(|(_, sight)| matches!(sight, Sight::Loader { loader: made, .. } if *made == loader));
    if let Some((at, _)) = made {
        return Some(at.clone());
    }
    let (at, _) = script.sightings().find(|(at, _)| at.loops.contains(&id))?;
    Some(At { place: script.rehearsal.heap.get(loader).site, calls: Rc::from([]), ..at.clone() })
}

/// Where a model is scored on what a loader gives, of which nothing is learned: the forward pass of a loop over it, or the
/// hook by which a framework gets it.
pub(super) fn scored_on<'s>(script: &'s Script<'s>, loader: ObjId) -> Option<&'s At> {
    if script.feeds_training(loader) {
        return None;
    }
    script.sightings().find_map(|(at, sight)| match sight {
        Sight::Forward(forward) => evaluates_in(script, at, forward, loader).then_some(at),
        Sight::GoneThrough { loader: given, trains: false } => (*given == loader).then_some(at),
        _ => None,
    })
}

fn evaluates_in(script: &Script, at: &At, forward: &Forward, loader: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let is_it = |over: ObjId| over == loader || heap.stands_for(over).contains(loader);
    let over =
        |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(over) if is_it(over));
    let Some(depth) = at.loops.iter().position(over) else { return false };
    // Who goes through it again and again before anything is learned wants to see the samples in several ways.
    let around = at.loops[..depth].iter().rev().take_while(|id| !script.trains_in(**id));
    let again = around.into_iter().any(|id| matches!(script.rehearsal.loop_info(*id).over, Over::Counter));
    let learns = script.descends_in(at.loops[depth]);
    !learns && !again && (forward.grad == Some(false) || forward.mode == Mode::Eval)
}
