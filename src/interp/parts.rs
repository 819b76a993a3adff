//! Parts of graphs: what each call of a layer records, and which backward passes walk it. A graph can be
//! walked once; what a backward finds walked already was carried there.

use super::loops::ActiveLoop;
use super::{Call, Interp, Invocation};
use crate::report::{Confidence, Place};
use crate::trace::{BackwardPass, GraphFreed, GraphPart, GraphRetained, GraphUsedAgain};
use crate::values::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use ustr::Ustr;

/// So many parts of a graph are one step of the backward pass that goes through them.
const PARTS_A_STEP: usize = 32;

/// The call of a module, and what its layers record meanwhile.
pub(super) struct Recording {
    /// Parts from here on are its own.
    since: u32,
    /// What it was given hangs on parameters directly.
    bare: bool,
    whole: Option<u32>,
    place: Place,
}

impl<'p> Interp<'p> {
    /// A call of a layer records a part of a graph; `hidden` where we do not see what the layer does.
    pub(super) fn record(&mut self, layer: ObjId, place: Place, hidden: bool) -> u32 {
        let id = self.new_part(place, hidden.then_some(layer), Vec::new());
        let in_training = |module: &ModuleState| module.mode == Mode::Train && !hidden;
        if self.heap.get(layer).module().is_some_and(in_training) {
            self.out.parts[id as usize].layer = Some(layer);
        }
        id
    }

    fn new_part(&mut self, place: Place, hidden: Option<ObjId>, inner: Vec<Part>) -> u32 {
        let id = self.out.parts.len() as u32;
        let (epoch, inner) = (self.epoch, inner.into());
        let within = self.active.last().map(|active| active.id);
        let (layer, walks) = (None, Vec::new());
        let part =
            GraphPart { place, epoch, within, hidden, layer, inner, walks, escaped: false, told: false };
        self.out.parts.push(part);
        self.unwalked(|unwalked| unwalked.insert(id));
        id
    }

    fn unwalked(&mut self, change: impl FnOnce(&mut Unwalked)) {
        self.heap.update(change);
    }

    fn is_unwalked(&self, id: u32) -> bool {
        self.heap.state::<Unwalked>().is_some_and(|unwalked| unwalked.contains(id))
    }

    /// The graph of a module's output: what its layers recorded since it was called is one part.
    fn gather(&mut self, graph: &Graph, call: &mut Recording) -> Graph {
        let Graph::Live(nodes) = graph else { return graph.clone() };
        let inside = |part: &Part| part.id >= call.since;
        let (inside, outside): (Vec<Part>, Vec<Part>) = nodes.parts.iter().partition(inside);
        let sure = inside.iter().any(|part| part.sure) || inside.is_empty();
        let id = match inside.as_slice() {
            [one] => one.id,
            // Of parameters that are used without a layer nothing is told apart.
            [] => *call.whole.get_or_insert_with(|| self.new_part(call.place, None, Vec::new())),
            _ => self.new_part(call.place, None, inside),
        };
        graph.with_parts(outside.into_iter().chain([Part { id, sure }]).collect(), call.bare)
    }

    /// The call of a module that begins here.
    pub(super) fn recording(&self, call: &Call) -> Recording {
        let bare = call.values().filter_map(Value::as_tensor).any(|tensor| tensor.graph.is_bare());
        Recording { since: self.out.parts.len() as u32, bare, whole: None, place: call.place }
    }

    /// In the graph of a module's output what it recorded is one part.
    pub(super) fn gathered(&mut self, output: Value, call: &mut Recording) -> Value {
        match &output {
            Value::Tensor(tensor) if matches!(tensor.graph, Graph::Live(_)) => {
                let graph = self.gather(&tensor.graph, call);
                Value::tensor(Tensor { graph, ..(**tensor).clone() })
            }
            Value::Tuple(items) => {
                Value::tuple(items.iter().map(|item| self.gathered(item.clone(), call)).collect())
            }
            _ => output,
        }
    }

    /// The parts of a graph that count, with those inside them.
    fn parts_within(&self, graph: &Graph, counts: impl Fn(&Part) -> bool) -> Vec<u32> {
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        let mut open: Vec<Part> = graph.parts().iter().filter(&counts).collect();
        while let Some(part) = open.pop() {
            if seen.insert(part.id) {
                found.push(part.id);
                open.extend(self.out.parts[part.id as usize].inner.iter().filter(|part| counts(part)));
            }
        }
        found
    }

    /// Those that are there on every way.
    pub(crate) fn sure_parts(&self, graph: &Graph) -> Vec<u32> {
        self.parts_within(graph, |part| part.sure)
    }

