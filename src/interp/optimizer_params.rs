//! What optimizers gather, what comes into a model after they did, and what is done to memory and
//! parameters on the way.

use super::{Interp, Invocation};
use crate::apis::{ClassSpec, Operand};
use crate::report::{Confidence, Place};
use crate::trace::{Effect, Emptied};
use crate::values::*;
use std::rc::Rc;
use ustr::Ustr;

/// So many parts of what an optimizer gathers are written down for one step.
const PARTS_A_STEP: usize = 64;

impl<'p> Interp<'p> {
    /// The one that was made at the same place before, and that an optimizer has, is another.
    pub(super) fn forget_gathered(&mut self, object: ObjId) {
        if self.graphs.optimized.contains(object) {
            self.graphs.optimized = self.graphs.optimized.iter().filter(|other| *other != object).collect();
        }
    }

    /// An optimizer has gathered the parameters that are there now.
    pub(super) fn note_gathered(&mut self, optimizer: ObjId, remembers: bool, place: Place) {
        let Some(state) = self.heap.get(optimizer).optimizer() else { return };
        let owns = state.owns.clone();
        let inner = owns.iter().flat_map(|owner| self.descendants(owner).iter().collect::<Vec<_>>());
        let parts: ObjSet = owns.iter().chain(inner).collect();
        // The trace keeps them all, each time.
        self.burn((parts.len() / PARTS_A_STEP) as u32);
        self.graphs.optimized = self.graphs.optimized.union(&parts);
        self.event(place, Effect::Gather { optimizer, parts: Rc::new(parts), remembers }, Confidence::High);
    }

    /// Whether an optimizer keeps something from step to step.
    pub(super) fn remembers(&mut self, class: &ClassSpec, call: &Invocation) -> bool {
        match &class.remembers {
            None => false,
            Some(operand @ Operand::Literal(_)) => self.truth(&call.value_of(operand)) == Some(true),
            Some(operand) => call.value_of(operand).as_num().is_some_and(|number| number != 0.0),
        }
    }

    /// `model.fc = nn.Linear(...)` on what an optimizer has gathered already.
    pub(super) fn note_replaced(&mut self, owner: ObjId, name: Ustr, value: &Value, place: Place) {
        if !self.graphs.optimized.contains(owner) || self.heap.get(owner).module().is_none() {
            return;
        }
        let Some(part) = self.part(value).filter(|part| self.learns(*part) == Some(true)) else { return };
        let before = self.heap.attr(owner, name).cloned().and_then(|value| self.part(&value));
        // Made again at the same place, it is what stands there already.
        let again = before.is_some_and(|before| self.heap.get(before).site == self.heap.get(part).site);
        if !again && before != Some(part) && self.forward_uses(owner, name) {
            let confidence = self.heap.get(part).confidence.min(self.heap.get(owner).confidence);
            self.event(place, Effect::Replace { owner, part }, confidence);
        }
    }

    /// `model.classifier[6] = nn.Linear(...)`, where `model` is gathered and its parts are not known.
    pub(super) fn note_hidden_part(&mut self, owner: ObjId, value: &Value, place: Place) {
        if !self.graphs.optimized.contains(owner) {
            return;
        }
        if let Some(part) = self.part(value).filter(|part| self.learns(*part) == Some(true)) {
            let confidence = self.heap.get(owner).confidence;
            self.event(place, Effect::Replace { owner, part }, confidence);
        }
    }

    /// The module or the parameter that a value is.
    fn part(&self, value: &Value) -> Option<ObjId> {
        match value.bare() {
            Value::Obj(object) => self.heap.get(*object).module().map(|_| *object),
            Value::Tensor(tensor) if super::parameters::is_parameter(value) => match &tensor.graph {
                Graph::Live(nodes) => nodes.only_leaf(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a module's forward mentions an attribute; of a framework's module, all of them matter.
    fn forward_uses(&mut self, owner: ObjId, name: Ustr) -> bool {
        let Some(closure) = self.project_forward(owner) else { return true };
        let scope = &self.module(closure.file).names.scopes[closure.function.0 as usize];
        scope.mentions.contains(name)
    }

    pub(super) fn empty(&mut self, what: &Value, place: Place) {
        let what = if what.as_str() == Some("cache") { Emptied::Cache } else { Emptied::Garbage };
        self.event(place, Effect::Empty { what }, Confidence::High);
    }

    /// `if args.resume: model.load_state_dict(torch.load(path))`: without it the model begins as it was made.
    pub(super) fn note_resumed(&mut self, target: &Value, source: &Value) {
        let Value::Obj(object) = target.bare() else { return };
        let objects = self.with_parts(*object);
        let optional = self.undecided_arms() > 0 && source.is_unknown();
        let known = if optional { &mut self.out.resumed } else { &mut self.out.copied };
        *known = known.union(&objects);
    }

    /// A model hands out its weights.
    pub(super) fn note_saved(&mut self, module: ObjId) {
        let objects = self.with_parts(module);
        self.out.saved = self.out.saved.union(&objects);
    }

    /// An object with the modules in it.
    fn with_parts(&self, object: ObjId) -> ObjSet {
        self.heap.descendants(object).union(&ObjSet::one(object))
    }

    /// `layer.reset_parameters()`
    pub(super) fn redraw(&mut self, target: &Value, place: Place) {
        let Value::Obj(object) = target.bare() else { return };
        let objects = self.with_parts(*object);
        self.event(place, Effect::Redraw { objects }, Confidence::High);
    }

    /// `model.load_state_dict(...)`
    pub(super) fn restore(&mut self, target: &Value, place: Place) {
        let objects = match target.bare() {
            Value::Obj(object) => self.with_parts(*object),
            // `target.data.copy_(source)`: the owners are those from which its data were taken.
            Value::Tensor(data) => owners_of_data(data),
            Value::Params(params) => params.owners.clone(),
            _ => return,
        };
        if objects.is_empty() {
            return;
        }
        self.event(place, Effect::Restore { objects }, Confidence::High);
    }
}

/// The modules of whose parameters a tensor is the data, or which it is itself.
fn owners_of_data(data: &Tensor) -> ObjSet {
    let cut = data.detach_points.iter().flat_map(|points| points.iter().map(|point| point.lost.clone()));
    let live = match &data.graph {
        Graph::Live(nodes) => Some(nodes.leaves.clone()),
        _ => None,
    };
    cut.chain(live).fold(ObjSet::default(), |all, owners| all.union(&owners))
}
