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
        self.linearized(class, &mut Vec::new())
            .into_iter()
            .take(MOST_BASES)
            .for_each(|base| found.push(base));
    }

    /// The order of Python: a class before its bases, bases as they are written, and what several inherit from after all
    /// of them. A class that is its own base is cut.
    fn linearized(&self, class: ObjId, within: &mut Vec<ObjId>) -> Lineage {
        let own = Base::Project(class);
        let State::Class(state) = &self.heap.get(class).state else { return Lineage::from_iter([own]) };
        if within.contains(&class) || within.len() >= MOST_BASES {
            return Lineage::new();
        }
        within.push(class);
        let mut orders: Vec<Lineage> = Vec::new();
        let mut written = Lineage::new();
        for base in &state.bases {
            let order = match base.bare() {
                Value::Obj(object) => self.linearized(*object, within),
                // `abc.ABC` gives its classes nothing.
                Value::Api(name) if name.starts_with("abc.") => continue,
                Value::Api(name) => Lineage::from_iter([Base::Api(*name)]),
                Value::Builtin(_) => continue,
                _ => Lineage::from_iter([Base::Unknown]),
            };
            written.extend(order.first().copied());
            orders.push(order);
        }
        within.pop();
        orders.push(written);
        let mut all = Lineage::from_iter([own]);
        all.extend(merged(orders));
        all
    }
}

/// The first that is in no other's rest comes first; where none is, Python refuses the class, and any order does.
fn merged(mut orders: Vec<Lineage>) -> Lineage {
    let mut all = Lineage::new();
    loop {
        orders.retain(|order| !order.is_empty());
        let waits = |head: &Base| orders.iter().any(|order| order[1..].contains(head));
        let heads = orders.iter().filter_map(|order| order.first().copied());
        let Some(next) = heads.clone().find(|head| !waits(head)).or(heads.clone().next()) else { return all };
        all.push(next);
        orders.iter_mut().for_each(|order| order.retain(|base| *base != next));
    }
}
