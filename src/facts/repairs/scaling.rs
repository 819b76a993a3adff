//! Calls of a scaler of gradients, under the names that its other calls give it.

use super::WrittenStep;
use crate::facts::edits::Draft;
use crate::facts::{BypassedScaler, ScaledClipping, Script, StaleScale, UnscaledBackward};
use crate::report::{Edit, Place, Span};
use crate::trace::{Effect, ScalerAct};

impl<'a> Script<'a> {
    /// Divides the gradients by the scale before they are clipped, where every clipping leads to a step.
    pub fn unscaled_first(&self, clip: &ScaledClipping, method: &str) -> Option<Vec<Edit>> {
        // Gradients are divided once, before the first of several clippings.
        let before_step =
            |other: &ScaledClipping| other.step == clip.step && other.at.place.file == clip.at.place.file;
        let all = self.scaled_clippings().into_iter().filter(before_step).map(|other| other.at.place);
        let place = all.min_by_key(|place| place.span.start)?;
        let step = self.step_in(place, clip.step?)?;
        let draft = self.draft(place.file);
        let line = draft.line_at(place.span)?;
        let (block, at) = draft.beside(step.line.stmt)?;
        let leads_there = draft.statements_around(place.span).iter().any(|stmt| block[..at].contains(stmt));
        if !leads_there {
            return None;
        }
        let unscales =
            self.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Unscale(_), .. }));
        let late =
            unscales.iter().filter(|other| other.file == place.file && other.span.start > place.span.start);
        if let Some(late) =
            late.filter_map(|late| draft.line_at(late.span)).find(|late| block.contains(&late.stmt))
        {
            return draft.move_before(late, line);
        }
        let between = Span::new(line.code.start, step.line.code.start);
        let is_known =
            |name: &str| draft.root_of(name, step.call).is_some_and(|root| !draft.binds(between, root));
        let scaler = step.scaler.filter(|scaler| is_known(scaler) && is_known(step.optimizer))?;
        Some(vec![draft.insert_before(line, &format!("{scaler}.{method}({})", step.optimizer))])
    }

    /// A call of the scaler's `method` behind the last of the steps that stand beside each other.
    pub fn updated_after_step(&self, stale: &StaleScale, method: &str) -> Option<Vec<Edit>> {
        let step = self.written_step(stale.at.place)?;
        let draft = self.draft(stale.at.place.file);
        let last = self.last_scaled_step(stale.at.place, draft)?;
        Some(vec![draft.insert_after(last.line, &format!("{}.{method}()", step.scaler?))])
    }

    /// The update of a scale moved behind the last of the steps, or removed where one is there already.
    pub fn update_moved(&self, stale: &StaleScale) -> Option<Vec<Edit>> {
        let (update, step) = (stale.at.place, stale.step?);
        let draft = self.draft(update.file);
        self.step_in(update, step)?;
        let (line, last) = (draft.line_at(update.span)?, self.last_scaled_step(step, draft)?.line);
        let (block, at) = draft.beside(last.stmt)?;
        let updates =
            self.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Update, .. }));
        let is_there = updates.iter().filter(|other| other.file == update.file).any(|other| {
            draft
                .statement_at(other.span)
                .is_some_and(|stmt| block[at..].contains(&stmt) && stmt != line.stmt)
        });
        if is_there { Some(vec![draft.remove(line)?]) } else { draft.move_after(line, last) }
    }

    /// A step through the scaler that the backward pass goes through.
    pub fn stepped_by_scaler(&self, step: &BypassedScaler) -> Option<Vec<Edit>> {
        let place = step.at.place;
        let draft = self.draft(place.file);
        let scaler = self.scaler_of_backward(step.backward, draft)?;
        let written = self.step_in(step.backward, place)?;
        let call = draft.call_at(place.span).filter(|call| call.args.is_empty())?;
        // A backward pass in one arm of a branch says nothing of the other.
        let (block, _) = draft.beside(draft.statement_at(step.backward.span)?)?;
        draft.statements_around(place.span).iter().find(|stmt| block.contains(stmt))?;
        let mut edits = vec![draft.replace(call.span, format!("{scaler}.step({})", written.optimizer))];
        if !self.updates_scale() {
            edits.push(draft.insert_after(written.line, &format!("{scaler}.update()")));
        }
        Some(edits)
    }

    /// A backward pass of the loss multiplied by the scaler that steps.
    pub fn scaled_backward(&self, raw: &UnscaledBackward, method: &str) -> Option<Vec<Edit>> {
        let place = raw.at.place;
        let draft = self.draft(place.file);
        let step = self.step_in(place, raw.step)?;
        let (loss, _) = draft.receiver(draft.call_at(place.span)?)?;
        Some(draft.wrap(draft.expr(loss).span, &format!("{}.{method}(", step.scaler?), ")"))
    }

    /// The step at a place, if it is in the same function as another place.
    fn step_in(&self, other: Place, step: Place) -> Option<WrittenStep<'a>> {
        let together = other.file == step.file && self.draft(step.file).same_function(other.span, step.span);
        self.written_step(step).filter(|_| together)
    }

    fn last_scaled_step(&self, place: Place, draft: Draft<'a>) -> Option<WrittenStep<'a>> {
        let (block, _) = draft.beside(draft.statement_at(place.span)?)?;
        let steps = self.steps_of_all().into_iter().filter(|step| step.file == place.file);
        let beside = |step: &WrittenStep| step.scaler.is_some() && block.contains(&step.line.stmt);
        let steps = steps.filter_map(|step| self.written_step(step)).filter(beside);
        steps.max_by_key(|step| step.line.code.start)
    }

    /// What the script calls the scaler in `scaler.scale(loss).backward()`.
    fn scaler_of_backward(&self, backward: Place, draft: Draft<'a>) -> Option<&'a str> {
        let (scaled, _) = draft.receiver(draft.call_at(backward.span)?)?;
        let (scaler, _) = draft.receiver(draft.call(scaled)?)?;
        draft.plain(scaler)
    }

    fn updates_scale(&self) -> bool {
        !self.places_of(|effect| matches!(effect, Effect::Scaler { act: ScalerAct::Update, .. })).is_empty()
    }
}
