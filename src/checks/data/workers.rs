//! The worker processes of loaders: what a dataset and its helpers do there, while a loader's first batch is
//! made. They have a copy of everything that the process which trains had made before.

use crate::apis::{Api, Role, Verb};
use crate::interp::{ApiResult, Call, Checker, Declared, Instance, Interp, Invocation, LoaderCall};
use crate::report::{Confidence, Place};
use crate::syntax::{ExprId, ExprKind, FunctionBody, StmtKind};
use crate::values::*;

pub(super) static CHECKER: Checker = Checker {
    on_loader_call: Some(begin),
    on_sample: Some(sampled),
    on_loader_batch: Some(end),
    on_effect: Some(effect),
    on_call: Some(drawn),
    on_instance: Some(made),
    on_api_result: Some(moved),
    on_device_query: Some(|cx, ()| in_parent(cx)),
    on_end: Some(|cx, ()| told_of_parent(cx)),
    ..Checker::SILENT
};

/// What happens in the worker processes of a loader.
#[derive(Default)]
pub(super) struct Work {
    pub workers: Option<Workers>,
    pub workers_place: Option<Place>,
    /// They are forked from the process that trains.
    pub forked: bool,
    /// Where something is put on the GPU, or was already when the workers took it.
    pub on_gpu: Vec<(Place, OnGpu)>,
    /// Where numbers are drawn from a generator that all workers have a copy of, and where it was made.
    pub drawn: Vec<(Place, Place)>,
    /// Where numbers are first drawn from the generator of arrays, which nobody here seeds for each worker.
    pub drawn_of_arrays: Option<Place>,
    /// Where all workers begin with the same seed.
    pub seeded: Vec<Place>,
    /// A function is run at the start of each worker.
    pub initialised: bool,
}

/// The process from which workers are forked uses the GPU itself.
pub(super) struct ParentOnGpu;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnGpu {
    Moved,
    Held,
}

/// So many workers, in words.
pub(super) fn in_words(count: Option<Workers>) -> String {
    match count {
        Some(Workers::Known(1)) => "1 worker".to_owned(),
        Some(Workers::Known(count)) => format!("{count} workers"),
        Some(Workers::PerProcessor) | None => "one worker per CPU core".to_owned(),
    }
}

#[derive(Default)]
struct Started {
    /// Those whose work is being rehearsed, innermost last.
    running: Vec<Worker>,
    /// The script starts processes in another way than as copies of its own.
    spawns: bool,
    /// Where it uses the GPU itself, or asks for it.
    parent_on_gpu: bool,
}

/// A worker whose work is being rehearsed.
struct Worker {
    /// Objects under this were made before it started.
    from: u32,
    /// Generators that were made in it.
    made: Vec<ObjId>,
    /// It asks which worker it is.
    knows: bool,
    /// Where it seeds a generator, and whether one of them is that of arrays.
    seeds: Vec<Place>,
    seeds_arrays: bool,
    work: Work,
}

/// The functions that draw from the one generator that all arrays share, which loaders have not always seeded.
const OF_ARRAYS: [&str; 2] = ["numpy", "random"];

fn is_of_arrays(api: &Api) -> bool {
    let is_method = api.params.first().is_some_and(|param| param.name == "self");
    api.name.split('.').take(2).eq(OF_ARRAYS) && !is_method
}

/// Tells the innermost worker, if anything runs in one.
fn tell(cx: &mut Interp<'_>, change: impl FnOnce(&mut Worker)) {
    cx.remember(|workers: &mut Started| workers.running.last_mut().map(change));
}

fn has_workers(made: &LoaderCall<'_>) -> bool {
    made.sample_order.workers.is_some_and(Workers::any)
}

fn begin(cx: &mut Interp<'_>, made: &LoaderCall<'_>) {
    if !has_workers(made) {
        return;
    }
    let own_method = !matches!(made.call.get("multiprocessing_context"), Value::None);
    let work = Work {
        workers: made.sample_order.workers,
        workers_place: made.call.place_of("num_workers"),
        initialised: !matches!(made.call.get("worker_init_fn"), Value::None),
        ..Work::default()
    };
    let from = cx.heap.len() as u32;
    cx.remember(|workers: &mut Started| {
        let work = Work { forked: !workers.spawns && !own_method, ..work };
        let worker =
            Worker { from, knows: false, made: Vec::new(), seeds: Vec::new(), seeds_arrays: false, work };
        workers.running.push(worker);
    });
}

fn end(cx: &mut Interp<'_>, made: &LoaderCall<'_>) {
    if !has_workers(made) {
        return;
    }
    let place = made.call.place;
    // What is seeded for each sample is another matter.
    tell(cx, |worker| worker.work.seeded.clear());
    let init = made.call.get("worker_init_fn");
    if matches!(init.bare(), Value::Function(_) | Value::Bound(_) | Value::Partial(_)) {
        let call = Call::with(place, [Value::of_int(Int::Unknown)]);
        cx.quietly(|cx| cx.call_value(&init, &call));
    }
    let Some(mut worker) = cx.remember(|workers: &mut Started| workers.running.pop()) else { return };
    if worker.knows {
        worker.work.drawn.clear();
    }
    if worker.knows || worker.seeds_arrays || made.call.open || !only_seeds(cx, &init, &worker.seeds) {
        worker.work.drawn_of_arrays = None;
    }
    cx.observe(place, worker.work, Confidence::High);
}

