//! What a model is compiled with: its losses, each for one of the model's outputs.

use super::{Call, Interp, Invocation, call_path::Hop};
use crate::apis::{Operand, Slot};
use crate::report::{Confidence, Place};
use crate::trace::{CompiledLoss, Sight};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// The attribute under which a model keeps its losses.
const LOSSES: &str = "compiled loss";

/// An output of a model and the loss that teaches it.
pub(super) struct Head {
    pub(super) loss: CompiledLoss,
    /// Which output of several it is.
    branch: Option<Branch>,
}

/// One of several: by its place, and by its name where they have names.
#[derive(Clone)]
struct Branch {
    index: usize,
    name: Option<Key>,
}

/// `model.compile(optimizer, loss)`; `losses` is the module where a loss given by its name is.
pub(super) fn compile(interp: &mut Interp<'_>, call: &Invocation, operands: &[Operand]) {
    let arg = |index: usize| operands.get(index).map_or(Value::None, |operand| call.value_of(operand));
    let Some(object) = arg(0).as_obj() else { return };
    let place = match operands.get(2) {
        Some(Operand::Param(name)) => call.place_of(name).unwrap_or(call.place),
        _ => call.place,
    };
    let losses = loss_objects(interp, &arg(2), &arg(3), place);
    interp.compiled(object, call.place);
    let model = interp.heap.get_mut(object);
    model.set_attr(Ustr::from("compiled optimizer"), arg(1));
    model.set_attr(Ustr::from(LOSSES), losses);
    if is_laid_out(interp, object) {
        for head in heads(interp, &arg(0), &Value::Unknown, call.place) {
            interp.see(call.place, Sight::Compiled(Rc::new(head.loss)), Confidence::High);
        }
    }
}

/// Whether the layers of a model are known before it sees data.
fn is_laid_out(interp: &Interp<'_>, model: ObjId) -> bool {
    interp.heap.attr(model, Ustr::from("output")).is_some()
        || super::stacked::children_in_order(interp, model).is_some()
}

/// The loss, or that of each output.
fn loss_objects(interp: &mut Interp<'_>, losses: &Value, module: &Value, place: Place) -> Value {
    let Some(branches) = branches(interp, losses) else { return loss_object(interp, losses, module, place) };
    let mut made = Vec::new();
    for (branch, loss) in branches {
        let hop = Hop::Nth(place, branch.index as u32);
        let object = interp.one_hop_on(hop, |interp| loss_object(interp, &loss, module, place));
        made.push((branch.name, object));
    }
    if made.iter().all(|(name, _)| name.is_none()) {
        return interp.list(place, made.into_iter().map(|(_, loss)| loss).collect());
    }
    let known = made.into_iter().filter_map(|(name, loss)| Some((name?, loss))).collect();
    interp.dict(place, Entries::new(known, None))
}

/// A loss given by its name or as a function, as an object that was made where it is given.
fn loss_object(interp: &mut Interp<'_>, loss: &Value, module: &Value, place: Place) -> Value {
    let name = match (loss.bare(), module.as_str()) {
        (Value::Str(Some(name)), Some(module)) => Ustr::from(&format!("{module}.{name}")),
        (Value::Api(name), _) => *name,
        _ => return loss.clone(),
    };
    match interp.apis.get(name).filter(|api| api.loss.is_some()) {
        Some(api) => Value::Obj(interp.alloc(place, ClassRef::Api(api.name), State::Plain)),
        None => loss.clone(),
    }
}

/// The items of a list or tuple, or of a dictionary, where all are known.
fn branches(interp: &Interp<'_>, value: &Value) -> Option<Vec<(Branch, Value)>> {
    let in_order = |items: &[Value]| {
        let items = items.iter().cloned().enumerate();
        Some(items.map(|(index, item)| (Branch { index, name: None }, item)).collect())
    };
    match value.bare() {
        Value::Tuple(items) => in_order(items),
        Value::Obj(object) => match &interp.heap.get(*object).state {
            State::List(items) => in_order(items.exact.as_ref()?),
            State::Dict(Entries { known, other: None, .. }) => {
                let named = known.iter().cloned().enumerate();
                let branch = |(index, (name, item))| (Branch { index, name: Some(name) }, item);
                Some(named.map(branch).collect())
            }
            _ => None,
        },
        _ => None,
    }
}

