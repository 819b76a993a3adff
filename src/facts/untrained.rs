//! Layers that nobody trains: a backward pass gives their parameters gradients, and no optimizer of the
//! script was given them.

use super::{Script, all_within, walked};
use crate::apis::Role;
use crate::report::{Confidence, Place};
use crate::source::counted;
use crate::trace::{At, Effect, EntryPoint, GraphPart, Visit, visits};
use crate::values::{COPIED, ClassRef, Learned, ObjId, ObjSet, OptimizerState, ParamGroup, Value};
use rustc_hash::FxHashSet;
use ustr::Ustr;

/// What an optimizer misses of a model that it trains.
pub struct Untrained {
    /// Where the optimizer is built.
    pub at: At,
    pub optimizer: String,
    /// What it misses: modules as a whole, by their names.
    pub parts: Vec<String>,
    /// Where the first of them is made.
    pub made: Place,
    pub backward: Place,
}

/// Where an optimizer was given its parameters.
struct Gathering<'v, 't> {
    optimizer: ObjId,
    entry: &'v EntryPoint,
    visit: &'v Visit<'t>,
}

impl Script<'_> {
    pub fn untrained(&self) -> Vec<Untrained> {
        let rehearsal = self.rehearsal;
        let acts: Vec<(&EntryPoint, Vec<Visit>)> =
            rehearsal.entries.iter().map(|entry| (entry, visits(&entry.nodes, matters))).collect();
        if rehearsal.out_of_fuel || rehearsal.blind_backward || !rehearsal.unknown_backwards.is_empty() {
            return Vec::new();
        }
        let Some(spared) = self.spared(acts.iter().flat_map(|(_, acts)| acts)) else { return Vec::new() };
        // A function that nobody calls may train what the file itself built.
        let all = acts.iter().flat_map(|(entry, acts)| acts.iter().map(|act| (*entry, act)));
        let gatherings: Vec<Gathering> = all
            .filter_map(|(entry, visit)| match visit.event.effect {
                Effect::Gather { optimizer, .. } => Some(Gathering { optimizer, entry, visit }),
                _ => None,
            })
            .collect();
        let mut missed = ObjSet::default();
        let mut found = Vec::new();
        let reaching = self.passes_that_reach_other_layers(&spared);
        for (_, acts) in &acts {
            for backward in acts.iter().filter(|act| matches!(act.event.effect, Effect::Backward { .. })) {
                let bare = self.bare_parameters(backward, &spared);
                if !reaching.contains(&backward.event.place) && bare.is_empty() {
                    continue;
                }
                let reached = self.layers_reached(backward.event.place).union(&bare);
                let rest: ObjSet = reached
                    .iter()
                    .filter(|layer| !spared.contains(*layer) && !missed.contains(*layer))
                    .filter(|layer| self.asks_for_gradients(*layer) && !self.is_copy(*layer, &spared))
                    .collect();
                if rest.is_empty() {
                    continue;
                }
                let own =
                    |gathering: &&Gathering| self.is_beside(gathering.optimizer, backward, acts, &reached);
                let gathering = counted(gatherings.iter()).find(own).or_else(|| {
                    let next = self.stepping_next(backward, acts, &reached, &spared)?;
                    counted(gatherings.iter()).find(|gathering| gathering.optimizer == next)
                });
                let Some(gathering) = gathering else { continue };
                missed = missed.union(&rest);
                found.extend(self.missing(gathering, backward, &rest));
            }
        }
        found
    }

    /// Whether a layer is a copy of what an optimizer has: a target network, which is copied anew now and then.
    fn is_copy(&self, layer: ObjId, spared: &ObjSet) -> bool {
        let original = self.rehearsal.heap.noted(layer, COPIED).and_then(Value::as_obj);
        original.is_some_and(|original| spared.contains(original))
    }

    fn missing(&self, gathering: &Gathering, backward: &Visit, rest: &ObjSet) -> Option<Untrained> {
        let Gathering { optimizer, entry, visit: gather } = *gathering;
        let whole = self.whole_parts(rest);
        let confidence = |object: ObjId| self.rehearsal.heap.get(object).confidence;
        let sure = rest.iter().map(confidence).fold(backward.event.confidence, Confidence::min);
        let sure = sure.min(gather.event.confidence).min(confidence(optimizer));
        Some(Untrained {
            at: walked(entry.function, gather.event.place, &gather.loops, &gather.calls, sure),
            optimizer: self.optimizer_name(optimizer),
            parts: whole.iter().map(|part| self.path_of(part)).collect(),
            made: self.rehearsal.heap.get(whole.iter().next()?).site,
            backward: backward.event.place,
        })
    }

    /// Parameters that no layer has, in the graph that a backward pass goes through: neither they nor what holds them
    /// is among these.
    fn bare_parameters(&self, backward: &Visit, spared: &ObjSet) -> ObjSet {
        let Effect::Backward { leaves, .. } = &backward.event.effect else { return ObjSet::default() };
        let is_bare = |leaf: &ObjId| {
            self.apis.class_of(Role::Parameter).map(ClassRef::Api)
                == Some(self.rehearsal.heap.get(*leaf).class)
        };
        let is_left = |leaf: &ObjId| {
            let holders = self.holders(*leaf);
            !holders.is_empty() && !holders.iter().any(|(holder, _)| spared.contains(*holder))
        };
        leaves.iter().filter(|leaf| !spared.contains(*leaf)).filter(is_bare).filter(is_left).collect()
    }

    /// What holds a parameter, and under which names.
    fn holders(&self, parameter: ObjId) -> Vec<(ObjId, Ustr)> {
        let heap = &self.rehearsal.heap;
        let is_it = |value: &Value| {
            value.as_tensor().is_some_and(|held| held.is_leaf && held.graph.leaves().contains(parameter))
        };
        let of_object = |index: usize| {
            let holder = ObjId(index as u32);
            let names = heap.get(holder).attrs.iter().filter(|(_, value)| is_it(value));
            names.map(|(name, _)| (holder, *name)).collect::<Vec<_>>()
        };
        counted(0..heap.len()).flat_map(of_object).collect()
    }

    /// The name of what is missed: of a parameter behind that of its module.
    fn path_of(&self, part: ObjId) -> String {
        match self.holders(part).first() {
            Some((holder, name)) if self.rehearsal.heap.get(*holder).module().is_some() => {
                format!("{}.{name}", self.name_or(*holder, "model"))
            }
            Some((_, name)) => name.to_string(),
            None => self.path_of_module(part),
        }
    }

    /// The name of a module; of an item of a container, behind that of the container.
    fn path_of_module(&self, module: ObjId) -> String {
        let heap = &self.rehearsal.heap;
        let holds = |holder: &ObjId| {
            let here = heap.get(*holder);
            let is_container = here.module().is_some() && matches!(here.class, ClassRef::Api(_));
            is_container && here.attrs.iter().any(|(_, value)| value.as_obj() == Some(module))
        };
        let name = self.name_or(module, "model");
        match (0..heap.len()).map(|index| ObjId(index as u32)).find(holds) {
            Some(holder) => format!("{}.{}", self.name_or(holder, "model"), name.trim_start_matches("self.")),
            None => name,
        }
    }

    /// What optimizers have, and what the script does something else with; `None` where that may be anything.
    fn spared<'v>(&self, acts: impl Iterator<Item = &'v Visit<'v>>) -> Option<ObjSet> {
        let (mut spared, mut optimizers) = (Vec::new(), FxHashSet::default());
        let mut loads: Vec<ObjSet> = Vec::new();
        // An instance that stands for those of callers has its optimizer from before the rehearsal.
        for state in self.rehearsal.heap.optimizers().filter_map(|optimizer| self.optimizer_known(optimizer))
        {
            spared.extend(self.given_to(state).iter());
        }
        for act in acts {
            match &act.event.effect {
                Effect::Gather { optimizer, parts, .. } => {
                    let state = self.optimizer_known(*optimizer)?;
                    // What it has in the end, once for all groups that were added one by one.
                    if optimizers.insert(*optimizer) {
                        spared.extend(self.given_to(state).iter());
                    }
                    // A layer that its model has no longer was trained before it was replaced.
                    if is_given_whole(state) {
                        spared.extend(parts.iter());
                    }
                }
                Effect::Step { optimizer, .. } => {
                    self.optimizer_known(*optimizer)?;
                }
                Effect::Touch { objects, .. }
                | Effect::Read { objects }
                | Effect::WriteGradients { objects, .. } => {
                    spared.extend(self.with_inner(objects).iter());
                }
                Effect::Restore { objects } => loads.push(self.with_inner(objects)),
                Effect::UnseenStep => return None,
                _ => {}
            }
        }
        let given: ObjSet = spared.iter().copied().collect();
        for loaded in loads {
            // What no optimizer has any part of is not what is trained here.
            let is_trained = loaded.iter().any(|object| given.contains(object));
            spared.extend(loaded.iter().filter(|object| !(is_trained && self.goes_on(*object))));
        }
        Some(spared.into_iter().collect())
    }

    /// Whether a module is loaded to go on with a training, from what the script itself has saved: it is as it was
    /// made where the training begins.
    fn goes_on(&self, module: ObjId) -> bool {
        let rehearsal = self.rehearsal;
        rehearsal.resumed.contains(module)
            && rehearsal.saved.contains(module)
            && !rehearsal.copied.contains(module)
    }

    fn with_inner(&self, objects: &ObjSet) -> ObjSet {
        all_within(&self.rehearsal.heap, objects)
    }

    fn optimizer_known(&self, optimizer: ObjId) -> Option<&OptimizerState> {
        self.rehearsal.heap.get(optimizer).optimizer().filter(|state| !state.others && !state.managed)
    }

    /// The owners of what an optimizer may have been given.
    fn given_to(&self, state: &OptimizerState) -> ObjSet {
        let Some(groups) = &state.groups else { return self.with_inner(&state.owns) };
        let of_group = |group: &ParamGroup| match &group.params.only {
            Some(only) => only.iter().map(|parameter| parameter.owner).collect::<Vec<_>>(),
            None => self.with_inner(&group.params.owners).iter().collect(),
        };
        counted(groups.iter()).flat_map(of_group).collect()
    }

    /// Backward passes that give gradients to layers which are not among these.
    fn passes_that_reach_other_layers(&self, spared: &ObjSet) -> FxHashSet<Place> {
        let walks = &self.rehearsal.backward_passes;
        let is_other = |part: &&GraphPart| part.layer.is_some_and(|layer| !spared.contains(layer));
        let others = counted(self.rehearsal.parts.iter()).filter(is_other);
        others.flat_map(|part| counted(part.walks.iter())).map(|walk| walks[*walk as usize].place).collect()
    }

    /// The layers that a backward pass gives gradients.
    fn layers_reached(&self, backward: Place) -> ObjSet {
        let walks = &self.rehearsal.backward_passes;
        let reached = |walk: &u32| walks[*walk as usize].place == backward;
        let parts =
            counted(self.rehearsal.parts.iter()).filter(|part| counted(part.walks.iter()).any(reached));
        parts.filter_map(|part| part.layer).collect()
    }

    /// Whether a layer still asks for gradients where the rehearsal ends, with parameters that are its own.
    fn asks_for_gradients(&self, layer: ObjId) -> bool {
        let here = self.rehearsal.heap.get(layer);
        let shared = here.attrs.iter().any(|(name, value)| name == "weight" && !value.is_unknown());
        here.module().is_some_and(|module| {
            matches!(module.weights, Learned::Own(own) if own != Some(0))
                && module.frozen != Some(true)
                && !shared
        })
    }

    /// Whether an optimizer steps in the same loop for some of what was reached.
    fn is_beside(&self, optimizer: ObjId, backward: &Visit, acts: &[Visit], reached: &ObjSet) -> bool {
        // A model that is not seen into is in the graph as a whole.
        let Effect::Backward { leaves, .. } = &backward.event.effect else { return false };
        let given = self.optimizer_known(optimizer).map(|state| self.given_to(state)).unwrap_or_default();
        let round = backward.innermost();
        let steps = |act: &Visit| {
            matches!(act.event.effect, Effect::Step { optimizer: other, .. } if other == optimizer)
                && act.innermost() == round
        };
        reached.iter().chain(leaves.iter()).any(|layer| given.contains(layer))
            && counted(acts.iter()).any(steps)
    }

    /// The optimizer that steps next, in the same iteration, with nothing of what was reached, where no other has any
    /// of it: it was given another model.
    fn stepping_next(
        &self,
        backward: &Visit,
        acts: &[Visit],
        reached: &ObjSet,
        spared: &ObjSet,
    ) -> Option<ObjId> {
        let round = backward.innermost();
        if reached.is_empty() || reached.iter().any(|layer| spared.contains(layer)) {
            return None;
        }
        let own = counted(acts.iter()).position(|act| std::ptr::eq(act.event, backward.event))?;
        let next = counted(acts[own + 1..].iter()).find_map(|act| match act.event.effect {
            Effect::Step { optimizer, .. } if act.innermost() == round => Some(Some(optimizer)),
            Effect::Backward { .. } => Some(None),
            _ => None,
        })??;
        let given = self.given_to(self.optimizer_known(next)?);
        let is_step = |act: &&Visit| matches!(act.event.effect, Effect::Step { .. });
        let all_known = matches!(backward.event.effect, Effect::Backward { others: false, .. });
        let since = acts[..own].iter().rev().take_while(|act| !is_step(act));
        let since = since.filter(|act| !all_known || act.innermost() == round);
        let runs = |act: &Visit| match act.event.effect {
            Effect::Forward { module, grad } if grad != Some(false) => {
                given.contains(module)
                    || self.with_inner(&ObjSet::one(module)).iter().any(|part| given.contains(part))
            }
            _ => false,
        };
        // What it was given may be in the loss on a way that is not followed.
        let is_other = !given.is_empty() && !since.into_iter().any(runs);
        is_other.then_some(next)
    }

    /// The outermost modules all of whose layers are among these.
    fn whole_parts(&self, layers: &ObjSet) -> ObjSet {
        let heap = &self.rehearsal.heap;
        let learns = |object: ObjId| {
            heap.get(object).module().is_some_and(|module| module.weights != Learned::Nothing)
        };
        let within = |object: ObjId| heap.descendants(object);
        let is_whole = |object: &ObjId| {
            let inside = within(*object);
            let mut own = inside.iter().filter(|part| learns(*part)).peekable();
            own.peek().is_some() && own.all(|part| layers.contains(part))
        };
        let modules = (0..heap.len()).map(|index| ObjId(index as u32));
        let whole: ObjSet =
            modules.filter(|object| heap.get(*object).module().is_some()).filter(is_whole).collect();
        let inner = whole.iter().fold(ObjSet::default(), |all, object| {
            all.union(&within(object).iter().filter(|part| *part != object).collect())
        });
        whole.iter().filter(|object| !inner.contains(*object)).collect()
    }
}

/// Whether nobody chose among the parameters of what an optimizer was given.
fn is_given_whole(state: &OptimizerState) -> bool {
    counted(state.groups.iter().flat_map(|groups| groups.iter())).all(|group| group.params.only.is_none())
}

fn matters(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Gather { .. }
            | Effect::Backward { .. }
            | Effect::Forward { .. }
            | Effect::Step { .. }
            | Effect::Touch { .. }
            | Effect::Read { .. }
            | Effect::WriteGradients { .. }
            | Effect::Restore { .. }
            | Effect::UnseenStep
    )
}
