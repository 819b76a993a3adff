//! Backward passes past what should have done them: an engine, or the scaler that steps.

use crate::apis::{Role, Verb};
use crate::checks::scaler::{Gradients, ScalingRun, ask_scaling, reads_scale};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::timeline::{Certainty, Kind, OptimizerEvent, Whose};
use crate::facts::{Findings, Script, doubted_in_tests};
use crate::interp::{BackwardCall, Checker, Interp};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::trace::At;
use crate::values::{ObjId, Scaled, Tensor, Value};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "raw-backward",
    summary: "`loss.backward()` bypasses the engine or the `GradScaler`",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("raw-backward"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_backward: Some(backward), ..Checker::SILENT };

/// The methods of engines that do a backward pass.
const BACKWARDS: [&str; 2] = ["backward", "manual_backward"];

/// A backward pass that leaves out the engine that manages the model.
struct RawBackward {
    engine: ObjId,
    /// The engine is the model's own framework, which runs the loop.
    own: bool,
    /// What should be called.
    method: Ustr,
}

/// A backward pass past the engine that manages what it reaches, or past the module that runs it.
fn backward(cx: &mut Interp<'_>, pass: &BackwardCall<'_>) {
    let owner = pass.call.api.name.rsplit_once('.').map(|(owner, _)| Ustr::from(owner));
    if owner.is_some_and(|owner| matches!(cx.apis.role(owner), Some(Role::Engine | Role::Module))) {
        return;
    }
    let managing = pass.leaves.iter().find_map(|leaf| cx.heap.get(leaf).module()?.engine);
    let Some(engine) = managing.or_else(|| running_hook(cx, pass)) else { return };
    let Some(method) = own_backward(cx, engine) else { return };
    let raw = RawBackward { engine, own: managing.is_none(), method };
    cx.observe(pass.call.place, raw, pass.loss.confidence.min(Confidence::Medium));
}

/// The module in one of whose methods we are, when its framework runs the loop and the loss comes from it.
fn running_hook(cx: &Interp<'_>, pass: &BackwardCall<'_>) -> Option<ObjId> {
    cx.running_modules().find(|object| {
        let within = || pass.leaves.iter().any(|leaf| cx.descendants(*object).contains(leaf));
        cx.is_owned(*object) && (within() || is_own_hook(cx, *object, pass.loss))
    })
}

/// A method that nobody is seen to call, and whose losses are of its own module for all we know: it makes
/// no optimizer for something else.
fn is_own_hook(cx: &Interp<'_>, object: ObjId, loss: &Tensor) -> bool {
    let Some((running, receiver)) = cx.running_method().filter(|_| cx.supposed.seeded.is_some()) else {
        return false;
    };
    let span = cx.tree(running.file).function(running.function).span;
    let made_here =
        |site: Place| site.file == running.file && span.range().contains(&site.span.range().start);
    let unclear = loss.learned && loss.graph.is_unclear();
    receiver == Some(object) && unclear && !cx.heap.optimizers().any(|id| made_here(cx.heap.get(id).site))
}

/// The method of an engine that does a backward pass.
fn own_backward(cx: &Interp<'_>, engine: ObjId) -> Option<Ustr> {
    let lineage = cx.lineage(cx.heap.get(engine).class);
    let walks = |name: &Ustr| match cx.find_in(&lineage, *name) {
        Some(Value::Api(api)) => cx.apis.get(api).is_some_and(|api| api.does(Verb::Backward)),
        _ => false,
    };
    BACKWARDS.map(Ustr::from).into_iter().find(walks)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, raw) in script.observed_once::<RawBackward>() {
        let at = doubted_in_tests(at);
        let engine = if raw.own { "self".to_owned() } else { script.name_or(raw.engine, "engine") };
        let message = format!("this backward pass bypasses `{engine}`");
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .note("it scales the loss in mixed precision and counts accumulated micro-batches")
            .help(format!("call `{engine}.{}(loss)` instead", raw.method));
        out.push(finding, &at);
    }
    report_unscaled(script, out);
}

fn report_unscaled(script: &Script, out: &mut Findings) {
    for raw in unscaled_backwards(script) {
        let message =
            format!("the loss is not scaled, but `{}` divides its gradients by the loss scale", raw.scaler);
        let finding = script
            .finding(RULE.id, RULE.severity, &raw.at, message)
            .because(raw.step, "divides them by 65536 initially, then applies them")
            .help(format!("call `{}.scale(loss).backward()`", raw.scaler));
        let fix = scaled_backward(script, &raw, "scale");
        let finding = finding.fix(fix.map(|edits| Fix::safe("scale the loss", edits)));
        out.push(finding, &raw.at);
    }
}

/// A backward pass past the scaler that later divides its gradients.
struct UnscaledBackward {
    at: At,
    scaler: String,
    step: Place,
}

fn unscaled_backwards(script: &Script) -> Vec<UnscaledBackward> {
    ask_scaling(script, |run, index| {
        let (backward, scaler) = unscaled(run, index)?;
        let (at, step) = (run.at(backward), run.moments[index].event.place);
        Some((at.place, UnscaledBackward { at, scaler: script.scaler_name(scaler), step }))
    })
}

/// The unscaled backward pass of gradients that a scaler divides by its scale.
fn unscaled(run: &ScalingRun, index: usize) -> Option<(&OptimizerEvent, ObjId)> {
    let step = &run.moments[index];
    let Kind::Step { whose: Whose::Own, scaler: Some(scaler) } = step.event.kind else { return None };
    let scales = |event: &OptimizerEvent| match &event.kind {
        Kind::Scale => true,
        Kind::Touched(touched) => touched.scaler,
        _ => false,
    };
    // A whole script in which no loss is ever multiplied.
    let never = run.timeline.seeded.is_none() && !run.events().any(scales);
    if run.events().any(reads_scale) || !(never || step.before.gradients.must_be(&[Gradients::Plain])) {
        return None;
    }
    let plain = |event: &&OptimizerEvent| match event.kind {
        Kind::Backward { certainty: Certainty::Must, scaled } => scaled == Scaled::No || never,
        _ => false,
    };
    run.split(index).0.rev().find(plain).map(|event| (event, scaler))
}

/// A backward pass of the loss multiplied by the scaler that steps.
fn scaled_backward(script: &Script, raw: &UnscaledBackward, method: &str) -> Option<Vec<Edit>> {
    let place = raw.at.place;
    let draft = script.draft(place.file);
    let step = script.step_in(place, raw.step)?;
    let (loss, _) = draft.receiver(draft.call_at(place.span)?)?;
    Some(draft.wrap(draft.expr(loss).span, &format!("{}.{method}(", step.scaler?), ")"))
}
