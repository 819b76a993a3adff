//! Questions that are asked more than once: `if args.fp16:` around the backward pass decides as `if args.fp16:` around
//! the step, for nothing writes the option in between. The trace keeps which question decides a branch.

use super::Interp;
use crate::report::{Confidence, FileId, Span};
use crate::syntax::*;
use crate::trace::{ArmTest, Asked, Effect, Event, Node};
use crate::values::ObjId;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use ustr::Ustr;

/// Questions by whom they are about, how they are written, and how often that was written before.
#[derive(Default)]
struct Questions {
    ids: FxHashMap<(ObjId, Ustr, usize), u32>,
    /// What the text of a test says, which is the same each time it is asked.
    written: FxHashMap<(FileId, ExprId), Option<Written>>,
    writes: FxHashMap<FileId, Rc<Writes>>,
}

/// A question as it is written.
#[derive(Clone, Copy)]
struct Written {
    /// A name or an attribute path that it is about.
    path: ExprId,
    text: Ustr,
    /// How often what it is about was written before.
    before: usize,
    /// The answer with which the test holds.
    holds: bool,
}

/// Where a file writes names and attribute paths.
#[derive(Default)]
struct Writes {
    /// By the text of the whole path.
    paths: FxHashMap<Ustr, Vec<Span>>,
    /// By the last name of a path.
    attributes: FxHashMap<Ustr, Vec<Span>>,
}

/// A mode that calls set, and no option.
const MODE: &str = "training";

/// Notes which questions decide a branch that has run, where it left anything behind `before`.
pub(super) fn note(interp: &mut Interp<'_>, tests: &[ExprId], before: usize) {
    let left = interp.trace.last().and_then(|open| open.get(before..));
    if !matches!(left, Some([.., Node::Branch { .. }])) {
        return;
    }
    let asked: Rc<[ArmTest]> = tests.iter().map(|test| interp.questions_in(*test)).collect();
    let place = tests.first().map(|test| interp.expr_place(*test));
    if let (Some(place), Some(open)) = (place, interp.trace.last_mut())
        && asked.iter().any(|test| test.questions().next().is_some())
    {
        let effect = Effect::Asked { tests: asked };
        open.insert(open.len() - 1, Node::Event(Event { place, effect, confidence: Confidence::High }));
    }
}

impl<'p> Interp<'p> {
    fn questions_in(&mut self, test: ExprId) -> ArmTest {
        let decides = self.question_in(test);
        let needs = match &self.here().expr(test).kind {
            ExprKind::Bool { and: true, items } => {
                items.iter().filter_map(|item| self.question_in(*item)).collect()
            }
            _ => Box::default(),
        };
        ArmTest { decides, needs }
    }

    /// The question that a test asks, if its answer stays the same for as long as its body runs.
    pub(super) fn question_in(&mut self, test: ExprId) -> Option<Asked> {
        let key = (self.file(), test);
        let known = self.remember(|questions: &mut Questions| questions.written.get(&key).copied());
        let written = known.unwrap_or_else(|| {
            let written = self.written_in(test);
            self.remember(|questions: &mut Questions| questions.written.insert(key, written));
            written
        })?;
        let about = self.whose(written.path)?;
        let question = self.remember(|questions: &mut Questions| {
            let fresh = questions.ids.len() as u32;
            *questions.ids.entry((about, written.text, written.before)).or_insert(fresh)
        });
        Some(Asked { question, holds: written.holds })
    }

    fn written_in(&mut self, test: ExprId) -> Option<Written> {
        let tree = self.here();
        let (positive, holds) = bare(tree, test, true);
        let mut paths = Vec::new();
        if !operands(tree, positive, &mut paths) {
            return None;
        }
        let path = *paths.first()?;
        let text = self.written_question(positive)?;
        let mut before = 0;
        for path in paths {
            before += self.writes_before(path, tree.expr(test).span.start)?;
        }
        Some(Written { path, text, before, holds })
    }

