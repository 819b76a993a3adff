//! The questions that rules ask of a rehearsal. Everything that several rules need to know is asked here
//! once; a rule only says it to the user.

mod apis;
mod assumed;
mod called;
mod changed;
mod coverage;
mod data;
mod deprecated;
pub(crate) mod edits;
pub mod gpus;
mod inherited;
pub mod layers;
mod made;
mod memory;
mod names;
mod outlived;
mod repairs;
mod rewriting;
mod stand_ins;
pub(crate) mod timeline;
mod untrained;
mod uses;

pub use apis::{Asked, MissingName, NamesFound, UnlistedKeyword, Why};
pub use changed::Changed;
pub use data::Descents;
pub(crate) use data::{FEW_ROWS, all_within};
pub use deprecated::{Deprecated, Fate};
pub use made::RebuiltOptimizer;
pub(crate) use memory::doubted_in_tests;
pub use names::Names;
pub(crate) use repairs::WrittenStep;
pub use stand_ins::Repair;
pub use untrained::Untrained;
pub use uses::{Use, uses};

use crate::apis::{Apis, index::Pins};
use crate::names::Project;
use crate::report::{Applicability, Confidence, Diagnostic, FileId, Place, Severity, Span};
use crate::source::{counted, import_lines};
use crate::syntax::{Stmt, StmtKind, faults};
use crate::trace::{At, FnKey, LoopId, Rehearsal, Sight};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use ustr::Ustr;

/// A share of the target's memory from which data is worth a warning.
const NOTABLE_SHARE: f64 = 0.01;

/// A rehearsed file, ready to be asked.
pub struct Script<'a> {
    pub project: &'a Project,
    pub file: FileId,
    /// What fixes write stands in the tables.
    pub apis: &'a Apis,
    pub rehearsal: &'a Rehearsal,
    /// Memory of the card the run is meant for.
    pub memory: u64,
    pub card: &'a str,
    /// Releases that the project asks for.
    pub pins: &'a Pins,
    /// What they mean for each package.
    pub asked: RefCell<FxHashMap<&'static str, Rc<Asked>>>,
    /// Names of frameworks, asked for by several rules, and looked up once.
    pub found: OnceCell<NamesFound>,
    /// What the file uses of the frameworks, if a rule asks.
    pub used: OnceCell<Vec<Use>>,
    /// Where something is trained, made when somebody first asks.
    pub descents: OnceCell<Descents>,
    /// Whether a Python of today takes the file, if a rule asks.
    pub valid: OnceCell<bool>,
    /// Expressions that are statements of their own, by file, as far as they were asked for.
    pub statements: RefCell<FxHashMap<FileId, FxHashSet<Span>>>,
    /// Of the optimizers, as far as they were asked for.
    pub timelines: timeline::Timelines,
    /// What objects are called, made when the first is asked for.
    pub names: OnceCell<Names>,
}

/// Places that were seen: what is found there again is left out.
pub(crate) type Places = FxHashSet<Place>;

/// What the rules found, each with the function that was rehearsed without its callers, if that is what it rests on.
#[derive(Default)]
pub struct Findings {
    pub all: Vec<(Diagnostic, Option<FnKey>)>,
    /// Which of them, by place in the list, hold where something in the project uses a GPU.
    pub for_gpus: Vec<u32>,
    /// Which of them hold as long as no other text of the project binds an attribute, and its name.
    pub unless_bound: Vec<(u32, Ustr)>,
}

impl Findings {
    pub fn push(&mut self, mut finding: Diagnostic, at: &At) {
        // What is not sure to be wrong is not surely put right.
        if finding.confidence < Confidence::High
            && let Some(fix) = &mut finding.fix
        {
            fix.applicability = fix.applicability.min(Applicability::Unsafe);
        }
        self.all.push((finding, at.seeded));
    }

    /// The same of an attribute that is missing unless a class that inherits from this one has it.
    pub fn push_unless_bound(&mut self, finding: Diagnostic, at: &At, name: Ustr) {
        self.unless_bound.push((self.all.len() as u32, name));
        self.push(finding, at);
    }

    /// The same for what a script that nobody sees decides: whether anything runs on a GPU.
    pub fn push_where_gpus_are_used(&mut self, finding: Diagnostic, at: &At) {
        self.for_gpus.push(self.all.len() as u32);
        self.push(finding, at);
    }
}

impl<'a> Script<'a> {
    /// A finding at a place, as sure as what it rests on.
    pub fn finding(
        &self,
        rule: &'static str,
        severity: Severity,
        at: &At,
        message: impl Into<String>,
    ) -> Diagnostic {
        let mut finding = Diagnostic::new(rule, severity, at.place, message).confidence(at.confidence);
        // The innermost call that led here says which of several callers is meant.
        if let Some((site, name)) = at.calls.last()
            && at.seeded.is_none()
            && site.file != at.place.file
        {
            finding = finding.because(*site, format!("`{name}` is called here"));
        }
        finding
    }