    /// Whether a backward has walked some of a part on every way to this point.
    fn is_walked(&self, id: u32) -> bool {
        let inner = &self.out.parts[id as usize].inner;
        !self.is_unwalked(id) || inner.iter().any(|part| part.sure && self.is_walked(part.id))
    }

    /// A backward walks a graph; `retains` where it says that the graph is kept.
    pub(super) fn walk_parts(&mut self, tensor: &Tensor, place: Place, retains: Option<bool>) {
        let Graph::Live(nodes) = &tensor.graph else { return };
        self.note_walked_again(nodes, place, tensor.confidence);
        self.note_freed(nodes, place, tensor.confidence);
        self.note_freed_by_itself(nodes, place, tensor.confidence, retains);
        let walk = self.out.backward_passes.len() as u32;
        let loops = self.active.iter().map(|active| active.id).collect();
        self.out.backward_passes.push(BackwardPass {
            place,
            loops,
            retains,
            others: nodes.others && !nodes.own,
            open: false,
        });
        if retains == Some(true) {
            self.heap.update(|kept: &mut Kept| kept.insert(walk, nodes.leaves.clone()));
        }
        let all = self.parts_within(&tensor.graph, |_| true);
        // Each remembers the pass.
        self.burn((all.len() / PARTS_A_STEP) as u32);
        let fresh = self
            .active
            .last()
            .is_none_or(|active| all.iter().all(|id| self.out.parts[*id as usize].epoch >= active.since));
        for id in &all {
            self.out.parts[*id as usize].walks.push(walk);
        }
        self.unwalked(|unwalked| all.iter().for_each(|id| unwalked.remove(*id)));
        if retains == Some(true) && fresh && !nodes.bare && !all.is_empty() && !self.may_hold_state(nodes) {
            // What else hangs on it may be of an earlier iteration.
            let doubt = if nodes.others && !nodes.own { Confidence::Medium } else { Confidence::High };
            self.observe(place, GraphRetained, tensor.confidence.min(doubt));
        }
    }

    /// Whether a model that nobody sees into was given tensors of its own, `model.hidden = ...`: its next forward may go
    /// on from what this one left there.
    fn may_hold_state(&self, nodes: &Nodes) -> bool {
        nodes.leaves.iter().any(|leaf| {
            let object = self.heap.get(leaf);
            let is_opaque = object.module().is_some_and(|module| module.weights == Learned::Opaque);
            is_opaque && object.attrs.iter().any(|(_, value)| holds_tensor(value))
        })
    }

    /// Some of this graph was recorded and walked in an earlier iteration of a loop around us.
    fn note_walked_again(&mut self, nodes: &Nodes, place: Place, confidence: Confidence) {
        let earlier = |part: &Part| {
            let info = &self.out.parts[part.id as usize];
            let around = self.active.iter().find(|active| active.since > info.epoch);
            let in_loop = around.is_some_and(|active| info.epoch >= self.out.loop_info(active.id).first);
            part.sure && in_loop && self.is_walked(part.id)
        };
        let Some(old) = nodes.parts.iter().filter(earlier).map(|part| part.id).last() else { return };
        let part = self.out.parts[old as usize].clone();
        let walks = &self.out.backward_passes;
        let kept = part.walks.iter().all(|walk| walks[*walk as usize].retains == Some(true));
        let confidence = if part.hidden.is_some() { Confidence::Low } else { confidence };
        let again = GraphUsedAgain { recorded: part.place, kept: kept && !part.walks.is_empty() };
        self.observe(place, again, confidence);
    }

    /// Some of this graph was recorded in this iteration, and another backward has freed it on every way to this point.
    fn note_freed(&mut self, nodes: &Nodes, place: Place, confidence: Confidence) {
        let since = self.active.last().map_or(0, |active| active.since);
        let runs = |id| self.active.iter().any(|active| active.id == id);
        let freed = |part: Part| {
            let info = &self.out.parts[part.id as usize];
            // Of a loop that has ended one part may stand for that of each iteration.
            let of_this = info.epoch >= since && info.within.is_none_or(runs);
            let walks = || self.walks_of(part.id).map(|walk| &self.out.backward_passes[walk as usize]);
            if !part.sure
                || !of_this
                || !self.is_walked(part.id)
                || walks().any(|walk| walk.retains != Some(false))
            {
                return None;
            }
            let other = walks().filter(|walk| walk.place != place).last()?;
            Some((GraphFreed { recorded: info.place, freed: other.place }, info.hidden))
        };
        let Some((freed, hidden)) = nodes.parts.iter().find_map(freed) else { return };
        let sure = hidden.map_or(Confidence::High, |layer| self.sure_to_save(layer));
        self.observe(place, freed, confidence.min(sure));
    }

