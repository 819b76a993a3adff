//! Modules and parameters that only a plain list, dict or tuple holds: neither an optimizer nor `.to()` finds
//! them there.

use super::construction;
use crate::apis::Role;
use crate::interp::{Base, Interp, is_parameter};
use crate::names::{NameSet, Subject};
use crate::report::{Confidence, Place};
use crate::syntax::FnId;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// Containers inside containers are looked into so deep.
const DEEPEST: usize = 3;

/// Methods by which a class may say itself what belongs to it.
const OWN_WAYS: [&str; 5] = ["parameters", "named_parameters", "named_modules", "_apply", "__setattr__"];
/// Names by which a class reads or sets a mode.
const MODES: [&str; 3] = ["train", "eval", "training"];
/// Names that register what has a computed name.
const BY_COMPUTED_NAME: [&str; 5] = ["setattr", "_modules", "__setattr__", "__dict__", "_parameters"];

/// Parts of a module that the framework does not know.
pub(super) struct UnregisteredParts {
    pub class: Rc<str>,
    pub attribute: Ustr,
    pub container: &'static str,
    /// The class of the first of them.
    pub part: Rc<str>,
    /// The items of the container are all modules, or all parameters.
    pub alike: bool,
    /// They learn; else they are layers that do something else in training, and are told of no mode.
    pub learnt: bool,
}

/// Looks through instances of the project's modules, each with the number of objects when its constructor had run.
pub(super) fn unregistered(cx: &mut Interp<'_>, constructed: &[(ObjId, u32)]) {
    let mut registered = None;
    let mut seen = Vec::new();
    for (object, until) in constructed {
        unregistered_in(cx, *object, *until, &mut registered, &mut seen);
    }
}

/// Parts that only a plain list, dict or tuple holds.
fn unregistered_in(
    cx: &mut Interp<'_>,
    object: ObjId,
    until: u32,
    registered: &mut Option<ObjSet>,
    seen: &mut Vec<Place>,
) {
    let attrs = cx.heap.get(object).attrs.clone();
    for (name, value) in &attrs {
        let Some((container, site)) = plain_container(cx, value) else { continue };
        let mut parts = Vec::new();
        if !parts_within(cx, value, DEEPEST, &mut parts)
            || parts.is_empty()
            || parts.len() == 1 && is_single(&cx.heap, value)
        {
            continue;
        }
        let here = |part: &ObjId| part.0 > object.0 && part.0 < until;
        let of_tuple = || parts.first().map(|part| tuple_site(cx, object, *name, cx.heap.get(*part).site));
        let Some(site) = site.or_else(of_tuple) else { continue };
        if !parts.iter().all(here) || seen.contains(&site) || registers_itself(cx, object, *name, &parts) {
            continue;
        }
        let known = registered.get_or_insert_with(|| registered_parts(&cx.heap));
        let bare = cx.is_just(parts[0], Role::Parameter);
        let alike = parts.iter().all(|part| cx.is_just(*part, Role::Parameter) == bare)
            && parts_within(cx, value, 1, &mut Vec::new());
        // What stands for several is registered where all of them are.
        let all_known = |part: ObjId| {
            let members = cx.heap.get(part).module().map_or(&[][..], |module| &module.parts);
            !members.is_empty() && members.iter().all(|member| known.contains(*member))
        };
        let is_lost = |part: &ObjId| !known.contains(*part) && !all_known(*part);
        let lost: Vec<ObjId> = parts.into_iter().filter(is_lost).collect();
        let learnt = lost.iter().any(|part| is_learnt(cx, *part));
        if lost.is_empty()
            || !(learnt || lost.iter().all(|part| minds_mode(cx, *part)) && !sets_modes(cx, object))
        {
            continue;
        }
        seen.push(site);
        let (class, part) = (cx.class_name(object), cx.class_name(lost[0]));
        // Where nothing is trained, bare parameters may be set by hand.
        let by_hand = cx.is_just(lost[0], Role::Parameter) && !trains(cx);
        let unseen = cx.has_unseen_base(cx.heap.get(object).class);
        let most = match (by_hand, unseen) {
            (true, _) => Confidence::Low,
            // A base that is not here may register in a way of its own, which hardly any does.
            (_, true) => Confidence::Medium,
            _ => Confidence::High,
        };
        let confidence = cx.heap.get(object).confidence.min(most);
        cx.observe(
            site,
            UnregisteredParts { class, attribute: *name, container, part, alike, learnt },
            confidence,
        );
    }
}

