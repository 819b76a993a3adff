//! Transition tables over a timeline: a protocol of training is an enum of states, what each event makes of them,
//! and what is known where paths meet. Running one gives every event that is reached with the state before it.

use super::{OptimizerEvent, Timeline, any};
use crate::trace::{Node, Protocol, Way, When, walk};
use std::rc::Rc;

/// A transition table over the events of one optimizer.
pub(crate) trait Automaton {
    type State: Clone + PartialEq;

    /// Which paths lead to the head of a loop.
    const LOOP_HEAD: LoopHead;

    /// Before the first event.
    fn start() -> Self::State;

    /// What an event makes of a state.
    fn next(before: Self::State, event: &OptimizerEvent) -> Self::State;

    /// What is known where two paths meet.
    fn join(a: &Self::State, b: &Self::State) -> Self::State;

    /// What the arms of a branch come to when they know of each other; all of them lead on.
    fn arms(_when: When, _before: &Self::State, arms: Vec<Self::State>) -> Vec<Self::State> {
        arms
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopHead {
    /// The iteration before: what was before the loop says nothing about the way round.
    BackEdge,
    /// What was before the loop, or the iteration before.
    EntryOrBackEdge,
    /// What was before the loop: only the first iteration is looked at.
    Entry,
}

/// An event that is reached, and the state before it.
pub(crate) struct Moment<S> {
    pub event: Rc<OptimizerEvent>,
    pub before: S,
}

/// Runs an automaton along a timeline, loops to their fixpoint.
pub(crate) fn run<A: Automaton>(timeline: &Timeline) -> Vec<Moment<A::State>> {
    let mut run: Run<A> = Run { moments: Vec::new() };
    walk(&mut run, &timeline.nodes, A::start());
    run.moments
}

/// The events that are reached, of no state.
pub(crate) fn reached(timeline: &Timeline) -> Vec<Rc<OptimizerEvent>> {
    run::<Stateless>(timeline).into_iter().map(|moment| moment.event).collect()
}

struct Run<A: Automaton> {
    moments: Vec<Moment<A::State>>,
}

impl<A: Automaton> Protocol for Run<A> {
    type State = A::State;
    type Event = Rc<OptimizerEvent>;

    fn join(&self, a: &A::State, b: &A::State) -> A::State {
        A::join(a, b)
    }

    fn event(&mut self, state: &mut A::State, event: &Rc<OptimizerEvent>, way: &Way) {
        if way.settled {
            self.moments.push(Moment { event: event.clone(), before: state.clone() });
        }
        *state = A::next(state.clone(), event);
    }

    fn joins_entry(&self, body: &[Node<Rc<OptimizerEvent>>]) -> bool {
        // A loop without a backward is part of an iteration, which began before it.
        A::LOOP_HEAD == LoopHead::EntryOrBackEdge || !any(body, &OptimizerEvent::is_backward)
    }

    fn first_round_only(&self) -> bool {
        A::LOOP_HEAD == LoopHead::Entry
    }

    fn branch(&self, when: When, before: &A::State, arms: Vec<A::State>) -> Option<A::State> {
        A::arms(when, before, arms).into_iter().reduce(|a, b| A::join(&a, &b))
    }
}

struct Stateless;

impl Automaton for Stateless {
    type State = ();

    const LOOP_HEAD: LoopHead = LoopHead::BackEdge;

    fn start() {}

    fn next(_before: (), _event: &OptimizerEvent) {}

    fn join(_a: &(), _b: &()) {}
}
