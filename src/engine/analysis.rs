//! The seam between a run and what it runs: files, the project, the rehearsal of one file and
//! its suppressions. The rest of the engine knows these only through this module.

use crate::apis::{Apis, Literal};
use crate::checks;
use crate::engine::selection::find_rule;
use crate::engine::settings::Ready;
use crate::facts::{Findings, Script};
pub use crate::facts::{Use, uses};
use crate::interp;
use crate::interp::reveal::{Revealed, revealed_line};
pub use crate::names::{Imports, Library, Project, Target, Worth};
pub use crate::report::FileId;
use crate::report::{Diagnostic, Place, Span, TrainingStep};
pub use crate::source::SourceFile;
use crate::source::{Kind, absolute, still_wanted};
use crate::source::{ReadError, Suppressions, logical_lines, mentions_framework, mentions_suppression};
use aho_corasick::{AhoCorasick, Input};
use memchr::memmem;
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// A function of the project: its file, and its number there.
pub type FunctionKey = (FileId, u32);

/// What the rehearsal of one file found; its findings may lie in other files.
#[derive(Debug, Default)]
pub struct FileReport {
    /// With the function that was rehearsed without a caller, if the finding rests on that.
    pub findings: Vec<(Diagnostic, Option<FunctionKey>)>,
    /// Functions that were called with real arguments.
    pub rehearsed: Vec<FunctionKey>,
    /// Losses that are judged by what they take their parameters for, which whoever calls them may know better.
    pub supposed: Vec<FunctionKey>,
    /// How many backward passes the file has, and those of them whose graph this rehearsal does not know.
    pub training_steps: usize,
    pub unfollowed: Vec<TrainingStep>,
    /// Those of any file whose graph it knows.
    pub followed: Vec<Place>,
    /// Which of the findings, by place in the list, hold only where something in the project uses a GPU.
    pub for_gpus: Vec<u32>,
    /// Which of them, by place in the list, hold unless another text of the project binds an attribute of this name.
    pub unless_bound: Vec<(u32, String)>,
    /// It puts something on a GPU, or speaks of one.
    pub uses_gpu: bool,
    /// Those that an optimizer applies, of which it does not know the graph.
    pub by_contract: Vec<Place>,
    /// Something was left out, so that silence means nothing.
    pub out_of_fuel: bool,
}

/// Rehearses a file. What it finds may depend on the file, on what `source::recorded` records, on the pins of
/// its folder and on what [`Ready::digest`] covers, and on nothing else: results are taken over from
/// earlier runs on these grounds. A plain function, so that tests can run the engine on another.
pub type Analyse<'a> = &'a (dyn Fn(&Project, FileId, &Ready) -> FileReport + Sync);

pub fn analyse(project: &Project, file: FileId, settings: &Ready) -> FileReport {
    let stated = stated(settings);
    let rehearsal = interp::rehearse(project, settings.tables(), checks::hooks(), &stated, file);
    let path = crate::source::absolute(&project.source(file).path);
    let pins = settings.pinned.of_file(&path);
    let inline = pins.inline(&project.source(file).text, &path);
    let script = Script {
        project,
        file,
        apis: settings.tables(),
        rehearsal: &rehearsal,
        memory: settings.target.memory,
        card: &settings.target.name,
        pins: inline.as_ref().unwrap_or(&pins),
        asked: Default::default(),
        found: OnceCell::new(),
        used: OnceCell::new(),
        descents: OnceCell::new(),
        valid: OnceCell::new(),
        statements: Default::default(),
        timelines: Default::default(),
        names: OnceCell::new(),
    };
    let mut findings = Findings::default();
    let mut unasked = false;
    for rule in checks::all() {
        still_wanted(1);
        unasked |= !rule.ask(&script, &mut findings);
    }
    script.say_assumptions(&mut findings);
    let key = |key: crate::trace::FnKey| (key.file, key.function.0);
    let followed = script.followed();
    let (training_steps, unfollowed) = script.training_steps(&followed);
    FileReport {
        findings: findings.all.into_iter().map(|(finding, seeded)| (finding, seeded.map(key))).collect(),
        training_steps,
        unfollowed,
        by_contract: script.judged_by_contract(&followed),
        followed,
        rehearsed: rehearsal.called.iter().copied().map(key).collect(),
        supposed: rehearsal.supposed.iter().copied().map(key).collect(),
        out_of_fuel: rehearsal.out_of_fuel || unasked,
        for_gpus: findings.for_gpus,
        unless_bound: findings.unless_bound.into_iter().map(|(at, name)| (at, name.to_string())).collect(),
        uses_gpu: rehearsal.uses_gpu || crate::source::speaks_of_gpus(&project.source(file).text),
    }
}

