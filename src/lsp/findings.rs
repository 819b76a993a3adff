//! Findings as clients show them.

use super::client::Abilities;
use super::position::Encoding;
use super::{Checked, uri};
use crate::engine::selection::UNUSED_SUPPRESSION;
use crate::render::help_uri;
use crate::report::{Diagnostic as Finding, Label, Place, Severity};
use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    Location, Message, Range, Uri,
};
use std::path::Path;

/// What is known of documents that are open: how the client calls a file, and the cells of a notebook.
pub(crate) trait Names {
    /// The client's name of a cell of a file, or of the file.
    fn uri_of(&self, path: &Path, cell: Option<u32>) -> String;
    /// What a replay of a finding came to, in a few words.
    fn verdict(&self, view: &View<'_>, finding: &Finding) -> Option<String>;
}

/// Makes what the client shows of one outcome.
pub(crate) struct View<'a> {
    pub checked: &'a Checked,
    pub can: &'a Abilities,
    pub names: &'a dyn Names,
}

impl View<'_> {
    pub(crate) fn encoding(&self) -> Encoding {
        self.can.encoding
    }

    /// The findings of a cell, or of a script.
    pub(crate) fn of_cell(&self, cell: Option<u32>) -> impl Iterator<Item = (&Finding, Range)> {
        self.checked.outcome.findings.iter().filter_map(move |finding| {
            let (own, range) = self.range(finding.place)?;
            (own == cell).then_some((finding, range))
        })
    }

    /// The cell of a place, and the range in it.
    pub(crate) fn range(&self, place: Place) -> Option<(Option<u32>, Range)> {
        let shown = self.checked.outcome.sources.get(place.file)?;
        Some(self.encoding().range(&shown.source, place.span))
    }

    pub(crate) fn location(&self, place: Place) -> Option<Location> {
        let shown = self.checked.outcome.sources.get(place.file)?;
        let (cell, range) = self.range(place)?;
        Some(Location { uri: Uri(self.names.uri_of(&shown.source.path, cell)), range })
    }

    pub(crate) fn diagnostics(&self, cell: Option<u32>) -> Vec<Diagnostic> {
        self.of_cell(cell).map(|(finding, range)| self.diagnostic(finding, range)).collect()
    }

    pub(crate) fn diagnostic(&self, finding: &Finding, range: Range) -> Diagnostic {
        let link = help_uri(finding.rule).filter(|_| self.can.links_codes);
        Diagnostic {
            range,
            severity: Some(severity(finding.severity)),
            code: Some(Code::String(finding.rule.to_owned())),
            code_description: link.map(|href| CodeDescription { href: Uri(href) }),
            source: Some("trainlint".to_owned()),
            message: Message::String(self.message(finding)),
            tags: tags(finding).filter(|_| self.can.tags),
            related_information: self.related(finding),
            data: None,
        }
    }

    /// With what to do about it; and with what explains it where the client has no other place for that.
    fn message(&self, finding: &Finding) -> String {
        let mut text = finding.message.clone();
        if !self.can.related {
            for label in &finding.related {
                if let Some(place) = self.spelled(label.place) {
                    text.push_str(&format!("\n{place}: {}", label.message));
                }
            }
        }
        for help in &finding.help {
            text.push_str(&format!("\nhelp: {help}"));
        }
        if let Some(verdict) = self.names.verdict(self, finding) {
            text.push_str(&format!("\nreplayed: {verdict}"));
        }
        text
    }

    /// A place in words: `line 12`, with the file where it is another one.
    pub(crate) fn spelled(&self, place: Place) -> Option<String> {
        let shown = self.checked.outcome.sources.get(place.file)?;
        let at = shown.source.locate(place.span.start);
        let cell = at.cell.map_or(String::new(), |cell| format!("cell {cell}, "));
        let is_own = shown.source.path == self.checked.path;
        Some(if is_own { format!("{cell}line {}", at.line) } else { format!("{}:{}", shown.path, at.line) })
    }

    fn related(&self, finding: &Finding) -> Option<Vec<DiagnosticRelatedInformation>> {
        let one = |label: &Label| {
            let location = self.location(label.place)?;
            let said = if label.message.is_empty() { "here" } else { &label.message };
            Some(DiagnosticRelatedInformation { location, message: said.to_owned() })
        };
        let all: Vec<_> = finding.related.iter().filter_map(one).collect();
        (self.can.related && !all.is_empty()).then_some(all)
    }
}

pub(crate) fn file_uri(path: &Path) -> String {
    uri::of_path(path)
}

fn severity(severity: Severity) -> DiagnosticSeverity {
    match severity {
        Severity::Error => DiagnosticSeverity::Error,
        Severity::Warning => DiagnosticSeverity::Warning,
        Severity::Note => DiagnosticSeverity::Information,
    }
}

/// A comment that hides nothing is shown faded.
fn tags(finding: &Finding) -> Option<Vec<DiagnosticTag>> {
    (finding.rule == UNUSED_SUPPRESSION.id).then(|| vec![DiagnosticTag::Unnecessary])
}
