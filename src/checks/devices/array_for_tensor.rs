//! NumPy arrays that are given to functions and layers of tensors, and those of which no tensor can be made.

use crate::apis::{Role, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{AppliedLayer, Checker, Interp, Invocation};
use crate::report::{Confidence, Place, Severity};
use crate::trace::At;
use crate::values::{ClassRef, ObjId, State, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "array-for-tensor",
    summary: "a NumPy array is passed to a function or layer that expects a tensor, or cannot become a tensor",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("array-for-tensor"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_call: Some(called),
    on_layer_applied: Some(applied),
    on_arguments: Some(collected),
    on_end: Some(tell),
    ..Checker::SILENT
};

/// An array, or a list, where a tensor has to be.
struct ArrayGiven {
    to: Rc<str>,
    made: Option<Place>,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Array,
    List,
}

/// An array with negative strides that is to become a tensor.
struct Backwards {
    to: Rc<str>,
    turned: Place,
}

/// Those that were seen: what a loader's workers do leaves no observation.
#[derive(Default)]
struct Seen(Vec<(At, Backwards)>);

fn tell(cx: &mut Interp<'_>, (): ()) {
    for (at, backwards) in cx.recall::<Seen>().0 {
        cx.observe_at_for_good(at, backwards);
    }
}

/// `torch.from_numpy(image[:, :, ::-1])`
fn converted(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(array) = call.nth_tensor(0).filter(|array| array.is_array) else { return };
    let Some(turned) = array.backwards.filter(|_| !call.open && !cx.is_provided_for()) else { return };
    if !cx.apis.is_of_arrays(call.api) {
        let to = Rc::from(call.api.name.rsplit('.').next().unwrap_or_default());
        let at = cx.at(call.place, array.confidence);
        cx.remember(|seen: &mut Seen| {
            if !seen.0.iter().any(|(known, _)| known.place == at.place) {
                seen.0.push((at, Backwards { to, turned }));
            }
        });
    }
}

/// `F.softmax(x.numpy())`, `criterion(x.numpy(), y)`
fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if matches!(call.api.transfer(), Some(Transfer::FromData | Transfer::AsTensor)) {
        return converted(cx, call);
    }
    let computes = call.api.mark.is_some() || call.api.loss.is_some();
    let input = match &call.api.loss {
        Some(loss) => call.get(&loss.input).as_tensor().cloned(),
        None => call.nth_tensor(0),
    };
    let Some(array) = input.filter(|input| computes && input.is_array) else { return };
    note(cx, call, None, &array);
}

/// Layers of `torch.nn`: transforms of pictures take arrays and pictures, too.
fn applied(cx: &mut Interp<'_>, applied: &AppliedLayer<'_>) {
    let Some(array) = applied.call.nth_tensor(0).filter(|input| input.is_array) else { return };
    let package = cx.apis.class_of(Role::Module).and_then(|module| module.as_str().rsplit_once('.'));
    let is_own = |class: Ustr| package.is_some_and(|(package, _)| class.starts_with(package));
    if !matches!(cx.heap.get(applied.layer).class, ClassRef::Api(class) if is_own(class)) {
        return;
    }
    note(cx, applied.call, Some(applied.layer), &array);
}

/// `TensorDataset(np_images, labels)`
fn collected(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let makes = call.api.class.as_ref().and_then(|class| class.makes.as_ref());
    if makes.is_none_or(|makes| makes.verb != Transfer::TensorDataset) || cx.is_provided_for() {
        return;
    }
    let given = call.rest.iter().find_map(|given| match given.bare() {
        Value::Tensor(array) if array.is_array => Some((array.made, Kind::Array, array.confidence)),
        Value::Obj(object) => {
            let here = cx.heap.get(*object);
            let is_list = matches!(here.state, State::List(_)) && !cx.heap.is_merged(*object);
            is_list.then_some((Some(here.site), Kind::List, here.confidence))
        }
        _ => None,
    });
    if let Some((made, kind, confidence)) = given {
        let to = Rc::from(call.api.name.rsplit('.').next().unwrap_or_default());
        cx.observe(call.place, ArrayGiven { to, made, kind }, confidence);
    }
}

fn note(cx: &mut Interp<'_>, call: &Invocation<'_>, layer: Option<ObjId>, array: &Tensor) {
    if cx.apis.is_copying(call.api.name) || call.open || cx.is_provided_for() {
        return;
    }
    let managed = |layer: ObjId| cx.heap.get(layer).module().is_some_and(|module| module.managed);
    if layer.is_some_and(managed) {
        return;
    }
    let sure = layer.map_or(Confidence::High, |layer| cx.heap.get(layer).confidence);
    let to = match layer {
        Some(layer) => cx.class_name(layer),
        None => Rc::from(call.api.name.rsplit('.').next().unwrap_or_default()),
    };
    let confidence = array.confidence.min(sure);
    cx.observe(call.place, ArrayGiven { to, made: array.made, kind: Kind::Array }, confidence);
}

fn check(script: &Script, out: &mut Findings) {
    for (at, given) in script.observed_once::<ArrayGiven>() {
        if at.confidence < Confidence::Medium || !script.imports_around(at, "torch") {
            continue;
        }
        let (what, made, note, help) = match given.kind {
            Kind::Array => (
                "NumPy array",
                "the array is created here",
                "PyTorch raises an `AttributeError` or a `TypeError`, such as `must be Tensor, not numpy.ndarray`",
                "convert it with `torch.from_numpy(...)`, or call it before `.numpy()`",
            ),
            Kind::List => (
                "list",
                "the list is created here",
                "Python raises `AttributeError: 'list' object has no attribute 'size'`",
                "make one tensor of it: `torch.stack(...)`, or `torch.tensor(...)` of numbers",
            ),
        };
        let message = format!("`{}` raises an error: it expects a tensor and receives a {what}", given.to);
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(place) = at.beside(given.made) {
            finding = finding.because(place, made);
        }
        let finding = finding.note(note).help(help);
        out.push(finding, at);
    }
    for (at, Backwards { to, turned }) in script.observed_once::<Backwards>() {
        if at.confidence < Confidence::Medium
            || !script.imports_around(at, "torch")
            || script.is_tried(at.place)
        {
            continue;
        }
        let message = format!("`{to}` raises an error: this NumPy array has negative strides");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(*turned, "it is flipped here, as a view")
            .note("PyTorch raises `ValueError: At least one stride in the given numpy array is negative`")
            .help("copy it before it is converted: `.copy()`");
        out.push(finding, at);
    }
}
