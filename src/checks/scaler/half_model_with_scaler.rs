//! Parameters in half precision, whose gradients a scaler refuses.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::Severity;
use crate::values::{ClassRef, DType, ObjId, ObjSet, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "half-model-with-scaler",
    summary: "a model whose parameters are float16 is trained with `GradScaler`, which raises an error",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("half-model-with-scaler"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(refused), ..Checker::SILENT };

/// A scaler is to divide gradients in half precision.
struct HalfGradients {
    class: Rc<str>,
    optimizer: ObjId,
}

fn refused(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::RefuseHalf || cx.working_scaler(&declared.arg(0)).is_none() {
        return;
    }
    let Some(optimizer) = declared.arg(1).as_obj() else { return };
    if unscales_itself(cx, optimizer) {
        return;
    }
    let Some(owned) = cx.heap.get(optimizer).optimizer().map(|state| state.owns.clone()) else { return };
    let Some(module) = owned.iter().find(|module| is_half(cx, *module)) else { return };
    let confidence = cx.heap.get(module).confidence.min(cx.heap.get(optimizer).confidence);
    let class = cx.class_name(module);
    cx.observe(declared.call.place, HalfGradients { class, optimizer }, confidence);
}

/// Whether an optimizer may divide the gradients itself, in whichever dtype: where its kernels are fused, or where it
/// is not of the framework.
fn unscales_itself(cx: &Interp<'_>, optimizer: ObjId) -> bool {
    let object = cx.heap.get(optimizer);
    let fused = object.attr(Ustr::from("fused"));
    !matches!(object.class, ClassRef::Api(_))
        || !matches!(fused, None | Some(Value::None | Value::Bool(Some(false))))
}

/// Whether parameters of a module that learn are float16.
fn is_half(cx: &Interp<'_>, module: ObjId) -> bool {
    let half = |part: ObjId| {
        let module = cx.heap.get(part).module();
        module.is_some_and(|module| {
            module.dtype == Some(DType::Float16) && module.frozen == Some(false) && !module.managed
        })
    };
    half(module) && cx.heap.descendants(module).iter().all(|part| part == module || half(part))
}

fn check(script: &Script, out: &mut Findings) {
    // What comes after the first refusal is not reached.
    let mut seen_of = ObjSet::default();
    for (at, seen) in script.observed_once::<HalfGradients>() {
        if seen_of.contains(seen.optimizer) {
            continue;
        }
        seen_of.insert(seen.optimizer);
        let message = format!("this raises an error: the gradients of `{}` are float16", seen.class);
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("PyTorch raises `Attempting to unscale FP16 gradients.`")
            .help("keep the parameters in float32, and run the forward pass under `torch.autocast` instead");
        out.push(finding, at);
    }
}
