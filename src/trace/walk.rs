//! Path questions: a protocol is a small automaton that is walked along every way through the tree, loops to
//! their fixpoint, and told when an event is seen for good. The first walk finds the state at the head of each
//! loop, once for each state that the loop is entered in; the second sees every event once.

use super::{Exit, LoopId, Node, When};
use crate::report::Place;
use crate::source::still_wanted;
use rustc_hash::{FxHashMap, FxHashSet};
use ustr::Ustr;

#[cfg(test)]
mod tests;

/// An automaton over the events of a trace.
pub trait Protocol {
    type State: Clone + PartialEq;
    /// What stands in the tree: the events of the trace, or of a projection of it.
    type Event;

    /// What is known where two ways meet.
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State;

    /// One event. `way.settled` is true once for each event in each context, when loops have settled. What
    /// becomes of the state does not depend on it.
    fn event(&mut self, state: &mut Self::State, event: &Self::Event, way: &Way);

    /// Whether a loop's head is what came before it or what came round; if not, it is what came round.
    fn joins_entry(&self, _body: &[Node<Self::Event>]) -> bool {
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

/// A loop settles in as many passes as its states form a chain; protocols have short ones.
const MOST_PASSES: usize = 6;

/// So often a node may be visited before loops have settled, as a mean over the trace. Each loop takes a few
/// passes for each state that it is entered in, of which protocols know a handful.
const MOST_VISITS: usize = 256;

/// After so many visits the walk asks whether its time is over.
const VISITS_A_LOOK: usize = 256;

/// Walks a sequence from a state. Where its loops do not settle in the visits that a walk may take, nothing of it
/// is ever settled, and the result is false.
pub fn walk<P: Protocol>(protocol: &mut P, nodes: &[Node<P::Event>], start: P::State) -> bool {
    let fuel = MOST_VISITS * count(nodes);
    let once = protocol.first_round_only();
    let way = Way::default();
    let (fixpoints, told_apart) = (FxHashMap::default(), FxHashSet::default());
    let mut walker =
        Walker { protocol, way, fixpoints, told_apart, rounds: Vec::new(), telling: false, fuel };
    if !once {
        walker.sequence(nodes, start.clone());
    }
    if walker.is_exhausted() {
        return false;
    }
    walker.way.settled = true;
    walker.sequence(nodes, start);
    true
}

/// How many nodes a sequence has, and one more.
fn count<E>(nodes: &[Node<E>]) -> usize {
    let inside = |node: &Node<E>| match node {
        Node::Loop { body, .. } | Node::Call { body, .. } => count(body),
        Node::Branch { arms, .. } => arms.iter().map(|arm| count(arm)).sum(),
        Node::Event(_) | Node::Exit(_) => 1,
    };
    1 + nodes.iter().map(inside).sum::<usize>()
}

/// States at the ends of a sequence, each once.
#[derive(Clone)]
struct Ends<S> {
    next: Option<S>,
    breaks: Vec<S>,
    continues: Vec<S>,
    returns: Vec<S>,
}

impl<S: PartialEq> Ends<S> {
    fn new(next: S) -> Ends<S> {
        Ends { next: Some(next), breaks: Vec::new(), continues: Vec::new(), returns: Vec::new() }
    }

    /// Takes over the exits of a sequence inside, but for its returns.
    fn extend(&mut self, breaks: Vec<S>, continues: Vec<S>) {
        breaks.into_iter().for_each(|state| add(&mut self.breaks, state));
        continues.into_iter().for_each(|state| add(&mut self.continues, state));
    }
}

/// A state that is there already adds nothing where all of them are joined.
fn add<S: PartialEq>(states: &mut Vec<S>, state: S) {
    if !states.contains(&state) {
        states.push(state);
    }
}

/// What a loop comes to when it is entered in a state.
#[derive(Clone)]
struct Fixpoint<S> {
    /// The state at its head, once it has settled.
    head: S,
    /// The ends of an iteration from there.
    ends: Ends<S>,
    /// Those of the first iteration, where a branch tells it from the others: the head is that of these.
    first: Option<Ends<S>>,
}

/// Which iteration of a loop is walked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Any,
    First,
    Later,
}

/// The states that a loop was entered in, and where each settles.
type Entered<S> = Vec<(S, Fixpoint<S>)>;

struct Walker<'w, P: Protocol> {
    protocol: &'w mut P,
    way: Way,
    /// Of each loop, by the states that it was entered in.
    fixpoints: FxHashMap<*const Node<P::Event>, Entered<P::State>>,
    /// Loops with a branch that tells their first iteration from the others.
    told_apart: FxHashSet<LoopId>,
    /// The iterations that are walked, one for each loop of the way.
    rounds: Vec<Round>,
    /// What only first iterations come to is told now.
    telling: bool,
    /// Visits that are left until loops have settled.
    fuel: usize,
}

