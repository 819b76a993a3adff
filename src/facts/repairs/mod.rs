//! What to change in a script so that a finding goes: edits of its own statements, under the names that it says
//! itself. Every answer may be that there is no plain change.

mod gradients;
mod losses;
mod order;
mod scaling;
mod values;

use super::Script;
use super::edits::{Call, Draft, Line};
use crate::report::Place;
use crate::trace::Effect;

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
