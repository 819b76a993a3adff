//! The life of scaled gradients: multiplied with the loss, divided again, clipped, applied, and the scale that
//! is chosen anew. One automaton for each optimizer; a state is a set of what may be the case.

use super::shares::{Parts, Reach, Share};
use super::{Script, once, walked};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Event, FnKey, LoopId, Node, Protocol, ScalerAct, Way, When, walk};
use crate::values::{ObjId, Scaled};

/// A step that applies gradients that are still multiplied by the scale.
pub struct BypassedScaler {
    pub at: At,
    pub optimizer: String,
    pub scaler: String,
    pub backward: Place,
}

/// Gradients that are clipped while they are still multiplied by the scale.
pub struct ScaledClipping {
    pub at: At,
    pub optimizer: String,
    pub scaler: String,
    pub backward: Place,
    /// The step through a scaler, if there is one.
    pub step: Option<Place>,
}

/// A scale that is not chosen anew when it should be.
pub struct StaleScale {
    pub at: At,
    pub optimizer: String,
    pub scaler: String,
    /// The step through a scaler, if there is one.
    pub step: Option<Place>,
    pub kind: Stale,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    /// Nothing on the way round updates it.
    Never,
    /// It is updated in micro-batches that do not step.
    EveryMicroBatch,
    /// It is updated between the backward and the step, which is here.
    BeforeStep(Place),
}

/// Clipping where nothing is left to clip, or nothing yet.
pub struct IdleClipping {
    pub at: At,
    pub optimizer: String,
    pub after_step: bool,
    pub backward: Place,
    pub step: Place,
}

/// A backward pass past the scaler that later divides its gradients.
pub struct UnscaledBackward {
    pub at: At,
    pub scaler: String,
    pub step: Place,
}

type States = u16;

/// What the gradients of one optimizer may be.
mod grads {
    use super::States;
    /// None, or zero.
    pub const CLEAN: States = 1;
    /// Of a loss that was not scaled.
    pub const PLAIN: States = 2;
    pub const SCALED: States = 4;
    /// Divided by the scale again.
    pub const UNSCALED: States = 8;
    /// Scaled by a scale that was updated since.
    pub const STALE: States = 16;
    /// Scaled, and past the branch that steps every so often.
    pub const HELD: States = 32;
    /// Applied, and still in place.
    pub const APPLIED: States = 64;
    /// Somebody we cannot see may have done anything, or two kinds met.
    pub const FOREIGN: States = 128;
    pub const ALL: [States; 8] = [CLEAN, PLAIN, SCALED, UNSCALED, STALE, HELD, APPLIED, FOREIGN];
    /// Multiplied by a scale, whichever.
    pub const MULTIPLIED: States = SCALED | STALE | HELD;
}
use grads::*;

/// Since the last update of its scaler the optimizer may have …
mod steps {
    use super::States;
    pub const READY: States = 1;
    pub const STEPPED: States = 2;
    pub const FOREIGN: States = 4;
}

#[derive(Clone, Copy, PartialEq)]
struct State {
    grads: States,
    steps: States,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Backward {
        surely: bool,
        scaled: Scaled,
    },
    Step(Option<ObjId>),
    Clip,
    Unscale,
    Update(ObjId),
    /// A loss was multiplied.
    Scale,
    /// The script learned the scale.
    Read,
    /// A call that is not understood got hold of a scaler.
    Foreign,
}

struct Seen {
    kind: Kind,
    place: Place,
    loops: Vec<LoopId>,
    calls: Vec<(Place, ustr::Ustr)>,
    before: State,
    confidence: Confidence,
}

struct Life<'s, 'a> {
    share: Share<'s, 'a>,
    /// The function whose life it is, when nothing called it.
    seeded: Option<FnKey>,
    seen: Vec<Seen>,
}

impl Life<'_, '_> {
    fn note(&mut self, kind: Kind, event: &Event, way: &Way, before: State) {
        if way.settled {
            let (place, confidence) = (event.place, event.confidence);
            let (loops, calls) = (way.loops.clone(), way.calls.clone());
            self.seen.push(Seen { kind, place, loops, calls, before, confidence });
        }
    }