    fn text_at(&self, expr: ExprId) -> Option<&'p str> {
        self.module(self.file()).source.text.get(self.here().expr(expr).span.range())
    }

    /// A test without what turns its answer round.
    fn written_question(&self, test: ExprId) -> Option<Ustr> {
        match &self.here().expr(test).kind {
            ExprKind::Compare { first, rest } => {
                let [(_, other)] = **rest else { return None };
                let (first, other) = (self.text_at(*first)?, self.text_at(other)?);
                let is = if is_choice(self.here(), rest) { "in" } else { "=" };
                Some(Ustr::from(&format!("{first} {is} {other}")))
            }
            _ => self.text_at(test).map(Ustr::from),
        }
    }

    /// Whose name or attribute a path is: the same object under another name is asked the same.
    fn whose(&self, path: ExprId) -> Option<ObjId> {
        let tree = self.here();
        let root = root_of(tree, path);
        let ExprKind::Name(name) = tree.expr(root).kind else { return None };
        let holder = self.holder_of(name)?;
        let object = self.heap.attr(holder, name).and_then(|value| value.bare().as_obj());
        Some(object.filter(|_| root != path).unwrap_or(holder))
    }

    /// The frame, or the module, that has a name.
    fn holder_of(&self, name: Ustr) -> Option<ObjId> {
        let frame = self.frames.last()?;
        let is_local = frame
            .function
            .is_none_or(|function| self.module(frame.file).names.scope(function).locals.contains(name));
        match is_local {
            true => Some(frame.env),
            false => Some(self.loaded.modules.get(&frame.file)?.env),
        }
    }

    /// What a dotted path names at a place, as long as nothing writes it: who holds its first name, or the object of that
    /// name, what is written of the path behind it, and how often that was written before.
    pub(super) fn standing_path(&mut self, path: &str, place: u32) -> Option<(ObjId, Ustr, usize)> {
        let (mut before, mut at) = (0, path);
        loop {
            let split = at.rsplit_once('.');
            let attribute = split.map(|(_, name)| Ustr::from(name));
            before += self.writes_of(Ustr::from(at), attribute, place)?;
            match split {
                Some((base, _)) => at = base,
                None => break,
            }
        }
        let root = Ustr::from(at);
        let holder = self.holder_of(root)?;
        let object = self.heap.attr(holder, root).and_then(|value| value.bare().as_obj());
        Some(match object.filter(|_| at.len() < path.len()) {
            Some(object) => (object, Ustr::from(&path[at.len()..]), before),
            None => (holder, Ustr::from(path), before),
        })
    }

    /// How often a path is written in the running body before a place; `None` where an iteration, or a call, may write it.
    fn writes_before(&mut self, path: ExprId, place: u32) -> Option<usize> {
        let tree = self.here();
        let (mut before, mut at) = (0, path);
        loop {
            let text = Ustr::from(self.text_at(at)?);
            let (base, attribute) = match tree.expr(at).kind {
                ExprKind::Attribute { base, name, .. } => (Some(base), Some(name)),
                ExprKind::Subscript { base, .. } => (Some(base), None),
                _ => (None, None),
            };
            before += self.writes_of(text, attribute, place)?;
            match base {
                Some(base) => at = base,
                None => return Some(before),
            }
        }
    }

    /// The same of one path, and not of what it begins with; `attribute` is the last name of one.
    fn writes_of(&mut self, path: Ustr, attribute: Option<Ustr>, place: u32) -> Option<usize> {
        let frame = self.frames.last()?;
        let (tree, body) = (frame.tree, frame.function.map(|function| frame.tree.function(function).span));
        let writes = self.writes_in(self.file());
        let is_within = |span: &Span| body.is_none_or(|body| body.contains(*span));
        let mut before = 0;
        for write in writes.paths.get(&path).into_iter().flatten().filter(|write| is_within(write)) {
            if in_loop(tree, *write).is_some_and(|around| is_within(&around)) {
                return None;
            }
            before += usize::from(write.start < place);
        }
        let Some(name) = attribute else { return Some(before) };
        let mut others = writes.attributes.get(&name).into_iter().flatten();
        // Calls may change it at any time.
        let may_change = name == MODE || others.any(|write| !is_within(write) && in_method(tree, *write));
        (!may_change).then_some(before)
    }

    fn writes_in(&mut self, file: FileId) -> Rc<Writes> {
        if let Some(known) = self.remember(|questions: &mut Questions| questions.writes.get(&file).cloned()) {
            return known;
        }
        let found = Rc::new(writes(self.tree(file), &self.module(file).source.text));
        self.remember(|questions: &mut Questions| {
            questions.writes.insert(file, found.clone());
        });
        found
    }
}

