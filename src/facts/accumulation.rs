//! Gradients that are summed over several batches before a step: whether anything makes a mean of them.

use super::shares::{Parts, Reach, Share};
use super::{Script, walked};
use crate::report::{Confidence, Place, Severity};
use crate::trace::{At, Effect, Entry, Event, LoopId, Protocol, Sight, Way, When, walk};
use crate::values::{Int, ObjId};
use ustr::Ustr;

/// A backward whose gradients are added to those of other batches at full size.
pub struct FullSize {
    pub at: At,
    pub severity: Severity,
    pub optimizer: String,
    pub step: Place,
    /// How many batches one step sums, where that is known.
    pub batches: Option<i64>,
    /// The steps of the optimizer grow with the gradients.
    pub is_proportional: bool,
}

#[derive(Clone)]
struct Seen {
    what: What,
    place: Place,
    loops: Vec<LoopId>,
    calls: Vec<(Place, Ustr)>,
    confidence: Confidence,
    /// How often the branch around it is taken.
    pace: Option<Pace>,
}

#[derive(Clone)]
struct Pace {
    every: Int,
    given: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Backward,
    Step,
    Clear,
    Clip,
    /// The gradients may have been divided, or read to be.
    Foreign,
}

/// What happens to one optimizer's gradients, with the branches that are taken every so often.
struct Pulse<'s, 'a> {
    share: Share<'s, 'a>,
    seen: Vec<Seen>,
    /// Of the branch that comes next.
    coming: Option<Pace>,
    around: Vec<Option<Pace>>,
}

impl Pulse<'_, '_> {
    fn what(&self, effect: &Effect) -> Option<What> {
        let share = &self.share;
        match effect {
            Effect::Backward { leaves, others, .. } => match share.reached(leaves, *others) {
                Reach::Surely => Some(What::Backward),
                Reach::Maybe => Some(What::Foreign),
                Reach::No => None,
            },
            Effect::Step { optimizer, .. } if *optimizer == share.optimizer => Some(What::Step),
            Effect::Step { optimizer, .. } if share.is_of(*optimizer) => Some(What::Foreign),
            Effect::Clear { targets, whole } => {
                (share.clears(targets, *whole) != Reach::No).then_some(What::Clear)
            }
            Effect::Clip { targets, .. } => share.overlap(targets).then_some(What::Clip),
            Effect::Touch { objects } => share.may_reach(objects).then_some(What::Foreign),
            Effect::Read { .. } | Effect::UnseenStep => Some(What::Foreign),
            _ => None,
        }
    }
}

impl Protocol for Pulse<'_, '_> {
    type State = ();

    fn join(&self, _: &(), _: &()) {}

    fn enter_arm(&mut self, when: When) {
        let paced = matches!(when, When::Phase | When::Counter);
        self.around.push(if paced { self.coming.clone() } else { None });
    }

    fn leave_arm(&mut self, _when: When) {
        self.around.pop();
    }

    fn event(&mut self, _: &mut (), event: &Event, way: &Way) {
        if let Effect::Paced { every, given } = &event.effect {
            self.coming = Some(Pace { every: every.clone(), given: *given });
            return;
        }
        let Some(what) = self.what(&event.effect).filter(|_| way.settled) else { return };
        self.seen.push(Seen {
            what,
            place: event.place,
            loops: way.loops.clone(),
            calls: way.calls.clone(),
            confidence: event.confidence,
            pace: self.around.iter().rev().find_map(Clone::clone),
        });
    }
}

impl<'a> Script<'a> {
    pub fn full_size_gradients(&self) -> Vec<FullSize> {
        let mut found: Vec<FullSize> = Vec::new();
        for entry in &self.rehearsal.entries {
            for share in self.shares(entry, Parts::Together).into_iter().filter(|share| !share.state.managed)
            {
                let mut pulse = Pulse { share, seen: Vec::new(), coming: None, around: Vec::new() };
                walk(&mut pulse, &entry.nodes, ());
                for step in pulse.seen.iter().filter(|seen| seen.what == What::Step) {
                    let one = self.full_size(entry, &pulse, step);
                    found.extend(one.filter(|one| found.iter().all(|other| other.at.place != one.at.place)));
                }
            }
        }
        found
    }

    /// The backward of each iteration, where a step is taken every so often and nothing makes a mean.
    fn full_size(&self, entry: &Entry, pulse: &Pulse, step: &Seen) -> Option<FullSize> {
        let (pace, round) = (step.pace.as_ref()?, step.loops.last()?);
        let within: Vec<&Seen> = pulse.seen.iter().filter(|seen| seen.loops.contains(round)).collect();
        let spoilt = |seen: &&Seen| match seen.what {
            What::Foreign => true,
            // Stepped or cleared outside of the branch, nothing accumulates.
            What::Step | What::Clear => seen.pace.is_none(),
            What::Backward | What::Clip => false,
        };
        let batches = pace.every.known();
        if batches.is_some_and(|every| every <= 1) || within.iter().any(spoilt) {
            return None;
        }
        let each = |seen: &&&Seen| {
            seen.what == What::Backward && seen.pace.is_none() && seen.loops.last() == Some(round)
        };
        let backward = within.iter().find(each)?;
        if !self.is_averaged_at(backward.place) {
            return None;
        }
        let is_proportional = self.is_proportional(pulse.share.optimizer);
        // Clipped, or divided by their own size, the gradients lose the factor again; and where only the user
        // knows how many, it may be one.
        let clips = within.iter().any(|seen| seen.what == What::Clip);
        let shows = is_proportional && !clips && (batches.is_some() || !pace.given);
        Some(FullSize {
            at: walked(
                entry.function,
                backward.place,
                &backward.loops,
                &backward.calls,
                backward.confidence.min(step.confidence),
            ),
            severity: if shows { Severity::Warning } else { Severity::Note },
            optimizer: self.name_of(pulse.share.optimizer),
            step: step.place,
            batches,
            is_proportional,
        })
    }

    fn is_proportional(&self, optimizer: ObjId) -> bool {
        self.rehearsal.heap.get(optimizer).optimizer().is_some_and(|state| state.proportional)
    }

    /// Whether the loss of a backward is the mean of its batch, on every way that leads there.
    fn is_averaged_at(&self, place: Place) -> bool {
        let averaged: Vec<bool> = self
            .sightings()
            .filter_map(|(at, sight)| match sight {
                Sight::Backward { loss, .. } if at.place == place => Some(loss.averaged),
                _ => None,
            })
            .collect();
        !averaged.is_empty() && averaged.into_iter().all(|averaged| averaged)
    }
}
