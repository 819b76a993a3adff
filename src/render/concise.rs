//! One line a finding: `train.py:18:38: warning[full-dataset-batch] one batch is the whole dataset`.

use super::{Look, Position, label};
use crate::engine::Outcome;
use crate::report::escaped;
use std::io::Write;

pub(crate) fn render(outcome: &Outcome, look: Look) -> Vec<u8> {
    let mut out = Vec::new();
    for finding in &outcome.findings {
        let Some(position) = Position::of(&outcome.sources, finding.place) else {
            continue;
        };
        let name = label(finding, look);
        // Writing to a `Vec` does not fail.
        let _ = writeln!(out, "{position}: {name} {}", escaped(&finding.message));
    }
    out
}