    fn act(&mut self, state: &mut State, scaler: ObjId, act: ScalerAct, event: &Event, way: &Way) {
        let before = *state;
        match act {
            ScalerAct::Unscale(of) if of == self.share.optimizer || self.share.is_of(of) => {
                self.note(Kind::Unscale, event, way, before);
                state.grads = map(before.grads, |one| if one & MULTIPLIED != 0 { UNSCALED } else { one });
            }
            ScalerAct::Unscale(of) if self.share.may_be(of) => self.note(Kind::Read, event, way, before),
            ScalerAct::Unscale(_) => {}
            ScalerAct::Update => {
                self.note(Kind::Update(scaler), event, way, before);
                state.steps = steps::READY;
                state.grads = map(before.grads, |one| if one & MULTIPLIED != 0 { STALE } else { one });
            }
            ScalerAct::Scale => self.note(Kind::Scale, event, way, before),
            ScalerAct::Read => self.note(Kind::Read, event, way, before),
        }
    }

    fn step(&mut self, state: &mut State, scaler: Option<ObjId>, event: &Event, way: &Way) {
        self.note(Kind::Step(scaler), event, way, *state);
        state.grads = applied(state.grads);
        if scaler.is_some() {
            state.steps = steps::STEPPED;
        }
    }
}

impl Protocol for Life<'_, '_> {
    type State = State;

    fn join(&self, a: &State, b: &State) -> State {
        State { grads: a.grads | b.grads, steps: a.steps | b.steps }
    }

    /// What was before the loop says nothing about the way round.
    fn joins_entry(&self) -> bool {
        false
    }

    fn event(&mut self, state: &mut State, event: &Event, way: &Way) {
        let before = *state;
        match &event.effect {
            Effect::Backward { leaves, others, scaled } => {
                let reach = self.share.reached(leaves, *others);
                if reach == Reach::No {
                    return;
                }
                let surely = reach == Reach::Surely;
                self.note(Kind::Backward { surely, scaled: *scaled }, event, way, before);
                let after = map(before.grads, |one| accumulated(one, *scaled));
                state.grads = if surely { after } else { before.grads | after };
            }
            Effect::Step { optimizer, scaler } if *optimizer == self.share.optimizer => {
                self.step(state, *scaler, event, way);
            }
            Effect::Step { optimizer, .. } if self.share.is_of(*optimizer) => {
                state.grads = applied(before.grads);
            }
            Effect::Clear { targets, whole } => match self.share.clears(targets, *whole) {
                Reach::No => {}
                Reach::Maybe => state.grads |= CLEAN,
                Reach::Surely => state.grads = CLEAN,
            },
            Effect::Made { object } if self.share.state.owns.contains(*object) => state.grads = CLEAN,
            Effect::Made { object } if self.share.state.others || self.share.owned.contains(*object) => {
                state.grads |= CLEAN;
            }
            Effect::Clip { targets, whole } if self.share.is_named_by(targets, *whole) => {
                self.note(Kind::Clip, event, way, before);
            }
            Effect::Scaler { scaler, act } => self.act(state, *scaler, *act, event, way),
            Effect::Touch { objects } => {
                let heap = &self.share.script.rehearsal.heap;
                if objects.iter().any(|object| heap.get(object).state.is_scaler()) {
                    self.note(Kind::Foreign, event, way, before);
                    state.steps = steps::FOREIGN;
                }
                if self.share.may_reach(objects) {
                    *state = State { grads: grads::FOREIGN, steps: state.steps };
                }
            }
            _ => {}
        }
    }

    fn branch(&self, when: When, before: &State, arms: Vec<State>) -> Option<State> {
        // Where one arm steps every so often, the other passes what is scaled on.
        let scaled = before.grads & MULTIPLIED != 0;
        let steps = when == When::Phase && scaled && arms.iter().any(|arm| arm.grads & MULTIPLIED == 0);
        let held = |arm: State| State {
            grads: if steps {
                map(arm.grads, |one| if one == SCALED { HELD } else { one })
            } else {
                arm.grads
            },
            ..arm
        };
        arms.into_iter().map(held).reduce(|a, b| self.join(&a, &b))
    }
}

/// What gradients are when those of another backward pass are added to them.
fn accumulated(before: States, scaled: Scaled) -> States {
    match (before, scaled) {
        (CLEAN | APPLIED | PLAIN, Scaled::No) => PLAIN,
        (STALE, Scaled::By(_)) => STALE,
        // Whatever was there, what is added is multiplied.
        (_, Scaled::By(_)) => SCALED,
        _ => grads::FOREIGN,
    }
}

fn applied(states: States) -> States {
    map(states, |one| if one == CLEAN { CLEAN } else { APPLIED })
}

