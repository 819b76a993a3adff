//! Training steps that call their model as in evaluation, in a framework where each call says which it is.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Call, Checker, Declared, ForwardCall, Interp, LayerCall, Passed};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::syntax::{ParamKind, Stmt, StmtKind};
use crate::trace::At;
use crate::values::{ClassRef, ContextKind, Note, ObjId, ObjSet, Value};
use std::cell::RefCell;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-training-flag",
    summary: "a custom training step calls a Keras model without `training=True`",
    group: Group::Tensorflow,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-training-flag"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_forward: Some(entered),
    on_layer: Some(layered),
    on_forward_end: Some(left),
    on_effect: Some(differentiated),
    ..Checker::SILENT
};

/// The forward that runs on a tape, and was not told that it is one of training.
#[derive(Clone, Copy)]
struct Running {
    module: ObjId,
    place: Place,
    /// A layer that would do something else if it were told.
    idle: Option<Ustr>,
    /// Some layer is told all the same.
    told: bool,
}

/// The outermost forward that runs, and how many there are: layers of a stack have one each.
#[derive(Default)]
struct Forwards {
    running: Option<Running>,
    depth: u32,
}

/// A layer of this class does as in evaluation.
struct Idle {
    module: ObjId,
    layer: Ustr,
}

/// A model was told that it trains.
struct Told(ObjId);

/// Gradients of these models were asked for, of a tape that was made here.
struct Trained {
    owners: ObjSet,
    tape: Option<Place>,
}

fn entered(cx: &mut Interp<'_>, forward: &ForwardCall<'_>) {
    let (module, place) = (forward.module, forward.call.place);
    let depth = cx.remember(|forwards: &mut Forwards| (forwards.depth += 1, forwards.depth).1);
    if depth > 1 {
        return;
    }
    let is_taped = cx.contexts().contains(&ContextKind::Recording);
    let told = is_told(forward.call, "training");
    if is_taped && told {
        cx.observe(place, Told(module), Confidence::High);
    }
    let running = (is_taped && !told).then_some(Running { module, place, idle: None, told: false });
    cx.remember(|forwards: &mut Forwards| forwards.running = running);
}

/// Whether a call says that it is one of training or not, or may say so.
fn is_told(call: &Call, parameter: &str) -> bool {
    let by_name = call.keywords.iter().find(|(name, _)| name.as_str() == parameter);
    let mut further = call.positional.iter().skip(1).map(|passed| passed.value.bare());
    let may_be_flag = |value: &Value| !matches!(value, Value::Tensor(_) | Value::None);
    call.open
        || by_name.is_some_and(|(_, passed)| !matches!(passed.value, Value::None))
        || further.any(may_be_flag)
}

/// A layer was told where the model was built: `Dropout(0.5)(x, training=True)` always drops.
const TOLD_WHEN_BUILT: Note = Note::new("told when built");

fn layered(cx: &mut Interp<'_>, layer: &LayerCall<'_>) {
    let mut running = cx.remember(|forwards: &mut Forwards| forwards.running);
    let Some(running) = &mut running else {
        let told = layer.call.keyword("training");
        if told.is_some_and(|passed| matches!(passed.value, Value::Bool(Some(_)))) {
            cx.heap.note(layer.layer, TOLD_WHEN_BUILT, Value::None);
        }
        return;
    };
    let parts = cx.heap.descendants(layer.layer);
    let learns_of_it = |part: &ObjId| {
        let object = cx.heap.get(*part);
        let ClassRef::Api(class) = object.class else { return None };
        let frozen = object.module().is_some_and(|module| module.frozen == Some(true));
        let told = object.noted(TOLD_WHEN_BUILT).is_some();
        cx.apis.told(class).filter(|_| !frozen && !told).map(|parameter| (class, parameter))
    };
    let Some((class, parameter)) = parts.iter().find_map(|part| learns_of_it(&part)) else { return };
    // A stack hands on what it gets by name, and a flag of a call is the second at most.
    let by_name = layer.call.keyword(&parameter);
    let by_place =
        layer.call.positional.get(1).filter(|passed| matches!(passed.value.bare(), Value::Bool(_)));
    let given = by_name.filter(|passed| !matches!(passed.value, Value::None)).or(by_place);
    if given.is_some_and(|passed| !is_handed_on(cx, passed)) {
        running.told = true;
    } else {
        running.idle = running.idle.or(Some(class));
    }
    let running = *running;
    cx.remember(|forwards: &mut Forwards| forwards.running = Some(running));
}

