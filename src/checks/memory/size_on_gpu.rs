//! How much of the GPU's memory a tensor takes, in the words of the rules about memory.

use crate::facts::Script;
use crate::report::replay::{Demand, Replay};
use crate::report::{Place, Severity, units};
use crate::trace::At;
use crate::values::Tensor;

/// A tensor whose size is known, and how bad that size is.
pub(super) struct TensorOnGpu {
    pub at: At,
    pub severity: Severity,
    pub bytes: u64,
    /// Where it was made, if that is elsewhere.
    pub made: Option<Place>,
    shape: String,
    dtype: &'static str,
}

impl TensorOnGpu {
    pub(crate) fn new(
        script: &Script,
        at: &At,
        tensor: &Tensor,
        bytes: u64,
        severity: Severity,
    ) -> TensorOnGpu {
        TensorOnGpu {
            at: at.clone(),
            severity,
            bytes,
            made: tensor.made.filter(|made| *made != at.place),
            shape: script.shape(tensor),
            dtype: tensor.dtype.map_or("", |dtype| dtype.name()),
        }
    }

    pub(crate) fn size(&self) -> String {
        units::bytes(self.bytes)
    }

    /// `[60,000, 784] float32 = 179 MiB`
    pub(crate) fn shape_and_size(&self) -> String {
        format!("{} {} = {}", self.shape, self.dtype, self.size())
    }

    /// The percentage of the card's memory that it takes.
    pub(crate) fn share(&self, script: &Script) -> f64 {
        self.bytes as f64 / script.target_bytes() as f64 * 100.0
    }

    pub(crate) fn replay(&self, what: &str) -> Replay {
        Replay::Memory(Demand::of(what, self.bytes))
    }
}

/// The bytes of a tensor whose shape and dtype are known.
pub(super) fn bytes_of(tensor: &Tensor) -> Option<u64> {
    u64::try_from(tensor.bytes()?).ok()
}
