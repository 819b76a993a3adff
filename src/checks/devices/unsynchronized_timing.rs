//! Clocks that are read while the GPU still works: only the launch of its work is timed.

use crate::apis::{Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Declared, Indexed, Interp, Test};
use crate::report::{Confidence, Place, Severity, Span};
use crate::syntax::{BinaryOp, Expr, ExprKind, StmtId, StmtKind};
use crate::trace::{At, Sight};
use crate::values::{DType, Heap, Learned, ObjId, State, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "unsynchronized-timing",
    summary: "work of the GPU is timed without waiting for its end",
    group: Group::Speed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unsynchronized-timing"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_effect: Some(effect),
    on_api_result: Some(computed),
    on_index: Some(indexed),
    on_test: Some(tested),
    ..Checker::SILENT
};

/// A clock was read; before the first time nothing else is worth a note.
#[derive(Default)]
struct Clocks(bool);

struct ClockRead;

/// The host waits for the GPU here, or may do so.
struct Waited;

/// A call hands work to the GPU and goes on.
struct Launched;

fn effect(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    match declared.verb() {
        Verb::ReadClock => {
            cx.remember(|clocks: &mut Clocks| clocks.0 = true);
            cx.observe(declared.call.place, ClockRead, Confidence::High);
        }
        Verb::Wait => waited(cx, declared.call.place),
        _ => {}
    }
}

fn is_timed(cx: &mut Interp<'_>) -> bool {
    cx.remember(|clocks: &mut Clocks| clocks.0)
}

fn waited(cx: &mut Interp<'_>, place: Place) {
    if is_timed(cx) {
        cx.observe(place, Waited, Confidence::High);
    }
}

/// What comes back to the host is waited for; sizes are known without the numbers.
fn computed(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    if !is_timed(cx) {
        return;
    }
    let place = result.call.place;
    match result.value {
        // Whether the sequences are at their end is asked of each token.
        _ if result.call.api.transfer() == Some(Transfer::Generated) => waited(cx, place),
        value if is_on_gpu(&cx.heap, value) => cx.observe(place, Launched, Confidence::High),
        Value::Int(_) | Value::Tuple(_) | Value::None | Value::Obj(_)
            if result.call.api.transfer() != Some(Transfer::Item) => {}
        _ if result.call.values().any(|value| is_on_gpu(&cx.heap, value)) => waited(cx, place),
        _ => {}
    }
}

/// How many are chosen by a mask is for the GPU to say.
fn indexed(cx: &mut Interp<'_>, indexed: &Indexed<'_>) {
    let is_mask = |value: &Value| value.as_tensor().is_some_and(|index| index.dtype == Some(DType::Bool));
    let chooses = match indexed.index {
        Value::Tuple(items) => items.iter().any(|item| is_mask(item) || item.is_unknown()),
        index => is_mask(index) || index.is_unknown(),
    };
    if chooses && indexed.tensor.device.is_gpu() {
        waited(cx, indexed.place);
    }
}

fn tested(cx: &mut Interp<'_>, test: &Test<'_>) {
    if is_on_gpu(&cx.heap, test.value) {
        let place = cx.expr_place(test.expr);
        waited(cx, place);
    }
}

/// Whether a value is a tensor on the GPU, or holds one.
fn is_on_gpu(heap: &Heap, value: &Value) -> bool {
    let own = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.device.is_gpu());
    match value {
        Value::Tuple(items) => items.iter().any(own),
        Value::Obj(object) => match &heap.get(*object).state {
            State::Dict(entries) => {
                entries.known.iter().map(|(_, value)| value).chain(&entries.other).any(own)
            }
            State::List(items) => {
                items.exact.as_ref().map_or_else(|| own(&items.any), |all| all.iter().any(own))
            }
            _ => false,
        },
        value => own(value),
    }
}

/// Two readings of a clock, and what the GPU is given between them.
struct Timed {
    at: At,
    begun: Place,
    forward: Place,
}

fn check(script: &Script, out: &mut Findings) {
    let clocks: Vec<&At> = script.observed::<ClockRead>().map(|(at, _)| at).collect();
    if clocks.len() < 2 {
        return;
    }
    let mut seen = FxHashSet::default();
    for end in &clocks {
        let Some(timed) = timed(script, &clocks, end) else { continue };
        if !seen.insert(end.place) {
            continue;
        }
        let mut finding = script
            .finding(
                RULE.id,
                RULE.severity,
                &timed.at,
                "the clock is read while the GPU still works: only the launch of its work is timed",
            )
            .because(timed.forward, "returns as soon as its kernels are queued");
        if let Some(begun) = timed.at.beside(Some(timed.begun)) {
            finding = finding.because(begun, "the time is taken from here");
        }
        out.push(
            finding
                .note("nothing between the two readings waits for the GPU, so the measured time is too short")
                .help("call `torch.cuda.synchronize()` before each reading of the clock"),
            &timed.at,
        );
    }
}

