//! What a finding takes for granted: the roles of things that nobody in sight makes, and what says so.

use super::{Findings, Script};
use crate::report::{Diagnostic, Label, Place};
use crate::source::words;
use crate::trace::Assumption;

impl Script<'_> {
    /// Says of each finding what the things in its lines were taken for.
    pub fn say_assumptions(&self, findings: &mut Findings) {
        if self.rehearsal.assumptions.is_empty() {
            return;
        }
        for (finding, _) in &mut findings.all {
            for assumption in &self.rehearsal.assumptions {
                if self.rests_on(finding, assumption) {
                    say(finding, assumption);
                }
            }
        }
    }

    /// Whether the lines that a finding shows are about something that was taken for what it may not be.
    fn rests_on(&self, finding: &Diagnostic, assumption: &Assumption) -> bool {
        let shown = finding.related.iter().map(|label| label.place).chain([finding.place]);
        let inside = |place: &Place| {
            place.file == assumption.because.file
                && assumption.within.is_none_or(|span| span.contains(place.span))
        };
        shown.filter(inside).any(|place| {
            let text = &self.project.source(place.file).text;
            text.get(place.span.range()).is_some_and(|text| says(text, &assumption.name))
        })
    }
}

fn say(finding: &mut Diagnostic, assumption: &Assumption) {
    let text = format!("`{}` is assumed to be {}: {}", assumption.name, assumption.role, assumption.reason);
    let shown = finding.place == assumption.because
        || finding.related.iter().any(|label| label.place == assumption.because);
    if shown {
        finding.notes.push(text);
    } else {
        finding.related.push(Label { place: assumption.because, message: text });
    }
}

/// Whether a text has a word in it, not as part of another.
fn says(text: &str, word: &str) -> bool {
    words(text, word).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::says;

    #[test]
    fn a_word_is_no_part_of_another() {
        assert!(says("self.optimizer.step()", "optimizer"));
        assert!(!says("my_optimizer.step()", "optimizer"));
        assert!(!says("optimizers[0].step()", "optimizer"));
        assert!(says("optimizers, optimizer", "optimizer"));
    }
}
