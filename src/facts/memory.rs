//! Graphs that outlive their iteration, and graphs that nobody walks.

use super::{Script, once};
use crate::report::Place;
use crate::trace::{At, Carry, Sight};
use crate::values::{Graph, Mode, Value};
use std::rc::Rc;

pub struct RetainedGraph {
    pub at: At,
    pub into: Rc<str>,
    pub by: Carry,
    pub container: Option<Place>,
    /// A backward has walked graphs of the same model.
    pub is_walked: bool,
}

pub struct IdleGraph {
    pub at: At,
    pub module: Rc<str>,
}

impl Script<'_> {
    pub fn retained_graphs(&self) -> Vec<RetainedGraph> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Carried { id, into, into_place, by, value } = sight else { continue };
            if self.rehearsal.consumed.contains(id) || !once(&mut seen, at.place) {
                continue;
            }
            let Graph::Live(nodes) = &value.graph else { continue };
            if nodes.leaves.is_empty() {
                continue;
            }
            let is_walked = nodes.leaves.iter().any(|leaf| self.rehearsal.walked.contains(leaf));
            found.push(RetainedGraph {
                at: at.clone(),
                into: into.clone(),
                by: *by,
                container: *into_place,
                is_walked,
            });
        }
        found
    }

    pub fn idle_graphs(&self) -> Vec<IdleGraph> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for (at, sight) in self.sightings() {
            let Sight::Forward(forward) = sight else { continue };
            let records = forward.grad == Some(true) && forward.learns && is_live(&forward.output);
            let unused = !self.rehearsal.consumed.contains(&forward.graph);
            let looped = !at.loops.is_empty();
            if forward.mode == Mode::Eval && records && unused && looped && once(&mut seen, at.place) {
                found.push(IdleGraph { at: at.clone(), module: forward.name.clone() });
            }
        }
        found
    }
}

fn is_live(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => tensor.graph.is_live(),
        Value::Tuple(items) => items.iter().any(is_live),
        _ => false,
    }
}
