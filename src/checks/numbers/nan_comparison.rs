//! A comparison with NaN, which equals nothing.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script, walked};
use crate::report::{Confidence, Edit, Fix, Place, Severity};
use crate::syntax::{CompareOp, ExprId, ExprKind};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "nan-comparison",
    summary: "a comparison with NaN always has the same result",
    group: Group::Numerics,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("nan-comparison"),
    check,
};

/// How a script says NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nan {
    /// `float('nan')`, an object of its own each time.
    Made,
    /// `np.nan`, the same object each time: as a mark of what is missing it can be asked for by `is`.
    Constant,
}

/// `tested == nan`
struct Comparison {
    at: ExprId,
    op: CompareOp,
    tested: ExprId,
    nan: ExprId,
}

impl Comparison {
    /// Whether it is always true; else it never is.
    fn holds(&self) -> bool {
        matches!(self.op, CompareOp::NotEq | CompareOp::IsNot)
    }
}

fn check(script: &Script, out: &mut Findings) {
    let draft = script.draft(script.file);
    for comparison in comparisons(script, draft) {
        let place = Place::new(script.file, draft.expr(comparison.at).span);
        let at = walked(None, place, &[], &[], Confidence::High);
        let message = match comparison.holds() {
            true => "this test is always true: NaN differs from everything, even from NaN",
            false => "this test is never true: NaN equals nothing, not even NaN",
        };
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .help("use `isnan` of `math`, `numpy` or `torch`: of all numbers only NaN passes it")
            .fix(asked(draft, &comparison).map(|edits| Fix::guess("use `isnan`", edits)));
        out.push(finding, &at);
    }
}

fn comparisons(script: &Script, draft: Draft<'_>) -> Vec<Comparison> {
    let mut found = Vec::new();
    for (at, expr) in draft.tree().exprs.iter().enumerate() {
        let ExprKind::Compare { first, rest } = &expr.kind else { continue };
        let [(op, second)] = **rest else { continue };
        let nans = [nan(script, draft, *first), nan(script, draft, second)];
        let (tested, said, nan) = match nans {
            [None, Some(said)] => (*first, said, second),
            [Some(said), None] => (second, said, *first),
            // Two of them are compared to show what NaN is.
            _ => continue,
        };
        let is_fixed = match op {
            CompareOp::Eq | CompareOp::NotEq => true,
            CompareOp::Is | CompareOp::IsNot => said == Nan::Made,
            _ => false,
        };
        if is_fixed {
            found.push(Comparison { at: ExprId(at as u32), op, tested, nan });
        }
    }
    found
}

fn nan(script: &Script, draft: Draft<'_>, expr: ExprId) -> Option<Nan> {
    match &draft.expr(expr).kind {
        ExprKind::Unary { operand, .. } => nan(script, draft, *operand),
        ExprKind::Call { callee, args } => {
            let is_float = draft.written(*callee) == "float" && !draft.is_bound("float");
            let [arg] = &**args else { return None };
            let ExprKind::Str(text) = &draft.expr(arg.value).kind else { return None };
            let number: f64 = text.trim().parse().ok()?;
            (is_float && number.is_nan()).then_some(Nan::Made)
        }
        ExprKind::Attribute { .. } | ExprKind::Name(_) => {
            let might_be = draft.written(expr).to_lowercase().ends_with("nan");
            let name = if might_be { draft.qualified(expr) } else { None }?;
            script.apis.is_nan(Ustr::from(&name)).then_some(Nan::Constant)
        }
        _ => None,
    }
}

/// `np.isnan(tested)` for `tested == np.nan`.
fn asked(draft: Draft<'_>, comparison: &Comparison) -> Option<Vec<Edit>> {
    let ExprKind::Attribute { base, .. } = draft.expr(comparison.nan).kind else { return None };
    let (package, tested) = (draft.written(base), draft.written(comparison.tested));
    let is_plain = matches!(
        draft.expr(comparison.tested).kind,
        ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. } | ExprKind::Call { .. }
    );
    // A number is negated by `not`, an array by `~`, and which of them it is stays open.
    let can_be_asked = is_plain && !comparison.holds();
    let text = format!("{package}.isnan({tested})");
    can_be_asked.then(|| vec![draft.replace(draft.expr(comparison.at).span, text)])
}
