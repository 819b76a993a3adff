//! Arguments of a loader that exclude each other.

use crate::apis::Order;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Base, Checker, Interp, Invocation, LoaderCall};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::values::{ObjId, Value};

pub(super) static RULE: Rule = Rule {
    id: "shuffle-with-sampler",
    summary: "a `DataLoader` is given a sampler and an argument that excludes it, which raises an error",
    group: Group::Data,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("shuffle-with-sampler"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_loader_call: Some(called), ..Checker::SILENT };

/// Two of a loader's arguments exclude each other.
struct Excluded {
    /// What decides which samples come.
    chooser: &'static str,
    /// The argument that it excludes.
    other: &'static str,
}

fn called(cx: &mut Interp<'_>, loader: &LoaderCall<'_>) {
    let call = loader.call;
    if let Some(excluded) = excluded(cx, call, loader.dataset) {
        // `sampler = DistributedSampler(data) if distributed else None` raises where it is one.
        let perhaps = |argument: &str| matches!(call.get(argument), Value::Maybe(_) | Value::Given(_));
        // Where either may be `None`, whatever sets the one may leave out the other.
        if perhaps(excluded.chooser) && perhaps(excluded.other) {
            return;
        }
        let confidence = if perhaps(excluded.chooser) { Confidence::Medium } else { Confidence::High };
        cx.observe(call.place, excluded, confidence);
    }
}

fn excluded(cx: &mut Interp<'_>, call: &Invocation<'_>, dataset: &Value) -> Option<Excluded> {
    let is_object = |name: &str| call.is_given(name) && call.get(name).as_obj().is_some();
    let shuffles = cx.truth(&call.get("shuffle")) == Some(true);
    let streams = dataset.as_obj().is_some_and(|dataset| is_stream(cx, dataset));
    if is_object("batch_sampler") {
        let batches =
            call.is_given("batch_size") && call.get("batch_size").as_known_int().is_some_and(|n| n != 1);
        let drops = cx.truth(&call.get("drop_last")) == Some(true);
        let others = [
            ("shuffle", shuffles),
            ("sampler", is_object("sampler")),
            ("batch_size", batches),
            ("drop_last", drops),
        ];
        let other = others.into_iter().find(|(_, given)| *given).map(|(name, _)| name)?;
        return Some(Excluded { chooser: "batch_sampler", other });
    }
    match is_object("sampler") {
        true if streams => Some(Excluded { chooser: "dataset", other: "sampler" }),
        true if shuffles => Some(Excluded { chooser: "sampler", other: "shuffle" }),
        false if streams && shuffles => Some(Excluded { chooser: "dataset", other: "shuffle" }),
        _ => None,
    }
}

/// Whether a dataset decides itself what comes next.
fn is_stream(cx: &Interp<'_>, dataset: ObjId) -> bool {
    let orders = |base: &Base| match base {
        Base::Api(name) => cx.apis.order(*name) == Some(Order::Stream),
        _ => false,
    };
    cx.lineage(cx.heap.get(dataset).class).iter().any(orders)
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Excluded>() {
        let (chooser, other) = (seen.chooser, seen.other);
        // Keywords that are gathered in a dict are put together on ways of their own.
        if !is_written(script, at.place, other)
            || chooser != "dataset" && !is_written(script, at.place, chooser)
        {
            continue;
        }
        let what =
            if chooser == "dataset" { "an `IterableDataset`".to_owned() } else { format!("`{chooser}`") };
        let message = format!("this loader raises an error: {what} excludes `{other}`");
        let said = match (chooser, other) {
            ("dataset", "shuffle") => "expected unspecified shuffle option, but got shuffle=True",
            ("dataset", _) => "expected unspecified sampler option",
            ("sampler", _) => "sampler option is mutually exclusive with shuffle",
            _ => {
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            }
        };
        let help = match chooser {
            "dataset" => format!("remove `{other}`, and shuffle inside the dataset"),
            _ => format!("remove `{other}`: the {chooser} decides which samples make up a batch"),
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(format!("PyTorch raises `{said}`"))
            .help(help);
        let fix = without(script, at.place, other).filter(|_| chooser == "sampler");
        out.push(finding.fix(fix.map(|edits| Fix::safe(format!("remove `{other}`"), edits))), at);
    }
}

/// Whether a call says an argument by its name.
fn is_written(script: &Script, loader: Place, argument: &str) -> bool {
    let draft = script.draft(loader.file);
    draft.call_at(loader.span).is_some_and(|call| draft.keyword(call, argument).is_some())
}

/// The call without one of its arguments.
fn without(script: &Script, loader: Place, argument: &str) -> Option<Vec<Edit>> {
    let draft = script.draft(loader.file);
    let call = draft.call_at(loader.span)?;
    Some(vec![draft.remove_argument(call, draft.keyword(call, argument)?)?])
}