/// The losses a model was compiled with, against what its outputs give.
pub(super) fn heads(interp: &mut Interp<'_>, model: &Value, data: &Value, place: Place) -> Vec<Head> {
    let Some(object) = model.as_obj() else { return Vec::new() };
    let losses = interp.heap.attr(object, Ustr::from(LOSSES)).filter(|losses| losses.as_obj().is_some());
    let Some(losses) = losses.cloned() else { return Vec::new() };
    let output = interp.output_of_model(object, data, place);
    let taught = taught_outputs(interp, object, &losses, &output).into_iter();
    taught.filter_map(|(loss, output, branch)| head_of(interp, object, &loss, output, branch)).collect()
}

/// Each loss with the output that it is for.
fn taught_outputs(
    interp: &mut Interp<'_>,
    model: ObjId,
    losses: &Value,
    output: &Value,
) -> Vec<(Value, Value, Option<Branch>)> {
    let (losses_by_branch, outputs) = (branches(interp, losses), branches(interp, output));
    match (losses_by_branch, outputs) {
        (None, None) => vec![(losses.clone(), output.clone(), None)],
        (Some(of), None) if of.len() == 1 => vec![(of[0].1.clone(), output.clone(), None)],
        (Some(_), None) => Vec::new(),
        // A step of its own may take any of them.
        (_, Some(_)) if interp.is_of_project(model, "train_step") => Vec::new(),
        // One loss is for all outputs.
        (None, Some(outputs)) => {
            let branch = |branch| Some(branch).filter(|_| outputs.len() > 1);
            let taught = outputs.iter().map(|(of, output)| (losses.clone(), output.clone(), branch(of)));
            taught.map(|(loss, output, of)| (loss, output, of.cloned())).collect()
        }
        (Some(losses), Some(outputs)) => {
            let several = outputs.len() > 1;
            let mut taught = Vec::new();
            for (of, loss) in losses {
                if let Some((branch, output)) = output_for(interp, &of, &outputs) {
                    taught.push((loss, output, Some(branch).filter(|_| several)));
                }
            }
            taught
        }
    }
}

/// The output that a loss is for: the one of that place or name, or the only one that came through a layer of that
/// name.
fn output_for(interp: &Interp<'_>, of: &Branch, outputs: &[(Branch, Value)]) -> Option<(Branch, Value)> {
    let is_named = outputs.iter().any(|(branch, _)| branch.name.is_some());
    let mut found = outputs.iter().filter(|(branch, output)| match (&of.name, is_named) {
        (None, false) => branch.index == of.index,
        (Some(_), true) => branch.name == of.name,
        (Some(Key::Str(name)), false) => came_through(interp, output, name),
        _ => false,
    });
    let (branch, output) = found.next().filter(|_| found.next().is_none())?;
    Some((Branch { index: branch.index, name: of.name.clone() }, output.clone()))
}

fn came_through(interp: &Interp<'_>, output: &Value, layer: &str) -> bool {
    let layers = output.as_tensor().and_then(|output| output.layers.as_ref());
    let is_called =
        |part: ObjId| interp.heap.attr(part, Ustr::from("name")).and_then(Value::as_str) == Some(layer);
    layers.is_some_and(|layers| layers.iter().any(is_called))
}

