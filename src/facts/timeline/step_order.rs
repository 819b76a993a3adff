//! One iteration of a training loop in the order of its calls: what of it concerns one optimizer, as a replay
//! makes it on a stand-in.

use super::view::{Certainty, Parts, Whose};
use super::{Kind, OptimizerEvent, any, each_effect};
use crate::facts::Script;
use crate::report::Place;
use crate::report::replay::{Act, Call};
use crate::trace::{Effect, Node, When};
use crate::values::{ObjId, ObjSet, Scaled};
use std::rc::Rc;

/// How often a branch is taken of which only is known that it is not taken each time.
const NOW_AND_THEN: u32 = 4;
const MOST_EVERY: i64 = 1 << 16;
/// An iteration of more calls is none that people read.
const MOST_ACTS: usize = 64;

type Events = [Node<Rc<OptimizerEvent>>];

impl Script<'_> {
    /// The innermost loop around a step and other places in which gradients are made, and the optimizer that it
    /// is about.
    pub(in crate::facts) fn step_order_at(&self, anchors: &[Place]) -> Option<(ObjId, Vec<Act>)> {
        self.stepping_at(*anchors.first()?).iter().find_map(|optimizer| {
            let acts = self.step_order_of(optimizer, anchors)?;
            Some((optimizer, acts))
        })
    }

    /// The same for an optimizer that is known.
    pub(in crate::facts) fn step_order_of(&self, optimizer: ObjId, anchors: &[Place]) -> Option<Vec<Act>> {
        let only = ObjSet::one(optimizer);
        let entries = 0..self.rehearsal.entries.len();
        let acts = entries.into_iter().find_map(|entry| {
            let timeline = self.timelines_in(entry, &only, Parts::Together).into_iter().next()?;
            let iteration = innermost(&timeline.nodes, anchors)?;
            let mut order = StepOrder::default();
            order.sequence(iteration);
            Some(order.acts)
        })?;
        let fits = acts.len() <= MOST_ACTS && acts.iter().any(|act| act.call.is_backward());
        fits.then_some(acts)
    }

    fn stepping_at(&self, place: Place) -> ObjSet {
        let mut found = ObjSet::default();
        for entry in &self.rehearsal.entries {
            each_effect(&entry.nodes, &mut |at, effect| {
                if let Effect::Step { optimizer, .. } | Effect::NamedStep { optimizer } = effect
                    && at == place
                {
                    found.insert(*optimizer);
                }
            });
        }
        found
    }
}

/// The body of the innermost loop that makes gradients and holds all of the places.
fn innermost<'n>(nodes: &'n Events, anchors: &[Place]) -> Option<&'n Events> {
    nodes.iter().find_map(|node| match node {
        Node::Loop { body, .. } => innermost(body, anchors).or_else(|| {
            let holds = |anchor: &Place| any(body, &|event| event.place == *anchor);
            let whole = any(body, &|event| event.is_backward()) && anchors.iter().all(holds);
            whole.then_some(body.as_slice())
        }),
        Node::Call { body, .. } => innermost(body, anchors),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| innermost(arm, anchors)),
        Node::Event(_) | Node::Exit(_) => None,
    })
}

#[derive(Default)]
struct StepOrder {
    acts: Vec<Act>,
    /// How often the branch that comes next is taken, where that is known.
    coming: Option<u32>,
}

impl StepOrder {
    fn sequence(&mut self, nodes: &Events) {
        for node in nodes {
            match node {
                Node::Event(event) => self.event(&event.kind),
                Node::Call { body, .. } => self.sequence(body),
                Node::Loop { body, .. } => {
                    let before = self.acts.len();
                    self.sequence(body);
                    // A loop over micro-batches goes round more than once.
                    let own = self.acts[before..].to_vec();
                    if own.iter().any(|act| act.call.is_backward()) {
                        self.acts.extend(own);
                    }
                }
                Node::Branch { when, arms } => self.branch(*when, arms),
                Node::Exit(_) => {}
            }
        }
    }

    fn event(&mut self, kind: &Kind) {
        if let Kind::Paced(pace) = kind {
            let every = pace.every.known().filter(|every| (1..=MOST_EVERY).contains(every));
            self.coming = every.map(|every| every as u32);
        } else if let Some(call) = call(kind) {
            let act = Act::always(call);
            // Parameters that are gone through one by one are cleared, and clipped, once.
            if !(matches!(call, Call::Clear | Call::Clip) && self.acts.last() == Some(&act)) {
                self.acts.push(act);
            }
        }
    }

    fn branch(&mut self, when: When, arms: &[Vec<Node<Rc<OptimizerEvent>>>]) {
        let every = self.coming.take().unwrap_or(NOW_AND_THEN);
        let mut written: Vec<Vec<Act>> = arms.iter().map(|arm| self.aside(arm)).collect();
        if when == When::Exception {
            self.acts.extend(written.swap_remove(0));
            return;
        }
        let steps = |acts: &Vec<Act>| acts.iter().any(|act| act.call.is_step());
        // The arm that steps says most, and else the one in which most happens.
        let Some(chosen) = written
            .iter()
            .position(steps)
            .or_else(|| (0..written.len()).max_by_key(|index| (written[*index].len(), usize::MAX - index)))
        else {
            return;
        };
        let main = written.swap_remove(chosen);
        if when != When::Phase {
            self.acts.extend(main);
            return;
        }
        // What the other arms do as well is done each time.
        for act in main {
            let always = !written.is_empty() && written.iter().all(|other| other.contains(&act));
            self.acts.push(if always { act } else { Act { every: act.every.max(every), ..act } });
        }
    }

    /// What a sequence does, without saying so.
    fn aside(&mut self, nodes: &Events) -> Vec<Act> {
        let before = std::mem::take(&mut self.acts);
        self.sequence(nodes);
        std::mem::replace(&mut self.acts, before)
    }
}

fn call(kind: &Kind) -> Option<Call> {
    Some(match kind {
        Kind::Backward { scaled: Scaled::By(_), .. } => Call::ScaledBackward,
        Kind::Backward { .. } => Call::Backward,
        Kind::Step { whose: Whose::Own, scaler: Some(_) } => Call::ScaledStep,
        Kind::Step { whose: Whose::Own, scaler: None } => Call::Step,
        Kind::Clear { certainty: Certainty::Must, .. } => Call::Clear,
        Kind::Clip(_) => Call::Clip,
        Kind::Unscale(Whose::Own) => Call::Unscale,
        Kind::Update { .. } => Call::Update,
        Kind::Schedule { whose: Whose::Own, .. } => Call::Schedule,
        Kind::Gathered { own: true, .. } => Call::Build,
        _ => return None,
    })
}
