//! Containers of layers: which layers they hold, in which order, and what calling one after another gives.

use super::events::TracePoint;
use super::{Call, Interp, StackedLayer, call_path::Hop};
use crate::apis::{Api, Role, Transfer};
use crate::report::Place;
use crate::values::*;
use ustr::Ustr;

impl Interp<'_> {
    /// The children of a container, called in order.
    pub(super) fn sequence(&mut self, object: ObjId, call: &Call) -> Value {
        let Some(children) = self.indexed_children(object) else { return Value::Unknown };
        let given = call.arg(0, "input").cloned().unwrap_or_default();
        let module = self.heap.get(object).module();
        let (open, repeats) = module.map_or((false, false), |module| (module.open, module.repeats));
        let mut value = if open { shapeless(&given) } else { given.clone() };
        for (index, child) in children.iter().enumerate() {
            if child.as_tensor().is_some() {
                // A symbolic input in front says what shape comes.
                continue;
            }
            let path = self.enter_path(Hop::Nth(call.place, index as u32));
            let began = self.trace_point();
            value = self.call_value(child, &Call::with(call.place, [value]));
            self.path = path;
            value = self.marked_at(child, call.place, value, began);
        }
        // Any number of layers keep the shape that one keeps.
        let keeps = value.as_tensor().zip(given.as_tensor()).is_some_and(|(a, b)| a.shape == b.shape);
        if (repeats && !keeps) || open { shapeless(&value) } else { value }
    }

    /// What a stacked layer made of its input, it made where it was put into the stack.
    fn marked_at(&mut self, layer: &Value, stack: Place, value: Value, began: TracePoint) -> Value {
        let Some(site) = layer.as_obj().map(|layer| self.heap.get(layer).site) else { return value };
        self.on_stacked_layer(&StackedLayer { made: site, called: stack, began });
        match value.as_tensor() {
            Some(tensor) if tensor.mark.is_some_and(|(_, place)| place == stack) => {
                let mark = tensor.mark.map(|(mark, _)| (mark, site));
                Value::tensor(Tensor { mark, ..(**tensor).clone() })
            }
            _ => value,
        }
    }

    /// Whether a child of a container stands for any number of them.
    pub(super) fn repeats(&self, object: ObjId) -> bool {
        self.heap.get(object).module().is_some_and(|module| module.repeats || module.open)
    }

    /// The children of a container of modules, in order; of a stack those, too, that have names.
    pub(super) fn indexed_children(&self, object: ObjId) -> Option<Vec<Value>> {
        let here = self.heap.get(object);
        let stacks = || self.layer_api(object).and_then(Api::transfer) == Some(Transfer::Sequential);
        let (mut children, mut named) = (Vec::new(), ObjSet::default());
        let mut next = 0;
        for (name, value) in &here.attrs {
            let is_next = name.parse::<usize>().is_ok_and(|index| index == next);
            next += usize::from(is_next);
            let part = value.as_obj().filter(|part| self.heap.get(*part).module().is_some());
            let fresh = part.is_none_or(|part| !named.contains(part));
            if (is_next && fresh) || (!is_next && part.is_some() && fresh && stacks()) {
                children.push(value.clone());
                part.filter(|_| !is_next).into_iter().for_each(|part| named.insert(part));
            }
        }
        let is_container =
            self.role_of(here.class) == Some(Role::Module) && here.attr(Ustr::from("*")).is_none();
        (is_container && (!children.is_empty() || here.attr(Ustr::from("0")).is_some())).then_some(children)
    }

    /// Any of the parts of a container that a loop has filled.
    pub(super) fn any_child(&mut self, object: ObjId) -> Option<Value> {
        let here = self.heap.get(object);
        let any = here.attr(Ustr::from("*"))?.clone();
        let numbered = here.attrs.iter().filter(|(name, _)| name.parse::<usize>().is_ok());
        let mut all: Vec<Value> = numbered.map(|(_, value)| value.clone()).collect();
        all.push(any);
        self.heap.any_of(&Items::exact(all))
    }

    /// A class of the project that says itself what calling it does may give its forward other shapes.
    pub(super) fn leave_shapes_open(&mut self, object: ObjId, forward: &Closure, call: &mut Call) {
        let own = match self.find_attr(object, Ustr::from("__call__")) {
            Some(Value::Function(own)) => (own.file, own.function) != (forward.file, forward.function),
            _ => false,
        };
        if own {
            let keywords = call.keywords.iter_mut().map(|(_, passed)| passed);
            for passed in call.positional.iter_mut().chain(keywords) {
                passed.value = shapeless(&passed.value);
            }
        }
    }
}

/// The same numbers, in a shape that is not known.
pub(super) fn shapeless(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => Value::tensor((**tensor).clone().with_shape(None)),
        Value::Tuple(items) => Value::tuple(items.iter().map(shapeless).collect()),
        other => other.clone(),
    }
}
