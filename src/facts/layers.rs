//! Which layers of a model learn: what is known of the graphs that backward passes walk, and of what the optimizers
//! beside them have, as the layers of a stand-in.

use super::Script;
use super::shares::optimizers;
use crate::report::replay::{LAYERS, Layer};
use crate::trace::Sight;
use crate::values::{ObjId, ObjSet};

const CUT: Layer = Layer::Cut;
const LEARNS: Layer = Layer::Learns;
const UNOWNED: Layer = Layer::Unowned;

/// The graph of the loss is gone.
pub const DETACHED: [Layer; LAYERS] = [CUT; LAYERS];
/// The graph is cut on the way, and what is before the cut gets nothing.
pub const BROKEN: [Layer; LAYERS] = [CUT, LEARNS, LEARNS];
/// The optimizer has nothing of the model.
pub const MISSED: [Layer; LAYERS] = [UNOWNED; LAYERS];
/// It has what was there before the last layer was replaced.
pub const REPLACED: [Layer; LAYERS] = [LEARNS, LEARNS, UNOWNED];
/// It does not get the layers that the model does not know.
pub const HIDDEN: [Layer; LAYERS] = [UNOWNED, UNOWNED, LEARNS];

impl Script<'_> {
    /// The layers of a stand-in for each optimizer that steps, by what is known of it.
    pub fn layers(&self) -> Vec<[Layer; LAYERS]> {
        let mut stepping = ObjSet::default();
        self.rehearsal.entries.iter().for_each(|entry| optimizers(&entry.nodes, &mut stepping));
        let (detached, broken) = (self.detached_losses(), self.broken_graphs());
        let (replaced, abandoned) = (self.replaced_parts(), self.abandoned_models());
        let of = |optimizer: ObjId| {
            let name = self.name_of(optimizer);
            if detached.iter().any(|loss| loss.optimizer == name) {
                DETACHED
            } else if self.is_built_of_nothing(optimizer) || abandoned.iter().any(|one| one.optimizer == name)
            {
                MISSED
            } else if replaced.iter().any(|part| part.optimizer == name) {
                REPLACED
            } else if !broken.is_empty() {
                BROKEN
            } else if self.sightings().any(|(_, sight)| matches!(sight, Sight::Hidden { .. })) {
                HIDDEN
            } else {
                [LEARNS; LAYERS]
            }
        };
        stepping.iter().map(of).collect()
    }

    /// The generator that an optimizer was given had nothing left.
    fn is_built_of_nothing(&self, optimizer: ObjId) -> bool {
        let site = self.rehearsal.heap.get(optimizer).site;
        self.sightings().any(|(at, sight)| {
            let inside = at.place.file == site.file && site.span.contains(at.place.span);
            matches!(sight, Sight::Exhausted { .. }) && inside
        })
    }
}
