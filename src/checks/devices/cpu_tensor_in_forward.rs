//! A tensor that a forward makes on the CPU, whatever device the model is on.

use super::stranded::{By, Stranded};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, Diagnostic, Edit, FileId, Fix, Place, Severity};
use crate::syntax::{ExprId, ExprKind};
use crate::trace::At;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "cpu-tensor-in-forward",
    summary: "`forward` creates a tensor on the CPU, regardless of the model's device",
    group: Group::Device,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("cpu-tensor-in-forward"),
    check,
};

/// Each tensor once, and where the model is trained on the GPU, or may be.
fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (met, stranded) in script.observed::<Stranded>().filter(|(_, stranded)| !stranded.excused.get()) {
        let trust = trust_in_gpu(script, stranded);
        if seen.insert(stranded.made) {
            let confidence = met.confidence.min(trust.unwrap_or(Confidence::Medium));
            // Callers that are seen may have everything on the CPU, as tests have: that says nothing of others.
            let seeded = met.seeded.filter(|_| stranded.by != By::Function);
            let at = At { place: stranded.made, calls: Rc::from([]), confidence, seeded, ..met.clone() };
            let finding = reported(script, &at, met.place, stranded);
            match trust {
                Some(_) => out.push(finding, &at),
                // Whoever makes an instance decides.
                None if met.seeded.is_some() => out.push_where_gpus_are_used(finding, &at),
                None => {}
            }
        }
    }
}

fn reported(script: &Script, at: &At, met: Place, stranded: &Stranded) -> Diagnostic {
    let class = &stranded.class;
    let (message, help) = match stranded.attribute {
        Some(name) => (
            format!("`self.{name}` stays on the CPU when `{class}` is moved to the GPU"),
            format!("register it with `self.register_buffer(\"{name}\", ...)`: buffers move with the module"),
        ),
        None if is_cast(script, at.place) => (
            format!("this cast always moves to the CPU, even when `{class}` is on the GPU"),
            "cast the dtype alone: `.float()`, `.long()`, or `.type_as(x)` of a tensor on its device"
                .to_owned(),
        ),
        None if stranded.by == By::Method => (
            format!("this tensor is always created on the CPU, even when `{class}` is on the GPU"),
            "create it on the model's device: pass `device=next(self.parameters()).device`".to_owned(),
        ),
        None if stranded.by != By::Forward => (
            format!(
                "this tensor is always created on the CPU, even when the inputs of `{class}` are on the GPU"
            ),
            "create it on the input's device: pass `device=x.device`".to_owned(),
        ),
        None => (
            format!("this tensor is always created on the CPU, even when `{class}` is on the GPU"),
            "create it on the input's device: pass `device=x.device`".to_owned(),
        ),
    };
    // Callers of a function may have everything on the CPU.
    let (severity, met_by) = match stranded.by {
        By::Function => (Severity::Warning, "combined with what the function is given here"),
        _ => (RULE.severity, "combined with the model's tensors here"),
    };
    let finding = script
        .finding(RULE.id, severity, at, message)
        .because(met, met_by)
        .note("on the GPU, this raises an error such as `Expected all tensors to be on the same device`")
        .help(help);
    let fix = made_beside(script, at.place).filter(|_| stranded.attribute.is_none());
    let fix = fix.map(|edits| Fix::safe("create it on the input's device", edits));
    finding.fix(fix)
}

/// How sure it is that the model runs on the GPU; `None` where nothing says so.
fn trust_in_gpu(script: &Script, stranded: &Stranded) -> Option<Confidence> {
    if stranded.device.is_gpu() {
        Some(Confidence::High)
    } else if stranded.placed || script.rehearsal.uses_gpu || heeds_devices(script, stranded.made.file) {
        Some(Confidence::Medium)
    } else {
        None
    }
}

/// Whether a file of a library asks where tensors are: its models are meant to run on the GPU, too.
fn heeds_devices(script: &Script, file: FileId) -> bool {
    script.project.module(file).names.speaks_of(&["cuda", "device", "is_cuda"].map(Ustr::from))
}

/// A call that makes a tensor by the size of another one, on the device of that one.
fn made_beside(script: &Script, made: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(made.file);
    let call = draft.call_at(made.span)?;
    let maker = draft.qualified(call.callee)?;
    let is_class = maker.rsplit('.').next().is_none_or(|name| name.starts_with(char::is_uppercase));
    let model = call.args.iter().find_map(|arg| sized_by(draft, arg.value))?;
    (!is_class).then(|| script.with_argument(made, "device", &format!("{model}.device")))?
}

/// `mask.type(torch.FloatTensor)`: a method of a tensor gives what stays behind, and no call that makes one.
fn is_cast(script: &Script, made: Place) -> bool {
    let draft = script.draft(made.file);
    let Some(call) = draft.call_at(made.span) else { return false };
    matches!(draft.expr(call.callee).kind, ExprKind::Attribute { name, .. } if name == "type")
}

/// The name of what an expression asks for its size: `x` of `x.size(0)` and `x.shape[0]`.
fn sized_by<'a>(draft: Draft<'a>, expr: ExprId) -> Option<&'a str> {
    match &draft.expr(expr).kind {
        ExprKind::Call { callee, .. } => sized_by(draft, *callee),
        ExprKind::Subscript { base, .. } => sized_by(draft, *base),
        ExprKind::Attribute { base, name, .. } if matches!(name.as_str(), "size" | "shape") => {
            matches!(draft.expr(*base).kind, ExprKind::Name(_)).then(|| draft.written(*base))
        }
        _ => None,
    }
}
