//! Statements that stand in the wrong order.

use crate::facts::edits::Draft;
use crate::facts::{ClearedEarly, EarlySchedule, IdleClipping, Misplaced, Script};
use crate::report::{Edit, Place, Span};
use crate::syntax::{StmtId, StmtKind};
use crate::trace::Effect;

impl<'a> Script<'a> {
    /// A clearing moved to where gradients have been used: before the backward passes beside it, else behind the
    /// step.
    pub fn clear_moved(&self, clear: &ClearedEarly) -> Option<Vec<Edit>> {
        let (draft, [clearing, _]) = self.in_one_function([clear.at.place, clear.step])?;
        let line = draft.line_at(clearing)?;
        if clear.kind == Misplaced::EveryMicroBatch {
            return draft.move_after(line, draft.line_at(clear.step.span)?);
        }
        let step = self.written_step(clear.step)?;
        let (block, _) = draft.beside(line.stmt)?;
        let backward = self
            .leading_backward(&clear.backwards, &step, draft)
            .filter(|it| block.contains(&it.stmt) && it.code.start < line.code.start);
        // What else is cleared there would have to move as well.
        let stretch = Span::new(backward.unwrap_or(line).code.start, step.line.code.start);
        let clears = self.places_of(|effect| matches!(effect, Effect::Clear { .. }));
        let moves_alone = clears.iter().all(|other| {
            other.file != clear.at.place.file || !stretch.contains(other.span) || *other == clear.at.place
        });
        match backward.filter(|_| moves_alone) {
            Some(backward) => draft.move_before(line, backward),
            None if moves_alone => draft.move_after(line, step.line),
            None => None,
        }
    }

    /// A clipping moved between the backward pass and the step, where all three stand beside each other.
    pub fn clipping_moved(&self, clip: &IdleClipping) -> Option<Vec<Edit>> {
        let (draft, [clipping, backward, step]) =
            self.in_one_function([clip.at.place, clip.backward, clip.step])?;
        let (line, target) = (draft.line_at(clipping)?, draft.line_at(step)?);
        let (block, at) = draft.beside(target.stmt)?;
        let position = |stmt: StmtId| block.iter().position(|other| *other == stmt);
        let backward = position(draft.statement_at(backward)?)?;
        (position(line.stmt).is_some() && backward < at).then(|| draft.move_before(line, target))?
    }

    /// A step of a schedule moved behind the statement in which its optimizer first steps.
    pub fn schedule_moved(&self, early: &EarlySchedule) -> Option<Vec<Edit>> {
        let draft = self.draft(early.at.place.file);
        let line = draft.line_at(early.at.place.span)?;
        // With an argument it would say the epoch to come.
        draft.call_at(line.code).filter(|call| call.args.is_empty())?;
        let (block, at) = draft.beside(line.stmt)?;
        let ways = early.calls.iter().chain([&early.step]);
        let inside = ways.filter(|place| place.file == early.at.place.file).find_map(|place| {
            draft.statements_around(place.span).into_iter().find(|stmt| block.contains(stmt))
        })?;
        let target = draft.line(inside)?;
        let passed = block.iter().position(|stmt| *stmt == inside).filter(|other| *other > at)?;
        let may_leave = block[at..=passed].iter().any(|stmt| draft.leaves_round(*stmt));
        if may_leave { None } else { draft.move_after(line, target) }
    }

    fn in_one_function<const N: usize>(&self, places: [Place; N]) -> Option<(Draft<'a>, [Span; N])> {
        let first = places.first()?;
        let draft = self.draft(first.file);
        let together =
            |place: &Place| place.file == first.file && draft.same_function(first.span, place.span);
        places.iter().all(together).then(|| (draft, places.map(|place| place.span)))
    }
}

impl Draft<'_> {
    /// Whether a statement may end the iteration that it stands in: `continue`, `break` or `return` of its own.
    fn leaves_round(&self, stmt: StmtId) -> bool {
        let span = self.statement(stmt).span;
        let is_loop = matches!(self.statement(stmt).kind, StmtKind::For { .. } | StmtKind::While { .. });
        self.statements_within(span).any(|kind| match kind {
            StmtKind::Return(_) => true,
            StmtKind::Continue | StmtKind::Break => !is_loop,
            _ => false,
        })
    }
}
