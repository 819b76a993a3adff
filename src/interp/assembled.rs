//! How models are put together of layers that stand in a row, or of what symbolic values came through.

use super::{Call, Instance, Interp, Invocation, stacked::OUT_OF_ORDER, transfer};
use crate::apis::{Api, Slot, Transfer};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// The attribute under which a model keeps its symbolic inputs.
pub(super) const INPUT: &str = "symbolic input";

pub(super) fn symbolic_input(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    interp.symbols.symbolic = true;
    let batch = Int::symbol(interp.symbol("batch"));
    let shape = transfer::ints_of(interp, &call.nth(0))
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

pub(super) fn stacked_layers(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let object = model_object(interp, call);
    fill_stack(interp, object, call);
    Value::Obj(object)
}

fn fill_stack(interp: &mut Interp<'_>, object: ObjId, call: &Invocation) {
    let layers = match call.nth(0) {
        Value::None => Items::exact(Vec::new()),
        layers => interp.iterate(&layers, call.place),
    };
    if layers.exact.is_none() && layers.any.as_obj().is_some() {
        interp.heap.note(object, OUT_OF_ORDER, Value::Bool(Some(true)));
        interp.heap.get_mut(object).set_attr(Ustr::from("*"), layers.any);
    }
    for (index, layer) in layers.exact.unwrap_or_default().into_iter().enumerate() {
        interp.heap.get_mut(object).set_attr(Ustr::from(&index.to_string()), layer);
    }
}

pub(super) fn symbolic_model(interp: &mut Interp<'_>, call: &Invocation) -> Value {
    let object = model_object(interp, call);
    connect(interp, object, call);
    Value::Obj(object)
}

fn connect(interp: &mut Interp<'_>, object: ObjId, call: &Invocation) {
    let output = call.operand(Slot::Outputs);
    interp.keep_layers(object, &output);
    interp.heap.get_mut(object).set_attr(Ustr::from(INPUT), call.operand(Slot::Inputs));
    interp.heap.get_mut(object).set_attr(Ustr::from("output"), output);
}

/// What the constructor of a framework's model makes of an instance of a class of the project: one that is given
/// layers or symbolic values is put together of them.
pub(super) fn assemble(interp: &mut Interp<'_>, object: ObjId, api: &Api, call: &Call) {
    let Some(makes) = api.class.as_ref().and_then(|class| class.makes.as_ref()) else { return };
    let invocation = Invocation::bind(api, call);
    let made = invocation.applying(makes);
    match makes.verb {
        Transfer::StackedLayers if !matches!(made.nth(0), Value::None) => fill_stack(interp, object, &made),
        Transfer::SymbolicModel if interp.came_through_layers(&made.operand(Slot::Outputs)) => {
            connect(interp, object, &made);
            if let State::Module(state) = &mut interp.heap.get_mut(object).state {
                state.weights = Learned::Opaque;
            }
        }
        _ => {}
    }
}

fn model_object(interp: &mut Interp<'_>, call: &Invocation) -> ObjId {
    // These models place their inputs themselves.
    let state = ModuleState {
        weights: Learned::Opaque,
        device: Device::Automatic,
        scatters: true,
        ..ModuleState::default()
    };
    let object = interp.alloc(call.place, ClassRef::Api(call.api.name), State::Module(state));
    interp.on_instance(&Instance { object, place: call.place });
    object
}
