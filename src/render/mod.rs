//! An outcome as text: one file a format. Knows no rule, and prints nothing itself.

mod concise;
mod doctor;
mod full;
mod github;
mod gitlab;
mod grouped;
mod json;
mod junit;
mod line_hash;
mod page;
mod rdjson;
mod reveal;
mod sarif;
mod summary;
mod versions;
mod words;

pub use doctor::doctor;
pub(crate) use doctor::doctor_json;
pub use github::step_summary;
pub use page::page;
pub use reveal::{reveal, reveal_json};
pub use summary::{coverage, fixed, fixes, next, statistics, summary};
pub(crate) use versions::{versions, versions_json};

use crate::checks::Rule;
use crate::engine::selection::find_rule;
use crate::engine::{Outcome, Sources};
use crate::report::{Applicability, Confidence, Diagnostic, Place, Severity, escaped_path};

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// With the code and everything that explains it.
    #[default]
    Full,
    /// One line each.
    Concise,
    /// Under the name of their file.
    Grouped,
    /// One object for machines.
    Json,
    /// One object a line and a finding.
    JsonLines,
    /// SARIF 2.1.0, for GitHub's code scanning and viewers.
    Sarif,
    /// Commands that annotate a run of GitHub Actions.
    Github,
    /// A code quality report of GitLab.
    Gitlab,
    /// A report of tests, which most services show.
    Junit,
    /// For reviewdog.
    Rdjson,
}

impl Format {
    /// Whether a summary for people follows the findings.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Full | Format::Concise | Format::Grouped)
    }
}

/// What text for people may hold besides text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    pub color: bool,
    /// Names of rules lead to their pages (OSC 8).
    pub links: bool,
}

/// Colored or not, and without links.
impl From<bool> for Look {
    fn from(color: bool) -> Look {
        Look { color, links: false }
    }
}

/// The findings of a run, without the summary.
pub fn findings(outcome: &Outcome, format: Format, look: impl Into<Look>) -> Vec<u8> {
    let look = look.into();
    match format {
        Format::Full => full::render(outcome, &[], look),
        Format::Concise => concise::render(outcome, look),
        Format::Grouped => grouped::render(outcome, look),
        Format::Json => json::render(outcome),
        Format::JsonLines => json::render_lines(outcome),
        Format::Sarif => sarif::render(outcome, &[]),
        Format::Github => github::render(outcome),
        Format::Gitlab => gitlab::render(outcome),
        Format::Junit => junit::render(outcome),
        Format::Rdjson => rdjson::render(outcome),
    }
}

/// Findings with their code, and beneath each what came out of its replay.
pub fn beside(outcome: &Outcome, verdicts: &[String], look: Look) -> Vec<u8> {
    full::render(outcome, verdicts, look)
}

/// SARIF, with what came out of replays in the properties of their results.
pub fn replayed(outcome: &Outcome, replays: &[Option<serde_json::Value>]) -> Vec<u8> {
    sarif::render(outcome, replays)
}

/// A report as JSON, for people to read, too.
fn json_text(report: &impl serde::Serialize) -> Vec<u8> {
    // Plain structs with string keys serialise.
    let mut text = serde_json::to_vec_pretty(report).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The page of a rule on the web: in the repository that the package names, or else the one that the build was told
/// of (`TRAINLINT_REPOSITORY`). A page of a framework is no substitute: it does not say what the rule does.
pub fn help_uri(rule: &str) -> Option<String> {
    let named = env!("CARGO_PKG_REPOSITORY");
    let repository = if named.is_empty() { option_env!("TRAINLINT_REPOSITORY")? } else { named };
    page_in(repository, find_rule(rule)?.id)
}

fn page_in(repository: &str, rule: &str) -> Option<String> {
    let repository = repository.trim_end_matches('/').trim_end_matches(".git");
    repository.starts_with("https://").then(|| format!("{repository}/blob/main/rules/{rule}.md"))
}

/// A path as the path of a URI.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A value as one line of JSON.
fn json_line(value: &impl serde::Serialize) -> Vec<u8> {
    // Plain structs with string keys serialise, and a `Vec` can be written to.
    let mut bytes = serde_json::to_vec(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Rules, as `trainlint rules --output-format json` writes them.
pub fn rules_json(rules: &[&Rule]) -> Vec<u8> {
    json::rules(rules)
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
    /// The lines of the file, which in a notebook are those of its JSON.
    file_line: u32,
    end_file_line: u32,
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
            file_line: start.file_line,
            end_file_line: end.file_line,
        })
    }

    /// What a place in a notebook is called where only lines of the file can be given.
    fn in_cell(&self) -> Option<String> {
        self.cell.map(|cell| format!("cell {cell}, line {}", self.line))
    }
}

impl std::fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&escaped_path(self.path))?;
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

/// A rule's severity and name as they stand before a message, the name as a link where it is to be one.
fn label(finding: &Diagnostic, look: Look) -> String {
    let name = format!("{}[{}]", severity(finding.severity), finding.rule);
    linked(&paint(&name, severity_code(finding.severity), look.color), finding.rule, look)
}

/// A text that holds the name of a rule, with the first of them as a link.
fn linked(text: &str, rule: &str, look: Look) -> String {
    match help_uri(rule).filter(|_| look.links) {
        Some(uri) => text.replacen(rule, &link(rule, &uri), 1),
        None => text.to_owned(),
    }
}

/// A link of a terminal: <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>.
fn link(text: &str, uri: &str) -> String {
    format!("\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\")
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

#[cfg(test)]
mod tests {
    use super::{link, page_in};

    #[test]
    fn a_link_of_a_terminal_has_its_text_between_two_codes() {
        assert_eq!(link("unsafe-log", "https://x"), "\x1b]8;;https://x\x1b\\unsafe-log\x1b]8;;\x1b\\");
    }

    #[test]
    fn links_lead_to_the_page_of_a_rule() {
        let page = "https://example.org/trainlint/blob/main/rules/unsafe-log.md";
        for repository in [
            "https://example.org/trainlint",
            "https://example.org/trainlint/",
            "https://example.org/trainlint.git",
        ] {
            assert_eq!(page_in(repository, "unsafe-log").as_deref(), Some(page));
        }
        assert_eq!(page_in("git@example.org:trainlint", "unsafe-log"), None);
    }
}
