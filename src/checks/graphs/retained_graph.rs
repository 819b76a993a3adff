//! A graph that is kept alive from iteration to iteration.

use super::resets::Reset;
use super::retention::{Carried, Carry};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::doubted_in_tests;
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::report::replay::{self, Demand, Replay};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::syntax::{BinaryOp, Expr, ExprId, ExprKind, StmtKind};
use crate::trace::{At, LoopId, Over, Sight};
use crate::values::{Graph, Tensor};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "retained-graph",
    summary: "memory leak: a value keeps its computation graph alive across iterations",
    group: Group::Memory,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Step,
    page: page!("retained-graph"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for kept in retained_graphs(script) {
        // A backward frees the activations; what is left of the graph is small, and grows.
        let (severity, cost) = match (kept.is_walked, kept.in_training) {
            (true, true) => (
                Severity::Warning,
                "`backward()` freed the activations, but the graph nodes of every iteration stay in memory",
            ),
            // The same model is trained elsewhere: what this loop computes no backward pass goes through.
            (true, false) => {
                (Severity::Warning, "the graph of every iteration stays in memory as long as the value lives")
            }
            (false, _) => (
                Severity::Error,
                "no backward pass frees it, so the activations of every iteration stay in memory",
            ),
        };
        let message = match kept.by {
            Carry::Sum => {
                format!("memory leak: `{}` keeps every iteration's computation graph alive", kept.into)
            }
            Carry::Append => {
                format!("memory leak: `{}` stores values with their computation graphs", kept.into)
            }
        };
        let mut finding = script.finding(RULE.id, severity, &kept.at, message);
        if let Some(place) = kept.container {
            finding = finding.because(place, "is kept after the iteration");
        }
        // Where it is known what a graph takes, that says more than how many there are.
        let held = match kept.kept {
            bytes if bytes > 0 && !kept.is_walked => Replay::Memory(Demand {
                each_step: Some(bytes),
                steps: kept.steps,
                ..Demand::of("the graphs that are kept alive", 0)
            }),
            _ => script.replay_of_carried(replay::Carried::Held),
        };
        let fix = let_go(script, &kept, ".detach()").map(|edits| Fix::safe("add `.detach()`", edits));
        out.push(
            finding
                .fix(fix)
                .replay(held)
                .note(cost)
                .help("store `loss.item()` for a Python number, or `.detach()` for a tensor"),
            &kept.at,
        );
    }
}

struct RetainedGraph {
    at: At,
    into: Rc<str>,
    by: Carry,
    container: Option<Place>,
    /// What is kept is the tensor itself, and not something that holds it.
    is_tensor: bool,
    /// A backward has walked graphs of the same model.
    is_walked: bool,
    /// A backward pass went through the graph itself, or runs in its own loop, or in the call that keeps it.
    in_training: bool,
    /// What the forwards of one iteration keep, at least, and how many iterations there are.
    kept: u64,
    steps: Option<u64>,
}

impl RetainedGraph {
    fn of(at: At, carried: &Carried, is_walked: bool) -> RetainedGraph {
        RetainedGraph {
            at,
            into: carried.into.clone(),
            by: carried.by,
            container: carried.into_place,
            is_tensor: carried.bare,
            is_walked,
            in_training: true,
            kept: 0,
            steps: None,
        }
    }
}

