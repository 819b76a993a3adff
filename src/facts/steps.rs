//! Whether steps happen, and before what: gradients that no optimizer applies, and schedules that run ahead
//! of their optimizer. Knows nothing of what gradients hold; `gradients` does.

use super::shares::{Parts, Reach, Share, optimizers};
use super::{Script, walked};
use crate::report::{Confidence, Place};
use crate::trace::{At, Effect, Entry, Event, LoopId, Node, Over, Protocol, Way, When, walk};
use crate::values::{ObjId, ObjSet};
use ustr::Ustr;

/// A backward of a training loop whose gradients no step applies.
pub struct Unapplied {
    pub at: At,
    pub optimizer: String,
    /// Where the optimizer was made.
    pub made: Place,
    pub backward: Place,
    pub why: Unstepped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unstepped {
    /// The optimizer is there and nobody calls its step.
    Never,
    /// The step is named, without the parentheses that would call it.
    Named,
    /// The step lies behind the loop that clears the gradients of each iteration.
    Behind { step: Place, clear: Place },
}

/// A schedule that goes on before its optimizer has stepped once.
pub struct EarlySchedule {
    pub at: At,
    pub scheduler: String,
    pub step: Place,
    /// The calls that led to the step.
    pub calls: Vec<Place>,
}

#[derive(Clone)]
struct Seen {
    what: What,
    place: Place,
    loops: Vec<LoopId>,
    calls: Vec<(Place, Ustr)>,
    confidence: Confidence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Backward(Reach),
    Step,
    Clear,
    Read,
    Named,
    Foreign,
}

/// All that happens to one optimizer, in the order of the script.
struct Deeds<'s, 'a> {
    share: Share<'s, 'a>,
    seen: Vec<Seen>,
}

impl Protocol for Deeds<'_, '_> {
    type State = ();

    fn join(&self, _: &(), _: &()) {}

    fn event(&mut self, _: &mut (), event: &Event, way: &Way) {
        let share = &self.share;
        let what = match &event.effect {
            Effect::Backward { leaves, others, .. } => match share.reached(leaves, *others) {
                Reach::No => return,
                reach => What::Backward(reach),
            },
            Effect::Step { optimizer, .. } if is_same(share, *optimizer) => What::Step,
            Effect::NamedStep { optimizer } if *optimizer == share.optimizer => What::Named,
            Effect::Clear { targets, .. } if targets.contains(share.optimizer) => What::Clear,
            Effect::Touch { objects } if objects.contains(share.optimizer) => What::Foreign,
            // Looked at, gradients may be of any use: an attack, a penalty, an update by hand.
            Effect::Read { .. } => What::Read,
            Effect::UnseenStep => What::Foreign,
            _ => return,
        };
        if way.settled {
            self.seen.push(seen(what, event, way));
        }
    }
}

/// Whether a step of one optimizer applies what another owns.
fn is_same(share: &Share, stepping: ObjId) -> bool {
    stepping == share.optimizer || share.is_of(stepping)
}

fn seen(what: What, event: &Event, way: &Way) -> Seen {
    Seen {
        what,
        place: event.place,
        loops: way.loops.clone(),
        calls: way.calls.clone(),
        confidence: event.confidence,
    }
}

impl<'a> Script<'a> {
    pub fn unapplied_gradients(&self) -> Vec<Unapplied> {
        let mut found: Vec<Unapplied> = Vec::new();
        if self.rehearsal.out_of_fuel {
            return found;
        }
        let stepped = self.stepped();
        for entry in &self.rehearsal.entries {
            let mut used = self.in_use(entry);
            if stepped.is_empty() && entry.function.is_none() {
                used = used.union(&self.optimizers_of_script());
            }
            for share in self.shares_of(&used, Parts::Together) {
                let steps = stepped.iter().any(|other| is_same(&share, other));
                let mut deeds = Deeds { share, seen: Vec::new() };
                walk(&mut deeds, &entry.nodes, ());
                let one = if steps {
                    self.applied_behind(entry, &deeds)
                } else {
                    self.never_applied(entry, &deeds)
                };
                let known = |one: &Unapplied| found.iter().any(|other| other.backward == one.backward);
                if let Some(one) = one.filter(|one| !known(one)) {
                    found.push(one);
                }
            }
        }
        found
    }

    /// The optimizers that an entry clears or names, but for those that a framework steps by itself. One that
    /// is not even cleared may be there for its settings only.
    fn in_use(&self, entry: &Entry) -> ObjSet {
        let heap = &self.rehearsal.heap;
        let mut used = ObjSet::default();
        each_event(&entry.nodes, &mut |effect| match effect {
            Effect::Clear { targets, .. } => targets.iter().for_each(|object| used.insert(object)),
            Effect::NamedStep { optimizer } => used.insert(*optimizer),
            _ => {}
        });
        let own = |object: &ObjId| heap.get(*object).optimizer().is_some_and(|state| !state.managed);
        used.iter().filter(own).collect()
    }

