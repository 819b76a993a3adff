//! Numbers that are dropped at random in the forward of a module, whatever mode the module is in.

use crate::apis::{Operand, Verb};
use crate::interp::{Checker, Declared, Interp, Running};
use crate::report::{FileId, Place};
use crate::syntax::{ExprId, ExprKind};
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_effect: Some(effect),
    on_layer_call: Some(begin_layer),
    on_layer_end: Some(end_layer),
    on_condition: Some(tested),
    ..Checker::SILENT
};

/// Numbers are dropped in a forward, whatever mode the model is in.
pub(super) struct ConstantDropout {
    pub by: Ustr,
    /// A layer that is made anew in each forward.
    pub is_layer: bool,
    pub class: Rc<str>,
}

#[derive(Default)]
struct Watch {
    /// The layers whose calls are being computed, innermost last.
    layers: Vec<ObjId>,
    /// The running frames in which a condition asked which mode the model is in.
    asked: Vec<u32>,
    /// What was found of conditions: loops come to the same ones again and again.
    known: FxHashMap<(FileId, ExprId), bool>,
}

fn begin_layer(cx: &mut Interp<'_>, layer: ObjId) {
    cx.remember(|watch: &mut Watch| watch.layers.push(layer));
}

fn end_layer(cx: &mut Interp<'_>, _: ObjId) {
    cx.remember(|watch: &mut Watch| watch.layers.pop());
}

/// `drop p [training]`: numbers are dropped at random, unless the parameter that says whether this is training
/// is off.
fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Drop {
        return;
    }
    let (call, args) = (declared.call, &declared.effect.args);
    let probability = args.first().map_or(Value::Unknown, |arg| call.value_of(arg));
    let flag = args.get(1);
    let says = |operand: &Operand| matches!(operand, Operand::Param(name) if call.is_given(name));
    // Where there is no flag, a probability that is not known may be zero outside of training.
    let unsure = flag.is_none() && probability.as_num().is_none();
    if !call.open && !unsure {
        drops(cx, &probability, flag.is_some_and(says), call.api.name, call.place);
    }
}

/// In a module's forward the mode has to decide.
fn drops(cx: &mut Interp<'_>, probability: &Value, decided: bool, by: Ustr, place: Place) {
    let layer = cx.remember(|watch: &mut Watch| watch.layers.last().copied());
    // What the user may set is perhaps not zero.
    let is_given = probability.origin().is_some_and(|origin| origin.given);
    let never = probability.as_num() == Some(0.0) && !is_given;
    let doubtful = layer.is_none() && matches!(probability.bare(), Value::None);
    if never || doubtful || (decided && layer.is_none()) {
        return;
    }
    let Some(forward) = forward_around(cx, layer) else { return };
    let Some(object) = forward.receiver else { return };
    // A dropout layer of the project that computes as its base does is the layer itself.
    if layer == Some(object) || asks_since(cx, forward) || cx.ambient.grad == Some(false) {
        return;
    }
    let dropout = ConstantDropout { by, is_layer: layer.is_some(), class: cx.class_name(object) };
    let confidence = cx.heap.get(object).confidence;
    cx.observe(place, dropout, confidence);
}

/// The innermost frame of a module's method that computes an output. A layer counts where it was made in that
/// method itself.
fn forward_around(cx: &Interp<'_>, layer: Option<ObjId>) -> Option<Running> {
    let is_method = |frame: &Running| {
        frame.receiver.is_some_and(|object| {
            let object = cx.heap.get(object);
            object.module().is_some() && matches!(object.class, ClassRef::Project(_))
        })
    };
    let frame = cx.running().rev().find(is_method)?;
    let function = cx.tree(frame.file).function(frame.function?);
    let constructs = function.name.starts_with("__init__") || function.name.contains("train");
    let made_here = layer.is_none_or(|layer| {
        let site = cx.heap.get(layer).site;
        site.file == frame.file && function.span.contains(site.span)
    });
    (!constructs && made_here).then_some(frame)
}

/// Whether a condition in a frame, or in what it calls, asked which mode the model is in.
fn asks_since(cx: &mut Interp<'_>, forward: Running) -> bool {
    let inside: Vec<u32> = cx.running().map(|frame| frame.serial).collect();
    let inside = inside.into_iter().skip_while(|serial| *serial != forward.serial);
    cx.remember(|watch: &mut Watch| inside.into_iter().any(|serial| watch.asked.contains(&serial)))
}

/// What follows in this call depends on a condition that asks which mode the model is in.
fn tested(cx: &mut Interp<'_>, test: ExprId) {
    let key = (cx.file(), test);
    let known = cx.remember(|watch: &mut Watch| watch.known.get(&key).copied());
    let asks = known.unwrap_or_else(|| {
        let asks = asks_mode(cx, test);
        cx.remember(|watch: &mut Watch| watch.known.insert(key, asks));
        asks
    });
    if !asks {
        return;
    }
    let running: Vec<u32> = cx.running().map(|frame| frame.serial).collect();
    cx.remember(|watch: &mut Watch| {
        watch.asked.retain(|serial| running.contains(serial));
        watch.asked.extend(running.last());
    });
}

fn asks_mode(cx: &Interp<'_>, test: ExprId) -> bool {
    let tree = cx.tree(cx.file());
    let asks = |name: &Ustr| name.contains("train") || name.contains("eval");
    match &tree.expr(test).kind {
        ExprKind::Name(name) => asks(name),
        ExprKind::Attribute { base, name, .. } => asks(name) || asks_mode(cx, *base),
        ExprKind::Unary { operand, .. } => asks_mode(cx, *operand),
        ExprKind::Bool { items, .. } => items.iter().any(|item| asks_mode(cx, *item)),
        ExprKind::Compare { first, rest } => {
            asks_mode(cx, *first) || rest.iter().any(|(_, operand)| asks_mode(cx, *operand))
        }
        ExprKind::Call { callee, args } => {
            asks_mode(cx, *callee) || args.iter().any(|arg| asks_mode(cx, arg.value))
        }
        _ => false,
    }
}
