//! Tensors that a forward makes where nobody said a device: they are on the CPU, and the model may not be.

use crate::apis::{Api, Role, Transfer};
use crate::interp::beside_inputs::library_function;
use crate::interp::{Call, Checker, Interp, Return, given_tensors, innermost_function};
use crate::names::Subject;
use crate::report::{Confidence, FileId, Place};
use crate::syntax::{ExprId, ExprKind, FnId, Function, Tree};
use crate::values::{DType, Device, DeviceOrigin, Learned, ObjId, Source, Tensor, Value};
use std::cell::Cell;
use std::rc::Rc;
use ustr::Ustr;

/// By these names a class moves what it holds.
const MOVING: [&str; 6] = ["_apply", "cpu", "cuda", "device", "to", "type_as"];

/// A tensor that was made on the CPU, because nothing said a device, met the model in its forward.
pub(super) struct Stranded {
    /// Where it was made.
    pub made: Place,
    /// The attribute that holds it.
    pub attribute: Option<Ustr>,
    pub class: Rc<str>,
    /// Where the model is.
    pub device: Device,
    /// A framework places the model.
    pub placed: bool,
    pub by: By,
    /// The method of a module that was called.
    pub method: Option<(FileId, FnId)>,
    /// That method only asks for a size, as a constructor does.
    pub excused: Cell<bool>,
}

pub(super) static CHECKER: Checker = Checker { on_return: Some(returned), ..Checker::SILENT };

/// `return self.features(torch.zeros(1, 3, 32, 32)).size(1)`: constructors ask so, before the module is moved.
fn returned(cx: &mut Interp<'_>, returned: &Return<'_>) {
    let is_size = |value: &Value| value.as_int().is_some();
    let is_asked = match returned.value.bare() {
        Value::Tuple(items) => !items.is_empty() && items.iter().all(is_size),
        Value::Unknown => returned.expr.is_some_and(|expr| asks_for_size(cx, expr)),
        value => is_size(value),
    };
    let Some(method) = cx.outermost_method().filter(|_| is_asked) else { return };
    let frame = cx.running().next_back();
    if frame.is_none_or(|frame| Some(method) != frame.function.map(|function| (frame.file, function))) {
        return;
    }
    let stranded = cx.observed_since(Default::default()).iter().filter_map(|seen| seen.get::<Stranded>());
    stranded
        .filter(|stranded| stranded.method == Some(method))
        .for_each(|stranded| stranded.excused.set(true));
}

/// Whether an expression asks a tensor, which is not known, for a size: `x.shape[1]`, `x.size(1)`.
fn asks_for_size(cx: &Interp<'_>, expr: ExprId) -> bool {
    let asks = |name: Ustr| {
        let method = cx.apis.method_of(Role::Tensor, name);
        method.and_then(Api::transfer).is_some_and(Transfer::asks)
    };
    match &cx.module(cx.file()).tree.expr(expr).kind {
        ExprKind::Subscript { base, .. } => asks_for_size(cx, *base),
        ExprKind::Call { callee, .. } => asks_for_size(cx, *callee),
        ExprKind::Attribute { name, .. } => asks(*name),
        _ => false,
    }
}

/// Who makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Forward,
    /// Another method of a module, which goes on with what its layers give, or calls them.
    Method,
    /// A loss that nothing calls: its inputs are where the model is.
    Loss,
    /// A function that nothing calls: its inputs are where its callers have them.
    Function,
}

/// Tensors that meet in an operation, of which one may have been left on the CPU by a forward; whether
/// one was.
pub(super) fn note_stranded(cx: &mut Interp<'_>, tensors: &[Rc<Tensor>], place: Place) -> bool {
    let Some(stray) = tensors.iter().find(|tensor| tensor.on_default_device()) else { return false };
    let at_home = |tensor: &&Rc<Tensor>| {
        tensor.device_origin == Some(DeviceOrigin::Module)
            && !tensor.is_array
            && tensor.device != Device::Cpu
            && tensor.rank() != Some(0)
            && !(may_be_left(tensor) && is_count(tensor))
    };
    let Some(other) = tensors.iter().find(at_home) else { return false };
    let doubtful = may_be_left(other);
    let sure = if doubtful { Confidence::Medium } else { other.confidence };
    strand(cx, stray, Some(other), sure, place)
}

/// Whole numbers that a forward is given may be lengths.
fn is_count(tensor: &Tensor) -> bool {
    tensor.dtype.is_some_and(|dtype| !dtype.is_float() && dtype != DType::Bool)
}

/// A layer with weights that is called with what a forward may have left on the CPU; whether it is.
pub(super) fn note_stranded_input(cx: &mut Interp<'_>, layer: ObjId, device: Device, call: &Call) -> bool {
    let Some(module) = cx.heap.get(layer).module() else { return false };
    if device == Device::Cpu || module.scatters || module.weights == Learned::Opaque {
        return false;
    }
    let inputs = given_tensors(call);
    let Some(stray) = inputs.iter().find(|tensor| tensor.on_default_device()) else { return false };
    let by_method =
        || cx.own_method(layer, stray).filter(|outer| cx.device_of_module(*outer) == Device::Unknown);
    let outer = cx.computing().or_else(by_method);
    strand_in(cx, stray, outer, Confidence::High, call.place)
}

