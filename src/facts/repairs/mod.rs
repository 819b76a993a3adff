//! What to change in a script so that a finding goes: edits of its own statements, under the names that it says
//! itself. Every answer may be that there is no plain change.

mod values;

use super::Script;
use super::edits::{Call, Draft, Line};
use crate::report::Place;
use crate::trace::{Effect, visits};

/// A statement of a step, and what it calls the optimizer and the scaler.
pub(crate) struct WrittenStep<'a> {
    pub place: Place,
    pub line: Line<'a>,
    pub call: Call<'a>,
    pub optimizer: &'a str,
    pub scaler: Option<&'a str>,
}

impl<'a> Script<'a> {
    /// The step at a place, as the script writes it.
    pub(crate) fn written_step(&self, place: Place) -> Option<WrittenStep<'a>> {
        let draft = self.draft(place.file);
        let call = draft.call_at(place.span)?;
        let (receiver, _) = draft.receiver(call)?;
        let line = draft.line_at(place.span)?;
        if !self.is_scaled_step(place) {
            let optimizer = draft.plain(receiver)?;
            return Some(WrittenStep { place, line, call, optimizer, scaler: None });
        }
        let optimizer = draft.plain(draft.positional(call, 0)?.value)?;
        let scaler = Some(draft.plain(receiver)?);
        Some(WrittenStep { place, line, call, optimizer, scaler })
    }

    /// The step at a place, if it is in the same function as another place.
    pub(crate) fn step_in(&self, other: Place, step: Place) -> Option<WrittenStep<'a>> {
        let together = other.file == step.file && self.draft(step.file).same_function(other.span, step.span);
        self.written_step(step).filter(|_| together)
    }

    /// Where any optimizer steps.
    pub(crate) fn steps_of_all(&self) -> Vec<Place> {
        self.places_of(|effect| matches!(effect, Effect::Step { .. } | Effect::UnseenStep))
    }

    pub(crate) fn places_of(&self, wanted: impl Fn(&Effect) -> bool + Copy) -> Vec<Place> {
        let entries = self.rehearsal.entries.iter();
        entries.flat_map(|entry| visits(&entry.nodes, wanted)).map(|visit| visit.event.place).collect()
    }

    fn is_scaled_step(&self, place: Place) -> bool {
        let scaled = |effect: &Effect| matches!(effect, Effect::Step { scaler: Some(_), .. });
        self.places_of(scaled).contains(&place)
    }
}

impl<'a> Draft<'a> {
    /// A name, or an attribute or item of one, as it is written; not what would be computed twice.
    pub(crate) fn plain(&self, expr: crate::syntax::ExprId) -> Option<&'a str> {
        self.root(expr).map(|_| self.written(expr))
    }
}
