//! Tensors that cannot become NumPy arrays: autograd follows them, or they lie on a GPU.

use crate::apis::{Need, Operand, ParamKind, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, ElementWrite, Interp, Invocation, index_parts};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::values::{DType, Device, Graph, Int, Learned, ObjId, Source, State, Tensor, Value};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "unconvertible-tensor",
    summary: "a tensor that requires grad or lies on a GPU is converted to a NumPy array",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unconvertible-tensor"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(converted), on_element_write: Some(written), ..Checker::SILENT };

/// A tensor was asked for its NumPy array, and has none.
struct Unconvertible {
    requires_grad: bool,
    device: Option<Device>,
    made: Option<Place>,
    how: How,
}

/// How the conversion is written.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// `tensor.numpy()`
    Method,
    /// `np.array(tensor)`, `np.exp(tensor)`
    Function,
    /// `np.stack(tensors)`
    FunctionOfList,
    /// `array[i] = tensor`
    Write,
}

fn converted(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.gives.is_some_and(|gives| gives.verb == Transfer::Numpy) {
        return asked_for_numpy(cx, call);
    }
    if call.open {
        return;
    }
    for need in &call.api.needs {
        let asks_itself = match need.verb {
            Need::Array => false,
            Need::ArrayItems => true,
            _ => continue,
        };
        for value in need.args.iter().flat_map(|operand| given(call, operand)) {
            match value.as_tensor() {
                Some(_) if asks_itself => {}
                Some(tensor) => note_read(cx, &tensor.clone(), call.place, How::Function),
                None => note_items(cx, &value, call.place, MOST_NESTED),
            }
        }
    }
}

/// What an operand was given; of a star parameter each of its arguments.
fn given(call: &Invocation<'_>, operand: &Operand) -> Vec<Value> {
    let mut params = call.api.params.iter();
    match params.find(|param| matches!(operand, Operand::Param(name) if *name == param.name)) {
        Some(param) if param.kind == ParamKind::Star => call.rest.clone(),
        _ => vec![call.value_of(operand)],
    }
}

/// `tensor.numpy()`
fn asked_for_numpy(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(tensor) = call.nth_tensor(0).filter(|tensor| !tensor.is_array) else { return };
    let forced = !matches!(call.get("force"), Value::None | Value::Bool(Some(false)));
    if !cx.apis.is_copying(call.api.name) && !forced && !call.open {
        note(cx, &tensor, call.place, How::Method);
    }
}

/// A list in a list is looked into so deep.
const MOST_NESTED: usize = 4;

/// The tensors in a list: NumPy asks each for its array.
fn note_items(cx: &mut Interp<'_>, list: &Value, place: Place, depth: usize) {
    let items = match list.bare() {
        Value::Tuple(items) => items.to_vec(),
        Value::Obj(object) => match &cx.heap.get(*object).state {
            State::List(items) => items.exact.clone().unwrap_or_else(|| vec![items.any.clone()]),
            _ => return,
        },
        _ => return,
    };
    for item in items {
        match item.as_tensor() {
            Some(tensor) => note_read(cx, tensor, place, How::FunctionOfList),
            None if depth > 0 => note_items(cx, &item, place, depth - 1),
            None => {}
        }
    }
}

/// What a function of NumPy reads. TensorFlow copies, and JAX converts by itself.
fn note_read(cx: &mut Interp<'_>, tensor: &Rc<Tensor>, place: Place, how: How) {
    if !tensor.is_array && !tensor.what.is_some_and(|maker| cx.apis.is_copying(maker)) {
        note(cx, tensor, place, how);
    }
}

/// `array[i:j] = tensor`; for a single element a tensor is asked for its value, which any of one element tells.
fn written(cx: &mut Interp<'_>, write: &ElementWrite<'_>) {
    let Value::Tensor(tensor) = write.value else { return };
    let is_one = |size: &Int| size.known() == Some(1);
    let has_several = || tensor.shape.as_deref().is_some_and(|shape| !shape.iter().all(is_one));
    if write.tensor.is_array && (is_part(write.tensor, write.index) || has_several()) {
        note_read(cx, tensor, write.place, How::Write);
    }
}

