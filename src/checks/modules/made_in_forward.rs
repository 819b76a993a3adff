//! Layers that a forward makes anew each time: nothing registers them, and nothing trains them.

use super::registration::registered_parts;
use crate::apis::{Role, Transfer};
use crate::interp::{Base, Checker, Interp, LayerCall, Running};
use crate::syntax::FnId;
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker =
    Checker { on_layer: Some(called), on_end: Some(report), ..Checker::SILENT };

/// A layer with parameters that lives for one forward.
pub(super) struct MadeInForward {
    pub layer: Rc<str>,
    pub class: Rc<str>,
    pub method: Ustr,
    /// It scales what it gets, element by element, as normalizing layers do: new weights leave most of it as it is.
    pub scales: bool,
}

/// Layers that were called in the function that makes them, and the frame of it.
#[derive(Default)]
struct Made(Vec<(ObjId, Running)>);

/// Who speaks of these in the same function does something to the numbers of a layer.
const SET_BY_HAND: [&str; 8] =
    ["bias", "data", "init", "load_state_dict", "no_grad", "parameters", "requires_grad_", "weight"];

fn called(cx: &mut Interp<'_>, call: &LayerCall<'_>) {
    let here = cx.heap.get(call.layer);
    let learns = here.module().is_some_and(|module| {
        matches!(module.weights, Learned::Own(count) if count != Some(0)) && module.frozen == Some(false)
    });
    let is_layer = learns && matches!(here.class, ClassRef::Api(_)) && !cx.heap.is_merged(call.layer);
    if !is_layer || cx.ambient.grad == Some(false) || !cx.in_forward() {
        return;
    }
    if let Some(frame) = maker(cx, call.layer) {
        cx.remember(|made: &mut Made| {
            if !made.0.iter().any(|(layer, _)| *layer == call.layer) {
                made.0.push((call.layer, frame));
            }
        });
    }
}

/// The running method of a module that makes a layer, if it does nothing else with what it has learned.
fn maker(cx: &Interp<'_>, layer: ObjId) -> Option<Running> {
    let site = cx.heap.get(layer).site;
    let framework = cx.apis.class_of(Role::Module).map(Base::Api);
    let makes = |frame: &Running| {
        let (Some(function), Some(object)) = (frame.function, frame.receiver) else { return false };
        let tree = cx.tree(frame.file);
        let is_module = cx.heap.get(object).module().is_some()
            && framework.is_some_and(|base| cx.lineage(cx.heap.get(object).class).contains(&base));
        is_module
            && site.file == frame.file
            && tree.function(function).span.contains(site.span)
            && !tree.function(function).name.starts_with("__init__")
            && !is_set_by_hand(cx, *frame, function)
    };
    cx.running().rev().find(makes)
}

fn is_set_by_hand(cx: &Interp<'_>, frame: Running, function: FnId) -> bool {
    let scope = cx.module(frame.file).names.scope(function);
    SET_BY_HAND.iter().any(|word| scope.mentions.contains(Ustr::from(word)))
}

/// What an attribute or a container holds in the end was made once, or is made for others.
fn report(cx: &mut Interp<'_>, (): ()) {
    let made = cx.remember(|made: &mut Made| std::mem::take(&mut made.0));
    if made.is_empty() {
        return;
    }
    let registered = registered_parts(&cx.heap);
    for (layer, frame) in made {
        let (Some(object), Some(function)) = (frame.receiver, frame.function) else { continue };
        if registered.contains(layer) || is_kept(&cx.heap, layer) {
            continue;
        }
        let confidence = cx.heap.get(object).confidence;
        let seen = MadeInForward {
            layer: cx.class_name(layer),
            class: cx.class_name(object),
            method: cx.tree(frame.file).function(function).name,
            scales: scales(cx, layer),
        };
        cx.observe(cx.heap.get(layer).site, seen, confidence);
    }
}

fn scales(cx: &Interp<'_>, layer: ObjId) -> bool {
    let ClassRef::Api(name) = cx.heap.get(layer).class else { return false };
    let gives = cx.apis.class(name).and_then(|api| api.gives.as_ref());
    gives.is_some_and(|gives| gives.verb == Transfer::Like)
}

/// Whether a list, a dict or an attribute holds an object.
fn is_kept(heap: &Heap, layer: ObjId) -> bool {
    let is_it = |value: &Value| value.as_obj() == Some(layer);
    let mut objects = (0..heap.len()).map(|index| heap.get(ObjId(index as u32)));
    objects.any(|object| match &object.state {
        State::List(Items { exact: Some(items), .. }) => items.iter().any(is_it),
        State::List(items) => is_it(&items.any),
        State::Dict(entries) => entries.known.iter().map(|(_, value)| value).chain(&entries.other).any(is_it),
        // The names of a function's body hold what it makes as long as it runs.
        State::Frame => false,
        _ => object.attrs.iter().any(|(_, value)| is_it(value)),
    })
}
