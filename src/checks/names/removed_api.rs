//! A name of a framework that is gone from the releases that the project runs with.

use super::deprecated_api::instead_of;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, MissingName, Script, Why};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "removed-api",
    summary: "a function, class or parameter was removed from the release the project requires",
    group: Group::Reproducibility,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("removed-api"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for missing in script.missing_names() {
        let MissingName { at, name, holder, is_keyword, instead, fix, why, .. } = missing;
        let (severity, went, boundary, asked) = match why {
            Why::Gone { went, pin, boundary } => {
                (RULE.severity, went, boundary, format!("the project requires {pin}"))
            }
            Why::Outlived { went, pin: Some(pin), boundary } => {
                let asked = format!("the project requires {pin}, which allows newer ones");
                (Severity::Warning, went, boundary, asked)
            }
            Why::Outlived { went, pin: None, boundary } => {
                (Severity::Warning, went, boundary, "the project requires no release".to_owned())
            }
            Why::Never { .. } | Why::Later { .. } | Why::Apart { .. } => continue,
        };
        let message = if *is_keyword {
            format!("`{holder}` no longer accepts the argument `{name}`")
        } else {
            format!("`{holder}` no longer has `{name}`")
        };
        let finding = script.finding(RULE.id, severity, at, message).note(format!("{went}, and {asked}"));
        let help = instead.and_then(instead_of).unwrap_or_else(|| {
            format!("look up its replacement in the release notes after {}", boundary.release)
        });
        out.push(finding.help(help).fix(fix.clone()).cause(missing.cause()), at);
    }
}
