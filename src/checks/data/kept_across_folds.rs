//! Models that go from fold to fold of a cross-validation with what they learned: all but the first are validated on
//! samples that they were trained on. A concern of `leaked-test-data`.

use super::leaked_test_data::RULE;
use crate::apis::Transfer;
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Interp, Invocation, LoopOver, collect_tensors};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Event, Exit, FnKey, LoopId, LoopInfo, Node};
use crate::values::{COPIED, Heap, Items, ObjId, ObjSet, State, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) static CHECKER: Checker =
    Checker { on_call: Some(split), on_loop: Some(begun), ..Checker::SILENT };

/// Where samples are split into folds.
#[derive(Default)]
struct Splits(FxHashSet<Place>);

/// A loop goes through the folds, and perhaps through models or what has some.
struct OverFolds {
    beside: ObjSet,
}

fn split(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.gives.map(|gives| gives.verb) == Some(Transfer::Folds) {
        cx.remember(|splits: &mut Splits| splits.0.insert(call.place));
    }
}

fn begun(cx: &mut Interp<'_>, over: &LoopOver<'_>) {
    let mut indices = Vec::new();
    collect_tensors(over.any, &mut indices);
    let made: Vec<Place> = indices.iter().filter_map(|tensor| tensor.made).collect();
    if cx.remember(|splits: &mut Splits| made.iter().any(|place| splits.0.contains(place))) {
        let beside = objects_in(over.any, cx);
        cx.observe(over.place, OverFolds { beside }, Confidence::High);
    }
}

/// The objects that stand for all items of a list of unknown length.
fn held_as_one(heap: &Heap) -> ObjSet {
    let lists = (0..heap.len() as u32).filter_map(|object| match &heap.get(ObjId(object)).state {
        State::List(Items { exact: None, any, .. }) => any.as_obj(),
        _ => None,
    });
    lists.fold(ObjSet::default(), |all, one| all.union(&heap.descendants(one)))
}

/// The objects that a loop draws, with what is inside of them: others in each iteration.
fn objects_in(any: &Value, cx: &Interp<'_>) -> ObjSet {
    match any.bare() {
        Value::Tuple(parts) => {
            parts.iter().fold(ObjSet::default(), |all, part| all.union(&objects_in(part, cx)))
        }
        Value::Obj(object) => cx.heap.descendants(*object).union(&ObjSet::one(*object)),
        _ => ObjSet::default(),
    }
}

pub(super) fn check(script: &Script, out: &mut Findings) {
    let seen: Vec<(Place, &ObjSet)> =
        script.observed::<OverFolds>().map(|(at, over)| (at.place, &over.beside)).collect();
    if seen.is_empty() {
        return;
    }
    let over_folds: FxHashSet<Place> = seen.iter().map(|(place, _)| *place).collect();
    for entry in &script.rehearsal.entries {
        let mut loops = Vec::new();
        loops_at(script, &over_folds, &entry.nodes, &mut loops);
        for (id, body) in loops {
            let folds = script.rehearsal.loop_info(id);
            let mut renewed = ObjSet::default();
            for (_, beside) in seen.iter().filter(|(place, _)| *place == folds.place) {
                renewed = renewed.union(beside);
            }
            renewed = renewed.union(&held_as_one(&script.rehearsal.heap));
            made_in_others(&folds.outer, &entry.nodes, &mut renewed);
            if let Some(kept) = kept_through(script, folds, body, renewed) {
                report(script, folds, &kept, entry.function, out);
            }
        }
    }
}

/// What is made in loops that do not hold the folds: a list of models, perhaps, one for each.
fn made_in_others(outer: &[LoopId], nodes: &[Node], out: &mut ObjSet) {
    for node in nodes {
        match node {
            Node::Loop { id, body } if outer.contains(id) => made_in_others(outer, body, out),
            Node::Loop { body, .. } => {
                let mut others = Fold::default();
                others.gather(body, Way { every: false, within: true, site: None });
                *out = out.union(&others.made);
            }
            Node::Call { body, .. } => made_in_others(outer, body, out),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| made_in_others(outer, arm, out)),
            Node::Event(_) | Node::Exit(_) => {}
        }
    }
}

/// The loops over folds, with what happens in them.
fn loops_at<'s>(
    script: &Script,
    over_folds: &FxHashSet<Place>,
    nodes: &'s [Node],
    out: &mut Vec<(LoopId, &'s [Node])>,
) {
    for node in nodes {
        match node {
            Node::Loop { id, body } if over_folds.contains(&script.rehearsal.loop_info(*id).place) => {
                out.push((*id, body));
            }
            Node::Loop { body, .. } | Node::Call { body, .. } => loops_at(script, over_folds, body, out),
            Node::Branch { arms, .. } => {
                arms.iter().for_each(|arm| loops_at(script, over_folds, arm, out));
            }
            Node::Event(_) | Node::Exit(_) => {}
        }
    }
}

