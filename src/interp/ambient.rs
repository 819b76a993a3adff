//! What a script sets once and every operation heeds: whether gradients are recorded, on which device new tensors
//! are made, which contexts are open.

use crate::report::Place;
use crate::values::*;

pub struct Ambient {
    /// Whether operations record gradients here; `None` when that is not known.
    pub grad: Option<bool>,
    /// Contexts in force other than the grad mode.
    pub(super) contexts: Vec<ContextKind>,
    /// Where a factory or layer puts its tensors that is not told where.
    pub device: Device,
    /// How often the script has said so.
    pub(super) device_told: u32,
    /// New layers hold `float32`; scripts that choose another default are not followed in this.
    pub(super) plain_dtypes: bool,
    /// The scaler that calls the `step` of a class around an optimizer.
    pub(super) stepping: Option<ObjId>,
    /// Where the script last said of an input that no gradients are recorded, as old releases were told.
    pub volatile: Option<Place>,
    /// A tape recorded something already: what it does not record has no graph.
    pub(super) recorded: bool,
}

impl Default for Ambient {
    fn default() -> Ambient {
        Ambient {
            grad: Some(true),
            contexts: Vec::new(),
            device: Device::Cpu,
            device_told: 0,
            plain_dtypes: true,
            stepping: None,
            volatile: None,
            recorded: false,
        }
    }
}
