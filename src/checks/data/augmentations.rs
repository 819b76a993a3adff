//! Transforms that do something else each time a loader takes a sample of its dataset. A sample is taken while the
//! loader is made, through whatever the dataset does; what a transform does not surely do then says nothing.

use crate::apis::{Draws, Verb};
use crate::interp::{Checker, Declared, Interp, Invocation, LoaderCall, Waypoint};
use crate::report::{Confidence, Place};
use crate::values::{ClassRef, ObjId, Value};
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_loader_call: Some(begin),
    on_layer_call: Some(applied),
    on_call: Some(drawn),
    on_effect: Some(seeded),
    on_sample: Some(|cx, _| tell(cx, |taking| taking.taken = true)),
    on_loader: Some(end),
    ..Checker::SILENT
};

/// The samples of a loader go through transforms that are drawn for each of them.
pub(super) struct Augmented {
    pub loader: ObjId,
    /// Where they were made, and the names of their classes.
    pub transforms: Vec<(Place, Ustr)>,
}

/// Loaders that are being made, innermost last.
#[derive(Default)]
struct Making(Vec<Taking>);

struct Taking {
    began: Waypoint,
    applied: Vec<ObjId>,
    /// A transform is applied more than once: the sample is seen in several ways on purpose.
    views: bool,
    /// A generator is seeded for the sample, which then looks the same each time.
    seeded: bool,
    /// The sample is there, and only has to become part of a batch.
    taken: bool,
}

/// Methods by which a transform of the script's own is applied.
const APPLIED: [&str; 2] = ["__call__", "forward"];

/// Tells the innermost loader that takes a sample.
fn tell(cx: &mut Interp<'_>, change: impl FnOnce(&mut Taking)) {
    cx.remember(|making: &mut Making| making.0.last_mut().filter(|taking| !taking.taken).map(change));
}

/// Where the innermost loader that takes a sample began.
fn began(cx: &mut Interp<'_>) -> Option<Waypoint> {
    cx.remember(|making: &mut Making| {
        making.0.last().filter(|taking| !taking.taken).map(|taking| taking.began)
    })
}

fn begin(cx: &mut Interp<'_>, _: &LoaderCall<'_>) {
    let began = cx.waypoint();
    let taking = Taking { began, applied: Vec::new(), views: false, seeded: false, taken: false };
    cx.remember(|making: &mut Making| making.0.push(taking));
}

/// A transform of a framework is applied.
fn applied(cx: &mut Interp<'_>, transform: ObjId) {
    if let Some(began) = began(cx).filter(|_| is_drawn(cx, transform)) {
        note(cx, began, transform);
    }
}

/// A number is drawn: for the transform of the script's own that is being applied to a sample.
fn drawn(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let draws = cx.apis.is_random(&call.api.name) && !call.api.does(Verb::Seed) && !is_one_number(call);
    let Some(began) = began(cx).filter(|_| draws) else { return };
    let running = cx.running_since(began);
    let transform = running.filter_map(|frame| {
        let function = cx.tree(frame.file).function(frame.function?);
        let takes_sample = function.params.len() > 1 && APPLIED.contains(&function.name.as_str());
        frame.receiver.filter(|_| takes_sample)
    });
    if let Some(transform) = transform.last().filter(|transform| !may_be_off(cx, *transform)) {
        note_own(cx, began, transform);
    }
}

/// `random.uniform(1, 1)` leaves no choice.
fn is_one_number(call: &Invocation<'_>) -> bool {
    let [low, high, ..] = &*call.api.params else { return false };
    let (low, high) = (call.get(&low.name), call.get(&high.name));
    match (low.as_int(), high.as_int()) {
        (Some(low), Some(high)) => !low.is_unknown() && low == high,
        _ => low.as_num().is_some() && low.as_num() == high.as_num(),
    }
}

/// Whether a transform of the script's own has a setting by which it may do nothing, or always the same: a probability or
/// a strength of zero, or of one.
fn may_be_off(cx: &Interp<'_>, transform: ObjId) -> bool {
    let settings = &cx.heap.get(transform).attrs;
    settings.iter().any(|(_, value)| matches!(value.as_num(), Some(0.0 | 1.0)) && value.as_bool().is_none())
}

fn seeded(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() == Verb::Seed {
        tell(cx, |taking| taking.seeded = true);
    }
}

fn note(cx: &mut Interp<'_>, began: Waypoint, transform: ObjId) {
    let (sure, again) = (cx.leads_here(began), cx.repeats_since(began));
    tell(cx, |taking| {
        taking.views |= again || taking.applied.contains(&transform);
        taking.applied.extend(sure.then_some(transform));
    });
}

/// One that draws several numbers is applied once all the same.
fn note_own(cx: &mut Interp<'_>, began: Waypoint, transform: ObjId) {
    let sure = cx.leads_here(began);
    tell(cx, |taking| {
        if sure && !taking.applied.contains(&transform) {
            taking.applied.push(transform);
        }
    });
}

/// Whether a transform of a framework does something else each time.
fn is_drawn(cx: &Interp<'_>, transform: ObjId) -> bool {
    let ClassRef::Api(class) = cx.heap.get(transform).class else { return false };
    let given = |name: Ustr| cx.heap.attr(transform, name);
    match cx.apis.draws_in_calls(class) {
        Some(Draws::Always) => given(Ustr::from("p")).and_then(Value::as_num) != Some(0.0),
        Some(Draws::Whether(chance)) => given(chance)
            .is_some_and(|chance| chance.as_num().is_some_and(|chance| chance > 0.0 && chance < 1.0)),
        None => false,
    }
}

fn end(cx: &mut Interp<'_>, loader: ObjId) {
    let Some(taking) = cx.remember(|making: &mut Making| making.0.pop()) else { return };
    let named = |transform: &ObjId| {
        let made = cx.heap.get(*transform);
        let name = match made.class {
            ClassRef::Api(class) => Ustr::from(class.rsplit('.').next().unwrap_or(&class)),
            _ => Ustr::from(&cx.class_name(*transform)),
        };
        Some((made.site, name))
    };
    let transforms: Vec<(Place, Ustr)> = taking.applied.iter().filter_map(named).collect();
    if !transforms.is_empty() && !taking.views && !taking.seeded {
        let place = cx.heap.get(loader).site;
        cx.observe(place, Augmented { loader, transforms }, Confidence::Medium);
    }
}
