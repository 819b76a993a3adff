//! A name of a framework that is gone from the releases that the project runs with.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, MissingName, Script, Why};
use crate::report::Severity;

pub(super) static RULE: Rule = Rule {
    id: "removed-api",
    summary: "a function, class or parameter is gone from the release that the project asks for",
    group: Group::Reproducibility,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("removed-api"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for missing in script.missing_names() {
        let MissingName { at, name, holder, is_keyword, instead, why, .. } = missing;
        let Why::Gone { last, pin, .. } = why else { continue };
        let message = if *is_keyword {
            format!("`{holder}` takes no argument `{name}` any more")
        } else {
            format!("`{holder}` has no `{name}` any more")
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(format!("no release after {last} has it, and the project asks for {pin}"));
        let help = match instead {
            Some(instead) => format!("use `{instead}`"),
            None => format!("look up in the release notes after {last} what takes its place"),
        };
        out.push(finding.help(help).cause(missing.cause()), at);
    }
}
