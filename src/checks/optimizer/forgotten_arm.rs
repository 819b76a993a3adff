//! A branch of a training loop that computes its loss as the others do, and alone does not zero the gradients.

use super::gradients::GradientMoment;
use crate::facts::Script;
use crate::facts::timeline::{Kind, Timeline};
use crate::report::Place;
use crate::trace::{Effect, LoopId, Node, Sight, When};
use rustc_hash::FxHashSet;

/// Places in a loop.
struct Places {
    /// Where the gradients are cleared.
    clears: FxHashSet<Place>,
    /// Where a model is run through whose graph a backward goes.
    trains: FxHashSet<Place>,
}

/// Whether in one iteration a branch clears the gradients of an optimizer beside the forward pass, and another one runs the
/// forward pass of a loss that is backpropagated, and does not. Branches of which none computes anything may belong
/// together.
pub(super) fn forgets_in_an_arm(
    script: &Script,
    timeline: &Timeline,
    iteration: LoopId,
    moments: &[GradientMoment],
    step: Place,
) -> bool {
    let mut clears = FxHashSet::default();
    for moment in moments.iter().filter(|moment| moment.event.is_in(iteration)) {
        match &moment.event.kind {
            Kind::Clear { .. } => drop(clears.insert(moment.event.place)),
            Kind::Made(_) => return false,
            _ => {}
        }
    }
    let backpropagated = &script.rehearsal.backpropagated;
    let trains = script.sightings().filter_map(|(at, sight)| match sight {
        Sight::Forward(forward) if forward.grad == Some(true) && backpropagated.contains(&forward.graph) => {
            Some(at.place)
        }
        _ => None,
    });
    let places = Places { clears, trains: trains.collect() };
    let entry = &script.rehearsal.entries[timeline.entry];
    let body = body_of(&entry.nodes, iteration);
    body.is_some_and(|body| !steps_in_an_arm(body, step) && places.forget_in(body))
}

/// Whether not every iteration comes to a step: one option may decide about it and about the clearing.
fn steps_in_an_arm(nodes: &[Node], step: Place) -> bool {
    let steps = |_: Place, effect: &Effect| matches!(effect, Effect::Step { .. });
    let is_step = |place: Place, effect: &Effect| place == step && steps(place, effect);
    nodes.iter().any(|node| match node {
        Node::Branch { when: When::Unknown, arms } => {
            arms.iter().any(|arm| any(arm, &is_step)) && arms.iter().any(|arm| !any(arm, &steps))
        }
        Node::Call { body, .. } => steps_in_an_arm(body, step),
        _ => false,
    })
}

/// The body of a loop.
fn body_of(nodes: &[Node], wanted: LoopId) -> Option<&[Node]> {
    nodes.iter().find_map(|node| match node {
        Node::Loop { id, body } if *id == wanted => Some(body.as_slice()),
        Node::Loop { body, .. } | Node::Call { body, .. } => body_of(body, wanted),
        Node::Branch { arms, .. } => arms.iter().find_map(|arm| body_of(arm, wanted)),
        Node::Event(_) | Node::Exit(_) => None,
    })
}

impl Places {
    fn forget_in(&self, nodes: &[Node]) -> bool {
        nodes.iter().any(|node| match node {
            Node::Branch { when: When::Unknown, arms } => {
                let clears = |arm: &Vec<Node>| self.clears_in(arm);
                let (clearing, others): (Vec<&Vec<Node>>, Vec<&Vec<Node>>) =
                    arms.iter().partition(|arm| clears(arm));
                clearing.iter().any(|arm| self.trains_in(arm))
                    && others.iter().any(|arm| self.trains_in(arm) && !leaves(arm))
                    || arms.iter().any(|arm| self.forget_in(arm))
            }
            Node::Call { body, .. } => self.forget_in(body),
            _ => false,
        })
    }

    fn clears_in(&self, nodes: &[Node]) -> bool {
        any(nodes, &|place, effect| matches!(effect, Effect::Clear { .. }) && self.clears.contains(&place))
    }

    fn trains_in(&self, nodes: &[Node]) -> bool {
        any(nodes, &|place, effect| matches!(effect, Effect::Forward { .. }) && self.trains.contains(&place))
    }
}

fn any(nodes: &[Node], wanted: &dyn Fn(Place, &Effect) -> bool) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => wanted(event.place, &event.effect),
        Node::Loop { body, .. } | Node::Call { body, .. } => any(body, wanted),
        Node::Branch { arms, .. } => arms.iter().any(|arm| any(arm, wanted)),
        Node::Exit(_) => false,
    })
}

/// Whether a sequence ends the iteration, or steps by itself.
fn leaves(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Exit(_) => true,
        Node::Event(event) => matches!(event.effect, Effect::Step { .. } | Effect::UnseenStep),
        Node::Branch { arms, .. } => arms.iter().any(|arm| leaves(arm)),
        _ => false,
    })
}
