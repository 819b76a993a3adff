//! Fixes put into the files, in memory, until nothing is left to fix. A change counts when the script still
//! parses, the finding is gone and no other has come; else it is taken back. Writes nothing.

mod choose;

pub use choose::Chosen;

use crate::engine::analysis::Analyse;
use crate::engine::cache::Recall;
use crate::engine::{Outcome, Progress, Request, RunError, Silent, check_with};
use crate::report::Applicability;
use crate::source::{self, SourceFile, absolute_from};
use crate::syntax;
use choose::choose;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fixes that make room for others come to an end after so many passes.
const MOST_PASSES: usize = 10;
/// So often fixes are tried in one file, and in all that do no harm together. Those that were taken back count, too:
/// each of them finds at least half of the way to a bad fix.
const MOST_ATTEMPTS: usize = 200;
const GAVE_UP: &str = "not applied: too many other fixes of the file did harm; run the fix again";

/// What came of a run that fixes.
pub struct Repaired {
    /// What is left.
    pub outcome: Outcome,
    /// The files that changed, by path.
    pub files: Vec<Rewritten>,
    /// The findings that were fixed: the file as it is shown, and the rule.
    pub fixed: Vec<(String, &'static str)>,
    pub refused: Vec<Refused>,
}

/// A file as it was and as it is to be.
pub struct Rewritten {
    /// Absolute.
    pub path: PathBuf,
    /// As it is shown.
    pub shown: String,
    pub before: Arc<[u8]>,
    pub after: Arc<[u8]>,
}

/// A fix that was not applied, or taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub path: String,
    pub line: u32,
    pub cell: Option<u32>,
    pub rule: &'static str,
    pub why: String,
}

/// Applies what may be trusted as far as asked for.
pub fn fix(
    request: &Request,
    least: Applicability,
    progress: &dyn Progress,
    analyse: Analyse<'_>,
) -> Result<Repaired, RunError> {
    let mut request = request.clone();
    if request.cache.is_none() && request.memory.is_none() {
        request.recall = Some(Arc::default());
    }
    let outcome = check_with(&request, progress, analyse)?;
    // An attempt rehearses what reads a changed file, and nothing else.
    if let Some(place) = request.cache.take() {
        request.recall = Some(Arc::new(Recall::of(&place)));
    }
    let mut bench = Bench {
        request,
        analyse,
        before: BTreeMap::new(),
        tried: FxHashSet::default(),
        fixed: Vec::new(),
        refused: Vec::new(),
    };
    let outcome = bench.run(outcome, least)?;
    let files = bench.rewritten();
    Ok(Repaired { outcome, files, fixed: bench.fixed, refused: bench.refused })
}

/// The files while they are worked on.
struct Bench<'a> {
    /// Holds the changed contents.
    request: Request,
    analyse: Analyse<'a>,
    /// What the changed files held at first.
    before: BTreeMap<PathBuf, (String, Arc<[u8]>)>,
    /// Fixes that are not to be tried again.
    tried: FxHashSet<choose::Key>,
    fixed: Vec<(String, &'static str)>,
    refused: Vec<Refused>,
}

/// Whose turn it is.
struct Turn {
    /// Files whose fixes did harm, to be searched one after another.
    aside: BTreeSet<PathBuf>,
    /// The one that is; none while all others are repaired.
    alone: Option<PathBuf>,
    passes: usize,
    attempts: usize,
    at_once: usize,
}

impl Default for Turn {
    fn default() -> Turn {
        Turn { aside: BTreeSet::new(), alone: None, passes: 0, attempts: 0, at_once: usize::MAX }
    }
}

impl Turn {
    /// The fixes that are tried next, of those that there are.
    fn of<'a>(&mut self, all: Vec<Chosen<'a>>) -> Vec<Chosen<'a>> {
        let path = |fix: &Chosen<'_>| fix.path().map(Path::to_path_buf);
        loop {
            let is_due = |fix: &Chosen<'_>| match &self.alone {
                Some(alone) => fix.path() == Some(alone),
                None => path(fix).is_none_or(|path| !self.aside.contains(&path)),
            };
            if self.passes < MOST_PASSES && all.iter().any(is_due) {
                return all.into_iter().filter(|fix| is_due(fix)).collect();
            }
            let Some(next) = self.aside.pop_first() else { return Vec::new() };
            (self.alone, self.passes, self.attempts, self.at_once) = (Some(next), 0, 0, usize::MAX);
        }
    }

    /// Whether a file whose fixes did harm can be left for later, and others go on.
    fn can_set_aside(&self, path: Option<&Path>, chosen: &[Chosen<'_>]) -> bool {
        let of_it = chosen.iter().filter(|fix| fix.path() == path).count();
        self.alone.is_none() && path.is_some() && of_it > 0 && of_it < chosen.len()
    }
}

/// What speaks against some fixes, and the file that it concerns.
struct Objection {
    path: Option<PathBuf>,
    why: String,
}

/// The contents of the files that one pass changes, before it and after it.
type Changes = Vec<(PathBuf, Arc<[u8]>, Arc<[u8]>)>;

