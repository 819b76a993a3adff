//! Evaluations: what to put around them, and what to put a model back to behind them.

use crate::facts::edits::{Draft, Line};
use crate::facts::{EvaluatedInTraining, IdleGraph, Script, StuckInEval};
use crate::report::{Edit, FileId, Place, Span};
use crate::syntax::{Expr, ExprKind, StmtId, StmtKind};
use crate::trace::{At, Effect, Forward, LoopId, Sight, visits};
use crate::values::Mode;

/// Where gradients are switched off.
pub struct Unrecorded {
    /// A decorator of the function; else a block around the loop.
    pub by_decorator: bool,
    pub said: String,
    pub edits: Vec<Edit>,
}

impl<'a> Script<'a> {
    /// Switches gradients off in the function around an evaluation, if it does nothing else, or around its loop.
    pub fn unrecorded(&self, idle: &IdleGraph) -> Option<Unrecorded> {
        let place = idle.at.place;
        let draft = self.draft(place.file);
        let (said, mut edits) = draft.say("torch.no_grad")?;
        if let Some(at) = self.function_to_decorate(place, draft) {
            edits.push(draft.insert(at.start, format!("{}@{said}()\n", at.indent)));
            return Some(Unrecorded { by_decorator: true, said, edits });
        }
        let mut stretches: Vec<Line<'a>> = Vec::new();
        for place in idle.others.iter().chain([&place]).filter(|other| other.file == place.file) {
            let stretch = self.evaluating_stretch(&idle.at, *place, draft)?;
            if !stretches.iter().any(|other| other.stmt == stretch.stmt) {
                stretches.push(stretch);
            }
        }
        let header = format!("with {said}():");
        let runs = draft.runs(stretches);
        let blocks = runs.iter().map(|(first, last)| draft.put_under(&header, *first, *last));
        edits.extend(blocks.collect::<Option<Vec<_>>>()?);
        Some(Unrecorded { by_decorator: false, said, edits })
    }

    /// A call of `eval` in front of an evaluation, and of `train` behind it where training goes on and nothing
    /// else says so; what it is called on.
    pub fn in_eval_mode(
        &self,
        evaluated: &EvaluatedInTraining,
        eval: &str,
        train: &str,
    ) -> Option<(&'a str, Vec<Edit>)> {
        let place = evaluated.at.place;
        let draft = self.draft(place.file);
        let model = draft.plain(draft.call_at(place.span)?.callee)?;
        let line = self.evaluating_stretch(&evaluated.at, place, draft)?;
        let line = draft.with_contexts(line);
        let root = draft.root(draft.call_at(place.span)?.callee)?;
        if draft.binds(draft.statement(line.stmt).span, root) {
            return None;
        }
        let mut edits = vec![draft.insert_before(line, &format!("{model}.{eval}()"))];
        if self.needs_training_mode(&evaluated.at) {
            edits.push(draft.insert_after(line, &format!("{model}.{train}()")));
        }
        Some((model, edits))
    }

    /// A call of `train` on a model before what trains it: in each round that evaluates it, too, else before all
    /// rounds; what it is called on.
    pub fn back_in_training(&self, stuck: &StuckInEval, train: &str) -> Option<(&'a str, Vec<Edit>)> {
        let place = stuck.at.place;
        let draft = self.draft(place.file);
        let callee = draft.call_at(place.span)?.callee;
        let (model, root) = (draft.plain(callee)?, draft.root(callee)?);
        let around = draft.statements_around(place.span);
        let function = draft.function_around(place.span);
        let own_loop = around.iter().rev().find(|stmt| {
            draft.is_loop(**stmt) && draft.function_around(draft.statement(**stmt).span) == function
        });
        let target = match own_loop {
            Some(round) if stuck.in_same_round => draft.body_of_loop(*round)?.first().copied()?,
            Some(round) => *round,
            None => around.last().copied()?,
        };
        let line = draft.line(target)?;
        let between = Span::new(line.code.start, place.span.start.max(line.code.start));
        (!draft.binds(between, root))
            .then(|| (model, vec![draft.insert_before(line, &format!("{model}.{train}()"))]))
    }

