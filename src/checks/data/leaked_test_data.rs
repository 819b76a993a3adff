//! Transformers that learn from all rows before these are split: what they make of the training data depends on
//! the test data. Parts of streams that are shuffled anew each time are in `reshuffled_parts`, models that go from fold
//! to fold in `kept_across_folds`.

use super::{kept_across_folds, reshuffled_parts};
use crate::apis::{Transfer, Verb};
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::interp::{ApiResult, Checker, Declared, Indexed, Interp, Invocation};
use crate::report::{Confidence, Place, Severity};
use crate::syntax::{ExprId, ExprKind};
use crate::values::{ObjId, Tensor};
use std::rc::Rc;

pub(super) static RULE: Rule = Rule {
    id: "leaked-test-data",
    summary: "test data reaches training: scaled before the split, reshuffled each epoch, or kept from fold to fold",
    group: Group::Data,
    severity: Severity::Warning,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("leaked-test-data"),
    check,
};

pub(super) static CHECKER: Checker = Checker {
    on_effect: Some(fitted),
    on_api_result: Some(transformed),
    on_call: Some(split),
    on_index: Some(cut),
    ..Checker::SILENT
};

/// What a transformer has learned from, last.
#[derive(Default)]
struct Fits(Vec<(ObjId, Fit)>);

#[derive(Clone)]
struct Fit {
    place: Place,
    rows: Option<Rc<Tensor>>,
}

/// Rows that depend on each other: where they were made, where the transformer learned from them, and the slices
/// that were taken.
#[derive(Default)]
struct Mixed(Vec<Rows>);

struct Rows {
    made: Place,
    fit: Place,
    /// Where the first of them end, as it is written.
    heads: Vec<Rc<str>>,
    /// Where others begin.
    tails: Vec<Rc<str>>,
}

/// A transformer was fitted before the rows were split.
struct LeakedRows {
    split: Place,
}

fn fitted(cx: &mut Interp<'_>, declared: &Declared<'_>) {
    if declared.verb() != Verb::Observe {
        return;
    }
    let Some(transformer) = declared.arg(0).as_obj() else { return };
    let fit = Fit { place: declared.call.place, rows: declared.arg(1).as_tensor().cloned() };
    cx.remember(|fits: &mut Fits| {
        fits.0.retain(|(known, _)| *known != transformer);
        fits.0.push((transformer, fit));
    });
}

fn transformed(cx: &mut Interp<'_>, result: &ApiResult<'_>) {
    let call = result.call;
    match call.gives.map(|gives| gives.verb) {
        Some(Transfer::Transformed) => {}
        Some(verb) if verb.keeps_layout() => return kept_rows(cx, call),
        _ => return,
    }
    let Some(transformer) = call.nth(0).as_obj() else { return };
    let fits: Fits = cx.recall();
    let fit = fits.0.iter().find(|(known, _)| *known == transformer).map(|(_, fit)| fit.clone());
    cx.remember(|known: &mut Fits| *known = fits);
    let rows = call.nth_tensor(1);
    let is_same = |fit: &Fit| {
        let both = rows.as_ref().zip(fit.rows.as_ref());
        fit.place == call.place || both.is_some_and(|(rows, learned)| Rc::ptr_eq(rows, learned))
    };
    let Some(fit) = fit.filter(is_same) else { return };
    cx.remember(|mixed: &mut Mixed| {
        mixed.0.retain(|rows| rows.made != call.place);
        mixed.0.push(Rows { made: call.place, fit: fit.place, heads: Vec::new(), tails: Vec::new() });
    });
}

/// `scaled.astype("float32")`: the same rows.
fn kept_rows(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    let Some(made) = call.nth_tensor(0).and_then(|rows| rows.made) else { return };
    let place = call.place;
    cx.remember(|mixed: &mut Mixed| {
        let Some(fit) = mixed.0.iter().find(|rows| rows.made == made).map(|rows| rows.fit) else { return };
        mixed.0.retain(|rows| rows.made != place || made == place);
        mixed.0.push(Rows { made: place, fit, heads: Vec::new(), tails: Vec::new() });
    });
}

/// `train_test_split(scaled, targets)`
fn split(cx: &mut Interp<'_>, call: &Invocation<'_>) {
    if call.gives.map(|gives| gives.verb) != Some(Transfer::SplitArrays) {
        return;
    }
    let made: Vec<Place> =
        call.rest.iter().filter_map(|rows| rows.as_tensor().and_then(|rows| rows.made)).collect();
    let fit = cx.remember(|mixed: &mut Mixed| {
        mixed.0.iter().find(|rows| made.contains(&rows.made)).map(|rows| rows.fit)
    });
    if let Some(fit) = fit {
        cx.observe(fit, LeakedRows { split: call.place }, Confidence::High);
    }
}

/// `scaled[:n]` and `scaled[n:]`
fn cut(cx: &mut Interp<'_>, indexed: &Indexed<'_>) {
    let Some(made) = indexed.tensor.made else { return };
    if !cx.remember(|mixed: &mut Mixed| mixed.0.iter().any(|rows| rows.made == made)) {
        return;
    }
    let Some((lower, upper)) = slice_at(cx, indexed.place) else { return };
    let fit = cx.remember(|mixed: &mut Mixed| {
        let rows = mixed.0.iter_mut().find(|rows| rows.made == made)?;
        match (lower, upper) {
            (None, Some(end)) => rows.heads.push(end),
            (Some(begin), _) => rows.tails.push(begin),
            (None, None) => {}
        }
        // A window of earlier rows in front of the test data is taken from the training data on purpose.
        let parts = rows.heads.iter().any(|end| rows.tails.iter().any(|begin| begin.starts_with(&**end)));
        parts.then_some(rows.fit)
    });
    if let Some(fit) = fit {
        cx.observe(fit, LeakedRows { split: indexed.place }, Confidence::Medium);
    }
}

/// The first and the last row of a slice, as they are written.
type Ends = (Option<Rc<str>>, Option<Rc<str>>);

/// The ends of the slice of rows that an expression takes.
fn slice_at(cx: &Interp<'_>, place: Place) -> Option<Ends> {
    let module = cx.module(place.file);
    let tree = &module.tree;
    let ExprKind::Subscript { index, .. } = tree.expr(module.expr_at(place.span)?).kind else { return None };
    let rows = match &tree.expr(index).kind {
        ExprKind::Tuple(axes) => *axes.first()?,
        _ => index,
    };
    let ExprKind::Slice { lower, upper, step: None } = tree.expr(rows).kind else { return None };
    let text = |id: ExprId| Rc::from(cx.words(Place::new(place.file, tree.expr(id).span)));
    let begins = lower.filter(|id| !matches!(tree.expr(*id).kind, ExprKind::Int(0)));
    Some((begins.map(text), upper.map(text)))
}

fn check(script: &Script, out: &mut Findings) {
    for (at, leak) in script.observed_once::<LeakedRows>() {
        let message = "test data leaks into training: this scaler is fitted on all rows before the split";
        let mut finding = script.finding(RULE.id, RULE.severity, at, message);
        if let Some(split) = at.beside(Some(leak.split)) {
            finding = finding.because(split, "the rows are split here");
        }
        let finding = finding
            .note("the scores on the test data are better than those on new data will be")
            .help("split first, then `fit` on the training rows only and `transform` both parts");
        out.push(finding, at);
    }
    kept_across_folds::check(script, out);
    reshuffled_parts::check(script, out);
}
