//! How models are put together of layers that stand in a row, or of what symbolic values came through.

use super::{Call, Instance, Interp, Invocation, stacked::OUT_OF_ORDER, transfer};
use crate::apis::{Api, Slot, Transfer};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// The attribute under which a model keeps its symbolic inputs.
pub(super) const INPUT: &str = "symbolic input";

impl Interp<'_> {
    pub(super) fn symbolic_input(&mut self, call: &Invocation) -> Value {
        self.symbols.symbolic = true;
        let batch = Int::symbol(self.symbol("batch"));
        let shape = transfer::ints_of(self, &call.nth(0))
            .map(|sizes| std::iter::once(batch).chain(sizes).collect::<Shape>());
        Value::tensor(Tensor {
            shape,
            graph: Graph::None,
            source: Source::Data,
            made: Some(call.place),
            layers: Some(Rc::default()),
            ..Tensor::default()
        })
    }

    pub(super) fn stacked_layers(&mut self, call: &Invocation) -> Value {
        let object = self.model_object(call);
        self.fill_stack(object, call);
        Value::Obj(object)
    }

    fn fill_stack(&mut self, object: ObjId, call: &Invocation) {
        let layers = match call.nth(0) {
            Value::None => Items::exact(Vec::new()),
            layers => self.iterate(&layers, call.place),
        };
        if layers.exact.is_none() && layers.any.as_obj().is_some() {
            self.heap.note(object, OUT_OF_ORDER, Value::Bool(Some(true)));
            self.heap.get_mut(object).set_attr(Ustr::from("*"), layers.any);
        }
        for (index, layer) in layers.exact.unwrap_or_default().into_iter().enumerate() {
            self.heap.get_mut(object).set_attr(Ustr::from(&index.to_string()), layer);
        }
    }

    pub(super) fn symbolic_model(&mut self, call: &Invocation) -> Value {
        let object = self.model_object(call);
        self.connect(object, call);
        Value::Obj(object)
    }

    fn connect(&mut self, object: ObjId, call: &Invocation) {
        let output = call.operand(Slot::Outputs);
        self.keep_layers(object, &output);
        self.heap.get_mut(object).set_attr(Ustr::from(INPUT), call.operand(Slot::Inputs));
        self.heap.get_mut(object).set_attr(Ustr::from("output"), output);
    }

    /// What the constructor of a framework's model makes of an instance of a class of the project: one that is given
    /// layers or symbolic values is put together of them.
    pub(super) fn assemble(&mut self, object: ObjId, api: &Api, call: &Call) {
        let Some(makes) = api.class.as_ref().and_then(|class| class.makes.as_ref()) else { return };
        let invocation = Invocation::bind(api, call);
        let made = invocation.applying(makes);
        match makes.verb {
            Transfer::StackedLayers if !matches!(made.nth(0), Value::None) => self.fill_stack(object, &made),
            Transfer::SymbolicModel if self.came_through_layers(&made.operand(Slot::Outputs)) => {
                self.connect(object, &made);
                if let State::Module(state) = &mut self.heap.get_mut(object).state {
                    state.weights = Learned::Opaque;
                }
            }
            _ => {}
        }
    }

    fn model_object(&mut self, call: &Invocation) -> ObjId {
        // These models place their inputs themselves.
        let state = ModuleState {
            weights: Learned::Opaque,
            device: Device::Automatic,
            scatters: true,
            ..ModuleState::default()
        };
        let object = self.alloc(call.place, ClassRef::Api(call.api.name), State::Module(state));
        self.on_instance(&Instance { object, place: call.place });
        object
    }
}
