//! What the arms of a branch left in variables, for the next test that asks the same: where `if args.dice:` chose one
//! loss of two, the arm of the next `if args.dice:` has that one, and not either.

use super::{Interp, apart::End, stmt::Flow};
use crate::syntax::ExprId;
use crate::trace::Asked;
use crate::values::*;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// Chains of more tests are not remembered.
const MOST_ARMS: usize = 4;
/// And of one branch so many variables at most.
const MOST_LEFT: usize = 16;

/// A question and its answer.
type Answer = (u32, bool);

#[derive(Default)]
struct Remembered(FxHashMap<Answer, Vec<Left>>);

/// A variable that an arm bound, and what it is behind the branch.
#[derive(Clone)]
struct Left {
    holder: ObjId,
    name: Ustr,
    own: Value,
    behind: Value,
    /// The object that stands for those of all arms, as it was then.
    merged: Option<Rc<Object>>,
}

/// What arms left in the variables of a frame, before it is joined.
pub(super) struct Arms {
    holder: ObjId,
    left: Vec<(Answer, Ustr, Value)>,
}

/// What the arms of a branch leave in the variables of the running function, if questions decide between them.
pub(super) fn left(interp: &mut Interp<'_>, tests: &[ExprId], ends: &[End]) -> Option<Arms> {
    if tests.is_empty() || ends.len() > MOST_ARMS {
        return None;
    }
    let holder = interp.frames.last()?.env;
    let is_through = |(flow, _): &&End| *flow == Flow::Next;
    let written = ends.iter().filter(is_through).filter_map(|(_, writes)| writes.get(holder));
    let before = interp.heap.get(holder);
    let is_changed = |name: Ustr, value: &Value| !before.attr(name).is_some_and(|old| old.same(value));
    let mut names: Vec<Ustr> = Vec::new();
    for (name, value) in written.flat_map(|object| &object.attrs) {
        let is_kind = matches!(value, Value::Obj(_) | Value::Tensor(_));
        if is_kind && names.len() < MOST_LEFT && !names.contains(name) && is_changed(*name, value) {
            names.push(*name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut left = Vec::new();
    let asked: Vec<Option<Asked>> = tests.iter().map(|test| interp.question_in(*test)).collect();
    for (at, (_, writes)) in ends.iter().enumerate().filter(|(_, end)| is_through(end)) {
        let answer = match asked.get(at) {
            Some(asked) => asked.map(|asked| (asked.question, asked.holds)),
            // The other arm of one test.
            None if at == 1 => asked[0].map(|asked| (asked.question, !asked.holds)),
            None => None,
        };
        let Some(answer) = answer else { continue };
        let after = writes.get(holder).unwrap_or(interp.heap.get(holder));
        left.extend(names.iter().filter_map(|name| Some((answer, *name, after.attr(*name)?.clone()))));
    }
    Some(Arms { holder, left })
}

/// Remembers what arms left beside what it is behind the branch, where that is neither.
pub(super) fn keep(interp: &mut Interp<'_>, arms: Arms) {
    let Arms { holder, left } = arms;
    for (answer, name, own) in left {
        let Some(behind) = interp.heap.attr(holder, name).cloned() else { continue };
        let merged = match &behind {
            Value::Obj(object) if interp.heap.is_merged(*object) => Some(interp.heap.shared(*object)),
            Value::Tensor(_) => None,
            _ => continue,
        };
        let left = Left { holder, name, own, behind, merged };
        interp.remember(|all: &mut Remembered| {
            let known = all.0.entry(answer).or_default();
            known.retain(|known| (known.holder, known.name) != (holder, name));
            known.push(left);
        });
    }
}

/// Binds what the arm of the same answer left, in variables that nothing has touched since.
pub(super) fn recall(interp: &mut Interp<'_>, test: ExprId, holds: bool) {
    let Some(holder) = interp.frames.last().map(|frame| frame.env) else { return };
    let Some(asked) = interp.question_in(test) else { return };
    let answer = (asked.question, asked.holds == holds);
    let known = interp.remember(|all: &mut Remembered| all.0.get(&answer).cloned()).unwrap_or_default();
    for left in known.into_iter().filter(|left| left.holder == holder) {
        let is_untouched = match (interp.heap.attr(holder, left.name), &left.behind) {
            (Some(Value::Obj(now)), Value::Obj(then)) => {
                now == then && left.merged.is_some_and(|then| Rc::ptr_eq(&then, &interp.heap.shared(*now)))
            }
            (Some(Value::Tensor(now)), Value::Tensor(then)) => Rc::ptr_eq(now, then),
            _ => false,
        };
        if is_untouched {
            interp.heap.get_mut(holder).set_attr(left.name, left.own);
        }
    }
}
