//! Sums over batches that are divided by something other than the number of what was added up.

use super::addends::{self, Addend};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Arithmetic, Assignment, Augment, Checker, Interp, LoaderCall};
use crate::names::Subject;
use crate::report::{Confidence, FileId, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind, StmtKind};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{Int, ObjId, State, Value};
use rustc_hash::FxHashMap;

pub(super) static RULE: Rule = Rule {
    id: "misaveraged-loss",
    summary: "a sum of batch means is divided by the number of samples, or a sum over samples by that of batches",
    group: Group::Losses,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("misaveraged-loss"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_api_result: Some(addends::computed),
    on_method_result: Some(addends::called),
    on_assign: Some(assigned),
    on_augment: Some(augmented),
    on_arithmetic: Some(operated),
    on_entered: Some(addends::entered),
    on_return: Some(addends::returned),
    on_loader_call: Some(loaded),
    ..Checker::SILENT
};

/// Names that hold the length of something.
#[derive(Default)]
struct Lengths(FxHashMap<(FileId, Subject), Divisor>);

/// A loader is made of data that nobody knows, by name.
struct MadeOf {
    data: Subject,
}

/// `total += …`
struct Grown {
    of: Subject,
    by: Addend,
    /// What the loop around it goes through, by name.
    through: Option<Subject>,
}

/// `total / …`
struct Divided {
    sum: Subject,
    written: String,
    by: Divisor,
}

#[derive(Clone, Debug)]
enum Divisor {
    /// `len(loader)`
    Batches(Batches),
    /// `len(loader.dataset)`
    SamplesOf(Batches),
    /// `len(dataset)`
    Length(ObjId),
    /// Something that was counted, or a number that says how many there are.
    Counted(Subject, Option<Int>),
}

/// What gives batches: a loader, or a name for something that nobody sees.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Batches {
    Loader(ObjId),
    Named(Subject),
}

/// `DataLoader(data)`
fn loaded(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    if !loader.dataset.is_unknown() {
        return;
    }
    let place = loader.call.place_of("dataset").filter(|place| place.file == cx.file());
    let data = place.and_then(|place| cx.module(place.file).expr_at(place.span));
    if let Some(data) = data.and_then(|data| cx.subject_here(data)) {
        cx.observe(loader.call.place, MadeOf { data }, Confidence::High);
    }
}

/// `total = total + loss.item()`, `samples = len(dataset)`
fn assigned(cx: &mut Interp<'_>, assignment: &Assignment) {
    let (target, value) = (assignment.target, assignment.value);
    let Some(of) = cx.subject_here(target) else { return };
    if let Some(addend) = cx.added_to(target, value) {
        return grown(cx, target, addend);
    }
    addends::assigned(cx, assignment);
    let is_call = matches!(cx.tree(cx.file()).expr(value).kind, ExprKind::Call { .. });
    let length = if is_call { divisor_of(cx, value) } else { None };
    let name = (cx.file(), of);
    cx.remember(|lengths: &mut Lengths| match length {
        Some(length) => lengths.0.insert(name, length),
        None => lengths.0.remove(&name),
    });
}

fn augmented(cx: &mut Interp<'_>, augment: &Augment<'_>) {
    match augment.operator {
        BinaryOp::Add => grown(cx, augment.target, augment.value),
        BinaryOp::Div => divided(cx, augment.target, augment.value),
        _ => {}
    }
    addends::changed(cx, augment);
}

fn operated(cx: &mut Interp<'_>, operation: &Arithmetic) {
    if operation.operator == BinaryOp::Div {
        divided(cx, operation.left, operation.right);
    }
}

fn grown(cx: &mut Interp<'_>, sum: ExprId, addend: ExprId) {
    let Some(of) = cx.subject_here(sum).filter(|_| cx.in_loop()) else { return };
    let by = addends::addend_of(cx, addend);
    let place = cx.expr_place(sum);
    let through = match by {
        Addend::Mean | Addend::Weighted => gone_through(cx, place),
        _ => None,
    };
    cx.observe(place, Grown { of, by, through }, Confidence::High);
}