/// What happens in each fold.
#[derive(Default)]
struct Fold<'s> {
    /// Trainings in every fold, with the place in the loop's own function that leads there.
    trains: Vec<(&'s Event, Place)>,
    /// What gets other weights, or may.
    renewed: ObjSet,
    made: ObjSet,
}

#[derive(Clone, Copy)]
struct Way {
    /// This happens in every fold.
    every: bool,
    /// In a loop of the fold, which batches are trained with does not matter.
    within: bool,
    /// The call that leads out of the function that holds the loop.
    site: Option<Place>,
}

impl<'s> Fold<'s> {
    fn gather(&mut self, nodes: &'s [Node], way: Way) {
        for node in nodes {
            match node {
                Node::Event(event) => match &event.effect {
                    Effect::Step { .. } | Effect::Fitted { .. } if way.every => {
                        self.trains.push((event, way.site.unwrap_or(event.place)));
                    }
                    Effect::Redraw { objects }
                    | Effect::Restore { objects }
                    | Effect::Touch { objects, .. } => {
                        self.renewed = self.renewed.union(objects);
                    }
                    Effect::Made { object } => self.made = self.made.union(&ObjSet::one(*object)),
                    _ => {}
                },
                Node::Loop { body, .. } => self.gather(body, Way { within: true, ..way }),
                Node::Call { site, body, .. } => {
                    self.gather(body, Way { site: way.site.or(Some(*site)), ..way });
                }
                Node::Branch { arms, .. } => {
                    let every = way.every && way.within;
                    arms.iter().for_each(|arm| self.gather(arm, Way { every, ..way }));
                }
                Node::Exit(_) => {}
            }
        }
    }
}

/// Whether some folds are left out, or the loop ends before the last.
fn chooses_folds(body: &[Node]) -> bool {
    body.iter().any(|node| match node {
        Node::Exit(exit) => matches!(exit, Exit::Break | Exit::Continue | Exit::Return),
        Node::Branch { arms, .. } => arms.iter().any(|arm| chooses_folds(arm)),
        _ => false,
    })
}

/// Models that are older than the folds and keep their weights from one to the next, and where they are trained.
struct Kept {
    models: ObjSet,
    place: Place,
    confidence: Confidence,
}

fn kept_through(script: &Script, folds: &LoopInfo, body: &[Node], others: ObjSet) -> Option<Kept> {
    if chooses_folds(body) {
        return None;
    }
    let mut fold = Fold::default();
    fold.gather(body, Way { every: true, within: false, site: None });
    let heap = &script.rehearsal.heap;
    let renewed = others.union(&fold.renewed).union(&fold.made);
    let is_kept = |object: ObjId| {
        let are_old = |part: ObjId| heap.get(part).epoch < folds.first && !renewed.contains(part);
        // A copy may be taken in each fold, also where the training is that of an optimizer that is not seen made.
        let is_made = heap.noted(object, COPIED).is_none();
        is_made && are_old(object) && heap.descendants(object).iter().all(are_old)
    };
    fold.trains.iter().find_map(|(event, place)| {
        let models = match &event.effect {
            Effect::Fitted { model, .. } => ObjSet::one(*model),
            Effect::Step { optimizer, .. } => heap.get(*optimizer).optimizer()?.owns.clone(),
            _ => return None,
        };
        let are_kept = !models.is_empty() && models.iter().all(is_kept);
        are_kept.then_some(Kept { models, place: *place, confidence: event.confidence })
    })
}

/// The model that has all of these layers.
fn whole(script: &Script, layers: &ObjSet) -> Option<ObjId> {
    let heap = &script.rehearsal.heap;
    let has_all = |object: &ObjId| {
        let parts = heap.descendants(*object);
        heap.get(*object).module().is_some() && layers.iter().all(|layer| parts.contains(layer))
    };
    (0..heap.len() as u32).map(ObjId).find(has_all)
}

fn report(script: &Script, folds: &LoopInfo, kept: &Kept, seeded: Option<FnKey>, out: &mut Findings) {
    let (loops, calls) = (Rc::from([]), Rc::from([]));
    let at = At { place: kept.place, loops, calls, seeded, confidence: kept.confidence };
    let message = "validation data leaks into training: the model keeps what it learned in earlier folds";
    let mut finding = script.finding(RULE.id, RULE.severity, &at, message);
    let model = whole(script, &kept.models).map(|model| script.rehearsal.heap.get(model).site);
    if let Some(made) = at.beside(model) {
        finding = finding.because(made, "the model is made once, before the folds");
    }
    let finding = finding
        .because(folds.place, "each iteration goes on training it with other samples")
        .note("from the second fold on it is validated on samples that it has been trained on")
        .help("make the model and its optimizer inside the loop, or load its first weights in each fold");
    out.push(finding, &at);
}
