//! Operations with a pole: kept away from it, or written in the form that has none.

use crate::apis::index::{self, Answer};
use crate::facts::{Script, Unsafe};
use crate::report::{Edit, Place, Span};
use crate::syntax::ExprKind;

impl Script<'_> {
    /// A small number added to the operand of an unsafe operation.
    pub fn kept_from_zero(&self, number: &Unsafe, by: &str) -> Option<Vec<Edit>> {
        self.with_summand(number.operand_at?, by)
    }

    /// `log(softmax(x, …))` as `log_softmax(x, …)` of the same module or tensor, where there is such a function.
    pub fn as_log_softmax(&self, number: &Unsafe) -> Option<Vec<Edit>> {
        const FROM: &str = "softmax";
        let operand = number.operand_at?;
        let draft = self.draft(operand.file);
        let call = draft.call_at(operand.span)?;
        let callee = draft.expr(call.callee);
        let is_softmax = draft.written(call.callee).rsplit('.').next() == Some(FROM);
        let ExprKind::Attribute { .. } = callee.kind else { return None };
        let exists = match draft.qualified(call.callee) {
            Some(name) => {
                let stem = name.strip_suffix(FROM)?;
                matches!(index::ask(&format!("{stem}log_softmax")), Answer::Known(_))
            }
            // A method of a tensor: where there is one, there is the other.
            None => true,
        };
        if !is_softmax || !exists {
            return None;
        }
        let (whole, inner) = (number.at.place.span, operand.span);
        let name = callee.span.end - FROM.len() as u32;
        let blank = |start: u32, end: u32| draft.replace(Span::new(start, end), "");
        let outer = [blank(whole.start, inner.start), blank(inner.end, whole.end)];
        let renamed = draft.insert(name, "log_".to_owned());
        Some(outer.into_iter().chain([renamed]).filter(|edit| !is_empty(edit)).collect())
    }
}

fn is_empty(edit: &Edit) -> bool {
    let Place { span, .. } = edit.place;
    span.start == span.end && edit.text.is_empty()
}
