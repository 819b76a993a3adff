//! Follows the shapes that calls, operators and losses are given, and writes down those that do not fit. Silent is
//! what runs in a `try`, where an error is expected, and what is one of several models.

use super::faults::Fault;
use super::needs::{Broken, beside_reduced, broadcast, broken, product};
use crate::apis::Need;
use crate::interp::transfer::{Misplaced, misplaced_index};
use crate::interp::{
    AttributeWrite, Checker, ForwardCall, Indexed, Interp, Invocation, LossCall, Operation, Operator,
    StackMade, StackedLayer, Tried,
};
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{BinaryOp, ExprId};
use crate::trace::Observation;
use crate::values::{ClassRef, Int, Note, ObjId, Tensor, Value};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_arguments: Some(make),
    on_attribute_write: Some(rewrite),
    on_call: Some(call),
    on_forward: Some(open),
    on_forward_end: Some(close),
    on_fit: Some(super::fits::fitted),
    on_index: Some(index),
    on_layer: Some(super::fits::pictured),
    on_layer_call: Some(enter_layer),
    on_layer_end: Some(leave_layer),
    on_loss: Some(meet_target),
    on_operation: Some(operate),
    on_stacked_layer: Some(stacked),
    on_stack: Some(tries_stack),
    on_try_end: Some(tried),
    ..Checker::SILENT
};

/// Shapes that do not fit met here.
pub(super) struct Misfit {
    pub fault: Fault,
    /// What was called.
    pub what: Subject,
    /// What arrived, and what it met.
    pub input: Rc<Tensor>,
    pub other: Option<Rc<Tensor>>,
    /// The argument of the layer's constructor that says something else.
    pub argument: Option<Ustr>,
    /// It is on a way that is not known to be taken.
    pub undecided: bool,
    /// An error is provided for.
    pub excused: Cell<bool>,
    /// Where the stack was called that the layer is in.
    pub stack: Cell<Option<Place>>,
    /// Nobody has called it yet: it was put together so.
    pub in_trial: bool,
}

/// What was given shapes that it does not take.
#[derive(Clone)]
pub(super) enum Subject {
    /// A layer, as `Linear(400, 120)`, and where it was made.
    Layer {
        written: Rc<str>,
        made: Place,
    },
    /// A function or class, by its qualified name.
    Function(Ustr),
    Operator(&'static str),
    Index,
}

/// The layers whose own computation runs, innermost last.
#[derive(Default)]
struct Layers(Vec<ObjId>);

/// How many undecided ways were open where the outermost forwards that run began.
#[derive(Default)]
struct Forwards(Vec<usize>);

/// The parameters of a layer were replaced, so that its arguments no longer say what it takes.
const REPLACED: Note = Note::new("replaced parameters");

fn open(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    super::fits::called(cx, forward);
    let arms = cx.undecided_arms();
    cx.remember(|all: &mut Forwards| all.0.push(arms));
}

fn close(cx: &mut Interp<'_>, _output: &RefCell<Value>) {
    cx.remember(|all: &mut Forwards| {
        all.0.pop();
    });
}

fn enter_layer(cx: &mut Interp<'_>, layer: ObjId) {
    cx.remember(|all: &mut Layers| all.0.push(layer));
}

fn leave_layer(cx: &mut Interp<'_>, _layer: ObjId) {
    cx.remember(|all: &mut Layers| {
        all.0.pop();
    });
}

/// `layer.weight = …`, `layer.weight.data = …`
fn rewrite(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    match write.receiver.bare() {
        Value::Params(params) => {
            let owners: Vec<ObjId> = params.owners.iter().collect();
            owners.into_iter().for_each(|owner| cx.heap.note(owner, REPLACED, Value::None));
        }
        Value::Obj(layer) => {
            let ClassRef::Api(class) = cx.heap.get(*layer).class else { return };
            let class = cx.apis.class(class).and_then(|api| api.class.as_ref());
            if class.is_some_and(|class| class.parameters.iter().any(|own| own.name == write.name)) {
                cx.heap.note(*layer, REPLACED, Value::None);
            }
        }
        _ => {}
    }
}

fn call(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.api.needs.is_empty() {
        return;
    }
    let layer = cx.remember(|all: &mut Layers| all.0.last().copied());
    let replaced = |layer: ObjId| {
        let here = cx.heap.get(layer);
        here.noted(REPLACED).is_some() || here.module().is_some_and(|module| module.refilled)
    };
    if layer.is_some_and(replaced) {
        return;
    }
    let in_trial = cx.remember(|trial: &mut Trial| trial.0);
    let found = call.api.needs.iter().find_map(|need| broken(cx, need, call, layer, in_trial));
    let Some(found) = found else { return };
    let sure = layer.map_or(Confidence::High, |layer| cx.heap.get(layer).confidence);
    let what = match layer {
        Some(layer) => Subject::Layer { written: written(cx, layer), made: cx.heap.get(layer).site },
        None => Subject::Function(call.api.name),
    };
    // What a pipeline applies is at fault where it was made.
    let place = match found.fault {
        Fault::PerChannel { .. } => call.layer.unwrap_or(call.place),
        _ => call.place,
    };
    observe(cx, place, what, found, sure);
}

/// A layer as its constructor was called: the arguments that it has to be given.
fn written(cx: &Interp<'_>, layer: ObjId) -> Rc<str> {
    let here = cx.heap.get(layer);
    let ClassRef::Api(class) = here.class else { return cx.class_name(layer) };
    let params = cx.apis.class(class).map_or(&[][..], |api| &api.params);
    let required = params.iter().take_while(|param| param.default.is_none());
    let numbers: Vec<String> = required
        .map_while(|param| cx.heap.attr(layer, param.name)?.as_known_int())
        .map(|number| number.to_string())
        .collect();
    let name = class.as_str().rsplit('.').next().unwrap_or_default();
    Rc::from(if numbers.is_empty() { name.to_owned() } else { format!("{name}({})", numbers.join(", ")) })
}

/// Numbers that a constructor holds against each other.
fn make(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    for need in call.api.needs.iter().filter(|need| need.verb == Need::Multiple) {
        let int = |index: usize| {
            let value = call.value_of(need.args.get(index)?);
            value.as_int().filter(|int| !int.is_given())?.known()
        };
        let (Some(number), Some(of)) = (int(0), int(1)) else { continue };
        if of > 0 && number % of != 0 {
            let fault = Fault::Multiple { number, of };
            let found = Broken { fault, input: Rc::default(), other: None, argument: None };
            return observe(cx, call.place, Subject::Function(call.api.name), found, Confidence::High);
        }
    }
}

fn operate(cx: &mut Interp<'_>, operation: &Operation<'_>) {
    let (left, right) = (operation.left, operation.right);
    if let Operator::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div)) =
        operation.operator
        && let Some(found) = beside_reduced(left, right, false).or_else(|| beside_reduced(right, left, false))
    {
        return observe(cx, operation.place, Subject::Operator(sign(op)), found, Confidence::High);
    }
    let (Some(a), Some(b)) = (&left.shape, &right.shape) else { return };
    let (fault, symbol) = match operation.operator {
        Operator::Binary(BinaryOp::MatMul) => (product(a, b), "@"),
        Operator::Binary(op) => (broadcast(a, b), sign(op)),
        // Arrays that do not fit are unequal.
        Operator::Compare if left.is_array || right.is_array => return,
        Operator::Compare => (broadcast(a, b), "=="),
    };
    let Some(fault) = fault else { return };
    let found = Broken { fault, input: left.clone(), other: Some(right.clone()), argument: None };
    observe(cx, operation.place, Subject::Operator(symbol), found, Confidence::High);
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        _ => "this operation",
    }
}

