//! A backward through layers whose weights an optimizer has changed since they were called.

use crate::apis::Verb;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, all_within};
use crate::interp::{BackwardCall, Checker, Declared, Interp};
use crate::report::{Confidence, Place, Severity};
use crate::trace::{At, Effect, GraphPart, visits};
use crate::values::{FlowState, Int, ObjId, ObjSet};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "inplace-between-backwards",
    summary: "an optimizer changes weights that a later backward pass still needs",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("inplace-between-backwards"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_effect: Some(stepped), on_backward: Some(walked), ..Checker::SILENT };

/// A gradient with respect to a layer's input needs its weights. The first layer's input may need none: of two at
/// least one has another before it.
const LAYERS: usize = 2;

/// So many calls of layers are looked through at a step, the latest.
const LATEST: usize = 1024;

/// What steps have changed on every way to this point.
#[derive(Clone, Default)]
struct Weights {
    /// Layers that have gradients.
    graded: ObjSet,
    /// Calls of layers whose weights were changed since, by the number of the part, and where.
    changed: Rc<Vec<(u32, Place)>>,
}

impl FlowState for Weights {
    fn join(&self, other: &Weights) -> Weights {
        let graded = self.graded.iter().filter(|layer| other.graded.contains(*layer)).collect();
        if Rc::ptr_eq(&self.changed, &other.changed) {
            return Weights { graded, changed: self.changed.clone() };
        }
        let others: FxHashSet<u32> = other.changed.iter().map(|(id, _)| *id).collect();
        let both = |entry: &&(u32, Place)| others.contains(&entry.0);
        Weights { graded, changed: Rc::new(self.changed.iter().filter(both).copied().collect()) }
    }
}

/// A backward pass is about to raise.
struct Outdated {
    step: Place,
    forward: Place,
}

/// A backward in a loop goes through what layers recorded before the loop began: these layers, and where they ran.
struct Older(Vec<(ObjId, Place)>);

fn stepped(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    let optimizer = declared.arg(0).as_obj().filter(|_| declared.verb() == Verb::Step);
    let Some(owned) = optimizer.and_then(|object| {
        let object = cx.heap.get(object);
        let state =
            object.optimizer().filter(|state| !state.managed && object.confidence == Confidence::High);
        state.map(|state| state.owns.clone())
    }) else {
        return;
    };
    let Some(weights) = cx.heap.state::<Weights>().cloned() else { return };
    let stepped = all_within(&cx.heap, &owned);
    let changes = |part: &GraphPart| {
        part.layer.is_some_and(|layer| stepped.contains(layer) && weights.graded.contains(layer))
    };
    let first = cx.out.parts.len().saturating_sub(LATEST);
    let latest = cx.out.parts.iter().enumerate().skip(first);
    let place = declared.call.place;
    let changed: Vec<(u32, Place)> =
        latest.filter(|(_, part)| changes(part)).map(|(id, _)| (id as u32, place)).collect();
    let new: FxHashSet<u32> = changed.iter().map(|(id, _)| *id).collect();
    cx.heap.update(|weights: &mut Weights| {
        let older = weights.changed.iter().filter(|(id, _)| !new.contains(id)).copied();
        weights.changed =
            Rc::new(older.filter(|(id, _)| *id as usize >= first).chain(changed.clone()).collect());
    });
}

fn walked(cx: &mut Interp<'_>, backward: &BackwardCall<'_>) {
    let weights = cx.heap.state::<Weights>().cloned().unwrap_or_default();
    let parts = if weights.changed.is_empty() { Vec::new() } else { cx.sure_parts(&backward.loss.graph) };
    let parts: FxHashSet<u32> = parts.into_iter().collect();
    let since = cx.loop_since();
    let is_of_this_pass = |id: &u32| cx.out.parts[*id as usize].epoch >= since && !is_freed(cx, *id);
    let outdated: Vec<(u32, Place)> =
        weights.changed.iter().filter(|(id, _)| parts.contains(id) && is_of_this_pass(id)).copied().collect();
    if let Some((id, step)) = outdated.first().filter(|_| outdated.len() >= LAYERS) {
        let forward = cx.out.parts[*id as usize].place;
        cx.observe(backward.call.place, Outdated { step: *step, forward }, backward.loss.confidence);
    }
    walked_older(cx, backward);
    let leaves = all_within(&cx.heap, backward.leaves);
    cx.heap.update(|weights: &mut Weights| weights.graded = weights.graded.union(&leaves));
}

