//! What is done with scaled gradients that should not be.

use super::scaled_gradients::{Gradients, ScalerUse, ScalingRun, reads_scale};
use super::timeline::{Kind, OptimizerEvent};
use super::view::{Certainty, Whose};
use crate::facts::Script;
use crate::report::Place;
use crate::trace::At;
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

/// A scale that is not chosen again when it should be.
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

impl Script<'_> {
    pub fn bypassed_scalers(&self) -> Vec<BypassedScaler> {
        self.ask_scaling(|run, index| {
            let step = &run.moments[index].event;
            let through = |kind: &Kind| {
                matches!(kind, Kind::Step { whose: Whose::Own, scaler: Some(_) } | Kind::Unscale(_))
            };
            if step.kind != (Kind::Step { whose: Whose::Own, scaler: None })
                || !run.is_multiplied(index, through)
            {
                return None;
            }
            let (backward, scaler) = run.scaled_backward(index)?;
            let (at, backward) = (run.at(step), backward.place);
            let (optimizer, scaler) = (self.optimizer_name(run.timeline.optimizer), self.scaler_name(scaler));
            Some((at.place, BypassedScaler { at, optimizer, scaler, backward }))
        })
    }

    pub fn scaled_clippings(&self) -> Vec<ScaledClipping> {
        self.ask_scaling(|run, index| {
            let clip = &run.moments[index].event;
            let unscales = |kind: &Kind| matches!(kind, Kind::Unscale(_));
            // A script that reads the scale may account for it.
            if !matches!(clip.kind, Kind::Clip(_))
                || run.split(index).0.any(reads_scale)
                || !run.is_multiplied(index, unscales)
            {
                return None;
            }
            let (backward, scaler) = run.scaled_backward(index)?;
            let (at, backward) = (run.at(clip), backward.place);
            let (optimizer, scaler) = (self.optimizer_name(run.timeline.optimizer), self.scaler_name(scaler));
            let step = run.scaled_step(index);
            Some((at.place, ScaledClipping { at, optimizer, scaler, backward, step }))
        })
    }

    pub fn stale_scales(&self) -> Vec<StaleScale> {
        self.ask_scaling(|run, index| {
            let (kind, scaler) = run.stale(index)?;
            let at = run.at(&run.moments[index].event);
            let (optimizer, scaler) = (self.optimizer_name(run.timeline.optimizer), self.scaler_name(scaler));
            let step = run.scaled_step(index);
            Some((at.place, StaleScale { at, optimizer, scaler, step, kind }))
        })
    }

    pub fn idle_clippings(&self) -> Vec<IdleClipping> {
        self.ask_scaling(|run, index| {
            let clip = &run.moments[index].event;
            let (after_step, backward, step) = run.idle_clipping(index)?;
            let (at, optimizer) = (run.at(clip), self.optimizer_name(run.timeline.optimizer));
            let (backward, step) = (backward.place, step.place);
            Some((at.place, IdleClipping { at, optimizer, after_step, backward, step }))
        })
    }

    pub fn unscaled_backwards(&self) -> Vec<UnscaledBackward> {
        self.ask_scaling(|run, index| {
            let (backward, scaler) = run.unscaled(index)?;
            let (at, step) = (run.at(backward), run.moments[index].event.place);
            Some((at.place, UnscaledBackward { at, scaler: self.scaler_name(scaler), step }))
        })
    }
}

impl ScalingRun {
    fn idle_clipping(&self, index: usize) -> Option<(bool, &OptimizerEvent, &OptimizerEvent)> {
        let clip = &self.moments[index];
        let idle = clip.before.gradients.must_be(&[Gradients::Clean, Gradients::Applied]);
        if !matches!(clip.event.kind, Kind::Clip(_)) || !idle {
            return None;
        }
        let iteration = clip.event.loops.last();
        let here = |event: &OptimizerEvent| iteration.is_none_or(|id| event.is_in(*id));
        let backward = |event: &OptimizerEvent| {
            matches!(event.kind, Kind::Backward { certainty: Certainty::Must, .. }) && here(event)
        };
        let step = |event: &&OptimizerEvent| {
            matches!(event.kind, Kind::Step { whose: Whose::Own, .. }) && here(event)
        };
        let first = self.events().position(backward)?;
        let stepped = self.split(first).1.find(step)?;
        let before = self.split(index).0.rev().find(step).filter(|_| first < index);
        Some((before.is_some(), &self.moments[first].event, before.unwrap_or(stepped)))
    }

    /// How the scale of a step, or an update, is not what it should be.
    fn stale(&self, index: usize) -> Option<(Stale, ObjId)> {
        let moment = &self.moments[index];
        let gradients = moment.before.gradients;
        match moment.event.kind {
            Kind::Step { whose: Whose::Own, scaler: Some(scaler) } => {
                let updated = self.events().any(|event| matches!(event.kind, Kind::Update { .. }));
                let uses = moment.before.scaler;
                let again = uses.may_be(&[ScalerUse::Stepped]) && !uses.may_be(&[ScalerUse::Foreign]);
                (again && !updated).then_some((Stale::Never, scaler))
            }
            Kind::Update { scaler } if gradients.may_be(&[Gradients::Held]) => {
                Some((Stale::EveryMicroBatch, scaler))
            }
            Kind::Update { scaler } if gradients.must_be(&[Gradients::Scaled]) => {
                let through = Kind::Step { whose: Whose::Own, scaler: Some(scaler) };
                let step = self.moments[index..].iter().find(|later| later.event.kind == through)?;
                let stale = step.before.gradients.must_be(&[Gradients::Stale]);
                stale.then_some((Stale::BeforeStep(step.event.place), scaler))
            }
            _ => None,
        }
    }

    /// The unscaled backward pass of gradients that a scaler divides by its scale.
    fn unscaled(&self, index: usize) -> Option<(&OptimizerEvent, ObjId)> {
        let step = &self.moments[index];
        let Kind::Step { whose: Whose::Own, scaler: Some(scaler) } = step.event.kind else { return None };
        let scales = |event: &OptimizerEvent| match &event.kind {
            Kind::Scale => true,
            Kind::Touched(touched) => touched.scaler,
            _ => false,
        };
        // A whole script in which no loss is ever multiplied.
        let never = self.timeline.seeded.is_none() && !self.events().any(scales);
        if self.events().any(reads_scale) || !(never || step.before.gradients.must_be(&[Gradients::Plain])) {
            return None;
        }
        let plain = |event: &&OptimizerEvent| match event.kind {
            Kind::Backward { certainty: Certainty::Must, scaled } => scaled == Scaled::No || never,
            _ => false,
        };
        self.split(index).0.rev().find(plain).map(|event| (event, scaler))
    }
}