    /// Where the `def` begins of a function that evaluates and does nothing else.
    fn function_to_decorate(&self, place: Place, draft: Draft<'a>) -> Option<DefLine<'a>> {
        let line = draft.def_line(draft.function_around(place.span)?)?;
        (self.only_evaluates(place.file, line.span, draft) && !line.is_special).then_some(line)
    }

    /// The outermost loop around a place in its function in which nothing is trained, else its statement: a long
    /// loop that moves is hard to read in a change.
    fn evaluating_stretch(&self, at: &At, place: Place, draft: Draft<'a>) -> Option<Line<'a>> {
        const LONGEST: usize = 25;
        let function = draft.function_around(place.span).map(|function| draft.function_span(function));
        let around = draft.statements_around(place.span);
        let loops = around.iter().filter(|stmt| {
            let span = draft.statement(**stmt).span;
            let in_function = function.is_none_or(|function| function.contains(span));
            in_function && draft.is_loop(**stmt) && self.only_evaluates(place.file, span, draft)
        });
        let loops: Vec<&StmtId> = loops.collect();
        let is_short = |stmt: &StmtId| draft.text(draft.statement(*stmt).span).lines().count() <= LONGEST;
        if let Some(found) = loops.iter().find(|stmt| is_short(stmt)) {
            return draft.line(**found);
        }
        let stmt = *around.last()?;
        let is_known = match function {
            Some(function) => self.only_evaluates(place.file, function, draft),
            // The script's own statements run once, and all of them were seen.
            None => !around.iter().any(|stmt| draft.is_loop(*stmt)),
        };
        let is_known = is_known || !loops.is_empty() || self.trains_beside(at);
        let is_idle = self.is_idle_within(place.file, draft.statement(stmt).span);
        draft.line(stmt).filter(|_| draft.is_simple(stmt) && is_known && is_idle)
    }

    /// Whether the way that led to a forward trains in the same iteration: then what becomes of its graph is known.
    fn trains_beside(&self, at: &At) -> bool {
        self.sightings().any(|(other, sight)| {
            matches!(sight, Sight::Backward { .. })
                && (&other.calls, other.seeded) == (&at.calls, at.seeded)
                && at.loops.last().is_some_and(|own| other.loops.contains(own))
        })
    }

    /// Whether nothing in a stretch of a file trains, neither where it was rehearsed nor as it is written.
    fn only_evaluates(&self, file: FileId, span: Span, draft: Draft<'a>) -> bool {
        !self.trains_within(file, span) && self.is_idle_within(file, span) && !draft.may_train(span)
    }

    /// Whether a step or a backward pass happens in a stretch of a file, or is called from there.
    fn trains_within(&self, file: FileId, span: Span) -> bool {
        let inside = |place: &Place| place.file == file && span.contains(place.span);
        let trains = |effect: &Effect| {
            matches!(effect, Effect::Backward { .. } | Effect::Step { .. } | Effect::UnseenStep)
        };
        let by_event = self
            .rehearsal
            .entries
            .iter()
            .flat_map(|entry| visits(&entry.nodes, trains))
            .any(|visit| inside(&visit.event.place) || visit.calls.iter().any(|(site, _)| inside(site)));
        by_event
            || self.sightings().any(|(at, sight)| {
                let blind = matches!(sight, Sight::BlindBackward);
                blind && (inside(&at.place) || at.calls.iter().any(|(site, _)| inside(site)))
            })
    }

    /// Whether no forward in a stretch of a file records a graph that anybody walks.
    fn is_idle_within(&self, file: FileId, span: Span) -> bool {
        let inside = |place: &Place| place.file == file && span.contains(place.span);
        let used = |forward: &Forward| {
            let graph = &forward.graph;
            let walked = self.rehearsal.consumed.contains(graph) || self.rehearsal.returned.contains(graph);
            forward.grad != Some(false) && (walked || forward.mode != Mode::Eval && forward.learns)
        };
        !self.sightings().any(|(at, sight)| match sight {
            Sight::Forward(forward) => {
                let here = inside(&at.place) || at.calls.iter().any(|(site, _)| inside(site));
                here && used(forward)
            }
            _ => false,
        })
    }

    /// Whether a loop around an evaluation trains, and does not put the model into training mode itself.
    fn needs_training_mode(&self, at: &At) -> bool {
        let trains = |effect: &Effect| matches!(effect, Effect::Mode { mode: Mode::Train, .. });
        let put = |id: &LoopId| {
            let mut modes = self.rehearsal.entries.iter().flat_map(|entry| visits(&entry.nodes, trains));
            modes.any(|visit| visit.loops.contains(id))
        };
        at.loops.iter().any(|id| self.trains_in(*id)) && !at.loops.iter().any(put)
    }
}

/// Where a function's `def` stands.
struct DefLine<'a> {
    span: Span,
    /// Where its line begins.
    start: u32,
    indent: &'a str,
    /// A generator or a coroutine.
    is_special: bool,
}

impl<'a> Draft<'a> {
    fn def_line(&self, function: crate::syntax::FnId) -> Option<DefLine<'a>> {
        let span = self.function_span(function);
        let (start, indent) = self.line_start(span.start);
        let function = self.function(function);
        let is_special = function.is_generator || function.is_async;
        indent.trim().is_empty().then_some(DefLine { span, start, indent, is_special })
    }

