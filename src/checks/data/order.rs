//! In which order datasets and streams hold their samples, whether that order means anything, and whether a
//! loader leaves a share of them to each process. Knows datasets by what the tables say of them.

use crate::apis::{Order, Role, Transfer};
use crate::interp::{
    ApiResult, Base, Checker, Interp, Invocation, LoaderCall, collect_tensors, is_part_of_dataset,
};
use crate::report::{FileId, Place, Span};
use crate::syntax::{ExprId, ExprKind, StmtKind, Tree};
use crate::values::*;
use ustr::Ustr;

pub(super) static CHECKER: Checker = Checker {
    on_loader_call: Some(called),
    on_loader: Some(made),
    on_api_result: Some(streamed),
    ..Checker::SILENT
};

/// Datasets in datasets are followed this far.
const DEEPEST: usize = 4;

/// Of a stream: whether its source holds the samples as somebody stored them, and nothing shuffled them.
const HELD: Note = Note::new("held in order");
/// Of a loader: whether the dataset holds one class after the other, or as somebody stored them.
const BY_CLASS: Note = Note::new("held by class");
/// Of a loader: its call says in which order it takes samples.
const STATED: Note = Note::new("order is stated");
/// Of a loader: each process goes through the whole dataset.
const WHOLE: Note = Note::new("undivided");

/// Of a loader: its samples are those of a framework's dataset, none of which goes on where another ends.
const APART: Note = Note::new("samples apart");

/// How a dataset holds its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// As somebody stored them.
    AsStored,
    /// One class after the other.
    ByClass,
}

/// How a loader's dataset holds its samples; `None` where nobody knows, or their order carries nothing.
pub(super) fn held_by(heap: &Heap, loader: ObjId) -> Option<Holds> {
    match heap.noted(loader, BY_CLASS)?.as_bool()? {
        true => Some(Holds::ByClass),
        false => Some(Holds::AsStored),
    }
}

/// Whether the order is written into a loader's call, not its default.
pub(super) fn is_order_stated(heap: &Heap, loader: ObjId) -> bool {
    heap.noted(loader, STATED).is_some_and(|stated| stated.as_bool() != Some(false))
}

/// Whether no sample of a loader goes on where another ends, as sequences may do.
pub(super) fn holds_samples_apart(heap: &Heap, loader: ObjId) -> bool {
    heap.noted(loader, APART).and_then(Value::as_bool) == Some(true)
}

/// Whether a loader gives each process all of the data.
pub(super) fn is_undivided(heap: &Heap, loader: ObjId) -> bool {
    heap.noted(loader, WHOLE).and_then(Value::as_bool) == Some(true)
}

/// Whether a stream gives what its source holds in the order in which it is held.
pub(super) fn is_held_in_order(heap: &Heap, stream: ObjId) -> bool {
    heap.noted(stream, HELD).and_then(Value::as_bool) == Some(true)
}

/// What is known of loaders that are being made, innermost last.
#[derive(Default)]
struct Making(Vec<Taken>);

struct Taken {
    holds: Option<Holds>,
    stated: bool,
    whole: bool,
    apart: bool,
}

/// What the arguments of a loader say of the way it goes through its dataset.
fn called(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    let (call, dataset) = (loader.call, loader.dataset);
    let holds = holds(cx, dataset, call.place, 0);
    let has_order = loader.sample_order.in_order == Some(false) || holds.is_some();
    let taken = Taken {
        holds: holds.filter(|_| !orders_itself(cx, dataset)),
        stated: call.is_given("shuffle"),
        whole: loader.sample_order.unsampled && has_order && !is_shared_by_hand(cx, dataset, call),
        apart: dataset.as_obj().is_some_and(|dataset| is_of_framework(cx, dataset)),
    };
    cx.remember(|making: &mut Making| making.0.push(taken));
}

fn made(cx: &mut Interp<'_>, loader: ObjId) {
    let Some(taken) = cx.remember(|making: &mut Making| making.0.pop()) else { return };
    let by_class = taken.holds.map(|holds| Value::Bool(Some(holds == Holds::ByClass)));
    cx.heap.note(loader, BY_CLASS, by_class.unwrap_or_default());
    cx.heap.note(loader, STATED, Value::Bool(Some(taken.stated)));
    cx.heap.note(loader, WHOLE, Value::Bool(Some(taken.whole)));
    cx.heap.note(loader, APART, Value::Bool(Some(taken.apart)));
}

