//! An outcome as text: one file a format. Knows no rule, and prints nothing itself.

mod concise;
mod full;
mod json;
mod page;
mod summary;

pub use page::page;
pub use summary::{fixes, statistics, summary};

use crate::engine::{Outcome, Sources};
use crate::report::{Applicability, Confidence, Place, Severity};

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With the code and everything that explains it.
    Full,
    /// One line each.
    Concise,
    /// For machines.
    Json,
}

/// The findings of a run, without the summary.
pub fn findings(outcome: &Outcome, format: Format, color: bool) -> Vec<u8> {
    match format {
        Format::Full => full::render(outcome, color),
        Format::Concise => concise::render(outcome, color),
        Format::Json => json::render(outcome),
    }
}

/// Every rule, as `trainlint rules --output-format json` gives them.
pub fn rules_json() -> Vec<u8> {
    json::rules()
}

pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

pub fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    }
}

fn applicability(applicability: Applicability) -> &'static str {
    match applicability {
        Applicability::DisplayOnly => "display-only",
        Applicability::Unsafe => "unsafe",
        Applicability::Safe => "safe",
    }
}

/// Where a place begins and ends, as people and editors count.
struct Position<'a> {
    path: &'a str,
    cell: Option<u32>,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

impl<'a> Position<'a> {
    /// None for a file that the outcome does not show.
    fn of(sources: &'a Sources, place: Place) -> Option<Position<'a>> {
        let shown = sources.get(place.file)?;
        let (start, end) = (shown.source.locate(place.span.start), shown.source.locate(place.span.end));
        Some(Position {
            path: &shown.path,
            cell: start.cell,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        })
    }
}

impl std::fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)?;
        if let Some(cell) = self.cell {
            write!(f, ":cell {cell}")?;
        }
        write!(f, ":{}:{}", self.line, self.column)
    }
}

/// SGR codes for the little that is coloured by hand; the full format has its own styles.
fn paint(text: &str, code: &str, color: bool) -> String {
    if color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

const BOLD: &str = "1";
const DIM: &str = "2";
const CYAN: &str = "36";

fn severity_code(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "1;31",
        Severity::Warning => "1;33",
        Severity::Note => "1;32",
    }
}