/// A tuple has no place of its own: its first part has, where that is made in the value of the attribute; else it is the
/// value, as of a function that gives a tuple.
fn tuple_site(cx: &Interp<'_>, object: ObjId, attribute: Ustr, part: Place) -> Place {
    let bound = cx.lineage(cx.heap.get(object).class).into_iter().find_map(|base| {
        let Base::Project(class) = base else { return None };
        let State::Class(state) = &cx.heap.get(class).state else { return None };
        let module = cx.module(state.file);
        let own = Subject::Own(state.class, attribute);
        let (value, _) = module.relations().bindings(own).next()?;
        Some(Place::new(state.file, module.tree.expr(value).span))
    });
    bound.filter(|bound| bound.file != part.file || !bound.span.contains(part.span)).unwrap_or(part)
}

fn trains(cx: &Interp<'_>) -> bool {
    cx.heap.optimizers().next().is_some()
}

fn plain_container(cx: &Interp<'_>, value: &Value) -> Option<(&'static str, Option<Place>)> {
    match value.bare() {
        Value::Tuple(items) if !items.is_empty() => Some(("tuple", None)),
        Value::Obj(object) => match cx.heap.get(*object).state {
            State::List(_) => Some(("list", Some(cx.heap.get(*object).site))),
            State::Dict(_) => Some(("dict", Some(cx.heap.get(*object).site))),
            _ => None,
        },
        _ => None,
    }
}

