//! Path questions: a protocol is a small automaton that is walked along every way through the tree,
//! loops to their fixpoint, and told when an event is seen for good.

use super::{Event, Exit, LoopId, Node, When};
use crate::report::Place;
use ustr::Ustr;

/// An automaton over the events of a trace.
pub trait Protocol {
    type State: Clone + PartialEq;

    /// What is known where two ways meet.
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State;

    /// One event. `way.settled` is true once for each event in each context, when loops have settled.
    fn event(&mut self, state: &mut Self::State, event: &Event, way: &Way);

    /// Whether a loop's head is what came before it or what came round; if not, it is what came round.
    fn joins_entry(&self) -> bool {
        true
    }

    /// Whether loops are walked once, from what came before them, and every loop has a round.
    fn first_round_only(&self) -> bool {
        false
    }

    /// Before and behind each arm of a branch.
    fn enter_arm(&mut self, _when: When) {}
    fn leave_arm(&mut self, _when: When) {}

    /// The alternating arms of a branch on a counter's phase; by default one or the other.
    fn branch(&self, _when: When, _before: &Self::State, arms: Vec<Self::State>) -> Option<Self::State> {
        let mut arms = arms.into_iter();
        let first = arms.next()?;
        Some(arms.fold(first, |joined, arm| self.join(&joined, &arm)))
    }

    /// The head of a loop, before its first pass.
    fn enter(&mut self, _state: &mut Self::State, _id: LoopId) {}

    /// Behind a loop.
    fn leave(&mut self, _state: &mut Self::State, _id: LoopId) {}
}

/// How the walk came to an event.
#[derive(Default)]
pub struct Way {
    pub loops: Vec<LoopId>,
    pub calls: Vec<(Place, Ustr)>,
    pub settled: bool,
}

/// States at the ends of a sequence.
struct Ends<S> {
    next: Option<S>,
    breaks: Vec<S>,
    continues: Vec<S>,
    returns: Vec<S>,
}

impl<S> Ends<S> {
    fn new(next: S) -> Ends<S> {
        Ends { next: Some(next), breaks: Vec::new(), continues: Vec::new(), returns: Vec::new() }
    }
}

/// A loop settles in as many passes as its states form a chain; protocols have short ones.
const MOST_PASSES: usize = 6;

/// Walks a sequence from a state; gives the state at its end, if that is reached.
pub fn walk<P: Protocol>(protocol: &mut P, nodes: &[Node], start: P::State) -> Option<P::State> {
    let mut way = Way { settled: true, ..Way::default() };
    let ends = sequence(protocol, nodes, start, &mut way);
    merge(protocol, ends.next.into_iter().chain(ends.returns))
}

fn merge<P: Protocol>(protocol: &P, states: impl IntoIterator<Item = P::State>) -> Option<P::State> {
    states.into_iter().reduce(|a, b| protocol.join(&a, &b))
}

fn sequence<P: Protocol>(protocol: &mut P, nodes: &[Node], start: P::State, way: &mut Way) -> Ends<P::State> {
    let mut ends = Ends::new(start);
    for node in nodes {
        let Some(state) = ends.next.take() else { break };
        step(protocol, node, state, way, &mut ends);
    }
    ends
}

fn step<P: Protocol>(
    protocol: &mut P,
    node: &Node,
    mut state: P::State,
    way: &mut Way,
    ends: &mut Ends<P::State>,
) {
    match node {
        Node::Event(event) => {
            protocol.event(&mut state, event, way);
            ends.next = Some(state);
        }
        Node::Exit(Exit::Return) => ends.returns.push(state),
        Node::Exit(Exit::Break) => ends.breaks.push(state),
        Node::Exit(Exit::Continue) => ends.continues.push(state),
        Node::Exit(Exit::Raise) => {}
        Node::Call { site, name, body } => {
            way.calls.push((*site, *name));
            let inner = sequence(protocol, body, state, way);
            way.calls.pop();
            // The body of a `with` statement runs inside the generator that is its context.
            ends.breaks.extend(inner.breaks);
            ends.continues.extend(inner.continues);
            ends.next = merge(protocol, inner.next.into_iter().chain(inner.returns));
        }
        Node::Branch { when, arms } => {
            let mut nexts = Vec::new();
            for arm in arms {
                protocol.enter_arm(*when);
                let inner = sequence(protocol, arm, state.clone(), way);
                protocol.leave_arm(*when);
                nexts.extend(inner.next);
                ends.breaks.extend(inner.breaks);
                ends.continues.extend(inner.continues);
                ends.returns.extend(inner.returns);
            }
            ends.next = if nexts.len() == arms.len() {
                protocol.branch(*when, &state, nexts)
            } else {
                merge(protocol, nexts)
            };
        }
        Node::Loop { id, body } => {
            ends.next = Some(run_loop(protocol, *id, body, state, way, &mut ends.returns));
        }
    }
}

fn first_round<P: Protocol>(
    protocol: &mut P,
    id: LoopId,
    body: &[Node],
    start: P::State,
    way: &mut Way,
    returns: &mut Vec<P::State>,
) -> P::State {
    way.loops.push(id);
    let ends = sequence(protocol, body, start.clone(), way);
    way.loops.pop();
    returns.extend(ends.returns);
    let out = ends.next.into_iter().chain(ends.continues).chain(ends.breaks);
    let mut state = merge(protocol, out).unwrap_or(start);
    protocol.leave(&mut state, id);
    state
}

fn run_loop<P: Protocol>(
    protocol: &mut P,
    id: LoopId,
    body: &[Node],
    mut start: P::State,
    way: &mut Way,
    returns: &mut Vec<P::State>,
) -> P::State {
    protocol.enter(&mut start, id);
    if protocol.first_round_only() {
        return first_round(protocol, id, body, start, way, returns);
    }
    way.loops.push(id);
    let settled = std::mem::replace(&mut way.settled, false);
    let mut head = start.clone();
    for _ in 0..MOST_PASSES {
        let ends = sequence(protocol, body, head.clone(), way);
        let Some(end) = merge(protocol, ends.next.into_iter().chain(ends.continues)) else { break };
        let joined = if protocol.joins_entry() { protocol.join(&head, &end) } else { end };
        if joined == head {
            break;
        }
        head = joined;
    }
    way.settled = settled;
    let ends = sequence(protocol, body, head.clone(), way);
    way.loops.pop();
    returns.extend(ends.returns);
    let out = ends.next.into_iter().chain(ends.continues).chain(ends.breaks).chain([head]);
    let mut state = merge(protocol, out).unwrap_or(start);
    protocol.leave(&mut state, id);
    state
}
