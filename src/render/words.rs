//! A finding in words alone, for services that show no more than a text.

use super::Position;
use crate::engine::Outcome;
use crate::report::{Diagnostic, steers};

/// What explains a finding, a line each: related places, notes, help.
pub(crate) fn explanation(outcome: &Outcome, finding: &Diagnostic) -> Vec<String> {
    let related = finding.related.iter().filter_map(|label| {
        let position = Position::of(&outcome.sources, label.place)?;
        let same = label.place == finding.place;
        Some(if same { label.message.clone() } else { format!("{position}: {}", label.message) })
    });
    let notes = finding.notes.iter().cloned();
    let help = finding.help.iter().map(|help| format!("help: {help}"));
    related.chain(notes).chain(help).collect()
}

/// A text without characters that neither XML nor a terminal takes.
pub(crate) fn printable(text: &str) -> String {
    let allowed = |c: &char| !steers(*c) || matches!(c, '\n' | '\t');
    text.chars().filter(allowed).filter(|c| !matches!(c, '\u{fffe}' | '\u{ffff}')).collect()
}
