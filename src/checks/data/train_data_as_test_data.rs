//! Scores on the very data that a model was trained on, which say nothing of other data.

use super::equal_datasets::are_equal;
use super::loaders::sample_order;
use super::order::REWRITTEN;
use crate::apis::{Literal, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Assignment, Checker, Declared, Interp};
use crate::names::Subject;
use crate::report::{Confidence, FileId, Place, Severity};
use crate::syntax::{ExprId, ExprKind, FnId, StmtKind};
use crate::trace::{At, Over, Sight};
use crate::values::{ClassRef, ObjId, State, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "train-data-as-test-data",
    summary: "a model is validated or tested on the data that it was trained on",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("train-data-as-test-data"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_effect: Some(declared), on_assign: Some(renamed), ..Checker::SILENT };

const MESSAGE: &str = "this score says nothing about new data: the model was trained on the same samples";
const NOTE: &str = "overfitting stays invisible: the score rises as the model learns the samples by heart";

/// A framework scores a model by the data that it trains with.
struct ScoredByTraining;

/// A loader is called something else from here on, or an iterator over it is.
struct Renamed {
    loader: ObjId,
    name: Box<str>,
}

/// `test_loader = train_loader`, `test_batches = iter(train_loader)`
fn renamed(cx: &mut Interp<'_>, assignment: &Assignment) {
    let Some(loader) = cx.loader_of(&assignment.result.borrow()) else { return };
    let tree = cx.tree(cx.file());
    let is_name =
        |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
    let is_renamed = match &tree.expr(assignment.value).kind {
        ExprKind::Call { args, .. } => {
            let value = assignment.result.borrow().as_obj();
            value != Some(loader) && matches!(&**args, [only] if is_name(only.value))
        }
        _ => is_name(assignment.value),
    };
    if is_renamed {
        let place = cx.expr_place(assignment.value);
        let name = Box::from(cx.words(cx.expr_place(assignment.target)));
        cx.observe(place, Renamed { loader, name }, Confidence::Medium);
    }
}

fn declared(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Validate {
        return;
    }
    let call = declared.call;
    // Weights may leave out other samples here than there: the nodes of one graph have masks.
    if call.is_given("sample_weight") {
        return;
    }
    let Some(given) = call.place_of("validation_data") else { return };
    let held_out = declared.arg(1);
    let parts = match held_out.bare() {
        Value::Tuple(parts) => parts.to_vec(),
        other => vec![other.clone()],
    };
    let pairs = [("x", declared.arg(0)), ("y", call.get("y"))];
    let is_same = |(at, (name, data)): (usize, &(&str, Value))| {
        let other = parts.get(at).cloned().unwrap_or(Value::None);
        is_one(data, &other) || call.place_of(name).is_some_and(|place| is_same_name(cx, place, given, at))
    };
    if parts.len() < 3 && pairs.iter().enumerate().all(is_same) {
        cx.observe(given, ScoredByTraining, Confidence::High);
    }
}

/// Whether two values are one object. Of tensors that is not known: one stands for each part of a split.
fn is_one(one: &Value, other: &Value) -> bool {
    match (one.bare(), other.bare()) {
        (Value::None, Value::None) => true,
        (Value::Obj(one), Value::Obj(other)) => one == other,
        _ => false,
    }
}

/// Whether an argument is the name that stands at this position of another argument of the same call.
fn is_same_name(cx: &Interp<'_>, one: Place, other: Place, at: usize) -> bool {
    let module = cx.module(one.file);
    let tree = &module.tree;
    let kind = |place: Place| module.expr_at(place.span).map(|id| &tree.expr(id).kind);
    let (Some(ExprKind::Name(one)), Some(other)) = (kind(one), kind(other)) else { return false };
    let part = match other {
        ExprKind::Tuple(parts) | ExprKind::List(parts) if parts.len() < 3 => {
            parts.get(at).map(|id| &tree.expr(*id).kind)
        }
        name => Some(name).filter(|_| at == 0),
    };
    matches!(part, Some(ExprKind::Name(name)) if name == one)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, _) in script.observed_once::<ScoredByTraining>() {
        let finding = script
            .finding(RULE.id, RULE.severity, at, MESSAGE)
            .note(NOTE)
            .help("validate on samples that are kept out of training, or pass `validation_split=0.1`");
        out.push(finding, at);
    }
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for test in wholes(script).filter(|loader| is_scored(script, loader)) {
        // Whatever a sampler draws of the dataset to train with, the test goes through all of it.
        let trained = loaders(script).find(|other| {
            script.feeds_training(other.id)
                && is_same_data(script, other, &test)
                && !is_switched(script, &test)
        });
        let Some(trained) = trained.filter(|_| seen.insert(test.at.place)) else { continue };
        let at = At { confidence: test.at.confidence.min(Confidence::Medium), ..test.at.clone() };
        let mut finding = script.finding(RULE.id, RULE.severity, &at, MESSAGE);
        if let Some(place) = at.beside(Some(trained.at.place)) {
            finding = finding.because(place, "trained on the same dataset here");
        }
        let help = match test.dataset.and_then(|dataset| flag_of(script, dataset)) {
            Some(flag) => format!("give the test loader a dataset of its own: `{flag}=False`"),
            None => "give the test loader samples that are kept out of training: `random_split`".to_owned(),
        };
        out.push(finding.note(NOTE).help(help), &at);
    }
    check_renamed(script, &mut seen, out);
    check_mistaken(script, out);
}

