//! What classes inherit from, in the order in which attributes are looked up.

use super::Interp;
use crate::apis::Role;
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
    /// The class and what it inherits from, in the order attributes are looked up: a class before its bases, bases as
    /// they are written, and what several inherit from after all of them.
    pub(crate) fn lineage(&self, class: ClassRef) -> Lineage {
        let mut found = Lineage::new();
        match class {
            ClassRef::Project(object) => self.collect_bases(object, &mut found, &[]),
            ClassRef::Api(name) => found.push(Base::Api(name)),
            ClassRef::Builtin => {}
        }
        found
    }

    /// Follows a class as long as it has one base. Of several, each has an order of its own; `within` are the classes
    /// whose bases are being ordered, so that a class that is its own base is cut.
    fn collect_bases(&self, mut class: ObjId, found: &mut Lineage, within: &[ObjId]) {
        while found.len() < MOST_BASES && !found.contains(&Base::Project(class)) && !within.contains(&class) {
            found.push(Base::Project(class));
            let State::Class(state) = &self.heap.get(class).state else { return };
            let mut bases = state.bases.iter().filter_map(base_of);
            match (bases.next(), bases.next()) {
                (None, _) => return,
                (Some(Base::Project(only)), None) => class = only,
                (Some(only), None) => return found.push(only),
                (Some(first), Some(second)) => {
                    let bases = [first, second].into_iter().chain(bases);
                    let within: Vec<ObjId> = within.iter().copied().chain([class]).collect();
                    let orders: Vec<Lineage> = bases.map(|base| self.order_of(base, &within)).collect();
                    return found.extend(merged(&orders));
                }
            }
        }
    }

    fn order_of(&self, base: Base, within: &[ObjId]) -> Lineage {
        let mut order = Lineage::new();
        match base {
            Base::Project(class) => self.collect_bases(class, &mut order, within),
            other => order.push(other),
        }
        order
    }

    /// Whether a class of a framework is a module; those that the tables do not know stand where the others do,
    /// `torch.nn.modules.batchnorm._BatchNorm`.
    pub(super) fn is_module_class(&self, class: Ustr) -> bool {
        self.apis.role(class) == Some(Role::Module)
            || self.apis.get(class).is_none() && self.apis.is_beside_modules(class)
    }
}

/// What a class names as its base. `abc.ABC` and classes of the language give it nothing.
fn base_of(base: &Value) -> Option<Base> {
    match base.bare() {
        Value::Obj(object) => Some(Base::Project(*object)),
        Value::Api(name) if name.starts_with("abc.") => None,
        Value::Api(name) => Some(Base::Api(*name)),
        Value::Builtin(_) => None,
        _ => Some(Base::Unknown),
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