fn map(states: States, each: impl Fn(States) -> States) -> States {
    ALL.iter().filter(|bit| states & **bit != 0).fold(0, |all, bit| all | each(*bit))
}

/// Nothing but these, and one of them at least.
fn only(states: States, allowed: States) -> bool {
    states != 0 && states & !allowed == 0
}

impl Life<'_, '_> {
    /// Whether what is seen somewhere has gradients that are multiplied: on every way, or, where nothing of the
    /// script ever does what would undo it, on one of them.
    fn is_multiplied(&self, at: &Seen, undoes: impl Fn(&Seen) -> bool) -> bool {
        let grads = at.before.grads;
        only(grads, MULTIPLIED)
            || (grads & MULTIPLIED != 0 && only(grads, MULTIPLIED | PLAIN) && !self.seen.iter().any(undoes))
    }

    fn at(&self, seen: &Seen) -> At {
        walked(self.seeded, seen.place, &seen.loops, &seen.calls, seen.confidence)
    }

    fn optimizer(&self) -> String {
        self.share.script.name_of(self.share.optimizer)
    }

    /// The scaled backward pass just before, or else any.
    fn scaled_backward(&self, before: usize) -> Option<(&Seen, ObjId)> {
        let scaled = |seen: &&Seen| matches!(seen.kind, Kind::Backward { scaled: Scaled::By(_), .. });
        let found = self.seen[..before].iter().rfind(scaled).or_else(|| self.seen.iter().find(scaled))?;
        match found.kind {
            Kind::Backward { scaled: Scaled::By(scaler), .. } => Some((found, scaler)),
            _ => None,
        }
    }

    /// The next step through a scaler, or else any.
    fn scaled_step(&self, index: usize) -> Option<Place> {
        let scaled = |seen: &&Seen| matches!(seen.kind, Kind::Step(Some(_)));
        let found = self.seen[index..].iter().find(scaled).or_else(|| self.seen.iter().find(scaled))?;
        Some(found.place)
    }

    fn idle_clipping(&self, index: usize) -> Option<(bool, &Seen, &Seen)> {
        let clip = &self.seen[index];
        if clip.kind != Kind::Clip || !only(clip.before.grads, CLEAN | APPLIED) {
            return None;
        }
        let round = |seen: &&Seen| clip.loops.last().is_none_or(|id| seen.loops.contains(id));
        let backward = |seen: &&Seen| matches!(seen.kind, Kind::Backward { surely: true, .. }) && round(seen);
        let step = |seen: &&Seen| matches!(seen.kind, Kind::Step(_)) && round(seen);
        let first = self.seen.iter().position(|seen| backward(&seen))?;
        let stepped = self.seen[first..].iter().find(step)?;
        let before = self.seen[..index].iter().rfind(step).filter(|_| first < index);
        Some((before.is_some(), &self.seen[first], before.unwrap_or(stepped)))
    }

    /// How the scale of a step, or an update, is not what it should be.
    fn stale(&self, index: usize) -> Option<(Stale, ObjId)> {
        let seen = &self.seen[index];
        match seen.kind {
            Kind::Step(Some(scaler)) => {
                let updated = self.seen.iter().any(|other| matches!(other.kind, Kind::Update(_)));
                let again = seen.before.steps;
                let stepped = again & steps::STEPPED != 0 && again & steps::FOREIGN == 0;
                (stepped && !updated).then_some((Stale::Never, scaler))
            }
            Kind::Update(scaler) if seen.before.grads & HELD != 0 => Some((Stale::EveryMicroBatch, scaler)),
            Kind::Update(scaler) if only(seen.before.grads, SCALED) => {
                let step = self.seen[index..].iter().find(|later| later.kind == Kind::Step(Some(scaler)))?;
                only(step.before.grads, STALE).then_some((Stale::BeforeStep(step.place), scaler))
            }
            _ => None,
        }
    }

    /// The unscaled backward pass of gradients that a scaler divides by its scale.
    fn unscaled(&self, index: usize) -> Option<(&Seen, ObjId)> {
        let Kind::Step(Some(scaler)) = self.seen[index].kind else { return None };
        let any = |kinds: &[Kind]| self.seen.iter().any(|seen| kinds.contains(&seen.kind));
        // A whole script in which no loss is ever multiplied.
        let never = self.seeded.is_none() && !any(&[Kind::Scale, Kind::Foreign]);
        if any(&[Kind::Read]) || !(never || only(self.seen[index].before.grads, PLAIN)) {
            return None;
        }
        let plain = |seen: &&Seen| match seen.kind {
            Kind::Backward { surely: true, scaled } => scaled == Scaled::No || never,
            _ => false,
        };
        self.seen[..index].iter().rfind(plain).map(|seen| (seen, scaler))
    }
}

