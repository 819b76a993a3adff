//! What the rehearsal knows of the values of a line, for whoever asks. A probe listens while a file is
//! rehearsed; without one, a statement and an expression cost a branch each. A line that is reached on several
//! ways is told for each; of a loop's passes the last one counts.

mod names;
mod objects;
mod tensors;
mod unknown;
mod unreached;
mod words;

pub use unknown::Cause;

use super::{CallPath, Hooks, Interp, Settings};
use crate::apis::Apis;
use crate::names::Project;
use crate::report::{FileId, Place, Span};
use crate::syntax::{ArgKind, ExprId, ExprKind, Stmt, StmtId, StmtKind, Tree};
use crate::trace::FnKey;
use crate::values::Value;
use names::ObjectNames;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::sync::Arc;
use unknown::Causes;
use ustr::Ustr;
use words::Words;

/// A function that no script has: `reveal(x)` in a fixture asks what is known of `x`.
const ASKING: &str = "reveal";

/// Why nothing is known in another file of whose statements none was reached.
const NOT_FOLLOWED: &str = "the script that was named leads nowhere in this file";

/// Ways to one line that are kept.
const MOST_VISITS: usize = 256;

/// What one rehearsal knows of what it was asked about.
#[derive(Debug, Default)]
pub struct Revealed {
    pub visits: Vec<Visit>,
    /// Why there are none, where a line was asked for.
    pub unreached: Option<String>,
}

/// One way on which a place was reached.
#[derive(Debug)]
pub struct Visit {
    /// Stands for the calls and unrolled rounds on the way.
    way: CallPath,
    /// The calls on the way, the outermost first.
    pub calls: Vec<(Place, Ustr)>,
    /// The function that was rehearsed without its callers, if the way begins there.
    pub uncalled: Option<FnKey>,
    pub values: Vec<Shown>,
}

/// What is known of one expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub place: Place,
    /// It is given the value here.
    pub bound: bool,
    pub value: String,
    /// Since when nothing is known of it.
    pub unknown: Option<Arc<Cause>>,
}

/// Listens while a file is rehearsed.
pub(super) struct Probe {
    file: FileId,
    /// The line that is asked for; without one, the calls of `reveal` are answered.
    line: Option<Span>,
    revealed: Revealed,
    /// The statements of the file that were reached.
    reached: FxHashSet<StmtId>,
    causes: Causes,
}

/// What the calls of `reveal` in a file are given.
pub fn revealed_calls(project: &Project, apis: &Apis, settings: &Settings, file: FileId) -> Revealed {
    probed(project, apis, settings, file, (file, None))
}

/// What a script knows of the names, calls and operations of a line, given by the bytes that it spans.
pub fn revealed_line(
    project: &Project,
    apis: &Apis,
    settings: &Settings,
    script: FileId,
    line: Place,
) -> Revealed {
    probed(project, apis, settings, script, (line.file, Some(line.span)))
}

fn probed(
    project: &Project,
    apis: &Apis,
    settings: &Settings,
    script: FileId,
    (file, line): (FileId, Option<Span>),
) -> Revealed {
    let hooks = Hooks::default();
    let mut interp = Interp::new(project, apis, &hooks, settings);
    let (revealed, reached, causes) = (Revealed::default(), FxHashSet::default(), Causes::default());
    interp.probe = Some(Box::new(Probe { file, line, revealed, reached, causes }));
    interp.run(script);
    let out_of_fuel = interp.out.out_of_fuel;
    let Some(probe) = interp.probe else { return Revealed::default() };
    let mut revealed = probe.revealed;
    for visit in &mut revealed.visits {
        visit.values.retain(|shown| !is_dropped(&project.module(file).tree, shown));
        // What an expression is made of comes before it, and what a line binds last.
        let order = |shown: &Shown| (shown.bound, shown.place.span.end, Reverse(shown.place.span.start));
        visit.values.sort_by_key(order);
    }
    if let Some(line) = line.filter(|_| revealed.visits.is_empty()) {
        let tree = &project.module(file).tree;
        let text = &project.source(file).text;
        let why = match script == file || !probe.reached.is_empty() {
            true => unreached::why(tree, text, &probe.reached, line),
            false => NOT_FOLLOWED.to_owned(),
        };
        let exhausted = if out_of_fuel { "; the rehearsal ran out of steps" } else { "" };
        revealed.unreached = Some(format!("{why}{exhausted}"));
    }
    revealed
}

impl<'p> Interp<'p> {
    /// A statement is about to run, and somebody listens; true when it was a question and nothing else.
    #[cold]
    pub(super) fn probe_statement(&mut self, id: StmtId) -> bool {
        let (file, depth) = (self.file(), self.frames.len());
        let kind = &self.tree(file).stmt(id).kind;
        let Some(probe) = self.probe.as_deref_mut() else { return false };
        if probe.file == file {
            probe.reached.insert(id);
        }
        probe.causes.enter(depth, bound_value(kind).map(|value| (file, value)));
        let asks = probe.line.is_none();
        match kind {
            StmtKind::Expr(expr) if asks => self.reveal_call(*expr),
            _ => false,
        }
    }

    /// A statement that asks: its values are told, and nothing else happens.
    fn reveal_call(&mut self, expr: ExprId) -> bool {
        let tree = self.here();
        let ExprKind::Call { callee, args } = &tree.expr(expr).kind else { return false };
        if !matches!(tree.expr(*callee).kind, ExprKind::Name(name) if name == ASKING) {
            return false;
        }
        for arg in args.iter().filter(|arg| arg.kind == ArgKind::Positional) {
            let value = self.eval(arg.value);
            self.show(arg.value, &value, false);
        }
        true
    }

