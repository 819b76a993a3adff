//! What is watched while the script runs, for the rules on graphs: the last method of a tensor, the
//! layer that is computed.

use crate::report::{Confidence, Place};
use crate::values::ObjId;
use ustr::Ustr;

#[derive(Default)]
pub(super) struct Watch {
    /// The methods of tensors that the running statement called.
    pub latest: Vec<Latest>,
    /// The layer whose call is being computed.
    pub layer: Option<ObjId>,
}

/// A call of a tensor's method.
pub(super) struct Latest {
    pub place: Place,
    pub method: Ustr,
    pub confidence: Confidence,
}