/// What is asked, and whether the test holds where that does.
fn bare(tree: &Tree, test: ExprId, holds: bool) -> (ExprId, bool) {
    match &tree.expr(test).kind {
        ExprKind::Unary { op: UnaryOp::Not, operand } => bare(tree, *operand, !holds),
        ExprKind::Compare { rest, .. }
            if matches!(**rest, [(CompareOp::IsNot | CompareOp::NotEq | CompareOp::NotIn, _)]) =>
        {
            (test, !holds)
        }
        _ => (test, holds),
    }
}

/// The names and attributes that a test is about; whether there is nothing else in it but literals.
fn operands(tree: &Tree, expr: ExprId, paths: &mut Vec<ExprId>) -> bool {
    match &tree.expr(expr).kind {
        ExprKind::Name(_) => {
            paths.push(expr);
            true
        }
        ExprKind::Attribute { .. } | ExprKind::Subscript { .. } => {
            let is_path = is_path(tree, expr);
            paths.extend(is_path.then_some(expr));
            is_path
        }
        ExprKind::Compare { first, rest } => {
            let same =
                matches!(**rest, [(CompareOp::Is | CompareOp::IsNot | CompareOp::Eq | CompareOp::NotEq, _)]);
            (same || is_choice(tree, rest))
                && operands(tree, *first, paths)
                && rest.iter().all(|(_, other)| operands(tree, *other, paths))
        }
        ExprKind::Bool { items, .. }
        | ExprKind::Tuple(items)
        | ExprKind::List(items)
        | ExprKind::Set(items) => items.iter().all(|item| operands(tree, *item, paths)),
        ExprKind::Unary { op: UnaryOp::Not, operand } => operands(tree, *operand, paths),
        ExprKind::Int(_) | ExprKind::Str(_) | ExprKind::True | ExprKind::False | ExprKind::None => true,
        _ => false,
    }
}

/// `optimizer in ("sam", "asam")`: what is written there stays as it is.
fn is_choice(tree: &Tree, compared: &[(CompareOp, ExprId)]) -> bool {
    let [(CompareOp::In | CompareOp::NotIn, all)] = compared else { return false };
    matches!(tree.expr(*all).kind, ExprKind::Tuple(_) | ExprKind::List(_) | ExprKind::Set(_))
}

/// `args.fp16`, `config["fp16"]`
fn is_path(tree: &Tree, expr: ExprId) -> bool {
    match tree.expr(expr).kind {
        ExprKind::Name(_) => true,
        ExprKind::Attribute { base, .. } => is_path(tree, base),
        ExprKind::Subscript { base, index } => {
            matches!(tree.expr(index).kind, ExprKind::Str(_)) && is_path(tree, base)
        }
        _ => false,
    }
}

fn root_of(tree: &Tree, path: ExprId) -> ExprId {
    match tree.expr(path).kind {
        ExprKind::Attribute { base, .. } | ExprKind::Subscript { base, .. } => root_of(tree, base),
        _ => path,
    }
}

/// All that a file writes.
fn writes(tree: &Tree, text: &str) -> Writes {
    let mut found = Writes::default();
    let mut add = |target: ExprId| {
        let Expr { kind, span } = tree.expr(target);
        if let ExprKind::Attribute { name, .. } = kind {
            found.attributes.entry(*name).or_default().push(*span);
        }
        if let Some(path) = text.get(span.range()) {
            found.paths.entry(Ustr::from(path)).or_default().push(*span);
        }
    };
    tree.stmts.iter().for_each(|stmt| tree.each_target(&stmt.kind, &mut add));
    for Expr { kind, span } in &tree.exprs {
        if let ExprKind::Walrus { name, .. } = kind {
            found.paths.entry(*name).or_default().push(*span);
        }
    }
    found
}

/// The innermost loop around a place.
fn in_loop(tree: &Tree, place: Span) -> Option<Span> {
    let is_loop = |stmt: &&Stmt| matches!(stmt.kind, StmtKind::For { .. } | StmtKind::While { .. });
    let around = tree.stmts.iter().filter(is_loop).map(|stmt| stmt.span).filter(|span| span.contains(place));
    around.max_by_key(|span| span.start)
}

/// Whether a place is in a function that is no constructor.
fn in_method(tree: &Tree, place: Span) -> bool {
    let is_method = |function: &&Function| function.name != "__init__" && function.name != "<lambda>";
    tree.functions.iter().filter(is_method).any(|function| function.span.contains(place))
}
