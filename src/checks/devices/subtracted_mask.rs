//! A difference with a mask, which PyTorch does not compute.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{Checker, Difference, Interp, TensorCompare};
use crate::report::{Confidence, Fix, Place, Severity, Span};
use crate::syntax::{BinaryOp, ExprKind};
use crate::trace::At;
use crate::values::{DType, Value};
use rustc_hash::FxHashSet;

pub(super) static RULE: Rule = Rule {
    id: "subtracted-mask",
    summary: "a bool tensor is subtracted, `1 - mask`, which raises an error",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("subtracted-mask"),
    check,
};

pub(super) static CHECKER: Checker =
    Checker { on_tensor_compare: Some(compared), on_difference: Some(subtracted), ..Checker::SILENT };

/// Where something is compared that is an array, or may be one.
#[derive(Clone, Default)]
struct MayBeArrays(FxHashSet<Place>);

/// Comparisons give bool tensors since this release; before, they gave uint8.
const MASKS_ARE_BOOL: (u64, u64) = (1, 2);

/// A bool tensor is one side of a difference.
struct Subtracted {
    /// Where the mask comes from.
    made: Option<Place>,
}

fn compared(cx: &mut Interp<'_>, compare: &TensorCompare<'_>) {
    let may_be_array =
        |value: &Value| value.is_unknown() || value.as_tensor().is_some_and(|tensor| tensor.is_array);
    if may_be_array(compare.left) || may_be_array(compare.right) {
        cx.remember(|known: &mut MayBeArrays| known.0.insert(compare.place));
    }
}

fn subtracted(cx: &mut Interp<'_>, difference: &Difference<'_>) {
    let mask = |value: &Value| {
        let tensor = value.as_tensor().filter(|tensor| !tensor.is_array)?;
        let copies = tensor.what.is_some_and(|what| cx.apis.is_copying(what));
        (tensor.dtype == Some(DType::Bool) && !copies).then(|| tensor.clone())
    };
    // An array on the other side decides what is computed.
    let is_array = |value: &Value| value.as_tensor().is_some_and(|tensor| tensor.is_array);
    let (left, right) = (difference.left, difference.right);
    let known =
        |value: &Value| value.as_tensor().is_some() || value.as_num().is_some() || value.as_int().is_some();
    let Some(mask) = mask(left).or_else(|| mask(right)) else { return };
    if is_array(left) || is_array(right) || !known(left) || !known(right) || cx.is_provided_for() {
        return;
    }
    let may_be_array =
        mask.made.is_some_and(|made| cx.remember(|known: &mut MayBeArrays| known.0.contains(&made)));
    if may_be_array {
        return;
    }
    cx.observe(difference.place, Subtracted { made: mask.made }, mask.confidence);
}

fn check(script: &Script, out: &mut Findings) {
    if !script.pins.allow_since("torch", MASKS_ARE_BOOL) {
        return;
    }
    for (at, mask) in script.observed_once::<Subtracted>() {
        if at.confidence < Confidence::Medium || !script.imports_around(at, "torch") {
            continue;
        }
        let found = difference(script, at.place);
        let span = found.as_ref().map_or(at.place.span, |(span, _)| *span);
        let at = &At { place: Place::new(at.place.file, span), ..at.clone() };
        let message = "subtraction with a bool tensor raises an error";
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(made) = at.beside(mask.made) {
            finding = finding.because(made, "the bool tensor comes from here");
        }
        let inverted = found.as_ref().and_then(|(_, inverted)| inverted.clone());
        let help = match &inverted {
            Some(inverted) => format!("invert the mask with `{inverted}`"),
            None => "invert a mask with `~mask`, or convert it first with `.float()`".to_owned(),
        };
        let fix = inverted.zip(found).map(|(inverted, (span, _))| {
            let edits = vec![script.draft(at.place.file).replace(span, &inverted)];
            Fix::guess(format!("write `{inverted}`"), edits)
        });
        out.push(
            finding
                .note("PyTorch raises `RuntimeError: Subtraction, the `-` operator, with a bool tensor is not supported`")
                .fix(fix)
                .help(help),
            at,
        );
    }
}

/// The difference whose right side is at a place: where it is, and `~mask`, of `1 - mask`.
fn difference(script: &Script, right_side: Place) -> Option<(Span, Option<String>)> {
    let draft = script.draft(right_side.file);
    let stmt = draft.statement(draft.statement_at(right_side.span)?);
    draft.exprs_within(stmt.span).find_map(|expr| {
        let ExprKind::Binary { op: BinaryOp::Sub, left, right } = expr.kind else { return None };
        let mask = draft.expr(right);
        let is_one = matches!(draft.expr(left).kind, ExprKind::Int(1));
        let is_whole = matches!(
            mask.kind,
            ExprKind::Name(_)
                | ExprKind::Attribute { .. }
                | ExprKind::Call { .. }
                | ExprKind::Subscript { .. }
        );
        let mask_text = draft.text(mask.span);
        let inverted = if is_whole { format!("~{mask_text}") } else { format!("~({mask_text})") };
        (mask.span == right_side.span).then(|| (expr.span, is_one.then_some(inverted)))
    })
}
