//! The round of a training loop in the order of its calls: what of it concerns one optimizer, as a replay makes
//! it on a stand-in.

use super::Script;
use super::shares::{Parts, Reach, Share};
use crate::report::Place;
use crate::report::replay::{Act, Call};
use crate::trace::{Effect, Node, ScalerAct, When};
use crate::values::{Int, ObjId, ObjSet, Scaled};

/// How often a branch is taken of which only is known that it is not taken each time.
const NOW_AND_THEN: u32 = 4;
const MOST_EVERY: i64 = 1 << 16;
/// A round of more calls is none that people read.
const MOST_ACTS: usize = 64;

impl Script<'_> {
    /// The innermost loop around a step and other places in which gradients are made, and the optimizer that it
    /// is about.
    pub(super) fn round_at(&self, anchors: &[Place]) -> Option<(ObjId, Vec<Act>)> {
        self.stepping_at(*anchors.first()?).iter().find_map(|optimizer| {
            let acts = self.round_of(optimizer, anchors)?;
            Some((optimizer, acts))
        })
    }

    /// The same for an optimizer that is known.
    pub(super) fn round_of(&self, optimizer: ObjId, anchors: &[Place]) -> Option<Vec<Act>> {
        let share = self.shares_of(&ObjSet::one(optimizer), Parts::Together).into_iter().next()?;
        let mut writer = Writer { share, acts: Vec::new(), coming: None };
        let bodies = self.rehearsal.entries.iter();
        let round = bodies.into_iter().find_map(|entry| writer.innermost(&entry.nodes, anchors))?;
        writer.sequence(round);
        let acts = writer.acts;
        let fits = acts.len() <= MOST_ACTS && acts.iter().any(|act| act.call.is_backward());
        fits.then_some(acts)
    }

    fn stepping_at(&self, place: Place) -> ObjSet {
        let mut found = ObjSet::default();
        for entry in &self.rehearsal.entries {
            each(&entry.nodes, &mut |at, effect| {
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

fn each(nodes: &[Node], see: &mut dyn FnMut(Place, &Effect)) {
    for node in nodes {
        match node {
            Node::Event(event) => see(event.place, &event.effect),
            Node::Loop { body, .. } | Node::Call { body, .. } => each(body, see),
            Node::Branch { arms, .. } => arms.iter().for_each(|arm| each(arm, see)),
            Node::Exit(_) => {}
        }
    }
}

struct Writer<'s, 'a> {
    share: Share<'s, 'a>,
    acts: Vec<Act>,
    /// How often the branch that comes next is taken.
    coming: Option<Int>,
}

impl Writer<'_, '_> {
    fn innermost<'n>(&self, nodes: &'n [Node], anchors: &[Place]) -> Option<&'n [Node]> {
        nodes.iter().find_map(|node| match node {
            Node::Loop { body, .. } => self.innermost(body, anchors).or_else(|| {
                let (mut walks, mut here) = (false, vec![false; anchors.len()]);
                each(body, &mut |place, effect| {
                    walks |= self.backward(effect).is_some();
                    here.iter_mut().zip(anchors).for_each(|(here, anchor)| *here |= place == *anchor);
                });
                (walks && here.into_iter().all(|here| here)).then_some(body.as_slice())
            }),
            Node::Call { body, .. } => self.innermost(body, anchors),
            Node::Branch { arms, .. } => arms.iter().find_map(|arm| self.innermost(arm, anchors)),
            Node::Event(_) | Node::Exit(_) => None,
        })
    }

    fn sequence(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Event(event) => self.event(&event.effect),
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

    fn event(&mut self, effect: &Effect) {
        if let Effect::Paced { every, .. } = effect {
            self.coming = Some(every.clone());
        } else if let Some(call) = self.call(effect) {
            let act = Act::always(call);
            // Parameters that are gone through one by one are cleared, and clipped, once.
            if !(matches!(call, Call::Clear | Call::Clip) && self.acts.last() == Some(&act)) {
                self.acts.push(act);
            }
        }
    }

    fn backward(&self, effect: &Effect) -> Option<Call> {
        let Effect::Backward { leaves, others, scaled } = effect else { return None };
        (self.share.reached(leaves, *others) != Reach::No).then_some(match scaled {
            Scaled::By(_) => Call::ScaledBackward,
            _ => Call::Backward,
        })
    }

    fn call(&self, effect: &Effect) -> Option<Call> {
        let share = &self.share;
        match effect {
            Effect::Backward { .. } => self.backward(effect),
            Effect::Step { optimizer, scaler } if *optimizer == share.optimizer => {
                Some(if scaler.is_some() { Call::ScaledStep } else { Call::Step })
            }
            Effect::Clear { targets, whole } => {
                (share.clears(targets, *whole) == Reach::Surely).then_some(Call::Clear)
            }
            Effect::Clip { targets, whole } => share.is_named_by(targets, *whole).then_some(Call::Clip),
            Effect::Scaler { act: ScalerAct::Unscale(of), .. } => {
                (*of == share.optimizer).then_some(Call::Unscale)
            }
            Effect::Scaler { act: ScalerAct::Update, .. } => Some(Call::Update),
            Effect::Schedule { optimizer, .. } => optimizer
                .map_or(share.is_alone(), |optimizer| optimizer == share.optimizer)
                .then_some(Call::Schedule),
            Effect::Gather { optimizer, .. } => (*optimizer == share.optimizer).then_some(Call::Build),
            _ => None,
        }
    }

    fn branch(&mut self, when: When, arms: &[Vec<Node>]) {
        let every = match (when, self.coming.take()) {
            (When::Phase | When::Counter, Some(every)) => {
                every.known().filter(|every| (1..=MOST_EVERY).contains(every))
            }
            _ => None,
        };
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
        if !matches!(when, When::Phase) {
            self.acts.extend(main);
            return;
        }
        // What the other arms do as well is done each time.
        let every = every.map_or(NOW_AND_THEN, |every| every as u32);
        for act in main {
            let always = !written.is_empty() && written.iter().all(|other| other.contains(&act));
            self.acts.push(if always { act } else { Act { every: act.every.max(every), ..act } });
        }
    }

    /// What a sequence does, without saying so.
    fn aside(&mut self, nodes: &[Node]) -> Vec<Act> {
        let before = std::mem::take(&mut self.acts);
        self.sequence(nodes);
        std::mem::replace(&mut self.acts, before)
    }
}
