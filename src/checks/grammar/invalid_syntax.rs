//! A text that no Python takes: one finding for each broken place, and one word for a script of Python 2.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, walked};
use crate::report::{Confidence, Diagnostic, Place, Severity};
use crate::syntax::{Fault, FaultKind, faults};

pub(super) static RULE: Rule = Rule {
    id: "invalid-syntax",
    summary: "the script is no Python, and stops before its first line",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("invalid-syntax"),
    check,
};

fn check(script: &Script, findings: &mut Findings) {
    let module = script.project.module(script.file);
    let text = &module.source.text;
    let faults = faults(text, &module.tree, &module.source.cells());
    let shown = if faults.is_python2 { 1 } else { faults.found.len() };
    for fault in &faults.found[..shown] {
        let place = Place::new(script.file, fault.span);
        let at = walked(None, place, &[], &[], Confidence::High);
        let words = Words::of(fault, text);
        let (severity, message) = match faults.is_python2 {
            true => (Severity::Warning, format!("this script is written for Python 2: {}", words.message)),
            false => (RULE.severity, words.message),
        };
        let mut finding = Diagnostic::new(RULE.id, severity, place, message).help(words.help);
        if let (Some(since), Some(why)) = (fault.since, words.since) {
            finding = finding.because(Place::new(script.file, since), why);
        }
        findings.push(finding, &at);
    }
}

/// A fault, as it is said.
struct Words {
    message: String,
    help: String,
    since: Option<&'static str>,
}

impl Words {
    fn of(fault: &Fault, text: &str) -> Words {
        let found = found(fault, text);
        let (message, help) = match &fault.kind {
            FaultKind::Conflict => (
                "a merge conflict was never resolved".to_owned(),
                "keep one of the sides, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`".to_owned(),
            ),
            FaultKind::Unclosed => {
                (format!("{found} is never closed"), format!("add `{}`", closing(&text[fault.span.range()])))
            }
            FaultKind::Unmatched => {
                (format!("{found} closes nothing"), "remove it, or open a bracket before it".to_owned())
            }
            FaultKind::Mismatched => (
                format!("{found} does not match the bracket that is open"),
                "close the bracket with its own kind".to_owned(),
            ),
            FaultKind::OpenString => (
                "this string never ends".to_owned(),
                format!(
                    "close it with `{}`",
                    text[fault.span.range()].trim_start_matches(char::is_alphabetic)
                ),
            ),
            FaultKind::Character => (
                format!("{found} means nothing in Python"),
                "write its plain counterpart, or put it into a string".to_owned(),
            ),
            FaultKind::Number => (
                format!("{found} is neither a number nor a name"),
                "put a space or an operator between them".to_owned(),
            ),
            FaultKind::Continuation => (
                "a backslash continues a line only as its last character".to_owned(),
                "remove what stands behind it, or the backslash".to_owned(),
            ),
            FaultKind::Indent => (
                "this line is indented further than its block".to_owned(),
                "indent it as the line before".to_owned(),
            ),
            FaultKind::Unindent => (
                "this line is indented as no block around it".to_owned(),
                "indent it as the lines of its block".to_owned(),
            ),
            FaultKind::MissingBlock => (
                "an indented block is expected here".to_owned(),
                "indent what belongs to it, or write `pass`".to_owned(),
            ),
            FaultKind::MissingColon => {
                ("`:` is expected at the end of this line".to_owned(), "end it with `:`".to_owned())
            }
            FaultKind::MissingComma => {
                ("`,` is expected behind this".to_owned(), "separate the two with a comma".to_owned())
            }
            FaultKind::AssignedInTest => (
                "`=` assigns, and is no test".to_owned(),
                "compare with `==`, or assign with `:=`".to_owned(),
            ),
            FaultKind::LoneClause => (
                format!("{found} goes on with no statement"),
                "indent it as the statement that it belongs to".to_owned(),
            ),
            FaultKind::LoneTry => (
                "`except` or `finally` is expected here: the `try` before it handles nothing".to_owned(),
                "add an `except` with what to do, or remove the `try`".to_owned(),
            ),
            FaultKind::LatePositional => (
                "a positional argument follows one that is named".to_owned(),
                "move it before the named ones, or name it".to_owned(),
            ),
            FaultKind::Keyword => (
                format!("a name is expected, and {found} is a word of the language"),
                rename(&text[fault.span.range()]),
            ),
            FaultKind::Expected(what) => (
                format!("{what} is expected, not {found}"),
                format!("Python stops here before it runs anything: write {what}, or remove {found}"),
            ),
            FaultKind::Python2(now) => (
                format!("{now} in Python 3"),
                "convert it, or check it with the Python that runs it".to_owned(),
            ),
        };
        Words { message, help, since: since(&fault.kind) }
    }
}

/// What stands at the place of a fault.
fn found(fault: &Fault, text: &str) -> String {
    let words = text[fault.span.range()].lines().next().unwrap_or_default();
    if words.trim().is_empty() { "the end of the line".to_owned() } else { format!("`{words}`") }
}

fn rename(word: &str) -> String {
    match word {
        "async" | "await" => format!("`{word}` is one since Python 3.7: use the name that replaced it"),
        _ => "choose another name".to_owned(),
    }
}

fn closing(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

fn since(kind: &FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::Mismatched => Some("this is open"),
        FaultKind::MissingBlock => Some("it belongs to this"),
        FaultKind::LatePositional => Some("this is named"),
        _ => None,
    }
}
