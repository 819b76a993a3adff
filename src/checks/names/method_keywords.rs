//! Arguments of methods of a framework that its table does not list: the index of names is asked for them.

use crate::apis::ParamKind;
use crate::facts::UnlistedKeyword;
use crate::interp::{Checker, Interp, MethodResult};
use crate::report::Confidence;
use crate::values::Value;

pub(super) static CHECKER: Checker = Checker { on_method_result: Some(called), ..Checker::SILENT };

/// `model.fit(x, y, workers=4)`
fn called(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    let (api, call) = (result.api, result.call);
    let confidence = match result.receiver.bare() {
        Value::Obj(object) if !cx.heap.is_merged(*object) => cx.heap.get(*object).confidence,
        Value::Tensor(tensor) if !tensor.is_array => tensor.confidence,
        _ => return,
    };
    // What callers hand over may be of a class of their own.
    if call.open || confidence < Confidence::High || cx.supposed.seeded.is_some() || cx.is_provided_for() {
        return;
    }
    let is_listed = |name: &ustr::Ustr| {
        api.params.iter().any(|param| param.name == *name && param.kind != ParamKind::DoubleStar)
    };
    for (name, passed) in call.keywords.iter().filter(|(name, _)| !is_listed(name)) {
        cx.observe(passed.place, UnlistedKeyword { method: api.name, name: *name }, confidence);
    }
}
