//! What a replay on a stand-in model takes of the script: its optimizer, with the rates that it says.

use super::Script;
use crate::report::replay::{Fault, Number, Optimizer, Step};
use crate::values::{ClassRef, ObjId};
use ustr::Ustr;

impl Script<'_> {
    /// A step of this optimizer with a fault; `None` for one that the stand-in does not have.
    pub fn step_with(&self, optimizer: ObjId, fault: Fault) -> Option<Step> {
        let object = self.rehearsal.heap.get(optimizer);
        let ClassRef::Api(class) = object.class else { return None };
        let name = class.rsplit('.').next()?.to_ascii_lowercase();
        let kind = Optimizer::ALL.iter().copied().find(|kind| kind.name() == name)?;
        let number = |names: &[&str]| {
            let value =
                names.iter().find_map(|name| self.rehearsal.heap.attr(optimizer, Ustr::from(name))?.as_num());
            value.filter(|value| value.is_finite() && *value >= 0.0).map(Number::new)
        };
        Some(Step {
            fault,
            optimizer: kind,
            learning_rate: number(&["lr", "learning_rate"]),
            momentum: number(&["momentum"]),
            weight_decay: number(&["weight_decay"]),
        })
    }
}
