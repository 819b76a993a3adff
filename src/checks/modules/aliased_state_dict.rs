//! A state dict that is kept for later, and changes with the model until then; or the model itself.

use super::put_back;
use crate::apis::Role;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Places, Script};
use crate::report::{Confidence, Diagnostic, Edit, Fix, Place, Severity, Span};
use crate::source::counted;
use crate::syntax::{
    CompareOp, Expr, ExprId, ExprKind, FnId, Function, FunctionBody, Stmt, StmtId, StmtKind,
};
use crate::trace::{At, LoopId, Sight};
use ustr::Ustr;

pub(super) static RULE: Rule = Rule {
    id: "aliased-state-dict",
    summary: "weights are kept without a copy: `state_dict()` returns references, which later steps change",
    group: Group::Gradients,
    severity: Severity::Error,
    since: "0.1.0",
    replayed: Replayed::Nothing,
    page: page!("aliased-state-dict"),
    check,
};

/// What gives a model other storage, and leaves the old one to who holds it.
const MOVES: [&str; 3] = ["cpu", "cuda", "to"];

fn check(script: &Script, out: &mut Findings) {
    let draft = script.draft(script.file);
    let mut search = Search { script, draft, function: None, around: Vec::new(), found: Vec::new() };
    search.block(&draft.tree().body);
    for (index, function) in draft.tree().functions.iter().enumerate() {
        if let FunctionBody::Block(body) = &function.body {
            search.function = Some(FnId(index as u32));
            search.block(body);
        }
    }
    let mut said = Places::default();
    for kept in search.found {
        said.insert(Place::new(script.file, draft.expr(kept.value).span));
        let place = Place::new(script.file, draft.expr(kept.value).span);
        let at = At::of_text(place, kept.confidence);
        let (name, value) = (draft.written(kept.target), draft.written(kept.value));
        let message = match kept.whole {
            true => format!("`{name}` is `{value}` itself, not a copy: later steps change it"),
            false => {
                format!("`{name}` changes with the model: `state_dict()` returns references, not a copy")
            }
        };
        let edits = copied(script, draft, kept.value).filter(|_| kept.alone);
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .because(Place::new(script.file, kept.read), "here it holds the weights of the last step")
            .help(format!("keep a copy: `copy.deepcopy({value})`"))
            .fix(edits.map(|edits| Fix::safe("keep a copy", edits)));
        out.push(finding, &at);
    }
    for (taken, put) in put_back::after_training(script) {
        if said.insert(taken.place) {
            out.push(put_back_in_vain(script, taken, put), taken);
        }
    }
}

/// A state dict that is loaded into the model that it refers to changes nothing.
fn put_back_in_vain(script: &Script, taken: &At, put: Place) -> Diagnostic {
    let draft = script.draft(taken.place.file);
    let value = draft.tree().exprs.iter().position(|expr| expr.span == taken.place.span);
    let edits = value.and_then(|value| copied(script, draft, ExprId(value as u32)));
    script
        .finding(
            RULE.id,
            RULE.severity,
            taken,
            "this state changes with the model: `state_dict()` returns references, not a copy",
        )
        .because(put, "loaded here, it holds the weights that the model has anyway")
        .help("keep a copy: `copy.deepcopy(model.state_dict())`")
        .fix(edits.map(|edits| Fix::safe("keep a copy", edits)))
}

fn copied(script: &Script, draft: Draft<'_>, value: ExprId) -> Option<Vec<Edit>> {
    let (said, mut edits) = draft.say(script.apis.repair("deep-copy")?)?;
    let span = draft.expr(value).span;
    match shallowly_copied(draft, value) {
        Some(state) => edits.push(draft.replace(span, format!("{said}({})", draft.written(state)))),
        None => edits.extend(draft.wrap(span, &format!("{said}("), ")")),
    }
    Some(edits)
}

/// `state` of `state.copy()`
fn shallowly_copied(draft: Draft<'_>, value: ExprId) -> Option<ExprId> {
    let ExprKind::Call { callee, args } = &draft.expr(value).kind else { return None };
    match draft.expr(*callee).kind {
        ExprKind::Attribute { base, name, .. } if name == "copy" && args.is_empty() => Some(base),
        _ => None,
    }
}

/// A state dict that was bound, and where it is read after the model was trained further.
struct Kept {
    target: ExprId,
    /// The state, or the model.
    value: ExprId,
    /// It is the model itself.
    whole: bool,
    read: Span,
    confidence: Confidence,
    /// No other state may be bound instead.
    alone: bool,
}

