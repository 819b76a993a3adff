//! Parameters that are moved where they are made: the module gets the copy, which is none.

use crate::apis::{Api, Role, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{AttributeWrite, Checker, Interp, MethodResult, is_parameter};
use crate::report::{Confidence, Severity};
use crate::values::{Device, Graph, Learned, ModuleState, ObjId, ObjSet, Tensor, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "parameter-lost-by-transfer",
    summary: "a module is given the moved copy of a parameter, which it does not register",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("parameter-lost-by-transfer"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_method_result: Some(moved), on_attribute_write: Some(written), ..Checker::SILENT };

/// Parameters on the CPU of which a copy elsewhere was made.
#[derive(Default)]
struct Copied(ObjSet);

/// A module got a copy of a parameter that nothing holds.
struct LostParameter {
    attribute: Ustr,
    device: Device,
}

/// Where a parameter is on the wanted device already, a transfer gives the parameter itself.
fn moved(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let Value::Tensor(tensor) = result.receiver else { return };
    let places = result.api.transfer().is_some_and(Transfer::places);
    if let Some(parameter) = leaf(tensor).filter(|_| places && tensor.is_leaf && tensor.device == Device::Cpu)
    {
        cx.remember(|copied: &mut Copied| copied.0.insert(parameter));
    }
}

fn written(cx: &mut Interp<'_>, write: &AttributeWrite<'_>) {
    let Some(module) = write.receiver.as_obj().filter(|object| cx.heap.get(*object).module().is_some())
    else {
        return;
    };
    let Value::Tensor(tensor) = write.value else { return };
    let Some(parameter) = copied_parameter(cx, tensor) else { return };
    let is_held = |value: &Value| match value {
        Value::Tensor(held) => is_parameter(value) && leaf(held) == Some(parameter),
        other => other.as_obj() == Some(parameter),
    };
    if !cx.heap.get(module).attrs.iter().any(|(_, value)| is_held(value)) {
        let lost = LostParameter { attribute: write.name, device: tensor.device };
        cx.observe(write.place, lost, Confidence::High);
    }
}

/// The parameter that a tensor on the GPU is the copy of, if moving it is all that was done.
fn copied_parameter(cx: &mut Interp<'_>, tensor: &Tensor) -> Option<ObjId> {
    let moved =
        tensor.what.and_then(|name| cx.apis.get(name)).and_then(Api::transfer).is_some_and(Transfer::places);
    let parameter = leaf(tensor).filter(|_| moved && tensor.device.is_chosen_gpu() && !tensor.is_leaf)?;
    let copied = cx.remember(|copied: &mut Copied| copied.0.contains(parameter));
    let own = |part: &ModuleState| matches!(part.weights, Learned::Own(_));
    // What is taken from a layer was the layer's.
    let by_itself = cx.is_just(parameter, Role::Parameter);
    (copied && by_itself && cx.heap.get(parameter).module().is_some_and(own)).then_some(parameter)
}

/// What alone the graph of a tensor leads to.
fn leaf(tensor: &Tensor) -> Option<ObjId> {
    let Graph::Live(nodes) = &tensor.graph else { return None };
    nodes.only_leaf().filter(|_| !nodes.others)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, lost) in script.observed_once::<LostParameter>() {
        let attribute = lost.attribute;
        let message = format!("`self.{attribute}` is not a parameter: a transfer returns a plain tensor");
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(format!(
                "the copy on {} is not a leaf tensor, so `parameters()` and the optimizer do not see it",
                lost.device.describe()
            ))
            .help("move the data first, `nn.Parameter(data.to(device))`, or move the whole module");
        out.push(finding, at);
    }
}
