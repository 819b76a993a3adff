//! What is watched while the script runs, for the rules on graphs: the last method of a tensor, what a
//! hand-written backward returns.

use super::arity::Returned;
use crate::report::{Confidence, Place};
use crate::values::ObjId;
use ustr::Ustr;

#[derive(Default)]
pub(super) struct Watch {
    /// The methods of tensors that the running statement called.
    pub latest: Vec<Latest>,
    /// The layer whose call is being computed.
    pub layer: Option<ObjId>,
    /// What the hand-written backward that runs returns, and how many frames are around it.
    pub returned: Option<(usize, Vec<Returned>)>,
}

/// A call of a tensor's method.
pub(super) struct Latest {
    pub place: Place,
    pub method: Ustr,
    pub confidence: Confidence,
}
