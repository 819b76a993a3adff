//! Dropout that does not ask for the mode of the model.

use super::dropout::ConstantDropout;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script};
use crate::report::{Fix, Place, Severity};
use crate::syntax::{ExprId, ExprKind, StmtId, StmtKind};
use crate::trace::At;
use rustc_hash::FxHashSet;
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "always-on-dropout",
    summary: "dropout stays active in evaluation mode",
    group: Group::Losses,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("always-on-dropout"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    let mut seen = FxHashSet::default();
    for (at, dropout) in script.observed::<ConstantDropout>() {
        if is_on_purpose(at, dropout) || is_opted_into(script, at.place) || !seen.insert(at.place) {
            continue;
        }
        let by = dropout.by.rsplit('.').next().unwrap_or_default();
        let class = &dropout.class;
        let (message, help) = if dropout.is_layer {
            (
                format!("a new dropout layer in every forward of `{class}` ignores `model.eval()`"),
                "create the dropout layer in `__init__`".to_owned(),
            )
        } else if by.contains("dropout") && !by.contains("attention") {
            (
                format!("`{by}` stays active in evaluation mode"),
                format!("pass the module's mode: `{by}(..., training=self.training)`"),
            )
        } else {
            (
                format!("`{by}` still applies dropout in evaluation mode"),
                "pass `dropout_p=self.dropout if self.training else 0.0`".to_owned(),
            )
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note("predictions are random, and worse than what the model has learned")
            .help(help);
        let decides = !dropout.is_layer && script.takes(&dropout.by, "training");
        let fix = script.with_own_argument(at.place, "training").filter(|_| decides);
        let fix = fix.map(|edits| Fix::safe("pass `training=self.training`", edits));
        out.push(finding.fix(fix), at);
    }
}

/// `if perturb:` of a parameter that is false where nobody passes it: an evaluation does not.
fn is_opted_into(script: &Script, place: Place) -> bool {
    let draft = script.draft(place.file);
    let Some(function) = draft.function_around(place.span) else { return false };
    let is_off = |value: ExprId| matches!(draft.expr(value).kind, ExprKind::False | ExprKind::None);
    let is_option = |name: Ustr| {
        let mut params = draft.function(function).params.iter();
        params.any(|param| param.name == name && param.default.is_some_and(is_off))
    };
    draft.statements().any(|stmt| match stmt {
        StmtKind::If { arms, .. } => arms.iter().any(|(test, body)| {
            let within = |stmt: &StmtId| draft.line(*stmt).is_some_and(|line| line.code.contains(place.span));
            matches!(draft.expr(*test).kind, ExprKind::Name(name) if is_option(name))
                && body.iter().any(within)
        }),
        _ => false,
    })
}

/// Dropout at test time has a use: several passes say how sure a model is.
fn is_on_purpose(at: &At, dropout: &ConstantDropout) -> bool {
    const PURPOSES: [&str; 6] = ["mc", "monte", "bayes", "uncertain", "ensemble", "sample"];
    let hints = |name: &str| {
        let name = name.to_lowercase();
        PURPOSES.iter().any(|purpose| name.contains(purpose))
    };
    hints(&dropout.class) || at.calls.iter().any(|(_, name)| hints(name))
}
