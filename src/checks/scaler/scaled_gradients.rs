//! The states of gradients that a scaler multiplies: scaled with the loss, unscaled, clipped, applied; and whether
//! the scaler is ready for the next step. What the rules on scalers and on clipping ask.

use crate::facts::timeline::{
    Automaton, Certainty, Kind, LoopHead, Moment, OptimizerEvent, Parts, Powerset, Timeline, Whose, run,
    states,
};
use crate::facts::{Places, Script};
use crate::report::{Confidence, Place};
use crate::trace::{At, When};
use crate::values::{ObjId, Scaled};
use std::rc::Rc;

states! {
    /// What the gradients of one optimizer are.
    pub(in crate::checks) enum ScaledGradients {
        /// None, or zero.
        Clean,
        /// Of a loss that was not scaled.
        Plain,
        Scaled,
        /// Divided by the scale again.
        Unscaled,
        /// Scaled by a scale that was updated since.
        Stale,
        /// Scaled, and past the branch that steps every so often.
        Held,
        /// Applied, and still in place.
        Applied,
        /// Somebody we cannot see may have done anything, or two kinds met.
        Foreign,
    }
}

states! {
    /// What the optimizer did since the last update of its scaler.
    pub(in crate::checks) enum ScalerUse {
        Ready,
        Stepped,
        /// Somebody we cannot see may have used the scaler.
        Foreign,
    }
}

pub(in crate::checks) use ScaledGradients as Gradients;

/// Multiplied by a scale, whichever.
pub(in crate::checks) const MULTIPLIED: [Gradients; 3] =
    [Gradients::Scaled, Gradients::Stale, Gradients::Held];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::checks) struct ScalingState {
    pub gradients: Powerset<Gradients>,
    pub scaler: Powerset<ScalerUse>,
}

/// Two iterations of scaling, unscaling, clipping and applying gradients.
struct ScalingCycle;

impl Automaton for ScalingCycle {
    type State = ScalingState;

    const LOOP_HEAD: LoopHead = LoopHead::BackEdge;

    fn start() -> ScalingState {
        ScalingState { gradients: Powerset::one(Gradients::Clean), scaler: Powerset::one(ScalerUse::Ready) }
    }

    fn next(before: ScalingState, event: &OptimizerEvent) -> ScalingState {
        ScalingState {
            gradients: next_gradients(before.gradients, &event.kind),
            scaler: next_use(before.scaler, &event.kind),
        }
    }

    fn join(a: &ScalingState, b: &ScalingState) -> ScalingState {
        ScalingState { gradients: a.gradients.union(b.gradients), scaler: a.scaler.union(b.scaler) }
    }

    /// Where one arm steps every so often, the other passes what is scaled on.
    fn arms(when: When, before: &ScalingState, arms: Vec<ScalingState>) -> Vec<ScalingState> {
        let steps = when == When::Phase
            && before.gradients.may_be(&MULTIPLIED)
            && arms.iter().any(|arm| !arm.gradients.may_be(&MULTIPLIED));
        let held = |one| if one == Gradients::Scaled { Gradients::Held } else { one };
        let passed_on = |arm: ScalingState| ScalingState {
            gradients: if steps { arm.gradients.map(held) } else { arm.gradients },
            ..arm
        };
        arms.into_iter().map(passed_on).collect()
    }
}

fn next_gradients(before: Powerset<Gradients>, kind: &Kind) -> Powerset<Gradients> {
    let multiplied =
        |becomes: Gradients| before.map(|one| if MULTIPLIED.contains(&one) { becomes } else { one });
    match kind {
        Kind::Backward { certainty, scaled } => {
            let after = before.map(|one| accumulated(one, *scaled));
            if *certainty == Certainty::Must { after } else { before.union(after) }
        }
        Kind::Step { .. } => before.map(|one| match one {
            Gradients::Clean => Gradients::Clean,
            _ => Gradients::Applied,
        }),
        Kind::Clear { certainty: Certainty::Must, .. } | Kind::Made(Certainty::Must) => {
            Powerset::one(Gradients::Clean)
        }
        Kind::Clear { certainty: Certainty::May, .. } | Kind::Made(Certainty::May) => {
            before.with(Gradients::Clean)
        }
        Kind::Unscale(_) => multiplied(Gradients::Unscaled),
        Kind::Update { .. } => multiplied(Gradients::Stale),
        Kind::Touched(touched) if touched.gradients => Powerset::one(Gradients::Foreign),
        // They may be divided by the scale.
        Kind::Changed => Powerset::one(Gradients::Foreign),
        _ => before,
    }
}