/// Whether all that a function does at the start of a worker is to seed generators that are seen, or there is none.
fn only_seeds(cx: &Interp<'_>, init: &Value, seeds: &[Place]) -> bool {
    let closure = match init.bare() {
        Value::Function(closure) => closure,
        init => return matches!(init, Value::None),
    };
    let tree = cx.tree(closure.file);
    let is_seed = |expr: ExprId| {
        let written = tree.expr(expr);
        let place = Place::new(closure.file, written.span);
        matches!(written.kind, ExprKind::Str(_)) || seeds.contains(&place)
    };
    match &tree.function(closure.function).body {
        FunctionBody::Expr(value) => is_seed(*value),
        FunctionBody::Block(block) => block.iter().all(|stmt| match tree.stmt(*stmt).kind {
            StmtKind::Expr(value) => is_seed(value),
            StmtKind::Assign { .. } | StmtKind::Pass => true,
            _ => false,
        }),
    }
}

fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    match declared.verb() {
        Verb::StartMethod => {
            let spawns = declared.arg(0).as_str() != Some("fork");
            cx.remember(|workers: &mut Started| workers.spawns |= spawns);
        }
        Verb::WorkerInfo => tell(cx, |worker| worker.knows = true),
        // Random numbers begin anew: with the same number in each worker?
        Verb::Seed => {
            let (place, of_arrays) = (declared.call.place, is_of_arrays(declared.call.api));
            let is_same = declared.arg(0).as_known_int().is_some();
            tell(cx, |worker| {
                worker.seeds.push(place);
                worker.seeds_arrays |= of_arrays;
                worker.work.seeded.extend(is_same.then_some(place));
            });
        }
        _ => {}
    }
}

/// Where a loader is made in a loop, its first pass has made the same object.
fn made(cx: &mut Interp<'_>, instance: &Instance) {
    if is_generator(cx, instance.object) {
        tell(cx, |worker| worker.made.push(instance.object));
    }
}

fn is_generator(cx: &Interp<'_>, object: ObjId) -> bool {
    cx.role_of(cx.heap.get(object).class) == Some(Role::Generator)
}

/// A tensor that was not on the GPU is there now.
fn moved(cx: &mut Interp<'_>, given: &ApiResult<'_>) {
    if !given.value.as_tensor().is_some_and(|tensor| tensor.device.is_gpu()) {
        return;
    }
    let was_there = given.call.nth_tensor(0).is_some_and(|before| before.device.is_gpu());
    if !was_there {
        in_parent(cx);
        let place = given.call.place;
        tell(cx, |worker| worker.work.on_gpu.push((place, OnGpu::Moved)));
    }
}

/// Something uses the GPU, or asks for it: the script itself, where no worker does.
fn in_parent(cx: &mut Interp<'_>) {
    cx.remember(|workers: &mut Started| workers.parent_on_gpu |= workers.running.is_empty());
}

fn told_of_parent(cx: &mut Interp<'_>) {
    if cx.remember(|workers: &mut Started| workers.parent_on_gpu) {
        cx.observe(Place::default(), ParentOnGpu, Confidence::High);
    }
}

/// Samples that come from tensors on the GPU.
fn sampled(cx: &mut Interp<'_>, sample: &Value) {
    let is_held = |tensor: &&Tensor| tensor.device.is_chosen_gpu();
    let held = match sample.bare() {
        Value::Tuple(items) => items.iter().filter_map(|item| item.as_tensor()).map(|t| &**t).find(is_held),
        other => other.as_tensor().map(|tensor| &**tensor).filter(is_held),
    };
    if let Some(made) = held.and_then(|tensor| tensor.made) {
        tell(cx, |worker| {
            if worker.work.on_gpu.is_empty() {
                worker.work.on_gpu.push((made, OnGpu::Held));
            }
        });
    }
}

/// Numbers from a generator that was made before the workers started, or from that of arrays.
fn drawn(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let from = cx.remember(|workers: &mut Started| workers.running.last().map(|worker| worker.from));
    let Some(from) = from else { return };
    if is_of_arrays(call.api) && !call.api.does(Verb::Seed) {
        let place = call.place;
        tell(cx, |worker| _ = worker.work.drawn_of_arrays.get_or_insert(place));
    }
    for name in ["self", "generator"] {
        let Some(object) = call.get(name).as_obj().filter(|object| object.0 < from) else { continue };
        if is_generator(cx, object) {
            let (place, made) = (call.place, cx.heap.get(object).site);
            tell(cx, |worker| {
                if !worker.made.contains(&object) {
                    worker.work.drawn.push((place, made));
                }
            });
        }
    }
}