/// What a forward is given is where the model is as a rule; lengths, which are compared with positions,
/// may be left on the CPU.
pub(super) fn may_be_left(tensor: &Tensor) -> bool {
    tensor.device_origin == Some(DeviceOrigin::Module)
        && tensor.device == Device::Unknown
        && (!tensor.learned || tensor.is_given_to_loss())
        && tensor.source != Source::Parameter
}

fn strand(
    cx: &mut Interp<'_>,
    stray: &Tensor,
    other: Option<&Tensor>,
    sure: Confidence,
    place: Place,
) -> bool {
    let Some(DeviceOrigin::Default { made, .. }) = stray.device_origin else { return false };
    let outer = cx.computing().or_else(|| computing_by_method(cx, made, other?));
    strand_in(cx, stray, outer, sure, place)
}

/// The same in a module that is known to compute, if there is one.
fn strand_in(
    cx: &mut Interp<'_>,
    stray: &Tensor,
    outer: Option<ObjId>,
    sure: Confidence,
    place: Place,
) -> bool {
    let Some(DeviceOrigin::Default { made, joined, .. }) = stray.device_origin else { return false };
    let Some(outer) = outer else {
        return strand_without_model(cx, stray, sure, place, (made, joined));
    };
    let device = cx.device_of_module(outer);
    // `if x.is_cuda: … else: …` has another tensor for the GPU, and what it does here is for the CPU.
    if cx.is_off_gpu() {
        return true;
    }
    // What it is in another pass of a loop may be what a test asks for.
    if device == Device::Cpu || (joined && !cx.in_each_iteration()) {
        return false;
    }
    let (holder, attribute) = held_as(cx, made).unzip();
    if cx.supposed.seeded.is_some() && !stays_where_made(cx, made, attribute)
        || attribute.is_some_and(|attribute| is_made_again(cx, made, attribute, joined))
        || moves_itself(cx, made)
    {
        return false;
    }
    let placed = cx.is_owned(outer) || cx.heap.get(outer).module().is_some_and(|it| it.managed);
    let inner = cx.running_modules().last();
    let class = holder.map(|holder| cx.class_name(holder)).or_else(|| class_around(cx, made));
    let class = class.unwrap_or_else(|| cx.class_name(inner.unwrap_or(outer)));
    let confidence = stray.confidence.min(sure).min(cx.heap.get(outer).confidence);
    let by = if cx.computing() == Some(outer) { By::Forward } else { By::Method };
    let (method, excused) = (cx.outermost_method(), Cell::new(false));
    let stranded = Stranded { made, attribute, class, device, placed, by, method, excused };
    cx.observe(place, stranded, confidence);
    true
}

/// The module one of whose methods runs, other than a forward, where it goes on with what its layers gave or with its
/// parameters. What a constructor calls runs before anybody can move the module, and what the method was given is no
/// matter of its own.
fn computing_by_method(cx: &Interp<'_>, made: Place, other: &Tensor) -> Option<ObjId> {
    let computed = other.learned && !other.is_leaf && !other.is_given_to_loss();
    let outer = cx.running_modules().next().filter(|_| computed && !cx.in_constructor())?;
    let around = innermost_function(&cx.module(made.file).tree, made)?;
    (!cx.callers_of_module().any(|caller| caller == (made.file, around))).then_some(outer)
}

/// Some of what is joined in one tensor is on the CPU.
pub(super) fn strand_joined(cx: &mut Interp<'_>, part: &Tensor, made: Place, place: Place) -> bool {
    // Of one way of a branch as of the other: both are in it.
    let origin = DeviceOrigin::Default { made, whole: true, joined: false };
    let stray = Tensor { device_origin: Some(origin), ..part.clone() };
    strand(cx, &stray, None, Confidence::Medium, place)
}

/// The same in a loss that is no module, or in a function, that nothing calls.
fn strand_without_model(
    cx: &mut Interp<'_>,
    stray: &Tensor,
    sure: Confidence,
    place: Place,
    (made, joined): (Place, bool),
) -> bool {
    let loss = cx.offered_loss().map(|loss| (loss, By::Loss));
    let maker = loss.or_else(|| library_function(cx).map(|function| (function, By::Function)));
    let Some((name, by)) = maker else { return false };
    // A decorator may have put another function around it.
    let class = class_around(cx, made).or_else(|| function_around(cx, made)).unwrap_or(name);
    if cx.is_off_gpu() {
        return true;
    }
    // What takes nothing is on the CPU altogether, as a demonstration or a test is.
    if !takes_inputs(cx, made) {
        return false;
    }
    if joined && !cx.in_each_iteration() || !stays_where_made(cx, made, None) {
        return false;
    }
    let confidence = stray.confidence.min(sure).min(Confidence::Medium);
    let device = Device::Unknown;
    let (method, excused) = (None, Cell::new(false));
    let stranded = Stranded { made, attribute: None, class, device, placed: false, by, method, excused };
    cx.observe(place, stranded, confidence);
    true
}