fn retained_graphs(script: &Script) -> Vec<RetainedGraph> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    // Tensors of TensorFlow hold no graph: the tape does, or the function that was traced.
    let holds_none = |at: &At| {
        let is_around = |package| script.imports_around(at, package);
        (is_around("tensorflow") || is_around("keras")) && !is_around("torch")
    };
    for (at, carried) in script.observed::<Carried>().filter(|(at, _)| !holds_none(at)) {
        // What one call keeps goes out of sight with its object.
        let is_used = !carried.by_call && script.rehearsal.consumed.contains(&carried.id);
        if is_used || !seen.insert(at.place) {
            continue;
        }
        let Graph::Live(nodes) = &carried.value.graph else { continue };
        let shown = carried.value.graph.is_shown();
        if nodes.leaves.is_empty() && !shown {
            continue;
        }
        let is_walked = shown
            || nodes.leaves.iter().any(|leaf| script.rehearsal.walked.contains(leaf))
            || is_walked_inside(script, &carried.value.graph);
        if carried.by_call {
            if trains_in_call(script, at, &carried.value) {
                found.push(RetainedGraph::of(at.clone(), carried, true));
            }
            continue;
        }
        // Activations take room until the reset, in the loops that do not hold it, or in all where it is not in every
        // iteration; what a backward leaves of a few iterations does not.
        let reset = reset_within(script, at, carried);
        let is_around = reset < at.loops.len() || is_emptied_each_time(script, at, carried);
        let counts = is_walked || is_around;
        let outlives = if counts { carried.outlives.max(reset) } else { carried.outlives };
        let outlived: Vec<LoopId> = at.loops[outlives.min(at.loops.len())..]
            .iter()
            .copied()
            .filter(|id| !script.accumulates_in(*id))
            .collect();
        let over_batches = outlived.iter().any(|id| script.trains_in(*id) || script.loads_in(*id));
        if !over_batches
            && (!outlived.iter().any(|id| script.evaluates_in(*id)) || is_of_one_batch(script, at, &outlived))
        {
            continue;
        }
        if is_walked && is_of_few_rounds(script, at, &outlived) {
            continue;
        }
        if at.loops.last().is_some_and(|own| script.trains_in(*own))
            && is_of_one_episode(script, at, carried, &outlived)
        {
            continue;
        }
        // What was walked in its own iteration is of no more use to a caller, or to whoever else gets it.
        let spent = is_walked && at.loops.last().is_some_and(|own| script.trains_in(*own));
        let left = script.rehearsal.returned.contains(&carried.id)
            || script.rehearsal.handed_over.contains(&carried.id);
        if left && !spent {
            continue;
        }
        let at = if over_batches { doubted_in_tests(at) } else { doubted_uncalled(at) };
        let (last, kept) = (at.loops.last().copied(), script.kept_around(&at));
        let count = last.and_then(|round| script.rehearsal.loop_info(round).count.known());
        let steps = count.and_then(|count| u64::try_from(count).ok());
        let in_training = is_freed(script, &at, &carried.value.graph);
        found.push(RetainedGraph { kept, steps, in_training, ..RetainedGraph::of(at, carried, is_walked) });
    }
    found
}

/// Whether a backward pass goes through what is kept, as far as its parts say so, or runs in its own loop: one of
/// another loss, as of an epoch around a validation, frees nothing of it.
fn is_freed(script: &Script, at: &At, graph: &Graph) -> bool {
    let own = at.loops.last().is_some_and(|own| script.trains_in(*own));
    graph.is_shown()
        || if graph.parts().iter().next().is_some() { is_walked_inside(script, graph) } else { own }
}

/// Whether a backward went through something that a module computed which trains within its own forward.
fn is_walked_inside(script: &Script, graph: &Graph) -> bool {
    let parts = &script.rehearsal.parts;
    let mut open: Vec<u32> = graph.parts().iter().map(|part| part.id).collect();
    let mut seen = FxHashSet::default();
    while let Some(part) = open.pop() {
        let Some(info) = parts.get(part as usize).filter(|_| seen.insert(part)) else { continue };
        if !info.walks.is_empty() {
            return true;
        }
        open.extend(info.inner.iter().map(|part| part.id));
    }
    false
}

/// Whether the call of a method that nothing here calls goes back through what it keeps.
fn trains_in_call(script: &Script, at: &At, kept: &Tensor) -> bool {
    let is_of_kept = |loss: &Tensor| {
        let (parts, own) = (loss.graph.parts(), kept.graph.parts());
        parts.iter().any(|part| own.iter().any(|own| own.id == part.id))
    };
    script.passes().any(|(other, sight)| {
        // What a step returns is walked by the framework that called it.
        let (Sight::Backward { loss, .. } | Sight::Walked { loss, .. }) = sight else { return false };
        other.seeded == at.seeded && other.loops.is_empty() && is_of_kept(loss)
    })
}

/// So many of the loops around hold a place where what is gathered starts anew.
fn reset_within(script: &Script, at: &At, carried: &Carried) -> usize {
    let resets = script.observed::<Reset>();
    resets.map(|(place, reset)| reset.bounds(place, &carried.holders, at)).max().unwrap_or(0)
}

