//! Sums over batches that are divided by something other than the number of what was added up.

use super::addends::{self, Addend};
use super::last_index;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Arithmetic, Assignment, Augment, Checker, Interp, LoaderCall};
use crate::names::Subject;
use crate::report::{Confidence, FileId, Place, Severity};
use crate::syntax::{BinaryOp, ExprId, ExprKind, StmtKind, Tree};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{Int, LoaderState, ObjId, State, Value};
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
pub(super) struct Grown {
    pub of: Subject,
    pub by: Addend,
    /// What the loop around it goes through, by name.
    pub through: Option<Subject>,
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
    /// `len(dataset)`, `len(labels)`
    Length { of: Option<ObjId>, name: Option<Subject> },
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
    last_index::divided(cx, sum, divisor);
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
    while let ExprKind::Call { callee, args } = &tree.expr(iterable).kind {
        // Of several it is as long as the shortest.
        iterable = args.first().filter(|_| !is_zip(tree, *callee))?.value;
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
        value => {
            let (of, name) = (value.as_obj(), cx.subject_here(only.value));
            (of.is_some() || value.as_tensor().is_some()).then_some(Divisor::Length { of, name })
        }
    }
}

/// A number under a name that nobody gives from outside: `samples = len(train_set)`. Of the length of what nobody knows
/// its name says more.
fn counted(cx: &mut Interp<'_>, divisor: ExprId) -> Option<Int> {
    let value = cx.read_again(divisor)?;
    let number = matches!(value, Value::Int(_)).then(|| value.as_int())??;
    let is_open = number.is_unknown() || number.known().is_none() && number.is_given();
    (!is_open).then(|| number.clone())
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
    fault: Fault,
    batch: Option<i64>,
    batches: Option<Batches>,
}

#[derive(Clone, Copy)]
enum Fault {
    /// Means were added, and divided by the number of samples.
    TooSmall,
    /// Sums over samples were added, and divided by the number of batches.
    TooLarge,
    /// The number is that of another loader.
    Other(Batches),
}

fn check(script: &Script, out: &mut Findings) {
    let sums = Sums { script, all: script.observed::<Grown>().collect() };
    if sums.all.is_empty() {
        return;
    }
    for (at, divided) in script.observed_once::<Divided>() {
        if let Some(found) = sums.misaveraged(at, divided).or_else(|| sums.of_another(at, divided)) {
            report(script, &found, out);
        }
    }
    last_index::check(script, &RULE, out);
}

fn report(script: &Script, found: &Misaveraged<'_>, out: &mut Findings) {
    let sum = found.sum;
    let loader = found.batches.map_or("loader", |batches| name_of(script, batches));
    let times = found.batch.map(|batch| format!("{batch} times"));
    let (message, because, note, help) = match found.fault {
        Fault::TooSmall => (
            format!("`{sum}` adds up means of batches, but is divided by the number of samples"),
            "each batch adds its mean here",
            match times {
                Some(times) => format!("the result is {times} too small"),
                None => "the result is too small by the batch size".to_owned(),
            },
            format!(
                "divide by the number of batches, `len({loader})`, or weight each mean by the size of its batch"
            ),
        ),
        Fault::TooLarge => (
            format!("`{sum}` adds up the losses of samples, but is divided by the number of batches"),
            "each batch adds its mean times its size here",
            match times {
                Some(times) => format!("the result is {times} too large"),
                None => "the result is too large by the batch size".to_owned(),
            },
            format!("divide by the number of samples, `len({loader}.dataset)`"),
        ),
        Fault::Other(other) => (
            format!("`{sum}` is divided by the length of a loader that it was not added up over"),
            "it grows in the loop over the other loader here",
            format!("`{}` has its own number of batches, so the average is off", name_of(script, other)),
            format!("divide by the length of `{loader}`"),
        ),
    };
    let finding = script
        .finding(RULE.id, RULE.severity, &found.at, message)
        .because(found.grown, because)
        .note(note)
        .help(help);
    out.push(finding, &found.at);
}

fn name_of<'a>(script: &'a Script, batches: Batches) -> &'a str {
    match batches {
        Batches::Loader(loader) => script.display_name(loader).unwrap_or("loader"),
        Batches::Named(name) => name.name().as_str(),
    }
}

/// All that is added up in loops.
struct Sums<'a> {
    script: &'a Script<'a>,
    all: Vec<(&'a At, &'a Grown)>,
}

impl<'a> Sums<'a> {
    fn of(&self, file: FileId, sum: Subject) -> impl Iterator<Item = (&'a At, &'a Grown)> {
        let here = self.all.iter().copied();
        here.filter(move |(at, grown)| at.place.file == file && grown.of == sum)
    }

    /// Where what is divided grew: one name may add up the training first, and the validation after it.
    fn before(&self, at: &At, sum: Subject) -> Option<(&'a At, &'a Grown)> {
        let own: Vec<_> = self.of(at.place.file, sum).collect();
        let around = |grown: &At| self.text_of(grown).is_some_and(|place| place.span.contains(at.place.span));
        let nearest = own
            .iter()
            .filter(|(grown, _)| is_local(sum) && (&grown.calls, grown.seeded) == (&at.calls, at.seeded));
        let behind = nearest.clone().filter(|(grown, _)| grown.place.span.start < at.place.span.start);
        let nearest = nearest.clone().find(|(grown, _)| around(grown));
        nearest
            .or_else(|| behind.rev().max_by_key(|(grown, _)| grown.place.span.start))
            .or(own.first())
            .copied()
    }

    /// The innermost loop, as it is written.
    fn text_of(&self, at: &At) -> Option<Place> {
        at.loops.last().map(|inner| self.script.rehearsal.loop_info(*inner).place)
    }

