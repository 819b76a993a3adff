//! A code quality report of GitLab. GitLab shows no more than the description, and drops all but
//! one of the entries that share a fingerprint.

use super::words::explanation;
use super::{Position, json_line};
use crate::engine::Outcome;
use crate::engine::fingerprint::{Occurrences, digest_of, fingerprints};
use crate::report::{Diagnostic, Severity};
use serde::Serialize;

#[derive(Serialize)]
struct Entry<'a> {
    description: String,
    check_name: &'a str,
    fingerprint: String,
    severity: &'static str,
    location: Location,
    content: Content,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
    end: u32,
}

#[derive(Serialize)]
struct Content {
    body: String,
}

pub(crate) fn render(outcome: &Outcome) -> Vec<u8> {
    let mut occurrences = Occurrences::default();
    let prints = fingerprints(outcome);
    let entries: Vec<Entry<'_>> = (outcome.findings.iter().zip(prints))
        .filter_map(|(finding, print)| {
            let path = outcome.roots.in_repository(Position::of(&outcome.sources, finding.place)?.path);
            // The same code in two files is two findings.
            let key = format!("{path}\0{}", print.digest());
            let fingerprint = digest_of(&format!("{key}\0{}", occurrences.next(&key)));
            entry(outcome, finding, path, fingerprint)
        })
        .collect();
    json_line(&entries)
}

fn entry<'a>(
    outcome: &'a Outcome,
    finding: &'a Diagnostic,
    path: String,
    fingerprint: String,
) -> Option<Entry<'a>> {
    let position = Position::of(&outcome.sources, finding.place)?;
    let cell = position.in_cell().map(|cell| format!("{cell}: ")).unwrap_or_default();
    Some(Entry {
        description: format!("{}: {cell}{}", finding.rule, finding.message),
        check_name: finding.rule,
        fingerprint,
        severity: severity(finding.severity),
        location: Location {
            path,
            lines: Lines { begin: position.file_line, end: position.end_file_line.max(position.file_line) },
        },
        content: Content { body: explanation(outcome, finding).join("\n\n") },
    })
}

/// `blocker` and `minor` are left to tools that know more, or less, about the harm.
fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "critical",
        Severity::Warning => "major",
        Severity::Note => "info",
    }
}