/// What is made of a stream comes in the same order, unless it is shuffled.
fn streamed(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let Some(transfer) = result.call.gives.map(|gives| gives.verb) else { return };
    let Some(stream) = result.value.as_obj() else { return };
    match transfer {
        Transfer::DatasetSlices => {
            let arrays = result.call.nth(0);
            let in_order = held_arrays(cx, &arrays).is_some() && !is_one_sample(&arrays);
            if in_order && !orders_itself(cx, &Value::Unknown) {
                cx.heap.note(stream, HELD, Value::Bool(Some(true)));
            }
        }
        Transfer::DatasetBatch
        | Transfer::DatasetCached
        | Transfer::DatasetMap
        | Transfer::DatasetSkip
        | Transfer::DatasetTake => {
            let source = result.call.nth(0).as_obj();
            if let Some(held) = source.and_then(|source| cx.heap.noted(source, HELD).cloned()) {
                cx.heap.note(stream, HELD, held);
            }
        }
        Transfer::DatasetShuffled => cx.heap.note(stream, HELD, Value::Bool(Some(false))),
        _ => {}
    }
}

/// There is nothing to shuffle.
fn is_one_sample(arrays: &Value) -> bool {
    let mut all = Vec::new();
    collect_tensors(arrays, &mut all);
    all.iter().any(|array| array.shape.as_ref().and_then(|shape| shape.first()) == Some(&Int::Known(1)))
}

/// Whether the script, or the file of the dataset, shuffles samples before any loader does.
fn orders_itself(cx: &Interp<'_>, dataset: &Value) -> bool {
    let mut own = cx.running().map(|frame| frame.file);
    if let Some(object) = dataset.as_obj().filter(|object| is_of_framework(cx, *object)) {
        // Indices that are drawn elsewhere in the script reorder no dataset that it did not write:
        // they would stand in a subset or a sampler, which are seen.
        let is_written = REWRITTEN.iter().any(|attr| cx.heap.attr(object, Ustr::from(attr)).is_some());
        return is_written || own.any(|file| cx.module(file).source.text.contains("shuffle("));
    }
    own.chain(dataset_class(cx, dataset).map(|(file, _)| file))
        .any(|file| cx.apis.shuffles(&cx.module(file).source.text))
}

/// What a script writes to put a framework's dataset into another order, or to keep some of its samples only.
pub(super) const REWRITTEN: [&str; 5] = ["samples", "imgs", "data", "targets", "indices"];

/// Whether a dataset is of a class that no file of the project defines.
fn is_of_framework(cx: &Interp<'_>, dataset: ObjId) -> bool {
    let lineage = cx.lineage(cx.heap.get(dataset).class);
    cx.heap.attr(dataset, Ustr::from("tensors")).is_none()
        && !lineage.is_empty()
        && lineage.iter().all(|base| matches!(base, Base::Api(_)))
}

/// Whether each process makes a dataset of its own: the call that makes it, or its class, speaks of ranks. Of what is
/// no dataset of a class, and of what nobody knows, each file that leads up to the loader may do so.
fn is_shared_by_hand(cx: &Interp<'_>, dataset: &Value, call: &Invocation<'_>) -> bool {
    let class = dataset_class(cx, dataset);
    if let Some(object) = dataset.as_obj()
        && (class.is_some() || is_of_framework(cx, object))
    {
        return cx.apis.mentions_rank(cx.words(cx.heap.get(object).site))
            || class.is_some_and(|(file, span)| cx.apis.mentions_rank(cx.words(Place::new(file, span))));
    }
    let words = call.place_of("dataset").map_or("", |place| cx.words(place));
    let mut files = cx.running().map(|frame| frame.file);
    let mentions = |file: FileId| cx.apis.mentions_rank(&cx.module(file).source.text);
    cx.apis.mentions_rank(words) || files.any(mentions)
}

fn dataset_class(cx: &Interp<'_>, dataset: &Value) -> Option<(FileId, Span)> {
    let ClassRef::Project(class) = cx.heap.get(dataset.as_obj()?).class else { return None };
    let State::Class(state) = &cx.heap.get(class).state else { return None };
    Some((state.file, cx.tree(state.file).class(state.class).span))
}