fn check_renamed(script: &Script, seen: &mut FxHashSet<Place>, out: &mut Findings) {
    for (at, renamed) in script.observed_once::<Renamed>() {
        let Some(trained) = wholes(script).find(|loader| loader.id == renamed.loader) else { continue };
        let is_test = is_name_of_test(&renamed.name)
            && script.feeds_training(renamed.loader)
            && is_gone_through_apart(script, renamed.loader);
        if is_test && !is_in_branch(script, at) && seen.insert(at.place) {
            let mut finding = script.finding(RULE.id, RULE.severity, at, MESSAGE);
            if let Some(place) = at.beside(Some(trained.at.place)) {
                finding = finding.because(place, "trained on the batches of this loader");
            }
            let help = format!("give `{}` samples that are kept out of training", renamed.name);
            out.push(finding.note(NOTE).help(help), at);
        }
    }
}

/// Loaders that are called test, trained on, and gone through without training as well, where the one that is called
/// train is never asked for.
fn check_mistaken(script: &Script, out: &mut Findings) {
    let of_training = |test: &OverData| {
        wholes(script).find(|other| other.at.place.file == test.at.place.file && is_forgotten(script, other))
    };
    for test in wholes(script) {
        let is_mistaken = is_called_test(script, &test)
            && script.feeds_training(test.id)
            && is_gone_through_apart(script, test.id);
        let Some(meant) = of_training(&test).filter(|_| is_mistaken) else { continue };
        let at = At { confidence: test.at.confidence.min(Confidence::Medium), ..test.at.clone() };
        let mut finding = script.finding(RULE.id, RULE.severity, &at, MESSAGE);
        if let Some(place) = at.beside(Some(meant.at.place)) {
            finding = finding.because(place, "made to train with, and never used");
        }
        out.push(finding.note(NOTE).help("train on the loader that is meant for it"), &at);
    }
}

/// Whether a loader is called train, and its name is written nowhere but where it is made.
fn is_forgotten(script: &Script, loader: &OverData) -> bool {
    let draft = script.draft(loader.at.place.file);
    let Some(ExprKind::Name(name)) = assigned_to(script, loader).map(|target| &draft.expr(target).kind)
    else {
        return false;
    };
    let uses = |file: FileId| {
        let exprs = &script.project.module(file).tree.exprs;
        exprs.iter().filter(|expr| matches!(&expr.kind, ExprKind::Name(other) if other == name)).count()
    };
    // What another file imports may be used there.
    let own = loader.at.place.file;
    let elsewhere = || (0..script.project.len() as u32).map(FileId).any(|file| file != own && uses(file) > 0);
    name.to_ascii_lowercase().contains("train") && uses(own) == 1 && (own == script.file || !elsewhere())
}

/// What the loader that a call makes is assigned to.
fn assigned_to(script: &Script, loader: &OverData) -> Option<ExprId> {
    let draft = script.draft(loader.at.place.file);
    match &draft.statement(draft.statement_at(loader.at.place.span)?).kind {
        StmtKind::Assign { targets, .. } => targets.first().copied(),
        _ => None,
    }
}

/// Whether some loop goes through a loader without training.
fn is_gone_through_apart(script: &Script, loader: ObjId) -> bool {
    let over = |id| matches!(script.rehearsal.loop_info(id).over, Over::Loader(over) if over == loader);
    script.loops().any(|id| over(id) && !script.descends_in(id) && script.runs_models_in(id))
}

/// `if test_loader is None: test_loader = train_loader` is meant.
fn is_in_branch(script: &Script, at: &At) -> bool {
    let draft = script.draft(at.place.file);
    let around = draft.statements_around(at.place.span);
    around
        .iter()
        .any(|stmt| matches!(draft.statement(*stmt).kind, StmtKind::If { .. } | StmtKind::Try { .. }))
}

/// A loader, and its dataset where that is known.
struct OverData<'s> {
    at: &'s At,
    id: ObjId,
    dataset: Option<ObjId>,
}

