//! `trainlint reveal`: one line of one file asked about, and what the rehearsal knows of its values, in plain
//! data with the places as people read them.

use crate::engine::analysis::{self, Project};
use crate::engine::run::threads;
use crate::engine::{Panicked, Request, RunError, guarded, settings_for, shown_path};
use crate::interp::reveal::{Cause, Revealed, Shown, Visit};
use crate::report::{Place, Span};
use crate::source::{Kind, ReadError, SourceFile, absolute_from};
use crate::trace::FnKey;
use serde::Serialize;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// So many ways to a line that differ are told.
const MOST_WAYS: usize = 8;
/// So many callers of one way are named.
const MOST_CALLERS: usize = 4;
/// Longer expressions are shortened.
const MOST_LETTERS: usize = 48;

/// Which line is asked about; lines and cells count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub path: PathBuf,
    pub cell: Option<u32>,
    pub line: u32,
}

#[derive(Debug, Error)]
pub enum RevealError {
    #[error("{path}: {error}")]
    Unreadable { path: String, error: ReadError },
    #[error("{path} has {count} lines, and no line {line}")]
    NoLine { path: String, count: usize, line: u32 },
    #[error("{path} is a notebook: name the cell before the line, as in `{path}:3:{line}`")]
    NoCell { path: String, line: u32 },
    #[error("{path} has no line {line} in cell {cell}")]
    NotInCell { path: String, cell: u32, line: u32 },
    #[error("nothing is known of line {line} of {path}: {why}")]
    Unreached { path: String, line: u32, why: String },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0}")]
    Panicked(#[from] Panicked),
}

/// What is known of a line.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub version: u32,
    pub path: String,
    pub cell: Option<u32>,
    pub line: u32,
    pub text: String,
    pub ways: Vec<Way>,
    /// Ways that are known and not told.
    pub more: usize,
}

