//! A distributed sampler that is never told its epoch.

use super::loaders::{at_loader, epochs, is_shared_by_script, training_loops};
use super::processes::EpochSet;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Place, Severity};
use crate::syntax::{ExprKind, StmtKind};
use crate::trace::{At, Effect, EntryPoint, LoopId, LoopInfo, Node, Over};
use crate::values::{ObjId, Orders, SamplerState, State, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "missing-set-epoch",
    summary: "`DistributedSampler` without `set_epoch()` repeats the same order every epoch",
    group: Group::Distributed,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("missing-set-epoch"),
    check,
};

/// A sampler whose order is the same in each epoch.
struct SameEpochs {
    at: At,
    epochs: Place,
}

fn check(script: &Script, out: &mut Findings) {
    let mut seen = FxHashSet::default();
    for (id, loader) in training_loops(script) {
        for same in same_epochs(script, id, loader) {
            if optimizes(script) && seen.insert(same.at.place) {
                report(script, &same, out);
            }
        }
    }
}

/// Who only measures gradients goes through all of the data, in whichever order.
fn optimizes(script: &Script) -> bool {
    script.steps_anywhere() || script.rehearsal.heap.optimizers().next().is_some()
}

fn report(script: &Script, same: &SameEpochs, out: &mut Findings) {
    let fix = told_epoch(script, same.at.place, same.epochs);
    out.push(
        script
            .finding(RULE.id, RULE.severity, &same.at, "every epoch uses the same shuffling order")
            .because(same.epochs, "this loop never calls `set_epoch()`")
            .note("the sampler seeds its shuffle with the epoch, which stays 0")
            .fix(fix.map(|edits| Fix::safe("call `set_epoch()` every epoch", edits)))
            .help("call `sampler.set_epoch(epoch)` at the start of each epoch"),
        &same.at,
    );
}

/// The samplers of a loader that nobody tells in which epoch they are.
fn same_epochs(script: &Script, id: LoopId, loader: ObjId) -> Vec<SameEpochs> {
    let Some(epochs) = epochs(script, id) else { return Vec::new() };
    if !is_shared_by_script(script, loader) {
        return Vec::new();
    }
    let same = |(sampler, state): (ObjId, SamplerState)| {
        let place = state.shared_at.filter(|_| state.orders.meets(Orders::SHARED_RANDOM))?;
        let at = at_loader(script, loader, id).filter(|_| !may_know_epoch(script, sampler, loader))?;
        Some(SameEpochs { at: At { place, calls: Rc::from([]), ..at }, epochs })
    };
    samplers(script, loader).into_iter().filter_map(same).collect()
}

/// The samplers that a loader may take its samples by, through those that make batches.
fn samplers(script: &Script, loader: ObjId) -> Vec<(ObjId, SamplerState)> {
    let heap = &script.rehearsal.heap;
    let mut found = Vec::new();
    let named = |object: ObjId, name: &str| heap.attr(object, Ustr::from(name)).and_then(Value::as_obj);
    let mut next: Vec<ObjId> =
        ["sampler", "batch_sampler"].iter().filter_map(|name| named(loader, name)).collect();
    while let Some(object) = next.pop() {
        if let State::Sampler(state) = &heap.get(object).state
            && !found.iter().any(|(known, _)| *known == object)
        {
            found.push((object, *state));
            next.extend(named(object, "sampler"));
        }
    }
    found
}

/// Whether anything may have told a sampler its epoch.
fn may_know_epoch(script: &Script, sampler: ObjId, loader: ObjId) -> bool {
    let told = script.observed::<EpochSet>().next().is_some();
    let out_of_sight = |entry: &EntryPoint| touches(&entry.nodes, &[sampler, loader]);
    told || script.rehearsal.entries.iter().any(out_of_sight)
}

fn touches(nodes: &[Node], objects: &[ObjId]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => match &event.effect {
            Effect::Touch { objects: touched, .. } => objects.iter().any(|object| touched.contains(*object)),
            _ => false,
        },
        Node::Loop { body, .. } | Node::Call { body, .. } => touches(body, objects),
        Node::Branch { arms, .. } => arms.iter().any(|arm| touches(arm, objects)),
        Node::Exit(_) => false,
    })
}

/// A call of the sampler's `set_epoch` with the number of the epoch, at the head of the loop over epochs.
fn told_epoch(script: &Script, made: Place, epochs: Place) -> Option<Vec<Edit>> {
    let draft = script.draft(made.file);
    let statement = draft.statement_at(made.span)?;
    let name = match &draft.statement(statement).kind {
        StmtKind::Assign { targets, value } => {
            let [target] = **targets else { return None };
            (draft.expr(*value).span == made.span).then_some(target)?
        }
        _ => return None,
    };
    let round = draft.statement_at(epochs.span).filter(|_| epochs.file == made.file)?;
    let StmtKind::For { target, body, .. } = &draft.statement(round).kind else { return None };
    let ExprKind::Name(_) = draft.expr(*target).kind else { return None };
    let counts = |info: &LoopInfo| info.place == epochs && matches!(info.over, Over::Counter);
    let (block, at) = draft.beside(statement)?;
    // It has to be there, under this name, whenever the loop is reached.
    let is_before = draft.statements_around(epochs.span).iter().any(|stmt| block[at..].contains(stmt));
    let known = is_before && draft.same_function(made.span, epochs.span);
    if !known || !script.rehearsal.loops.iter().any(counts) {
        return None;
    }
    let code = format!("{}.set_epoch({})", draft.plain(name)?, draft.written(*target));
    Some(vec![draft.insert_before(draft.line(*body.first()?)?, &code)])
}