fn head_of(
    interp: &mut Interp<'_>,
    model: ObjId,
    loss: &Value,
    output: Value,
    branch: Option<Branch>,
) -> Option<Head> {
    let loss = loss.as_obj()?;
    let ClassRef::Api(name) = interp.heap.get(loss).class else { return None };
    let apis = interp.apis;
    let api = apis.get(name)?;
    let spec_api = match api.class.as_ref().and_then(|class| class.call) {
        Some(function) => apis.get(function)?,
        None => api,
    };
    let spec = *spec_api.loss.as_ref()?;
    let mut invocation = Invocation::bind(spec_api, &Call::new(Place::default()));
    for (name, value) in interp.heap.get(loss).attrs.clone() {
        invocation.fill(name, value);
    }
    let expects = interp.expectation(&spec.expects, &invocation);
    let place = interp.heap.get(loss).site;
    Some(Head { loss: CompiledLoss { model, loss: name, spec, expects, place, output }, branch })
}

/// What an output is compared with, of what all are.
pub(super) fn share_of(interp: &Interp<'_>, targets: &Value, head: &Head) -> Value {
    let Some(branch) = &head.branch else { return targets.clone() };
    let mut parts = branches(interp, targets).unwrap_or_default().into_iter();
    let own = parts.find(|(part, _)| match &part.name {
        None => part.index == branch.index,
        name => *name == branch.name,
    });
    own.map_or(Value::Unknown, |(_, part)| part)
}

/// Whether targets that were given as a whole are several, of which an output has one.
pub(super) fn is_one_of_several(targets: &Value, head: &Head) -> bool {
    head.branch.is_some() && !matches!(targets.bare(), Value::None)
}

/// A loss of the project that a model was compiled with: the framework walks what it gives.
pub(super) fn run_own_loss(
    interp: &mut Interp<'_>,
    model: &Value,
    (data, labels): (&Value, &Value),
    place: Place,
) {
    let Some(object) = model.as_obj() else { return };
    let Some(loss) = interp.heap.attr(object, Ustr::from(LOSSES)).cloned() else { return };
    let loss = only_item(interp, loss);
    let own = match &loss {
        Value::Function(_) | Value::Bound(_) => true,
        Value::Obj(object) => matches!(interp.heap.get(*object).class, ClassRef::Project(_)),
        _ => false,
    };
    if !own {
        return;
    }
    let output = interp.output_of_model(object, data, place);
    let call = Call::with(place, [batch_of(labels), output]);
    if let Value::Tensor(loss) = interp.call_value(&loss, &call) {
        // Whatever shape it has, the framework takes the mean.
        let confidence = loss.confidence;
        interp.see(place, Sight::Backward { loss, has_gradient: true }, confidence);
    }
}

/// What a loss is given of labels: some of their rows, as a tensor of the framework.
fn batch_of(labels: &Value) -> Value {
    let rows = labels.as_tensor().map(|labels| Tensor {
        shape: None,
        last: labels.shape.as_deref().filter(|shape| shape.len() > 1).and_then(|shape| shape.last().cloned()),
        range: labels.range,
        relation: labels.relation.clone(),
        ..Tensor::default()
    });
    Value::tensor(Tensor { graph: Graph::None, source: Source::Data, ..rows.unwrap_or_default() })
}

/// Of a list of one its item: the loss of the only output.
fn only_item(interp: &Interp<'_>, value: Value) -> Value {
    let state = value.as_obj().map(|object| &interp.heap.get(object).state);
    match state {
        Some(State::List(Items { exact: Some(items), .. })) if items.len() == 1 => items[0].clone(),
        _ => value,
    }
}

impl Interp<'_> {
    /// `history cls model`: what a training gives; the numbers of its epochs are not known.
    pub(super) fn history(&mut self, call: &Invocation) -> Value {
        let class = call.operand(Slot::Cls).as_str().map(Ustr::from);
        let Some(class) = class else { return Value::Unknown };
        let object = self.alloc(call.place, ClassRef::Api(class), State::Plain);
        let numbers = self.dict(call.place, Entries::new(Vec::new(), Some(Value::Unknown)));
        let history = self.heap.get_mut(object);
        history.set_attr(Ustr::from("history"), numbers);
        history.set_attr(Ustr::from("model"), call.operand(Slot::Model));
        for name in ["epoch", "params"] {
            history.set_attr(Ustr::from(name), Value::Unknown);
        }
        Value::Obj(object)
    }
}
