//! Losses without a graph, and parameters whose only way to a loss was detached.

use crate::facts::{Places, Script};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, LoopId, Node, Sight, visits};
use crate::values::{DetachPoint, Graph, Heap, Learned, ObjId, ObjSet, OptimizerState, State, Tensor, Value};
use std::rc::Rc;
use ustr::Ustr;

pub(in crate::checks) struct DetachedLoss {
    pub at: At,
    /// Where the graph was left; `None` where the loss was made of a bare number.
    pub point: Option<(Place, Option<Ustr>)>,
    /// `None` where what steps is not known.
    pub optimizer: Option<ObjId>,
    /// A method returns it, and the framework calls `backward()`.
    pub returned: bool,
    pub why: Why,
}

/// What leaves a loss without a graph.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::checks) enum Why {
    /// Something on its way was detached.
    Detached,
    /// All that the optimizer has is frozen.
    AllFrozen,
    /// It is computed by frozen layers alone, and not by those that the optimizer has.
    FrozenAlone,
}

pub(in crate::checks) struct BrokenGraph {
    pub at: At,
    pub by: Option<Ustr>,
    /// What gets no gradients.
    pub part: String,
    pub backward: Place,
}

/// An optimizer's step, and the loops around it.
struct Stepping {
    optimizer: Option<ObjId>,
    loops: Vec<LoopId>,
}

/// Backward passes that reach nothing of what the optimizer beside them steps.
pub(in crate::checks) fn detached_losses(script: &Script) -> Vec<DetachedLoss> {
    let stepping = stepping(script);
    let mut seen = Places::default();
    let mut found = returned_losses(script);
    for (at, sight) in script.sightings() {
        let Sight::Backward { loss, .. } = sight else { continue };
        // What only wakes autograd up, or takes a gradient of its own, outside of any loop, is nobody's loss.
        let alone = |step: &&Stepping| matches!(loss.graph, Graph::None) || step.loops.is_empty();
        let beside =
            |step: &&Stepping| at.loops.last().map_or_else(|| alone(step), |id| step.loops.contains(id));
        let mut optimizers = stepping.iter().filter(beside);
        let first = optimizers.next();
        // A leaf has nothing behind it, whatever an optimizer owns.
        let known = |step: &Stepping| {
            loss.is_leaf || step.optimizer.is_some_and(|optimizer| owns_only_known(script, optimizer))
        };
        // What was just detached raises an error, whoever steps and wherever.
        let raises = just_detached(loss).is_some();
        let mut others = optimizers.clone();
        let certain = raises || first.is_some_and(known) && optimizers.all(known);
        let still =
            |step: &Stepping| step.optimizer.is_some_and(|optimizer| trains_nothing(script, optimizer));
        let frozen = matches!(loss.graph, Graph::None) && first.is_some_and(still) && others.all(still);
        let why = match () {
            () if frozen => Why::AllFrozen,
            () if certain && is_detached(loss) => Why::Detached,
            () if certain && is_of_frozen_layers(loss) => Why::FrozenAlone,
            () => continue,
        };
        if is_dry_run(script, at, loss) || !seen.insert(at.place) {
            continue;
        }
        let point = loss.detach_points.as_ref().and_then(|detach_points| detach_points.first());
        let made = loss.made.filter(|made| *made != at.place).map(|made| (made, loss.what));
        found.push(DetachedLoss {
            at: At { confidence: at.confidence.min(loss.confidence), ..at.clone() },
            point: point.map(|point| (point.place, point.by)).or(made),
            optimizer: first.and_then(|step| step.optimizer),
            returned: false,
            why,
        });
    }
    found
}

/// A made-up number is the loss, and no model runs: what is watched is a schedule.
fn is_dry_run(script: &Script, at: &At, loss: &Tensor) -> bool {
    loss.is_leaf && !at.loops.iter().any(|id| script.runs_models_in(*id))
}

/// `return loss.detach()`, or of an output that was detached, where the framework goes back through what a method
/// returns.
fn returned_losses(script: &Script) -> Vec<DetachedLoss> {
    let mut seen = Places::default();
    let mut found = Vec::new();
    for (at, sight) in script.sightings() {
        let Sight::Walked { loss, returned } = sight else { continue };
        let cut = || loss.detach_points.as_ref().filter(|_| *returned && matches!(loss.graph, Graph::None));
        let point = just_detached(loss).or_else(|| cut()?.iter().find(|point| !point.lost.is_empty()));
        let Some(point) = point.filter(|_| is_detached(loss)) else { continue };
        if seen.insert(point.place) {
            found.push(DetachedLoss {
                at: At { place: point.place, confidence: at.confidence.min(loss.confidence), ..at.clone() },
                point: Some((point.place, point.by)),
                optimizer: None,
                returned: true,
                why: Why::Detached,
            });
        }
    }
    found
}