fn divided(cx: &mut Interp<'_>, sum: ExprId, divisor: ExprId) {
    let Some(subject) = cx.subject_here(sum) else { return };
    let Some(by) = divisor_of(cx, divisor) else { return };
    let (place, written) = (cx.expr_place(divisor), cx.written(sum).to_string());
    cx.observe(place, Divided { sum: subject, written, by }, Confidence::High);
}

/// What the innermost loop around a place goes through: `loader`, `enumerate(tqdm(loader))`.
fn gone_through(cx: &Interp<'_>, place: Place) -> Option<Subject> {
    let tree = cx.tree(place.file);
    let around = tree.stmts.iter().filter(|stmt| stmt.span.contains(place.span));
    let loops = around.filter_map(|stmt| match stmt.kind {
        StmtKind::For { iter, .. } => Some((stmt.span.end - stmt.span.start, iter)),
        _ => None,
    });
    let (_, mut iterable) = loops.min_by_key(|(length, _)| *length)?;
    while let ExprKind::Call { args, .. } = &tree.expr(iterable).kind {
        iterable = args.first()?.value;
    }
    cx.subject_here(iterable)
}

fn divisor_of(cx: &mut Interp<'_>, divisor: ExprId) -> Option<Divisor> {
    let tree = cx.tree(cx.file());
    let ExprKind::Call { callee, args } = &tree.expr(divisor).kind else {
        let name = (cx.file(), cx.subject_here(divisor)?);
        let length = cx.remember(|lengths: &mut Lengths| lengths.0.get(&name).cloned());
        let number = counted(cx, divisor);
        return match (length, &number) {
            (Some(length), None) => Some(length),
            _ => Some(Divisor::Counted(name.1, number)),
        };
    };
    let ([only], ExprKind::Name(function)) = (&**args, &tree.expr(*callee).kind) else { return None };
    match function.as_str() {
        "float" => return divisor_of(cx, only.value),
        "len" => {}
        _ => return None,
    }
    let of = cx.read_again(only.value)?;
    if let ExprKind::Attribute { base, name, .. } = tree.expr(only.value).kind
        && matches!(name.as_str(), "dataset" | "sampler")
    {
        return batches_of(cx, base).map(Divisor::SamplesOf);
    }
    match of {
        value if value.is_unknown() || cx.loader_of(&value).is_some() => {
            batches_of(cx, only.value).map(Divisor::Batches)
        }
        value => value.as_obj().map(Divisor::Length),
    }
}

/// A number under a name that nobody gives from outside: `samples = len(train_set)`.
fn counted(cx: &mut Interp<'_>, divisor: ExprId) -> Option<Int> {
    let value = cx.read_again(divisor)?;
    let number = matches!(value, Value::Int(_)).then(|| value.as_int())??;
    (!number.is_unknown()).then(|| number.clone())
}

fn batches_of(cx: &mut Interp<'_>, expr: ExprId) -> Option<Batches> {
    let value = cx.read_again(expr)?;
    match cx.loader_of(&value) {
        Some(loader) => Some(Batches::Loader(loader)),
        None if value.is_unknown() => cx.subject_here(expr).map(Batches::Named),
        None => None,
    }
}

/// What is wrong with a mean.
struct Misaveraged<'a> {
    at: At,
    sum: &'a str,
    grown: Place,
    /// Means were added, not sums over samples.
    means: bool,
    batch: Option<i64>,
    batches: Option<Batches>,
}

fn check(script: &Script, out: &mut Findings) {
    let all: Vec<_> = script.observed::<Grown>().collect();
    if all.is_empty() {
        return;
    }
    for (at, divided) in script.observed_once::<Divided>() {
        let Some(found) = misaveraged(script, &all, at, divided) else { continue };
        let sum = found.sum;
        let times = found.batch.map_or("the batch size".to_owned(), |batch| format!("{batch} times"));
        let (message, because, note) = match found.means {
            true => (
                format!("`{sum}` adds up means of batches, but is divided by the number of samples"),
                "each batch adds its mean here",
                match found.batch {
                    Some(_) => format!("the result is {times} too small"),
                    None => "the result is too small by the batch size".to_owned(),
                },
            ),
            false => (
                format!("`{sum}` adds up the losses of samples, but is divided by the number of batches"),
                "each batch adds its mean times its size here",
                match found.batch {
                    Some(_) => format!("the result is {times} too large"),
                    None => "the result is too large by the batch size".to_owned(),
                },
            ),
        };
        let loader = match found.batches {
            Some(Batches::Loader(loader)) => script.display_name(loader).unwrap_or("loader"),
            Some(Batches::Named(name)) => name.name().as_str(),
            None => "loader",
        };
        let help = match found.means {
            true => format!(
                "divide by the number of batches, `len({loader})`, or weight each mean by the size of its batch"
            ),
            false => format!("divide by the number of samples, `len({loader}.dataset)`"),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &found.at, message)
            .because(found.grown, because)
            .note(note)
            .help(help);
        out.push(finding, &found.at);
    }
}

