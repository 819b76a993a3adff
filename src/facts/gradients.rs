//! The life of gradients: cleared, accumulated, applied. One automaton for each optimizer, walked round the
//! loops until the second iteration looks like the third.

use super::shares::{Parts, Reach, Share};
use super::{Script, walked};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Entry, Event, LoopId, Protocol, Way, When, walk};

/// A step that applies gradients of earlier steps.
pub struct UnclearedStep {
    pub at: At,
    pub optimizer: String,
    pub backward: Place,
    /// All that add to the gradients in the same round.
    pub backwards: Vec<Place>,
    /// A clearing in the same loop that does not reach this optimizer's parameters.
    pub other_clear: Option<Place>,
}

/// A clearing that throws away gradients nobody used.
pub struct ClearedEarly {
    pub at: At,
    pub kind: Misplaced,
    pub backward: Place,
    /// All that add to the gradients in the same round.
    pub backwards: Vec<Place>,
    pub step: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// Between the backward and the step.
    BeforeStep,
    /// In every micro-batch of an accumulation.
    EveryMicroBatch,
}

/// What the gradients of one optimizer may be, as a set.
type States = u8;
const CLEAN: States = 1;
/// Accumulated since the last clearing.
const FRESH: States = 2;
/// Applied, and still in place.
const APPLIED: States = 4;
/// New ones on top of applied ones.
const MIXED: States = 8;
/// Somebody we cannot see may have done anything.
const FOREIGN: States = 16;
/// Cleared before anything used them.
const LOST: States = 32;
/// Accumulated, and past the branch that steps every so often.
const SKIPPED: States = 64;

/// The events of one optimizer, and where they happened.
struct Life<'s, 'a> {
    share: Share<'s, 'a>,
    seen: Vec<Seen>,
}

#[derive(Clone)]
struct Seen {
    kind: Kind,
    place: Place,
    loops: Vec<LoopId>,
    calls: Vec<(Place, ustr::Ustr)>,
    before: States,
    certain: bool,
    confidence: Confidence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Backward,
    Step,
    Clear,
    Foreign,
    /// Clears something, but nothing of this optimizer's.
    OtherClear,
}

impl Life<'_, '_> {
    fn note(&mut self, kind: Kind, event: &Event, way: &Way, before: States, certain: bool) {
        if way.settled {
            self.seen.push(Seen {
                kind,
                place: event.place,
                loops: way.loops.clone(),
                calls: way.calls.clone(),
                before,
                certain,
                confidence: event.confidence,
            });
        }
    }
}

impl Protocol for Life<'_, '_> {
    type State = States;

    fn join(&self, a: &States, b: &States) -> States {
        a | b
    }

    /// The second iteration decides: what was before the loop says nothing about the way round.
    fn joins_entry(&self) -> bool {
        false
    }

    fn event(&mut self, state: &mut States, event: &Event, way: &Way) {
        let before = *state;
        match &event.effect {
            Effect::Backward { leaves, others, .. } => {
                let reach = self.share.reached(leaves, *others);
                if reach == Reach::No {
                    return;
                }
                self.note(Kind::Backward, event, way, before, reach == Reach::Surely);
                let after = map(before, |one| match one {
                    CLEAN | LOST | SKIPPED => FRESH,
                    APPLIED => MIXED,
                    other => other,
                });
                *state = if reach == Reach::Surely { after } else { before | after };
            }
            Effect::Step { optimizer, .. } if *optimizer == self.share.optimizer => {
                self.note(Kind::Step, event, way, before, true);
                *state = applied(before);
            }
            Effect::Step { optimizer, .. } if self.share.is_of(*optimizer) => *state = applied(before),
            Effect::Clear { targets, whole } => match self.share.clears(targets, *whole) {
                Reach::No => self.note(Kind::OtherClear, event, way, before, true),
                Reach::Maybe => {
                    self.note(Kind::Clear, event, way, before, false);
                    *state |= CLEAN;
                }
                Reach::Surely => {
                    self.note(Kind::Clear, event, way, before, true);
                    // A loop over the parameters comes back to itself.
                    *state = if unused(before) { LOST } else { CLEAN };
                }
            },
            Effect::Made { object } if self.share.state.owns.contains(*object) => *state = CLEAN,
            // Of parameters that we did not see these may be all.
            Effect::Made { object } if self.share.state.others || self.share.owned.contains(*object) => {
                self.note(Kind::Clear, event, way, before, false);
                *state |= CLEAN;
            }
            Effect::Touch { objects } if self.share.may_reach(objects) => {
                self.note(Kind::Foreign, event, way, before, false);
                *state = FOREIGN;
            }
            Effect::Read { objects } if self.share.overlap(objects) => {
                self.note(Kind::Foreign, event, way, before, true);
            }
            _ => {}
        }
    }

    fn branch(&self, when: When, before: &States, arms: Vec<States>) -> Option<States> {
        // Where one arm applies every so often, the other passes its gradients on.
        let steps =
            when == When::Phase && before & FRESH != 0 && arms.iter().any(|arm| arm & (FRESH | MIXED) == 0);
        let arms = arms.into_iter().map(|arm| match arm {
            FRESH if steps => SKIPPED,
            other => other,
        });
        arms.reduce(|a, b| a | b)
    }
}

/// Accumulated on every way, and not applied on any.
fn unused(states: States) -> bool {
    states & !(FRESH | LOST) == 0
}

/// A step: what was cleared stays clear, for nothing is applied.
fn applied(states: States) -> States {
    map(states, |one| if one & (CLEAN | LOST) != 0 { CLEAN } else { APPLIED })
}