/// A statement around another one: a loop, or an `if` with the block in it that leads there.
#[derive(Clone, Copy)]
enum Around<'a> {
    Loop { span: Span, counter: Option<ExprId> },
    Arm { of: StmtId, block: &'a [StmtId] },
}

struct Search<'s, 'a> {
    script: &'s Script<'a>,
    draft: Draft<'a>,
    function: Option<FnId>,
    around: Vec<Around<'a>>,
    found: Vec<Kept>,
}

impl<'a> Search<'_, 'a> {
    fn block(&mut self, block: &'a [StmtId]) {
        for id in block {
            let stmt = self.draft.statement(*id);
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && let [target] = targets[..]
            {
                for (target, value) in self.bound_together(target, *value) {
                    let kept = self.kept(target, value);
                    self.found.extend(kept);
                }
            }
            if let StmtKind::Expr(call) = stmt.kind {
                for (target, value) in self.bound_by_method(call) {
                    let kept = self.kept(target, value);
                    self.found.extend(kept);
                }
            }
            for inner in stmt.kind.blocks() {
                let around = match stmt.kind {
                    StmtKind::If { .. } => Some(Around::Arm { of: *id, block: inner }),
                    StmtKind::For { target, .. } => {
                        Some(Around::Loop { span: stmt.span, counter: Some(target) })
                    }
                    StmtKind::While { .. } => Some(Around::Loop { span: stmt.span, counter: None }),
                    _ => None,
                };
                self.around.extend(around);
                self.block(inner);
                self.around.truncate(self.around.len() - usize::from(around.is_some()));
            }
        }
    }

    /// What a statement binds one by one: `best, state = loss, model.state_dict()`.
    fn bound_together(&self, target: ExprId, value: ExprId) -> Vec<(ExprId, ExprId)> {
        match (&self.draft.expr(target).kind, &self.draft.expr(value).kind) {
            (ExprKind::Tuple(targets), ExprKind::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().copied().zip(values.iter().copied()).collect()
            }
            _ => vec![(target, value)],
        }
    }

    /// What another method of the class binds, whatever the case: `self.keep_best()`.
    fn bound_by_method(&self, call: ExprId) -> Vec<(ExprId, ExprId)> {
        self.binding_method(call).unwrap_or_default()
    }

    fn binding_method(&self, call: ExprId) -> Option<Vec<(ExprId, ExprId)>> {
        let ExprKind::Call { callee, .. } = self.draft.expr(call).kind else { return None };
        let ExprKind::Attribute { base, name, .. } = self.draft.expr(callee).kind else { return None };
        let ExprKind::Name(own) = self.draft.expr(base).kind else { return None };
        let tree = self.draft.tree();
        let here = tree.function(self.function?);
        let is_own = |function: &Function| function.params.first().is_some_and(|it| it.name == own);
        let is_called = |it: &&Function| it.class == here.class && it.name == name && is_own(it);
        let method =
            tree.functions.iter().find(is_called).filter(|_| here.class.is_some() && is_own(here))?;
        let FunctionBody::Block(body) = &method.body else { return None };
        let of_own = |expr: ExprId| {
            let part = self.model_of(expr).unwrap_or(expr);
            self.draft.root(part) == Some(own)
        };
        let bound = body.iter().filter_map(|stmt| match &self.draft.statement(*stmt).kind {
            StmtKind::Assign { targets, value } => match targets[..] {
                [target] if of_own(target) && of_own(*value) => Some((target, *value)),
                _ => None,
            },
            _ => None,
        });
        Some(bound.collect())
    }

    fn kept(&self, target: ExprId, bound: ExprId) -> Option<Kept> {
        let states = self.states_bound_to(bound);
        let (alone, bound) = (states.len() < 2, states.first().copied().unwrap_or(bound));
        let (value, model) =
            self.state_in(bound).or_else(|| self.draft.root(bound).map(|_| (bound, bound)))?;
        let whole = value == model;
        let (depth, arm) = self.around.iter().enumerate().rev().find_map(|(depth, around)| match around {
            Around::Arm { of, block } => Some((depth, (*of, *block))),
            Around::Loop { .. } => None,
        })?;
        let (of, block) = arm;
        if self.leaves(block)
            || self.is_scheduled(of, block)
            || self.is_bound_elsewhere(of, block, target)
            || self.is_moved(block, model)
        {
            return None;
        }
        let loops = self.around[..depth].iter().rev().filter_map(|around| match around {
            Around::Loop { span, .. } => Some(*span),
            Around::Arm { .. } => None,
        });
        let mut trained = loops.filter(|span| self.trains_in(*span));
        let after = trained
            .next()
            .filter(|span| !self.binds(*span, model) && (!whole || self.is_called_in(*span, model)))
            .and_then(|span| self.read_after(span, target, bound));
        let kept = |read, confidence| Kept { target, value, whole, read, confidence, alone };
        let loaded = || self.loaded(block, target).filter(|_| !whole);
        after
            .map(|read| kept(read, Confidence::High))
            .or_else(|| loaded().map(|read| kept(read, Confidence::Medium)))
    }

    /// `best = state`: what the other name was bound to in the same iteration, if that is a state wherever it is bound.
    fn states_bound_to(&self, name: ExprId) -> Vec<ExprId> {
        let mut loops = self.around.iter().rev().filter_map(|around| match around {
            Around::Loop { span, .. } => Some(*span),
            Around::Arm { .. } => None,
        });
        let (ExprKind::Name(_), Some(iteration)) = (&self.draft.expr(name).kind, loops.next()) else {
            return Vec::new();
        };
        let before = Span::new(iteration.start, self.draft.expr(name).span.start);
        let here = |stmt: &&Stmt| self.draft.function_around(stmt.span) == self.function;
        let bindings = self.draft.tree().stmts.iter().filter(here).filter_map(|stmt| match &stmt.kind {
            StmtKind::Assign { targets, value } if targets.iter().any(|it| self.is_same(*it, name)) => {
                let is_state = before.contains(stmt.span) && self.state_in(*value).is_some();
                Some(is_state.then_some(*value))
            }
            _ => None,
        });
        bindings.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// The state that is kept, and its model: alone, as a shallow copy, or beside others in a dictionary.
    fn state_in(&self, bound: ExprId) -> Option<(ExprId, ExprId)> {
        if let Some(model) = self.model_of(bound) {
            return Some((bound, model));
        }
        match &self.draft.expr(bound).kind {
            ExprKind::Dict(items) => items.iter().find_map(|(_, item)| self.state_in(*item)),
            _ => shallowly_copied(self.draft, bound).and_then(|state| Some((bound, self.model_of(state)?))),
        }
    }

    /// `model`, of `model.state_dict()`.
    fn model_of(&self, value: ExprId) -> Option<ExprId> {
        let ExprKind::Call { callee, args } = &self.draft.expr(value).kind else { return None };
        let ExprKind::Attribute { base, name, .. } = self.draft.expr(*callee).kind else { return None };
        self.draft.root(base).filter(|_| name == "state_dict" && args.is_empty())?;
        let written = self.draft.written(base);
        let role = self.script.apis.role_by_name(Ustr::from(written.rsplit('.').next().unwrap_or(written)));
        (!matches!(role, Some(Role::Optimizer | Role::Scheduler | Role::Scaler))).then_some(base)
    }

    /// Whether nothing in the loops around runs after a block.
    fn leaves(&self, block: &[StmtId]) -> bool {
        let last = block.last().map(|last| &self.draft.statement(*last).kind);
        matches!(last, Some(StmtKind::Break | StmtKind::Return(_) | StmtKind::Raise(_)))
    }

    /// `if epoch == epochs - 1`, `if path is not None`: nothing that the training has reached says when a block in a
    /// loop runs, and it may be the last time.
    fn is_scheduled(&self, of: StmtId, block: &[StmtId]) -> bool {
        let StmtKind::If { arms, .. } = &self.draft.statement(of).kind else { return false };
        let test = arms.iter().find(|(_, arm)| std::ptr::eq(&**arm, block)).map(|(test, _)| *test);
        let in_loop = self.around.iter().any(|around| matches!(around, Around::Loop { .. }));
        in_loop && test.is_some_and(|test| !self.asks_for_progress(test))
    }

    /// Whether a test compares numbers that no loop counts, or asks for what the loop has found out.
    fn asks_for_progress(&self, test: ExprId) -> bool {
        let is_order = |op: &CompareOp| {
            use CompareOp::{Greater, GreaterEq, Less, LessEq};
            matches!(op, Less | LessEq | Greater | GreaterEq)
        };
        let span = self.draft.expr(test).span;
        match &self.draft.expr(test).kind {
            ExprKind::Bool { items, .. } => items.iter().any(|item| self.asks_for_progress(*item)),
            ExprKind::Unary { operand, .. } => self.asks_for_progress(*operand),
            ExprKind::Compare { rest, .. } => {
                rest.iter().any(|(op, _)| is_order(op))
                    && !self.exprs_in(span).any(|(part, _)| self.counts(part))
            }
            ExprKind::Name(_) => self.around.iter().any(|around| match around {
                Around::Loop { span, .. } => self.binds(*span, test),
                Around::Arm { .. } => false,
            }),
            ExprKind::Call { .. } => !self.exprs_in(span).any(|(part, _)| self.counts(part)),
            _ => false,
        }
    }

    /// Whether an expression is what a loop around binds.
    fn counts(&self, expr: ExprId) -> bool {
        let counters = self.around.iter().filter_map(|around| match around {
            Around::Loop { counter, .. } => *counter,
            Around::Arm { .. } => None,
        });
        counters.into_iter().any(|counter| {
            let bound = self.draft.expr(counter).span;
            self.exprs_in(bound).any(|(name, _)| self.is_same(name, expr))
        })
    }

    /// Whether another arm of the same `if` binds the name, too: then the latest state is meant.
    fn is_bound_elsewhere(&self, of: StmtId, block: &[StmtId], target: ExprId) -> bool {
        let blocks = self.draft.statement(of).kind.blocks();
        let others = blocks.into_iter().filter(|other| !std::ptr::eq(*other, block) && !other.is_empty());
        others.into_iter().any(|other| self.binds(self.stretch(other), target))
    }

    fn stretch(&self, block: &[StmtId]) -> Span {
        let ends = [block.first(), block.last()].map(|end| end.map(|end| self.draft.statement(*end).span));
        let [Some(first), Some(last)] = ends else { return Span::new(0, 0) };
        Span::new(first.start, last.end)
    }

    /// Whether a model gets other storage in a block.
    fn is_moved(&self, block: &[StmtId], model: ExprId) -> bool {
        let stretch = self.stretch(block);
        self.exprs_in(stretch).any(|(_, expr)| match expr.kind {
            ExprKind::Attribute { base, name, .. } => {
                MOVES.contains(&name.as_str()) && self.is_same(base, model)
            }
            _ => false,
        })
    }

    /// Whether a stretch of the file binds what is written so.
    fn binds(&self, stretch: Span, name: ExprId) -> bool {
        let root = self.draft.root(name);
        let binds = |stmt: &StmtKind| match stmt {
            StmtKind::Assign { targets, .. } => targets.iter().any(|target| self.is_same(*target, name)),
            _ => false,
        };
        let own = matches!(self.draft.expr(name).kind, ExprKind::Name(_));
        own && root.is_some_and(|root| self.draft.binds(stretch, root))
            || self.draft.statements_within(stretch).any(binds)
    }

    fn trains_in(&self, stretch: Span) -> bool {
        let (file, rehearsal) = (self.script.file, self.script.rehearsal);
        rehearsal.loops.iter().enumerate().any(|(index, info)| {
            let here = info.place.file == file && stretch.contains(info.place.span);
            here && self.script.trains_in(LoopId(index as u32))
        })
    }

    /// Whether something is a model whose forward runs in a loop that trains.
    fn is_called_in(&self, stretch: Span, model: ExprId) -> bool {
        self.script.sightings().filter(|(_, sight)| matches!(sight, Sight::Forward(_))).any(|(at, _)| {
            let here = at.place.file == self.script.file && stretch.contains(at.place.span);
            here && self.calls(at.place.span, model)
        })
    }

    fn calls(&self, call: Span, callee: ExprId) -> bool {
        self.draft.call_at(call).is_some_and(|call| self.is_same(call.callee, callee))
    }

    /// Where something is read first after a stretch of its function.
    fn read_after(&self, stretch: Span, target: ExprId, bound: ExprId) -> Option<Span> {
        let body =
            self.function.map_or(Span::new(0, u32::MAX), |function| self.draft.function(function).span);
        let rest = Span::new(stretch.end, body.end);
        let inside = |span: Span| self.draft.function_around(span) == self.function;
        let beside = self.read_beside_state(rest, bound);
        let holder = self.read_as_a_whole(rest, target);
        let is_read = |id: ExprId| self.is_same(id, target) || holder.contains(&id);
        let reads = self
            .exprs_in(rest)
            .filter(|(id, expr)| is_read(*id) && inside(expr.span) && !beside.contains(id));
        let (first, expr) = reads.min_by_key(|(_, expr)| expr.span.start)?;
        (!self.is_target(first)).then_some(expr.span)
    }

    /// Where the dictionary that holds an entry is read in a stretch, and none of its entries alone.
    fn read_as_a_whole(&self, stretch: Span, entry: ExprId) -> Vec<ExprId> {
        let ExprKind::Subscript { base: holder, .. } = self.draft.expr(entry).kind else { return Vec::new() };
        let parts = self.exprs_in(stretch).filter_map(|(_, expr)| match expr.kind {
            ExprKind::Subscript { base, .. } | ExprKind::Attribute { base, .. } => Some(base),
            _ => None,
        });
        let parts: Vec<ExprId> = parts.collect();
        let all = self.exprs_in(stretch).filter(|(id, _)| self.is_same(*id, holder) && !parts.contains(id));
        all.map(|(id, _)| id).collect()
    }

    /// Of what is read in a stretch, that of which only another entry is: `checkpoint["epoch"]`, where the state lies
    /// under a key of its own.
    fn read_beside_state(&self, stretch: Span, bound: ExprId) -> Vec<ExprId> {
        let ExprKind::Dict(items) = &self.draft.expr(bound).kind else { return Vec::new() };
        let keys: Option<Vec<&str>> = items
            .iter()
            .filter(|(_, item)| self.state_in(*item).is_some())
            .map(|(key, _)| self.text(*key.as_ref()?))
            .collect();
        let Some(keys) = keys else { return Vec::new() };
        let other = |key: ExprId| self.text(key).is_some_and(|key| !keys.contains(&key));
        self.exprs_in(stretch)
            .filter_map(|(_, expr)| match expr.kind {
                ExprKind::Subscript { base, index } => other(index).then_some(base),
                _ => None,
            })
            .collect()
    }

    fn text(&self, expr: ExprId) -> Option<&'a str> {
        match &self.draft.expr(expr).kind {
            ExprKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// `model.load_state_dict(self.best)`, outside of the block that keeps it.
    fn loaded(&self, block: &[StmtId], target: ExprId) -> Option<Span> {
        let kept = self.part_of_object(target)?;
        let keeps = self.stretch(block);
        let is_it = |id: ExprId| self.part_of_object(id) == Some(kept);
        let loads = |callee: ExprId| matches!(self.draft.expr(callee).kind, ExprKind::Attribute { name, .. } if name == "load_state_dict");
        self.draft.tree().exprs.iter().find_map(|expr| match &expr.kind {
            ExprKind::Call { callee, args } if loads(*callee) && !keeps.contains(expr.span) => {
                args.first().filter(|arg| is_it(arg.value)).map(|_| expr.span)
            }
            _ => None,
        })
    }

    /// The attribute that something is, and the key of the entry in it: `self.best`, `self.best["model"]`.
    fn part_of_object(&self, expr: ExprId) -> Option<(Ustr, Option<&'a str>)> {
        match self.draft.expr(expr).kind {
            ExprKind::Attribute { name, .. } => Some((name, None)),
            ExprKind::Subscript { base, index } => match self.draft.expr(base).kind {
                ExprKind::Attribute { name, .. } => Some((name, Some(self.text(index)?))),
                _ => None,
            },
            _ => None,
        }
    }

    fn exprs_in(&self, stretch: Span) -> impl Iterator<Item = (ExprId, &'a Expr)> {
        let all = counted(self.draft.tree().exprs.iter()).enumerate();
        all.filter(move |(_, expr)| stretch.contains(expr.span))
            .map(|(index, expr)| (ExprId(index as u32), expr))
    }

    fn is_target(&self, expr: ExprId) -> bool {
        let mut stmts = self.draft.tree().stmts.iter();
        stmts.any(|stmt| matches!(&stmt.kind, StmtKind::Assign { targets, .. } if targets.contains(&expr)))
    }

    /// Whether two expressions are written alike; names, paths and entries under a text are.
    fn is_same(&self, a: ExprId, b: ExprId) -> bool {
        let is_path = |id: ExprId| match self.draft.expr(id).kind {
            ExprKind::Name(_) | ExprKind::Attribute { .. } => true,
            ExprKind::Subscript { index, .. } => self.text(index).is_some(),
            _ => false,
        };
        is_path(a) && is_path(b) && self.draft.written(a) == self.draft.written(b)
    }
}
