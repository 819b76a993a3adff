//! What environments of Gym and Gymnasium give. A step has four parts or five, as the release wills: how many it is taken
//! for shows where it is unpacked.

use crate::apis::{Literal, Operand, Slot, Transfer};
use crate::interp::{Interp, Invocation};
use crate::syntax::ExprKind;
use crate::values::*;
use ustr::Ustr;

/// `outcomes words …`: one of these rows of parts.
pub(crate) fn outcomes(interp: &mut Interp, call: &Invocation) -> Value {
    Value::Obj(interp.alloc(call.place, ClassRef::Api(call.api.name), State::Plain))
}

/// `action-space word`: an action is a number, of a space of this class, where the script asks how many there are.
pub(crate) fn action_space(interp: &mut Interp, call: &Invocation) -> Value {
    let (space, count) = (Ustr::from("action_space"), Ustr::from("n"));
    let tree = interp.tree(call.place.file);
    let is_counted = tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Attribute { base, name, .. } if name == count => {
            matches!(tree.expr(base).kind, ExprKind::Attribute { name, .. } if name == space)
        }
        _ => false,
    });
    if !is_counted {
        return Value::Unknown;
    }
    let class = call.operand(Slot::Word);
    match class.as_str() {
        Some(class) => Value::Obj(interp.alloc(call.place, ClassRef::Api(Ustr::from(class)), State::Plain)),
        None => Value::Unknown,
    }
}

impl Interp<'_> {
    /// The parts of an outcome that is unpacked into so many names.
    pub(in crate::interp) fn parts_of_outcome(&self, outcome: &Value, names: usize) -> Option<Vec<Value>> {
        let ClassRef::Api(name) = self.heap.get(outcome.as_obj()?).class else { return None };
        let api = self.apis.get(name).filter(|api| api.transfer() == Some(Transfer::Outcomes))?;
        let rows = api.gives.as_ref()?.args.iter().filter_map(|row| match row {
            Operand::Literal(Literal::Str(words)) => Some(words.split(' ')),
            _ => None,
        });
        let row = rows.into_iter().find(|row| row.clone().count() == names)?;
        Some(row.map(part).collect())
    }
}

fn part(word: &str) -> Value {
    match word {
        "bool" => Value::Bool(None),
        "float" => Value::Float(None),
        _ => Value::Unknown,
    }
}