fn meet_target(cx: &mut Interp<'_>, loss: &LossCall<'_>) {
    let (Some(spec), Some(input), Some(target)) =
        (&loss.call.api.loss, loss.input.as_tensor(), loss.target.as_tensor())
    else {
        return;
    };
    let Some(fault) = super::losses::broken(spec, input, target) else { return };
    let found = Broken { fault, input: input.clone(), other: Some(target.clone()), argument: None };
    observe(cx, loss.call.place, Subject::Function(loss.call.api.name), found, Confidence::High);
}

fn index(cx: &mut Interp<'_>, indexed: &Indexed<'_>) {
    let fault = match misplaced_index(cx, indexed.tensor, indexed.index) {
        // What is empty at first is filled in by whoever reads from it.
        Some(Misplaced::Beyond { size: 0 | 1, .. }) | None => return,
        // `loss.data[0]` is a deprecated name.
        Some(Misplaced::TooMany { rank: 0, .. }) if !indexed.tensor.is_array => return,
        Some(Misplaced::Beyond { index, axis, size }) => Fault::Bounds { index, axis, size },
        Some(Misplaced::TooMany { indices, rank }) => Fault::Indices { indices, rank },
    };
    let found = Broken { fault, input: indexed.tensor.clone(), other: None, argument: None };
    observe(cx, indexed.place, Subject::Index, found, Confidence::High);
}

