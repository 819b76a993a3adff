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
            ClassRef::Project(object) => {
                found.extend(self.linearized(object, &mut SmallVec::new()).into_iter().take(MOST_BASES));
            }
            ClassRef::Api(name) => found.push(Base::Api(name)),
            ClassRef::Builtin => {}
        }
        found
    }

    /// The order of Python: a class before its bases, bases as they are written, and what several inherit from after all
    /// of them. A class that is its own base is cut.
    fn linearized(&self, class: ObjId, within: &mut SmallVec<[ObjId; 8]>) -> Lineage {
        let own = Base::Project(class);
        let State::Class(state) = &self.heap.get(class).state else { return Lineage::from_iter([own]) };
        if within.contains(&class) || within.len() >= MOST_BASES {
            return Lineage::new();
        }
        within.push(class);
        let mut orders: SmallVec<[Lineage; 1]> = SmallVec::new();
        for base in &state.bases {
            let order = match base.bare() {
                Value::Obj(object) => self.linearized(*object, within),
                // `abc.ABC` gives its classes nothing.
                Value::Api(name) if name.starts_with("abc.") => continue,
                Value::Api(name) => Lineage::from_iter([Base::Api(*name)]),
                Value::Builtin(_) => continue,
                _ => Lineage::from_iter([Base::Unknown]),
            };
            orders.push(order);
        }
        within.pop();
        let mut all = Lineage::from_iter([own]);
        match &orders[..] {
            [only] => all.extend_from_slice(only),
            _ => all.extend(merged(&orders)),
        }
        all
    }
}

/// The first that is in no other's rest comes first; where none is, Python refuses the class, and any order does.
fn merged(orders: &[Lineage]) -> Lineage {
    let written = orders.iter().filter_map(|order| order.first().copied()).collect();
    let mut left: Vec<Lineage> = orders.iter().cloned().chain([written]).collect();
    let mut all = Lineage::new();
    loop {
        left.retain(|order| !order.is_empty());
        let waits = |head: &Base| left.iter().any(|order| order[1..].contains(head));
        let heads = left.iter().filter_map(|order| order.first().copied());
        let Some(next) = heads.clone().find(|head| !waits(head)).or(heads.clone().next()) else { return all };
        all.push(next);
        left.iter_mut().for_each(|order| order.retain(|base| *base != next));
    }
}
