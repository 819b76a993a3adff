//! What the constructor of a framework's class makes where a class of the project inherits from it: of a layer its
//! weights, the layers in it, and arguments as attributes; of a loader its batches. Knows no framework by name.

use super::{Call, Interp, Invocation, lineage::Base};
use crate::apis::{Api, Role, Transfer};
use crate::report::Place;
use crate::syntax::ParamKind;
use crate::values::{ClassRef, Closure, Learned, ModuleState, ObjId, State, Value};
use ustr::Ustr;

/// Whether a method is the constructor of a framework's class, which is done then.
pub(super) fn constructs(interp: &mut Interp, receiver: &Value, method: Ustr, call: &Call) -> bool {
    let object = receiver.as_obj().filter(|_| method == "__init__");
    if let Some(object) = object {
        construct(interp, object, call);
    }
    object.is_some()
}

/// Runs the constructor of the framework's class that comes first. That of a layer calls the next one in the order of
/// the bases, without arguments: of `class Conv(nn.Conv2d, Cached)` that is `Cached.__init__`.
pub(super) fn construct(interp: &mut Interp, object: ObjId, call: &Call) {
    build(interp, object, call);
    let Some(first) = layer(interp, object).map(|api| Base::Api(api.name)) else { return };
    let lineage = interp.lineage(interp.heap.get(object).class);
    let Some(at) = lineage.iter().position(|base| *base == first) else { return };
    if let Some(Value::Function(next)) = interp.find_in(&lineage[at + 1..], Ustr::from("__init__")) {
        interp.inline(&next, Some(&Value::Obj(object)), &Call::new(call.place));
    }
}

/// Whether the framework's class that constructs an object comes before another class in the order of its bases: its
/// constructor is running when that of the other begins.
pub(super) fn is_under_way(interp: &Interp, object: ObjId, class: ObjId) -> bool {
    let lineage = interp.lineage(interp.heap.get(object).class);
    let at = |wanted: Base| lineage.iter().position(|base| *base == wanted);
    let first = layer(interp, object).and_then(|api| at(Base::Api(api.name)));
    first.zip(at(Base::Project(class))).is_some_and(|(first, class)| first < class)
}

/// `super().__init__(…)` of a class that inherits from a layer, or an instance of one that has no constructor itself.
fn build(interp: &mut Interp, object: ObjId, call: &Call) {
    if let Some(api) = loader(interp, object) {
        interp.load(object, api, &Invocation::bind(api, call));
        return;
    }
    let Some(api) = layer(interp, object) else { return };
    if api.class.as_ref().is_some_and(|class| class.makes.is_some()) {
        super::assembled::assemble(interp, object, api, call);
        return;
    }
    let invocation = Invocation::bind(api, call);
    let own = interp.weights(api, &invocation);
    // A class of models says nothing of what a model has.
    if own == Learned::Opaque {
        return;
    }
    interp.on_arguments(&invocation);
    let open = own == Learned::Nothing && invocation.open;
    let mode_dependent = interp.is_mode_dependent(api, &invocation);
    let (device, dtype) = (interp.device_in_force(&invocation), interp.dtype_in_force(&invocation));
    let State::Module(known) = &interp.heap.get(object).state else { return };
    let state = ModuleState {
        weights: if open { Learned::Opaque } else { own },
        open,
        repeats: invocation.open,
        mode_dependent,
        recurrent: api.transfer() == Some(Transfer::Recurrent),
        device,
        dtype,
        ..known.clone()
    };
    interp.heap.get_mut(object).state = State::Module(state);
    interp.keep_arguments(object, api, &invocation);
    interp.settle_properties(object, &invocation);
}

/// The framework's class that comes first among the bases.
fn inherited<'p>(interp: &Interp<'p>, object: ObjId) -> Option<&'p Api> {
    let apis = interp.apis;
    let mut bases = interp.lineage(interp.heap.get(object).class).into_iter();
    bases.find_map(|base| match base {
        Base::Api(name) => Some(apis.class(name)),
        Base::Unknown => Some(None),
        Base::Project(_) => None,
    })?
}