impl Bench<'_> {
    /// All files at once. One whose fixes do harm is set aside, so that it keeps no other from being repaired, and is
    /// searched alone when the others are done.
    fn run(&mut self, mut outcome: Outcome, least: Applicability) -> Result<Outcome, RunError> {
        let mut turn = Turn::default();
        loop {
            self.request.patience.left()?;
            let all = choose(&outcome, least, &self.tried);
            let mut chosen = turn.of(all);
            if chosen.is_empty() {
                self.give_up(
                    &outcome,
                    least,
                    &format!("not applied within {MOST_PASSES} passes; run the fix again"),
                );
                return Ok(outcome);
            }
            if turn.attempts == MOST_ATTEMPTS {
                chosen.iter().for_each(|fix| self.refuse(fix, GAVE_UP.to_owned()));
                continue;
            }
            turn.attempts += 1;
            chosen.truncate(turn.at_once);
            match self.attempt(&chosen, &outcome)? {
                Ok(next) => {
                    self.fixed.extend(chosen.iter().map(|fix| (fix.location().0, fix.finding.rule)));
                    outcome = next;
                    // What was cut off for the search of a bad fix is still to be done.
                    turn.passes += usize::from(turn.at_once == usize::MAX);
                    turn.at_once = usize::MAX;
                }
                Err(Objection { path, why }) => match &chosen[..] {
                    [only] => {
                        self.refuse(only, why);
                        turn.at_once = usize::MAX;
                    }
                    _ if turn.can_set_aside(path.as_deref(), &chosen) => {
                        // There are only so many files.
                        turn.attempts -= 1;
                        turn.aside.extend(path);
                    }
                    _ => turn.at_once = choose::first_part(&chosen),
                },
            }
        }
    }

    /// Says of each fix that is left that it is.
    fn give_up(&mut self, outcome: &Outcome, least: Applicability, why: &str) {
        loop {
            let left = choose(outcome, least, &self.tried);
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|fix| self.refuse(fix, why.to_owned()));
        }
    }

    fn refuse(&mut self, fix: &Chosen<'_>, why: String) {
        self.tried.insert(fix.key());
        let (path, at) = fix.location();
        self.refused.push(Refused { path, line: at.line, cell: at.cell, rule: fix.finding.rule, why });
    }

    /// The outcome with some fixes applied, or why they were taken back.
    fn attempt(
        &mut self,
        chosen: &[Chosen<'_>],
        now: &Outcome,
    ) -> Result<Result<Outcome, Objection>, RunError> {
        let changes = match self.changes(chosen, now) {
            Ok(changes) => changes,
            Err(why) => return Ok(Err(why)),
        };
        for (path, _, after) in &changes {
            self.request.contents.insert(path.clone(), after.clone());
        }
        let next = check_with(&self.request, &Silent, self.analyse)?;
        if let Some(objection) = objection(chosen, now, &next) {
            for (path, before, _) in changes {
                self.request.contents.insert(path, before);
            }
            return Ok(Err(objection));
        }
        for (path, before, _) in changes {
            let shown = super::shown_path(&self.request.cwd, &path);
            self.before.entry(path).or_insert((shown, before));
        }
        Ok(Ok(next))
    }

    fn changes(&self, chosen: &[Chosen<'_>], now: &Outcome) -> Result<Changes, Objection> {
        let mut changes = Vec::new();
        for (file, edits) in choose::by_file(chosen) {
            let unknown = || Objection { path: None, why: "its file is not shown".to_owned() };
            let source = &now.sources.get(file).ok_or_else(unknown)?.source;
            let objection = |why: String| Objection { path: Some(source.path.clone()), why };
            let before = self.contents(&source.path).map_err(objection)?;
            let edits: Vec<_> = edits.iter().map(|edit| (edit.place.span, edit.text.as_str())).collect();
            let after = source.patched(&before, &edits).map_err(|error| objection(error.to_string()))?;
            if syntax_errors(source) < syntax_errors_of(&source.path, &after) {
                return Err(objection("the script would no longer parse".to_owned()));
            }
            changes.push((source.path.clone(), before, Arc::from(after)));
        }
        Ok(changes)
    }

    /// What a file holds now.
    fn contents(&self, path: &Path) -> Result<Arc<[u8]>, String> {
        if let Some(bytes) = self.request.contents.get(path) {
            return Ok(bytes.clone());
        }
        let piped = self.request.stdin.as_ref();
        if let Some((_, bytes)) = piped.filter(|(name, _)| absolute_from(&self.request.cwd, name) == *path) {
            return Ok(Arc::from(bytes.as_slice()));
        }
        source::read_bytes(path).map(Arc::from).map_err(|error| error.to_string())
    }

    fn rewritten(&self) -> Vec<Rewritten> {
        let changed = self.before.iter().filter_map(|(path, (shown, before))| {
            let after = self.request.contents.get(path)?.clone();
            Some(Rewritten { path: path.clone(), shown: shown.clone(), before: before.clone(), after })
        });
        changed.collect()
    }
}

fn syntax_errors(source: &SourceFile) -> usize {
    syntax::parse(&source.text).errors.len()
}

fn syntax_errors_of(path: &Path, bytes: &[u8]) -> usize {
    SourceFile::from_bytes(path, bytes).map_or(usize::MAX, |source| syntax_errors(&source))
}

/// What speaks against some fixes: a finding that they leave, or one that they bring.
fn objection(chosen: &[Chosen<'_>], before: &Outcome, after: &Outcome) -> Option<Objection> {
    let mut most = before.tally.clone();
    for fix in chosen {
        let key = (fix.path()?.to_owned(), fix.finding.rule);
        let left = most.entry(key).or_default();
        *left = left.saturating_sub(1);
    }
    if let Some(problem) = after.problems.iter().find(|problem| !before.problems.contains(problem)) {
        return Some(Objection { path: None, why: problem.message.clone() });
    }
    let worse = after.tally.iter().find(|(key, count)| **count > most.get(*key).copied().unwrap_or_default());
    let ((path, rule), _) = worse?;
    let own = |fix: &&Chosen<'_>| fix.finding.rule == *rule && fix.path() == Some(path.as_path());
    let why = match chosen.iter().find(own) {
        Some(_) => "the finding would remain".to_owned(),
        None => format!("it would introduce another finding: {rule}"),
    };
    Some(Objection { path: Some(path.clone()), why })
}