/// Collects modules and parameters in containers; false when anything else is in there.
fn parts_within(cx: &Interp<'_>, value: &Value, depth: usize, parts: &mut Vec<ObjId>) -> bool {
    let mut all = |values: &mut dyn Iterator<Item = &Value>| -> bool {
        for value in values {
            if depth == 0 || !parts_within(cx, value, depth - 1, parts) {
                return false;
            }
        }
        true
    };
    match value.bare() {
        Value::None | Value::Str(_) | Value::Int(_) => true,
        Value::Tuple(items) => all(&mut items.iter()),
        Value::Tensor(tensor) if is_parameter(value) => {
            if let Graph::Live(nodes) = &tensor.graph {
                parts.extend(nodes.leaves.iter());
            }
            true
        }
        Value::Obj(object) => match &cx.heap.get(*object).state {
            State::Module(_) => {
                parts.push(*object);
                true
            }
            State::List(Items { exact: Some(items), .. }) => all(&mut items.iter()),
            State::List(items) => all(&mut std::iter::once(&items.any)),
            State::Dict(entries) => {
                let known = entries.known.iter().map(|(_, value)| value);
                all(&mut known.chain(&entries.other))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether anything asks for gradients in what an optimizer would have to be given.
fn is_learnt(cx: &Interp<'_>, part: ObjId) -> bool {
    let own = cx
        .heap
        .get(part)
        .module()
        .is_some_and(|module| matches!(module.weights, Learned::Own(_)) && module.frozen == Some(false));
    own || cx.learns(part) == Some(true)
}

/// Whether a layer has nothing to learn and does something else in training.
fn minds_mode(cx: &Interp<'_>, part: ObjId) -> bool {
    let module = cx.heap.get(part).module();
    module.is_some_and(|module| module.weights == Learned::Nothing && module.is_mode_dependent())
}

/// A class that says itself in which mode its parts are.
fn sets_modes(cx: &Interp<'_>, object: ObjId) -> bool {
    cx.lineage(cx.heap.get(object).class).into_iter().any(|base| {
        let Base::Project(class) = base else { return false };
        let State::Class(state) = &cx.heap.get(class).state else { return false };
        let module = cx.module(state.file);
        module.names.scopes.iter().enumerate().any(|(index, scope)| {
            let function = module.tree.function(FnId(index as u32));
            function.class == Some(state.class)
                && (MODES.contains(&function.name.as_str())
                    || MODES.iter().any(|mode| scope.mentions.contains(Ustr::from(mode))))
        })
    })
}

/// A class that says itself what its parts are, in a way that is not followed, or whose methods other
/// than the constructor never look at the attribute. Layers of which nobody knows how large they are may be those of a
/// model that nobody sees into, which has them.
pub(super) fn registers_itself(cx: &mut Interp<'_>, object: ObjId, attribute: Ustr, parts: &[ObjId]) -> bool {
    if construction::registers_any_attribute(cx, object)
        || OWN_WAYS.iter().any(|name| cx.is_of_project(object, name) || has_own(cx, object, name))
    {
        return true;
    }
    let is_sized = |part: &ObjId| {
        cx.heap.get(*part).module().is_some_and(|module| matches!(module.weights, Learned::Own(Some(_))))
    };
    let all_sized = parts.iter().all(is_sized);
    let opaque = cx.heap.get(object).attrs.iter().any(|(_, value)| {
        let Some(part) = value.as_obj() else { return false };
        let here = cx.heap.get(part);
        matches!(here.class, ClassRef::Api(_))
            && here.module().is_some_and(|module| {
                module.weights == Learned::Opaque && (module.open || module.repeats || !all_sized)
            })
    });
    let mut used = false;
    let mut mentioned: Vec<&NameSet> = Vec::new();
    let mut by_computed_name: Vec<Ustr> = Vec::new();
    for base in cx.lineage(cx.heap.get(object).class) {
        let Base::Project(class) = base else { continue };
        let State::Class(state) = &cx.heap.get(class).state else { continue };
        let module = cx.module(state.file);
        for (index, scope) in module.names.scopes.iter().enumerate() {
            let function = module.tree.function(FnId(index as u32));
            if function.class != Some(state.class) {
                continue;
            }
            mentioned.push(&scope.mentions);
            if BY_COMPUTED_NAME.iter().any(|name| scope.mentions.contains(Ustr::from(name))) {
                by_computed_name.push(function.name);
            }
            used |= function.name != "__init__" && scope.mentions.contains(attribute);
        }
    }
    // What only others call, to load or to copy what a model has, comes too late to register anything.
    let is_called =
        |name: &Ustr| name.starts_with("__") || mentioned.iter().any(|mentions| mentions.contains(*name));
    opaque || !used || by_computed_name.iter().any(is_called)
}

/// `self.parameters = nn.ParameterList(...)` takes the place of the method.
fn has_own(cx: &Interp<'_>, object: ObjId, name: &str) -> bool {
    cx.heap.attr(object, Ustr::from(name)).is_some()
}

/// A container written around one module: the usual way to keep it from being registered.
fn is_single(heap: &Heap, value: &Value) -> bool {
    match value.bare() {
        Value::Tuple(items) => items.len() == 1,
        Value::Obj(object) => match &heap.get(*object).state {
            State::List(items) => items.exact.as_ref().is_some_and(|items| items.len() == 1),
            State::Dict(entries) => entries.known.len() == 1 && entries.other.is_none(),
            _ => false,
        },
        _ => false,
    }
}

/// What is an attribute of some module itself, or what an optimizer was given.
pub(super) fn registered_parts(heap: &Heap) -> ObjSet {
    let mut all: Vec<ObjId> = Vec::new();
    for id in (0..heap.len()).map(|index| ObjId(index as u32)) {
        let here = heap.get(id);
        match &here.state {
            // The order of a list's layers makes nobody hold them.
            State::Module(_) if here.class == ClassRef::Builtin => {}
            State::Module(module) => {
                // What stands for several holds none of them.
                if !heap.is_merged(id) {
                    all.extend(module.parts.iter());
                }
                for part in here.attrs.iter().filter_map(|(_, value)| value.as_obj()) {
                    all.push(part);
                    all.extend(heap.stands_for(part).iter());
                }
                for (_, value) in here.attrs.iter().filter(|(_, value)| is_parameter(value)) {
                    if let Some(Graph::Live(nodes)) = value.as_tensor().map(|tensor| &tensor.graph) {
                        all.extend(nodes.leaves.iter());
                    }
                }
                if matches!(here.class, ClassRef::Api(_)) {
                    here.attrs.iter().for_each(|(_, value)| listed_owners(heap, value, DEEPEST, &mut all));
                }
            }
            State::Optimizer(optimizer) => all.extend(optimizer.owns.iter()),
            _ => {}
        }
    }
    all.into_iter().collect()
}

/// The layers whose parameters a list of them holds: `nn.ParameterList(parameters)` registers these.
fn listed_owners(heap: &Heap, value: &Value, depth: usize, all: &mut Vec<ObjId>) {
    match value.bare() {
        Value::Params(params) => {
            params.owners.iter().for_each(|owner| all.extend(heap.stands_for(owner).iter()));
        }
        Value::Obj(list) if depth > 0 => {
            if let State::List(items) = &heap.get(*list).state {
                let listed = items.exact.as_deref().unwrap_or(std::slice::from_ref(&items.any));
                listed.iter().for_each(|item| listed_owners(heap, item, depth - 1, all));
            }
        }
        _ => {}
    }
}
