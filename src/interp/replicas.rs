//! What runs elsewhere than where it is written: replicas of a strategy on several devices, and functions that
//! are recorded as graphs.

use super::{Call, Interp, Invocation};
use crate::apis::Slot;
use crate::report::Place;
use crate::trace::Sight;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

impl<'p> Interp<'p> {
    /// `strategy.run(f, args, kwargs)`: what a replica does, and what it gives.
    pub(super) fn replica_result(&mut self, call: &Invocation) -> Value {
        let mut inner = Call::new(call.place);
        match call.operand(Slot::Args).bare() {
            Value::Tuple(items) => inner = Call::with(call.place, items.iter().cloned()),
            Value::None => {}
            Value::Obj(object) => {
                let items = self.iterate(&Value::Obj(*object), call.place);
                inner = Call::with(call.place, items.exact.into_iter().flatten());
            }
            _ => inner.open = true,
        }
        self.add_keywords(&mut inner, &call.operand(Slot::Kwargs));
        let before = self.push_context(ContextKind::Replica);
        let result = self.call_value(&call.operand(Slot::F), &inner);
        self.pop_context(before);
        result
    }

    fn add_keywords(&mut self, call: &mut Call, keywords: &Value) {
        let Some(object) = keywords.as_obj() else { return };
        let State::Dict(entries) = &self.heap.get(object).state else { return };
        call.open |= entries.other.is_some();
        let place = call.place;
        for (key, value) in &entries.known {
            if let Key::Str(name) = key {
                let passed = super::Passed { value: value.clone(), place };
                call.keywords.push((Ustr::from(name), passed));
            }
        }
    }

    /// The graph of a framework that records on tapes only: none where no tape runs.
    pub(super) fn taped_graph(&self) -> Graph {
        let open = !self.ambient.recorded || self.supposed.seeded.is_some();
        if open || self.ambient.contexts.contains(&ContextKind::Recording) {
            Graph::Unknown
        } else {
            Graph::None
        }
    }

    /// A value where tapes record: what came through calls that we do not know has no graph without one.
    pub(super) fn unless_taped(&self, value: Value) -> Value {
        match value.as_tensor() {
            Some(tensor) if matches!(tensor.graph, Graph::Unknown) => {
                Value::tensor(Tensor { graph: self.taped_graph(), ..(**tensor).clone() })
            }
            _ => value,
        }
    }

    /// Whether a class, or that of a method, leaves it to tapes to record.
    pub(crate) fn is_taped(&self, api: Ustr) -> bool {
        let of_class = api.rsplit_once('.').map(|(class, _)| Ustr::from(class));
        let owns = |name: Ustr| self.apis.owns(name).iter().any(|part| part == "graph");
        owns(api) || of_class.is_some_and(owns)
    }

    /// A tape walks what it recorded on the way to a loss, or to what a function gives.
    pub(super) fn differentiate(&mut self, loss: &Value, place: Place) {
        let loss = match loss.bare() {
            Value::Function(_) | Value::Bound(_) | Value::Partial(_) => {
                let before = self.push_context(ContextKind::Recording);
                let given = self.call_value(loss, &Call::new(place));
                self.pop_context(before);
                given
            }
            _ => loss.clone(),
        };
        self.walk(&loss);
        if let Value::Tensor(loss) = loss.bare() {
            // Of more than one number the tape takes the sum.
            let confidence = loss.confidence;
            self.see(place, Sight::Backward { loss: loss.clone(), has_gradient: true }, confidence);
        }
    }

    /// The same function, recorded as a graph when it runs.
    pub(super) fn traced(&mut self, function: &Value) -> Value {
        let traced = |closure: &Rc<Closure>| {
            let wrap = Wrap { context: closure.wrap.context.or(Some(ContextKind::Traced)), ..closure.wrap };
            Rc::new(Closure { wrap, ..(**closure).clone() })
        };
        match function {
            Value::Function(closure) => Value::Function(traced(closure)),
            Value::Bound(bound) => match &bound.method {
                Method::Closure(closure) => {
                    let method = Method::Closure(traced(closure));
                    Value::Bound(Rc::new(Bound { receiver: bound.receiver.clone(), method }))
                }
                _ => function.clone(),
            },
            other => other.clone(),
        }
    }
}
