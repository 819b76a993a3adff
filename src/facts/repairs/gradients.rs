//! Steps, backward passes and what clears gradients.

use super::WrittenStep;
use crate::facts::edits::{Draft, Line};
use crate::facts::{Script, UnclearedStep};
use crate::report::{Edit, Place, Span};
use crate::trace::{Effect, visits};

/// Where gradients are to be cleared.
pub struct Clearing {
    pub optimizer: String,
    /// Else behind the step.
    pub before_backward: bool,
    pub edits: Vec<Edit>,
}

impl<'a> Script<'a> {
    /// A call of `method` on the optimizer of a step: before the backward passes where these are beside the
    /// step, else right behind it, which is as good wherever the step is.
    pub fn clearing(&self, uncleared: &UnclearedStep, method: &str) -> Option<Clearing> {
        let place = uncleared.at.place;
        let draft = self.draft(place.file);
        let step = self.written_step(place)?;
        let code = format!("{}.{method}()", step.optimizer);
        let first = match (step.scaler, step.call.args) {
            (None, [_, ..]) => Some(self.backward_in_closure(uncleared, &step, draft)?),
            _ => self.leading_backward(&uncleared.backwards, &step, draft),
        };
        let edit = match first {
            Some(line) => draft.insert_before(line, &code),
            None => draft.insert_after(step.line, &code),
        };
        let optimizer = step.optimizer.to_owned();
        Some(Clearing { optimizer, before_backward: first.is_some(), edits: vec![edit] })
    }

    /// The backward pass of the function that a step is given, and may call as often as it likes.
    fn backward_in_closure(
        &self,
        uncleared: &UnclearedStep,
        step: &WrittenStep<'a>,
        draft: Draft<'a>,
    ) -> Option<Line<'a>> {
        let closure = draft.positional(step.call, 0)?;
        let [backward] = uncleared.backwards[..] else { return None };
        let around =
            draft.function_around(backward.span).filter(|_| backward.file == uncleared.at.place.file)?;
        let is_it = draft.written(closure.value) == draft.name_of_function(around);
        draft.line_at(backward.span).filter(|_| is_it)
    }

    /// The first of the backward passes that lead up to a step, if all of them stand in its own block.
    pub(super) fn leading_backward(
        &self,
        backwards: &[Place],
        step: &WrittenStep<'a>,
        draft: Draft<'a>,
    ) -> Option<Line<'a>> {
        let (block, at) = draft.beside(step.line.stmt)?;
        let position = |other: &Place| {
            let stmt = draft.statement_at(other.span).filter(|_| other.file == step.place.file)?;
            block.iter().position(|known| *known == stmt)
        };
        // What comes before the step of another optimizer was meant for that one.
        let others = self.steps_of_all();
        let others = others.iter().filter_map(position).filter(|other| *other < at).max();
        let backwards: Vec<usize> = backwards.iter().map(position).collect::<Option<_>>()?;
        let leads_up = |backward: &usize| *backward < at && others.is_none_or(|other| *backward > other);
        let line = draft.line(block[backwards.into_iter().filter(leads_up).min()?])?;
        let root = draft.root_of(step.optimizer, step.call)?;
        // The optimizer may get its name in between.
        (!draft.binds(Span::new(line.code.start, step.line.code.start), root)).then_some(line)
    }

    /// Where any optimizer steps.
    pub(super) fn steps_of_all(&self) -> Vec<Place> {
        self.places_of(|effect| matches!(effect, Effect::Step { .. } | Effect::UnseenStep))
    }

    pub(in crate::facts) fn places_of(&self, wanted: impl Fn(&Effect) -> bool + Copy) -> Vec<Place> {
        let entries = self.rehearsal.entries.iter();
        entries.flat_map(|entry| visits(&entry.nodes, wanted)).map(|visit| visit.event.place).collect()
    }
}
