//! Iterable datasets of which each worker yields all samples.

use super::whole_reads::read_whole;
use super::workers::in_words;
use crate::apis::Order;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Base, Checker, Interp, LoaderCall};
use crate::report::{Confidence, Place, Severity};
use crate::values::{ClassRef, ObjId, Value, Workers};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "duplicated-iterable-data",
    summary: "every `DataLoader` worker yields all samples of an `IterableDataset`, so that each comes several times",
    group: Group::Data,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("duplicated-iterable-data"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_loader_call: Some(called), ..Checker::SILENT };

/// Each worker of a loader goes through all of its dataset.
struct Duplicated {
    workers: Workers,
    workers_place: Option<Place>,
    /// The method that goes through it, and the name of its class.
    iter: Place,
    class: Rc<str>,
}

fn called(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    let call = loader.call;
    let Some(workers) = loader.sample_order.workers.filter(|workers| workers.are_several()) else { return };
    // Who prepares each worker may tell it which part is its own.
    if call.open || !matches!(call.get("worker_init_fn"), Value::None) {
        return;
    }
    let Some(dataset) = loader.dataset.as_obj().filter(|dataset| is_own_stream(cx, *dataset)) else { return };
    if let Some(iter) = read_whole(cx, dataset) {
        let (workers_place, class) = (call.place_of("num_workers"), cx.class_name(dataset));
        let seen = Duplicated { workers, workers_place, iter, class };
        let confidence = cx.heap.get(dataset).confidence;
        cx.observe(call.place, seen, confidence.min(Confidence::High));
    }
}

/// Whether a class of the project decides what comes next, and all that it inherits from is seen.
fn is_own_stream(cx: &Interp<'_>, dataset: ObjId) -> bool {
    let class = cx.heap.get(dataset).class;
    let lineage = cx.lineage(class);
    let is_stream =
        |base: &Base| matches!(base, Base::Api(name) if cx.apis.order(*name) == Some(Order::Stream));
    let is_seen = |base: &Base| match base {
        Base::Project(_) => true,
        Base::Api(name) => is_stream(base) || name.starts_with("typing."),
        Base::Unknown => false,
    };
    matches!(class, ClassRef::Project(_)) && lineage.iter().any(is_stream) && lineage.iter().all(is_seen)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Duplicated>() {
        let message = match seen.workers {
            Workers::Known(count) => {
                format!(
                    "each of the {count} workers yields all samples, so an epoch has each of them {count} times"
                )
            }
            Workers::PerProcessor => {
                "every worker yields all samples, so an epoch has each of them once per worker".to_owned()
            }
        };
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        finding = finding.because(seen.iter, format!("`{}` goes through all of its data here", seen.class));
        if let Some(place) = seen.workers_place {
            finding = finding.because(place, in_words(Some(seen.workers)));
        }
        out.push(
            finding
                .note("each worker iterates its own copy of an `IterableDataset`, and no sampler divides it")
                .help("let each worker skip what is not its own: `torch.utils.data.get_worker_info()`"),
            at,
        );
    }
}
