//! Tensors of a module that ask for gradients and are no parameters: nobody trains, saves or moves them with it.

use super::registration::registers_itself;
use crate::apis::{Slot, Transfer};
use crate::interp::{Base, Interp, Invocation, LEARNED_BUFFER, is_parameter};
use crate::names::NameSet;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{FnId, Function};
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// Who reads gradients himself wants them for something else than a step.
const READS_GRADIENTS: [&str; 3] = ["grad", "autograd", "retain_grad"];

/// A tensor that a constructor makes to be learned.
pub(super) struct PlainTensor {
    pub class: Rc<str>,
    pub attribute: Ustr,
    /// It is a parameter, which was registered as a buffer.
    pub is_buffer: bool,
}

/// Where the tensors were made by which something was differentiated: they are inputs, which nobody trains.
#[derive(Clone, Default)]
struct Inputs {
    made: FxHashSet<Place>,
    /// Something is differentiated by what nobody knows.
    open: bool,
}

/// Remembers by what a call differentiates.
pub(super) fn differentiated(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.api.transfer() != Some(Transfer::Gradients) {
        return;
    }
    let sources = call.operand(Slot::Sources);
    let (tensors, open) = (cx.tensors_in(&sources), sources.is_unknown());
    cx.remember(|inputs: &mut Inputs| {
        inputs.made.extend(tensors.iter().filter_map(|tensor| tensor.made));
        inputs.open |= open;
    });
}

/// Looks through instances of the project's modules.
pub(super) fn plain_tensors(cx: &mut Interp<'_>, constructed: impl Iterator<Item = ObjId>) {
    let mut seen: Vec<Place> = Vec::new();
    let inputs: Inputs = cx.recall();
    if may_be_optimized(cx) || inputs.open {
        return;
    }
    for object in constructed {
        for (name, value) in cx.heap.get(object).attrs.clone() {
            let buffer = is_learned_buffer(cx, object, name, &value);
            let Some(made) = buffer.or_else(|| asks_for_gradients(cx, &value)) else { continue };
            if seen.contains(&made)
                || inputs.made.contains(&made)
                || !is_made_by(cx, object, made)
                || !is_trained(cx, object)
                || reads_gradients(cx, object)
                || registers_itself(cx, object, name, &[])
            {
                continue;
            }
            seen.push(made);
            let class = cx.class_name(object);
            let unseen = cx.has_unseen_base(cx.heap.get(object).class);
            let sure = if unseen { Confidence::Medium } else { Confidence::High };
            let confidence = cx.heap.get(object).confidence.min(sure);
            cx.observe(made, PlainTensor { class, attribute: name, is_buffer: buffer.is_some() }, confidence);
        }
    }
}

/// Where a parameter was made that is a buffer of a module, and is registered nowhere as what it is.
fn is_learned_buffer(cx: &Interp<'_>, object: ObjId, name: Ustr, value: &Value) -> Option<Place> {
    let module = cx.heap.get(object).module()?;
    let buffer = cx.heap.noted(object, LEARNED_BUFFER)?;
    let is_it = buffer.as_str() == Some(name.as_str()) && is_parameter(value);
    let tensor = value.as_tensor().filter(|_| is_it)?;
    let leaves = tensor.graph.leaves();
    let is_part = leaves.iter().any(|leaf| module.parts.contains(&leaf));
    (!is_part).then_some(tensor.made)?
}

/// Where a tensor that asks for gradients was made, of numbers that nobody gave, or was moved where it was made: the copy
/// is not even a leaf.
fn asks_for_gradients(cx: &Interp<'_>, value: &Value) -> Option<Place> {
    let Value::Tensor(tensor) = value else { return None };
    let Graph::Live(nodes) = &tensor.graph else { return None };
    let made_by = cx.apis.get(tensor.what?)?.transfer()?;
    let is_made = made_by == Transfer::Factory;
    let is_chosen = is_made || made_by.places() && tensor.source == Source::Parameter;
    let is_moved = tensor.device.is_gpu() && is_chosen;
    tensor.made.filter(|_| nodes.own && if tensor.is_leaf { is_made } else { is_moved })
}

/// Whether a constructor of a module's class makes something.
fn is_made_by(cx: &Interp<'_>, object: ObjId, made: Place) -> bool {
    of_class(cx, object, |file, function, _| {
        file == made.file && function.name == "__init__" && function.span.contains(made.span)
    })
}

/// Whether an optimizer was given other parts of a module.
fn is_trained(cx: &Interp<'_>, module: ObjId) -> bool {
    let parts = cx.descendants(module);
    let owned = |optimizer: &OptimizerState| {
        optimizer.owns.iter().any(|owned| parts.contains(owned) || cx.descendants(owned).contains(module))
    };
    cx.heap.optimizers().any(|optimizer| cx.heap.get(optimizer).optimizer().is_some_and(owned))
}

/// Whether an optimizer was given something else than modules and their parameters.
fn may_be_optimized(cx: &Interp<'_>) -> bool {
    cx.heap.optimizers().any(|optimizer| cx.heap.get(optimizer).optimizer().is_none_or(|state| state.others))
}

fn reads_gradients(cx: &Interp<'_>, object: ObjId) -> bool {
    of_class(cx, object, |_, _, mentions| {
        READS_GRADIENTS.iter().any(|name| mentions.contains(Ustr::from(name)))
    })
}

/// Whether something holds for a method of the project's classes that an object is of.
fn of_class(cx: &Interp<'_>, object: ObjId, holds: impl Fn(FileId, &Function, &NameSet) -> bool) -> bool {
    cx.lineage(cx.heap.get(object).class).into_iter().any(|base| {
        let Base::Project(class) = base else { return false };
        let State::Class(state) = &cx.heap.get(class).state else { return false };
        let module = cx.module(state.file);
        module.names.scopes.iter().enumerate().any(|(index, scope)| {
            let function = module.tree.function(FnId(index as u32));
            function.class == Some(state.class) && holds(state.file, function, &scope.mentions)
        })
    })
}