    /// An expression has a value, and somebody listens.
    #[cold]
    pub(super) fn probe_expression(&mut self, id: ExprId, value: &Value) {
        self.note_cause(id, value);
        let tree = self.here();
        if self.is_on_line(tree, id) && is_telling(&tree.expr(id).kind, value) {
            self.show(id, value, false);
        }
    }

    /// A target is given a value, and somebody listens.
    #[cold]
    pub(super) fn probe_target(&mut self, target: ExprId, value: &Value) {
        let tree = self.here();
        let kind = &tree.expr(target).kind;
        self.note_target(kind, value);
        let is_place =
            matches!(kind, ExprKind::Name(_) | ExprKind::Attribute { .. } | ExprKind::Subscript { .. });
        if is_place && self.is_on_line(tree, target) {
            self.show(target, value, true);
        }
    }

    fn is_on_line(&self, tree: &Tree, id: ExprId) -> bool {
        let file = self.file();
        let line = self.probe.as_ref().filter(|probe| probe.file == file).and_then(|probe| probe.line);
        line.is_some_and(|line| (line.start..line.end).contains(&head(tree, id)))
    }

    /// Whether a function is rehearsed because it was asked about, though it matters to no rule.
    pub(super) fn is_asked_about(&self, key: FnKey) -> bool {
        let Some(probe) = self.probe.as_ref() else { return false };
        let module = self.module(key.file);
        match probe.line {
            None => module.names.scope(key.function).mentions.contains(Ustr::from(ASKING)),
            Some(line) => {
                let span = module.tree.function(key.function).span;
                probe.file == key.file && span.start < line.end && line.start < span.end
            }
        }
    }

    /// Writes down what is known of an expression; what an earlier pass of a loop knew is forgotten.
    fn show(&mut self, id: ExprId, value: &Value, bound: bool) {
        let place = self.expr_place(id);
        let words = self.in_words(value);
        let unknown = if value.bare().is_unknown() { self.cause_at(place, bound) } else { None };
        let (way, uncalled) = (self.sites.path, self.supposed.seeded);
        let calls = || self.frames.iter().filter_map(|frame| frame.site).collect();
        let Some(probe) = self.probe.as_deref_mut().filter(|probe| probe.file == place.file) else { return };
        let visits = &mut probe.revealed.visits;
        let known = visits.iter().position(|visit| (visit.way, visit.uncalled) == (way, uncalled));
        let at = match known {
            Some(at) => at,
            None if visits.len() >= MOST_VISITS => return,
            None => {
                visits.push(Visit { way, calls: calls(), uncalled, values: Vec::new() });
                visits.len() - 1
            }
        };
        let values = &mut visits[at].values;
        let shown = Shown { place, bound, value: words, unknown };
        match values.iter_mut().find(|earlier| (earlier.place, earlier.bound) == (place, bound)) {
            Some(earlier) => *earlier = shown,
            None => values.push(shown),
        }
    }

    fn in_words(&self, value: &Value) -> String {
        let frames = self.frames.iter().rev().map(|frame| frame.env);
        let names = ObjectNames::seen_from(&self.heap, frames);
        let since = self.loop_since();
        let words =
            Words { heap: &self.heap, project: self.project, symbols: &self.out.symbols, names, since };
        words.value(value)
    }
}

/// A call for what it does, of whose result nothing is known: nobody asks.
fn is_dropped(tree: &Tree, shown: &Shown) -> bool {
    let span = shown.place.span;
    let is_statement = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Expr(_)) && stmt.span == span;
    shown.unknown.is_some() && !shown.bound && tree.stmts.iter().any(is_statement)
}

/// The expression whose value a statement gives to its targets.
fn bound_value(kind: &StmtKind) -> Option<ExprId> {
    match kind {
        StmtKind::Assign { value, .. } | StmtKind::AugAssign { value, .. } => Some(*value),
        StmtKind::AnnAssign { value, .. } => *value,
        StmtKind::For { iter, .. } => Some(*iter),
        StmtKind::With { items, .. } => items.first().map(|item| item.context),
        _ => None,
    }
}

/// Where an expression is looked for: a chain of methods goes over lines, and each call is on that of its name.
fn head(tree: &Tree, id: ExprId) -> u32 {
    let expr = tree.expr(id);
    match &expr.kind {
        ExprKind::Attribute { name_span, .. } => name_span.start,
        ExprKind::Call { callee, .. } => match tree.expr(*callee).kind {
            ExprKind::Attribute { name_span, .. } => name_span.start,
            _ => expr.span.start,
        },
        _ => expr.span.start,
    }
}

/// Whether a value is worth a line: literals say themselves what they are, and names of frameworks, too.
fn is_telling(kind: &ExprKind, value: &Value) -> bool {
    let says_itself =
        matches!(value, Value::Api(_) | Value::Builtin(_) | Value::Module(_) | Value::Folder(_));
    match kind {
        ExprKind::Name(_) | ExprKind::Attribute { .. } => !says_itself,
        ExprKind::Call { .. } | ExprKind::Subscript { .. } | ExprKind::Binary { .. } => true,
        ExprKind::Conditional { .. } | ExprKind::Comprehension(_) | ExprKind::Await(_) => true,
        _ => false,
    }
}
