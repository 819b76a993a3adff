//! Metrics of single batches whose mean is taken for the metric of all samples.

use crate::apis::{Pooled, Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{
    Arithmetic, Assignment, Augment, Base, Checker, Declared, Interp, Invocation, MethodResult,
};
use crate::names::Subject;
use crate::report::{Confidence, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{State, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "misaveraged-metric",
    summary: "F1, precision, recall or AUC of single batches are averaged",
    group: Group::Losses,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("misaveraged-metric"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_call: Some(called),
    on_method_result: Some(read),
    on_assign: Some(assigned),
    on_augment: Some(augmented),
    on_arithmetic: Some(operated),
    on_effect: Some(declared),
    ..Checker::SILENT
};

/// Calls that gave such a metric, and names that hold one: the name of the metric.
#[derive(Default)]
struct Metrics {
    calls: FxHashMap<Place, Ustr>,
    names: FxHashMap<Subject, Ustr>,
}

/// `total += f1_score(…)`
struct Grown {
    of: Subject,
    metric: Ustr,
}

/// `total / …`
struct Divided {
    sum: Subject,
}

/// A framework averages a metric over the batches of an evaluation.
struct Reported {
    metric: Ustr,
}

fn called(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let is_pooled = match call.api.pooled {
        Some(Pooled::Always) => true,
        // What nobody knows may be anything.
        Some(Pooled::UnlessMicro(average)) => match call.get(&average).bare() {
            Value::Str(Some(average)) => **average != *"micro",
            average => matches!(average, Value::None),
        },
        None => return,
    };
    let place = call.place;
    let name = Ustr::from(call.api.name.rsplit('.').next().unwrap_or(&call.api.name));
    cx.remember(|metrics: &mut Metrics| match is_pooled {
        true => metrics.calls.insert(place, name),
        false => metrics.calls.remove(&place),
    });
}

/// `metric(…).item()`
fn read(cx: &mut Interp<'_>, result: &MethodResult<'_>) {
    if result.api.transfer() != Some(Transfer::Item) {
        return;
    }
    let place = result.call.place;
    let of = cx.remember(|metrics: &mut Metrics| {
        let inner = metrics.calls.iter().find(|(call, _)| is_receiver(**call, place));
        inner.map(|(_, name)| *name)
    });
    if let Some(name) = of {
        cx.remember(|metrics: &mut Metrics| metrics.calls.insert(place, name));
    }
}

/// Whether a call begins where another one does, and ends before it.
fn is_receiver(inner: Place, outer: Place) -> bool {
    inner.file == outer.file && inner.span.start == outer.span.start && inner.span.end < outer.span.end
}

fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let Some(of) = cx.subject_here(assignment.target) else { return };
    let (target, value) = (assignment.target, assignment.value);
    if let Some(addend) = cx.added_to(target, value) {
        return grown(cx, target, addend);
    }
    let held = metric_of(cx, value);
    cx.remember(|metrics: &mut Metrics| match held {
        Some(name) => metrics.names.insert(of, name),
        None => metrics.names.remove(&of),
    });
}

fn augmented(cx: &mut Interp<'_>, augment: &Augment<'_>) {
    match augment.operator {
        BinaryOp::Add => grown(cx, augment.target, augment.value),
        BinaryOp::Div => divided(cx, augment.target),
        _ => {}
    }
}

fn operated(cx: &mut Interp<'_>, operation: &Arithmetic) {
    if operation.operator == BinaryOp::Div {
        divided(cx, operation.left);
    }
}

fn grown(cx: &mut Interp<'_>, sum: ExprId, addend: ExprId) {
    if cx.in_loop()
        && let Some(metric) = metric_of(cx, addend)
        && let Some(of) = cx.subject_here(sum)
    {
        cx.observe(cx.expr_place(addend), Grown { of, metric }, Confidence::High);
    }
}

fn divided(cx: &mut Interp<'_>, sum: ExprId) {
    if let Some(sum_of) = cx.subject_here(sum) {
        cx.observe(cx.expr_place(sum), Divided { sum: sum_of }, Confidence::High);
    }
}

/// The metric that an expression is, or is a multiple of: weights by the sizes of batches make no other mean of it.
fn metric_of(cx: &mut Interp<'_>, expr: ExprId) -> Option<Ustr> {
    let tree = cx.tree(cx.file());
    match &tree.expr(expr).kind {
        ExprKind::Name(_) | ExprKind::Attribute { .. } => {
            let held = cx.subject_here(expr)?;
            cx.remember(|metrics: &mut Metrics| metrics.names.get(&held).copied())
        }
        ExprKind::Call { callee, args } => {
            let is_float = matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == "float");
            match &**args {
                [only] if is_float => metric_of(cx, only.value),
                _ => {
                    let place = cx.expr_place(expr);
                    cx.remember(|metrics: &mut Metrics| metrics.calls.get(&place).copied())
                }
            }
        }
        ExprKind::Binary { op: BinaryOp::Mul, left, right } => {
            metric_of(cx, *left).or_else(|| metric_of(cx, *right))
        }
        _ => None,
    }
}

/// `self.log("f1", self.f1(outputs, labels))`, in a method that a framework calls for each batch of an evaluation.
fn declared(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Average || !evaluates_batch(cx) {
        return;
    }
    let Some(place) = declared.call.place_of("value") else { return };
    let module = cx.module(place.file);
    let Some(value) = module.expr_at(place.span).filter(|_| place.file == cx.file()) else { return };
    if let Some(metric) = metric_of(cx, value) {
        cx.observe(place, Reported { metric }, Confidence::High);
    }
}

/// Whether a method runs that a framework calls for each batch, and does not learn from.
fn evaluates_batch(cx: &Interp<'_>) -> bool {
    cx.running().any(|frame| {
        let (Some(function), Some(object)) = (frame.function, frame.receiver) else { return false };
        let name = cx.tree(frame.file).function(function).name;
        let of_base = |base: Base| match base {
            Base::Api(class) => cx.apis.runs_each_batch(class, name) && !cx.apis.walks(class, name),
            _ => false,
        };
        cx.lineage(cx.heap.get(object).class).into_iter().any(of_base)
    })
}

const NOTE: &str = "a ratio of counts, or a ranking, of all samples is not the mean of that of each batch";

fn check(script: &Script, out: &mut Findings) {
    for (at, reported) in script.observed_once::<Reported>() {
        let message = message(reported.metric);
        let finding = script.finding(RULE.id, RULE.severity, at, message).note(NOTE);
        out.push(
            finding.help("log the metric object itself, which pools the batches until the epoch ends"),
            at,
        );
    }
    let divided: Vec<_> = script.observed::<Divided>().collect();
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for (at, grown) in script.observed::<Grown>() {
        let Some(step) = evaluated_batch(script, at) else { continue };
        let is_mean = |(here, by): &&(&At, &Divided)| {
            here.place.file == at.place.file && by.sum == grown.of && !here.loops.contains(&step)
        };
        let Some((mean, _)) = divided.iter().find(is_mean) else { continue };
        if seen.insert(at.place) {
            let mut finding = script.finding(RULE.id, RULE.severity, at, message(grown.metric)).note(NOTE);
            if let Some(place) = at.beside(Some(mean.place)) {
                finding = finding.because(place, "divided here");
            }
            let help = "collect predictions and labels of all batches, and compute the metric once";
            out.push(finding.help(help), at);
        }
    }
}

fn message(metric: Ustr) -> String {
    format!("`{metric}` of each batch is averaged, which is not that of all samples")
}

/// The loop over batches in which something is added up: a model from before it runs in it, and nothing is known to give
/// one sample at a time.
fn evaluated_batch(script: &Script, at: &At) -> Option<LoopId> {
    let step = *at.loops.last()?;
    let info = script.rehearsal.loop_info(step);
    let heap = &script.rehearsal.heap;
    match info.over {
        Over::Loader(loader) => match &heap.get(loader).state {
            State::Loader(state) => match state.batch_size.bare() {
                Value::Int(size) if size.int.known() == Some(1) => return None,
                _ => {}
            },
            _ => return None,
        },
        Over::Other => {}
        Over::Counter => return None,
    }
    let runs = script.sightings().any(|(other, sight)| match sight {
        Sight::Forward(forward) => {
            other.loops.last() == Some(&step) && heap.get(forward.module).epoch < info.first
        }
        _ => false,
    });
    runs.then_some(step)
}
