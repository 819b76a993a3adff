//! Training by several processes: which modules each has a copy of, and whether samplers learn their epoch.

use crate::apis::{Role, Verb};
use crate::interp::{Checker, Declared, Interp, UnknownMethod};
use crate::report::Confidence;
use crate::values::{ObjId, Value};

pub(super) static CHECKER: Checker =
    Checker { on_effect: Some(effect), on_unknown_method: Some(unknown_method), ..Checker::SILENT };

/// A sampler was told which epoch it is in, or something that we do not see and that may be one.
pub(super) struct EpochSet;

/// Each process got a copy of a module.
pub(super) struct Replicated(pub ObjId);

/// The only group of processes has one: it has all shards.
#[derive(Default)]
struct Alone(bool);

fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    let place = declared.call.place;
    match declared.verb() {
        Verb::SetEpoch => cx.observe(place, EpochSet, Confidence::High),
        Verb::Processes => {
            let one = matches!(declared.arg(0), Value::Int(number) if !number.is_given() && number.int.known() == Some(1));
            cx.remember(|alone: &mut Alone| alone.0 = one);
        }
        Verb::Replicate if !cx.remember(|alone: &mut Alone| alone.0) => {
            if let Some(module) = declared.arg(0).as_obj() {
                cx.observe(place, Replicated(module), Confidence::High);
            }
        }
        _ => {}
    }
}

fn unknown_method(cx: &mut Interp<'_>, method: &UnknownMethod<'_>) {
    if cx.apis.method_does(Role::Sampler, method.name, Verb::SetEpoch) {
        cx.observe(method.call.place, EpochSet, Confidence::High);
    }
}
