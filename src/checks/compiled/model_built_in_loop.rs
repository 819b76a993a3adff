//! Models that are built in a loop, in a framework that keeps them.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Places, Script};
use crate::interp::{Checker, Declared, Instance, Interp};
use crate::report::{Confidence, Severity, units};
use crate::trace::{At, LoopId};
use crate::values::Int;

pub(super) static RULE: Rule = Rule {
    id: "model-built-in-loop",
    summary: "memory leak: models are built in a loop without `clear_session()`",
    group: Group::Memory,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("model-built-in-loop"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_instance: Some(built), on_effect: Some(cleared), ..Checker::SILENT };

/// So many models in one process are noticed.
const MANY_MODELS: i64 = 20;

/// A model that a framework keeps in a session of its own was built.
struct Kept;

/// A framework forgets the models that it keeps.
struct SessionCleared;

/// A model that its framework keeps until it is told to forget. What a model makes in loops of its own are its parts.
fn built(cx: &mut Interp<'_>, made: &Instance) {
    let here = cx.heap.get(made.object);
    let is_part = || {
        let loops = cx.at(made.place, Confidence::High).loops;
        let is_own = loops.iter().all(|id| cx.out.loop_info(*id).of_model);
        is_own && cx.running_modules().any(|model| model != made.object)
    };
    let kept = here.module().is_some() && cx.owns(here.class, "session") && !is_part();
    if kept {
        let confidence = here.confidence;
        cx.observe(made.place, Kept, confidence);
    }
}

fn cleared(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() == Verb::ClearSession {
        cx.observe(declared.call.place, SessionCleared, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = Places::default();
    for (at, _) in script.observed::<Kept>() {
        if seen.contains(&at.place) {
            continue;
        }
        let count = built_at(script, at).known();
        // Of a loop over a few values nothing is left but that its body ran for each of them.
        let is_repeated = !at.loops.is_empty() || count.is_some_and(|count| count >= MANY_MODELS);
        if !is_repeated || is_cleared_in(script, at) || !seen.insert(at.place) {
            continue;
        }
        let severity = match count {
            Some(count) if count >= MANY_MODELS => Severity::Warning,
            _ => Severity::Note,
        };
        let message = match count {
            Some(count) => {
                format!(
                    "memory leak: {} models are built, and Keras keeps the state of each",
                    units::count(count)
                )
            }
            None => {
                "memory leak: every iteration builds a model, and Keras keeps the state of each".to_owned()
            }
        };
        let mut finding = script.finding(RULE.id, severity, at, message);
        if let Some(innermost) = at.loops.last() {
            finding = finding.because(script.rehearsal.loop_info(*innermost).place, "in this loop");
        }
        let finding = finding
            .note("layer names and graphs of all models stay in Keras's global state, which grows with every model")
            .help("call `keras.backend.clear_session()` before building each model");
        out.push(finding, at);
    }
}

/// Whether the framework is told to forget its models in one of the loops around a model, or beside it.
fn is_cleared_in(script: &Script, built: &At) -> bool {
    let beside = |at: &At| at.loops.is_empty() && built.loops.is_empty();
    let cleared = |at: &At| at.loops.iter().any(|id| built.loops.contains(id)) || beside(at);
    script.observed::<SessionCleared>().any(|(at, _)| cleared(at))
}

/// How many models are built at a place, on one way to it: loops over a few values run their bodies for each.
fn built_at(script: &Script, built: &At) -> Int {
    let same = |at: &&At| at.place == built.place && at.calls == built.calls && at.loops == built.loops;
    let rounds = script.observed::<Kept>().map(|(at, _)| at).filter(same).count();
    iterations(script, &built.loops).mul(&Int::Known(rounds as i64))
}

/// How often the innermost of nested loops is run through.
fn iterations(script: &Script, loops: &[LoopId]) -> Int {
    loops.iter().fold(Int::Known(1), |all, id| all.mul(&script.rehearsal.loop_info(*id).count))
}