fn misaveraged<'a>(
    script: &Script,
    all: &[(&At, &Grown)],
    at: &At,
    divided: &'a Divided,
) -> Option<Misaveraged<'a>> {
    let of =
        |sum| all.iter().filter(move |(here, grown)| here.place.file == at.place.file && grown.of == sum);
    let (first, grown) = *of(divided.sum).next()?;
    let (inner, batches) = batches_around(script, first, grown)?;
    if of(divided.sum).any(|(_, other)| other.by != grown.by) {
        return None;
    }
    let state = match batches {
        Some(Batches::Loader(loader)) => match &script.rehearsal.heap.get(loader).state {
            State::Loader(state) => Some(state),
            _ => None,
        },
        _ => None,
    };
    let counts = |counted: Subject, what: Addend| {
        let is_what = |(here, one): &(&At, &Grown)| one.by == what && here.loops.last() == Some(&inner);
        of(counted).next().is_some() && of(counted).all(is_what)
    };
    let is_after = !at.loops.contains(&inner);
    let samples = match &divided.by {
        // How far a sum is counted, it is counted in the loop as well.
        Divisor::Counted(counted, _) if counts(*counted, Addend::Size) => true,
        Divisor::Counted(counted, _) if counts(*counted, Addend::One) => false,
        _ if !is_after => return None,
        Divisor::Batches(of) if Some(*of) == batches => false,
        Divisor::Batches(Batches::Named(data)) => is_made_of(script, batches?, *data).then_some(true)?,
        Divisor::SamplesOf(of) => (Some(*of) == batches).then_some(true)?,
        Divisor::Length(data) => (state?.dataset.as_obj() == Some(*data)).then_some(true)?,
        Divisor::Counted(counted, Some(number)) if of(*counted).next().is_none() => {
            is_length(script, batches?, number).then_some(true)?
        }
        _ => return None,
    };
    let means = match (grown.by, samples) {
        (Addend::Mean, true) => true,
        (Addend::Weighted, false) => false,
        _ => return None,
    };
    let batch = match state.map(|state| state.batch_size.bare()) {
        Some(Value::None) => return None,
        size => size.and_then(|size| size.as_int()?.known()),
    };
    if batch == Some(1) {
        return None;
    }
    let sure = if batch.is_some() { Confidence::High } else { Confidence::Medium };
    let at = At { confidence: at.confidence.min(first.confidence).min(sure), ..at.clone() };
    Some(Misaveraged { at, sum: &divided.written, grown: first.place, means, batch, batches })
}

/// Whether a loader was made of the data that a name holds.
fn is_made_of(script: &Script, batches: Batches, data: Subject) -> bool {
    let Batches::Loader(own) = batches else { return false };
    let site = script.rehearsal.heap.get(own).site;
    script.observed::<MadeOf>().any(|(at, made)| at.place == site && made.data == data)
}

/// Whether a number is that of the samples which a loader goes through.
fn is_length(script: &Script, batches: Batches, number: &Int) -> bool {
    let Batches::Loader(own) = batches else { return false };
    script.sightings().any(|(_, sight)| match sight {
        Sight::Loader { loader, length, .. } => *loader == own && length.sub(number).known() == Some(0),
        _ => false,
    })
}

/// The loop that gives the batches, and what it goes through.
fn batches_around(script: &Script, at: &At, grown: &Grown) -> Option<(LoopId, Option<Batches>)> {
    let inner = *at.loops.last()?;
    match script.rehearsal.loop_info(inner).over {
        Over::Loader(loader) => Some((inner, Some(Batches::Loader(loader)))),
        Over::Counter => None,
        Over::Other => Some((inner, grown.through.map(Batches::Named))),
    }
}