/// What the rehearsal of a script knows of the values of a line, given by the bytes that it spans.
pub fn revealed(project: &Project, script: FileId, settings: &Ready, line: Place) -> Revealed {
    revealed_line(project, settings.tables(), &stated(settings), script, line)
}

/// What the user said about the run.
fn stated(settings: &Ready) -> interp::Settings {
    let values = settings.values.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    interp::Settings { values, fuel: None }
}

/// A stated value as the script would read it from outside.
fn text(value: &Literal) -> String {
    match value {
        Literal::None => "None".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => value.to_string(),
        Literal::Str(value) => value.to_string(),
    }
}

/// What became of a file on its way in.
pub enum Loaded {
    Source(Arc<SourceFile>),
    /// Imports no framework, so there is nothing in it to find.
    Skipped,
    Unreadable(ReadError),
}

/// A file that names no framework and has fewer bytes may run what others make of one.
const SHORT: usize = 3000;

/// What makes a file worth parsing; built once for all files with the same settings.
#[derive(Debug)]
pub struct Gate {
    frameworks: Vec<&'static str>,
    triggers: Option<AhoCorasick>,
    /// Texts that tell where another one is missing.
    lacking: Vec<(&'static str, &'static str)>,
}

impl Gate {
    pub fn new(tables: &Apis) -> Gate {
        Gate {
            frameworks: tables.frameworks().iter().map(ustr::Ustr::as_str).collect(),
            // Without an automaton every file is rehearsed.
            triggers: AhoCorasick::new(tables.triggers()).ok(),
            lacking: tables.lacking().collect(),
        }
    }

    pub fn pass(&self, source: Arc<SourceFile>, imports: &Imports) -> Loaded {
        let is_excerpt = !source.text.contains("import");
        let receives = || imports.hand_on_framework(&absolute(&source.path), &source.text, self);
        let names_framework = self.names_framework(&source.text) || !hands_on(&source.path) && receives();
        // Cells of a notebook are a script, whatever they hold; a short file costs less than a miss.
        let is_script = source.kind == Kind::Notebook || source.text.len() < SHORT;
        if !is_excerpt && !names_framework && !self.is_entry(&source, is_script, imports) {
            return Loaded::Skipped;
        }
        if is_excerpt && !self.tells(&source.text) {
            return Loaded::Skipped;
        }
        source.check_parsed().map_or_else(Loaded::Unreadable, |()| Loaded::Source(source))
    }

    /// Whether a script that names no framework runs what others of its project make of one.
    fn is_entry(&self, source: &SourceFile, is_script: bool, imports: &Imports) -> bool {
        !(hands_on(&source.path) || is_collected(&source.path))
            && (is_script || self.tells(&source.text))
            && imports.lead_to_worth(&absolute(&source.path), &source.text, self)
    }
}

impl Worth for Gate {
    fn names_framework(&self, text: &str) -> bool {
        mentions_framework(text.as_bytes(), &self.frameworks)
    }

    fn tells(&self, text: &str) -> bool {
        let times = |part: &str| memmem::find_iter(text.as_bytes(), part).count();
        let lacks = |(present, absent): &(&str, &str)| times(present) > times(absent);
        self.triggers.as_ref().is_none_or(|triggers| any_may_run(triggers, text))
            || self.lacking.iter().any(lacks)
            || text.contains(SUPPRESSING)
    }
}

