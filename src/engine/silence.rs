//! Suppression comments for what a run found, put into the files in memory. Writes nothing.

use crate::engine::fix::{Refused, Rewritten};
use crate::engine::selection::UNUSED_SUPPRESSION;
use crate::engine::{Outcome, Shown};
use crate::report::{Diagnostic, Span};
use crate::source::{Seat, SourceFile, logical_lines, read_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What came of silencing.
#[derive(Default)]
pub struct Silenced {
    /// The files that changed, by path.
    pub files: Vec<Rewritten>,
    /// How many findings of a file, as it is shown, have a comment now.
    pub silenced: BTreeMap<String, usize>,
    pub refused: Vec<Refused>,
}

/// A comment for each finding, several of a line in one.
pub fn silence(outcome: &Outcome, reason: Option<&str>) -> Silenced {
    let mut by_file: BTreeMap<&str, (&Shown, Vec<&Diagnostic>)> = BTreeMap::new();
    for finding in &outcome.findings {
        if let Some(shown) = outcome.sources.get(finding.place.file) {
            by_file.entry(&shown.path).or_insert_with(|| (shown, Vec::new())).1.push(finding);
        }
    }
    let mut silenced = Silenced::default();
    for (shown, findings) in by_file.into_values() {
        silenced.file(shown, &findings, reason);
    }
    silenced
}

impl Silenced {
    fn file(&mut self, shown: &Shown, findings: &[&Diagnostic], reason: Option<&str>) {
        let text = &*shown.source.text;
        let logical = logical_lines(text);
        let mut seats: BTreeMap<Seat, Vec<&Diagnostic>> = BTreeMap::new();
        for &finding in findings {
            // A comment that hides nothing is not to be hidden by another.
            let own = finding.rule == UNUSED_SUPPRESSION.id;
            match Seat::of(text, &logical, finding.place.span.start).filter(|_| !own) {
                Some(seat) => seats.entry(seat).or_default().push(finding),
                None => self.refuse(shown, finding, "it is about a comment"),
            }
        }
        let bytes = match read_bytes(&shown.source.path) {
            Ok(bytes) => bytes,
            Err(error) => {
                return findings.iter().for_each(|one| self.refuse(shown, one, &error.to_string()));
            }
        };
        let mut changes = Vec::new();
        for (seat, findings) in seats {
            let rules: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
            let change = seat.silence(text, &rules.into_iter().collect::<Vec<_>>(), reason);
            // Some lines of a notebook are not as they seem, and one of them is not to cost the others.
            match patched(&shown.source, &bytes, std::slice::from_ref(&change)) {
                Ok(_) => {
                    *self.silenced.entry(shown.path.clone()).or_default() += findings.len();
                    changes.push(change);
                }
                Err(why) => findings.iter().for_each(|finding| self.refuse(shown, finding, &why)),
            }
        }
        if changes.is_empty() {
            return;
        }
        if let Ok(after) = patched(&shown.source, &bytes, &changes) {
            let (path, shown) = (shown.source.path.clone(), shown.path.clone());
            self.files.push(Rewritten { path, shown, before: Arc::from(bytes), after: Arc::from(after) });
        }
    }

    fn refuse(&mut self, shown: &Shown, finding: &Diagnostic, why: &str) {
        let at = shown.source.locate(finding.place.span.start);
        self.refused.push(Refused {
            path: shown.path.clone(),
            line: at.line,
            cell: at.cell,
            rule: finding.rule,
            why: why.to_owned(),
        });
    }
}

fn patched(source: &SourceFile, bytes: &[u8], changes: &[(Span, String)]) -> Result<Vec<u8>, String> {
    let changes: Vec<_> = changes.iter().map(|(span, text)| (*span, text.as_str())).collect();
    source.patched(bytes, &changes).map_err(|error| error.to_string())
}
