//! GitHub Actions: workflow commands, which become annotations, and the table that a step may add
//! to the summary of its run.

use super::words::explanation;
use super::{Position, severity};
use crate::engine::Outcome;
use crate::report::units::plural;
use crate::report::{Diagnostic, Severity, escaped, escaped_lines};
use std::cmp::Reverse;
use std::fmt::Write;

/// GitHub shows no more annotations of a kind for each step.
const SHOWN: usize = 10;
/// A summary may take a mebibyte; a longer table helps nobody.
const ROWS: usize = 500;

/// The worst first, since GitHub shows only the first; what it would drop follows as plain lines.
pub(crate) fn render(outcome: &Outcome) -> Vec<u8> {
    let (mut commands, mut rest, mut left_out) = (String::new(), String::new(), 0);
    for kind in [Severity::Error, Severity::Warning, Severity::Note] {
        let of_kind = worst_first(outcome).into_iter().filter(|finding| finding.severity == kind);
        for (place, finding) in of_kind.enumerate() {
            let Some(position) = Position::of(&outcome.sources, finding.place) else { continue };
            // Writing to a string does not fail.
            if place < SHOWN {
                let _ = writeln!(commands, "{}", command(outcome, finding, &position));
            } else {
                let name = format!("{}[{}]", severity(kind), finding.rule);
                let line = format!("{position}: {name} {}", escaped(&finding.message));
                let _ = writeln!(rest, "{}", unspoken(&line));
                left_out += 1;
            }
        }
    }
    if left_out > 0 {
        let title = format!("{} beyond GitHub's annotation limit", plural(left_out, "finding"));
        let _ = write!(commands, "::group::{}\n{rest}::endgroup::\n", data(&title));
    }
    commands.into_bytes()
}

fn worst_first(outcome: &Outcome) -> Vec<&Diagnostic> {
    let mut findings: Vec<&Diagnostic> = outcome.findings.iter().collect();
    findings.sort_by_key(|finding| (Reverse(finding.severity), Reverse(finding.confidence)));
    findings
}

fn command(outcome: &Outcome, finding: &Diagnostic, position: &Position<'_>) -> String {
    let kind = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let path = outcome.roots.in_repository(position.path);
    let title = match position.in_cell() {
        Some(cell) => format!("{} ({cell})", finding.rule),
        None => finding.rule.to_owned(),
    };
    let mut place = format!("file={},line={}", property(&escaped(&path)), position.file_line);
    if position.end_file_line > position.file_line {
        // GitHub refuses columns of a range over several lines.
        let _ = write!(place, ",endLine={}", position.end_file_line);
    } else if position.cell.is_none() {
        let end = position.end_column.max(position.column);
        let _ = write!(place, ",endLine={},col={},endColumn={end}", position.end_file_line, position.column);
    }
    let mut text = vec![finding.message.clone()];
    text.extend(explanation(outcome, finding));
    format!("::{kind} {place},title={}::{}", property(&title), data(&escaped_lines(&text.join("\n"))))
}

/// A line in which the runner finds no command in the old form, which it takes from anywhere.
fn unspoken(line: &str) -> String {
    line.replace("##[", "## [")
}

/// Escaped as the toolkit's `escapeData` does.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escaped as the toolkit's `escapeProperty` does.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The findings as a table in Markdown; `blob` is the address that paths of the repository hang on.
pub fn step_summary(outcome: &Outcome, blob: Option<&str>) -> String {
    let mut text = String::from("### trainlint\n\n");
    text.push_str(&super::summary(outcome, false));
    if outcome.findings.is_empty() {
        return text;
    }
    text.push_str("\n| | rule | place | finding |\n| --- | --- | --- | --- |\n");
    for finding in worst_first(outcome).into_iter().take(ROWS) {
        let Some(position) = Position::of(&outcome.sources, finding.place) else { continue };
        let (level, message) = (severity(finding.severity), cell(&escaped(&finding.message)));
        let place = place(outcome, &position, blob);
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {level} | `{}` | {place} | {message} |", finding.rule);
    }
    if outcome.findings.len() > ROWS {
        let _ = writeln!(text, "\nand {} more", outcome.findings.len() - ROWS);
    }
    text
}

fn place(outcome: &Outcome, position: &Position<'_>, blob: Option<&str>) -> String {
    let path = outcome.roots.in_repository(position.path);
    let text = cell(&markdown(&position.to_string()));
    match blob.filter(|_| !path.starts_with('/')) {
        Some(blob) => format!("[{text}]({blob}/{}#L{})", super::uri(&path), position.file_line),
        None => text,
    }
}

/// A path whose characters are none of Markdown's marks.
fn markdown(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '<' | '&' | '\\' | '|' => text.push(c),
            '`' | '[' | ']' | '*' | '!' | '~' | '@' | '_' | '(' | ')' | '#' | '>' => {
                text.push_str(&format!("&#{};", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

/// A text that ends neither its cell nor its row, and is no markup.
fn cell(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('\\', "\\\\");
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_tables_can_not_be_broken_out_of() {
        assert_eq!(data("50 %\r\n::error::x"), "50 %25%0D%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
        assert_eq!(cell("a|b\n<img> `x`"), "a\\|b &lt;img> `x`");
    }
}