/// Whether an index picks more than one element of an array: a slice, or fewer numbers than there are dimensions.
fn is_part(array: &Tensor, index: &Value) -> bool {
    let parts = index_parts(index);
    let is_number = |part: &Value| match part.bare() {
        Value::Int(_) => true,
        Value::Tensor(index) => index.rank() == Some(0) && index.dtype == Some(DType::Int64),
        _ => false,
    };
    let is_row = || array.rank().is_some_and(|rank| parts.len() < rank) && parts.iter().all(is_number);
    parts.iter().any(|part| matches!(part.bare(), Value::Slice(_))) || is_row()
}

fn note(cx: &mut Interp<'_>, tensor: &Rc<Tensor>, place: Place, how: How) {
    let requires_grad = is_followed(cx, tensor);
    // A device that a script chooses by what the machine has is the GPU where it has one.
    let device = Some(tensor.device).filter(|device| device.is_chosen_gpu() && !cx.is_off_gpu());
    if requires_grad || device.is_some() {
        let seen = Unconvertible { requires_grad, device, made: tensor.made, how };
        cx.observe(place, seen, tensor.confidence);
    }
}

/// Whether autograd follows a tensor on every way: a backward goes through it, or it was computed of parameters that
/// are seen to be trained. Who calls a function that nothing here calls may have switched gradients off, and so may
/// a method of a library; one of several results of a model that is not seen may be what it has chosen.
fn is_followed(cx: &Interp<'_>, tensor: &Rc<Tensor>) -> bool {
    let Graph::Live(nodes) = &tensor.graph else { return false };
    if tensor.among {
        return false;
    }
    if tensor.graph.is_shown() {
        return !nodes.maybe;
    }
    let walked = nodes.carried.iter().any(|id| cx.out.backpropagated.contains(id));
    let is_trained = |leaf: ObjId| {
        let module = cx.heap.get(leaf).module();
        module.is_none_or(|module| module.weights != Learned::Opaque && module.frozen == Some(false))
    };
    // A parameter itself requires grad wherever it is read.
    if tensor.is_leaf && tensor.source == Source::Parameter && nodes.leaves.iter().all(is_trained) {
        return !nodes.maybe;
    }
    let seen =
        cx.supposed.seeded.is_none() && (!nodes.others || nodes.own) && tensor.confidence == Confidence::High;
    !nodes.maybe && (walked || seen && nodes.leaves.iter().all(is_trained))
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Unconvertible>() {
        // What a name stands for is guessed by how it is used, and other frameworks are used alike.
        let is_guessed = at.confidence < Confidence::Medium || !script.imports_around(at, "torch");
        if is_guessed || script.is_tried(at.place) {
            continue;
        }
        let what = if seen.how == How::FunctionOfList { "a tensor in this list" } else { "this tensor" };
        let (state, cure) = match (seen.requires_grad, seen.device) {
            (true, None) => ("requires grad, and".to_owned(), ".detach()"),
            (false, Some(device)) => (format!("is on {}, and", device.describe()), ".cpu()"),
            _ => ("requires grad and is on a GPU: it".to_owned(), ".detach().cpu()"),
        };
        let message = format!("{what} {state} cannot be converted to NumPy");
        let raised = match seen.requires_grad {
            true => "PyTorch raises `RuntimeError: Can't call numpy() on Tensor that requires grad`",
            false => "PyTorch raises `TypeError: can't convert cuda:0 device type tensor to numpy`",
        };
        let mut finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(raised)
            .help(format!("convert a copy that NumPy can read: `{cure}.numpy()`"));
        if let Some(made) = at.beside(seen.made) {
            finding = finding.because(made, "it is computed here");
        }
        let fix = (seen.how == How::Method).then(|| cured(script, at.place, cure)).flatten();
        out.push(finding.fix(fix.map(|edits| Fix::safe(format!("insert `{cure}`"), edits))), at);
    }
}

/// Inserts a call in front of `.numpy()`.
fn cured(script: &Script, place: Place, cure: &str) -> Option<Vec<Edit>> {
    let draft = script.draft(place.file);
    let (receiver, _) = draft.receiver(draft.call_at(place.span)?)?;
    Some(vec![draft.insert(draft.expr(receiver).span.end, cure)])
}
