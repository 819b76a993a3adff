//! Images that are brought to another scale twice, or by the mean and the deviation of another scale: the range of their
//! numbers is known from where they were stored.

use crate::apis::{RangeFunction, Transfer};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Interp, LoaderCall, NumberApplied, transfer};
use crate::report::{Confidence, Place, Severity, Span};
use crate::syntax::{BinaryOp, Expr, ExprId, ExprKind, StmtKind};
use crate::trace::At;
use crate::values::{Interval, Source, Tensor};

pub(super) static RULE: Rule = Rule {
    id: "double-normalization",
    summary: "images are scaled twice, or normalized with the mean and std of another range",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("double-normalization"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_number_applied: Some(by_operator),
    on_api_result: Some(by_call),
    on_loader_call: Some(|cx, _| cx.remember(|sampling: &mut Sampling| sampling.0.push(Vec::new()))),
    on_loader_batch: Some(sampled),
    ..Checker::SILENT
};

/// What is seen while loaders take a sample, innermost last: of that nothing else stays.
#[derive(Default)]
struct Sampling(Vec<Vec<(Place, Misscaled, Confidence)>>);

/// What tells images of one range from those of another.
const EXTREMES: [&str; 4] = ["amax", "max", "min", "quantile"];
const KINDS: [&str; 2] = ["is_floating_point", "isinstance"];
/// The largest number of a byte, and what else brings bytes to one or two.
const OF_BYTES: [f64; 3] = [255.0, 256.0, 127.5];
/// Statistics of bytes are larger than this, and those of numbers up to one are not.
const LARGEST_OF_UNIT: f64 = 1.0;
/// Numbers that are normalized are no larger.
const NORMALIZED: f64 = 10.0;
/// No image that is normalized with its own statistics has such numbers.
const FAR_OUT: f64 = 300.0;

/// Images have numbers that no longer say much.
#[derive(Clone, Copy)]
struct Misscaled {
    what: What,
    before: Interval,
    after: Option<Interval>,
    /// Where they came to the scale that they had before.
    scaled: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    DividedAgain,
    /// Normalized with statistics of bytes, and they are between zero and one.
    WithBytes,
    /// The other way round.
    OfBytes,
}

fn sampled(cx: &mut Interp<'_>, _: &LoaderCall<'_>) {
    let seen = cx.remember(|sampling: &mut Sampling| sampling.0.pop());
    seen.into_iter().flatten().for_each(|(place, what, confidence)| see(cx, place, what, confidence));
}

fn see(cx: &mut Interp<'_>, place: Place, what: Misscaled, confidence: Confidence) {
    let is_taken = cx.remember(|sampling: &mut Sampling| match sampling.0.last_mut() {
        Some(seen) => {
            seen.push((place, what, confidence));
            true
        }
        None => false,
    });
    if !is_taken {
        cx.observe_for_good(place, what, confidence);
    }
}

fn by_operator(cx: &mut Interp<'_>, applied: &NumberApplied<'_>) {
    // What the user sets may be another number.
    let is_given = applied.other.origin().is_some_and(|origin| origin.given);
    let Some(number) = applied.other.as_num().filter(|_| !is_given) else { return };
    let by = match applied.operator {
        // `255 / x` is something else.
        BinaryOp::Div if applied.result.as_tensor().is_some_and(|result| shrinks(applied.tensor, result)) => {
            number
        }
        BinaryOp::Mul => 1.0 / number,
        _ => return,
    };
    divided(
        cx,
        applied.tensor,
        applied.result.as_tensor().and_then(|result| result.range),
        by,
        applied.place,
    );
}

fn shrinks(before: &Tensor, after: &Tensor) -> bool {
    before.range.zip(after.range).is_some_and(|(before, after)| after.high < before.high)
}

fn by_call(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let call = result.call;
    let Some(tensor) = call.nth_tensor(0) else { return };
    let after = result.value.as_tensor().and_then(|tensor| tensor.range);
    if call.api.transfer() == Some(Transfer::Standardized) {
        return standardized(cx, &tensor, result);
    }
    let by = match call.api.range_function() {
        Some(RangeFunction::Div) => call.nth(1).as_num(),
        Some(RangeFunction::Mul) => call.nth(1).as_num().map(|number| 1.0 / number),
        _ => return,
    };
    if let Some(by) = by {
        divided(cx, &tensor, after, by, call.place);
    }
}

/// Images that are known to be normalized, and are divided as bytes are.
fn divided(cx: &mut Interp<'_>, tensor: &Tensor, after: Option<Interval>, by: f64, place: Place) {
    let Some((before, scaled)) = range_of_images(tensor) else { return };
    let is_of_bytes = OF_BYTES.iter().any(|number| (by / number - 1.0).abs() < 0.005);
    // What was divided twice is told once.
    let is_normalized = before.low >= -NORMALIZED && before.high <= NORMALIZED && before.high > 0.5;
    if is_of_bytes && is_normalized {
        see(cx, place, Misscaled { what: What::DividedAgain, before, after, scaled }, tensor.confidence);
    }
}

fn standardized(cx: &mut Interp<'_>, tensor: &Tensor, result: &ApiResult<'_>) {
    let Some((before, scaled)) = range_of_images(tensor) else { return };
    let Some((means, _)) = transfer::statistics(cx, result.call) else { return };
    let after = result.value.as_tensor().and_then(|tensor| tensor.range);
    let is_unit = before.low >= 0.0 && before.high <= LARGEST_OF_UNIT;
    let what = match after {
        _ if is_unit && means.iter().all(|mean| *mean > LARGEST_OF_UNIT) => What::WithBytes,
        Some(after) if before.high >= 255.0 && after.high > FAR_OUT => What::OfBytes,
        _ => return,
    };
    // Of a transform the place where it was made is at fault.
    let place = result.call.layer.unwrap_or(result.call.place);
    see(cx, place, Misscaled { what, before, after, scaled }, tensor.confidence);
}

/// The range of what is computed of stored images, where that is sure; a single number is a statistic of them.
fn range_of_images(tensor: &Tensor) -> Option<(Interval, Place)> {
    let is_image = !tensor.learned && tensor.source == Source::Data && tensor.rank() != Some(0);
    let range = tensor.range.filter(|range| is_image && range.as_point().is_none())?;
    tensor.images.map(|scaled| (range, scaled))
}

fn check(script: &Script, out: &mut Findings) {
    for (at, seen) in script.observed_once::<Misscaled>() {
        let is_sure = at.confidence >= Confidence::Medium && !asks_for_range(script, at);
        let Some(message) = message(seen).filter(|_| is_sure) else { continue };
        let finding = script.finding(RULE.id, RULE.severity, at, message);
        let (because, help) = match seen.what {
            What::DividedAgain => ("the images are in this range from here on", "remove one of the two"),
            What::WithBytes => ("scaled to [0, 1] here", "divide the mean and std by 255"),
            What::OfBytes => ("8-bit images from here", "divide the images by 255 first"),
        };
        let finding = if seen.scaled == at.place { finding } else { finding.because(seen.scaled, because) };
        out.push(finding.help(help), at);
    }
}

/// Whether code around asks which numbers there are, `if images.max() > 1`: it is for those that have another range.
fn asks_for_range(script: &Script, at: &At) -> bool {
    let places = at.calls.iter().map(|(place, _)| *place).chain([at.place]);
    places.into_iter().any(|place| {
        let draft = script.draft(place.file);
        let asks = |span: Span| draft.exprs_within(span).any(|expr| is_of_range(draft, expr));
        match draft.function_around(place.span) {
            Some(function) => asks(draft.function_span(function)),
            None => draft.statements_around(place.span).into_iter().any(|stmt| {
                match &draft.statement(stmt).kind {
                    StmtKind::If { arms, .. } => arms.iter().any(|(test, _)| asks(draft.expr(*test).span)),
                    StmtKind::For { .. } | StmtKind::While { .. } | StmtKind::With { .. } => false,
                    _ => asks(draft.statement(stmt).span),
                }
            }),
        }
    })
}

/// `images.max() > 1`, `image.dtype == np.uint8`, `isinstance(image, Tensor)`
fn is_of_range(draft: Draft<'_>, expr: &Expr) -> bool {
    let named = |words: &[&str], span: Span| {
        draft.exprs_within(span).any(|part| match &part.kind {
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => words.contains(&name.as_str()),
            _ => false,
        })
    };
    match &expr.kind {
        ExprKind::Compare { first, rest } => {
            let mut sides = rest.iter().map(|(_, side)| side).chain([first]);
            let is_number =
                |side: &ExprId| matches!(draft.expr(*side).kind, ExprKind::Int(_) | ExprKind::Float(_));
            named(&["dtype"], expr.span) || sides.any(is_number) && named(&EXTREMES, expr.span)
        }
        ExprKind::Call { callee, .. } => named(&KINDS, draft.expr(*callee).span),
        _ => false,
    }
}

fn message(seen: &Misscaled) -> Option<String> {
    let before = in_words(&seen.before);
    Some(match seen.what {
        What::DividedAgain => {
            format!("these images are already in {before}: divided by 255, all pixels are close to 0")
        }
        What::WithBytes => {
            let after = in_words(&seen.after?);
            format!(
                "mean and std are for [0, 255], but these images are in {before}: all pixels are in {after}"
            )
        }
        What::OfBytes => {
            let most = seen.after?.high;
            format!("mean and std are for [0, 1], but these images are in {before}: values reach {most:.0}")
        }
    })
}

/// With as many digits as anybody reads.
fn in_words(range: &Interval) -> String {
    let end = |value: f64| {
        let digits = if value.abs() < NORMALIZED { 100.0 } else { 1.0 };
        (value * digits).round() / digits
    };
    format!("[{}, {}]", end(range.low), end(range.high))
}
