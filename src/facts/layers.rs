//! Which layers of a stand-in learn, fault by fault.

use crate::report::replay::{LAYERS, Layer};

const CUT: Layer = Layer::Cut;
pub const LEARNS: Layer = Layer::Learns;
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