/// `training=training`, which is `False` where the forward itself was not told.
fn is_handed_on(cx: &Interp<'_>, passed: &Passed) -> bool {
    let is_off = matches!(passed.value.bare(), Value::Bool(Some(false)));
    let words = cx.words(passed.place);
    let value = words.rsplit('=').next().unwrap_or(words).trim();
    is_off && value != "False" && value.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn left(cx: &mut Interp<'_>, _output: &RefCell<Value>) {
    let running = cx.remember(|forwards: &mut Forwards| {
        forwards.depth = forwards.depth.saturating_sub(1);
        if forwards.depth == 0 { forwards.running.take() } else { None }
    });
    if let Some(Running { module, place, idle: Some(layer), told: false }) = running {
        let confidence = cx.heap.get(module).confidence;
        cx.observe(place, Idle { module, layer }, confidence);
    }
}

fn differentiated(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() == Verb::Differentiate {
        let sources = declared.call.get("sources");
        let owners = cx.collect_params(&sources, 3).owners;
        let tape = declared.call.get("self").as_obj().map(|tape| cx.heap.get(tape).site);
        cx.observe(declared.call.place, Trained { owners, tape }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, idle) in script.observed_once::<Idle>() {
        let Some(trained) = trained_at(script, at, idle) else { continue };
        let layer = idle.layer.rsplit('.').next().unwrap_or_default();
        let message = format!("`{layer}` runs in inference mode: this training step lacks `training=True`");
        let takes_it = takes_flag(script, idle.module);
        let fix = takes_it.then(|| script.with_argument(at.place, "training", "True")).flatten();
        let help = match takes_it {
            true => "pass `training=True` to the model in the training step".to_owned(),
            false => format!(
                "give `call` a parameter `training`, hand it to `{layer}`, and pass `training=True` here"
            ),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(trained, "gradients of the model are computed here")
            .note(
                "dropout drops nothing, and batch norm neither uses nor updates the statistics of the batch",
            )
            .help(help)
            .fix(fix.map(|edits| Fix::guess("pass `training=True`", edits)));
        out.push(finding, at);
    }
}

/// Whether the `call` of a model takes the flag.
fn takes_flag(script: &Script, model: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let ClassRef::Project(class) = heap.get(model).class else { return true };
    let Some(Value::Function(call)) = heap.get(class).attr(Ustr::from("call")) else { return true };
    let function = script.project.module(call.file).tree.function(call.function);
    function.params.iter().any(|param| param.name == "training" || param.kind == ParamKind::DoubleStar)
}

/// Where a model is trained on the way on which it is called, and never told of it.
fn trained_at(script: &Script, at: &At, idle: &Idle) -> Option<Place> {
    let told =
        script.observed::<Told>().any(|(other, told)| told.0 == idle.module && other.calls == at.calls);
    let parts = script.rehearsal.heap.descendants(idle.module);
    let trains = |owners: &ObjSet| owners.iter().any(|owner| parts.contains(owner));
    let mut trained = script.observed::<Trained>().filter(|(other, trained)| {
        at.calls.starts_with(&other.calls)
            && at.loops.starts_with(&other.loops)
            && trains(&trained.owners)
            && trained.tape.is_none_or(|tape| is_recorded(script, at, tape))
    });
    trained.next().filter(|_| !told).map(|(other, _)| other.place)
}

/// Whether a forward runs under this tape, as far as a `with` shows what it records: of another one gradients by the
/// inputs are asked for, perhaps.
fn is_recorded(script: &Script, at: &At, tape: Place) -> bool {
    let tree = &script.project.module(tape.file).tree;
    let places = || at.calls.iter().map(|(place, _)| *place).chain([at.place]);
    let runs_in = |stmt: &Stmt| places().any(|at| at.file == tape.file && stmt.span.contains(at.span));
    let mut opened = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::With { items, body } => {
            let made = items.iter().any(|item| tree.expr(item.context).span.contains(tape.span));
            made.then_some(body)
        }
        _ => None,
    });
    opened.next().is_none_or(|body| body.iter().any(|stmt| runs_in(tree.stmt(*stmt))))
}
