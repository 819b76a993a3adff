//! Every event of a trace with the loops and calls around it, and whether each iteration comes to it.

use super::{At, Effect, Event, FnKey, LoopId, Node, When};
use crate::report::Place;
use ustr::Ustr;

/// An event and the way to it.
#[derive(Debug)]
pub struct Visit<'t> {
    pub event: &'t Event,
    /// Loops around it, outermost first.
    pub loops: Vec<LoopId>,
    pub calls: Vec<(Place, Ustr)>,
    /// Each iteration of the innermost loop comes here: no branch decides, and no handler is needed.
    pub always: bool,
}

impl Visit<'_> {
    /// The loop whose iterations come here one by one.
    pub fn innermost(&self) -> Option<LoopId> {
        self.loops.last().copied()
    }

    /// Where it is, for whoever reports it; the function is the one that was rehearsed without its callers.
    pub fn at(&self, seeded: Option<FnKey>) -> At {
        At {
            place: self.event.place,
            loops: self.loops.clone().into(),
            calls: self.calls.clone().into(),
            seeded,
            confidence: self.event.confidence,
        }
    }
}

/// The events of a sequence that are asked for, in their order.
pub fn visits(nodes: &[Node], wanted: impl Fn(&Effect) -> bool) -> Vec<Visit<'_>> {
    let mut visitor =
        Visitor { wanted, loops: Vec::new(), calls: Vec::new(), always: true, found: Vec::new() };
    visitor.sequence(nodes);
    visitor.found
}

struct Visitor<'t, F> {
    wanted: F,
    loops: Vec<LoopId>,
    calls: Vec<(Place, Ustr)>,
    always: bool,
    found: Vec<Visit<'t>>,
}

impl<'t, F: Fn(&Effect) -> bool> Visitor<'t, F> {
    fn sequence(&mut self, nodes: &'t [Node]) {
        nodes.iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &'t Node) {
        match node {
            Node::Event(event) if (self.wanted)(&event.effect) => self.found.push(Visit {
                event,
                loops: self.loops.clone(),
                calls: self.calls.clone(),
                always: self.always,
            }),
            Node::Loop { id, body } => {
                self.loops.push(*id);
                let always = std::mem::replace(&mut self.always, true);
                self.sequence(body);
                self.always = always;
                self.loops.pop();
            }
            Node::Branch { when, arms } => {
                for (index, arm) in arms.iter().enumerate() {
                    // What a handler guards runs every time, as a rule.
                    let guarded = *when == When::Exception && index == 0;
                    let always = self.always;
                    self.always &= guarded;
                    self.sequence(arm);
                    self.always = always;
                }
            }
            Node::Call { site, name, body } => {
                self.calls.push((*site, *name));
                self.sequence(body);
                self.calls.pop();
            }
            Node::Event(_) | Node::Exit(_) => {}
        }
    }
}
