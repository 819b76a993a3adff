//! Validation in the loop that trains: on data from before it, which it does not train on.

use crate::facts::Script;
use crate::syntax::ExprKind;
use crate::trace::{At, Forward, LoopId, Sight};

/// Whether a loop trains a model, and runs it once more on other data that was there before the loop.
pub(super) fn is_held_out(script: &Script, at: &At, forward: &Forward, id: LoopId) -> bool {
    let Some(own) = data_of(script, at).filter(|_| is_from_before(script, at, id)) else { return false };
    let consumed = &script.rehearsal.consumed;
    let mut trained = script
        .sightings()
        .filter(|(other, sight)| match sight {
            Sight::Forward(other_forward) => {
                let is_here =
                    other.calls == at.calls && other.seeded == at.seeded && other.loops.contains(&id);
                is_here && other_forward.module == forward.module && consumed.contains(&other_forward.graph)
            }
            _ => false,
        })
        .map(|(other, _)| data_of(script, other))
        .peekable();
    trained.peek().is_some() && trained.all(|data| data.is_some_and(|data| data != own))
}

/// The words for what a forward is given, or that it is an item or a copy of: `x` of `model(x[rows].to(device))`.
fn data_of<'a>(script: &Script<'a>, at: &At) -> Option<&'a str> {
    let draft = script.draft(at.place.file);
    let mut data = draft.call_at(at.place.span)?.args.first()?.value;
    loop {
        let expr = draft.expr(data);
        data = match expr.kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => return Some(draft.text(expr.span)),
            ExprKind::Subscript { base, .. } => base,
            ExprKind::Call { callee, .. } => match draft.expr(callee).kind {
                ExprKind::Attribute { base, .. } => base,
                _ => return None,
            },
            _ => return None,
        };
    }
}

/// Whether nothing in a loop binds a name that the argument of a forward mentions.
fn is_from_before(script: &Script, at: &At, id: LoopId) -> bool {
    let repeated = script.rehearsal.loop_info(id).place;
    let draft = script.draft(at.place.file);
    let given = draft.call_at(at.place.span).and_then(|call| call.args.first());
    repeated.file == at.place.file
        && repeated.span.contains(at.place.span)
        && given.is_some_and(|given| draft.is_from_before(given.value, repeated.span))
}
