//! A name of a framework that no release has, or that came later than what the project runs with.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, MissingName, Script, Why};
use crate::report::{Fix, Severity};

pub(super) static RULE: Rule = Rule {
    id: "unknown-api",
    summary: "the framework has no function, class or parameter of this name",
    group: Group::Reproducibility,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("unknown-api"),
    check,
};

fn check(script: &Script, out: &mut Findings) {
    for missing in script.missing_names() {
        let MissingName { at, name, holder, is_keyword, near, why, .. } = missing;
        let note = match why {
            Why::Never { first, last } => format!("no release from {first} to {last} has it"),
            Why::Later { came, pin, .. } => format!("{came}, but the project requires {pin}"),
            Why::Gone { .. } | Why::Outlived { .. } | Why::Apart { .. } => continue,
        };
        let (message, error) = if *is_keyword {
            (format!("`{holder}` has no argument `{name}`"), "TypeError")
        } else {
            (format!("`{holder}` has no `{name}`"), "AttributeError")
        };
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .note(note)
            .note(format!("this raises {error} as soon as it is reached"));
        let help = match near {
            Some(near) => format!("did you mean `{near}`"),
            None => "check the name in the framework's documentation".to_owned(),
        };
        let fix = near.as_ref().filter(|near| is_slip(name, near)).and_then(|near| {
            let edits = script.renamed(at.place, name, near)?;
            Some(Fix::guess(format!("write `{near}`"), edits))
        });
        // A slip is mended where it is.
        let cause = fix.is_none().then(|| missing.cause());
        out.push(finding.fix(fix).help(help).cause(cause), at);
    }
}

/// Whether a name is another one with a slip or two of the keyboard.
fn is_slip(name: &str, other: &str) -> bool {
    name.len() > 3 && strsim::damerau_levenshtein(name, other) <= 2
}