    /// Whether a name counts these in the loop that is written there, up to a place. A local name may count something
    /// else in another loop, from zero, but not on the way there.
    fn counts(&self, until: Place, counted: Subject, inner: Place, what: Addend) -> bool {
        let within = |at: &At| self.text_of(at) == Some(inner);
        let between = inner.span.end..until.span.start;
        let apart = |at: &At| is_local(counted) && !between.contains(&at.place.span.start);
        let is_what = |(at, one): (&At, &Grown)| one.by == what || !within(at) && apart(at);
        let mut all = self.of(until.file, counted);
        all.any(|(at, _)| within(at)) && self.of(until.file, counted).all(is_what)
    }

    fn misaveraged(&self, at: &At, divided: &'a Divided) -> Option<Misaveraged<'a>> {
        let (script, file) = (self.script, at.place.file);
        let (first, grown) = self.before(at, divided.sum)?;
        let (inner, batches) = batches_around(script, first, grown)?;
        if self.of(file, divided.sum).any(|(_, other)| other.by != grown.by) {
            return None;
        }
        let state = self.loader(batches);
        let text = script.rehearsal.loop_info(inner).place;
        let is_after = !at.loops.contains(&inner);
        let samples = match &divided.by {
            // How far a sum is counted, it is counted in the loop as well.
            Divisor::Counted(counted, _) if self.counts(at.place, *counted, text, Addend::Size) => true,
            Divisor::Counted(counted, _) if self.counts(at.place, *counted, text, Addend::One) => false,
            Divisor::Length { name: Some(name), .. } if self.counts(at.place, *name, text, Addend::Size) => {
                true
            }
            _ if !is_after => return None,
            Divisor::Batches(of) if Some(*of) == batches => false,
            Divisor::Batches(Batches::Named(data)) => is_made_of(script, batches?, *data).then_some(true)?,
            Divisor::SamplesOf(of) => (Some(*of) == batches).then_some(true)?,
            Divisor::Length { of: Some(data), .. } => {
                (state?.dataset.as_obj() == Some(*data)).then_some(true)?
            }
            Divisor::Counted(counted, Some(number)) if self.of(file, *counted).next().is_none() => {
                is_length(script, batches?, number).then_some(true)?
            }
            _ => return None,
        };
        let fault = match (grown.by, samples) {
            (Addend::Mean, true) => Fault::TooSmall,
            (Addend::Weighted, false) => Fault::TooLarge,
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
        Some(Misaveraged { at, sum: &divided.written, grown: first.place, fault, batch, batches })
    }

    /// `val_loss / len(train_loader)`: another loop goes through the loader that has that length, beside this one.
    fn of_another(&self, at: &At, divided: &'a Divided) -> Option<Misaveraged<'a>> {
        let (Divisor::Batches(by) | Divisor::SamplesOf(by)) = divided.by else { return None };
        let (first, grown) = self.before(at, divided.sum)?;
        let (inner, batches) = batches_around(self.script, first, grown)?;
        if batches? == by || at.loops.contains(&inner) || first.calls != at.calls {
            return None;
        }
        let through = |(other, sum): (&'a At, &'a Grown)| {
            (batches_around(self.script, other, sum)?.1? == by).then_some(other)
        };
        let beside =
            self.all.iter().copied().filter(|(other, _)| other.calls == at.calls).find_map(through)?;
        let apart = |a: &At, b: &At| self.text_of(a).is_some_and(|text| !text.span.contains(b.place.span));
        let text = self.text_of(first)?;
        let elsewhere =
            self.of(at.place.file, divided.sum).all(|(other, _)| self.text_of(other) == Some(text));
        if !elsewhere
            || !apart(beside, first)
            || !apart(first, beside)
            || self.is_same(batches?, by)
            || is_paired(self.script, text)
        {
            return None;
        }
        let confidence = at.confidence.min(first.confidence);
        let at = At { confidence, ..at.clone() };
        let fault = Fault::Other(by);
        Some(Misaveraged { at, sum: &divided.written, grown: first.place, fault, batch: None, batches })
    }

    fn loader(&self, batches: Option<Batches>) -> Option<&'a LoaderState> {
        let Some(Batches::Loader(loader)) = batches else { return None };
        match &self.script.rehearsal.heap.get(loader).state {
            State::Loader(state) => Some(state),
            _ => None,
        }
    }

    /// Whether two loaders go through the same data.
    fn is_same(&self, a: Batches, b: Batches) -> bool {
        match (self.loader(Some(a)), self.loader(Some(b))) {
            (Some(a), Some(b)) => a.dataset.as_obj().is_some() && a.dataset.as_obj() == b.dataset.as_obj(),
            (None, None) => false,
            // One of them may be the other.
            _ => true,
        }
    }
}

/// Whether a loop goes through several things at once: it is as long as the shortest.
fn is_paired(script: &Script, text: Place) -> bool {
    let tree = &script.project.module(text.file).tree;
    let written = tree.stmts.iter().find(|stmt| stmt.span == text.span);
    let Some(StmtKind::For { iter, .. }) = written.map(|stmt| &stmt.kind) else { return true };
    let mut iterable = *iter;
    while let ExprKind::Call { callee, args } = &tree.expr(iterable).kind {
        let Some(first) = args.first().filter(|_| !is_zip(tree, *callee)) else { return true };
        iterable = first.value;
    }
    false
}

fn is_zip(tree: &Tree, callee: ExprId) -> bool {
    matches!(tree.expr(callee).kind, ExprKind::Name(name) if name == "zip")
}

fn is_local(sum: Subject) -> bool {
    matches!(sum, Subject::Local(..))
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
