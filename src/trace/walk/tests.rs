//! An automaton whose states are sets of letters: an event replaces the set by its letter, or adds to it.

use super::*;
use crate::report::{Confidence, FileId, Span};
use crate::trace::{Effect, Emptied, Event};

type Letters = u32;
const START: Letters = 1 << 31;

fn letter(name: char) -> Letters {
    1 << (u32::from(name) - u32::from('a'))
}

fn letters(names: &str) -> Letters {
    names.chars().map(|name| if name == '>' { START } else { letter(name) }).sum()
}

/// How loops are walked, and what was seen: an event, the letters before it, and the loops around it.
#[derive(Default)]
struct Spelling {
    back_edge_only: bool,
    first_only: bool,
    seen: Vec<(char, Letters, usize)>,
    visits: usize,
    arms: usize,
}

impl Protocol for Spelling {
    type State = Letters;
    type Event = Event;

    fn join(&self, a: &Letters, b: &Letters) -> Letters {
        a | b
    }

    fn joins_entry(&self, _body: &[Node]) -> bool {
        !self.back_edge_only
    }

    fn first_round_only(&self) -> bool {
        self.first_only
    }

    fn enter_arm(&mut self, _when: When) {
        self.arms += 1;
    }

    fn leave_arm(&mut self, _when: When) {
        self.arms -= 1;
    }

    fn branch(&self, when: When, before: &Letters, arms: Vec<Letters>) -> Option<Letters> {
        let joined = arms.into_iter().reduce(|a, b| a | b)?;
        Some(if when == When::Phase { *before } else { joined })
    }

    fn event(&mut self, state: &mut Letters, event: &Event, way: &Way) {
        let name = char::from_u32(event.place.span.start).unwrap();
        self.visits += 1;
        if way.settled {
            self.seen.push((name, *state, way.loops.len()));
        }
        match event.effect {
            Effect::Empty { .. } => *state |= letter(name),
            _ => *state = letter(name),
        }
    }
}

fn place(name: char) -> Place {
    Place::new(FileId(0), Span { start: u32::from(name), end: u32::from(name) })
}

fn set(name: char) -> Node {
    Node::Event(Event { place: place(name), effect: Effect::UnseenStep, confidence: Confidence::High })
}

fn added(name: char) -> Node {
    let effect = Effect::Empty { what: Emptied::Cache };
    Node::Event(Event { place: place(name), effect, confidence: Confidence::High })
}

/// A branch on something unknown.
fn either(one: Vec<Node>, other: Vec<Node>) -> Node {
    branch(When::Unknown, vec![one, other])
}

fn looped(id: u32, body: Vec<Node>) -> Node {
    Node::Loop { id: LoopId(id), body }
}

fn branch(when: When, arms: Vec<Vec<Node>>) -> Node {
    Node::Branch { when, arms }
}

fn call(body: Vec<Node>) -> Node {
    Node::Call { site: place('z'), name: Ustr::from("f"), body }
}

fn walked(protocol: Spelling, nodes: Vec<Node>) -> Spelling {
    let mut protocol = protocol;
    assert!(walk(&mut protocol, &nodes, START));
    assert_eq!(protocol.arms, 0);
    protocol
}

fn plainly(nodes: Vec<Node>) -> Spelling {
    walked(Spelling::default(), nodes)
}

/// The letters that may come before an event; each event is seen once.
fn before(protocol: &Spelling, name: char) -> Letters {
    let seen: Vec<Letters> =
        protocol.seen.iter().filter(|(seen, ..)| *seen == name).map(|(_, before, _)| *before).collect();
    assert_eq!(seen.len(), 1, "`{name}` is seen {} times", seen.len());
    seen[0]
}

#[test]
fn what_may_come_before_an_event_is_joined_where_arms_meet() {
    let way = plainly(vec![set('a'), set('b')]);
    assert_eq!((before(&way, 'a'), before(&way, 'b')), (START, letters("a")));

    let way = plainly(vec![set('a'), either(vec![set('b')], vec![set('c')]), set('d')]);
    assert_eq!((before(&way, 'c'), before(&way, 'd')), (letters("a"), letters("bc")));

    let way = plainly(vec![set('a'), either(vec![added('b')], vec![]), set('d')]);
    assert_eq!(before(&way, 'd'), letters("ab"));

    let way = plainly(vec![set('a'), branch(When::Phase, vec![vec![set('b')], vec![]]), set('d')]);
    assert_eq!(before(&way, 'd'), letters("a"), "the protocol says what arms come to");
}

#[test]
fn an_arm_that_does_not_lead_on_adds_nothing() {
    let raises = vec![set('b'), Node::Exit(Exit::Raise)];
    let way = plainly(vec![set('a'), branch(When::Phase, vec![raises, vec![set('c')]]), set('d')]);
    assert_eq!(before(&way, 'd'), letters("c"), "and the arms are not compared");

    let way = plainly(vec![set('a'), Node::Exit(Exit::Return), set('b')]);
    assert!(way.seen.iter().all(|(name, ..)| *name != 'b'));
}

#[test]
fn the_end_of_an_iteration_comes_before_the_next() {
    let script = || vec![set('a'), looped(0, vec![set('b'), set('c')]), set('d')];
    let way = plainly(script());
    assert_eq!(before(&way, 'b'), letters("ac"));
    assert_eq!(before(&way, 'd'), letters("ac"), "the loop may have no iteration");

    let way = walked(Spelling { back_edge_only: true, ..Spelling::default() }, script());
    assert_eq!((before(&way, 'b'), before(&way, 'd')), (letters("c"), letters("c")));

    let way = walked(Spelling { first_only: true, ..Spelling::default() }, script());
    assert_eq!((before(&way, 'b'), before(&way, 'd')), (letters("a"), letters("c")));
    assert_eq!(way.visits, 4, "each event once");
}

