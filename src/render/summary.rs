//! The last lines of a run for people: how much was found, and what is not shown.

use super::{BOLD, Position, paint, severity, severity_code};
use crate::checks::Replayed;
use crate::engine::Outcome;
use crate::engine::selection::find_rule;
use crate::report::units::plural;
use crate::report::{Applicability, Diagnostic, Severity, TrainingStep, escaped_path};
use std::collections::{BTreeMap, BTreeSet};

/// One or two sentences, with a line end.
pub fn summary(outcome: &Outcome, color: bool) -> String {
    let mut text = match outcome.findings.len() {
        0 => nothing(outcome),
        _ => paint(&found(outcome), BOLD, color),
    };
    let quiet = outcome.hidden - outcome.excluded;
    if quiet > 0 {
        let shows = "`--pedantic` shows notes and low-confidence findings";
        text.push_str(&format!("; {} hidden ({shows})", plural(quiet, "finding")));
    }
    if outcome.excluded > 0 {
        let count = plural(outcome.excluded, "finding");
        text.push_str(&format!("; {count} below the minimum severity or confidence"));
    }
    if outcome.known > 0 {
        text.push_str(&format!("; {} already known", plural(outcome.known, "finding")));
    }
    if outcome.suppressed > 0 {
        text.push_str(&format!("; {} suppressed by comments", outcome.suppressed));
    }
    if outcome.files.incomplete > 0 {
        text.push_str(&format!("; {} only partly analyzed", plural(outcome.files.incomplete, "file")));
    }
    text.push_str(&judged(outcome));
    text.push('\n');
    text
}

/// How much of what trains was judged: silence says little unless that is known.
fn judged(outcome: &Outcome) -> String {
    let told = &outcome.coverage;
    let steps = plural(told.training_steps, "training step");
    match (told.training_steps, told.by_contract.len(), told.unjudged.len()) {
        (0, ..) => String::new(),
        (_, 0, 0) => format!("; {steps} judged"),
        (_, partly, 0) => {
            format!("; {steps} judged, {partly} by optimizer calls only (`--verbose` says why)")
        }
        (_, 0, unjudged) => format!("; {unjudged} of {steps} not judged (`--verbose` says why)"),
        (_, partly, unjudged) => format!(
            "; {unjudged} of {steps} not judged, {partly} by optimizer calls only (`--verbose` says why)"
        ),
    }
}

/// The training steps that are not judged, or in part only, each with why; a line each.
pub fn coverage(outcome: &Outcome) -> String {
    let line = |how: &str, step: &TrainingStep| {
        let position = Position::of(&outcome.sources, step.place)?;
        Some(format!("{position}: {how}: {}\n", step.unknown))
    };
    let told = &outcome.coverage;
    let partly =
        told.by_contract.iter().filter_map(|step| line("only its optimizer calls were judged", step));
    partly.chain(told.unjudged.iter().filter_map(|step| line("not judged", step))).collect()
}

/// What fixes have done, if there were to be any, and what they could do; a line, or nothing. `all` where the
/// unsafe ones are wanted, too.
pub fn fixes(outcome: &Outcome, fixed: Option<usize>, all: bool) -> String {
    let left = |applicability: Applicability| {
        let fixes = outcome.findings.iter().filter_map(|finding| finding.fix.as_ref());
        fixes.filter(|fix| fix.applicability == applicability).count()
    };
    let (safe, unsure) = (left(Applicability::Safe), left(Applicability::Unsafe));
    let line = match (fixed, safe, unsure) {
        (Some(fixed), _, unsure) => {
            let done = match fixed {
                0 => "fixed nothing".to_owned(),
                _ => format!("fixed {}", plural(fixed, "finding")),
            };
            if unsure > 0 && !all { format!("{done}; {unsure} more with `--unsafe-fixes`") } else { done }
        }
        (None, 0, 0) => return String::new(),
        (None, 0, unsure) => format!("{unsure} fixable with `--fix --unsafe-fixes`"),
        (None, safe, 0) => format!("{safe} fixable with `--fix`"),
        (None, safe, unsure) => format!("{safe} fixable with `--fix`, {unsure} more with `--unsafe-fixes`"),
    };
    format!("{line}\n")
}

/// What was fixed, file by file: a line each.
pub fn fixed(findings: &[(String, &'static str)]) -> String {
    let mut files: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (path, rule) in findings {
        *files.entry(path).or_default().entry(rule).or_default() += 1;
    }
    let line = |(path, rules): (&str, BTreeMap<&str, usize>)| {
        let rules: Vec<String> = rules.iter().map(|(rule, count)| format!("{count} {rule}")).collect();
        format!("  {}: {}\n", escaped_path(path), rules.join(", "))
    };
    files.into_iter().map(line).collect()
}

/// What to do next about findings, worst first; a line, or nothing where there are none.
pub fn next(outcome: &Outcome) -> String {
    let worst = outcome.findings.iter().rev().max_by_key(|finding| finding.severity);
    let Some(rule) = worst.and_then(|finding| find_rule(finding.rule)) else { return String::new() };
    let can_be_run =
        |finding: &Diagnostic| find_rule(finding.rule).is_some_and(|rule| rule.replayed != Replayed::Nothing);
    let replays = outcome.findings.iter().any(can_be_run);
    let confirm = if replays { ", `trainlint confirm` shows findings happening" } else { "" };
    format!("`trainlint explain {}` explains the rule{confirm}\n", rule.id)
}

fn found(outcome: &Outcome) -> String {
    let mut parts = Vec::new();
    for level in [Severity::Error, Severity::Warning, Severity::Note] {
        let count = outcome.findings.iter().filter(|finding| finding.severity == level).count();
        if count > 0 {
            parts.push(plural(count, severity(level)));
        }
    }
    let last = parts.pop().unwrap_or_default();
    let list = if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) };
    let files: BTreeSet<_> = outcome.findings.iter().map(|finding| finding.place.file).collect();
    match outcome.files.checked {
        checked if checked > files.len() => format!("found {list} in {} of {checked} files", files.len()),
        _ => format!("found {list} in {}", plural(files.len(), "file")),
    }
}

fn nothing(outcome: &Outcome) -> String {
    let files = outcome.files;
    match (files.checked, files.skipped) {
        (0, 0) if outcome.problems.is_empty() => "no Python files found".to_owned(),
        (0, 0) => "nothing could be checked".to_owned(),
        (0, skipped) => format!("no findings; none of {} imports a known framework", plural(skipped, "file")),
        (checked, 0) => format!("no findings in {}", plural(checked, "file")),
        (checked, skipped) => {
            format!(
                "no findings in {} ({} without a known framework skipped)",
                plural(checked, "file"),
                skipped
            )
        }
    }
}

/// How often each rule was broken, the most frequent first.
pub fn statistics(outcome: &Outcome, color: bool) -> String {
    let mut counts: BTreeMap<&str, (usize, Severity)> = BTreeMap::new();
    for finding in &outcome.findings {
        let entry = counts.entry(finding.rule).or_insert((0, finding.severity));
        *entry = (entry.0 + 1, entry.1.max(finding.severity));
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let width = rows.iter().map(|(rule, _)| rule.len()).max().unwrap_or(0);
    let digits = rows.first().map_or(1, |(_, (count, _))| count.to_string().len());
    let mut text = String::new();
    for (rule, (count, level)) in rows {
        let name = paint(&format!("{rule:width$}"), severity_code(level), color);
        let about = find_rule(rule).map_or("", |rule| rule.summary);
        text.push_str(&format!("{count:>digits$}  {name}  {about}\n"));
    }
    text
}