impl<P: Protocol> Walker<'_, P> {
    fn is_exhausted(&self) -> bool {
        self.fuel == 0
    }

    fn burn(&mut self, visits: usize) {
        if !self.way.settled {
            self.fuel = self.fuel.saturating_sub(visits);
            if self.fuel.is_multiple_of(VISITS_A_LOOK) {
                still_wanted(VISITS_A_LOOK);
            }
        }
    }

    fn merge(&self, states: impl IntoIterator<Item = P::State>) -> Option<P::State> {
        states.into_iter().reduce(|a, b| self.protocol.join(&a, &b))
    }

    fn sequence(&mut self, nodes: &[Node<P::Event>], start: P::State) -> Ends<P::State> {
        let mut ends = Ends::new(start);
        for node in nodes {
            self.burn(1);
            if self.is_exhausted() {
                ends.next = None;
            }
            let Some(state) = ends.next.take() else { break };
            self.node(node, state, &mut ends);
        }
        ends
    }

    fn node(&mut self, node: &Node<P::Event>, mut state: P::State, ends: &mut Ends<P::State>) {
        match node {
            Node::Event(event) => {
                self.protocol.event(&mut state, event, &self.way);
                ends.next = Some(state);
            }
            Node::Exit(Exit::Return) => add(&mut ends.returns, state),
            Node::Exit(Exit::Break) => add(&mut ends.breaks, state),
            Node::Exit(Exit::Continue) => add(&mut ends.continues, state),
            Node::Exit(Exit::Raise) => {}
            Node::Call { site, name, body } => {
                self.way.calls.push((*site, *name));
                let inner = self.sequence(body, state);
                self.way.calls.pop();
                ends.next = self.merge(inner.next.into_iter().chain(inner.returns));
                // The body of a `with` statement runs inside the generator that is its context.
                ends.extend(inner.breaks, inner.continues);
            }
            Node::Branch { when, arms } => self.branch(*when, arms, state, ends),
            Node::Loop { id, body } => ends.next = Some(self.run_loop(node, *id, body, state, ends)),
        }
    }

    fn branch(
        &mut self,
        when: When,
        arms: &[Vec<Node<P::Event>>],
        state: P::State,
        ends: &mut Ends<P::State>,
    ) {
        let mut nexts = Vec::new();
        let (taken, only_first) = self.taken(when, arms);
        // What only the first iteration comes to is seen in that.
        let settled = self.way.settled;
        self.way.settled |= only_first;
        for arm in taken {
            self.protocol.enter_arm(when);
            let inner = self.sequence(arm, state.clone());
            self.protocol.leave_arm(when);
            nexts.extend(inner.next);
            ends.extend(inner.breaks, inner.continues);
            inner.returns.into_iter().for_each(|state| add(&mut ends.returns, state));
        }
        self.way.settled = settled;
        ends.next = if nexts.len() == taken.len() {
            self.protocol.branch(when, &state, nexts)
        } else {
            self.merge(nexts)
        };
    }

    /// The arms that an iteration may take, and whether it is the first, and these are taken in no other.
    fn taken<'a, E>(&mut self, when: When, arms: &'a [Vec<E>]) -> (&'a [Vec<E>], bool) {
        let (id, first) = match when {
            When::First(id) => (id, true),
            When::Later(id) => (id, false),
            _ => return (arms, false),
        };
        let Some(at) = self.way.loops.iter().rposition(|one| *one == id) else { return (arms, false) };
        self.told_apart.insert(id);
        let [head, rest @ ..] = arms else { return (arms, false) };
        let taken =
            if (self.rounds[at] == Round::First) == first { std::slice::from_ref(head) } else { rest };
        match self.rounds[at] {
            Round::Any => (arms, false),
            round => (taken, round == Round::First && self.telling),
        }
    }

    /// The state behind a loop.
    fn run_loop(
        &mut self,
        node: &Node<P::Event>,
        id: LoopId,
        body: &[Node<P::Event>],
        mut start: P::State,
        around: &mut Ends<P::State>,
    ) -> P::State {
        self.protocol.enter(&mut start, id);
        let (ends, skipped) = if self.protocol.first_round_only() {
            (self.iteration(id, body, start.clone(), Round::Any), None)
        } else {
            let Fixpoint { head, mut ends, first } = self.fixpoint(node, id, body, &start);
            if self.way.settled || self.telling {
                let round = if first.is_some() { Round::Later } else { Round::Any };
                if first.is_some() {
                    let before = (self.way.settled, self.telling);
                    (self.way.settled, self.telling) = (false, true);
                    self.iteration(id, body, start.clone(), Round::First);
                    (self.way.settled, self.telling) = before;
                }
                ends = self.iteration(id, body, head.clone(), round);
            }
            if let Some(first) = first {
                if self.protocol.joins_entry(body) {
                    add(&mut ends.continues, start.clone());
                }
                first.returns.into_iter().for_each(|state| add(&mut ends.returns, state));
                ends.extend(first.breaks, first.continues);
                first.next.into_iter().for_each(|state| add(&mut ends.continues, state));
            }
            (ends, Some(head))
        };
        ends.returns.into_iter().for_each(|state| add(&mut around.returns, state));
        let out = ends.next.into_iter().chain(ends.continues).chain(ends.breaks).chain(skipped);
        let mut state = self.merge(out).unwrap_or(start);
        self.protocol.leave(&mut state, id);
        state
    }

    fn iteration(
        &mut self,
        id: LoopId,
        body: &[Node<P::Event>],
        head: P::State,
        round: Round,
    ) -> Ends<P::State> {
        self.way.loops.push(id);
        self.rounds.push(round);
        let ends = self.sequence(body, head);
        self.rounds.pop();
        self.way.loops.pop();
        ends
    }

    /// What a loop comes to from a state, which is found out once: loops in loops take no more passes for it.
    fn fixpoint(
        &mut self,
        node: &Node<P::Event>,
        id: LoopId,
        body: &[Node<P::Event>],
        start: &P::State,
    ) -> Fixpoint<P::State> {
        let known = self.fixpoints.entry(std::ptr::from_ref(node)).or_default();
        if let Some((_, known)) = known.iter().find(|(entered, _)| entered == start) {
            return known.clone();
        }
        let entered = known.len();
        self.burn(entered);
        let before = (self.way.settled, self.telling);
        (self.way.settled, self.telling) = (false, false);
        let found = self.settle(id, body, start.clone());
        (self.way.settled, self.telling) = before;
        let known = self.fixpoints.entry(std::ptr::from_ref(node)).or_default();
        known.push((start.clone(), found.clone()));
        found
    }

    fn settle(&mut self, id: LoopId, body: &[Node<P::Event>], start: P::State) -> Fixpoint<P::State> {
        let (mut head, mut round, mut first) = (start, Round::Any, None);
        for pass in 0..MOST_PASSES {
            let mut ends = self.iteration(id, body, head.clone(), round);
            if pass == 0 && self.told_apart.contains(&id) {
                let ends_of_first = self.iteration(id, body, head.clone(), Round::First);
                let round_of_first = ends_of_first.next.iter().chain(&ends_of_first.continues).cloned();
                let Some(after) = self.merge(round_of_first) else { return Fixpoint { head, ends, first } };
                (head, round, first) = (after, Round::Later, Some(ends_of_first));
                ends = self.iteration(id, body, head.clone(), round);
            }
            let round = ends.next.iter().chain(&ends.continues).cloned();
            let next = self.merge(round).map(|end| match self.protocol.joins_entry(body) {
                true => self.protocol.join(&head, &end),
                false => end,
            });
            match next {
                Some(next) if next != head => head = next,
                _ => return Fixpoint { head, ends, first },
            }
        }
        let ends = self.iteration(id, body, head.clone(), round);
        Fixpoint { head, ends, first }
    }
}