/// What is known on one way to the line, or on several that agree.
#[derive(Debug, Serialize)]
pub struct Way {
    /// For each way the calls that led there, the innermost first; none at the level of the script.
    pub callers: Vec<Vec<Site>>,
    /// The function that was rehearsed although nothing calls it.
    pub uncalled: Option<String>,
    pub values: Vec<Known>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Site {
    pub path: String,
    pub line: u32,
    /// What is called there.
    pub function: String,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Known {
    pub expression: String,
    pub column: u32,
    /// Whether the line gives it the value, or reads it.
    pub bound: bool,
    pub value: String,
    /// Since when nothing is known of it.
    pub unknown_since: Option<Since>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Since {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub why: String,
}

/// Rehearses the file of a line, or the script that is named, and tells what it knows of the line.
pub fn reveal(request: &Request, question: &Question, from: Option<&Path>) -> Result<Answer, RevealError> {
    let source = read(request, &question.path)?;
    let span = line_of(&source, question, &shown_path(&request.cwd, &source.path))?;
    let script = from.map(|script| read(request, script)).transpose()?;
    let settings = settings_for(request)?.ready().map_err(RunError::from)?;
    let project = Project::new();
    let file = project.add(source);
    let script = script.map_or(file, |script| project.add(script));
    let pool = threads(1).map_err(RunError::from)?;
    let line = Place::new(file, span);
    let revealed = pool.install(|| guarded(|| analysis::revealed(&project, script, &settings, line)))?;
    let teller = Teller { project: &project, cwd: &request.cwd };
    teller.answer(question, line, revealed)
}

fn read(request: &Request, path: &Path) -> Result<SourceFile, RevealError> {
    let path = absolute_from(&request.cwd, path);
    let source = SourceFile::read(&path).and_then(|source| source.check_parsed().map(|()| source));
    source.map_err(|error| RevealError::Unreadable { path: shown_path(&request.cwd, &path), error })
}

/// The bytes of the line that is asked about.
fn line_of(source: &SourceFile, question: &Question, path: &str) -> Result<Span, RevealError> {
    let (path, line) = (path.to_owned(), question.line);
    let count = source.text.lines().count();
    match question.cell {
        None if source.kind == Kind::Notebook => return Err(RevealError::NoCell { path, line }),
        None if line as usize > count => return Err(RevealError::NoLine { path, count, line }),
        _ => {}
    }
    let found = line.checked_sub(1).and_then(|before| source.line_in(question.cell, before));
    match (found, question.cell) {
        (Some((range, _)), _) => Ok(Span::new(range.start as u32, range.end as u32)),
        (None, Some(cell)) => Err(RevealError::NotInCell { path, cell, line }),
        (None, None) => Err(RevealError::NoLine { path, count, line }),
    }
}

struct Teller<'a> {
    project: &'a Project,
    cwd: &'a Path,
}

impl Teller<'_> {
    fn answer(&self, question: &Question, line: Place, revealed: Revealed) -> Result<Answer, RevealError> {
        let path = shown_path(self.cwd, self.project.path(line.file));
        if let Some(why) = revealed.unreached {
            return Err(RevealError::Unreached { path, line: question.line, why });
        }
        let mut ways: Vec<Way> = Vec::new();
        for visit in revealed.visits {
            let way = self.way(visit);
            match ways.iter_mut().find(|known| known.values == way.values && known.uncalled == way.uncalled) {
                Some(known) if known.callers.len() < MOST_CALLERS => known.callers.extend(way.callers),
                Some(_) => {}
                None => ways.push(way),
            }
        }
        let more = ways.len().saturating_sub(MOST_WAYS);
        ways.truncate(MOST_WAYS);
        let text = self.project.source(line.file).line_text(line.span.start).trim().to_owned();
        Ok(Answer { version: 1, path, cell: question.cell, line: question.line, text, ways, more })
    }

    fn way(&self, visit: Visit) -> Way {
        let uncalled = visit.uncalled.map(|key| self.named(key));
        let site = |(place, name): &(Place, ustr::Ustr)| {
            let (path, line, _) = self.located(*place);
            Site { path, line, function: name.to_string() }
        };
        // A function without callers is called by nothing but the rehearsal.
        let skipped = usize::from(uncalled.is_some());
        let calls: Vec<Site> = visit.calls.iter().skip(skipped).rev().map(site).collect();
        let mut values: Vec<Known> = Vec::new();
        for shown in visit.values {
            let known = self.known(shown);
            let is_told = |one: &Known| {
                (&one.expression, one.bound, &one.value) == (&known.expression, known.bound, &known.value)
            };
            if !values.iter().any(is_told) {
                values.push(known);
            }
        }
        Way { callers: vec![calls], uncalled, values }
    }

    /// `f`, or `Class.f`.
    fn named(&self, key: FnKey) -> String {
        let tree = &self.project.module(key.file).tree;
        let function = tree.function(key.function);
        match function.class {
            Some(class) => format!("{}.{}", tree.class(class).name, function.name),
            None => function.name.to_string(),
        }
    }

    fn known(&self, shown: Shown) -> Known {
        let text = &self.project.source(shown.place.file).text;
        let words = text.get(shown.place.span.range()).unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut expression: String = words.chars().take(MOST_LETTERS).collect();
        if expression.len() < words.len() {
            expression.push('…');
        }
        let (_, _, column) = self.located(shown.place);
        let unknown_since = shown.unknown.map(|cause| self.since(&cause));
        Known { expression, column, bound: shown.bound, value: shown.value, unknown_since }
    }

    fn since(&self, cause: &Cause) -> Since {
        let (path, line, column) = self.located(cause.place);
        Since { path, line, column, why: cause.why.clone() }
    }

    fn located(&self, place: Place) -> (String, u32, u32) {
        let source = self.project.source(place.file);
        let at = source.locate(place.span.start);
        (shown_path(self.cwd, &source.path), at.line, at.column)
    }
}
