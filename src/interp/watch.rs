//! What is watched while the script runs, for the rules on modules and graphs: the last method of a tensor,
//! instances while their constructor runs, what a hand-written backward returns.

use super::arity::Returned;
use super::birth::Birth;
use crate::report::{Confidence, Place};
use crate::trace::Sight;
use crate::values::ObjId;
use rustc_hash::FxHashMap;
use ustr::Ustr;

#[derive(Default)]
pub(super) struct Watch {
    /// The methods of tensors that the running statement called.
    pub latest: Vec<Latest>,
    /// Instances of modules whose constructors run, innermost last.
    pub births: Vec<Birth>,
    /// Instances of the project's modules, with the number of objects when their constructors had run.
    pub born: FxHashMap<ObjId, u32>,
    /// Instances whose constructors left out the framework's own.
    pub unready: Vec<(Place, Sight)>,
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