/// What gradients are when those of another backward pass are added to them.
fn accumulated(before: Gradients, scaled: Scaled) -> Gradients {
    match (before, scaled) {
        (Gradients::Clean | Gradients::Applied | Gradients::Plain, Scaled::No) => Gradients::Plain,
        (Gradients::Stale, Scaled::By(_)) => Gradients::Stale,
        // Whatever was there, what is added is multiplied.
        (_, Scaled::By(_)) => Gradients::Scaled,
        _ => Gradients::Foreign,
    }
}

fn next_use(before: Powerset<ScalerUse>, kind: &Kind) -> Powerset<ScalerUse> {
    match kind {
        Kind::Step { whose: Whose::Own, scaler: Some(_) } => Powerset::one(ScalerUse::Stepped),
        Kind::Update { .. } => Powerset::one(ScalerUse::Ready),
        Kind::Touched(touched) if touched.scaler => Powerset::one(ScalerUse::Foreign),
        _ => before,
    }
}

/// A timeline in which something is scaled or clipped, with the states before its events.
pub(in crate::checks) struct ScalingRun {
    pub timeline: Rc<Timeline>,
    pub moments: Vec<Moment<ScalingState>>,
}

impl ScalingRun {
    pub(crate) fn events(&self) -> impl DoubleEndedIterator<Item = &OptimizerEvent> {
        self.moments.iter().map(|moment| &*moment.event)
    }

    /// The events before one, and that one with those after it.
    pub(crate) fn split(
        &self,
        index: usize,
    ) -> (impl DoubleEndedIterator<Item = &OptimizerEvent>, impl Iterator<Item = &OptimizerEvent>) {
        let (before, after) = self.moments.split_at(index);
        (before.iter().map(|moment| &*moment.event), after.iter().map(|moment| &*moment.event))
    }

    /// Whether gradients are multiplied at a moment: on every path, or, where nothing of the script ever does
    /// what would undo it, on one of them, and one of these on the others.
    pub(crate) fn is_multiplied(
        &self,
        index: usize,
        others: &[Gradients],
        undoes: impl Fn(&Kind) -> bool,
    ) -> bool {
        let gradients = self.moments[index].before.gradients;
        gradients.must_be(&MULTIPLIED)
            || (gradients.may_be(&MULTIPLIED)
                && gradients.must_be(&[&MULTIPLIED, others].concat())
                && !self.events().any(|event| undoes(&event.kind)))
    }

    pub(crate) fn at(&self, event: &OptimizerEvent) -> At {
        self.timeline.at(event, Confidence::High)
    }

    /// The scaled backward pass just before, or else any, and its scaler.
    pub(crate) fn scaled_backward(&self, before: usize) -> Option<(&OptimizerEvent, ObjId)> {
        let scaled = |event| Some((event, scaler_of_backward(event)?));
        self.split(before).0.rev().find_map(scaled).or_else(|| self.events().find_map(scaled))
    }

    /// The next step through a scaler, or else any.
    pub(crate) fn scaled_step(&self, index: usize) -> Option<Place> {
        let scaled =
            |event: &&OptimizerEvent| matches!(event.kind, Kind::Step { whose: Whose::Own, scaler: Some(_) });
        let found = self.split(index).1.find(scaled).or_else(|| self.events().find(scaled))?;
        Some(found.place)
    }
}

fn scaler_of_backward(event: &OptimizerEvent) -> Option<ObjId> {
    match event.kind {
        Kind::Backward { scaled: Scaled::By(scaler), .. } => Some(scaler),
        _ => None,
    }
}

/// Whether the script learns the scale, and may account for it by itself.
pub(in crate::checks) fn reads_scale(event: &OptimizerEvent) -> bool {
    matches!(event.kind, Kind::ReadScale | Kind::MayUnscale)
}

/// What the events of the optimizers' timelines answer, once for each place.
pub(in crate::checks) fn ask_scaling<T>(
    script: &Script,
    ask: impl Fn(&ScalingRun, usize) -> Option<(Place, T)>,
) -> Vec<T> {
    let (mut found, mut seen) = (Vec::new(), Places::default());
    for timeline in script.timelines_by_options(Parts::Together) {
        if !timeline.any(concerns_scaling) {
            continue;
        }
        let moments = run::<ScalingCycle>(&timeline);
        let run = ScalingRun { timeline, moments };
        for index in 0..run.moments.len() {
            if let Some((place, answer)) = ask(&run, index)
                && seen.insert(place)
            {
                found.push(answer);
            }
        }
    }
    found
}

/// Whether anything is scaled or clipped at all.
fn concerns_scaling(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Clip(_)
            | Kind::Step { scaler: Some(_), .. }
            | Kind::Backward { scaled: Scaled::By(_), .. }
            | Kind::Update { .. }
    )
}