/// `loss.detach().backward()`: whatever was behind it.
fn just_detached(loss: &Tensor) -> Option<&DetachPoint> {
    let mut points = loss.detach_points.iter().flat_map(|points| points.iter());
    points.find(|point| Some(point.place) == loss.made && point.by.is_some())
}

/// Parameters whose only way to a loss was detached.
pub(in crate::checks) fn broken_graphs(script: &Script) -> Vec<BrokenGraph> {
    if script.rehearsal.blind_backward {
        return Vec::new();
    }
    let cuts = Cuts { script, stepping: stepping(script), applied: applied(script), all: cuts(script) };
    let mut seen = Places::default();
    let mut found = Vec::new();
    for cut in &cuts.all {
        let Some(part) = cuts.lost_for_good(cut) else { continue };
        if !seen.insert(cut.point.place) {
            continue;
        }
        let at = cut.at;
        let confidence = at.confidence.min(cut.loss.confidence).min(Confidence::Medium);
        found.push(BrokenGraph {
            at: At { place: cut.point.place, calls: Rc::from([]), confidence, ..at.clone() },
            by: cut.point.by,
            part,
            backward: at.place,
        });
    }
    found
}

/// What was detached on the way to a loss that otherwise learns.
struct Cut<'s> {
    point: &'s DetachPoint,
    loss: &'s Tensor,
    at: &'s At,
}

struct Cuts<'s> {
    script: &'s Script<'s>,
    stepping: Vec<Stepping>,
    /// Backward passes, and what steps next after each.
    applied: Vec<(Place, Option<ObjId>)>,
    all: Vec<Cut<'s>>,
}

fn cuts<'s>(script: &'s Script<'s>) -> Vec<Cut<'s>> {
    let mut all = Vec::new();
    for (at, sight) in script.sightings() {
        let Sight::Backward { loss, .. } = sight else { continue };
        if loss.graph.is_live() && !is_detached(loss) {
            let points = loss.detach_points.iter().flat_map(|points| points.iter());
            all.extend(points.map(|point| Cut { point, loss, at }));
        }
    }
    all
}

fn applied(script: &Script) -> Vec<(Place, Option<ObjId>)> {
    let mut all = Vec::new();
    for entry in &script.rehearsal.entries {
        let wanted = |effect: &Effect| {
            matches!(effect, Effect::Backward { .. } | Effect::Step { .. } | Effect::UnseenStep)
        };
        let mut waiting: Vec<Place> = Vec::new();
        for visit in visits(&entry.nodes, wanted) {
            match visit.event.effect {
                Effect::Backward { .. } => waiting.push(visit.event.place),
                Effect::Step { optimizer, .. } => {
                    all.extend(waiting.drain(..).map(|backward| (backward, Some(optimizer))));
                }
                _ => all.extend(waiting.drain(..).map(|backward| (backward, None))),
            }
        }
    }
    all
}

impl Cuts<'_> {
    /// What a detach point costs that an optimizer is to train, and nothing else leads to.
    fn lost_for_good(&self, cut: &Cut) -> Option<String> {
        let heap = &self.script.rehearsal.heap;
        let trained = |part: ObjId| self.stepping.iter().any(|step| owns(heap, step.optimizer, part));
        let point = cut.point;
        // Features of a model from elsewhere, and what runs where no gradients are recorded, are frozen on purpose.
        point.by?;
        let asks = |part: ObjId| {
            let own = |weights| weights != Learned::Opaque;
            heap.get(part).module().is_some_and(|module| module.frozen == Some(false) && own(module.weights))
        };
        // What a forward gives in an object of its own, a distribution, leads to the layers and not to the module.
        let (reached, walked) = (&self.script.rehearsal.reached, &self.script.rehearsal.walked);
        let reached = |part: ObjId| reached.contains(&part) || all_within(heap, part, walked);
        if point.lost.iter().any(reached) {
            return None;
        }
        let part = point
            .lost
            .iter()
            .find(|part| asks(*part) && trained(*part) && !self.is_lost_elsewhere(cut, *part))?;
        Some(name_of_part(self.script, part))
    }

    /// Whether a part is not to learn of this loss, but of another, which loses it at a point of its own.
    fn is_lost_elsewhere(&self, cut: &Cut, part: ObjId) -> bool {
        let heap = &self.script.rehearsal.heap;
        let trains = |cut: &Cut| {
            let mut after = self.applied.iter().filter(|(backward, _)| *backward == cut.at.place);
            after.any(|(_, optimizer)| optimizer.is_none() || owns(heap, *optimizer, part))
        };
        let loses = |other: &&Cut| other.point.place != cut.point.place && other.point.lost.contains(part);
        !trains(cut) && self.all.iter().filter(loses).any(trains)
    }
}

