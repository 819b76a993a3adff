//! The Reviewdog Diagnostic Format. Its columns count bytes; a notebook has none, since its text
//! stands in JSON, and no suggestions either.

use super::words::explanation;
use super::{Position, help_uri, json_line};
use crate::engine::{Outcome, Shown};
use crate::report::{Diagnostic, Fix, Place, Severity};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    source: Source,
    severity: &'static str,
    diagnostics: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Source {
    name: &'static str,
}

#[derive(Serialize)]
struct Entry<'a> {
    message: String,
    location: Location,
    severity: &'static str,
    code: Code<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suggestions: Vec<Suggestion<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Location {
    path: String,
    range: Range,
}

#[derive(Serialize)]
struct Range {
    start: Point,
    end: Point,
}

#[derive(Serialize)]
struct Point {
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

#[derive(Serialize)]
struct Code<'a> {
    value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Serialize)]
struct Suggestion<'a> {
    range: Range,
    text: &'a str,
}

#[derive(Serialize)]
struct Related<'a> {
    message: &'a str,
    location: Location,
}

pub(crate) fn render(outcome: &Outcome) -> Vec<u8> {
    let worst = outcome.findings.iter().map(|finding| finding.severity).max();
    json_line(&Report {
        source: Source { name: "trainlint" },
        severity: severity(worst.unwrap_or(Severity::Warning)),
        diagnostics: outcome.findings.iter().filter_map(|one| entry(outcome, one)).collect(),
    })
}

fn entry<'a>(outcome: &'a Outcome, finding: &'a Diagnostic) -> Option<Entry<'a>> {
    let position = Position::of(&outcome.sources, finding.place)?;
    let cell = position.in_cell().map(|cell| format!("{cell}: ")).unwrap_or_default();
    let mut message = vec![format!("{cell}{}", finding.message)];
    message.extend(explanation(outcome, finding));
    let related = finding.related.iter().filter(|label| label.place != finding.place);
    Some(Entry {
        message: message.join("\n"),
        location: location(outcome, finding.place)?,
        severity: severity(finding.severity),
        code: Code { value: finding.rule, url: help_uri(finding.rule) },
        suggestions: finding.fix.as_ref().map(|fix| suggestions(outcome, fix)).unwrap_or_default(),
        related_locations: related
            .filter_map(|label| {
                Some(Related { message: &label.message, location: location(outcome, label.place)? })
            })
            .collect(),
    })
}

/// Each suggestion is applied by itself, so a fix of several edits is none.
fn suggestions<'a>(outcome: &Outcome, fix: &'a Fix) -> Vec<Suggestion<'a>> {
    let [edit] = fix.edits.as_slice() else { return Vec::new() };
    let in_script = |shown: &&Shown| shown.source.locate(edit.place.span.start).cell.is_none();
    let shown = outcome.sources.get(edit.place.file).filter(in_script);
    shown.map(|shown| Suggestion { range: range(shown, edit.place), text: &edit.text }).into_iter().collect()
}

fn location(outcome: &Outcome, place: Place) -> Option<Location> {
    let shown = outcome.sources.get(place.file)?;
    Some(Location { path: outcome.roots.in_repository(&shown.path), range: range(shown, place) })
}

fn range(shown: &Shown, place: Place) -> Range {
    let point = |offset: u32| {
        let (source, location) = (&shown.source, shown.source.locate(offset));
        let start = source.line_range(source.line_index(offset)).start as u32;
        let column = location.cell.is_none().then(|| offset.saturating_sub(start) + 1);
        Point { line: location.file_line, column }
    };
    Range { start: point(place.span.start), end: point(place.span.end) }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARNING",
        Severity::Note => "INFO",
    }
}
