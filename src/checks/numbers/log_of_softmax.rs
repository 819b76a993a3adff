//! A logarithm of what a softmax or a sigmoid has made, where rounding reaches zero.

use super::operations::{Fault, UnsafeOperation, unsafe_operations};
use crate::apis::index::{self, Answer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Edit, Fix, Place, Severity, Span};
use crate::syntax::ExprKind;
use crate::values::End;

pub(super) static RULE: Rule = Rule {
    id: "log-of-softmax",
    summary: "log of a softmax or sigmoid instead of a numerically stable log-softmax",
    group: Group::Numerics,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Expression,
    page: page!("log-of-softmax"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for number in unsafe_operations(script, Fault::LogOfShare) {
        let subject = number.subject("a probability");
        // What is left of a probability is rounded to zero long before a probability underflows.
        let of_rest = number.nearness == End::Rounded;
        let message = format!("{subject} underflows to zero for confident predictions, and its log is -inf");
        let limit = if of_rest {
            "in float32 a sigmoid is exactly 1 for logits above 17, so `1 - sigmoid` is zero"
        } else {
            "in float32 a probability is zero once two logits differ by more than 104; its gradient vanishes much earlier"
        };
        let finding = number
            .finding(script, RULE.id, Severity::Warning, message)
            .note(limit)
            .help("use the numerically stable version on the logits: `log_softmax(x)`, `logsigmoid(x)`, `logsigmoid(-x)` for `log(1 - sigmoid(x))`, or a loss for logits");
        let stable = as_log_softmax(script, &number).map(|edits| Fix::safe("use `log_softmax`", edits));
        let fix = stable.or_else(|| {
            let edits = number.kept_from_zero(script, "1e-6")?;
            Some(Fix::guess("add `1e-6` to the operand", edits))
        });
        out.push(finding.fix(fix), &number.at);
    }
}

/// `log(softmax(x, …))` as `log_softmax(x, …)` of the same module or tensor, where there is such a function.
fn as_log_softmax(script: &Script, number: &UnsafeOperation) -> Option<Vec<Edit>> {
    const FROM: &str = "softmax";
    let operand = number.operand_at?;
    let draft = script.draft(operand.file);
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

fn is_empty(edit: &Edit) -> bool {
    let Place { span, .. } = edit.place;
    span.start == span.end && edit.text.is_empty()
}
