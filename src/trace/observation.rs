//! Things seen on the way that do not depend on their order: each with its place and what led there, its type
//! declared by whoever looks for it.

use super::At;
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};
use std::cell::OnceCell;

/// Something seen during the rehearsal.
pub struct Observation {
    pub at: At,
    /// It is so in the first iteration of the loops around, whatever later ones find.
    pub lasting: bool,
    /// It holds of what was put together here, whoever does so.
    pub certain: bool,
    kind: TypeId,
    what: Box<dyn Any>,
}

impl Observation {
    pub fn new<T: Any>(at: At, what: T) -> Observation {
        Observation { at, lasting: false, certain: false, kind: TypeId::of::<T>(), what: Box::new(what) }
    }

    pub fn is<T: Any>(&self) -> bool {
        self.kind == TypeId::of::<T>()
    }

    pub fn get<T: Any>(&self) -> Option<&T> {
        if self.is::<T>() { self.what.downcast_ref() } else { None }
    }
}

/// Where the observations of each type stand in the list of all: rules ask for one type at a time, and of a long
/// script there are many of others.
#[derive(Default)]
pub struct ByType(OnceCell<FxHashMap<TypeId, Vec<u32>>>);

impl ByType {
    /// Those of one type, in order. The list is that of a rehearsal that has ended.
    pub(super) fn of<T: Any>(&self, all: &[Observation]) -> &[u32] {
        let known = self.0.get_or_init(|| {
            let mut by_type: FxHashMap<TypeId, Vec<u32>> = FxHashMap::default();
            all.iter()
                .enumerate()
                .for_each(|(at, seen)| by_type.entry(seen.kind).or_default().push(at as u32));
            by_type
        });
        known.get(&TypeId::of::<T>()).map_or(&[], Vec::as_slice)
    }
}