/// The class whose body makes something: a method may be inherited by several.
fn class_around(cx: &Interp<'_>, made: Place) -> Option<Rc<str>> {
    let tree = &cx.module(made.file).tree;
    innermost(tree, made)?.class.map(|class| Rc::from(tree.class(class).name.as_str()))
}

/// Whether a function around a place, or the constructor of its class, is given anything.
fn takes_inputs(cx: &Interp<'_>, made: Place) -> bool {
    let tree = &cx.module(made.file).tree;
    let mut around = tree.functions.iter().filter(|function| function.span.contains(made.span)).peekable();
    around.peek().is_none() || around.any(|function| function.class.is_some() || !function.params.is_empty())
}

fn function_around(cx: &Interp<'_>, made: Place) -> Option<Rc<str>> {
    let function = innermost(&cx.module(made.file).tree, made)?;
    (function.name != "<lambda>").then(|| Rc::from(function.name.as_str()))
}

/// The function that a place stands in.
pub(super) fn innermost(tree: &Tree, place: Place) -> Option<&Function> {
    innermost_function(tree, place).map(|function| tree.function(function))
}

/// Whether the function that makes something puts it on a device on some way: `if self.gpu: mask = mask.cuda()`.
fn is_moved_there(cx: &Interp<'_>, made: Place) -> bool {
    let module = cx.module(made.file);
    let Some(function) = innermost_function(&module.tree, made) else { return false };
    let relations = module.relations();
    let is_it = |subject: Subject| {
        let mut bindings = relations.bindings(subject);
        bindings.any(|(value, _)| module.tree.expr(value).span.contains(made.span))
    };
    let mut moves =
        relations.acts_where(|method| cx.puts(method)).filter(|act| act.function == Some(function));
    moves.any(|act| act.receiver.is_some_and(is_it))
}

/// The running module that holds what was made at a place, and in which attribute.
fn held_as(cx: &Interp<'_>, made: Place) -> Option<(ObjId, Ustr)> {
    let here = |device_origin: DeviceOrigin| matches!(device_origin, DeviceOrigin::Default { made: other, .. } if other == made);
    let held = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.device_origin.is_some_and(here));
    cx.running_modules().find_map(|object| {
        let attrs = &cx.heap.get(object).attrs;
        attrs.iter().find(|(_, value)| held(value)).map(|(name, _)| (object, *name))
    })
}

/// Whether a method other than the constructor makes an attribute again: it may do that where the input is. One that
/// runs has not come to it yet, or there would be another value; in a branch it may have, at an earlier call. What the
/// constructor calls to make it makes it on the CPU again.
fn is_made_again(cx: &Interp<'_>, made: Place, attribute: Ustr, joined: bool) -> bool {
    let module = cx.module(made.file);
    let functions = &module.tree.functions;
    let runs = |function: FnId| {
        let mut running = cx.running();
        let is_it = running.any(|frame| frame.file == made.file && frame.function == Some(function));
        is_it && !joined && cx.undecided_arms() == 0
    };
    let maker = innermost_function(&module.tree, made);
    let moves = |function: FnId| {
        let mentions = &module.names.scope(function).mentions;
        MOVING.iter().any(|name| mentions.contains(Ustr::from(name)))
    };
    let makes_it_so = |function: FnId| maker == Some(function) && !moves(function);
    let is_apart = |function: FnId| {
        !runs(function) && !makes_it_so(function) && module.tree.function(function).name != "__init__"
    };
    let owners = functions.iter().filter_map(|function| function.class);
    owners
        .map(|class| Subject::Own(class, attribute))
        .any(|own| module.relations().binders(own).any(|function| function.is_some_and(is_apart)))
}

/// Whether the class around a place has a method of its own that moves its instances.
fn moves_itself(cx: &Interp<'_>, made: Place) -> bool {
    let tree = &cx.module(made.file).tree;
    let class = innermost(tree, made).and_then(|function| function.class);
    let moves = |function: &Function| function.class == class && MOVING.contains(&function.name.as_str());
    class.is_some() && tree.functions.iter().any(moves)
}

/// Of an instance that the script does not make itself: nothing in the file moves what it holds.
fn stays_where_made(cx: &Interp<'_>, made: Place, attribute: Option<Ustr>) -> bool {
    let module = cx.module(made.file);
    let functions = || module.tree.functions.iter().enumerate();
    let Some(attribute) = attribute else {
        let inside = |function: &Function| function.span.contains(made.span);
        let built = functions().any(|(_, function)| function.name == "__init__" && inside(function));
        return !built && !is_moved_there(cx, made);
    };
    let running = cx.running_functions(made.file);
    let moves = |index: usize| {
        let scope = &module.names.scopes[index];
        let named = MOVING.iter().any(|name| scope.mentions.contains(Ustr::from(name)));
        scope.mentions.contains(attribute) && named
    };
    !functions().any(|(index, function)| {
        let own = MOVING.contains(&function.name.as_str()) && function.class.is_some();
        let runs = running.contains(&FnId(index as u32));
        own || (function.name != "__init__" && !runs && moves(index))
    })
}