fn loaders<'s>(script: &'s Script<'s>) -> impl Iterator<Item = OverData<'s>> {
    script.sightings().filter_map(move |(at, sight)| {
        let Sight::Loader { loader, dataset, .. } = sight else { return None };
        Some(OverData { at, id: *loader, dataset: dataset.as_obj() })
    })
}

/// Loaders that go through all of their datasets.
fn wholes<'s>(script: &'s Script<'s>) -> impl Iterator<Item = OverData<'s>> {
    loaders(script).filter(|loader| sample_order(script, loader.id).is_some_and(|order| order.unsampled))
}

/// Whether a loader gives what is to be scored on, and nothing is trained on.
fn is_scored(script: &Script, loader: &OverData) -> bool {
    let scores =
        |sight: &Sight| matches!(sight, Sight::GoneThrough { loader: id, trains: false } if *id == loader.id);
    let is_told = script.sightings().any(|(_, sight)| scores(sight))
        && !script.feeds_training(loader.id)
        && !loader.dataset.is_some_and(|dataset| script.rehearsal.heap.is_merged(dataset));
    is_told || is_called_test(script, loader) && evaluates(script, loader.id)
}

/// Whether the script goes through a loader, and trains with it nowhere.
fn evaluates(script: &Script, loader: ObjId) -> bool {
    let over = |id| matches!(script.rehearsal.loop_info(id).over, Over::Loader(over) if over == loader);
    !script.feeds_training(loader) && script.loops().any(over)
}

/// Whether two datasets hold the same samples: they are one, or of one class of a framework that was asked twice for
/// the part to train with.
fn is_same_data(script: &Script, one: &OverData, other: &OverData) -> bool {
    let (Some(one), Some(other)) = (one.dataset, other.dataset) else { return false };
    let heap = &script.rehearsal.heap;
    let (a, b) = (heap.get(one), heap.get(other));
    let is_api = matches!(a.class, ClassRef::Api(_));
    if one == other {
        return true;
    }
    let root = Ustr::from("root");
    let is_elsewhere = a.attr(root).and_then(Value::as_str) != b.attr(root).and_then(Value::as_str);
    let is_cut = |id: ObjId| REWRITTEN.iter().any(|name| heap.get(id).attr(Ustr::from(name)).is_some());
    if !is_api {
        return are_equal(script, one, other);
    }
    a.class == b.class
        && flag_of(script, one).is_some()
        && flag_of(script, other).is_some()
        && !is_elsewhere
        && !is_cut(one)
        && !is_cut(other)
}

/// `dataset.test()`: whether the file of a loader calls a method of its dataset that sets what the dataset is from
/// then on.
fn is_switched(script: &Script, loader: &OverData) -> bool {
    let heap = &script.rehearsal.heap;
    let Some(dataset) = loader.dataset.map(|dataset| heap.get(dataset)) else { return false };
    let ClassRef::Project(class) = dataset.class else { return false };
    let State::Class(state) = &heap.get(class).state else { return false };
    let (home, here) = (script.project.module(state.file), script.project.module(loader.at.place.file));
    let methods = home.tree.functions.iter().zip(0..).filter(|(function, _)| {
        function.class == Some(state.class)
            && !function.name.starts_with("__")
            && here.relations().acts_named(function.name).next().is_some()
    });
    let sets = |method: FnId| {
        dataset.attrs.iter().any(|(name, _)| {
            home.relations().binders(Subject::Own(state.class, *name)).any(|binder| binder == Some(method))
        })
    };
    methods.into_iter().any(|(_, method)| sets(FnId(method)))
}

/// The flag by which a framework's dataset was told to hold what is to be trained with.
fn flag_of(script: &Script, dataset: ObjId) -> Option<Ustr> {
    let object = script.rehearsal.heap.get(dataset);
    let ClassRef::Api(class) = object.class else { return None };
    let spec = script.apis.get(class)?.dataset.as_ref()?;
    let by = spec.by?;
    let is_flag = spec.samples.iter().any(|(value, _)| matches!(value, Some(Literal::Bool(true))));
    let given = object.attr(by).filter(|given| !matches!(given, Value::Given(_)))?;
    (is_flag && by == "train" && given.as_bool() == Some(true)).then_some(by)
}

/// Whether the script takes what a loader gives for other data than those to train with: it says so by the loader's
/// name, and a score of the training itself is named so.
fn is_called_test(script: &Script, loader: &OverData) -> bool {
    let draft = script.draft(loader.at.place.file);
    assigned_to(script, loader).is_some_and(|target| is_name_of_test(draft.written(target)))
}

fn is_name_of_test(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is = |word: &str| name.contains(word);
    !is("train") && !is("fit") && (is("test") || is("valid") || is("val_") || is("_val"))
}
