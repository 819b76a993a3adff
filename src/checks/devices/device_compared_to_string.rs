//! Devices that are compared with their names.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Compare, Interp};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::syntax::CompareOp;
use crate::trace::At;
use crate::values::{DeviceForm, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "device-compared-to-string",
    summary: "a `torch.device` is compared with a string, which it never equals",
    group: Group::Device,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("device-compared-to-string"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_compare: Some(compared), on_end: Some(ended), ..Checker::SILENT };

/// Where a string may stand as well: another caller passes one.
#[derive(Default)]
struct Named(FxHashSet<Place>);

/// What devices are called; another text, such as "auto", is for those who give no device.
const KINDS: [&str; 9] = ["cpu", "cuda", "gpu", "hpu", "mps", "npu", "tpu", "xla", "xpu"];

/// A device was held against strings.
struct Compared {
    device: Place,
    names: Vec<Rc<str>>,
    /// They are found to differ.
    differ: bool,
}

/// `device == "cuda"`, `device in ("cuda", "mps")`
fn compared(cx: &mut Interp<'_>, compare: &Compare<'_>) {
    let differ = match compare.op {
        CompareOp::Eq | CompareOp::In => false,
        CompareOp::NotEq | CompareOp::NotIn => true,
        _ => return,
    };
    let is_membership = matches!(compare.op, CompareOp::In | CompareOp::NotIn);
    let sides = [(compare.left, compare.right, 0), (compare.right, compare.left, 1)];
    for (device, other, at) in sides.into_iter().take(if is_membership { 1 } else { 2 }) {
        let names = match is_membership {
            true => texts(cx, other, compare.places[1]),
            false => text(other).map(|name| vec![name]),
        };
        let (place, Some(names)) = (compare.places[at], names) else { continue };
        if !names.iter().any(|name| is_device(name)) {
            continue;
        }
        match device.bare() {
            Value::Device(_, DeviceForm::Object | DeviceForm::OfMaking) => {
                cx.observe(place, Compared { device: place, names, differ }, Confidence::High);
            }
            Value::Str(_) | Value::Device(_, DeviceForm::Unsure) => {
                cx.remember(|named: &mut Named| named.0.insert(place));
            }
            _ => {}
        }
    }
}

/// `cuda:1`, or a text that nobody knows.
fn is_device(name: &str) -> bool {
    let kind = name.split(':').next().unwrap_or_default();
    name.is_empty() || KINDS.contains(&kind)
}

fn ended(cx: &mut Interp<'_>, (): ()) {
    let named: Named = cx.recall();
    cx.observe_at(At::of_text(Place::default(), Confidence::High), named);
}

/// The strings in a list or tuple of nothing else.
fn texts(cx: &mut Interp<'_>, container: &Value, place: Place) -> Option<Vec<Rc<str>>> {
    let items = match container.bare() {
        Value::Tuple(items) => items.to_vec(),
        Value::Obj(_) => cx.iterate(container, place).exact?,
        _ => return None,
    };
    let texts: Option<Vec<_>> = items.iter().map(text).collect();
    texts.filter(|texts| !texts.is_empty())
}

fn text(value: &Value) -> Option<Rc<str>> {
    match value.bare() {
        Value::Str(text) => Some(text.clone().unwrap_or_default()),
        _ => None,
    }
}

fn check(script: &Script, out: &mut Findings) {
    let named = |at: &At| script.observed::<Named>().any(|(_, named)| named.0.contains(&at.place));
    for (at, seen) in script.observed_once_where::<Compared, _>(|at, _| !named(at)) {
        let written = script.draft(at.place.file).text(seen.device.span);
        let answer = if seen.differ { "true" } else { "false" };
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                format!("this is always {answer}: a `torch.device` never equals a string"),
            )
            .help(format!("compare its type, `{written}.type`, or use `torch.device(...)` on both sides"))
            .fix(fix(script, seen));
        out.push(finding, at);
    }
}

/// `device.type`, where the strings are types.
fn fix(script: &Script, seen: &Compared) -> Option<Fix> {
    let is_type = |name: &Rc<str>| !name.is_empty() && !name.contains(':');
    let edits = script.draft(seen.device.file).append(seen.device.span, ".type")?;
    seen.names.iter().all(is_type).then(|| Fix::guess("compare the type of the device", edits))
}
