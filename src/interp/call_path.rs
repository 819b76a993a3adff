//! Names the ways that lead to a place: the call sites and unrolled iterations around it, told apart exactly, so
//! that an allocation site has an object for each. A path is a number that stands for its parent and its last hop.

use super::Interp;
use crate::report::Place;
use crate::values::ObjId;
use rustc_hash::FxHashMap;

/// A way to a place; the default is the script itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CallPath(u32);

/// What a path has beyond its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hop {
    Call(Place),
    /// One of several passes that begin at a place.
    Nth(Place, u32),
    /// What a call makes besides its result.
    Aside(u64),
}

/// The numbers that were given to paths.
#[derive(Default)]
pub(super) struct CallPaths(FxHashMap<(CallPath, Hop), CallPath>);

/// Where the rehearsal is, and what it made at each place.
#[derive(Default)]
pub(super) struct Sites {
    /// The call sites and unrolled iterations around us.
    pub(super) path: CallPath,
    paths: CallPaths,
    /// The object of each site: the same way finds it again.
    pub(super) made: FxHashMap<(CallPath, Place), ObjId>,
    /// Frames that were entered, those that have ended included.
    pub(super) frames: u32,
}

impl CallPaths {
    fn enter(&mut self, parent: CallPath, hop: Hop) -> CallPath {
        let next = u32::try_from(self.0.len() + 1).unwrap_or(u32::MAX);
        *self.0.entry((parent, hop)).or_insert(CallPath(next))
    }
}

impl Interp<'_> {
    /// Goes one hop on; gives the path to come back to.
    pub(super) fn enter_path(&mut self, hop: Hop) -> CallPath {
        let parent = self.sites.path;
        self.sites.path = self.sites.paths.enter(parent, hop);
        parent
    }

    /// Does something one hop on, and comes back.
    pub(super) fn one_hop_on<T>(&mut self, hop: Hop, run: impl FnOnce(&mut Self) -> T) -> T {
        let path = self.enter_path(hop);
        let done = run(self);
        self.sites.path = path;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{FileId, Span};

    fn place(start: u32, end: u32) -> Place {
        Place::new(FileId(0), Span { start, end })
    }

    #[test]
    fn the_same_way_has_the_same_path_and_no_other_has_it() {
        let mut paths = CallPaths::default();
        let root = CallPath::default();
        let hops = [
            Hop::Call(place(4, 40)),
            Hop::Call(place(5, 9)),
            Hop::Call(place(4, 9)),
            Hop::Nth(place(4, 9), 0),
            Hop::Nth(place(4, 9), 1),
            Hop::Aside(0),
        ];
        let once = hops.map(|hop| paths.enter(root, hop));
        let again = hops.map(|hop| paths.enter(root, hop));
        assert_eq!(once, again);
        for (at, path) in once.iter().enumerate() {
            assert!(*path != root && !once[..at].contains(path), "{:?}", hops[at]);
        }
        assert_ne!(paths.enter(once[0], hops[1]), once[1]);
    }
}