/// How a dataset holds its samples.
fn holds(cx: &mut Interp<'_>, dataset: &Value, place: Place, depth: usize) -> Option<Holds> {
    let object = dataset.as_obj().filter(|_| depth < DEEPEST)?;
    if let Some(either) = cx.heap.alternatives(dataset) {
        let held = either.iter().map(|one| holds(cx, &Value::Obj(*one), place, depth + 1));
        let held: Vec<Holds> = held.collect::<Option<_>>()?;
        let by_class = held.iter().all(|holds| *holds == Holds::ByClass);
        return Some(if by_class { Holds::ByClass } else { Holds::AsStored });
    }
    let attr = |cx: &Interp<'_>, name: &str| cx.heap.attr(object, Ustr::from(name)).cloned();
    if is_part_of_dataset(&cx.heap, object) {
        return None;
    }
    if let Some(tensors) = attr(cx, "tensors") {
        return held_arrays(cx, &tensors);
    }
    if let Some(parts) = attr(cx, "datasets") {
        let parts = cx.iterate(&parts, place).exact.unwrap_or_default();
        return parts.first().and_then(|first| holds(cx, first, place, depth + 1));
    }
    let lineage = cx.lineage(cx.heap.get(object).class);
    if lineage.contains(&Base::Unknown) {
        return None;
    }
    let order = lineage.iter().find_map(|base| match base {
        Base::Api(name) => cx.apis.order(*name),
        _ => None,
    });
    match order {
        Some(Order::ByClass) => Some(Holds::ByClass),
        Some(_) => None,
        None if cx.role_of(cx.heap.get(object).class) != Some(Role::Dataset) => None,
        // What the dataset has drawn comes in no order.
        None if cx.heap.get(object).attrs.iter().any(|(_, held)| is_drawn(cx, held)) => None,
        None if lineage.iter().any(|base| matches!(base, Base::Project(_))) => {
            match cx.find_attr(object, Ustr::from("__getitem__")) {
                Some(Value::Function(reads)) if is_told_which(cx, object, &reads) => Some(Holds::AsStored),
                _ => None,
            }
        }
        None => Some(Holds::AsStored),
    }
}

/// Whether a dataset looks at the index that it is asked for; else it draws its samples itself. What stands in an
/// arm that this dataset does not take, says nothing of it.
fn is_told_which(cx: &Interp<'_>, dataset: ObjId, reads: &Closure) -> bool {
    let tree = &cx.module(reads.file).tree;
    let function = tree.function(reads.function);
    let Some(index) = function.params.last() else { return false };
    let mut left_out: Vec<Span> = Vec::new();
    for stmt in tree.stmts.iter().filter(|stmt| function.span.contains(stmt.span)) {
        let StmtKind::If { arms, otherwise } = &stmt.kind else { continue };
        let taken = arms.iter().position(|(test, _)| holds_for(cx, dataset, tree, *test));
        if let Some(taken) = taken {
            let later = arms[taken + 1..].iter().flat_map(|(_, body)| body.iter()).chain(otherwise);
            left_out.extend(later.map(|stmt| tree.stmt(*stmt).span));
        }
    }
    tree.exprs.iter().any(|expr| {
        function.span.contains(expr.span)
            && matches!(expr.kind, ExprKind::Name(name) if name == index.name)
            && !left_out.iter().any(|span| span.contains(expr.span))
    })
}

/// Whether a test of the dataset's own flags surely holds: `self.is_train`, `self.is_train or …`.
fn holds_for(cx: &Interp<'_>, dataset: ObjId, tree: &Tree, test: ExprId) -> bool {
    match &tree.expr(test).kind {
        ExprKind::Attribute { name, .. } => {
            let flag = cx.heap.attr(dataset, *name).filter(|flag| !matches!(flag, Value::Given(_)));
            flag.is_some_and(|flag| flag.as_bool() == Some(true))
        }
        ExprKind::Bool { and: false, items } => items.iter().any(|item| holds_for(cx, dataset, tree, *item)),
        _ => false,
    }
}

fn is_drawn(cx: &Interp<'_>, value: &Value) -> bool {
    value.as_tensor().and_then(|tensor| tensor.what).is_some_and(|what| cx.apis.is_random(&what))
}

/// Arrays side by side: where one of them was drawn at random, their order says nothing.
fn held_arrays(cx: &Interp<'_>, arrays: &Value) -> Option<Holds> {
    let drawn = match arrays.bare() {
        Value::Tuple(items) => items.iter().any(|item| is_drawn(cx, item)),
        one => is_drawn(cx, one),
    };
    // What was drawn may have come here through anything.
    let draws = || cx.running().any(|frame| cx.apis.draws(&cx.module(frame.file).source.text));
    if drawn || draws() { None } else { Some(Holds::AsStored) }
}
