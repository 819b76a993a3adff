//! What the rules on loaders ask of a script: which loops train on which loader, and where that was made.

use crate::facts::Script;
use crate::report::Place;
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{ObjId, SampleOrder, State};
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
