//! Leaves that autograd follows, changed in place while it does.

use crate::apis::{Api, Operand, RangeFunction, RangeSpec};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, ElementWrite, Interp, Invocation, MethodResult, Passed, Update};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::values::{Graph, Learned, ObjId, Parameter, Params, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "leaf-modified-in-place",
    summary: "a leaf tensor that requires grad is modified in place outside of `no_grad`",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("leaf-modified-in-place"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_update: Some(updated),
    on_method_result: Some(called),
    on_element_write: Some(written),
    on_call: Some(filled),
    ..Checker::SILENT
};

/// A leaf was about to change under autograd's eyes.
struct ModifiedInPlace {
    /// Where it was made, if it is not a parameter of a module.
    made: Option<Place>,
    error: &'static str,
}

const IN_PLACE: &str = "a leaf Variable that requires grad is being used in an in-place operation";
const AS_OUT: &str = "functions with out=... arguments don't support automatic differentiation";

/// `weight -= rate * weight.grad`; a list of parameters is added to, and stays one.
fn updated(cx: &mut Interp<'_>, update: &Update<'_>) {
    let is_list = matches!(update.before.bare(), Value::Params(_)) && !update.result.borrow().is_unknown();
    if !is_list {
        let place = cx.expr_place(update.target);
        modified(cx, update.before, place, IN_PLACE);
    }
}

/// `weight.sub_(...)`
fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    if changes_numbers(result.api) && !result.call.open {
        modified(cx, result.receiver, result.call.place, IN_PLACE);
    }
}

/// `weight[0] = 1.0`; what brings a graph along is an update.
fn written(cx: &mut Interp<'_>, write: &ElementWrite<'_>) {
    let has_no_graph = write.value.as_tensor().is_some_and(|value| matches!(value.graph, Graph::None));
    if has_no_graph || write.value.as_num().is_some() {
        modified(cx, &Value::tensor(write.tensor.clone()), write.place, IN_PLACE);
    }
}

/// `torch.arange(3, out=weight)`
fn filled(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let given = |(name, passed): &(Ustr, Passed)| (name == "out").then(|| passed.value.clone());
    if let Some(value) = call.named().find_map(given) {
        modified(cx, &value, call.place, AS_OUT);
    }
}

/// By the convention of the framework, a method that changes its receiver ends so; some of them leave its numbers.
pub(super) fn changes_numbers(api: &Api) -> bool {
    let receiver = api.params.first().map(|param| Operand::Param(param.name));
    let keeps = match &api.range {
        Some(RangeSpec::Of(apply)) => {
            apply.verb == RangeFunction::Same && apply.args.first() == receiver.as_ref()
        }
        Some(RangeSpec::Interval { .. }) => false,
        None => true,
    };
    api.name.ends_with('_') && !api.name.ends_with("__") && !keeps
}

fn modified(cx: &mut Interp<'_>, value: &Value, place: Place, error: &'static str) {
    // Who calls a function that nothing here calls may have switched gradients off, but makes a model as it is.
    let made_by_others = cx
        .supposed
        .seeded
        .is_some_and(|entry| cx.tree(entry.file).function(entry.function).name != "__init__");
    if cx.ambient.grad != Some(true) || made_by_others {
        return;
    }
    match value.bare() {
        Value::Tensor(tensor) => {
            let Graph::Live(nodes) = &tensor.graph else { return };
            let trained = |leaf| cx.heap.get(leaf).module().is_none() || is_trained(cx, leaf);
            let is_leaf = tensor.is_leaf && !nodes.maybe && nodes.leaves.iter().all(trained);
            if is_leaf && !tensor.is_array {
                cx.observe(place, ModifiedInPlace { made: tensor.made, error }, tensor.confidence);
            }
        }
        Value::Params(params) if is_whole(params) => {
            let trained = params.owners.iter().all(|owner| is_trained(cx, owner));
            if trained {
                cx.observe(place, ModifiedInPlace { made: None, error }, Confidence::High);
            }
        }
        _ => {}
    }
}

/// Whether it is known which parameters these are: all of some modules, or one that is surely there.
fn is_whole(params: &Params) -> bool {
    let is_one = |only: &[Parameter]| matches!(only, [Parameter { maybe: false, .. }]);
    params.owners.iter().next().is_some() && !params.others && params.only.as_deref().is_none_or(is_one)
}

/// Whether a parameter of a module asks for gradients, and none of its parts is frozen.
fn is_trained(cx: &Interp<'_>, owner: ObjId) -> bool {
    let frozen = |part: ObjId| {
        cx.heap
            .get(part)
            .module()
            .is_none_or(|part| part.weights != Learned::Nothing && part.frozen != Some(false))
    };
    cx.learns(owner) == Some(true) && !cx.descendants(owner).iter().any(frozen)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<ModifiedInPlace>() {
        // TensorFlow watches its variables otherwise.
        if !script.imports(at.place.file, "torch") {
            continue;
        }
        let finding = script
            .finding(
                RULE.id,
                RULE.severity,
                at,
                "a leaf tensor that requires grad is modified in place while autograd records",
            )
            .note(format!("PyTorch raises `RuntimeError: {}`", seen.error))
            .help("update it in `with torch.no_grad():`");
        let finding = match at.beside(seen.made) {
            Some(made) => finding.because(made, "it is created here, and requires grad"),
            None => finding,
        };
        out.push(finding.fix(unrecorded(script, at.place)), at);
    }
}

/// Puts the statement into `no_grad`.
fn unrecorded(script: &Script, place: Place) -> Option<Fix> {
    let draft = script.draft(place.file);
    let (said, mut edits) = draft.say(script.apis.repair("no-gradients")?)?;
    let line = draft.line_at(place.span)?;
    edits.push(draft.put_under(&format!("with {said}():"), line, line)?);
    Some(Fix::safe(format!("wrap it in `with {said}():`"), edits))
}