fn map(states: States, each: impl Fn(States) -> States) -> States {
    (0..8).map(|bit| 1u8 << bit).filter(|bit| states & bit != 0).fold(0, |all, bit| all | each(bit))
}

impl<'a> Script<'a> {
    pub fn uncleared_steps(&self) -> Vec<UnclearedStep> {
        let mut found = Vec::new();
        for (entry, life) in self.lives() {
            for (index, step) in life.seen.iter().enumerate().filter(|(_, seen)| seen.kind == Kind::Step) {
                let Some((backward, round)) = uncleared(step, index, &life.seen) else { continue };
                // One report for a step, however many of its parameters are not cleared.
                if found.iter().any(|other: &UnclearedStep| other.at.place == step.place) {
                    continue;
                }
                let other_clear = life.seen.iter().find(|seen| seen.kind == Kind::OtherClear);
                found.push(UnclearedStep {
                    at: at(entry, step, backward.certain),
                    optimizer: self.name_of(life.share.optimizer),
                    backward: backward.place,
                    backwards: backwards_in(round, &life.seen),
                    other_clear: other_clear.map(|seen| seen.place),
                });
            }
        }
        found
    }

    pub fn misplaced_clears(&self) -> Vec<ClearedEarly> {
        let mut found = Vec::new();
        for (entry, life) in self.lives() {
            for (index, clear) in life.seen.iter().enumerate() {
                if clear.kind != Kind::Clear || !clear.certain || clear.loops.is_empty() {
                    continue;
                }
                let Some((kind, step)) = lost(clear, index, &life.seen) else { continue };
                let Some(backward) = life.seen.iter().find(|seen| seen.kind == Kind::Backward) else {
                    continue;
                };
                // Cleared twice is lost once.
                if found.iter().any(|other: &ClearedEarly| other.step == step.place) {
                    continue;
                }
                found.push(ClearedEarly {
                    at: at(entry, clear, backward.certain),
                    kind,
                    backward: backward.place,
                    backwards: clear.loops.last().map_or(Vec::new(), |own| backwards_in(*own, &life.seen)),
                    step: step.place,
                });
            }
        }
        found
    }

    /// Each optimizer's life in each entry in which it steps.
    fn lives<'s>(&'s self) -> Vec<(&'a Entry, Life<'s, 'a>)> {
        let mut all = Vec::new();
        for entry in &self.rehearsal.entries {
            for share in self.shares(entry, Parts::Apart) {
                let mut life = Life { share, seen: Vec::new() };
                walk(&mut life, &entry.nodes, CLEAN);
                all.push((entry, life));
            }
        }
        all
    }
}

fn backwards_in(round: LoopId, seen: &[Seen]) -> Vec<Place> {
    let backwards = seen.iter().filter(|other| other.kind == Kind::Backward && other.loops.contains(&round));
    backwards.map(|backward| backward.place).collect()
}

/// The backward whose gradients a step applies on top of old ones, and their loop; `None` when it may be all
/// right.
fn uncleared<'s>(step: &Seen, index: usize, seen: &'s [Seen]) -> Option<(&'s Seen, LoopId)> {
    let round =
        |id: &LoopId| seen.iter().any(|other| other.kind == Kind::Backward && other.loops.contains(id));
    let innermost = step.loops.iter().rev().find(|id| round(id))?;
    let in_round = |other: &&Seen| other.kind == Kind::Backward && other.loops.contains(innermost);
    // The one just before the step says most; a step at the head of the loop has only those after it.
    let backward = seen[..index].iter().rfind(in_round).or_else(|| seen.iter().find(in_round))?;
    let cleared = seen
        .iter()
        .any(|other| matches!(other.kind, Kind::Clear | Kind::Foreign) && other.loops.contains(innermost));
    let surely = step.before == MIXED;
    // Where nothing clears, a backward that may be another optimizer's leaves the same to say.
    let never_cleared = !cleared && step.before & MIXED != 0 && step.before & FOREIGN == 0;
    (surely || never_cleared).then_some((backward, *innermost))
}

/// How a clearing loses gradients, and the step that goes without them.
fn lost<'s>(clear: &Seen, index: usize, seen: &'s [Seen]) -> Option<(Misplaced, &'s Seen)> {
    let innermost = clear.loops.last()?;
    let in_loop = |other: &&Seen| other.loops.contains(innermost);
    let since = seen[..index].iter().rposition(|other| other.kind == Kind::Backward).unwrap_or(0);
    // Read before the clearing, gradients were of use; a call that is not understood may use them anywhere.
    let read = seen[since..index].iter().any(|other| other.kind == Kind::Foreign);
    let foreign = seen.iter().filter(in_loop).any(|other| other.kind == Kind::Foreign && !other.certain);
    if read || foreign {
        return None;
    }
    if unused(clear.before) {
        let step = seen[index..].iter().find(|other| other.kind == Kind::Step)?;
        return (step.before == LOST).then_some((Misplaced::BeforeStep, step));
    }
    let step = seen.iter().filter(in_loop).find(|other| other.kind == Kind::Step)?;
    // What is cleared around the loop of the micro-batches is only what was left over.
    let each = |other: &Seen| other.kind == Kind::Backward && other.loops.last() == Some(innermost);
    if !seen.iter().any(each) {
        return None;
    }
    let skips = clear.before & SKIPPED != 0 && clear.before & (FOREIGN | FRESH | MIXED) == 0;
    skips.then_some((Misplaced::EveryMicroBatch, step))
}

fn at(entry: &Entry, seen: &Seen, certain: bool) -> At {
    let confidence = if certain { seen.confidence } else { seen.confidence.min(Confidence::Medium) };
    walked(entry.function, seen.place, &seen.loops, &seen.calls, confidence)
}
