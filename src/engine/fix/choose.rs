//! Which fixes go together: in the order of their findings, each with room of its own. What overlaps or touches
//! an earlier one waits for the next pass.

use crate::engine::{Outcome, Shown};
use crate::report::{Applicability, Diagnostic, Edit, FileId, Fix};
use crate::source::Location;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::path::Path;

/// A fix that is to be applied.
pub struct Chosen<'a> {
    pub finding: &'a Diagnostic,
    pub fix: &'a Fix,
    shown: &'a Shown,
}

/// What is the same for a fix from pass to pass, though its place moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    path: String,
    rule: &'static str,
    line: String,
    texts: Vec<String>,
}

impl Chosen<'_> {
    pub fn key(&self) -> Key {
        let source = &self.shown.source;
        let line = source.line_index(self.finding.place.span.start);
        Key {
            path: self.shown.path.clone(),
            rule: self.finding.rule,
            line: source.text[source.line_range(line)].trim().to_owned(),
            texts: self.fix.edits.iter().map(|edit| edit.text.clone()).collect(),
        }
    }

    pub fn path(&self) -> Option<&Path> {
        Some(self.shown.source.path.as_path())
    }

    /// The path as it is shown, and where in the file the finding is.
    pub fn location(&self) -> (String, Location) {
        (self.shown.path.clone(), self.shown.source.locate(self.finding.place.span.start))
    }
}

/// The fixes of a pass, file by file. In each file only those of one rule: what it repairs may be what another
/// one finds.
pub(crate) fn choose<'a>(
    outcome: &'a Outcome,
    least: Applicability,
    refused: &FxHashSet<Key>,
) -> Vec<Chosen<'a>> {
    let mut chosen: Vec<Chosen<'a>> = Vec::new();
    let mut taken: Vec<&Edit> = Vec::new();
    let mut turns: FxHashMap<FileId, &str> = FxHashMap::default();
    for finding in &outcome.findings {
        let Some(fix) = finding.fix.as_ref().filter(|fix| fix.applicability >= least) else { continue };
        let Some(shown) = outcome.sources.get(finding.place.file) else { continue };
        let one = Chosen { finding, fix, shown };
        if fix.edits.is_empty() || refused.contains(&one.key()) || !has_room(fix, &taken) {
            continue;
        }
        if *turns.entry(finding.place.file).or_insert(finding.rule) == finding.rule {
            taken.extend(fix.edits.iter().filter(|edit| !taken.contains(edit)).collect::<Vec<_>>());
            chosen.push(one);
        }
    }
    chosen
}

/// How many of several fixes to try first when together they do harm: those of the first half of the files, in
/// one file half of them.
pub(crate) fn first_part(chosen: &[Chosen<'_>]) -> usize {
    let half = chosen.len() / 2;
    let path = chosen.get(half).and_then(Chosen::path);
    // Findings come in the order of their files.
    let before = chosen.iter().take_while(|one| one.path() != path).count();
    let through = before + chosen[before..].iter().take_while(|one| one.path() == path).count();
    match (before, through == chosen.len()) {
        (0, true) => half,
        (0, false) => through,
        _ => before,
    }
}

/// Whether no edit touches one of another fix. The very same edit of two fixes is made once: both remove the
/// same, or both need the same import.
fn has_room(fix: &Fix, taken: &[&Edit]) -> bool {
    let touches = |edit: &Edit, other: &Edit| {
        let (one, two) = (edit.place.span, other.place.span);
        edit.place.file == other.place.file && one.start <= two.end && two.start <= one.end
    };
    fix.edits.iter().all(|edit| taken.contains(&edit) || !taken.iter().any(|other| touches(edit, other)))
}

/// The edits file by file, in order, each of them once.
pub(crate) fn by_file<'a>(chosen: &[Chosen<'a>]) -> BTreeMap<FileId, Vec<&'a Edit>> {
    let mut files: BTreeMap<FileId, Vec<&Edit>> = BTreeMap::new();
    for edit in chosen.iter().flat_map(|one| &one.fix.edits) {
        let edits = files.entry(edit.place.file).or_default();
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    for edits in files.values_mut() {
        edits.sort_by_key(|edit| edit.place.span);
    }
    files
}
