//! How far a rehearsal has come, to ask later whether it surely led on from there.

use super::{Interp, Running};

/// How far a rehearsal had come.
#[derive(Clone, Copy)]
pub struct Waypoint {
    arms: usize,
    frames: usize,
    loops: usize,
    apart: bool,
}

impl Interp<'_> {
    pub(crate) fn waypoint(&self) -> Waypoint {
        let (frames, loops) = (self.frames.len(), self.active.len());
        Waypoint { arms: self.passes.arms, frames, loops, apart: self.passes.apart }
    }

    /// Whether what ran since then surely comes here: no branch of it decides, and no call of it may have ended before.
    pub(crate) fn leads_here(&self, since: Waypoint) -> bool {
        let returns = self.frames.iter().skip(since.frames).any(|frame| !frame.exits.is_empty());
        self.passes.arms == since.arms && self.passes.apart == since.apart && !returns
    }

    /// The calls that began since then and still run, outermost first.
    pub(crate) fn running_since(&self, since: Waypoint) -> impl Iterator<Item = Running> {
        self.running().skip(since.frames)
    }

    /// Whether a loop that began since then runs what is here.
    pub(crate) fn repeats_since(&self, since: Waypoint) -> bool {
        self.active.len() > since.loops
    }
}
