//! The format for machines; `docs/cli.md` describes it. Fields are only ever added to version 1.

use super::{Position, applicability, confidence, json_line, severity};
use crate::checks::Rule;
use crate::engine::{Outcome, Sources};
use crate::report::{Diagnostic, Fix, Label, TrainingStep};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    findings: Vec<Finding<'a>>,
    hidden: usize,
    suppressed: usize,
    known: usize,
    files: Files,
    coverage: Coverage<'a>,
    errors: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct Files {
    checked: usize,
    skipped: usize,
    incomplete: usize,
}

#[derive(Serialize)]
struct Coverage<'a> {
    training_steps: usize,
    by_contract: Vec<Related<'a>>,
    not_judged: Vec<Related<'a>>,
}

#[derive(Serialize)]
struct Problem<'a> {
    path: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Range<'a> {
    path: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    cell: Option<u32>,
}

#[derive(Serialize)]
struct Finding<'a> {
    rule: &'a str,
    #[serde(flatten)]
    range: Range<'a>,
    severity: &'static str,
    confidence: &'static str,
    message: &'a str,
    notes: &'a [String],
    help: Option<String>,
    related: Vec<Related<'a>>,
    fix: Option<Repair<'a>>,
}

#[derive(Serialize)]
struct Related<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    message: &'a str,
}

#[derive(Serialize)]
struct Repair<'a> {
    title: &'a str,
    applicability: &'static str,
    edits: Vec<Change<'a>>,
}

#[derive(Serialize)]
struct Change<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    text: &'a str,
}

pub(crate) fn render(outcome: &Outcome) -> Vec<u8> {
    let files = outcome.files;
    let report = Report {
        version: 1,
        findings: outcome.findings.iter().filter_map(|one| finding(&outcome.sources, one)).collect(),
        hidden: outcome.hidden,
        suppressed: outcome.suppressed,
        known: outcome.known,
        files: Files { checked: files.checked, skipped: files.skipped, incomplete: files.incomplete },
        coverage: coverage(outcome),
        errors: outcome
            .problems
            .iter()
            .map(|one| Problem { path: &one.path, message: &one.message })
            .collect(),
    };
    json_line(&report)
}

pub(crate) fn render_lines(outcome: &Outcome) -> Vec<u8> {
    let findings = outcome.findings.iter().filter_map(|one| finding(&outcome.sources, one));
    findings.flat_map(|one| json_line(&one)).collect()
}

fn finding<'a>(sources: &'a Sources, one: &'a Diagnostic) -> Option<Finding<'a>> {
    Some(Finding {
        rule: one.rule,
        range: range(Position::of(sources, one.place)?),
        severity: severity(one.severity),
        confidence: confidence(one.confidence),
        message: &one.message,
        notes: &one.notes,
        help: (!one.help.is_empty()).then(|| one.help.join("\n")),
        related: one.related.iter().filter_map(|label| related(sources, label)).collect(),
        fix: one.fix.as_ref().map(|fix| repair(sources, fix)),
    })
}

fn range(position: Position<'_>) -> Range<'_> {
    let Position { path, cell, line, column, end_line, end_column, .. } = position;
    Range { path, line, column, end_line, end_column, cell }
}

fn coverage(outcome: &Outcome) -> Coverage<'_> {
    let told = &outcome.coverage;
    Coverage {
        training_steps: told.training_steps,
        by_contract: steps(outcome, &told.by_contract),
        not_judged: steps(outcome, &told.unjudged),
    }
}

fn steps<'a>(outcome: &'a Outcome, of: &'a [TrainingStep]) -> Vec<Related<'a>> {
    let placed = of.iter().filter_map(|step| {
        let range = range(Position::of(&outcome.sources, step.place)?);
        Some(Related { range, message: &step.unknown })
    });
    placed.collect()
}

fn related<'a>(sources: &'a Sources, label: &'a Label) -> Option<Related<'a>> {
    Some(Related { range: range(Position::of(sources, label.place)?), message: &label.message })
}

fn repair<'a>(sources: &'a Sources, fix: &'a Fix) -> Repair<'a> {
    let edits = fix.edits.iter().filter_map(|edit| {
        Some(Change { range: range(Position::of(sources, edit.place)?), text: &edit.text })
    });
    Repair { title: &fix.title, applicability: applicability(fix.applicability), edits: edits.collect() }
}

#[derive(Serialize)]
struct Described {
    id: &'static str,
    group: &'static str,
    severity: &'static str,
    since: &'static str,
    summary: &'static str,
    page: &'static str,
}

pub(crate) fn rules(rules: &[&Rule]) -> Vec<u8> {
    let described = rules.iter().map(|rule| Described {
        id: rule.id,
        group: rule.group.name(),
        severity: severity(rule.severity),
        since: rule.since,
        summary: rule.summary,
        page: rule.page,
    });
    json_line(&described.collect::<Vec<_>>())
}
