//! What a finding is: plain data. Knows no rule, no file format and no framework.

mod escape;
pub mod replay;
pub mod units;

pub use escape::{escaped, escaped_lines, escaped_path, steers};

use replay::Replay;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A half-open range of byte offsets into the analysed text of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: u32, end: u32) -> Self {
        Span { start, end }
    }

    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn contains(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A file of the project, by its place in the project's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileId(pub u32);

/// A backward pass that is written in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingStep {
    pub place: Place,
    /// What would have to be known to judge it, where nothing is.
    pub unknown: String,
}

/// A span in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub file: FileId,
    pub span: Span,
}

impl Place {
    pub fn new(file: FileId, span: Span) -> Self {
        Place { file, span }
    }
}

/// How bad it is for the training run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    /// Good practice in many scripts; shown with `--pedantic`.
    Note,
    /// The run is worse than it looks.
    Warning,
    /// The run is wrong or dies.
    Error,
}

/// How sure the evidence makes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Confidence {
    /// Rests on a name or a guess; shown with `--pedantic`.
    Low,
    Medium,
    High,
}

/// Another place that explains the finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    pub place: Place,
    pub message: String,
}

/// How far a fix may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Applicability {
    DisplayOnly,
    Unsafe,
    Safe,
}

/// One replacement of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub place: Place,
    pub text: String,
}

/// A change of the script that removes the finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    pub title: String,
    pub applicability: Applicability,
    pub edits: Vec<Edit>,
}

impl Fix {
    /// It keeps what a correct script means, and does what is surely meant.
    pub fn safe(title: impl Into<String>, edits: Vec<Edit>) -> Fix {
        Fix { title: title.into(), applicability: Applicability::Safe, edits }
    }

    /// It rests on a guess, or changes more than what the finding is about.
    pub fn guess(title: impl Into<String>, edits: Vec<Edit>) -> Fix {
        Fix { title: title.into(), applicability: Applicability::Unsafe, edits }
    }
}

/// What several findings have in common, so that one of them speaks for all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What is wrong at the place; the same in other places is the same finding.
    pub what: String,
    /// What a project is on the wrong side of.
    pub boundary: Option<Boundary>,
}

/// A release of a package that a project wants to be on one side of, and what its code uses on the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boundary {
    /// Stands for the project, the package, the side, and what asks for it.
    pub key: String,
    pub package: String,
    /// The last release that has what is used, or the first.
    pub release: String,
    /// Its place among all releases.
    pub rank: u8,
    /// What is used was gone after it; else it came with it.
    pub is_last: bool,
    /// The project does not say which side it wants, and newer installations are on the wrong one.
    pub is_open: bool,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub rule: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    pub place: Place,
    pub message: String,
    pub related: Vec<Label>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub fix: Option<Fix>,
    /// What can be run to see it happen.
    pub replay: Option<Box<Replay>>,
    /// What it has in common with others, where one is enough.
    pub cause: Option<Cause>,
}

impl Diagnostic {
    pub fn new(rule: &'static str, severity: Severity, place: Place, message: impl Into<String>) -> Self {
        Diagnostic {
            rule,
            severity,
            confidence: Confidence::High,
            place,
            message: message.into(),
            related: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fix: None,
            replay: None,
            cause: None,
        }
    }

    /// Points at another place that explains this finding.
    pub fn because(mut self, place: Place, message: impl Into<String>) -> Self {
        self.related.push(Label { place, message: message.into() });
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    pub fn confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = self.confidence.min(confidence);
        self
    }

    /// A change that removes it, where there is one.
    pub fn fix(mut self, fix: impl Into<Option<Fix>>) -> Self {
        self.fix = fix.into();
        self
    }

    pub fn cause(mut self, cause: impl Into<Option<Cause>>) -> Self {
        self.cause = cause.into();
        self
    }

    /// Every place that it names, its own first.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let nodes = match self.replay.as_deref() {
            Some(Replay::Program(program)) => program.nodes.as_slice(),
            _ => &[],
        };
        let related = self.related.iter().map(|label| label.place);
        std::iter::once(self.place).chain(related).chain(nodes.iter().filter_map(|node| node.place))
    }

    /// What `trainlint confirm` runs to see it happen.
    pub fn replay(mut self, replay: impl Into<Option<Replay>>) -> Self {
        self.replay = replay.into().map(Box::new);
        self
    }

    /// Every place that the finding names. Takes it apart field by field, so that none is forgotten.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        let Diagnostic {
            place,
            related,
            fix,
            replay,
            rule: _,
            severity: _,
            confidence: _,
            message: _,
            notes: _,
            help: _,
            cause: _,
        } = self;
        let related = related.iter_mut().map(|label| &mut label.place);
        let edits = fix.iter_mut().flat_map(|fix| &mut fix.edits).map(|edit| &mut edit.place);
        let replayed = replay.iter_mut().flat_map(|replay| replay.places_mut());
        std::iter::once(place).chain(related).chain(edits).chain(replayed)
    }
}