/// `for _ in range(epochs): (values - returns).pow(2).mean().backward(retain_graph=True)`, of values from before.
fn walked_older(cx: &mut Interp<'_>, backward: &BackwardCall<'_>) {
    let since = cx.loop_since();
    if !cx.in_loop() || !cx.in_each_iteration() {
        return;
    }
    let parts = cx.sure_parts(&backward.loss.graph);
    let older = parts.iter().map(|id| &cx.out.parts[*id as usize]).filter(|part| part.epoch < since);
    let layers: Vec<(ObjId, Place)> = older
        .filter(|part| part.hidden.is_none())
        .filter_map(|part| Some((part.layer?, part.place)))
        .take(LATEST)
        .collect();
    if layers.len() >= LAYERS {
        cx.observe(backward.call.place, Older(layers), backward.loss.confidence);
    }
}

/// Backward passes that raise in the second iteration of their loop, where each ends with a step of these layers.
fn in_second_iterations<'a>(script: &Script<'a>) -> Vec<(&'a At, Outdated)> {
    let heap = &script.rehearsal.heap;
    let found = script.observed_once::<Older>().filter_map(|(at, older)| {
        let own = *at.loops.last()?;
        let passes = &script.rehearsal.backward_passes;
        let is_kept = passes.iter().any(|pass| pass.place == at.place && pass.retains == Some(true));
        if !is_kept || script.rehearsal.loop_info(own).count == Int::Known(1) {
            return None;
        }
        let entries = script.rehearsal.entries.iter().filter(|entry| entry.function == at.seeded);
        entries.into_iter().find_map(|entry| {
            let steps = visits(&entry.nodes, |effect| matches!(effect, Effect::Step { .. }));
            steps.iter().filter(|step| step.always && step.innermost() == Some(own)).find_map(|step| {
                let Effect::Step { optimizer, .. } = step.event.effect else { return None };
                let state = heap.get(optimizer).optimizer().filter(|state| !state.managed)?;
                let owned = state
                    .owns
                    .iter()
                    .fold(state.owns.clone(), |all, object| all.union(&heap.descendants(object)));
                let stepped: Vec<&(ObjId, Place)> =
                    older.0.iter().filter(|(layer, _)| owned.contains(*layer)).collect();
                let (_, forward) = **stepped.first()?;
                (stepped.len() >= LAYERS).then_some((at, Outdated { step: step.event.place, forward }))
            })
        })
    });
    found.collect()
}

/// Whether an earlier backward has walked it and let it go: that is another error.
fn is_freed(cx: &Interp<'_>, id: u32) -> bool {
    let walks = &cx.out.parts[id as usize].walks;
    let earlier = walks.split_last().map_or(&[][..], |(_, earlier)| earlier);
    earlier.iter().any(|walk| cx.out.backward_passes[*walk as usize].retains == Some(false))
}

fn check(script: &Script, out: &mut Findings) {
    let later = in_second_iterations(script);
    let later = later.iter().map(|(at, outdated)| (*at, outdated));
    for (at, seen) in script.observed_once::<Outdated>().chain(later) {
        let message = "`backward()` needs weights that `step()` has modified since the forward pass";
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(seen.forward, "the forward pass saves its weights for the backward pass here")
            .because(seen.step, "the optimizer modifies them in place here")
            .note("PyTorch raises `one of the variables needed for gradient computation has been modified by an inplace operation`")
            .help("call every `backward()` before the first `step()`, or run the forward pass again after it");
        out.push(finding, at);
    }
}