/// Whether the container itself is emptied in each iteration: `self.features.clear()` at its head.
fn is_emptied_each_time(script: &Script, at: &At, carried: &Carried) -> bool {
    script.observed::<Reset>().any(|(place, reset)| {
        reset.is_emptying() && place.loops == at.loops && reset.bounds(place, &carried.holders, at) > 0
    })
}

/// The time steps of a batch: they are counted, and what holds them is made for each batch. So is what a batch of a
/// loader is asked for several times.
fn is_of_one_batch(script: &Script, at: &At, outlived: &[LoopId]) -> bool {
    let counts = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Counter);
    let loads = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(_));
    let mut around = at.loops.iter().take_while(|id| !outlived.contains(id));
    outlived.iter().all(counts) && !at.loops.iter().all(counts)
        || !outlived.iter().any(loads) && around.any(loads)
}

/// Rounds that are counted out for each batch of a loader: what backward leaves of them goes with the batch.
fn is_of_few_rounds(script: &Script, at: &At, outlived: &[LoopId]) -> bool {
    let around = || at.loops.iter().filter(|id| !outlived.contains(id));
    is_of_one_batch(script, at, outlived)
        && around().any(|id| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(_)))
}

/// What is emptied in each iteration of a loop around it, and until then gathers no batches of a loader, but the
/// updates after an episode: what backward leaves of them is little, and goes with them.
fn is_of_one_episode(script: &Script, at: &At, carried: &Carried, outlived: &[LoopId]) -> bool {
    let loads = |id: &LoopId| matches!(script.rehearsal.loop_info(*id).over, Over::Loader(_));
    let is_emptied =
        |(place, reset): (&At, &Reset)| reset.is_emptying() && reset.bounds(place, &carried.holders, at) > 0;
    !outlived.iter().any(loads) && script.observed::<Reset>().any(is_emptied)
}

/// Steps of a search that nothing calls: its callers may have switched gradients off.
fn doubted_uncalled(at: &At) -> At {
    let confidence = if at.seeded.is_some() { Confidence::Low } else { at.confidence };
    At { confidence, ..at.clone() }
}

/// What is kept of an iteration, with something behind it that lets the graph go.
fn let_go(script: &Script, kept: &RetainedGraph, suffix: &str) -> Option<Vec<Edit>> {
    let place = kept.at.place;
    let draft = script.draft(place.file);
    let added = match kept.by {
        Carry::Append => {
            let call = draft.call_at(place.span).filter(|_| kept.is_tensor)?;
            call.args.last()?.value
        }
        Carry::Sum => match &draft.statement(draft.statement_at(place.span)?).kind {
            StmtKind::AugAssign { value, .. } => *value,
            StmtKind::Assign { targets, value } => {
                let [target] = **targets else { return None };
                other_summand(draft, *value, draft.written(target))?
            }
            _ => return None,
        },
    };
    let (draft, added) = where_it_is_given(script, &kept.at, draft, added)?;
    let added = draft.expr(added);
    if is_display(added) { None } else { draft.append(added.span, suffix) }
}

/// An expression of a function's own parameter as the argument of the call that led there: the function may
/// be called with something else elsewhere, a number in place of a tensor.
fn where_it_is_given<'a>(
    script: &Script<'a>,
    at: &At,
    draft: Draft<'a>,
    expr: ExprId,
) -> Option<(Draft<'a>, ExprId)> {
    let Some((position, is_method)) = draft.parameter_in(at.place.span, expr) else {
        return Some((draft, expr));
    };
    let (site, _) = at.calls.last()?;
    let draft = script.draft(site.file);
    let call = draft.call_at(site.span)?;
    let given = draft.positional(call, position.checked_sub(usize::from(is_method))?)?;
    Some((draft, given.value))
}

/// Of `total + loss` or `loss + total` what is added to `total`.
fn other_summand(draft: Draft<'_>, sum: ExprId, total: &str) -> Option<ExprId> {
    let ExprKind::Binary { op: BinaryOp::Add, left, right } = draft.expr(sum).kind else { return None };
    match (draft.written(left) == total, draft.written(right) == total) {
        (true, false) => Some(right),
        (false, true) => Some(left),
        _ => None,
    }
}

/// A display of a list or tuple keeps each of its items.
fn is_display(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::List(_)
            | ExprKind::Tuple(_)
            | ExprKind::Dict(_)
            | ExprKind::Set(_)
            | ExprKind::Comprehension(_)
    )
}