/// That class, if it is one of loaders and the project leaves it to it what they give.
fn loader<'p>(interp: &mut Interp<'p>, object: ObjId) -> Option<&'p Api> {
    let first = inherited(interp, object)?;
    let is_loader = interp.apis.role(first.name) == Some(Role::Loader)
        && matches!(interp.heap.get(object).state, State::Plain);
    (is_loader && !interp.is_of_project(object, "__iter__")).then_some(first)
}

/// That class, if it is one of layers.
fn layer<'p>(interp: &Interp<'p>, object: ObjId) -> Option<&'p Api> {
    let apis = interp.apis;
    let first = inherited(interp, object)?;
    let is_layer =
        apis.role(first.name) == Some(Role::Module) && apis.class_of(Role::Module) != Some(first.name);
    Some(first).filter(|_| is_layer)
}

/// Whether an object inherits from a framework's layer or network, which may have parts that the script never names.
pub(super) fn has_parts_of_its_own(interp: &Interp, object: ObjId) -> bool {
    let computes = |api: &Api| {
        let class = api.class.as_ref();
        class.is_some_and(|class| class.call.is_some() || !class.call_params.is_empty())
    };
    matches!(interp.heap.get(object).class, ClassRef::Project(_))
        && layer(interp, object).is_some_and(computes)
}

/// A framework may make the rest of an instance once it knows the shape of its input.
pub(super) fn build_parts(interp: &mut Interp<'_>, object: ObjId, place: Place) {
    if interp.owns(interp.heap.get(object).class, "build")
        && let Some(Value::Function(closure)) = interp.find_attr(object, Ustr::from("build"))
    {
        interp.inline(&closure, Some(&Value::Obj(object)), &Call::with(place, [Value::Unknown]));
    }
}
/// A framework may have a method of its own in which layers are made.
pub(super) fn set_up(interp: &mut Interp, object: ObjId, place: Place) {
    if interp.owns(interp.heap.get(object).class, "setup")
        && let Some(Value::Function(closure)) = interp.find_attr(object, Ustr::from("setup"))
    {
        interp.inline(&closure, Some(&Value::Obj(object)), &Call::new(place));
    }
}

/// What `__new__` of the project gives. One that does not ask a base for an instance gives something else than one of
/// the class, and no constructor runs.
pub(super) fn given_by_new(interp: &mut Interp, class: ObjId, call: &Call) -> Option<Value> {
    let new = Ustr::from("__new__");
    let Some(Value::Function(closure)) = interp.find_in(&interp.lineage(ClassRef::Project(class)), new)
    else {
        return None;
    };
    let asks_base = interp.module(closure.file).names.scope(closure.function).mentions.contains(new);
    (!asks_base).then(|| interp.inline(&closure, Some(&Value::Obj(class)), call))
}

/// A call of an instance without what the framework's class takes itself, and does not hand on to the method in
/// which the project computes: the weights of the samples, of a loss.
pub(super) fn kept_by_framework(interp: &Interp, object: ObjId, own: &Closure, call: &Call) -> Option<Call> {
    let lineage = interp.lineage(interp.heap.get(object).class);
    let class = lineage.iter().find_map(|base| match base {
        Base::Api(name) => interp.apis.class(*name)?.class.as_ref(),
        _ => None,
    })?;
    let function = interp.tree(own.file).function(own.function);
    let is_own = |name: Ustr| function.params.iter().any(|param| param.name == name);
    let takes_any = function.params.iter().any(|param| param.kind == ParamKind::DoubleStar);
    let is_kept = |name: Ustr| !is_own(name) && class.call_params.iter().any(|param| param.name == name);
    if takes_any || !call.keywords.iter().any(|(name, _)| is_kept(*name)) {
        return None;
    }
    let mut handed = call.clone();
    handed.keywords.retain(|(name, _)| !is_kept(*name));
    Some(handed)
}