    /// Some of this graph was recorded before a loop, and this backward frees it in the first of its iterations.
    fn note_freed_by_itself(
        &mut self,
        nodes: &Nodes,
        place: Place,
        confidence: Confidence,
        retains: Option<bool>,
    ) {
        if retains != Some(false) {
            return;
        }
        let before = |part: &Part| part.sure && self.recorded_before_loop(part.id).is_some();
        let Some(part) = nodes.parts.iter().find(before) else { return };
        let Some(at) = self.recorded_before_loop(part.id) else { return };
        let info = &self.out.parts[part.id as usize];
        let (recorded, hidden) = (info.place, info.hidden);
        let freed = info.walks.iter().any(|walk| self.out.backward_passes[*walk as usize].place == place);
        self.active[at].goes_back_before = true;
        if freed && !self.is_renewed_in(at, nodes) {
            let sure = hidden.map_or(Confidence::Medium, |layer| self.sure_to_save(layer));
            self.observe(place, GraphFreed { recorded, freed: place }, confidence.min(sure));
        }
    }

    /// Whether an earlier iteration has recorded some of this graph: what was recorded before the loop was replaced.
    fn is_renewed_in(&self, at: usize, nodes: &Nodes) -> bool {
        let active = &self.active[at];
        let first = self.out.loop_info(active.id).first;
        let earlier = |part: Part| (first..active.since).contains(&self.out.parts[part.id as usize].epoch);
        nodes.parts.iter().any(earlier)
    }

    /// The outermost running loop before which a part of a graph was recorded, if each of its iterations comes here.
    fn recorded_before_loop(&self, id: u32) -> Option<usize> {
        let GraphPart { epoch, within, .. } = self.out.parts[id as usize];
        // Of a loop that has ended one part may stand for that of each iteration.
        let ended = within.is_some_and(|id| self.active.iter().all(|active| active.id != id));
        if ended {
            return None;
        }
        let at = self.active.iter().position(|active| epoch < self.out.loop_info(active.id).first)?;
        let straight =
            self.active[at].arms == self.passes.arms && self.active[at..].iter().all(ActiveLoop::goes_on);
        straight.then_some(at)
    }

    /// How sure it is that a layer that we do not see into saves something for its backward pass: one that an optimizer
    /// trains computes with its parameters.
    fn sure_to_save(&self, layer: ObjId) -> Confidence {
        let trains = |state: &OptimizerState| state.owns.contains(layer);
        let mut all = self.heap.optimizers().filter_map(|optimizer| self.heap.get(optimizer).optimizer());
        if all.any(trains) { Confidence::Medium } else { Confidence::Low }
    }

    /// The backward passes that went through a part, or through what is surely inside of it.
    fn walks_of(&self, id: u32) -> impl Iterator<Item = u32> {
        let part = &self.out.parts[id as usize];
        let inner = part.inner.iter().filter(|inner| inner.sure);
        let inner = inner.flat_map(|inner| self.out.parts[inner.id as usize].walks.iter());
        part.walks.iter().chain(inner).copied()
    }

    /// Cut off in place: whoever holds the value holds no graph any more.
    pub(super) fn detach_in_place(&mut self, value: &Value) {
        match value.bare() {
            Value::Tensor(tensor) => {
                let all = self.parts_within(&tensor.graph, |_| true);
                self.unwalked(|unwalked| all.iter().for_each(|id| unwalked.insert(*id)));
            }
            Value::Tuple(items) => items.iter().for_each(|item| self.detach_in_place(item)),
            _ => {}
        }
    }

    /// What goes out of sight may be walked there.
    pub(super) fn lose_parts(&mut self, tensor: &Tensor) {
        for id in self.parts_within(&tensor.graph, |_| true) {
            self.lose_part(id);
        }
    }

    /// Gradients are taken as values of a graph that a backward pass has kept, in whichever state its weights are by now.
    pub(super) fn use_what_was_kept(&mut self, tensor: &Tensor) {
        for id in self.parts_within(&tensor.graph, |_| true) {
            let part = &mut self.out.parts[id as usize];
            part.escaped |= !part.walks.is_empty();
        }
    }

    fn lose_part(&mut self, id: u32) {
        let is_of_use = self.is_of_use(id);
        let part = &mut self.out.parts[id as usize];
        match is_of_use {
            true => part.escaped = true,
            false => part.told = true,
        }
    }

    /// Code that is not seen runs: it may go back through what was kept and what it was handed before.
    pub(super) fn open_what_is_kept(&mut self) {
        let kept = self.heap.state::<Kept>().map(|kept| kept.walks().collect::<Vec<_>>());
        kept.into_iter().flatten().for_each(|walk| self.out.backward_passes[walk as usize].open = true);
    }

