//! What the repairs of several rules on optimizers ask of a script as it is written.

use crate::facts::edits::{Draft, Line};
use crate::facts::{Script, WrittenStep};
use crate::report::{Place, Span};
use crate::syntax::{StmtId, StmtKind};

/// The first of the backward passes that lead up to a step, if all of them stand in its own block.
pub(super) fn leading_backward<'a>(
    script: &Script<'a>,
    backwards: &[Place],
    step: &WrittenStep<'a>,
    draft: Draft<'a>,
) -> Option<Line<'a>> {
    let (block, at) = draft.beside(step.line.stmt)?;
    let position = |other: &Place| {
        // The statements of a block come in order; only of what lies in one is asked whether it is the innermost.
        let after = block.partition_point(|stmt| draft.statement(*stmt).span.start <= other.span.start);
        let holder = after.checked_sub(1)?;
        let holds = other.file == step.place.file && draft.statement(block[holder]).span.contains(other.span);
        (holds && draft.statement_at(other.span)? == block[holder]).then_some(holder)
    };
    // What comes before the step of another optimizer was meant for that one.
    let others = script.steps_of_all();
    let others = others.iter().filter_map(position).filter(|other| *other < at).max();
    // What goes back in another arm of a branch around leads up to another step.
    let here = backwards.iter().filter(|other| !is_in_other_arm(draft, step.line.code, other.span));
    let backwards: Vec<usize> = here.map(position).collect::<Option<_>>()?;
    let leads_up = |backward: &usize| *backward < at && others.is_none_or(|other| *backward > other);
    let line = draft.line(block[backwards.into_iter().filter(leads_up).min()?])?;
    let root = draft.root_of(step.optimizer, step.call)?;
    // The optimizer may get its name in between.
    (!draft.binds(Span::new(line.code.start, step.line.code.start), root)).then_some(line)
}

/// Whether only one of two places runs: an `if` has them in different arms.
fn is_in_other_arm(draft: Draft<'_>, one: Span, other: Span) -> bool {
    let holds =
        |body: &[StmtId], span: Span| body.iter().any(|stmt| draft.statement(*stmt).span.contains(span));
    draft.statements_around(one).iter().any(|stmt| match &draft.statement(*stmt).kind {
        StmtKind::If { arms, otherwise } => {
            let bodies = arms.iter().map(|(_, body)| &**body).chain([&**otherwise]);
            let arm_of = |span: Span| bodies.clone().position(|body| holds(body, span));
            arm_of(one).zip(arm_of(other)).is_some_and(|(one, other)| one != other)
        }
        _ => false,
    })
}

/// Several places with the file that they are in, where one function holds them all.
pub(super) fn in_one_function<'a, const N: usize>(
    script: &Script<'a>,
    places: [Place; N],
) -> Option<(Draft<'a>, [Span; N])> {
    let first = places.first()?;
    let draft = script.draft(first.file);
    let together = |place: &Place| place.file == first.file && draft.same_function(first.span, place.span);
    places.iter().all(together).then(|| (draft, places.map(|place| place.span)))
}
