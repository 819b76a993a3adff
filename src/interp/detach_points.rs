//! Detach points: where a value left behind the graph of what it was computed of, and which parameters that costs.

use super::{Interp, Invocation};
use crate::apis::{Api, Transfer};
use crate::report::Place;
use crate::values::tensor::union_detach_points;
use crate::values::*;
use std::rc::Rc;

/// So many items of a sequence are looked at.
const MOST_ITEMS: usize = 64;

impl<'p> Interp<'p> {
    /// A result without a graph of operands that have one.
    pub(super) fn note_detach(&self, api: &Api, call: &Invocation, value: Value) -> Value {
        let is_detached = |tensor: &Rc<Tensor>| match &tensor.graph {
            Graph::None => true,
            Graph::Live(nodes) => tensor.is_leaf && nodes.own,
            Graph::Unknown => false,
        };
        match &value {
            Value::Tensor(tensor) if is_detached(tensor) => {}
            Value::Tuple(items) if items.iter().any(|item| item.as_tensor().is_some_and(is_detached)) => {}
            _ => return value,
        }
        if matches!(api.transfer(), Some(Transfer::FactoryLike | Transfer::NewFactory)) {
            // Only the form is taken from the operand, and none of its numbers.
            return value;
        }
        let mut lost = ObjSet::default();
        for operand in [call.nth(0), call.nth(1)] {
            for tensor in self.tensors_in(&operand) {
                if let Graph::Live(nodes) = &tensor.graph
                    && !nodes.maybe
                {
                    lost = lost.union(&nodes.leaves);
                }
            }
        }
        let may_ask = || call.nth_tensor(0).is_some_and(|tensor| !matches!(tensor.graph, Graph::None));
        // Of a graph that is not known, or perhaps there, nobody can say what is lost; that it is left behind is sure.
        // A number that was computed has no graph behind it, either.
        let surely = match api.transfer() {
            Some(Transfer::Detach) => may_ask(),
            Some(Transfer::FromData | Transfer::AsTensor) => matches!(call.nth(0).bare(), Value::Float(None)),
            _ => false,
        };
        if lost.is_empty() && !surely {
            value
        } else {
            let unrecorded = self.ambient.grad == Some(false);
            cut(&value, &DetachPoint { place: call.place, by: Some(api.name), lost, unrecorded })
        }
    }

    /// A tensor, or those in a sequence.
    pub fn tensors_in(&self, value: &Value) -> Vec<Rc<Tensor>> {
        let items = match value.bare() {
            Value::Tensor(tensor) => return vec![tensor.clone()],
            Value::Tuple(items) => items.to_vec(),
            Value::Obj(object) => match &self.heap.get(*object).state {
                State::List(Items { exact: Some(items), .. }) => items.clone(),
                State::List(items) => vec![items.any.clone()],
                _ => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        items.iter().take(MOST_ITEMS).filter_map(|item| item.as_tensor().cloned()).collect()
    }

    /// A layer ran where no gradients are recorded.
    pub(super) fn note_unrecorded(
        &self,
        object: ObjId,
        module: &ModuleState,
        place: Option<Place>,
    ) -> Option<Rc<[DetachPoint]>> {
        if self.ambient.grad != Some(false) || module.frozen != Some(false) {
            return None;
        }
        Some(Rc::from([DetachPoint { place: place?, by: None, lost: ObjSet::one(object), unrecorded: true }]))
    }

    /// At the exit of a module: what is reached on some other way is not lost. Its parts are told apart here
    /// for the last time.
    pub(super) fn settle_detach_points(&mut self, output: Value) -> Value {
        let mut live = ObjSet::default();
        leaves(&output, &mut live);
        self.out.reached.extend(live.iter());
        keep_lost(&output, &live)
    }
}

/// Adds a cut to the tensors of a value.
fn cut(value: &Value, one: &DetachPoint) -> Value {
    match value {
        Value::Tensor(tensor) if !tensor.graph.is_live() || tensor.is_leaf => {
            let detach_points = union_detach_points(&tensor.detach_points, &Some(Rc::from([one.clone()])));
            Value::tensor(Tensor { detach_points, ..(**tensor).clone() })
        }
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| cut(item, one)).collect()),
        other => other.clone(),
    }
}

fn leaves(value: &Value, all: &mut ObjSet) {
    match value {
        Value::Tensor(tensor) => {
            if let Graph::Live(nodes) = &tensor.graph {
                *all = all.union(&nodes.leaves);
            }
        }
        Value::Tuple(items) => items.iter().for_each(|item| leaves(item, all)),
        _ => {}
    }
}

fn keep_lost(value: &Value, live: &ObjSet) -> Value {
    match value {
        Value::Tensor(tensor) => {
            let Some(detach_points) = &tensor.detach_points else { return value.clone() };
            let still = |cut: &DetachPoint| {
                let lost: ObjSet = cut.lost.iter().filter(|leaf| !live.contains(*leaf)).collect();
                (!lost.is_empty()).then(|| DetachPoint { lost, ..cut.clone() })
            };
            let kept: Vec<DetachPoint> = detach_points.iter().filter_map(still).collect();
            let detach_points = (!kept.is_empty()).then(|| Rc::from(kept));
            Value::tensor(Tensor { detach_points, ..(**tensor).clone() })
        }
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| keep_lost(item, live)).collect()),
        other => other.clone(),
    }
}
