//! A state dict that is kept for later, and changes with the model until then.

use crate::apis::Role;
use crate::checks::{Group, Replayed, Rule, page};
use crate::facts::edits::Draft;
use crate::facts::{Findings, Script};
use crate::report::{Confidence, Edit, Fix, Place, Severity, Span};
use crate::syntax::{Expr, ExprId, ExprKind, FnId, FunctionBody, StmtId, StmtKind};
use crate::trace::{At, LoopId};
use std::rc::Rc;

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
    for kept in search.found {
        let place = Place::new(script.file, draft.expr(kept.value).span);
        let confidence = kept.confidence;
        let at = At { place, loops: Rc::from([]), calls: Rc::from([]), seeded: None, confidence };
        let name = draft.written(kept.target);
        let message =
            format!("`{name}` changes with the model: `state_dict()` returns references, not a copy");
        let value = draft.written(kept.value);
        let finding = script
            .finding(RULE.id, RULE.severity, &at, message)
            .because(Place::new(script.file, kept.read), "here it holds the weights of the last step")
            .help(format!("keep a copy: `copy.deepcopy({value})`"))
            .fix(copied(script, draft, kept.value).map(|edits| Fix::safe("keep a copy", edits)));
        out.push(finding, &at);
    }
}

fn copied(script: &Script, draft: Draft<'_>, value: ExprId) -> Option<Vec<Edit>> {
    let (said, mut edits) = draft.say(script.apis.repair("deep-copy")?)?;
    edits.extend(draft.wrap(draft.expr(value).span, &format!("{said}("), ")"));
    Some(edits)
}

/// A state dict that was bound, and where it is read after the model was trained further.
struct Kept {
    target: ExprId,
    value: ExprId,
    read: Span,
    confidence: Confidence,
}

/// A statement around another one: a loop, or an `if` with the block in it that leads there.
#[derive(Clone, Copy)]
enum Around<'a> {
    Loop(Span),
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
                let kept = self.kept(target, *value);
                self.found.extend(kept);
            }
            for inner in stmt.kind.blocks() {
                let around = match stmt.kind {
                    StmtKind::If { .. } => Some(Around::Arm { of: *id, block: inner }),
                    StmtKind::For { .. } | StmtKind::While { .. } => Some(Around::Loop(stmt.span)),
                    _ => None,
                };
                self.around.extend(around);
                self.block(inner);
                self.around.truncate(self.around.len() - usize::from(around.is_some()));
            }
        }
    }

    fn kept(&self, target: ExprId, value: ExprId) -> Option<Kept> {
        let model = self.model_of(value)?;
        let (depth, arm) = self.around.iter().enumerate().rev().find_map(|(depth, around)| match around {
            Around::Arm { of, block } => Some((depth, (*of, *block))),
            Around::Loop(_) => None,
        })?;
        let (of, block) = arm;
        if self.leaves(block) || self.is_bound_elsewhere(of, block, target) || self.is_moved(block, model) {
            return None;
        }
        let loops = self.around[..depth].iter().rev().filter_map(|around| match around {
            Around::Loop(span) => Some(*span),
            Around::Arm { .. } => None,
        });
        let mut trained = loops.filter(|span| self.trains_in(*span));
        let after = trained
            .next()
            .filter(|span| !self.binds(*span, model))
            .and_then(|span| self.read_after(span, target));
        let kept = |read, confidence| Kept { target, value, read, confidence };
        after
            .map(|read| kept(read, Confidence::High))
            .or_else(|| self.loaded(block, target).map(|read| kept(read, Confidence::Medium)))
    }

    /// `model`, of `model.state_dict()`.
    fn model_of(&self, value: ExprId) -> Option<ExprId> {
        let ExprKind::Call { callee, args } = &self.draft.expr(value).kind else { return None };
        let ExprKind::Attribute { base, name, .. } = self.draft.expr(*callee).kind else { return None };
        self.draft.root(base).filter(|_| name == "state_dict" && args.is_empty())?;
        let written = self.draft.written(base);
        let role = self.script.apis.role_by_name(written.rsplit('.').next().unwrap_or(written));
        (!matches!(role, Some(Role::Optimizer | Role::Scheduler | Role::Scaler))).then_some(base)
    }

    /// Whether nothing in the loops around runs after a block.
    fn leaves(&self, block: &[StmtId]) -> bool {
        let last = block.last().map(|last| &self.draft.statement(*last).kind);
        matches!(last, Some(StmtKind::Break | StmtKind::Return(_) | StmtKind::Raise(_)))
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
            || self.draft.tree().stmts.iter().any(|stmt| stretch.contains(stmt.span) && binds(&stmt.kind))
    }

    fn trains_in(&self, stretch: Span) -> bool {
        let (file, rehearsal) = (self.script.file, self.script.rehearsal);
        rehearsal.loops.iter().enumerate().any(|(index, info)| {
            let here = info.place.file == file && stretch.contains(info.place.span);
            here && self.script.trains_in(LoopId(index as u32))
        })
    }

    /// Where something is read first after a stretch of its function.
    fn read_after(&self, stretch: Span, target: ExprId) -> Option<Span> {
        let body =
            self.function.map_or(Span::new(0, u32::MAX), |function| self.draft.function(function).span);
        let rest = Span::new(stretch.end, body.end);
        let inside = |span: Span| self.draft.function_around(span) == self.function;
        let reads = self.exprs_in(rest).filter(|(id, expr)| self.is_same(*id, target) && inside(expr.span));
        let (first, expr) = reads.min_by_key(|(_, expr)| expr.span.start)?;
        (!self.is_target(first)).then_some(expr.span)
    }

    /// `model.load_state_dict(self.best)`, outside of the block that keeps it.
    fn loaded(&self, block: &[StmtId], target: ExprId) -> Option<Span> {
        let ExprKind::Attribute { name, .. } = self.draft.expr(target).kind else { return None };
        let keeps = self.stretch(block);
        let is_it = |id: ExprId| matches!(self.draft.expr(id).kind, ExprKind::Attribute { name: other, .. } if other == name);
        let loads = |callee: ExprId| matches!(self.draft.expr(callee).kind, ExprKind::Attribute { name, .. } if name == "load_state_dict");
        self.draft.tree().exprs.iter().find_map(|expr| match &expr.kind {
            ExprKind::Call { callee, args } if loads(*callee) && !keeps.contains(expr.span) => {
                args.first().filter(|arg| is_it(arg.value)).map(|_| expr.span)
            }
            _ => None,
        })
    }

    fn exprs_in(&self, stretch: Span) -> impl Iterator<Item = (ExprId, &'a Expr)> {
        let all = self.draft.tree().exprs.iter().enumerate();
        all.filter(move |(_, expr)| stretch.contains(expr.span))
            .map(|(index, expr)| (ExprId(index as u32), expr))
    }

    fn is_target(&self, expr: ExprId) -> bool {
        let mut stmts = self.draft.tree().stmts.iter();
        stmts.any(|stmt| matches!(&stmt.kind, StmtKind::Assign { targets, .. } if targets.contains(&expr)))
    }

    /// Whether two expressions are written alike; names and paths are.
    fn is_same(&self, a: ExprId, b: ExprId) -> bool {
        let is_path =
            |id: ExprId| matches!(self.draft.expr(id).kind, ExprKind::Name(_) | ExprKind::Attribute { .. });
        is_path(a) && is_path(b) && self.draft.written(a) == self.draft.written(b)
    }
}
