//! Keys of random numbers that are drawn with more than once.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Declared, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::{ExprId, ExprKind, StmtKind};
use crate::trace::At;
use crate::values::{ContextKind, FlowState, ObjId, State, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "reused-key",
    summary: "a JAX random key is used more than once, so the same random numbers are drawn again",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("reused-key"),
    check,
};

pub(super) static CHECKER: Checker = Checker { on_effect: Some(drawn), ..Checker::SILENT };

/// A draw with a key.
#[derive(Clone)]
struct Draw {
    key: ObjId,
    place: Place,
    calls: Rc<[(Place, Ustr)]>,
}

/// What was surely drawn on every way to this point.
#[derive(Clone, Default)]
struct Draws(Rc<Vec<Draw>>);

impl FlowState for Draws {
    fn join(&self, other: &Draws) -> Draws {
        let there = |draw: &&Draw| other.0.iter().any(|one| one.key == draw.key && one.place == draw.place);
        Draws(Rc::new(self.0.iter().filter(there).cloned().collect()))
    }
}

/// A key was used that had been used before.
enum Reused {
    /// By something else beside it.
    Beside { first: Place, made: Place },
    /// By an earlier iteration; in a derivative, or as it stands in the loop.
    Earlier { made: Place, differentiated: bool },
}

fn drawn(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Draw {
        return;
    }
    let (value, place) = (declared.arg(0), declared.call.place);
    if let Some(key) = cx.random_key(&value) {
        if !is_held_by_object(cx, place) {
            drawn_with(cx, key, place);
        }
        return;
    }
    // Dropout and its kin get theirs by name, and two forwards of one step may well drop the same units.
    for key in keys_within(cx, &value) {
        drawn_again(cx, key, place);
    }
}

/// `split(self.state.rng)`: a state is replaced as a whole, by methods that may give it another key.
fn is_held_by_object(cx: &Interp<'_>, call: Place) -> bool {
    let module = cx.module(call.file);
    let tree = &module.tree;
    let written = module.expr_at(call.span).map(|expr| &tree.expr(expr).kind);
    let Some(ExprKind::Call { args, .. }) = written else { return false };
    let held = |expr: ExprId| match tree.expr(expr).kind {
        ExprKind::Attribute { base, .. } => Some(base),
        _ => None,
    };
    args.first().is_some_and(|key| held(key.value).and_then(held).is_some())
}

fn keys_within(cx: &Interp<'_>, value: &Value) -> Vec<ObjId> {
    match value.as_obj().map(|object| &cx.heap.get(object).state) {
        Some(State::Dict(entries)) => {
            entries.known.iter().filter_map(|(_, value)| cx.random_key(value)).collect()
        }
        _ => Vec::new(),
    }
}

fn drawn_with(cx: &mut Interp<'_>, key: ObjId, place: Place) {
    let at = cx.at(place, Confidence::High);
    let draws = cx.heap.state::<Draws>().cloned().unwrap_or_default();
    let before = draws.0.iter().find(|draw| draw.key == key && draw.calls == at.calls);
    match before.map(|draw| draw.place) {
        Some(first) => {
            let made = cx.heap.get(key).site;
            cx.observe(place, Reused::Beside { first, made }, Confidence::High);
        }
        None => drawn_again(cx, key, place),
    }
    cx.heap.update(|draws: &mut Draws| {
        Rc::make_mut(&mut draws.0).push(Draw { key, place, calls: at.calls });
    });
}

/// A key from before the loop gives the same in each of its iterations.
fn drawn_again(cx: &mut Interp<'_>, key: ObjId, place: Place) {
    let (made, born) = (cx.heap.get(key).site, cx.heap.get(key).epoch);
    if cx.in_loop() && born < cx.loop_since() {
        let differentiated = cx.contexts().contains(&ContextKind::Recording);
        cx.observe(place, Reused::Earlier { made, differentiated }, Confidence::High);
    }
}

fn check(script: &Script, out: &mut Findings) {
    for (at, reused) in script.observed_once::<Reused>() {
        let again = "every iteration draws the same random numbers with this key";
        let (message, first, made) = match *reused {
            // What is only looked at shows what a key does.
            Reused::Beside { first, .. } if is_shown(script, first) || is_shown(script, at.place) => continue,
            Reused::Beside { first, made } if first != at.place => {
                ("this key was used before, so its random numbers are not independent", first, made)
            }
            Reused::Beside { made, .. } => {
                let Some(around) = written_loop(script, at.place) else { continue };
                (again, around, made)
            }
            Reused::Earlier { made, differentiated } => {
                let Some(innermost) = at.loops.last() else { continue };
                let around = script.rehearsal.loop_info(*innermost).place;
                // A sample that is looked at once per epoch is the same one on purpose.
                if !differentiated && !is_beside(script, at, around) {
                    continue;
                }
                (again, around, made)
            }
        };
        let other = if message == again { "in this loop" } else { "it is already used here" };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(made, "the key is created here")
            .because(first, other)
            .note("JAX keeps no random state: the same key always gives the same numbers")
            .help("split the key before each use: `key, subkey = jax.random.split(key)`");
        out.push(finding, at);
    }
}

/// Whether a draw is a statement of its own.
fn is_shown(script: &Script, place: Place) -> bool {
    let draft = script.draft(place.file);
    let statement = draft.statement_at(place.span).map(|stmt| draft.statement(stmt));
    statement.is_some_and(|stmt| matches!(stmt.kind, StmtKind::Expr(_)) && stmt.span == place.span)
}

/// The innermost loop around a place, in the function that it is in.
fn written_loop(script: &Script, place: Place) -> Option<Place> {
    let draft = script.draft(place.file);
    let around = draft.statements_around(place.span).into_iter().rev().map(|stmt| draft.statement(stmt));
    let mut loops = around.filter(|stmt| matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. }));
    let innermost = loops.next().map(|stmt| stmt.span)?;
    draft.same_function(innermost, place.span).then_some(Place::new(place.file, innermost))
}

/// Whether a draw is written in the function whose loop it is in.
fn is_beside(script: &Script, at: &At, around: Place) -> bool {
    around.file == at.place.file && script.draft(around.file).same_function(around.span, at.place.span)
}