impl<'a> Script<'a> {
    pub fn bypassed_scalers(&self) -> Vec<BypassedScaler> {
        self.in_lives(|life, index| {
            let step = &life.seen[index];
            let through = |seen: &Seen| matches!(seen.kind, Kind::Step(Some(_)) | Kind::Unscale);
            if step.kind != Kind::Step(None) || !life.is_multiplied(step, through) {
                return None;
            }
            let (backward, scaler) = life.scaled_backward(index)?;
            let (at, backward) = (life.at(step), backward.place);
            let (optimizer, scaler) = (life.optimizer(), self.name_of(scaler));
            Some((at.place, BypassedScaler { at, optimizer, scaler, backward }))
        })
    }

    pub fn scaled_clippings(&self) -> Vec<ScaledClipping> {
        self.in_lives(|life, index| {
            let clip = &life.seen[index];
            let unscales = |seen: &Seen| seen.kind == Kind::Unscale;
            // A script that reads the scale may account for it.
            let reads = life.seen[..index].iter().any(|seen| seen.kind == Kind::Read);
            if clip.kind != Kind::Clip || reads || !life.is_multiplied(clip, unscales) {
                return None;
            }
            let (backward, scaler) = life.scaled_backward(index)?;
            let (at, backward) = (life.at(clip), backward.place);
            let (optimizer, scaler) = (life.optimizer(), self.name_of(scaler));
            let step = life.scaled_step(index);
            Some((at.place, ScaledClipping { at, optimizer, scaler, backward, step }))
        })
    }

    pub fn stale_scales(&self) -> Vec<StaleScale> {
        self.in_lives(|life, index| {
            let (kind, scaler) = life.stale(index)?;
            let at = life.at(&life.seen[index]);
            let (optimizer, scaler) = (life.optimizer(), self.name_of(scaler));
            let step = life.scaled_step(index);
            Some((at.place, StaleScale { at, optimizer, scaler, step, kind }))
        })
    }

    pub fn idle_clippings(&self) -> Vec<IdleClipping> {
        self.in_lives(|life, index| {
            let clip = &life.seen[index];
            let (after_step, backward, step) = life.idle_clipping(index)?;
            let (at, optimizer) = (life.at(clip), life.optimizer());
            let (backward, step) = (backward.place, step.place);
            Some((at.place, IdleClipping { at, optimizer, after_step, backward, step }))
        })
    }

    pub fn unscaled_backwards(&self) -> Vec<UnscaledBackward> {
        self.in_lives(|life, index| {
            let (backward, scaler) = life.unscaled(index)?;
            let (at, step) = (life.at(backward), life.seen[index].place);
            Some((at.place, UnscaledBackward { at, scaler: self.name_of(scaler), step }))
        })
    }

    /// What the events of the optimizers' lives answer, once for each place.
    fn in_lives<T>(&self, ask: impl Fn(&Life, usize) -> Option<(Place, T)>) -> Vec<T> {
        let (mut found, mut seen) = (Vec::new(), Vec::new());
        for entry in self.rehearsal.entries.iter().filter(|entry| concerns(&entry.nodes)) {
            for share in self.shares(entry, Parts::Together) {
                let mut life = Life { share, seeded: entry.function, seen: Vec::new() };
                walk(&mut life, &entry.nodes, State { grads: CLEAN, steps: steps::READY });
                for index in 0..life.seen.len() {
                    if let Some((place, answer)) = ask(&life, index)
                        && once(&mut seen, place)
                    {
                        found.push(answer);
                    }
                }
            }
        }
        found
    }
}

/// Whether anything is scaled or clipped at all.
fn concerns(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Event(event) => matches!(
            event.effect,
            Effect::Clip { .. }
                | Effect::Scaler { .. }
                | Effect::Step { scaler: Some(_), .. }
                | Effect::Backward { scaled: Scaled::By(_), .. }
        ),
        Node::Loop { body, .. } | Node::Call { body, .. } => concerns(body),
        Node::Branch { arms, .. } => arms.iter().any(|arm| concerns(arm)),
        Node::Exit(_) => false,
    })
}