    /// All optimizers that a script makes for parameters that we see.
    fn optimizers_of_script(&self) -> ObjSet {
        let heap = &self.rehearsal.heap;
        let made = |object: &ObjId| {
            let own = heap.get(*object).optimizer().is_some_and(|state| !state.managed && !state.others);
            own && heap.get(*object).confidence == Confidence::High
        };
        (0..heap.len() as u32).map(ObjId).filter(made).collect()
    }

    /// The optimizers that step anywhere.
    fn stepped(&self) -> ObjSet {
        let mut stepped = ObjSet::default();
        self.rehearsal.entries.iter().for_each(|entry| optimizers(&entry.nodes, &mut stepped));
        stepped
    }

    /// Whether anything updates parameters, or may.
    pub(super) fn steps_anywhere(&self) -> bool {
        let mut steps = false;
        for entry in &self.rehearsal.entries {
            each_event(&entry.nodes, &mut |effect| {
                steps |= matches!(effect, Effect::Step { .. } | Effect::UnseenStep);
            });
        }
        steps
    }

    fn never_applied(&self, entry: &Entry, deeds: &Deeds) -> Option<Unapplied> {
        if self.may_step_elsewhere(&deeds.share) {
            return None;
        }
        let named = deeds.seen.iter().find(|seen| seen.what == What::Named);
        let cleared =
            |id: &LoopId| deeds.seen.iter().any(|seen| seen.what == What::Clear && seen.loops.contains(id));
        // Where no optimizer steps at all, it may be the clearing that is forgotten, too.
        let trains =
            |id: &LoopId| matches!(self.rehearsal.loop_info(*id).over, Over::Loader(_) | Over::Counter);
        let nothing_steps = self.stepped().is_empty() && entry.function.is_none();
        let forgotten = |seen: &Seen| nothing_steps && seen.loops.iter().any(trains);
        if deeds.seen.iter().any(|seen| matches!(seen.what, What::Foreign | What::Read)) {
            return None;
        }
        let backward = deeds.seen.iter().find(|seen| {
            let certain = seen.what == What::Backward(Reach::Surely);
            certain && (named.is_some() || seen.loops.iter().any(cleared) || forgotten(seen))
        })?;
        backward.loops.first()?;
        let primary = named.unwrap_or(backward);
        let why = if named.is_some() { Unstepped::Named } else { Unstepped::Never };
        Some(self.unapplied(entry, &deeds.share, primary, backward, why))
    }

    /// Whether an optimizer of which we do not know what it owns may be this one.
    fn may_step_elsewhere(&self, share: &Share) -> bool {
        let heap = &self.rehearsal.heap;
        let unclear = |object: ObjId| heap.get(object).optimizer().is_some_and(|state| state.others);
        let mut unseen = false;
        for entry in &self.rehearsal.entries {
            each_event(&entry.nodes, &mut |effect| unseen |= matches!(effect, Effect::UnseenStep));
        }
        unseen || self.stepped().iter().any(|object| unclear(object) || share.state.others)
    }

    /// Each iteration clears what the one before has left, and the step comes after all of them.
    fn applied_behind(&self, entry: &Entry, deeds: &Deeds) -> Option<Unapplied> {
        let backward = deeds.seen.iter().find(|seen| seen.what == What::Backward(Reach::Surely))?;
        let innermost = *backward.loops.last()?;
        let within = |seen: &&Seen| seen.loops.contains(&innermost);
        let clear = deeds.seen.iter().filter(within).find(|seen| seen.what == What::Clear)?;
        let used = |seen: &Seen| !matches!(seen.what, What::Backward(_) | What::Clear);
        if clear.loops != backward.loops || deeds.seen.iter().filter(within).any(used) {
            return None;
        }
        let around = innermost_outside(&backward.loops, innermost);
        let step = deeds.seen.iter().find(|seen| {
            seen.what == What::Step && around.is_none_or(|around| seen.loops.contains(&around))
        })?;
        let used_between = deeds.seen.iter().any(|seen| matches!(seen.what, What::Read | What::Foreign));
        let why = Unstepped::Behind { step: step.place, clear: clear.place };
        let after = deeds.seen.iter().position(|seen| seen.place == backward.place)
            < deeds.seen.iter().position(|seen| seen.place == step.place);
        (after && !used_between).then(|| self.unapplied(entry, &deeds.share, backward, backward, why))
    }