fn timed(script: &Script, clocks: &[&At], end: &At) -> Option<Timed> {
    let draft = script.draft(end.place.file);
    let stmt = draft.statement_at(end.place.span)?;
    let (block, index) = draft.beside(stmt)?;
    let started = subtracted(draft, stmt, end.place.span)?;
    let before = block[..index].iter().rev();
    let begun = *before.clone().find(|stmt| draft.binds(draft.statement(**stmt).span, started))?;
    let begun_at =
        clocks.iter().find(|at| is_beside(at, end) && is_reading(draft, begun, started, at.place))?;
    let region = Span::new(draft.statement(begun).span.end, end.place.span.start);
    let inside = |place: Place| place.file == end.place.file && region.contains(place.span);
    let leads = |at: &At| inside(at.place) || at.calls.iter().any(|(site, _)| inside(*site));
    let (forward, sure) = script.sightings().find_map(|(at, sight)| match sight {
        Sight::Forward(forward) if inside(at.place) && is_beside(at, end) => {
            is_on_gpu(&script.rehearsal.heap, &forward.output)
                .then(|| (at.place, sureness(script, forward.module)))
        }
        _ => None,
    })?;
    if script.observed::<Waited>().any(|(at, _)| leads(at)) || !only_launches(script, draft, end, region) {
        return None;
    }
    let confidence = end.confidence.min(sure);
    Some(Timed { at: At { confidence, ..end.clone() }, begun: begun_at.place, forward })
}

/// A model that nobody sees into may wait for the GPU itself.
fn sureness(script: &Script, model: ObjId) -> Confidence {
    let module = script.rehearsal.heap.get(model).module();
    match module.is_some_and(|module| module.weights != Learned::Opaque) {
        true => Confidence::High,
        false => Confidence::Medium,
    }
}

fn is_beside(at: &At, end: &At) -> bool {
    (&at.calls, &at.loops, at.seeded) == (&end.calls, &end.loops, end.seeded)
}

/// `start = time.time()`
fn is_reading(draft: Draft<'_>, stmt: StmtId, name: Ustr, clock: Place) -> bool {
    let StmtKind::Assign { targets, value } = &draft.statement(stmt).kind else { return false };
    let [target] = targets[..] else { return false };
    draft.expr(*value).span == clock.span
        && matches!(draft.expr(target).kind, ExprKind::Name(bound) if bound == name)
}

/// What is taken from a reading of the clock: `time.time() - start`, or `end - start` where this is the end.
fn subtracted(draft: Draft<'_>, stmt: StmtId, clock: Span) -> Option<Ustr> {
    let named = |expr: &Expr| match expr.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    };
    let end = match &draft.statement(stmt).kind {
        StmtKind::Assign { targets, value } if draft.expr(*value).span == clock => {
            Some(named(draft.expr(*targets.first()?))?)
        }
        StmtKind::Assign { .. } | StmtKind::AugAssign { .. } | StmtKind::Expr(_) => None,
        _ => return None,
    };
    let all = draft.function_around(clock).map_or(Span::new(0, u32::MAX), |it| draft.function_span(it));
    let within = Span::new(clock.start.max(all.start), all.end);
    draft.exprs_within(within).find_map(|expr| {
        let ExprKind::Binary { op: BinaryOp::Sub, left, right } = expr.kind else { return None };
        let left = draft.expr(left);
        let is_end = match end {
            Some(end) => named(left) == Some(end),
            None => left.span == clock,
        };
        named(draft.expr(right)).filter(|_| is_end)
    })
}

/// Whether all that a stretch calls hands work to the GPU, or opens a context, in no loop of its own.
fn only_launches(script: &Script, draft: Draft<'_>, end: &At, region: Span) -> bool {
    let mut launched: FxHashSet<Span> = FxHashSet::default();
    for (at, _) in script.observed::<Launched>().filter(|(at, _)| at.place.file == end.place.file) {
        launched.insert(at.place.span);
    }
    for (at, sight) in script.sightings().filter(|(at, _)| at.place.file == end.place.file) {
        if matches!(sight, Sight::Forward(_) | Sight::Loss(_)) {
            launched.insert(at.place.span);
        }
    }
    let mut opened: Vec<Span> = Vec::new();
    for kind in draft.statements_within(region) {
        match kind {
            StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::If { .. } | StmtKind::Try { .. } => {
                return false;
            }
            StmtKind::With { items, .. } => {
                opened.extend(items.iter().map(|item| draft.expr(item.context).span));
            }
            _ => {}
        }
    }
    draft.exprs_within(region).all(|expr| match expr.kind {
        ExprKind::Call { .. } => launched.contains(&expr.span) || opened.contains(&expr.span),
        ExprKind::Await(_) | ExprKind::Yield(_) => false,
        _ => true,
    })
}
