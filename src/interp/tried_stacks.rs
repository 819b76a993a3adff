//! Stacks of layers that are tried where they are put together: what one layer gives is what the next one gets, whatever
//! comes in and whoever calls them. A layer of the project is not run; behind it nothing is known.

use super::{Call, Interp, StackedLayer, call_path::Hop, stacked};
use crate::apis::{Literal, Need, Operand};
use crate::report::{Confidence, Place};
use crate::values::*;

/// A stack of more layers is not tried.
const MOST_LAYERS: usize = 64;

/// So many layers are called for one stack, those of the stacks within it counted: the same stack may lie in it twice, and
/// itself hold one twice.
const MOST_CALLS: usize = 256;

impl Interp<'_> {
    /// Calls the layers of a stack, one after the other, with what nobody knows.
    pub(crate) fn through_stack(&mut self, stack: ObjId, place: Place) {
        let children = stacked::children_in_order(self, stack).unwrap_or_default();
        if (2..=MOST_LAYERS).contains(&children.len()) && !has_doubtful(&children) {
            self.through_layers(&children, nothing_known(), place, &mut { MOST_CALLS });
        }
    }

    fn through_layers(&mut self, layers: &[Value], given: Value, place: Place, left: &mut usize) -> Value {
        let mut value = given;
        for (index, layer) in layers.iter().enumerate() {
            if *left == 0 {
                return nothing_known();
            }
            *left -= 1;
            let path = self.enter_path(Hop::Nth(place, index as u32));
            value = self.through_layer(layer, value, place, left);
            self.sites.path = path;
        }
        value
    }

    fn through_layer(&mut self, layer: &Value, given: Value, place: Place, left: &mut usize) -> Value {
        let Some(object) = layer.as_obj() else { return nothing_known() };
        let is_of_framework = matches!(self.heap.get(object).class, ClassRef::Api(_));
        if !is_of_framework || self.has_a_name(object) {
            return nothing_known();
        }
        let (Some(module), Some(api)) = (self.heap.get(object).module().cloned(), self.layer_api(object))
        else {
            return nothing_known();
        };
        if stacked::is_stack(self, object) {
            let children = stacked::children_in_order(self, object).unwrap_or_default();
            let is_whole = !module.open && !module.repeats && !has_doubtful(&children);
            return match is_whole && children.len() <= MOST_LAYERS {
                true => self.through_layers(&children, given, place, left),
                false => nothing_known(),
            };
        }
        let given = self.with_axes(object, given);
        let began = self.trace_point();
        let Some(value) = self.apply_layer(object, api, &Call::with(place, [given])) else {
            return nothing_known();
        };
        let made = self.heap.get(object).site;
        self.on_stacked_layer(&StackedLayer { made, called: place, began });
        match self.with_weights(object, &module, value, &mut None, place) {
            Value::Tensor(tensor) => Value::Tensor(tensor),
            _ => nothing_known(),
        }
    }

    /// Whether what is being constructed holds a layer under a name of its own: it may call it by that, with something
    /// in between, and the stack only gathers parameters.
    fn has_a_name(&self, layer: ObjId) -> bool {
        let mut owners = self.frames.iter().filter_map(|frame| frame.receiver.as_ref()?.as_obj());
        owners.any(|owner| {
            let mut attrs = self.heap.get(owner).attrs.iter();
            attrs.any(|(_, value)| value.as_obj() == Some(layer))
        })
    }

    /// What nobody knows has the axes that a convolution takes, one for the samples and one for the channels; and what
    /// comes from a layer of features, before one that normalizes them, has those two.
    fn with_axes(&self, layer: ObjId, given: Value) -> Value {
        let Some(tensor) = given.as_tensor().filter(|tensor| tensor.shape.is_none()) else { return given };
        let axes = |operand: &Operand| match operand {
            Operand::Literal(Literal::Int(axes)) => usize::try_from(*axes).ok(),
            _ => None,
        };
        let api = self.layer_api(layer);
        let class = api.and_then(|api| api.class.as_ref()?.call).and_then(|name| self.apis.get(name)).or(api);
        let need = |verb: Need| class?.needs.iter().find(|need| need.verb == verb);
        let axes = need(Need::Channels).and_then(|need| axes(need.args.get(2)?));
        let shape: Option<Shape> = match &tensor.last {
            None => axes.map(|axes| vec![Int::Unknown; axes + 2].into()),
            Some(last) => need(Need::Features).map(|_| [Int::Unknown, last.clone()].into()),
        };
        match shape {
            Some(_) => Value::tensor(Tensor { shape, ..(**tensor).clone() }),
            None => given,
        }
    }
}

/// Layers that are there on some ways only have no order.
fn has_doubtful(layers: &[Value]) -> bool {
    layers.iter().any(|layer| matches!(layer, Value::Maybe(_)))
}

fn nothing_known() -> Value {
    Value::tensor(Tensor { confidence: Confidence::High, ..Tensor::default() })
}
