//! Checks of each backward pass that a training does not need once it runs.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::{Draft, Line};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Fix, Place, Severity};
use crate::syntax::StmtKind;
use crate::trace::At;
use crate::values::Value;

pub(super) static RULE: Rule = Rule {
    id: "debugging-left-on",
    summary: "anomaly detection of autograd is left on in a training script",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("debugging-left-on"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(watched), ..Checker::SILENT };

/// As many steps are a test of whether a model trains at all.
const FEW_STEPS: i64 = 10;

/// Backward passes are checked from here on, or no longer.
struct Watched {
    on: bool,
}

fn watched(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::WatchBackward {
        return;
    }
    let on = match declared.arg(0) {
        // Without a flag it is on.
        _ if declared.effect.args.is_empty() => true,
        Value::Bool(Some(on)) => on,
        // A flag of the command line decides.
        _ => return,
    };
    cx.observe(declared.call.place, Watched { on }, Confidence::High);
}

fn check(script: &Script, out: &mut Findings) {
    let is_long = |count: Option<i64>| count.is_none_or(|count| count > FEW_STEPS);
    let trains = script
        .loops()
        .any(|id| script.descends_in(id) && is_long(script.rehearsal.loop_info(id).count.known()));
    if !trains || script.observed::<Watched>().any(|(_, seen)| !seen.on) {
        return;
    }
    for (at, _) in script.observed_once_where(|at, _: &Watched| is_always(script, at)) {
        let draft = script.draft(at.place.file);
        let fix = line_of(draft, at.place).and_then(|line| draft.remove(line));
        let message =
            "every training step is slower: anomaly detection checks each backward operation for nan";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("each operation of the forward pass also records a traceback, and a nan raises an error")
            .fix(fix.map(|edit| Fix::guess("remove the call", vec![edit])))
            .help("remove it, or put it behind a debugging flag, once the nan is found");
        out.push(finding, at);
    }
}

/// Whether no test of the script decides that the call runs.
fn is_always(script: &Script, at: &At) -> bool {
    let places = at.calls.iter().map(|(site, _)| *site).chain([at.place]);
    places.into_iter().all(|place| {
        let draft = script.draft(place.file);
        let around = draft.statements_around(place.span);
        around.iter().all(|stmt| match &draft.statement(*stmt).kind {
            StmtKind::If { arms, .. } => {
                arms.iter().all(|(test, _)| draft.written(*test).contains("__name__"))
            }
            _ => true,
        })
    })
}

/// The line of a call that is a statement of its own.
fn line_of<'a>(draft: Draft<'a>, place: Place) -> Option<Line<'a>> {
    let stmt = draft.statement_at(place.span)?;
    let StmtKind::Expr(_) = draft.statement(stmt).kind else { return None };
    draft.line(stmt)
}