    pub fn target_bytes(&self) -> u64 {
        self.memory
    }

    pub fn target_name(&self) -> &str {
        self.card
    }

    /// How bad it is that so many bytes are on the GPU.
    pub fn severity_of_size(&self, bytes: u64, small: Severity) -> Severity {
        if bytes > self.memory {
            Severity::Error
        } else if bytes as f64 >= self.memory as f64 * NOTABLE_SHARE {
            Severity::Warning
        } else {
            small
        }
    }

    /// All that was seen of one type, in the order of the rehearsal.
    pub fn observed<T: std::any::Any>(&self) -> impl Iterator<Item = (&'a At, &'a T)> + use<'a, T> {
        counted(self.rehearsal.observed())
    }

    /// What was seen of one type and counts, each place once.
    pub fn observed_once_where<T: std::any::Any, F: Fn(&At, &T) -> bool>(
        &self,
        counts: F,
    ) -> impl Iterator<Item = (&'a At, &'a T)> + use<'a, T, F> {
        let mut seen = rustc_hash::FxHashSet::default();
        self.observed().filter(move |(at, what)| counts(at, what) && seen.insert(at.place))
    }

    /// What was seen of one type, each place once.
    pub fn observed_once<T: std::any::Any>(&self) -> impl Iterator<Item = (&'a At, &'a T)> {
        self.observed_once_where(|_, _| true)
    }

    /// Whether a place is in a file of Python 2, which does not run in Python 3.
    pub(crate) fn is_python2(&self, place: Place) -> bool {
        let module = self.project.module(place.file);
        faults(&module.source.text, &module.tree, &module.source.cells()).is_python2
    }

    /// Whether an error is caught where it is raised, as where it is shown, or where another way is tried next.
    pub(crate) fn is_tried(&self, place: Place) -> bool {
        let draft = self.draft(place.file);
        let around = draft.statements_around(place.span).into_iter().map(|stmt| draft.statement(stmt));
        let mut around = around.filter(|stmt| draft.same_function(stmt.span, place.span));
        around.any(|stmt| match &stmt.kind {
            StmtKind::Try { body, handlers, .. } => {
                let within = body.iter().any(|stmt| draft.statement(*stmt).span.contains(place.span));
                within && !handlers.is_empty()
            }
            _ => false,
        })
    }

    /// Whether a file imports a package, or a module of it.
    pub(crate) fn imports(&self, file: FileId, package: &str) -> bool {
        let text = &self.project.module(file).source.text;
        import_lines(text)
            .iter()
            .any(|line| line.level == 0 && line.module.split('.').next() == Some(package))
    }

    /// The same of the file of a place, or of one whose calls lead there with what they have made.
    pub(crate) fn imports_around(&self, at: &At, package: &str) -> bool {
        let files = std::iter::once(at.place.file).chain(at.calls.iter().map(|(site, _)| site.file));
        files.into_iter().any(|file| self.imports(file, package))
    }

    /// Whether nobody wants what an expression gives: it is a statement.
    pub(crate) fn is_statement(&self, place: Place) -> bool {
        let tree = &self.project.module(place.file).tree;
        let of = |stmt: &Stmt| match stmt.kind {
            StmtKind::Expr(expr) => Some(tree.expr(expr).span),
            _ => None,
        };
        let mut known = self.statements.borrow_mut();
        let spans = known.entry(place.file).or_insert_with(|| tree.stmts.iter().filter_map(of).collect());
        spans.contains(&place.span)
    }

    pub(crate) fn sightings(&self) -> impl Iterator<Item = (&'a At, &'a Sight)> + use<'a> {
        self.observed()
    }

    /// Backward passes, and what may be one: who asks of each forward what goes on around it has to look at no other.
    pub(crate) fn passes(&self) -> impl Iterator<Item = (&'a At, &'a Sight)> {
        counted(self.rehearsal.observed_at(&self.descents().passes))
    }

    /// The same of losses.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (&'a At, &'a Sight)> {
        counted(self.rehearsal.observed_at(&self.descents().losses))
    }
}

/// Where a walk through an entry came to.
pub(crate) fn walked(
    seeded: Option<FnKey>,
    place: Place,
    loops: &[LoopId],
    calls: &[(Place, Ustr)],
    confidence: Confidence,
) -> At {
    At { place, loops: Rc::from(loops), calls: Rc::from(calls), seeded, confidence }
}