/// Whether a file only makes the names of others its own.
fn hands_on(path: &Path) -> bool {
    path.ends_with("__init__.py")
}

/// Whether a runner of tests collects a file: what it runs is small, and no training.
fn is_collected(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.starts_with("test_") || name.ends_with("_test") || name == "conftest"
}

/// What a comment that is meant for us holds.
const SUPPRESSING: &str = "trainlint:";

/// Whether one of the texts stands in a line that is no comment, and no example in a docstring.
fn any_may_run(triggers: &AhoCorasick, text: &str) -> bool {
    let mut from = 0;
    while let Some(found) = triggers.find(Input::new(text).range(from..)) {
        let start = text[..found.start()].rfind('\n').map_or(0, |end| end + 1);
        let line = text[start..].trim_start();
        if !["#", ">>>", "... "].iter().any(|mark| line.starts_with(mark)) {
            return true;
        }
        let Some(length) = text[found.end()..].find('\n') else { return false };
        from = found.end() + length;
    }
    false
}

/// Reads a file, or what stdin gave under its name.
pub fn load(path: &Path, stdin: Option<&[u8]>, gate: &Gate, imports: &Imports) -> Loaded {
    let source = match stdin {
        Some(bytes) => SourceFile::from_bytes(path, bytes),
        None => SourceFile::read(path),
    };
    match source {
        Ok(source) => gate.pass(Arc::new(source), imports),
        Err(error) if error.is_quiet() => Loaded::Skipped,
        Err(error) => Loaded::Unreadable(error),
    }
}

/// A file that holds something else than on the disk: other files have to see it, whatever it mentions.
pub fn load_changed(path: &Path, bytes: &[u8]) -> Loaded {
    match SourceFile::from_bytes(path, bytes) {
        Ok(source) => Loaded::Source(Arc::new(source)),
        Err(error) => Loaded::Unreadable(error),
    }
}

/// The file behind an id.
pub fn source(project: &Project, file: FileId) -> Arc<SourceFile> {
    project.source(file).clone()
}

/// The suppression comments of one file, and which of them were used.
pub struct Comments {
    suppressions: Suppressions,
    source: Arc<SourceFile>,
}

/// Something wrong with a suppression comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub span: Span,
    /// The id it is about; whether there is such a rule is not known here.
    pub rule: Option<String>,
    pub message: String,
    pub help: Option<String>,
    /// What to take out so that there is nothing to complain about.
    pub removal: Option<Span>,
}

impl Comments {
    pub fn of(project: &Project, file: FileId) -> Comments {
        // A file whose findings were taken over from an earlier run is not parsed for comments that it lacks.
        let source = project.source(file).clone();
        if !mentions_suppression(&source.text) {
            return Comments { suppressions: Suppressions::default(), source };
        }
        let module = project.module(file);
        let text = &module.source.text;
        let suppressions = Suppressions::collect(text, &module.tree.comments, || logical_lines(text));
        Comments { suppressions, source }
    }

    pub fn covers(&mut self, rule: &str, span: Span) -> bool {
        let group = find_rule(rule).map_or("", |rule| rule.group.name());
        self.suppressions.covers(&[rule, group], span)
    }

    /// What hid nothing, in order.
    pub fn complaints(&self) -> Vec<Complaint> {
        let unused = self.suppressions.unused().into_iter().map(|unused| Complaint {
            removal: unused.removal(&self.source.text),
            span: unused.span,
            rule: Some(unused.rule),
            message: unused.what,
            help: None,
        });
        let malformed = self.suppressions.malformed().iter().map(|malformed| Complaint {
            removal: None,
            span: malformed.span,
            rule: None,
            message: malformed.message.clone(),
            help: Some(malformed.help.clone()),
        });
        unused.chain(malformed).collect()
    }
}