/// Only what is sure is written down: a guess at what a name stands for, one of several models, and a way of a model
/// that nobody knows to be taken may never see such shapes.
pub(super) fn observe(cx: &mut Interp<'_>, place: Place, what: Subject, found: Broken, sure: Confidence) {
    let tensors = [Some(&found.input), found.other.as_ref()];
    let sure = tensors.into_iter().flatten().fold(sure, |sure, tensor| sure.min(tensor.confidence));
    let began = cx.remember(|all: &mut Forwards| all.0.first().copied());
    let doubtful = match began {
        Some(arms) => cx.undecided_arms() > arms,
        // A forward that nothing here calls.
        None => cx.undecided_arms() > 0 && cx.running_modules().next().is_some(),
    };
    let provided = match found.fault {
        Fault::Size { .. } if has_own_size(&found.input) => cx.is_provided_for_input(found.input.made, place),
        _ => cx.is_provided_for(),
    };
    // What was reduced along an axis is a tensor for sure.
    let least = match found.fault {
        Fault::Reduced(_) => Confidence::Medium,
        _ => Confidence::High,
    };
    if sure < least || provided || doubtful || resizes(cx) {
        return;
    }
    let Broken { fault, input, other, argument } = found;
    let confidence = match fault {
        Fault::Rows { .. } | Fault::Reduced(_) => Confidence::Medium,
        // They may be equal by chance.
        Fault::Size { ref gets, ref wants, .. } if !gets.surely_differs(wants) => Confidence::Medium,
        _ => Confidence::High,
    };
    let undecided = cx.undecided_arms() > 0;
    let misfit = Misfit {
        fault,
        what,
        input,
        other,
        argument,
        undecided,
        excused: Cell::new(false),
        stack: Cell::new(None),
        in_trial: cx.remember(|trial: &mut Trial| trial.0),
    };
    cx.observe_for_good(place, misfit, confidence);
}

/// Whether a layer has made the last size what it is, whatever came in. Others depend on what a model is given, and
/// of several models each is given what suits it.
fn has_own_size(input: &Tensor) -> bool {
    let own = |last: &Int| input.shape.as_ref().is_none_or(|shape| shape.last() == Some(last));
    input.last.as_ref().is_some_and(own)
}

/// Whether the file that runs changes shapes in place, `target.data.resize_(…)`, which is not followed.
fn resizes(cx: &mut Interp<'_>) -> bool {
    let file = cx.file();
    if let Some(known) = cx.remember(|resizing: &mut Resizing| resizing.0.get(&file).copied()) {
        return known;
    }
    let text = &cx.module(file).source.text;
    let resizes = RESIZING.iter().any(|word| text.contains(word));
    cx.remember(|resizing: &mut Resizing| resizing.0.insert(file, resizes));
    resizes
}

/// Files that were looked through for it.
#[derive(Default)]
struct Resizing(FxHashMap<FileId, bool>);

/// Methods that change the shape of a tensor in place.
const RESIZING: [&str; 2] = [".resize_(", ".resize_as_("];

/// A stack runs that nobody calls yet.
#[derive(Default)]
struct Trial(bool);

/// What is put together fits together, whatever comes in, and on whichever way it is made: its layers are of one way.
fn tries_stack(cx: &mut Interp<'_>, made: &StackMade) {
    let arms = cx.undecided_arms();
    let around = cx.remember(|all: &mut Forwards| std::mem::replace(&mut all.0, vec![arms]));
    cx.remember(|trial: &mut Trial| trial.0 = true);
    let is_misfit = |seen: &Observation| seen.get::<Misfit>().is_some();
    cx.tried(is_misfit, |cx| cx.through_stack(made.stack, made.place));
    cx.remember(|trial: &mut Trial| trial.0 = false);
    cx.remember(|all: &mut Forwards| all.0 = around);
}

/// A layer of a stack is shown where it is put there.
fn stacked(cx: &mut Interp<'_>, layer: &StackedLayer) {
    for seen in cx.observed_since_mut(layer.began) {
        if let Some(misfit) = seen.get::<Misfit>().filter(|_| seen.at.place == layer.called) {
            misfit.stack.set(Some(layer.called));
            seen.at.place = layer.made;
        }
    }
}

/// Who hears of errors in operations provides for them.
fn tried(cx: &mut Interp<'_>, tried: &Tried<'_>) {
    let seen = cx.observed_since(tried.began).iter().filter_map(|seen| seen.get::<Misfit>());
    if seen.clone().next().is_none() {
        return;
    }
    let exceptions: Vec<Option<ExprId>> = tried.handlers.iter().map(|handler| handler.exception).collect();
    if exceptions.into_iter().any(|exception| hears(cx, exception)) {
        let seen = cx.observed_since(tried.began).iter().filter_map(|seen| seen.get::<Misfit>());
        seen.for_each(|misfit| misfit.excused.set(true));
    }
}

/// Exceptions that no operation on tensors raises.
const OTHER: [&str; 14] = [
    "EOFError",
    "FileExistsError",
    "FileNotFoundError",
    "IOError",
    "ImportError",
    "KeyError",
    "KeyboardInterrupt",
    "ModuleNotFoundError",
    "NameError",
    "OSError",
    "PermissionError",
    "StopIteration",
    "SystemExit",
    "TimeoutError",
];

fn hears(cx: &mut Interp<'_>, exception: Option<ExprId>) -> bool {
    let Some(exception) = exception else { return true };
    let is_other = |value: &Value| matches!(value, Value::Builtin(name) if OTHER.contains(&name.as_str()));
    match cx.eval(exception) {
        Value::Tuple(items) => !items.iter().all(is_other),
        value => !is_other(&value),
    }
}

impl Misfit {
    /// A tensor of which something is to be told.
    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        std::iter::once(&*self.input).chain(self.other.as_deref())
    }
}
