//! Which layers of a model learn: what is known of the graphs that backward passes walk, and of what the optimizers
//! beside them have, as the layers of a stand-in.

use super::optimizer::{self, SpentIterator};
use super::{graphs, modules};
use crate::facts::Script;
use crate::facts::layers::{BROKEN, DETACHED, HIDDEN, LEARNS, MISSED, REPLACED};
use crate::report::replay::{LAYERS, Layer};
use crate::values::ObjId;

/// The layers of a stand-in for each optimizer that steps, by what is known of it.
pub fn layers(script: &Script) -> Vec<[Layer; LAYERS]> {
    let stepping = script.stepping_optimizers();
    let (detached, broken) = (graphs::detached_losses(script), graphs::broken_graphs(script));
    let (replaced, abandoned) = (optimizer::replaced_parts(script), optimizer::abandoned_models(script));
    let of = |optimizer: ObjId| {
        if detached.iter().any(|loss| loss.optimizer == Some(optimizer)) {
            DETACHED
        } else if is_built_of_nothing(script, optimizer)
            || abandoned.iter().any(|one| one.optimizer == optimizer)
        {
            MISSED
        } else if replaced.iter().any(|part| part.optimizer == optimizer) {
            REPLACED
        } else if !broken.is_empty() {
            BROKEN
        } else if modules::has_unregistered_parts(script) {
            HIDDEN
        } else {
            [LEARNS; LAYERS]
        }
    };
    stepping.iter().map(of).collect()
}

/// The generator that an optimizer was given had nothing left.
fn is_built_of_nothing(script: &Script, optimizer: ObjId) -> bool {
    let site = script.rehearsal.heap.get(optimizer).site;
    script
        .observed::<SpentIterator>()
        .any(|(at, _)| at.place.file == site.file && site.span.contains(at.place.span))
}