    /// Whether who gets hold of a part may still go back through it. What was kept of it saved parameters that a step has
    /// changed since; and through what nobody has walked, not before it was kept.
    fn is_of_use(&self, id: u32) -> bool {
        let kept = self.heap.state::<Kept>();
        let is_stale = |walk: &u32| {
            let retains = self.out.backward_passes[*walk as usize].retains == Some(true);
            retains && !kept.is_some_and(|kept| kept.contains(*walk))
        };
        let walks = &self.out.parts[id as usize].walks;
        !walks.iter().all(is_stale)
    }

    /// An optimizer changes what it owns, in place.
    pub(super) fn change_what_is_kept(&mut self, optimizer: ObjId) {
        if self.heap.state::<Kept>().is_none() {
            return;
        }
        let Some(state) = self.heap.get(optimizer).optimizer() else { return };
        let mut changed = state.owns.clone();
        for owner in state.owns.iter() {
            changed = changed.union(&self.heap.descendants(owner));
        }
        let (others, heap) = (state.others, &self.heap);
        let stale: Vec<ObjId> = heap.state::<Kept>().map(Kept::leaves).unwrap_or_default();
        let is_changed = |leaf: ObjId| {
            others
                || changed.contains(leaf)
                || heap.descendants(leaf).iter().any(|part| changed.contains(part))
        };
        let stale: ObjSet = stale.into_iter().filter(|leaf| is_changed(*leaf)).collect();
        self.heap.update(|kept: &mut Kept| kept.change(|leaf| stale.contains(leaf)));
    }

    /// Whether a backward keeps its graph: as its arguments say, or as `create_graph` does where they do not.
    pub(super) fn retains(&mut self, operands: [Option<Value>; 2], call: &Invocation) -> Option<bool> {
        let [retain, create] = operands;
        let by_name = |name: &str| {
            let name = Ustr::from(name);
            call.more.iter().find(|(known, _)| *known == name).map(|(_, passed)| passed.value.clone())
        };
        let create =
            create.or_else(|| by_name("create_graph")).map_or(Some(false), |value| self.truth(&value));
        // Gradients of gradients walk the graph again.
        if create != Some(false) {
            return None;
        }
        // The older name is the same flag.
        match retain
            .or_else(|| by_name("retain_graph"))
            .filter(|value| !matches!(value, Value::None))
            .or_else(|| by_name("retain_variables"))
        {
            None | Some(Value::None) => Some(false),
            Some(value) => self.truth(&value),
        }
    }

    /// Objects that outlive their function hold what it recorded, the parts from here on: other methods may walk them.
    pub(super) fn keep_held_parts(&mut self, recorded: usize) {
        if self.out.parts.len() == recorded {
            return;
        }
        let mut held = Vec::new();
        for index in 0..self.heap.len() as u32 {
            let object = self.heap.get(ObjId(index));
            if matches!(object.state, State::Plain | State::Module(_)) {
                object.attrs.iter().for_each(|(_, value)| tensors_in(value, &mut held));
            }
        }
        let own = |part: &Part| part.id as usize >= recorded;
        let own: Vec<u32> = held.iter().flat_map(|tensor| self.parts_within(&tensor.graph, own)).collect();
        for id in own {
            self.lose_part(id);
        }
    }
}

fn tensors_in(value: &Value, found: &mut Vec<Rc<Tensor>>) {
    match value.bare() {
        Value::Tensor(tensor) if !tensor.graph.parts().is_empty() => found.push(tensor.clone()),
        Value::Tuple(items) => items.iter().for_each(|item| tensors_in(item, found)),
        _ => {}
    }
}

/// Adds an id to the graph of a value, so that we learn whether a backward walks it.
pub(crate) fn mark_graph(value: &Value, id: u32) -> Value {
    match value {
        Value::Tensor(tensor) => match &tensor.graph {
            Graph::Live(nodes) => {
                let mut carried: Vec<u32> = nodes.carried.to_vec();
                if let Err(at) = carried.binary_search(&id) {
                    carried.insert(at, id);
                }
                let nodes = Nodes { carried: carried.into(), ..(**nodes).clone() };
                Value::tensor(Tensor { graph: Graph::Live(Rc::new(nodes)), ..(**tensor).clone() })
            }
            _ => value.clone(),
        },
        Value::Tuple(items) => Value::tuple(items.iter().map(|item| mark_graph(item, id)).collect()),
        _ => value.clone(),
    }
}

fn holds_tensor(value: &Value) -> bool {
    match value.bare() {
        Value::Tensor(_) => true,
        Value::Tuple(items) => items.iter().any(holds_tensor),
        _ => false,
    }
}
