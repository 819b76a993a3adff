//! What classes inherit from, in the order in which attributes are looked up.

use super::Interp;
use crate::values::*;
use smallvec::SmallVec;
use ustr::Ustr;

/// Longer chains of bases are cut.
const MOST_BASES: usize = 32;

/// What a class inherits from, nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Project(ObjId),
    Api(Ustr),
    Unknown,
}

pub(crate) type Lineage = SmallVec<[Base; 8]>;

impl Interp<'_> {
    /// The class and what it inherits from, in the order attributes are looked up.
    pub(crate) fn lineage(&self, class: ClassRef) -> Lineage {
        let mut found = Lineage::new();
        match class {
            ClassRef::Project(object) => self.collect_bases(object, &mut found),
            ClassRef::Api(name) => found.push(Base::Api(name)),
            ClassRef::Builtin => {}
        }
        found
    }

    fn collect_bases(&self, class: ObjId, found: &mut Lineage) {
        if found.len() >= MOST_BASES || found.contains(&Base::Project(class)) {
            return;
        }
        found.push(Base::Project(class));
        let State::Class(state) = &self.heap.get(class).state else { return };
        for base in &state.bases {
            match base.bare() {
                Value::Obj(object) => self.collect_bases(*object, found),
                // `abc.ABC` gives its classes nothing.
                Value::Api(name) if name.starts_with("abc.") => {}
                Value::Api(name) => found.push(Base::Api(*name)),
                Value::Builtin(_) => {}
                _ => found.push(Base::Unknown),
            }
        }
    }
}
