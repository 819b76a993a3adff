//! Two names that no release of a framework has both.

use super::deprecated_api::{instead_of, shown};
use crate::apis::deprecated::Row;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Deprecated, Fate, Findings, MissingName, Script, Use, Why};
use crate::report::{Cause, Fix, Place, Severity};
use crate::trace::At;

pub(super) static RULE: Rule = Rule {
    id: "conflicting-requirements",
    summary: "a script uses names that no release of the framework has together",
    group: Group::Reproducibility,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("conflicting-requirements"),
    check,
};

/// A name that is gone where another one came that the script uses.
struct Conflict<'a> {
    at: &'a At,
    name: String,
    gone: &'a str,
    other: &'a Use,
    instead: Option<&'static Row>,
    fix: Option<&'a Fix>,
}

fn check(script: &Script, out: &mut Findings) {
    let missing = script.missing_names().iter().filter_map(of_missing);
    for Conflict { at, name, gone, other, instead, fix } in
        missing.chain(script.deprecated_names().iter().filter_map(of_deprecated))
    {
        let message = format!("no release has `{}` and `{}`", shown(&name), shown(&other.name));
        let package = other.package;
        let finding = script
            .finding(RULE.id, RULE.severity, at, message)
            .because(Place::new(script.file, other.at), format!("`{}` came later", shown(&other.name)))
            .note(format!("`{}` was removed in {package} {gone}", shown(&name)))
            .note("one of the two raises an error in any release".to_owned());
        let help = instead.and_then(instead_of);
        let help = help.unwrap_or_else(|| "write both for the same release".to_owned());
        let cause = Cause { what: format!("{package} {}", script.asked_key(package)), boundary: None };
        out.push(finding.help(help).fix(fix.cloned()).cause(cause), at);
    }
}

fn of_missing(missing: &MissingName) -> Option<Conflict<'_>> {
    let Why::Apart { gone, other } = &missing.why else { return None };
    let MissingName { at, name, holder, is_keyword, instead, fix, .. } = missing;
    let name = if *is_keyword { format!("{holder}({name})") } else { format!("{holder}.{name}") };
    Some(Conflict { at, name, gone, other, instead: *instead, fix: fix.as_ref() })
}

fn of_deprecated(one: &Deprecated) -> Option<Conflict<'_>> {
    let Fate::Apart { gone, other } = &one.fate else { return None };
    let Deprecated { at, row, name, argument, fix, .. } = one;
    let name = match argument {
        Some(argument) => format!("{name}({argument})"),
        None => name.clone(),
    };
    Some(Conflict { at, name, gone, other, instead: Some(*row), fix: fix.as_ref() })
}