    /// Statements that follow each other, as the first and the last of each run.
    fn runs(&self, mut lines: Vec<Line<'a>>) -> Vec<(Line<'a>, Line<'a>)> {
        lines.sort_by_key(|line| line.code.start);
        let mut runs: Vec<(Line<'a>, Line<'a>)> = Vec::new();
        for line in lines {
            let follows = |last: &Line<'a>| {
                let next = self.beside(last.stmt).and_then(|(block, at)| block.get(at + 1));
                next == Some(&line.stmt)
            };
            match runs.last_mut().filter(|(_, last)| follows(last)) {
                Some((_, last)) => *last = line,
                None => runs.push((line, line)),
            }
        }
        runs
    }

    fn is_loop(&self, stmt: StmtId) -> bool {
        self.body_of_loop(stmt).is_some()
    }

    fn body_of_loop(&self, stmt: StmtId) -> Option<&'a [StmtId]> {
        match &self.statement(stmt).kind {
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => Some(body),
            _ => None,
        }
    }

    fn is_simple(&self, stmt: StmtId) -> bool {
        let kind = &self.statement(stmt).kind;
        matches!(kind, StmtKind::Expr(_) | StmtKind::Assign { .. } | StmtKind::AugAssign { .. })
    }

    /// Whether a stretch names a backward pass, or asks whether it is to train: another caller may have it do so.
    fn may_train(&self, span: Span) -> bool {
        let asks = |expr: &Expr| match &expr.kind {
            ExprKind::Name(name) | ExprKind::Attribute { name, .. } => hints_at_training(name),
            ExprKind::Str(text) => hints_at_training(text),
            _ => false,
        };
        let tests = self.tests_within(span);
        self.exprs_within(span).any(|expr| match &expr.kind {
            ExprKind::Attribute { name, .. } => name.contains("backward"),
            _ => asks(expr) && tests.iter().any(|test| test.contains(expr.span)),
        })
    }

    /// The conditions of branches in a stretch.
    fn tests_within(&self, span: Span) -> Vec<Span> {
        let branches = self.statements_within(span).flat_map(|kind| match kind {
            StmtKind::If { arms, .. } => arms.iter().map(|(test, _)| self.expr(*test).span).collect(),
            _ => Vec::new(),
        });
        let choices = self.exprs_within(span).filter_map(|expr| match expr.kind {
            ExprKind::Conditional { test, .. } => Some(self.expr(test).span),
            _ => None,
        });
        branches.chain(choices).collect()
    }

    /// A statement with the contexts that it is all there is in.
    fn with_contexts(&self, line: Line<'a>) -> Line<'a> {
        let around = self.statements_around(self.statement(line.stmt).span);
        let inner = around.iter().rev().skip(1).map_while(|stmt| match &self.statement(*stmt).kind {
            StmtKind::With { .. } => self.line(*stmt),
            _ => None,
        });
        inner.last().unwrap_or(line)
    }
}

/// `is_train`, `phase`, `self.optimizer`, and not `train_on_gpu`.
fn hints_at_training(word: &str) -> bool {
    const HINTS: [&str; 6] = ["train", "training", "phase", "mode", "optimizer", "optim"];
    let word = word.to_ascii_lowercase();
    word.rsplit('_').next().is_some_and(|last| HINTS.contains(&last))
}