/// Whether what an optimizer steps has a part in it.
fn owns(heap: &Heap, optimizer: Option<ObjId>, part: ObjId) -> bool {
    let state = optimizer.and_then(|optimizer| heap.get(optimizer).optimizer());
    state.is_some_and(|state| state.owns.iter().any(|owner| heap.descendants(owner).contains(part)))
}

/// Whether backward passes go to all layers within a module that learn, if it has any.
fn all_within(heap: &Heap, module: ObjId, walked: &ObjSet) -> bool {
    let learns =
        |part: &ObjId| heap.get(*part).module().is_some_and(|inner| inner.weights != Learned::Nothing);
    let layers = heap.descendants(module);
    let mut layers = layers.iter().filter(|part| *part != module && learns(part)).peekable();
    layers.peek().is_some() && layers.all(|part| walked.contains(part))
}

fn name_of_part(script: &Script, part: ObjId) -> String {
    // A layer of a container goes by the container's name.
    let holder = container_of(script, part).unwrap_or(part);
    match script.display_name(holder) {
        Some(name) => format!("`{name}`"),
        None => "the layers before it".to_owned(),
    }
}

fn container_of(script: &Script, part: ObjId) -> Option<ObjId> {
    let heap = &script.rehearsal.heap;
    let numbers = |name: &str| name.bytes().all(|letter| letter.is_ascii_digit());
    (0..heap.len() as u32).map(ObjId).find(|holder| {
        let here = heap.get(*holder);
        let holds = |(name, value): &(Ustr, Value)| numbers(name) && value.as_obj() == Some(part);
        here.module().is_some() && here.attrs.iter().any(holds)
    })
}

/// All that an optimizer owns is known to us.
fn owns_only_known(script: &Script, optimizer: ObjId) -> bool {
    matches!(
        &script.rehearsal.heap.get(optimizer).state,
        State::Optimizer(OptimizerState { owns, others: false, .. }) if !owns.is_empty()
    )
}

/// All that an optimizer owns is known to us, and frozen.
fn trains_nothing(script: &Script, optimizer: ObjId) -> bool {
    let heap = &script.rehearsal.heap;
    let State::Optimizer(state) = &heap.get(optimizer).state else { return false };
    let is_frozen = |part: ObjId| heap.get(part).module().is_some_and(|module| module.frozen == Some(true));
    owns_only_known(script, optimizer)
        && state.owns.iter().all(|owner| heap.descendants(owner).iter().all(is_frozen))
}

fn stepping(script: &Script) -> Vec<Stepping> {
    let mut all = Vec::new();
    for entry in &script.rehearsal.entries {
        collect_steps(&entry.nodes, &mut Vec::new(), &mut all);
    }
    all
}

fn collect_steps(nodes: &[Node], around: &mut Vec<LoopId>, all: &mut Vec<Stepping>) {
    for node in nodes {
        match node {
            Node::Event(event) => {
                let optimizer = match event.effect {
                    Effect::Step { optimizer, .. } => Some(optimizer),
                    Effect::UnseenStep => None,
                    _ => continue,
                };
                all.push(Stepping { optimizer, loops: around.clone() });
            }
            Node::Loop { id, body } => {
                around.push(*id);
                collect_steps(body, around, all);
                around.pop();
            }
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| collect_steps(arm, around, all)),
            Node::Call { body, .. } => collect_steps(body, around, all),
            Node::Exit(_) => {}
        }
    }
}

/// Layers with weights made the numbers of a loss, and none of them asks for gradients.
fn is_of_frozen_layers(loss: &Tensor) -> bool {
    loss.learned && matches!(loss.graph, Graph::None) && loss.detach_points.is_none()
}

/// No parameter hangs on a loss, on whatever way it was computed.
fn is_detached(loss: &Tensor) -> bool {
    match &loss.graph {
        Graph::None => loss.detach_points.is_some(),
        // It asks for gradients itself, and nobody asks it.
        Graph::Live(nodes) => {
            nodes.own
                && nodes.leaves.is_empty()
                && !nodes.maybe
                && (loss.is_leaf || loss.detach_points.is_some())
        }
        Graph::Unknown => false,
    }
}