#[test]
fn what_is_carried_round_outer_loops_reaches_the_inner_ones() {
    let inner = looped(1, vec![added('b')]);
    let way = plainly(vec![looped(0, vec![inner, either(vec![added('c')], vec![])]), set('d')]);
    assert_eq!(before(&way, 'b'), letters(">bc"));
    assert_eq!(before(&way, 'd'), letters(">bc"));
    assert!(way.seen.contains(&('b', letters(">bc"), 2)), "two loops are around it");
}

#[test]
fn exits_of_a_loop_lead_behind_it_or_to_its_head() {
    let breaks = either(vec![set('b'), Node::Exit(Exit::Break)], vec![set('c')]);
    let way = plainly(vec![set('a'), looped(0, vec![breaks, set('d')]), set('e')]);
    assert_eq!(before(&way, 'd'), letters("c"));
    assert_eq!(before(&way, 'b'), letters("ad"));
    assert_eq!(before(&way, 'e'), letters("abd"));

    let continues = either(vec![set('b'), Node::Exit(Exit::Continue)], vec![]);
    let way = plainly(vec![set('a'), looped(0, vec![continues, set('d')]), set('e')]);
    assert_eq!(before(&way, 'd'), letters("abd"));

    // The body of a `with` statement lies inside a call, and its `break` ends the loop around.
    let way = plainly(vec![
        set('a'),
        looped(0, vec![call(vec![set('b'), Node::Exit(Exit::Break)]), set('c')]),
        set('d'),
    ]);
    assert!(way.seen.iter().all(|(name, ..)| *name != 'c'));
    assert_eq!(before(&way, 'd'), letters("ab"));
}

#[test]
fn returns_lead_behind_the_call() {
    let returns = either(vec![set('b'), Node::Exit(Exit::Return)], vec![]);
    let way = plainly(vec![set('a'), call(vec![returns, set('c')]), set('d')]);
    assert_eq!((before(&way, 'c'), before(&way, 'd')), (letters("a"), letters("bc")));

    let returns = either(vec![Node::Exit(Exit::Return)], vec![]);
    let way = plainly(vec![set('a'), call(vec![looped(0, vec![set('b'), returns, set('c')])]), set('d')]);
    assert_eq!(before(&way, 'd'), letters("abc"));
}

/// So many loops in each other, with an event before and behind the inner one.
fn nested(levels: u32) -> Node {
    (0..levels).fold(added('x'), |inner, level| {
        let letter = |at: u32| char::from(b'a' + (at % 20) as u8);
        let exits = either(vec![Node::Exit(Exit::Break)], vec![]);
        looped(level, vec![added(letter(level)), inner, set(letter(level + 1)), exits])
    })
}

#[test]
fn forty_loops_in_each_other_cost_a_few_visits_each() {
    for back_edge_only in [false, true] {
        let way = walked(Spelling { back_edge_only, ..Spelling::default() }, vec![nested(40)]);
        assert_eq!(way.seen.len(), 81, "every event is seen once");
        assert!(way.visits < 81 * 40, "{} visits", way.visits);
    }
}

/// Counts events: no state comes twice.
#[derive(Default)]
struct Counting {
    seen: usize,
}

impl Protocol for Counting {
    type State = u64;
    type Event = Event;

    fn join(&self, a: &u64, b: &u64) -> u64 {
        *a.max(b)
    }

    fn event(&mut self, state: &mut u64, _: &Event, way: &Way) {
        *state += 1;
        self.seen += usize::from(way.settled);
    }
}

#[test]
fn what_does_not_settle_is_cut_and_nothing_of_it_is_seen() {
    let mut counting = Counting::default();
    assert!(!walk(&mut counting, &[set('a'), nested(40)], 0));
    assert_eq!(counting.seen, 0);
    assert!(walk(&mut counting, &[set('a'), nested(1)], 0), "a short chain is followed to its end");
    assert_eq!(counting.seen, 4);
}

#[test]
fn what_the_first_iteration_alone_comes_to_is_told_from_it() {
    let once = |arms| branch(When::First(LoopId(0)), arms);
    let body = || vec![added('b'), once(vec![vec![set('c')], vec![]]), added('d')];
    let way = walked(
        Spelling { back_edge_only: true, ..Spelling::default() },
        vec![set('a'), looped(0, body()), set('e')],
    );
    assert_eq!(before(&way, 'c'), letters("ab"), "it comes in the first iteration, from what was before");
    assert_eq!(before(&way, 'b'), letters("bcd"), "and later iterations from that one");
    assert_eq!(before(&way, 'e'), letters("bcd"));

    let later = branch(When::Later(LoopId(0)), vec![vec![set('c')], vec![added('d')]]);
    let way = plainly(vec![set('a'), looped(0, vec![later]), set('e')]);
    assert_eq!((before(&way, 'd'), before(&way, 'c')), (letters("a"), letters("acd")));
    assert_eq!(before(&way, 'e'), letters("acd"), "the loop may have no iteration");

    // The arm of an outer loop's first iteration, in an inner loop, is seen once as well.
    let inner = looped(1, vec![once(vec![vec![set('c')], vec![]]), added('d')]);
    let way = plainly(vec![set('a'), looped(0, vec![inner]), set('e')]);
    assert_eq!(before(&way, 'c'), letters("acd"));
}
