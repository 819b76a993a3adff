//! A text that no Python takes: one finding for each broken place, and one word for a script of Python 2.

use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::{Findings, Script, walked};
use crate::report::{Confidence, Diagnostic, Place, Severity};
use crate::syntax::{Fault, FaultKind, faults};

pub(super) static RULE: Rule = Rule {
    id: "invalid-syntax",
    summary: "the script has a syntax error and cannot run",
    group: Group::Syntax,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("invalid-syntax"),
    check,
};

/// Names up to Python 3.6, and keywords since.
const LATE_KEYWORDS: [&str; 2] = ["async", "await"];
const KEYWORDS_SINCE: (u64, u64) = (3, 7);
/// A package whose releases before this one exist for no later Python.
const FOR_LATER_PYTHONS: (&str, (u64, u64)) = ("torch", (0, 4));

fn check(script: &Script, findings: &mut Findings) {
    let module = script.project.module(script.file);
    let text = &module.source.text;
    let faults = faults(text, &module.tree, &module.source.cells());
    let shown = if faults.is_python2 { 1 } else { faults.found.len() };
    for fault in &faults.found[..shown] {
        let is_late = fault.kind == FaultKind::Keyword && is_late_keyword(&text[fault.span.range()]);
        if is_late && runs_without_late_keywords(script) {
            continue;
        }
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

/// Whether the project asks for a Python in which these words are no keywords, or for what runs with no later one.
fn runs_without_late_keywords(script: &Script) -> bool {
    let (package, since) = FOR_LATER_PYTHONS;
    !script.pins.allow_since("python", KEYWORDS_SINCE) || !script.pins.allow_since(package, since)
}

fn is_late_keyword(word: &str) -> bool {
    LATE_KEYWORDS.contains(&word)
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
                "unresolved merge conflict".to_owned(),
                "keep one side, and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`".to_owned(),
            ),
            FaultKind::Unclosed => {
                (format!("{found} is never closed"), format!("add `{}`", closing(&text[fault.span.range()])))
            }
            FaultKind::Unmatched => (
                format!("{found} has no matching opening bracket"),
                "remove it, or add the opening bracket".to_owned(),
            ),
            FaultKind::Mismatched => (
                format!("{found} does not match the open bracket"),
                "close the bracket with the matching one".to_owned(),
            ),
            FaultKind::OpenString => (
                "this string is never closed".to_owned(),
                format!(
                    "close it with `{}`",
                    text[fault.span.range()].trim_start_matches(char::is_alphabetic)
                ),
            ),
            FaultKind::Character => (
                format!("{found} is not valid in Python"),
                "replace it with its ASCII counterpart, or put it in a string".to_owned(),
            ),
            FaultKind::Number => (
                format!("{found} is neither a number nor a name"),
                "put a space or an operator between them".to_owned(),
            ),
            FaultKind::Continuation => (
                "a line-continuation backslash must be the last character of the line".to_owned(),
                "remove what follows it, or the backslash".to_owned(),
            ),
            FaultKind::Indent => (
                "unexpected indent: this line is indented more than its block".to_owned(),
                "indent it like the previous line".to_owned(),
            ),
            FaultKind::Unindent => (
                "this dedent does not match any outer indentation level".to_owned(),
                "indent it like the other lines of its block".to_owned(),
            ),
            FaultKind::Tabs => (
                "inconsistent use of tabs and spaces in indentation".to_owned(),
                "indent it with the same characters as the lines around it".to_owned(),
            ),
            FaultKind::MissingBlock => (
                "an indented block is expected here".to_owned(),
                "indent its body, or write `pass`".to_owned(),
            ),
            FaultKind::Magic => (
                "this line is an IPython command, which Python does not run".to_owned(),
                "keep the notebook, or call the command with `subprocess.run(...)`".to_owned(),
            ),
            FaultKind::MissingColon => {
                ("`:` is expected at the end of this line".to_owned(), "end it with `:`".to_owned())
            }
            FaultKind::MissingComma => {
                ("`,` is expected after this".to_owned(), "separate the two with a comma".to_owned())
            }
            FaultKind::AssignedInTest => (
                "`=` is an assignment, not a comparison".to_owned(),
                "compare with `==`, or assign with `:=`".to_owned(),
            ),
            FaultKind::LoneClause => (
                format!("{found} does not follow a matching statement"),
                "indent it like the statement it belongs to".to_owned(),
            ),
            FaultKind::LoneTry => (
                "`except` or `finally` is expected here, after the `try` block".to_owned(),
                "add an `except` or `finally` block, or remove the `try`".to_owned(),
            ),
            FaultKind::LatePositional => (
                "a positional argument follows a keyword argument".to_owned(),
                "move it before the keyword arguments, or pass it by keyword".to_owned(),
            ),
            FaultKind::Keyword => (
                format!("a name is expected, but {found} is a reserved keyword"),
                rename(&text[fault.span.range()]),
            ),
            FaultKind::Expected(what) => (
                format!("{what} is expected, not {found}"),
                format!("Python stops here before running anything: write {what}, or remove {found}"),
            ),
            FaultKind::Python2(now) => (
                format!("{now} in Python 3"),
                "convert it to Python 3, or check it with the Python version that runs it".to_owned(),
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
    match is_late_keyword(word) {
        true => format!("`{word}` is a keyword since Python 3.7: use the name that replaced it"),
        false => "choose another name".to_owned(),
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
        FaultKind::LatePositional => Some("this is a keyword argument"),
        _ => None,
    }
}