    fn unapplied(
        &self,
        entry: &Entry,
        share: &Share,
        at: &Seen,
        backward: &Seen,
        why: Unstepped,
    ) -> Unapplied {
        let optimizer = self.rehearsal.heap.get(share.optimizer);
        Unapplied {
            at: at_of(entry, at, backward.confidence.min(optimizer.confidence)),
            optimizer: self.name_of(share.optimizer),
            made: optimizer.site,
            backward: backward.place,
            why,
        }
    }

    pub fn early_schedules(&self) -> Vec<EarlySchedule> {
        let mut found: Vec<EarlySchedule> = Vec::new();
        for entry in &self.rehearsal.entries {
            for share in self.shares(entry, Parts::Together) {
                let mut order = Order { share, conditional: 0, early: Vec::new(), steps: Vec::new() };
                walk(&mut order, &entry.nodes, WAITING);
                for (scheduler, early) in &order.early {
                    let Some(step) = order.step_after(entry, early) else { continue };
                    if found.iter().any(|other| other.at.place == early.place) {
                        continue;
                    }
                    found.push(EarlySchedule {
                        at: at_of(entry, early, early.confidence.min(step.confidence)),
                        scheduler: self.name_or(*scheduler, "scheduler"),
                        step: step.place,
                        calls: step.calls.iter().map(|(site, _)| *site).collect(),
                    });
                }
            }
        }
        found
    }
}

/// The loop around one of those that a place lies in.
fn innermost_outside(loops: &[LoopId], inner: LoopId) -> Option<LoopId> {
    let at = loops.iter().position(|id| *id == inner)?;
    loops[..at].last().copied()
}

fn each_event(nodes: &[Node], see: &mut dyn FnMut(&Effect)) {
    for node in nodes {
        match node {
            Node::Event(event) => see(&event.effect),
            Node::Loop { body, .. } | Node::Call { body, .. } => each_event(body, see),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| each_event(arm, see)),
            Node::Exit(_) => {}
        }
    }
}

fn at_of(entry: &Entry, seen: &Seen, confidence: Confidence) -> At {
    walked(entry.function, seen.place, &seen.loops, &seen.calls, confidence.min(seen.confidence))
}

/// How far an optimizer is, as a set.
type Progress = u8;
/// It has not stepped.
const WAITING: Progress = 1;
const STEPPED: Progress = 2;
/// Somebody we cannot see may have stepped.
const FOREIGN: Progress = 4;

/// The first round of everything: which comes first, the optimizer or its schedule.
struct Order<'s, 'a> {
    share: Share<'s, 'a>,
    /// Arms around us that a counter decides: they are not taken in the first round, or not known to be.
    conditional: usize,
    early: Vec<(ObjId, Seen)>,
    steps: Vec<Seen>,
}

impl Protocol for Order<'_, '_> {
    type State = Progress;

    fn join(&self, a: &Progress, b: &Progress) -> Progress {
        a | b
    }

    fn first_round_only(&self) -> bool {
        true
    }

    fn enter_arm(&mut self, when: When) {
        self.conditional += usize::from(when != When::Unknown);
    }

    fn leave_arm(&mut self, when: When) {
        self.conditional -= usize::from(when != When::Unknown);
    }

    fn event(&mut self, state: &mut Progress, event: &Event, way: &Way) {
        match &event.effect {
            Effect::Step { optimizer, .. } if is_same(&self.share, *optimizer) => {
                self.steps.push(seen(What::Step, event, way));
                *state = STEPPED;
            }
            Effect::Touch { objects } if self.share.may_reach(objects) => *state = FOREIGN,
            Effect::UnseenStep => *state = FOREIGN,
            Effect::Schedule { scheduler, optimizer } => {
                let ours =
                    optimizer.map_or(self.share.is_alone(), |optimizer| is_same(&self.share, optimizer));
                if ours && *state == WAITING && self.conditional == 0 {
                    self.early.push((*scheduler, seen(What::Foreign, event, way)));
                }
            }
            _ => {}
        }
    }
}

impl Order<'_, '_> {
    /// The step that a schedule went before, in the same round: a schedule that is wound forward alone, to
    /// where a run was broken off, is in no loop that trains.
    fn step_after(&self, entry: &Entry, early: &Seen) -> Option<&Seen> {
        match early.loops.last() {
            Some(round) => self.steps.iter().find(|step| step.loops.contains(round)),
            // What is called for each epoch begins with its schedule.
            None if entry.function.is_some() => self.steps.iter().find(|step| !step.loops.is_empty()),
            None => None,
        }
    }
}
