//! `trainlint versions`: of each framework the releases that have all that a project uses, and what the project
//! asks for, in plain data with the places as people read them.

use crate::apis::index::{self, Index, Wanted, text};
use crate::engine::analysis::{self, FileId, Imports, Loaded, Project, Use};
use crate::engine::discovery::Asked;
use crate::engine::run::files;
use crate::engine::{Request, RunError, shown_path};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// So many names that no release has are told.
const MOST: usize = 8;

/// What is known of the releases that some files need.
#[derive(Debug, Serialize)]
pub struct Versions {
    pub version: u32,
    pub projects: Vec<Needs>,
}

/// The needs of one project: what lies below a folder that says what it asks for, or is a root.
#[derive(Debug, Serialize)]
pub struct Needs {
    pub path: String,
    pub frameworks: Vec<Window>,
}

/// The releases of a framework that have all that is used of it.
#[derive(Debug, PartialEq, Serialize)]
pub struct Window {
    pub name: &'static str,
    /// What came last, and so where the window begins; none where it is open.
    pub from: Option<Bound>,
    /// What went first.
    pub to: Option<Bound>,
    /// No release has all of it.
    pub is_empty: bool,
    /// The newest release within, of those that are known.
    pub newest: Option<&'static str>,
    /// The Pythons that it was made for.
    pub python: Option<String>,
    /// The window as a requirement; none where any release will do, or none.
    pub requirement: Option<String>,
    pub pinned: Vec<Pinned>,
    /// What is asked for lies outside of the window.
    pub is_outside: bool,
    /// Names that no release has.
    pub missing: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    pub release: &'static str,
    #[serde(flatten)]
    pub because: Evidence,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    pub name: String,
    pub path: String,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pinned {
    pub text: String,
    pub path: String,
    pub line: u32,
    /// A page tells it, or a job checks it.
    pub is_weak: bool,
}

impl Versions {
    /// Whether something in it can't work.
    pub fn has_conflict(&self) -> bool {
        let mut all = self.projects.iter().flat_map(|needs| &needs.frameworks);
        all.any(|window| window.is_empty || window.is_outside)
    }
}

/// What the files that a run would look at need.
pub fn versions(request: &Request) -> Result<Versions, RunError> {
    let asked = files(request)?;
    let project = Project::new();
    let imports = Imports::of_project(&project);
    let mut found: BTreeMap<PathBuf, Vec<(FileId, Vec<Use>)>> = BTreeMap::new();
    for file in &asked {
        let settings = file.settings.ready()?;
        let Loaded::Source(source) = analysis::load(&file.path, None, settings.gate(), &imports) else {
            continue;
        };
        let id = project.add(source);
        found.entry(base(file)).or_default().push((id, analysis::uses(&project, id)));
    }
    let pins = |file: &Asked| file.settings.pinned.of_file(&file.path);
    let mut projects = Vec::new();
    for (folder, used) in found {
        let asks = asked.iter().find(|file| base(file) == folder).map(pins).unwrap_or_default();
        let mut by_package: FxHashMap<&str, Vec<(FileId, &Use)>> = FxHashMap::default();
        for (id, one) in used.iter().flat_map(|(id, uses)| uses.iter().map(move |one| (*id, one))) {
            by_package.entry(one.package).or_default().push((id, one));
        }
        let teller = Teller { project: &project, request, asks: &asks };
        let all = index::all().iter();
        let frameworks: Vec<Window> =
            all.filter_map(|(name, index)| Some(teller.window(name, index, by_package.get(name)?))).collect();
        if !frameworks.is_empty() {
            projects.push(Needs { path: shown_folder(&request.cwd, &folder), frameworks });
        }
    }
    Ok(Versions { version: 1, projects })
}

/// The folder that speaks for a file.
fn base(file: &Asked) -> PathBuf {
    let folder = file.path.parent().unwrap_or(&file.path);
    file.settings.pinned.base_of(folder).unwrap_or_else(|| folder.to_owned())
}

fn shown_folder(cwd: &Path, folder: &Path) -> String {
    if folder == cwd { ".".to_owned() } else { shown_path(cwd, folder) }
}

struct Teller<'a> {
    project: &'a Project,
    request: &'a Request,
    asks: &'a index::Pins,
}

impl Teller<'_> {
    fn window(&self, name: &'static str, index: &'static Index, used: &[(FileId, &Use)]) -> Window {
        let releases = &index.releases;
        let all = releases.all();
        let mut from: Option<(u8, Evidence)> = None;
        let mut to: Option<(u8, Evidence)> = None;
        let mut missing: Vec<Evidence> = Vec::new();
        for (file, one) in used {
            let Some(span) = one.releases else {
                if missing.len() < MOST && !missing.iter().any(|known| known.name == one.name) {
                    missing.push(self.evidence(*file, one));
                }
                continue;
            };
            if span.first > from.as_ref().map_or(0, |(at, _)| *at) {
                from = Some((span.first, self.evidence(*file, one)));
            }
            if span.last < to.as_ref().map_or(all.last, |(at, _)| *at) {
                to = Some((span.last, self.evidence(*file, one)));
            }
        }
        let first = from.as_ref().map_or(0, |(at, _)| *at);
        let last = to.as_ref().map_or(all.last, |(at, _)| *at);
        let is_empty = first > last;
        let window = text::Span { first, last };
        let outside = match self.asks.wanted(name, index) {
            Wanted::Within { span, pins } => {
                !span.meets(window) && pins.iter().any(|pin| !pin.origin.is_weak)
            }
            _ => false,
        };
        let bound = |(at, because): (u8, Evidence)| Bound { release: releases.name(at), because };
        let newest = (!is_empty).then_some(last);
        Window {
            name,
            requirement: requirement(name, releases, window, from.is_some(), to.is_some())
                .filter(|_| !is_empty),
            from: from.map(bound),
            to: to.map(bound),
            is_empty,
            newest: newest.map(|at| releases.name(at)),
            python: newest.and_then(|at| releases.python(at)).map(|(first, last)| match last {
                Some(last) if last != first => format!("{first} to {last}"),
                Some(last) => last.to_owned(),
                None => format!("{first} or newer"),
            }),
            pinned: self.pinned(name),
            is_outside: outside && !is_empty,
            missing,
        }
    }

    fn pinned(&self, package: &str) -> Vec<Pinned> {
        let all = self.asks.all(package).into_iter();
        let pinned = all.map(|pin| Pinned {
            text: pin.text.clone(),
            path: pin.origin.file.clone(),
            line: pin.origin.line,
            is_weak: pin.origin.is_weak,
        });
        pinned.collect()
    }

    fn evidence(&self, file: FileId, one: &Use) -> Evidence {
        let source = analysis::source(self.project, file);
        let line = source.locate(one.at.start).line;
        Evidence { name: one.name.clone(), path: shown_path(&self.request.cwd, &source.path), line }
    }
}

/// `torch>=1.8,<=1.12.1`
fn requirement(
    name: &'static str,
    releases: &text::Releases<'_>,
    window: text::Span,
    has_first: bool,
    has_last: bool,
) -> Option<String> {
    let first = has_first.then(|| format!(">={}", releases.name(window.first)));
    let last = has_last.then(|| format!("<={}", releases.name(window.last)));
    let bounds: Vec<String> = first.into_iter().chain(last).collect();
    (!bounds.is_empty()).then(|| format!("{}{}", index::Pins::distribution(name), bounds.join(",")))
}
